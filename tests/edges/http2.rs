//! HTTP/2 from clients, over plain TCP by prior knowledge.
use crate::support::config::for_provider;
use crate::support::provider::{answer, event_stream};
use crate::support::{Client, Gate, Provider, Step, gateway, gateway_with, soon};
use bytes::Bytes;
use http::{Request, Response, StatusCode, Version};
use http_body_util::{BodyExt as _, Full};
use hyper::body::Incoming;
use hyper::client::conn::http2::{SendRequest, handshake};
use hyper_util::rt::{TokioExecutor, TokioIo};
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;
use tokio::task::JoinHandle;

pub(crate) type Sender = SendRequest<Full<Bytes>>;

/// Speaks HTTP/2 on a connection; also its task, which ends with it.
pub(crate) async fn speak(io: impl AsyncRead + AsyncWrite + Unpin + Send + 'static) -> (Sender, JoinHandle<()>) {
    let (sender, connection) = handshake(TokioExecutor::new(), TokioIo::new(io)).await.unwrap();
    (sender, tokio::spawn(async move { drop(connection.await) }))
}

pub(crate) async fn ask(sender: &mut Sender, path: &str, headers: &[(&str, &str)], body: &str) -> Response<Incoming> {
    let mut request = Request::post(format!("http://gateway{path}")).version(Version::HTTP_2);
    for (name, value) in headers {
        request = request.header(*name, *value);
    }
    soon(sender.send_request(request.body(Full::from(body.to_owned())).unwrap())).await.unwrap()
}

pub(crate) async fn text(response: Response<Incoming>) -> String {
    String::from_utf8(soon(response.into_body().collect()).await.unwrap().to_bytes().to_vec()).unwrap()
}

#[tokio::test]
async fn requests_share_a_connection_and_none_waits_for_another() {
    let gate = Gate::new();
    let opened = gate.clone();
    let provider = Provider::start(move |request, _| match request.target() {
        "/v1/messages?slow" => {
            vec![
                event_stream(),
                Step::chunk("data: 1\n\n"),
                Step::Wait(opened.clone()),
                Step::chunk("data: 2\n\n"),
                Step::last_chunk(),
            ]
        }
        _ => answer("200 OK", "content-type: application/json\r\nconnection: x-hop\r\nx-hop: 1\r\n", "{}"),
    })
    .await;
    let gateway = gateway(&provider).await;
    let (mut sender, _task) = speak(TcpStream::connect(gateway.addr()).await.unwrap()).await;
    let mut stream = ask(&mut sender, "/v1/messages?slow", &[], "{}").await;
    let first = soon(stream.body_mut().frame()).await.unwrap().unwrap().into_data().unwrap();
    assert_eq!(first, "data: 1\n\n");
    for n in 0..3 {
        let answer = ask(&mut sender, "/v1/messages", &[("x-n", "1")], &format!("{{\"n\":{n}}}")).await;
        assert_eq!((answer.status(), answer.version()), (StatusCode::OK, Version::HTTP_2));
        assert!(!answer.headers().contains_key("x-hop"));
        assert_eq!(text(answer).await, "{}");
        let request = provider.requests().pop().unwrap();
        assert_eq!((request.head.get("x-n"), request.body), (Some("1"), format!("{{\"n\":{n}}}").into_bytes()));
        assert_eq!(request.head.get("host"), Some(&*provider.addr().to_string()));
    }
    gate.open();
    assert_eq!(text(stream).await, "data: 2\n\n");
}

#[tokio::test]
async fn what_is_refused_over_http2_has_the_dialects_shape_too() {
    let provider = Provider::always(answer("200 OK", "", "{}")).await;
    let mut config = for_provider(provider.addr());
    config.limits.request_body = 1;
    let gateway = gateway_with(config).await;
    let (mut sender, _task) = speak(TcpStream::connect(gateway.addr()).await.unwrap()).await;
    let answer = ask(&mut sender, "/v1beta/models/m:generateContent", &[], "{}").await;
    assert_eq!(answer.status(), StatusCode::PAYLOAD_TOO_LARGE);
    let body: serde_json::Value = serde_json::from_str(&text(answer).await).unwrap();
    assert_eq!(body["error"]["code"], 413, "Gemini's shape has the number");
}

#[tokio::test]
async fn a_draining_gateway_ends_its_streams_before_it_goes() {
    let gate = Gate::new();
    let opened = gate.clone();
    let provider = Provider::start(move |_, _| {
        vec![event_stream(), Step::chunk("data: 1\n\n"), Step::Wait(opened.clone()), Step::last_chunk()]
    })
    .await;
    let gateway = gateway(&provider).await;
    let (mut sender, task) = speak(TcpStream::connect(gateway.addr()).await.unwrap()).await;
    let mut stream = ask(&mut sender, "/v1/messages", &[], "{}").await;
    soon(stream.body_mut().frame()).await.unwrap().unwrap();
    let addr = gateway.addr();
    let down = tokio::spawn(gateway.shutdown(Duration::from_secs(60)));
    // It takes no new connection; the stream goes on.
    soon(async {
        while TcpStream::connect(addr).await.is_ok() {
            tokio::task::yield_now().await;
        }
    })
    .await;
    assert!(!down.is_finished());
    gate.open();
    assert_eq!(text(stream).await, "");
    soon(down).await.unwrap();
    soon(task).await.unwrap();
}

#[tokio::test]
async fn large_bodies_go_up_and_the_limit_holds() {
    let provider = Provider::always(answer("200 OK", "content-type: application/json\r\n", "{}")).await;
    let mut config = for_provider(provider.addr());
    config.limits.request_body = 4 << 20;
    let gateway = gateway_with(config).await;
    let (mut sender, _task) = speak(TcpStream::connect(gateway.addr()).await.unwrap()).await;
    let body = "x".repeat(3 << 20);
    assert_eq!(ask(&mut sender, "/v1/messages", &[], &body).await.status(), StatusCode::OK);
    assert_eq!(provider.request().body.len(), body.len());
    let refused = ask(&mut sender, "/v1/messages", &[], &"x".repeat(5 << 20)).await;
    assert_eq!(refused.status(), StatusCode::PAYLOAD_TOO_LARGE);
    // HTTP/1.1 is served beside it.
    assert_eq!(Client::connect(gateway.addr()).await.request("POST", "/v1/messages", "", "{}").await.status(), 200);
}
