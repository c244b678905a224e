//! `session.end`, sessions that speak again, and what a restart or a kill leaves to be done (I9).
use crate::process::Process;
use crate::speech::{ALL, Item, Speech};
use crate::stage::{EVERY_HOOK, Play, Stage, session, usual};
use crate::support::{Gate, Step, soon};
use serde_json::{Value, json};
use std::time::{Duration, Instant};

const SOON_IDLE: &str = "sessions: { idle_end: 1s }\ninjection: { layout: stable, retain: history }";
const SOON_IDLE_ON_DISK: &str =
    "sessions: { idle_end: 1s }\nstore: { kind: sled, path: ./data }\ninjection: { layout: stable, retain: history }";
/// Of a hook that says nothing else.
const HOOK_TIMEOUT: Duration = Duration::from_secs(5);
/// Several sweeps.
const A_WHILE: Duration = Duration::from_millis(1000);

#[tokio::test]
async fn an_idle_session_ends_once_and_resumes_with_its_ledger() {
    for speech in ALL {
        let stage = Stage::set(SOON_IDLE).await;
        let mut agent = stage.agent(speech, true);
        agent.prompt("one").await;
        let end = stage.wait_events("session.end", 1).await.remove(0);
        assert_eq!((&end["reason"], &end["session"]["turn"]), (&json!("idle"), &json!(1)), "{speech:?}");
        assert_eq!(end["persistent"], json!({"memory": "SYS"}));
        tokio::time::sleep(A_WHILE).await;
        assert_eq!(stage.runs()[4], 1, "once per activation");
        agent.prompt("two").await;
        let start = stage.wait_events("session.start", 2).await.remove(1);
        assert_eq!((&start["session"]["source"], &start["session"]["turn"]), (&json!("resume"), &json!(1)), "{start}");
        let (first, second) = (speech.seen(&stage.bodies()[0]), speech.seen(&stage.bodies()[1]));
        assert_eq!((&first.system, &first.items[..1]), (&second.system, &second.items[..1]), "{speech:?}");
        let ends = stage.wait_events("session.end", 2).await;
        assert_ne!(ends[0]["event_id"], ends[1]["event_id"]);
        assert_eq!(stage.runs(), [2, 2, 2, 0, 2], "{speech:?}");
    }
}

#[tokio::test]
async fn a_session_that_is_being_answered_is_not_idle() {
    let gate = Gate::new();
    let held = gate.clone();
    let stage = Stage::play(Play {
        settings: SOON_IDLE,
        says: Box::new(move |r, n| {
            let mut steps = crate::stage::says_answer_n(r, n);
            steps.insert(1, Step::Wait(held.clone()));
            steps
        }),
        ..Play::default()
    })
    .await;
    let mut agent = stage.agent(Speech::Anthropic, true);
    let answer = agent.prompt("one");
    tokio::pin!(answer);
    assert!(tokio::time::timeout(2 * A_WHILE, &mut answer).await.is_err());
    assert_eq!(stage.runs()[4], 0);
    gate.open();
    answer.await;
    stage.wait_events("session.end", 1).await;
}

#[tokio::test]
async fn idle_time_while_the_gateway_was_down_counts() {
    let mut stage = Stage::set(SOON_IDLE_ON_DISK).await;
    stage.agent(Speech::Chat, true).prompt("one").await;
    stage.stop().await;
    assert_eq!(stage.runs()[4], 0, "a restart is no end");
    tokio::time::sleep(A_WHILE).await;
    stage.start().await;
    stage.wait_events("session.end", 1).await;
    stage.restart().await;
    stage.stop().await;
    assert_eq!(stage.runs(), [1, 1, 1, 0, 1]);
}

#[tokio::test]
async fn a_session_whose_end_hangs_does_not_hold_up_the_end_of_another() {
    let gate = Gate::new();
    let held = gate.clone();
    let stage = Stage::play(Play {
        settings: SOON_IDLE,
        answers: Box::new(move |event| match event["event"] == "session.end" {
            true => (Some(held.clone()), json!({})),
            false => (None, usual(event)),
        }),
        ..Play::default()
    })
    .await;
    for id in ["s1", "s2"] {
        stage.agent(Speech::Anthropic, true).headers(session(id)).prompt("one").await;
    }
    stage.wait_events("session.end", 1).await;
    let since = Instant::now();
    stage.wait_events("session.end", 2).await;
    assert!(since.elapsed() < HOOK_TIMEOUT / 2, "{:?}", since.elapsed());
    gate.open();
}

#[tokio::test]
async fn an_end_hook_stores_and_clears() {
    let stage = Stage::play(Play {
        settings: SOON_IDLE,
        answers: Box::new(|event| match event["event"].as_str() {
            Some("session.end") => (None, json!({"context": "FROM-END"})),
            Some("session.start") if event["session"]["source"] == "resume" => (None, json!({})),
            _ => (None, usual(event)),
        }),
        ..Play::default()
    })
    .await;
    let mut agent = stage.agent(Speech::Anthropic, true);
    agent.prompt("one").await;
    stage.wait_events("session.end", 1).await;
    agent.prompt("two").await;
    assert!(stage.last_body().to_string().contains("FROM-END"), "{}", stage.last_body());
}

