use super::*;
use crate::config::{Provider, Secret};
use crate::json::Rope;
use http::header::AUTHORIZATION;

mod tls;

/// Short, since one test waits for it.
const CONNECT_TIMEOUT: Duration = Duration::from_millis(300);

fn upstream(base_url: &str, provider: Provider, api_key: Option<&str>) -> Upstream {
    Upstream::new(&configured(base_url, provider, api_key), &connect::Tls::new().unwrap()).unwrap()
}

fn configured(base_url: &str, provider: Provider, api_key: Option<&str>) -> config::Upstream {
    config::Upstream {
        name: "u".into(),
        provider,
        base_url: base_url.parse().unwrap(),
        prefix: None,
        headers: vec![(HeaderName::from_static("x-extra"), Secret("1".into()))],
        api_key: api_key.map(|key| Secret(key.into())),
        connect_timeout: CONNECT_TIMEOUT,
        idle_timeout: Duration::from_secs(10),
        cached: true,
    }
}

fn call(line: &str, headers: &[(&str, &str)], body: RequestBody) -> Call {
    let mut map = HeaderMap::new();
    for (name, value) in headers {
        map.append(HeaderName::from_bytes(name.as_bytes()).unwrap(), HeaderValue::from_str(value).unwrap());
    }
    Call { method: Method::POST, line: line.parse().unwrap(), headers: map, body, credential: None }
}

fn headers_of(request: &Request<RequestBody>) -> Vec<String> {
    let mut all: Vec<String> =
        request.headers().iter().map(|(name, value)| format!("{name}: {}", value.to_str().unwrap())).collect();
    all.sort();
    all
}

#[tokio::test]
async fn base_path_path_and_query_are_joined_byte_for_byte() {
    let cases = [
        ("https://api.example", "/v1/messages?beta=true", "https://api.example/v1/messages?beta=true"),
        ("https://api.example/", "/v1/x", "https://api.example/v1/x"),
        ("http://h:81/proxy/v2", "/v1/x?a=%2F&b=+&&c", "http://h:81/proxy/v2/v1/x?a=%2F&b=+&&c"),
        ("http://h", "/v1//x%20y/{z}?q=a'b", "http://h/v1//x%20y/{z}?q=a'b"),
        ("http://h/p", "/v1/x?", "http://h/p/v1/x?"),
    ];
    for (base, line, uri) in cases {
        let request = upstream(base, Provider::OpenAi, None).request(call(line, &[], RequestBody::empty())).unwrap();
        assert_eq!(request.uri().to_string(), uri);
    }
}

#[tokio::test]
async fn hop_by_hop_and_own_headers_end_here() {
    let headers = [
        ("host", "gateway"),
        ("connection", "close, X-Hop"),
        ("x-hop", "1"),
        ("keep-alive", "timeout=5"),
        ("te", "gzip, Trailers"),
        ("trailer", "x-sum"),
        ("upgrade", "h2c"),
        ("proxy-authorization", "secret"),
        ("proxy-connection", "keep-alive"),
        ("expect", "100-continue"),
        ("x-hookgate-session", "s1"),
        ("x-hookgate-agent", "a"),
        ("accept", "a"),
        ("accept", "b"),
    ];
    let request =
        upstream("http://h", Provider::OpenAi, None).request(call("/v1/x", &headers, RequestBody::empty())).unwrap();
    assert_eq!(headers_of(&request), ["accept: a", "accept: b", "te: trailers", "trailer: x-sum", "x-extra: 1"]);
}

#[tokio::test]
async fn content_length_is_the_bodys_own() {
    type Case<'a> = (&'a [(&'a str, &'a str)], RequestBody, Option<&'a str>);
    let rope = || RequestBody::rope(Rope::from(bytes::Bytes::from_static(b"12345")));
    let cases: [Case<'_>; 5] = [
        (&[("content-length", "3")], rope(), Some("5")),
        (&[("transfer-encoding", "chunked")], rope(), Some("5")),
        (&[("transfer-encoding", "chunked"), ("content-length", "9")], rope(), Some("5")),
        (&[("content-length", "0")], RequestBody::empty(), Some("0")),
        (&[], RequestBody::empty(), None),
    ];
    for (headers, body, length) in cases {
        let request = upstream("http://h", Provider::OpenAi, None).request(call("/", headers, body)).unwrap();
        let stated = request.headers().get(CONTENT_LENGTH).map(|value| value.to_str().unwrap());
        assert_eq!(stated, length, "{headers:?}");
        assert!(!request.headers().contains_key(TRANSFER_ENCODING));
    }
}

#[tokio::test]
async fn the_operators_key_replaces_every_credential_of_the_client() {
    let client =
        [("authorization", "Bearer c"), ("x-api-key", "c"), ("x-goog-api-key", "c"), ("api-key", "c"), ("x", "y")];
    let cases = [
        (Provider::Anthropic, "x-api-key: op"),
        (Provider::OpenAi, "authorization: Bearer op"),
        (Provider::Gemini, "x-goog-api-key: op"),
    ];
    for (provider, header) in cases {
        let request = upstream("http://h", provider, Some("op"))
            .request(call("/v1beta/m?key=c&alt=sse&monkey=1", &client, RequestBody::empty()))
            .unwrap();
        let mut expected = [header, "x: y", "x-extra: 1"].map(str::to_owned);
        expected.sort();
        assert_eq!(headers_of(&request), expected);
        assert_eq!(request.uri().to_string(), "http://h/v1beta/m?alt=sse&monkey=1");
        assert!(!format!("{:?}", request.headers()).contains("op"), "a key never prints");
    }
    let kept = upstream("http://h", Provider::OpenAi, None)
        .request(call("/?key=c", &[("authorization", "Bearer c")], RequestBody::empty()))
        .unwrap();
    assert_eq!(kept.headers().get(AUTHORIZATION).unwrap(), "Bearer c");
    assert_eq!(kept.uri().to_string(), "http://h/?key=c");
}
