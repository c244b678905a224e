//! The way up (I1).
use crate::support::provider::answer;
use crate::support::{Client, Provider, Recorded, config, gateway, gateway_with, soon};
use hookgate::config::{Provider as Speaks, Secret};

/// Headers that an upstream gets because of its own address and connection.
const OF_THE_CONNECTION: [&str; 1] = ["host"];

fn passed_on(request: &Recorded) -> Vec<String> {
    let mut headers: Vec<String> = request
        .head
        .headers
        .iter()
        .filter(|(name, _)| !OF_THE_CONNECTION.contains(&name.as_str()))
        .map(|(name, value)| format!("{}: {value}", name.to_ascii_lowercase()))
        .collect();
    headers.sort_by(|a, b| a.split(':').next().cmp(&b.split(':').next()));
    headers
}

#[tokio::test]
async fn i1_body_line_and_headers_go_up_byte_for_byte() {
    let body = br#"{"z":1.0,"temperature":0.70,"id":990000000262240065,"e":1e2,"x":"\u00e9 \/ caf\u00e9" , "x":2}"#;
    let provider = Provider::always(answer("200 OK", "", "{}")).await;
    let gateway = gateway(&provider).await;
    let headers = "x-b: 2\r\nX-Odd:  spaced  value \r\nx-b: 1\r\nx-empty:\r\nx-b: 3\r\naccept-encoding: gzip, br\r\n\
                   user-agent: claude-cli/2.1.332\r\nauthorization: Bearer k\r\ncookie: a=b\r\nx-latin: \u{e9}\r\n";
    let target = "/v1/messages?beta=true&&x=%2F+%e9&empty=&q='{}'";
    Client::connect(gateway.addr()).await.request("POST", target, headers, body).await;

    let request = provider.request();
    assert_eq!(request.head.line, format!("POST {target} HTTP/1.1"));
    assert_eq!(request.body, body);
    assert_eq!(request.head.get("host"), Some(provider.addr().to_string().as_str()));
    assert_eq!(
        passed_on(&request),
        [
            "accept-encoding: gzip, br",
            "authorization: Bearer k",
            &format!("content-length: {}", body.len()),
            "cookie: a=b",
            "user-agent: claude-cli/2.1.332",
            "x-b: 2",
            "x-b: 1",
            "x-b: 3",
            "x-empty: ",
            "x-latin: \u{c3}\u{a9}",
            "x-odd: spaced  value",
        ]
    );
}

#[tokio::test]
async fn nothing_is_added_and_what_is_for_the_hop_is_dropped() {
    let provider = Provider::always(answer("200 OK", "", "{}")).await;
    let gateway = gateway(&provider).await;
    let headers = "connection: keep-alive, x-hop\r\nx-hop: 1\r\nkeep-alive: timeout=5\r\nupgrade: h2c\r\n\
                   proxy-authorization: Basic x\r\nte: trailers, gzip\r\nx-hookgate-session: s\r\nx-kept: 1\r\n";
    Client::connect(gateway.addr()).await.request("GET", "/v1/models", headers, "").await;
    assert_eq!(passed_on(&provider.request()), ["te: trailers", "x-kept: 1"]);
}

#[tokio::test]
async fn prefixes_are_stripped_and_the_base_path_is_put_before() {
    let provider = Provider::always(answer("200 OK", "", "{}")).await;
    let mut config = config::for_provider(provider.addr());
    let mut lab = config::upstream("lab", Speaks::OpenAi, provider.addr());
    lab.base_url = format!("http://{}/deep/er", provider.addr()).parse().unwrap();
    lab.prefix = Some("/l".into());
    lab.api_key = Some(Secret("op".into()));
    lab.headers = vec![("x-team".parse().unwrap(), Secret("red".into()))];
    config.upstreams.push(lab);
    let gateway = gateway_with(config).await;

    let mut client = Client::connect(gateway.addr()).await;
    for target in ["/l/v1/chat/completions?a=1", "/lab/v1/x", "/openai/v1/models", "/gemini?x"] {
        client.request("POST", target, "authorization: Bearer client\r\nx-api-key: client\r\n", "{}").await;
    }
    let requests = provider.requests();
    let targets: Vec<&str> = requests.iter().map(Recorded::target).collect();
    assert_eq!(targets, ["/deep/er/v1/chat/completions?a=1", "/deep/er/v1/x", "/v1/models", "/?x"]);
    assert_eq!(requests[0].head.get("authorization"), Some("Bearer op"));
    assert_eq!(requests[0].head.get("x-api-key"), None);
    assert_eq!(requests[0].head.get("x-team"), Some("red"));
    assert_eq!(requests[2].head.get("authorization"), Some("Bearer client"));
}