#[tokio::test]
async fn i9_a_stop_that_a_kill_interrupted_runs_after_the_restart() {
    for speech in ALL {
        let gate = Gate::new();
        let answers = {
            let gate = gate.clone();
            move |event: &Value| match event["event"] == "session.stop" {
                true => (Some(gate.clone()), json!({"context": "AFTER-STOP"})),
                false => (None, usual(event)),
            }
        };
        let stage = Stage::without_gateway(Play {
            settings: "store: { kind: sled, path: ./data }",
            answers: Box::new(answers),
            hooks: EVERY_HOOK,
            ..Play::default()
        })
        .await;
        let process = Process::start(&stage);
        let mut agent = stage.agent(speech, true);
        agent.history.push(Item::user("one"));
        process.ask(&agent).await;
        // It runs, and nothing says that it is done.
        stage.wait_events("session.stop", 1).await;
        process.kill();
        gate.open();
        let process = Process::start(&stage);
        let stops = stage.wait_events("session.stop", 2).await;
        assert_eq!(stops[0]["event_id"], stops[1]["event_id"], "{speech:?}");
        assert_eq!(stops[0]["turn"], stops[1]["turn"], "{speech:?}");
        agent.history.extend([Item::model("ANSWER0"), Item::user("two")]);
        process.ask(&agent).await;
        let up = stage.last_body().to_string();
        assert!(up.contains("AFTER-STOP"), "{speech:?} {up}");
        assert_eq!(stage.runs()[..2], [1, 2], "{speech:?}");
        process.kill();
    }
}

#[tokio::test]
async fn i9_what_was_placed_survives_a_kill() {
    for speech in ALL {
        let settings = "store: { kind: sled, path: ./data }\ninjection: { retain: history }";
        let stage = Stage::without_gateway(Play { settings, ..Play::default() }).await;
        let mut agent = stage.agent(speech, true);
        for (n, prompt) in ["one", "two", "three"].into_iter().enumerate() {
            let process = Process::start(&stage);
            agent.history.push(Item::user(prompt));
            process.ask(&agent).await;
            agent.history.push(Item::model(&format!("ANSWER{n}")));
            process.kill();
        }
        let seen: Vec<_> = stage.bodies().iter().map(|body| speech.seen(body)).collect();
        for (earlier, later) in seen.iter().zip(&seen[1..]) {
            assert_eq!(earlier.system, later.system, "{speech:?}");
            assert_eq!(earlier.items[..], later.items[..earlier.items.len()], "{speech:?}");
        }
        assert_eq!(stage.runs()[..2], [1, 3], "{speech:?}");
    }
}

#[tokio::test]
async fn draining_waits_for_running_stops() {
    let gate = Gate::new();
    let held = gate.clone();
    let mut stage = Stage::play(Play {
        answers: Box::new(move |event| {
            let gate = (event["event"] == "session.stop").then(|| held.clone());
            (gate, usual(event))
        }),
        ..Play::default()
    })
    .await;
    stage.agent(Speech::Gemini, false).prompt("one").await;
    stage.wait_events("session.stop", 1).await;
    let stopping = stage.stop();
    tokio::pin!(stopping);
    assert!(tokio::time::timeout(Duration::from_millis(200), &mut stopping).await.is_err());
    gate.open();
    soon(stopping).await;
}

/// After a kill a hook may run once more, with the same id; the model sees its text once.
#[tokio::test]
async fn i3_a_hook_that_a_kill_interrupted_runs_again_under_its_id() {
    for kind in ["session.start", "prompt.submit"] {
        for speech in ALL {
            let gate = Gate::new();
            let held = gate.clone();
            let stage = Stage::without_gateway(Play {
                settings: "store: { kind: sled, path: ./data }",
                answers: Box::new(move |event| ((event["event"] == kind).then(|| held.clone()), usual(event))),
                ..Play::default()
            })
            .await;
            let mut agent = stage.agent(speech, true);
            agent.history.push(Item::user("one"));
            let process = Process::start(&stage);
            let client = process.begin(&agent).await;
            stage.wait_events(kind, 1).await;
            process.kill();
            drop(client);
            gate.open();
            let process = Process::start(&stage);
            process.ask(&agent).await;
            let runs = stage.events(kind);
            assert_eq!((runs.len(), &runs[0]["event_id"]), (2, &runs[1]["event_id"]), "{speech:?} {kind}");
            assert_eq!(runs[0]["session"]["turn"], runs[1]["session"]["turn"], "{speech:?} {kind}");
            let up = stage.last_body().to_string();
            assert_eq!((up.matches("SYS").count(), up.matches("EPH").count()), (1, 1), "{speech:?} {up}");
        }
    }
}
