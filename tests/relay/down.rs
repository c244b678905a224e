//! The way down (I2, I7).
use crate::support::provider::{answer, event_stream};
use crate::support::{Answer, Client, Gate, Provider, Step, config, gateway, gateway_with};
use std::time::Duration;

/// Events with what streams have in them: names, comments, pings, characters of several bytes, CR LF, two data lines.
const STREAM: &str = "event: message_start\ndata: {\"type\":\"message_start\"}\n\n: ka\n\nevent: ping\ndata: {\"type\":\"ping\"}\n\n\
    data:{\"text\":\"北🌍\"}\r\n\r\ndata: two\ndata: lines\n\ndata: {\"type\":\"message_stop\"}";

async fn ask(provider: &Provider, method: &str, target: &str) -> Answer {
    let gateway = gateway(provider).await;
    Client::connect(gateway.addr()).await.request(method, target, "", "").await
}

#[tokio::test]
async fn i2_a_stream_passes_wherever_it_is_cut() {
    let bytes = STREAM.as_bytes();
    let provider = Provider::start(|request, _| {
        let at: usize = request.target().rsplit('=').next().unwrap().parse().unwrap();
        vec![
            event_stream(),
            Step::chunk(&STREAM.as_bytes()[..at]),
            Step::chunk(&STREAM.as_bytes()[at..]),
            Step::last_chunk(),
        ]
    })
    .await;
    let gateway = gateway(&provider).await;
    let mut client = Client::connect(gateway.addr()).await;
    for at in 1..bytes.len() {
        let answer = client.request("POST", &format!("/v1/messages?at={at}"), "", "{}").await;
        assert!(answer.whole);
        assert_eq!(answer.body, bytes, "cut at {at}");
    }
}

