//! What the gateway answers itself.
use crate::support::provider::{answer, event_stream};
use crate::support::{Answer, Client, Gate, Provider, Step, config, gateway, gateway_with};
use hookgate::context::view::AnswerForm;
use hookgate::dialect::{self, DialectId, WireError};
use std::net::TcpListener;

/// Status, code and headers are right, and the body is the dialect's own.
fn assert_refused(answer: &Answer, status: u16, code: &'static str, dialect: DialectId) {
    assert_eq!((answer.status(), answer.head.get("x-hookgate-error")), (status, Some(code)));
    assert_eq!(answer.head.get("content-type"), Some("application/json"));
    assert_eq!(answer.head.get("x-should-retry"), (status < 500).then_some("false"));
    let request_id = answer.head.get("x-hookgate-request-id").unwrap().to_owned();
    let Ok(body) = serde_json::from_slice::<serde_json::Value>(&answer.body) else {
        assert!(answer.body.is_empty());
        return;
    };
    let message = body.pointer("/error/message").and_then(|message| message.as_str()).unwrap().to_owned();
    let error = WireError { status, code, message, request_id, said: None };
    assert_eq!(answer.body, dialect::of(dialect).error(&error, AnswerForm::Json));
}

#[tokio::test]
async fn requests_that_go_nowhere() {
    let provider = Provider::always(answer("200 OK", "", "{}")).await;
    let gateway = gateway(&provider).await;
    let upgrade =
        "connection: Upgrade\r\nupgrade: websocket\r\nsec-websocket-version: 13\r\nsec-websocket-key: eA==\r\n";
    for (method, target, headers, status, code, dialect) in [
        ("POST", "/nowhere", "", 404, "no_route", DialectId::Chat),
        ("GET", "/", "", 404, "no_route", DialectId::Chat),
        ("POST", "/v1/../messages", "", 400, "invalid_path", DialectId::Anthropic),
        ("POST", "/v1/%2e%2e/messages", "", 400, "invalid_path", DialectId::Anthropic),
        ("POST", "/anthropic/.%2e/x", "", 400, "invalid_path", DialectId::Chat),
        ("POST", "/v1/..%2fmessages", "", 400, "invalid_path", DialectId::Anthropic),
        ("POST", "/v1/..\\messages", "", 400, "invalid_path", DialectId::Chat),
        ("POST", "/v1/./messages", "", 400, "invalid_path", DialectId::Anthropic),
        ("GET", "/v1/responses", upgrade, 426, "no_websocket", DialectId::Chat),
        ("GET", "/v1/messages", upgrade, 426, "no_websocket", DialectId::Anthropic),
        ("GET", "/v1beta/models/m:x", upgrade, 426, "no_websocket", DialectId::Gemini),
    ] {
        let answer = Client::connect(gateway.addr()).await.request(method, target, headers, "").await;
        assert_refused(&answer, status, code, dialect);
    }
    assert!(provider.requests().is_empty());
}

#[tokio::test]
async fn a_body_beyond_the_limit_is_refused_whether_announced_or_not() {
    const LIMIT: usize = 1 << 20;
    let provider = Provider::always(answer("200 OK", "", "{}")).await;
    let mut config = config::for_provider(provider.addr());
    config.limits.request_body = LIMIT;
    let gateway = gateway_with(config).await;

    // The client sends all of it before it reads: the answer must survive that.
    let mut client = Client::connect(gateway.addr()).await;
    let answer = client.request("POST", "/v1/messages", "", vec![b'x'; 8 * LIMIT]).await;
    assert_refused(&answer, 413, "body_too_large", DialectId::Anthropic);

    let mut client = Client::connect(gateway.addr()).await;
    client.send("POST /v1/messages HTTP/1.1\r\nhost: g\r\ntransfer-encoding: chunked\r\n\r\n").await;
    let chunk = [format!("{LIMIT:x}\r\n").as_bytes(), &vec![b'x'; LIMIT], b"\r\n"].concat();
    for _ in 0..8 {
        client.send(&chunk).await;
    }
    client.send("0\r\n\r\n").await;
    assert_refused(&client.answer("POST").await, 413, "body_too_large", DialectId::Anthropic);

    let mut client = Client::connect(gateway.addr()).await;
    let head = format!(
        "POST /v1/messages HTTP/1.1\r\nhost: g\r\nexpect: 100-continue\r\ncontent-length: {}\r\n\r\n",
        LIMIT + 1
    );
    client.send(head).await;
    assert_refused(&client.answer("POST").await, 413, "body_too_large", DialectId::Anthropic);
    assert!(provider.requests().is_empty());
}

#[tokio::test]
async fn an_upstream_that_can_not_be_reached() {
    let unused = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let gateway = gateway_with(config::for_provider(unused)).await;
    for (target, dialect) in [
        ("/v1/messages", DialectId::Anthropic),
        ("/v1/chat/completions", DialectId::Chat),
        ("/v1beta/models", DialectId::Gemini),
    ] {
        let mut client = Client::connect(gateway.addr()).await;
        let answer = client.request("POST", target, "", vec![b'x'; 4 << 20]).await;
        assert_refused(&answer, 502, "upstream_unreachable", dialect);
        assert!(!answer.text().contains(&unused.port().to_string()));
    }
}

#[tokio::test]
async fn an_upstream_that_closes_instead_of_answering() {
    for end in [Step::Close, Step::Reset] {
        let provider = Provider::always(vec![end]).await;
        let gateway = gateway(&provider).await;
        let answer = Client::connect(gateway.addr()).await.request("POST", "/v1/messages", "", "{}").await;
        assert_refused(&answer, 502, "upstream_unreachable", DialectId::Anthropic);
        assert_eq!(provider.requests().len(), 1, "what an upstream has seen is not sent again");
    }
}

#[tokio::test]
async fn beyond_concurrent_requests_the_answer_is_503_at_once_and_the_others_go_on() {
    let gate = Gate::new();
    let steps = vec![event_stream(), Step::chunk("data: 1\n\n"), Step::Wait(gate.clone()), Step::last_chunk()];
    let provider = Provider::always(steps).await;
    let mut config = config::for_provider(provider.addr());
    config.limits.concurrent_requests = 1;
    let gateway = gateway_with(config).await;

    let mut first = Client::connect(gateway.addr()).await;
    first.send("GET /v1/models HTTP/1.1\r\nhost: g\r\n\r\n").await;
    first.head().await;
    first.chunk().await.unwrap();
    let mut second = Client::connect(gateway.addr()).await;
    assert_refused(&second.request("POST", "/v1/messages", "", "{}").await, 503, "overloaded", DialectId::Anthropic);
    gate.open();
    assert_eq!(first.chunk().await.unwrap(), None);
    assert_eq!(second.request("POST", "/v1/messages", "", "{}").await.status(), 200);
}
