//! A provider that answers at once: one message, or a stream whose events all come together.
use bytes::Bytes;
use futures_util::stream;
use http_body_util::combinators::UnsyncBoxBody;
use http_body_util::{BodyExt as _, Full, StreamBody};
use hyper::body::{Frame, Incoming};
use hyper::header::CONTENT_TYPE;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Request, Response};
use hyper_util::rt::TokioIo;
use std::convert::Infallible;
use tokio::net::TcpListener;

/// Text events of a stream, beside those that begin and end it.
const EVENTS: usize = 50;
/// About 1 KB of text, a short answer.
const WORDS: &str = "The queue drops a token when the cache is full. ";
const WORDS_COUNT: usize = 20;

type Body = UnsyncBoxBody<Bytes, Infallible>;

/// Serves until the process ends.
pub(crate) async fn run(port: u16) {
    let listener = TcpListener::bind(("127.0.0.1", port)).await.expect("the port");
    let (message, events) = (message(), events());
    loop {
        let (stream, _) = listener.accept().await.expect("a connection");
        stream.set_nodelay(true).expect("no delay");
        let (message, events) = (message.clone(), events.clone());
        let service = service_fn(move |request| answer(request, message.clone(), events.clone()));
        tokio::spawn(http1::Builder::new().serve_connection(TokioIo::new(stream), service));
    }
}

async fn answer(
    request: Request<Incoming>,
    message: Bytes,
    events: Vec<Bytes>,
) -> Result<Response<Body>, hyper::Error> {
    let burst = request.uri().query() == Some("burst");
    let mut asked = request.into_body();
    while let Some(frame) = asked.frame().await {
        frame?;
    }
    let (kind, body) = match burst {
        false => ("application/json", Full::new(message).boxed_unsync()),
        true => (
            "text/event-stream",
            StreamBody::new(stream::iter(events.into_iter().map(|event| Ok(Frame::data(event))))).boxed_unsync(),
        ),
    };
    Ok(Response::builder().header(CONTENT_TYPE, kind).body(body).expect("a response"))
}

fn message() -> Bytes {
    let text = WORDS.repeat(WORDS_COUNT);
    format!(
        r#"{{"id":"msg_bench","type":"message","role":"assistant","model":"m","content":[{{"type":"text","text":"{text}"}}],"stop_reason":"end_turn","stop_sequence":null,"usage":{{"input_tokens":1,"output_tokens":1}}}}"#
    )
    .into()
}

fn events() -> Vec<Bytes> {
    let event =
        |name: &str, rest: String| Bytes::from(format!("event: {name}\ndata: {{\"type\":\"{name}\"{rest}}}\n\n"));
    let mut events = vec![
        event("message_start", r#","message":{"id":"msg_bench","type":"message","role":"assistant","model":"m","content":[],"stop_reason":null,"usage":{"input_tokens":1,"output_tokens":1}}"#.into()),
        event("content_block_start", r#","index":0,"content_block":{"type":"text","text":""}"#.into()),
    ];
    events.extend((0..EVENTS).map(|_| {
        event("content_block_delta", format!(r#","index":0,"delta":{{"type":"text_delta","text":"{WORDS}"}}"#))
    }));
    events.push(event("content_block_stop", r#","index":0"#.into()));
    events.push(event(
        "message_delta",
        r#","delta":{"stop_reason":"end_turn","stop_sequence":null},"usage":{"output_tokens":50}"#.into(),
    ));
    events.push(event("message_stop", String::new()));
    events
}