#[tokio::test]
async fn i2_every_event_arrives_before_the_next_is_sent() {
    let gates: Vec<Gate> = (0..10).map(|_| Gate::new()).collect();
    let mut steps = vec![event_stream()];
    for (n, gate) in gates.iter().enumerate() {
        steps.extend([Step::Wait(gate.clone()), Step::chunk(format!("data: {n}\n\n"))]);
    }
    steps.push(Step::last_chunk());
    let provider = Provider::always(steps).await;
    let gateway = gateway(&provider).await;
    let mut client = Client::connect(gateway.addr()).await;
    client.send("POST /v1/messages HTTP/1.1\r\nhost: g\r\ncontent-length: 2\r\n\r\n{}").await;
    assert_eq!(client.head().await.get("content-type"), Some("text/event-stream; charset=utf-8"));
    for (n, gate) in gates.iter().enumerate() {
        gate.open();
        assert_eq!(client.chunk().await.unwrap().unwrap(), format!("data: {n}\n\n").as_bytes());
    }
    assert_eq!(client.chunk().await.unwrap(), None);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_burst_of_events_goes_down_in_few_pieces() {
    const EVENTS: usize = 50;
    let burst: Vec<u8> = (0..EVENTS).flat_map(|n| format!("9\r\ndata: {:02}\n\r\n", n % 100).into_bytes()).collect();
    let Step::Write(head) = event_stream() else { panic!() };
    let provider = Provider::always(vec![Step::Write([head, burst, b"0\r\n\r\n".to_vec()].concat())]).await;
    let gateway = gateway(&provider).await;
    let mut client = Client::connect(gateway.addr()).await;
    client.send("POST /v1/messages HTTP/1.1\r\nhost: g\r\ncontent-length: 2\r\n\r\n{}").await;
    client.head().await;
    let (mut pieces, mut bytes) = (0, 0);
    while let Some(chunk) = client.chunk().await.unwrap() {
        pieces += 1;
        bytes += chunk.len();
    }
    assert_eq!(bytes, EVENTS * 9);
    assert!(pieces < EVENTS / 2, "{pieces} pieces for {EVENTS} events");
}

#[tokio::test]
async fn status_headers_and_body_of_any_answer_pass_unchanged() {
    let headers = "Retry-After: 7\r\nrequest-id: req_1\r\nx-a: 2\r\nx-a: 1\r\nset-cookie: a\r\nset-cookie: b\r\n\
                   connection: keep-alive, x-hop\r\nx-hop: 1\r\nx-ratelimit-remaining: 0\r\n";
    for (status, body) in [
        ("200 OK", "{\"a\": 1.0}"),
        ("301 Moved Permanently", ""),
        ("307 Temporary Redirect", "elsewhere"),
        (
            "400 Bad Request",
            r#"{"type":"error","error":{"type":"invalid_request_error","message":"prompt is too long"}}"#,
        ),
        ("429 Too Many Requests", r#"{"type":"error"}"#),
        ("503 Service Unavailable", "<html>down</html>"),
        ("529 Overloaded", "{}"),
    ] {
        let provider = Provider::always(answer(status, &format!("{headers}location: /other\r\n"), body)).await;
        let answer = ask(&provider, "POST", "/v1/messages").await;
        assert_eq!(answer.head.line, format!("HTTP/1.1 {status}"));
        assert_eq!(answer.text(), body);
        let mut names: Vec<&str> = answer.head.headers.iter().map(|(name, _)| name.as_str()).collect();
        names.sort_unstable();
        let expected = "content-length,location,request-id,retry-after,set-cookie,set-cookie,x-a,x-a,\
                        x-hookgate-request-id,x-ratelimit-remaining";
        assert_eq!(names.join(","), expected, "{status}");
        assert_eq!(answer.head.all("x-a"), ["2", "1"]);
        assert_eq!(provider.requests().len(), 1, "a redirect is not followed");
    }
}

#[tokio::test]
async fn compressed_answers_pass_compressed() {
    let body = zstd::encode_all(&b"{\"error\":1}"[..], 3).unwrap();
    let provider = Provider::always(answer("404 Not Found", "content-encoding: zstd\r\n", &body)).await;
    let answer = ask(&provider, "POST", "/v1/messages").await;
    assert_eq!((answer.body, answer.head.get("content-encoding")), (body, Some("zstd")));
}

#[tokio::test]
async fn trailers_pass() {
    let head = "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\ntrailer: x-sum\r\n\r\n";
    let provider = Provider::always(vec![Step::text(format!("{head}2\r\n{{}}\r\n0\r\nx-sum: 7\r\n\r\n"))]).await;
    let gateway = gateway(&provider).await;
    let answer = Client::connect(gateway.addr()).await.request("GET", "/v1/models", "te: trailers\r\n", "").await;
    assert_eq!(answer.trailers, [("x-sum".to_owned(), "7".to_owned())]);
}

#[tokio::test]
async fn answers_without_a_body_have_the_upstreams_headers_only() {
    for (method, target, head, length) in [
        ("HEAD", "/api/hello", "HTTP/1.1 404 Not Found\r\ncontent-length: 9\r\n\r\n", Some("9")),
        ("HEAD", "/v1/models", "HTTP/1.1 200 OK\r\n\r\n", None),
        ("GET", "/v1/models", "HTTP/1.1 304 Not Modified\r\netag: \"x\"\r\n\r\n", None),
        ("DELETE", "/v1/files/x", "HTTP/1.1 204 No Content\r\n\r\n", None),
        ("GET", "/v1/models", "HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n", Some("0")),
        ("GET", "/v1/x", "HTTP/1.1 103 Early Hints\r\nlink: x\r\n\r\nHTTP/1.1 204 No Content\r\n\r\n", None),
    ] {
        let provider = Provider::always(vec![Step::text(head)]).await;
        let answer = ask(&provider, method, target).await;
        assert_eq!(answer.head.get("content-length"), length, "{method} {head}");
        assert_eq!(answer.head.get("transfer-encoding"), None, "{method} {head}");
        assert_eq!(answer.head.get("date"), None);
    }
}

#[tokio::test]
async fn an_answer_that_ends_with_its_connection_is_whole() {
    let provider =
        Provider::always(vec![Step::text("HTTP/1.1 200 OK\r\ncontent-type: text/plain\r\n\r\nall of it"), Step::Close])
            .await;
    let answer = ask(&provider, "GET", "/v1/models").await;
    assert!(answer.whole);
    assert_eq!(answer.text(), "all of it");
}

#[tokio::test]
async fn i7_an_answer_that_breaks_off_never_looks_whole() {
    let short = Step::text("HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 99\r\n\r\n{\"half\":");
    let chunks = [event_stream(), Step::chunk("data: half\n\n")].to_vec();
    let compressed = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ncontent-encoding: gzip\r\n\
                      transfer-encoding: chunked\r\n\r\n4\r\nhalf\r\n";
    for (begin, sent) in
        [(vec![short], "{\"half\":"), (chunks, "data: half\n\n"), (vec![Step::text(compressed)], "half")]
    {
        for end in [Step::Close, Step::Reset] {
            let provider = Provider::always([begin.clone(), vec![end.clone()]].concat()).await;
            let answer = ask(&provider, "POST", "/v1/chat/completions").await;
            // A reset discards what the gateway had not read yet.
            let arrived = answer.text().starts_with(sent) || matches!(end, Step::Reset) && answer.body.is_empty();
            assert!(arrived, "{}", answer.text());
            let told = answer.text().contains("\"error\"");
            assert!(told || !answer.whole, "{begin:?} ends in order with {}", answer.text());
        }
    }
}

#[tokio::test]
async fn everything_before_a_cut_arrives() {
    let gate = Gate::new();
    let big = vec![b'x'; 300_000];
    let steps = vec![event_stream(), Step::chunk(&big), Step::chunk("tail"), Step::Wait(gate.clone()), Step::Close];
    let provider = Provider::always(steps).await;
    let gateway = gateway(&provider).await;
    let mut client = Client::connect(gateway.addr()).await;
    client.send("GET /v1/x HTTP/1.1\r\nhost: g\r\n\r\n").await;
    client.head().await;
    gate.open();
    let mut arrived = 0;
    while let Ok(Some(chunk)) = client.chunk().await {
        arrived += chunk.len();
    }
    assert_eq!(arrived, big.len() + 4);
}

#[tokio::test]
async fn a_silent_upstream_is_given_up_after_its_idle_timeout() {
    for begin in [vec![], vec![event_stream(), Step::chunk("data: x\n\n")]] {
        let provider = Provider::always([begin.clone(), vec![Step::WaitForClose]].concat()).await;
        let mut config = config::for_provider(provider.addr());
        for upstream in &mut config.upstreams {
            upstream.idle_timeout = Duration::from_millis(200);
        }
        let gateway = gateway_with(config).await;
        let answer = Client::connect(gateway.addr()).await.request("POST", "/v1/messages", "", "{}").await;
        if begin.is_empty() {
            assert_eq!((answer.status(), answer.head.get("x-hookgate-error")), (504, Some("upstream_idle")));
        } else {
            assert!(answer.text().starts_with("data: x\n\n"));
            assert!(!answer.whole || answer.text().contains("error"));
        }
        provider.closed(1).await;
    }
}
