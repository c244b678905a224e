//! The server goes away and comes back, and so does a gateway.
use crate::replica::{Pair, Replica, said};
use crate::server::Server;
use crate::support::soon;
use serde_json::{Value, json};
use std::time::{Duration, Instant};

/// Longest time that a request may wait for a server that does not answer, with room for a busy machine.
const BOUND: Duration = Duration::from_secs(5);

fn first(prompt: &str) -> Vec<Value> {
    vec![json!({"role": "user", "content": prompt})]
}

fn and(mut history: Vec<Value>, prompt: &str) -> Vec<Value> {
    let last = history.last().unwrap()["content"].as_str().unwrap().to_owned();
    history.push(json!({"role": "assistant", "content": said(&last)}));
    history.push(json!({"role": "user", "content": prompt}));
    history
}

#[tokio::test(flavor = "multi_thread")]
async fn requests_pass_while_the_server_is_away_and_state_comes_back_with_it() {
    let test = "requests_pass_while_the_server_is_away_and_state_comes_back_with_it";
    let Some(mut pair) = Pair::start(test, "").await else { return };
    let history = first("p0");
    assert_eq!(pair.replicas[0].ask("s", &history).await.0, 200);
    pair.server.stop();
    let history = and(history, "p1");
    for replica in &pair.replicas {
        let begun = Instant::now();
        let (status, text) = soon(replica.ask("s", &history)).await;
        assert_eq!(status, 200, "{text}");
        assert!(begun.elapsed() < BOUND, "{:?}", begun.elapsed());
    }
    assert!(pair.server.again().await);
    let history = and(history, "p2");
    soon(async {
        // Both have found it again when what one is told the other knows.
        loop {
            let slot = "/v1/sessions/s/agents/main/context/note";
            pair.replicas[0].admin("PUT", slot, &json!({"text": "KNOWN"})).await;
            let (_, record) = pair.replicas[1].admin("GET", "/v1/sessions/s/agents/main", &Value::Null).await;
            if record.to_string().contains("KNOWN") {
                break;
            }
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    })
    .await;
    assert_eq!(pair.replicas[1].ask("s", &history).await.0, 200);
    assert_eq!(pair.events("session.start", "s").len(), 1, "what was stored before is there");
}

#[tokio::test(flavor = "multi_thread")]
async fn requests_are_refused_where_the_configuration_wants_it() {
    let test = "requests_are_refused_where_the_configuration_wants_it";
    let Some(server) = Server::start(test).await else { return };
    let store = format!("store: {{ kind: redis, url: '{}', on_store_error: refuse }}\n", server.url());
    let mut pair = Pair::with(server, &store, "").await;
    assert_eq!(pair.replicas[0].ask("s", &first("p0")).await.0, 200);
    pair.server.stop();
    let begun = Instant::now();
    let (status, text) = soon(pair.replicas[0].ask("s", &and(first("p0"), "p1"))).await;
    assert_eq!((status, text.contains("store")), (503, true), "{text}");
    assert!(begun.elapsed() < BOUND, "{:?}", begun.elapsed());
    assert!(pair.server.again().await);
    soon(async {
        while pair.replicas[0].ask("s", &and(first("p0"), "p1")).await.0 != 200 {
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_hook_that_may_not_be_left_out_is_not_left_out_while_the_server_is_away() {
    let test = "a_hook_that_may_not_be_left_out_is_not_left_out_while_the_server_is_away";
    let Some(mut pair) = Pair::start(test, "").await else { return };
    let guard = "- { name: guard, on: prompt.submit, on_error: block, run: { text: GUARD } }\n";
    let guarded = std::fs::read_to_string(&pair.config).unwrap() + guard;
    std::fs::write(&pair.config, guarded).unwrap();
    let strict = Replica::start(&pair.config);
    pair.server.stop();
    let (status, text) = soon(strict.ask("new", &first("p0"))).await;
    assert_eq!((status, text.contains("store")), (503, true), "{text}");
    assert_eq!(pair.seen.lock().bodies.len(), 0);
    assert!(pair.server.again().await);
    soon(async {
        while strict.ask("new", &first("p0")).await.0 != 200 {
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    })
    .await;
    assert!(pair.seen.lock().bodies.iter().all(|body| body.to_string().contains("GUARD")));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_killed_gateway_holds_up_a_session_no_longer_than_its_heartbeat() {
    let test = "a_killed_gateway_holds_up_a_session_no_longer_than_its_heartbeat";
    let Some(mut pair) = Pair::start(test, "").await else { return };
    let history = first("p0");
    assert_eq!(pair.replicas[0].ask("s", &history).await.0, 200);
    pair.replicas[0].kill();
    let (status, text) = soon(pair.replicas[1].ask("s", &and(history, "p1"))).await;
    assert_eq!(status, 200, "{text}");
    let submitted = pair.events("prompt.submit", "s");
    assert_eq!(submitted.len(), 2);
    assert_eq!(submitted[1]["persistent"]["memory"], "DONE(p0)", "its stop was run, here or there");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_idle_session_ends_once() {
    let Some(pair) = Pair::start("an_idle_session_ends_once", "sessions: { idle_end: 2s }").await else { return };
    // Spoken to through one gateway only: the other has to know.
    let mut history = first("p0");
    for n in 1..6 {
        assert_eq!(pair.replicas[0].ask("s", &history).await.0, 200);
        tokio::time::sleep(Duration::from_millis(700)).await;
        history = and(history, &format!("p{n}"));
    }
    assert_eq!(pair.events("session.end", "s").len(), 0, "it was not idle");
    soon(async {
        while pair.events("session.end", "s").is_empty() {
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    })
    .await;
    tokio::time::sleep(Duration::from_secs(1)).await;
    assert_eq!(pair.events("session.end", "s").len(), 1);
    assert_eq!(pair.events("session.start", "s").len(), 1);
}
