//! Two processes serve the same sessions at the same time: every hook runs once, nothing that was stored or sent is lost, and
//! nothing is shown twice.
use crate::replica::{Pair, said};
use crate::support::soon;
use futures_util::future::join_all;
use serde_json::{Value, json};
use std::sync::Arc;

/// Prompts of a session.
const TURNS: usize = 20;
/// Requests of a turn: each prompt goes to both replicas twice, as retries do.
const TRIES: usize = 4;
/// Requests in all; HOOKGATE_TEST_RACE says how many else.
const REQUESTS: usize = 800;
/// Sessions at the same time.
const AT_ONCE: usize = 8;

#[tokio::test(flavor = "multi_thread")]
async fn two_processes_serve_one_session_as_one() {
    let Some(pair) = Pair::start("two_processes_serve_one_session_as_one", "").await else { return };
    let pair = Arc::new(pair);
    let requests = std::env::var("HOOKGATE_TEST_RACE").ok().and_then(|n| n.parse().ok()).unwrap_or(REQUESTS);
    let sessions = requests / (TURNS * TRIES);
    for first in (0..sessions).step_by(AT_ONCE) {
        let talks = (first..sessions.min(first + AT_ONCE)).map(|n| tokio::spawn(talk(pair.clone(), format!("s{n}"))));
        for talk in join_all(talks).await {
            talk.unwrap();
        }
    }
    let log = pair.replicas.iter().map(|replica| replica.log()).collect::<String>();
    assert!(!log.contains("\"ERROR\""), "{log}");
}

async fn talk(pair: Arc<Pair>, session: String) {
    let mut history: Vec<Value> = Vec::new();
    for turn in 0..TURNS {
        let prompt = format!("{session}-p{turn}");
        history.push(json!({"role": "user", "content": prompt}));
        let asking = join_all((0..TRIES).map(|n| pair.replicas[n % 2].ask(&session, &history)));
        let beside = beside(&pair, &session, turn);
        let (answers, ()) = tokio::join!(soon(asking), soon(beside));
        for (status, text) in answers {
            assert_eq!(status, 200, "{text}");
            assert!(text.contains(&said(&prompt)), "{text}");
        }
        history.push(json!({"role": "assistant", "content": said(&prompt)}));
    }
    // What was sent with the last prompt comes with this one.
    let last = format!("{session}-last");
    history.push(json!({"role": "user", "content": last}));
    for replica in &pair.replicas {
        assert_eq!(soon(replica.ask(&session, &history)).await.0, 200);
    }
    check(&pair, &session, &last).await;
}

/// While a turn's requests run, a message is sent and a slot is set, through either gateway.
async fn beside(pair: &Pair, session: &str, turn: usize) {
    if turn == 0 {
        return;
    }
    let (one, other) = (&pair.replicas[turn % 2], &pair.replicas[(turn + 1) % 2]);
    let main = format!("/v1/sessions/{session}/agents/main");
    let (messages, slot) = (format!("{main}/messages"), format!("{main}/context/slot{turn}"));
    let message = json!({"text": format!("MESSAGE({session}.{turn}.)")});
    let text = json!({"text": format!("SLOT({turn})")});
    let (sent, set) = tokio::join!(one.admin("POST", &messages, &message), other.admin("PUT", &slot, &text));
    assert!(sent.0 < 300, "{sent:?}");
    assert!(set.0 < 300, "{set:?}");
}

async fn check(pair: &Pair, session: &str, last: &str) {
    assert_eq!(pair.events("session.start", session).len(), 1, "{session} was started once");
    for turn in 0..TURNS {
        let prompt = format!("{session}-p{turn}");
        let submitted = pair.events("prompt.submit", session);
        let submitted: Vec<&Value> = submitted.iter().filter(|event| event["prompt"]["text"] == *prompt).collect();
        assert_eq!(submitted.len(), 1, "{prompt} was submitted once");
        if turn > 0 {
            let before = format!("DONE({session}-p{})", turn - 1);
            assert_eq!(submitted[0]["persistent"]["memory"], *before, "a prompt sees what the stop before it stored");
        }
    }
    let (status, record) =
        pair.replicas[0].admin("GET", &format!("/v1/sessions/{session}/agents/main"), &Value::Null).await;
    assert_eq!(status, 200);
    let record = record.to_string();
    for turn in 1..TURNS {
        assert!(record.contains(&format!("SLOT({turn})")), "slot {turn} was lost: {record}");
    }
    let seen = pair.seen.lock();
    let bodies: Vec<String> = seen.bodies.iter().map(Value::to_string).filter(|body| body.contains(last)).collect();
    assert_eq!(bodies.len(), 2);
    for body in bodies {
        for turn in 1..TURNS {
            let message = format!("MESSAGE({session}.{turn}.)");
            assert_eq!(body.matches(&message).count(), 1, "{message} in {body}");
        }
        for turn in 0..TURNS {
            let text = format!("EPH({session}-p{turn})");
            assert!(body.matches(&text).count() <= 1, "{text} in {body}");
        }
    }
}
