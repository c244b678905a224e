//! Clients that take their time: nobody holds a place for ever.
use crate::refusal::{ASKED, assert_refused};
use crate::support::config::for_provider;
use crate::support::provider::answer;
use crate::support::{Client, Provider, gateway_with, soon};
use hookgate::app::Running;
use hookgate::config::{Config, Source, parse};
use std::time::{Duration, Instant};

const SHORT: Duration = Duration::from_millis(300);

async fn gateway(provider: &Provider, hooks: &str) -> Running {
    let mut config = for_provider(provider.addr());
    config.limits.head_timeout = SHORT;
    config.limits.body_timeout = SHORT;
    config.limits.request_head = 4096;
    let hooks = parse(hooks, Source::Program, &|_| None).unwrap().config.hooks;
    gateway_with(Config { hooks, ..config }).await
}

async fn ok() -> Provider {
    Provider::always(answer("200 OK", "content-type: application/json\r\n", "{}")).await
}

#[tokio::test]
async fn a_head_that_does_not_end_is_cut_off_however_it_trickles() {
    let provider = ok().await;
    let gateway = gateway(&provider, "").await;
    for begin in ["POST /v1/messages HTTP/1.1\r\nhost: g\r\n", "P", "PRI * HTTP/2.0\r\n"] {
        let mut client = Client::connect(gateway.addr()).await;
        client.send(begin).await;
        let since = Instant::now();
        soon(async {
            // A byte now and then does not help.
            while client.try_send("x").await.is_ok() {
                tokio::time::sleep(Duration::from_millis(20)).await;
            }
        })
        .await;
        assert!(since.elapsed() >= SHORT / 2 || begin.starts_with("PRI"), "{begin:?}");
    }
    // One that is in time and then idle is not cut off: the pools of clients keep connections.
    let mut client = Client::connect(gateway.addr()).await;
    for _ in 0..2 {
        assert_eq!(client.request("POST", "/v1/messages", "", "{}").await.status(), 200);
        tokio::time::sleep(SHORT * 2).await;
    }
}

#[tokio::test]
async fn a_body_that_stays_away_is_a_timeout_in_every_dialect() {
    let provider = ok().await;
    // Passed through as it comes, and read for hooks.
    for hooks in ["", "hooks: [{ name: h, on: session.start, run: { text: x } }]"] {
        let gateway = gateway(&provider, hooks).await;
        for (target, dialect, _) in ASKED {
            let mut client = Client::connect(gateway.addr()).await;
            client.send(format!("POST {target} HTTP/1.1\r\nhost: g\r\ncontent-length: 10\r\n\r\n{{")).await;
            assert_refused(&client.answer("POST").await, 408, "body_timeout", dialect);
        }
    }
}

#[tokio::test]
async fn a_head_that_is_too_large_is_refused_in_every_dialect() {
    let provider = ok().await;
    let gateway = gateway(&provider, "").await;
    for (target, dialect, _) in ASKED {
        let headers = format!("x-a: {}\r\nx-b: {}\r\n", "a".repeat(3000), "b".repeat(3000));
        let answer = Client::connect(gateway.addr()).await.request("POST", target, &headers, "{}").await;
        assert_refused(&answer, 431, "head_too_large", dialect);
    }
    let headers = format!("x-a: {}\r\n", "a".repeat(3000));
    let answer = Client::connect(gateway.addr()).await.request("POST", "/v1/messages", &headers, "{}").await;
    assert_eq!(answer.status(), 200);
}
