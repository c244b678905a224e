//! The PROXY protocol: off unless somebody is trusted.
use crate::support::config::for_provider;
use crate::support::provider::answer;
use crate::support::{Client, Provider, gateway_with, soon};
use hookgate::app::Running;
use hookgate::config::{Config, Source, parse};

const V1: &[u8] = b"PROXY TCP4 10.0.0.1 127.0.0.1 4096 8192\r\n";
const V2: &[u8] = b"\r\n\r\n\0\r\nQUIT\n\x21\x11\0\x0c\x0a\0\0\x01\x7f\0\0\x01\x10\x00\x20\x00";
const REQUEST: &[u8] = b"POST /v1/messages HTTP/1.1\r\nhost: g\r\ncontent-length: 2\r\n\r\n{}";

async fn gateway(provider: &Provider, trusted: &str) -> Running {
    let trust = parse(&format!("trust: {{ proxy_protocol: [{trusted}] }}"), Source::Program, &|_| None).unwrap();
    gateway_with(Config { trust: trust.config.trust, ..for_provider(provider.addr()) }).await
}

async fn send(gateway: &Running, pieces: &[&[u8]]) -> Client {
    let mut client = Client::connect(gateway.addr()).await;
    for piece in pieces {
        // The other side may have closed already.
        let _ = client.try_send(piece).await;
    }
    client
}

async fn closes(mut client: Client) -> bool {
    soon(async {
        while !client.is_closed().await {}
        true
    })
    .await
}

async fn ok() -> Provider {
    Provider::always(answer("200 OK", "content-type: application/json\r\n", "{}")).await
}

#[tokio::test]
async fn a_trusted_proxy_says_whom_it_connects_for_and_has_to() {
    let provider = ok().await;
    let gateway = gateway(&provider, "127.0.0.0/8").await;
    for header in [V1, V2] {
        for cut in [0, 1, 13, header.len()] {
            let (one, two) = header.split_at(cut);
            let mut client = send(&gateway, &[one, two, REQUEST]).await;
            assert_eq!(client.answer("POST").await.status(), 200);
            assert_eq!(client.request("POST", "/v1/messages", "", "{}").await.status(), 200, "once per connection");
        }
    }
    let seen = provider.requests().len();
    assert!(closes(send(&gateway, &[REQUEST]).await).await);
    assert!(closes(send(&gateway, &[b"PROXY TCP4 nonsense\r\n", REQUEST]).await).await);
    assert_eq!(provider.requests().len(), seen);
}

#[tokio::test]
async fn nobody_else_can_say_who_he_is() {
    let provider = ok().await;
    for trusted in ["", "10.0.0.0/8"] {
        let gateway = gateway(&provider, trusted).await;
        for header in [V1, V2] {
            assert!(closes(send(&gateway, &[header, REQUEST]).await).await, "{trusted}");
        }
        assert!(provider.requests().is_empty());
    }
    let gateway = gateway(&provider, "10.0.0.0/8").await;
    assert_eq!(send(&gateway, &[REQUEST]).await.answer("POST").await.status(), 200, "directly is as ever");
}
