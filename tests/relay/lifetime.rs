//! Clients that leave, and the gateway that stops.
use crate::support::provider::event_stream;
use crate::support::{Client, Gate, PATIENCE, Provider, Step, config, gateway, soon};
use std::time::{Duration, Instant};

/// How soon an upstream must notice that nobody listens any more.
const AT_ONCE: Duration = Duration::from_secs(1);

#[tokio::test]
async fn a_client_that_leaves_closes_the_upstream() {
    for begin in [vec![], vec![event_stream(), Step::chunk("data: 1\n\n")]] {
        let waits_for_head = begin.is_empty();
        let provider = Provider::always([begin, vec![Step::WaitForClose]].concat()).await;
        let gateway = gateway(&provider).await;
        let mut client = Client::connect(gateway.addr()).await;
        client.send("POST /v1/messages HTTP/1.1\r\nhost: g\r\ncontent-length: 2\r\n\r\n{}").await;
        if waits_for_head {
            soon(async {
                while provider.requests().is_empty() {
                    tokio::task::yield_now().await;
                }
            })
            .await;
        } else {
            client.head().await;
            client.chunk().await.unwrap();
        }
        let left = Instant::now();
        drop(client);
        soon(provider.closed(1)).await;
        assert!(left.elapsed() < AT_ONCE);
    }
}

#[tokio::test]
async fn shutting_down_lets_streams_end_and_takes_no_new_requests() {
    let gate = Gate::new();
    let steps = vec![
        event_stream(),
        Step::chunk("data: 1\n\n"),
        Step::Wait(gate.clone()),
        Step::chunk("data: 2\n\n"),
        Step::last_chunk(),
    ];
    let provider = Provider::always(steps).await;
    let gateway = gateway(&provider).await;
    let (addr, admin) = (gateway.addr(), gateway.admin_addr());
    let mut client = Client::connect(addr).await;
    client.send("POST /v1/messages HTTP/1.1\r\nhost: g\r\ncontent-length: 2\r\n\r\n{}").await;
    client.head().await;
    client.chunk().await.unwrap();

    let stopping = tokio::spawn(gateway.shutdown(PATIENCE));
    soon(async {
        while tokio::net::TcpStream::connect(addr).await.is_ok() {
            tokio::task::yield_now().await;
        }
    })
    .await;
    let readiness = Client::connect(admin).await.request("GET", "/readyz", "", "").await;
    assert_eq!((readiness.status(), readiness.text().as_str()), (503, "draining\n"));
    gate.open();
    assert_eq!(client.chunk().await.unwrap().unwrap(), b"data: 2\n\n");
    assert_eq!(client.chunk().await.unwrap(), None);
    soon(stopping).await.unwrap();
}

#[tokio::test]
async fn what_does_not_end_within_the_grace_is_broken_off() {
    let provider = Provider::always(vec![event_stream(), Step::chunk("data: 1\n\n"), Step::WaitForClose]).await;
    let gateway = gateway(&provider).await;
    let mut client = Client::connect(gateway.addr()).await;
    client.send("POST /v1/messages HTTP/1.1\r\nhost: g\r\ncontent-length: 2\r\n\r\n{}").await;
    client.head().await;
    soon(gateway.shutdown(Duration::from_millis(50))).await;
    assert!(client.chunk().await.is_ok());
    assert!(client.chunk().await.is_err());
    soon(provider.closed(1)).await;
}

#[tokio::test]
async fn health_readiness_and_metrics_are_on_the_admin_listener() {
    let provider = Provider::always(vec![]).await;
    let gateway = gateway(&provider).await;
    let mut client = Client::connect(gateway.admin_addr()).await;
    assert_eq!(client.request("GET", "/healthz", "", "").await.status(), 200);
    assert_eq!(client.request("GET", "/readyz", "", "").await.text(), "ready\n");
    let admin = format!("authorization: Bearer {}\r\n", config::ADMIN_TOKEN);
    Client::connect(gateway.addr()).await.request("GET", "/nowhere", "", "").await;
    let metrics = client.request("GET", "/metrics", &admin, "").await.text();
    assert!(metrics.contains("hookgate_errors_total{code=\"no_route\"}"), "{metrics}");
}