#[tokio::test]
async fn a_body_of_unknown_length_goes_up_in_chunks_with_its_trailers() {
    let provider = Provider::always(answer("200 OK", "", "{}")).await;
    let gateway = gateway(&provider).await;
    let mut client = Client::connect(gateway.addr()).await;
    let head = "POST /v1/responses HTTP/1.1\r\nhost: g\r\ntransfer-encoding: chunked\r\ntrailer: x-sum\r\n\r\n";
    client.send(format!("{head}3\r\n{{\"a\r\n4;ext=1\r\n\":1}}\r\n0\r\nx-sum: 7\r\n\r\n")).await;
    assert_eq!(client.answer("POST").await.status(), 200);
    let request = provider.request();
    assert_eq!(request.body, br#"{"a":1}"#);
    assert_eq!(request.head.get("transfer-encoding"), Some("chunked"));
    assert_eq!(request.head.get("content-length"), None);
    assert_eq!(request.trailers, [("x-sum".to_owned(), "7".to_owned())]);
}

#[tokio::test]
async fn expect_is_answered_here() {
    let provider = Provider::always(answer("200 OK", "", "{}")).await;
    let gateway = gateway(&provider).await;
    let mut client = Client::connect(gateway.addr()).await;
    client.send("POST /v1/messages HTTP/1.1\r\nhost: g\r\nexpect: 100-continue\r\ncontent-length: 2\r\n\r\n").await;
    assert_eq!(client.interim().await, 100);
    client.send("{}").await;
    assert_eq!(client.answer("POST").await.status(), 200);
    let request = provider.request();
    assert_eq!((request.body.as_slice(), request.head.get("expect")), (&b"{}"[..], None));
}

#[tokio::test]
async fn a_large_body_arrives_whole() {
    const SIZE: usize = 31 << 20;
    let mut body = br#"{"data":"0123456789abcdef"}"#.repeat(SIZE / 27 + 1);
    body.truncate(SIZE);
    let provider = Provider::always(answer("200 OK", "", "{}")).await;
    let gateway = gateway(&provider).await;
    let answer = Client::connect(gateway.addr()).await.request("POST", "/v1/messages", "", &body).await;
    assert_eq!(answer.status(), 200);
    assert!(provider.request().body == body);
}

#[tokio::test]
async fn the_body_is_passed_on_while_it_arrives() {
    let provider = Provider::always(answer("200 OK", "", "{}")).await;
    let gateway = gateway(&provider).await;
    let mut client = Client::connect(gateway.addr()).await;
    client.send("POST /v1/files HTTP/1.1\r\nhost: g\r\ncontent-length: 4\r\n\r\nab").await;
    // The provider counts a connection only once the gateway has begun to send.
    soon(async {
        while provider.connections() == 0 {
            tokio::task::yield_now().await;
        }
    })
    .await;
    client.send("cd").await;
    assert_eq!(client.answer("POST").await.status(), 200);
    assert_eq!(provider.request().body, b"abcd");
}

#[tokio::test]
async fn encoded_bodies_pass_as_they_are() {
    let provider = Provider::always(answer("200 OK", "", "{}")).await;
    let gateway = gateway(&provider).await;
    let body = zstd::encode_all(&b"{}"[..], 3).unwrap();
    let headers = "content-encoding: zstd\r\n";
    Client::connect(gateway.addr()).await.request("POST", "/v1/files", headers, &body).await;
    let request = provider.request();
    assert_eq!((request.body, request.head.get("content-encoding")), (body, Some("zstd")));
}

#[tokio::test]
async fn connections_are_kept_on_both_sides() {
    let provider = Provider::always(answer("200 OK", "", "{}")).await;
    let gateway = gateway(&provider).await;
    let mut client = Client::connect(gateway.addr()).await;
    for n in 0..3 {
        let answer = client.request("POST", "/v1/messages", "", format!("{n}")).await;
        assert_eq!(answer.status(), 200);
    }
    let bodies: Vec<Vec<u8>> = provider.requests().into_iter().map(|request| request.body).collect();
    assert_eq!(bodies, [b"0", b"1", b"2"]);
    assert_eq!(provider.connections(), 1);
}

#[tokio::test]
async fn a_length_beside_chunks_does_not_go_up() {
    let provider = Provider::always(answer("200 OK", "", "{}")).await;
    let gateway = gateway(&provider).await;
    let mut client = Client::connect(gateway.addr()).await;
    let head = "POST /v1/messages HTTP/1.1\r\nhost: g\r\ncontent-length: 3\r\ntransfer-encoding: chunked\r\n\r\n";
    client.send(format!("{head}5\r\n12345\r\n0\r\n\r\n")).await;
    assert_eq!(client.answer("POST").await.status(), 200);
    let request = provider.request();
    assert_eq!(request.head.get("content-length"), None);
    assert_eq!(request.body, b"12345");
}
