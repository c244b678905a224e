//! More than it can carry: the rest is told so at once, and what is carried goes on.
use crate::refusal::{ASKED, assert_refused};
use crate::support::config::for_provider;
use crate::support::provider::{answer, event_stream};
use crate::support::{Client, Gate, Provider, Step, gateway_with, soon};
use hookgate::dialect::DialectId;
use std::time::{Duration, Instant};

/// Far below what any queue would take, far above what an answer takes on a busy machine.
const AT_ONCE: Duration = Duration::from_secs(2);

#[tokio::test]
async fn at_twice_the_load_one_half_is_refused_at_once_and_the_other_goes_on() {
    const N: usize = 8;
    let gate = Gate::new();
    let opened = gate.clone();
    let provider = Provider::start(move |_, _| {
        vec![
            event_stream(),
            Step::chunk("data: 1\n\n"),
            Step::Wait(opened.clone()),
            Step::chunk("data: 2\n\n"),
            Step::last_chunk(),
        ]
    })
    .await;
    let mut config = for_provider(provider.addr());
    config.limits.concurrent_requests = N;
    let gateway = gateway_with(config).await;
    let mut carried = Vec::new();
    for _ in 0..N {
        let mut client = Client::connect(gateway.addr()).await;
        client.send("POST /v1/messages HTTP/1.1\r\nhost: g\r\ncontent-length: 2\r\n\r\n{}").await;
        client.head().await;
        assert_eq!(client.chunk().await.unwrap().unwrap(), b"data: 1\n\n");
        carried.push(client);
    }
    for (target, dialect, _) in ASKED.into_iter().cycle().take(N) {
        let since = Instant::now();
        // With a body that is still on its way.
        let mut client = Client::connect(gateway.addr()).await;
        client.send(format!("POST {target} HTTP/1.1\r\nhost: g\r\ncontent-length: 1000000\r\n\r\n{{")).await;
        let refused = client.answer("POST").await;
        assert!(since.elapsed() < AT_ONCE, "{:?}", since.elapsed());
        assert_refused(&refused, 503, "overloaded", dialect);
        assert_eq!((refused.head.get("retry-after"), refused.head.get("retry-after-ms")), (Some("1"), Some("1000")));
    }
    assert_eq!(provider.requests().len(), N);
    gate.open();
    for mut client in carried {
        assert_eq!(client.chunk().await.unwrap().unwrap(), b"data: 2\n\n");
        assert!(client.chunk().await.unwrap().is_none());
    }
}

#[tokio::test]
async fn a_connection_for_which_there_is_no_place_is_told_so_and_closed() {
    let provider = Provider::always(answer("200 OK", "content-type: application/json\r\n", "{}")).await;
    let mut config = for_provider(provider.addr());
    config.limits.concurrent_requests = 2;
    let gateway = gateway_with(config).await;
    let mut idle = Vec::new();
    for _ in 0..8 {
        let mut client = Client::connect(gateway.addr()).await;
        assert_eq!(client.request("POST", "/v1/messages", "", "{}").await.status(), 200);
        idle.push(client);
    }
    for _ in 0..3 {
        let mut client = Client::connect(gateway.addr()).await;
        let refused = client.request("POST", "/v1/messages", "", "{}").await;
        assert_refused(&refused, 503, "overloaded", DialectId::Anthropic);
        assert!(client.is_closed().await);
    }
    let again = idle[0].request("POST", "/v1/messages", "", "{}").await;
    assert_eq!(again.status(), 200, "whoever has a place keeps it");
    drop(idle);
    soon(async {
        while Client::connect(gateway.addr()).await.request("POST", "/v1/messages", "", "{}").await.status() != 200 {
            tokio::task::yield_now().await;
        }
    })
    .await;
}
