//! What a tenant may use, and that it gets to hear when to come again.
use crate::keys::{key, keyed, message};
use crate::refusal::{ASKED, assert_refused};
use crate::support::provider::{answer, event_stream};
use crate::support::{Client, Gate, Provider, Step, gateway_with, soon};
use hookgate::app::Running;
use hookgate::config::TenantLimits;
use hookgate::dialect::DialectId;
use serde_json::json;
use std::time::Duration;

const JSON: &str = "content-type: application/json\r\n";

async fn gateway(provider: &Provider, limits: TenantLimits) -> Running {
    let mut config =
        keyed(provider, vec![key("a", "hgk_a", "team"), key("b", "hgk_b", "team"), key("c", "hgk_c", "c")]);
    config.keys.tenants.insert("team".into(), limits);
    gateway_with(config).await
}

async fn ask(gateway: &Running, key: &str) -> crate::support::Answer {
    let headers = format!("x-api-key: {key}\r\nanthropic-version: 2023-06-01\r\n");
    Client::connect(gateway.addr()).await.request("POST", "/v1/messages", &headers, "{}").await
}

#[tokio::test]
async fn beyond_its_requests_a_tenant_is_told_when_to_come_again_in_every_dialect() {
    let provider = Provider::always(answer("200 OK", JSON, "{}")).await;
    let gateway = gateway(&provider, TenantLimits { requests_per_minute: 2, ..Default::default() }).await;
    assert_eq!(ask(&gateway, "hgk_a").await.status(), 200);
    assert_eq!(ask(&gateway, "hgk_b").await.status(), 200);
    for (target, dialect, place) in ASKED {
        let mut client = Client::connect(gateway.addr()).await;
        let answer = client.request("POST", target, &format!("{place}hgk_a\r\n"), "{}").await;
        assert_refused(&answer, 429, "limited", dialect);
        let after: u64 = answer.head.get("retry-after").unwrap().parse().unwrap();
        let millis: u64 = answer.head.get("retry-after-ms").unwrap().parse().unwrap();
        // One of two a minute comes back every thirty seconds. SDKs wait no longer than sixty.
        assert!(
            (20..=30).contains(&after) && millis <= after * 1000 && millis > (after - 1) * 1000,
            "{after} {millis}"
        );
    }
    assert_eq!(ask(&gateway, "hgk_c").await.status(), 200, "others are not concerned");
    assert_eq!(provider.requests().len(), 3);
}

#[tokio::test]
async fn a_stream_takes_its_place_until_its_last_byte() {
    let gate = Gate::new();
    let opened = gate.clone();
    let provider = Provider::start(move |_, _| {
        vec![event_stream(), Step::chunk("data: {}\n\n"), Step::Wait(opened.clone()), Step::last_chunk()]
    })
    .await;
    let gateway = gateway(&provider, TenantLimits { concurrent_requests: 1, ..Default::default() }).await;
    let mut client = Client::connect(gateway.addr()).await;
    client.send("POST /v1/messages HTTP/1.1\r\nhost: g\r\nx-api-key: hgk_a\r\ncontent-length: 2\r\n\r\n{}").await;
    client.head().await;
    let refused = ask(&gateway, "hgk_b").await;
    assert_refused(&refused, 429, "limited", DialectId::Anthropic);
    gate.open();
    while client.chunk().await.unwrap().is_some() {}
    assert_eq!(again(&gateway).await.status(), 200);
}

/// Asks until it is let in: the place is given back a moment after the last byte.
async fn again(gateway: &Running) -> crate::support::Answer {
    soon(async {
        loop {
            let answer = ask(gateway, "hgk_b").await;
            if answer.status() != 429 {
                return answer;
            }
        }
    })
    .await
}

fn stream() -> Vec<Step> {
    let mut start = message(100, 1);
    start["content"] = json!([]);
    let events = [
        json!({"type": "message_start", "message": start}),
        json!({"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": {"output_tokens": 50}}),
        json!({"type": "message_stop"}),
    ];
    let text = |event: &serde_json::Value| format!("event: {}\ndata: {event}\n\n", event["type"].as_str().unwrap());
    let mut steps = vec![event_stream()];
    steps.extend(events.iter().map(|event| Step::chunk(text(event))));
    steps.push(Step::last_chunk());
    steps
}

#[tokio::test]
async fn tokens_count_once_the_upstream_has_said_how_many_there_were() {
    for answered in [answer("200 OK", JSON, message(100, 50).to_string()), stream()] {
        let provider = Provider::always(answered).await;
        let gateway = gateway(&provider, TenantLimits { tokens_per_minute: 100, ..Default::default() }).await;
        assert_eq!(ask(&gateway, "hgk_a").await.status(), 200);
        let refused = soon(async {
            loop {
                let answer = ask(&gateway, "hgk_b").await;
                if answer.status() == 429 {
                    return answer;
                }
            }
        })
        .await;
        assert_refused(&refused, 429, "limited", DialectId::Anthropic);
        let after: u64 = refused.head.get("retry-after").unwrap().parse().unwrap();
        // 150 of 100 were used, what was read from a cache not counted: half a minute is owed.
        assert!((25..=31).contains(&after), "{after}, {} requests", provider.requests().len());
        gateway.shutdown(Duration::ZERO).await;
    }
}
