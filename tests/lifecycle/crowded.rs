//! Turns that a hook continues, and what else goes on at the same time.
use crate::speech::{ALL, Item, Speech, Words, every_form};
use crate::stage::{A_WHILE, Play, Stage, session};
use crate::support::provider::{answer, event_stream};
use crate::support::{Gate, Recorded, Step, soon};
use futures_util::future::join_all;
use serde_json::{Value, json};
use std::io::Write;

const HOOKS: &str = "
hooks:
  - { name: check, on: session.stopping, run: { http: { url: 'HOOKS' } } }
  - { name: stop, on: session.stop, run: { http: { url: 'HOOKS' } } }
  - { name: fail, on: session.fail, run: { http: { url: 'HOOKS' } } }
";

/// Continues every turn once; the turn of the prompt `slow` waits for `gate` before.
fn once(gate: &Gate) -> Play {
    let gate = gate.clone();
    Play {
        hooks: HOOKS,
        answers: Box::new(move |event| {
            let asked = event["event"] == "session.stopping" && event["turn"]["attempt"] == 1;
            let waits = (asked && event["prompt"]["text"] == "slow").then(|| gate.clone());
            (waits, if asked { json!({"continue": true, "message": "go on"}) } else { json!({}) })
        }),
        ..Play::default()
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn many_turns_of_one_session_are_continued_side_by_side() {
    const TURNS: usize = 50;
    let stage = Stage::play(once(&Gate::new())).await;
    let turns = (0..TURNS).map(|n| {
        let (speech, stream) = every_form().nth(n % (2 * ALL.len())).unwrap();
        let mut agent = stage.agent(speech, stream);
        async move {
            let answer = agent.prompt(&format!("prompt {n}")).await;
            assert_eq!(speech.heard(stream, &answer.body).text.matches("ANSWER").count(), 2, "{}", answer.text());
            // The next prompt sees both of its own answers, and what stands between them.
            agent.prompt("thanks").await;
        }
    });
    soon(join_all(turns)).await;
    assert_eq!(stage.wait_events("session.stop", 2 * TURNS).await.len(), 2 * TURNS);
    assert_eq!(stage.events("session.stopping").len(), 4 * TURNS);
    assert_eq!(stage.provider.requests().len(), 4 * TURNS);
    let told = stage.bodies().iter().filter(|body| body.to_string().matches("go on").count() == 2).count();
    assert_eq!(told, TURNS, "the last request of each second turn holds both messages");
}

#[tokio::test]
async fn another_prompt_does_not_wait_while_a_hook_thinks() {
    for speech in ALL {
        let gate = Gate::new();
        let stage = Stage::play(once(&gate)).await;
        let mut slow = stage.agent(speech, true);
        slow.prompt("one").await;
        let mut other = stage.agent(speech, true);
        other.history.clone_from(&slow.history);
        let (answer, ()) = tokio::join!(slow.prompt("slow"), async {
            stage.wait_events("session.stopping", 3).await;
            other.prompt("two").await;
            gate.open();
        });
        assert_eq!(speech.heard(true, &answer.body).text.matches("ANSWER").count(), 2, "{speech:?}");
        for agent in [&mut slow, &mut other] {
            agent.prompt("thanks").await;
            let body = stage.last_body();
            assert_eq!(body.to_string().matches("go on").count(), 3, "{speech:?}: one in each turn {body}");
        }
        assert!(stage.events("session.fail").is_empty(), "{speech:?}");
    }
}

#[tokio::test]
async fn a_drain_waits_for_a_turn_that_is_continued() {
    let gate = Gate::new();
    let mut stage = Stage::play(once(&gate)).await;
    let mut agent = stage.agent(Speech::Anthropic, true);
    agent.history.push(Item::user("slow"));
    let mut client = agent.begin().await;
    stage.wait_events("session.stopping", 1).await;
    let opens = tokio::spawn(async move {
        tokio::time::sleep(A_WHILE).await;
        gate.open();
        client.answer("POST").await
    });
    stage.stop().await;
    let answer = opens.await.unwrap();
    assert_eq!(Speech::Anthropic.heard(true, &answer.body).text, "ANSWER0ANSWER1");
    assert_eq!(stage.events("session.stop").len(), 1);
}

/// An answer in gzip, whatever was asked for.
fn compressed(request: &Recorded, n: usize) -> Vec<Step> {
    let speech = Speech::of(request);
    let mut gzip = flate2::write::GzEncoder::new(vec![], flate2::Compression::fast());
    gzip.write_all(&speech.frames(n, &Words::text(format!("ANSWER{n}"))).concat()).unwrap();
    answer("200 OK", "content-type: text/event-stream\r\ncontent-encoding: gzip\r\n", gzip.finish().unwrap())
}

#[tokio::test]
async fn an_answer_that_is_compressed_against_the_request_passes_and_ends_the_turn() {
    let stage = Stage::play(Play { says: Box::new(compressed), ..once(&Gate::new()) }).await;
    let mut agent = stage.agent(Speech::Chat, true).headers(session("s1") + "accept-encoding: gzip\r\n");
    agent.history.push(Item::user("fix it"));
    let answer = agent.ask().await;
    assert_eq!(answer.head.get("content-encoding"), Some("gzip"));
    assert_eq!(stage.provider.request().head.get("accept-encoding"), Some("identity"));
    stage.wait_events("session.stop", 1).await;
    assert!(stage.events("session.stopping").is_empty(), "nobody can be asked about what can't be continued");
}

#[tokio::test]
async fn an_error_of_the_provider_in_a_later_answer_is_told_as_one() {
    let error = json!({"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}});
    let stage = Stage::play(Play {
        says: Box::new(move |request, n| {
            if n != 1 {
                return Speech::of(request).answer(request, n, &Words::text(format!("ANSWER{n}")));
            }
            let frames = Speech::Anthropic.frames(n, &Words::text("half"));
            let begun = frames.into_iter().take(3).map(Step::chunk);
            let end = [Step::chunk(format!("event: error\ndata: {error}\n\n")), Step::last_chunk()];
            std::iter::once(event_stream()).chain(begun).chain(end).collect()
        }),
        ..once(&Gate::new())
    })
    .await;
    let mut agent = stage.agent(Speech::Anthropic, true);
    agent.history.push(Item::user("fix it"));
    let text = agent.ask().await.text();
    assert!(text.contains("half") && text.contains("event: error") && !text.contains("message_stop"), "{text}");
    let reasons: Vec<Value> = stage.wait_events("session.fail", 1).await.iter().map(|e| e["reason"].clone()).collect();
    assert_eq!(reasons, ["upstream_error"]);
}
