//! Turns that do not end by themselves (B06, I7): never a stop, `session.fail` once, and the session goes on.
use crate::speech::{ALL, Finish, Item, Speech, Words, every_form};
use crate::stage::{Play, Stage, session};
use crate::support::provider::{answer, event_stream};
use crate::support::{Step, soon};
use serde_json::json;
use std::time::{Duration, Instant};

/// How soon an upstream must notice that nobody listens any more.
const AT_ONCE: Duration = Duration::from_secs(1);

/// The first frames of an answer, up to and with its text.
fn beginning(speech: Speech, n: usize) -> Vec<Step> {
    let count = if speech == Speech::Anthropic || speech == Speech::Responses { 3 } else { 1 };
    let frames = speech.frames(n, &Words::text("partial"));
    std::iter::once(event_stream()).chain(frames.iter().take(count).map(Step::chunk)).collect()
}

/// An error in the middle of a stream, as the provider writes it.
fn error_frame(speech: Speech) -> &'static str {
    match speech {
        Speech::Anthropic => {
            "event: error\ndata: {\"type\":\"error\",\"error\":{\"type\":\"overloaded_error\",\"message\":\"Overloaded\"}}\n\n"
        }
        Speech::Chat => "data: {\"error\":{\"message\":\"busy\",\"type\":\"server_error\",\"code\":null}}\n\n",
        Speech::Responses => {
            "event: error\ndata: {\"type\":\"error\",\"code\":\"server_error\",\"message\":\"busy\",\"param\":null,\"sequence_number\":9}\n\n"
        }
        Speech::Gemini => "data: {\"error\":{\"code\":503,\"message\":\"busy\",\"status\":\"UNAVAILABLE\"}}\n\n",
    }
}

/// What goes wrong, what `reason` says of it, and the steps of the provider.
fn failures(speech: Speech, stream: bool, n: usize) -> Vec<(&'static str, &'static str, Vec<Step>)> {
    let mut all = vec![
        ("length", "length", speech.answers(stream, n, &Words::ended("partial", Finish::Length))),
        ("refusal", "refusal", speech.answers(stream, n, &Words::ended("partial", Finish::Refusal))),
        (
            "status 529",
            "upstream_error",
            answer("529 Overloaded", "content-type: application/json\r\n", r#"{"error":{}}"#),
        ),
        ("no answer", "upstream_error", vec![Step::Reset]),
    ];
    if stream {
        let cut = |mut steps: Vec<Step>, step: Step| {
            steps.push(step);
            steps
        };
        all.push(("reset", "cut", cut(beginning(speech, n), Step::Reset)));
        all.push(("clean end", "cut", cut(beginning(speech, n), Step::last_chunk())));
        all.push((
            "half a frame",
            "cut",
            [beginning(speech, n), vec![Step::chunk("data: {\"ty"), Step::Reset]].concat(),
        ));
        let error = [beginning(speech, n), vec![Step::chunk(error_frame(speech)), Step::last_chunk()]].concat();
        all.push(("error frame", "upstream_error", error));
    } else {
        let head = "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 1000\r\n\r\n{\"id\"";
        all.push(("reset", "cut", vec![Step::text(head), Step::Reset]));
    }
    all
}

#[tokio::test]
async fn b06_an_abnormal_end_never_stops_and_fails_once() {
    for (speech, stream) in every_form() {
        // Two tries of each failure, then a turn that ends well.
        let mut stage = Stage::play(Play {
            says: Box::new(|r, n| {
                match failures(Speech::of(r), Speech::of(r).asks_stream(r), n).into_iter().nth(n / 2) {
                    Some((_, _, steps)) => steps,
                    None => Speech::of(r).answer(r, n, &Words::text("fine")),
                }
            }),
            ..Play::default()
        })
        .await;
        let table = failures(speech, stream, 0);
        for (name, _, _) in &table {
            for _ in 0..2 {
                let mut agent = stage.agent(speech, stream).headers(session(&name.replace(' ', "-")));
                agent.history.push(Item::user("one"));
                let answer = agent.ask().await;
                assert!(!answer.text().contains("message_stop") || matches!(*name, "length" | "refusal"), "{name}");
            }
        }
        let mut agent = stage.agent(speech, stream).headers(session("reset"));
        agent.prompt("one").await;
        stage.stop().await;
        let got: Vec<(String, String)> = stage
            .events("session.fail")
            .iter()
            .map(|e| (e["session"]["id"].as_str().unwrap().to_owned(), e["reason"].as_str().unwrap().to_owned()))
            .collect();
        let want: Vec<(String, String)> =
            table.iter().map(|(name, reason, _)| (name.replace(' ', "-"), (*reason).to_owned())).collect();
        assert_eq!(got, want, "{speech:?} stream={stream}");
        let stops = stage.events("session.stop");
        assert_eq!(stops.len(), 1, "{speech:?} stream={stream}");
        assert_eq!((&stops[0]["session"]["id"], &stops[0]["turn"]["text"]), (&json!("reset"), &json!("fine")));
    }
}

#[tokio::test]
async fn a_failed_turn_tells_what_was_said() {
    for speech in ALL {
        let stage = Stage::play(Play {
            says: Box::new(|r, n| [beginning(Speech::of(r), n), vec![Step::Reset]].concat()),
            ..Play::default()
        })
        .await;
        let mut agent = stage.agent(speech, true);
        agent.history.push(Item::user("one"));
        agent.ask().await;
        let event = &stage.wait_events("session.fail", 1).await[0];
        assert_eq!(event["turn"]["text"], "partial", "{speech:?}");
        assert_eq!(event["turn"]["finish_reason"], "error", "{speech:?} {event}");
    }
}

#[tokio::test]
async fn a_pause_is_no_end() {
    let stage = Stage::play(Play {
        says: Box::new(|r, n| match n {
            0 => {
                let body = json!({"id": "msg_0", "type": "message", "role": "assistant", "model": "m", "stop_reason": "pause_turn",
                    "content": [{"type": "text", "text": "wait "}], "usage": {"input_tokens": 1, "output_tokens": 1}});
                answer("200 OK", "content-type: application/json\r\n", body.to_string())
            }
            _ => Speech::of(r).answer(r, n, &Words::text("done")),
        }),
        ..Play::default()
    })
    .await;
    let mut agent = stage.agent(Speech::Anthropic, false);
    agent.prompt("one").await;
    agent.send().await;
    let event = &stage.wait_events("session.stop", 1).await[0];
    assert_eq!((&event["turn"]["text"], &event["prompt"]["text"]), (&json!("wait done"), &json!("one")));
    assert_eq!(stage.runs()[..4], [1, 1, 1, 0]);
    assert_eq!(stage.last_body().to_string().matches("EPH(one)").count(), 1);
}

#[tokio::test]
async fn a_client_that_leaves_closes_the_upstream_and_fails_the_turn() {
    for (speech, stream) in every_form() {
        for begun in [true, false].into_iter().filter(|begun| stream || !begun) {
            let mut stage = Stage::play(Play {
                says: Box::new(move |r, n| {
                    let mut steps = if begun { beginning(Speech::of(r), n) } else { vec![] };
                    steps.push(Step::WaitForClose);
                    steps
                }),
                ..Play::default()
            })
            .await;
            let mut agent = stage.agent(speech, stream);
            agent.history.push(Item::user("one"));
            let mut client = agent.begin().await;
            if begun {
                client.head().await;
                client.chunk().await.unwrap();
            } else {
                stage.wait_requests(1).await;
            }
            let left = Instant::now();
            drop(client);
            soon(stage.provider.closed(1)).await;
            assert!(left.elapsed() < AT_ONCE, "{speech:?}");
            let event = stage.wait_events("session.fail", 1).await.remove(0);
            assert_eq!(event["reason"], "client_gone");
            stage.stop().await;
            assert_eq!(stage.runs()[..4], [1, 1, 0, 1], "{speech:?} stream={stream} begun={begun}");
        }
    }
}

#[tokio::test]
async fn a_client_that_closes_at_the_terminal_frame_has_the_whole_turn() {
    for speech in ALL {
        // The terminal frame comes, the end of the body does not.
        let mut stage = Stage::play(Play {
            says: Box::new(|r, n| {
                let frames = Speech::of(r).frames(n, &Words::text("done"));
                let mut steps: Vec<Step> =
                    std::iter::once(event_stream()).chain(frames.iter().map(Step::chunk)).collect();
                steps.push(Step::WaitForClose);
                steps
            }),
            ..Play::default()
        })
        .await;
        let mut agent = stage.agent(speech, true);
        agent.history.push(Item::user("one"));
        let mut client = agent.begin().await;
        client.head().await;
        let whole: Vec<u8> = speech.frames(0, &Words::text("done")).concat();
        let mut got = vec![];
        while got.len() < whole.len() {
            got.extend(client.chunk().await.unwrap().unwrap());
        }
        drop(client);
        let event = stage.wait_events("session.stop", 1).await.remove(0);
        assert_eq!(event["turn"]["text"], "done", "{speech:?}");
        stage.stop().await;
        assert_eq!(stage.runs()[..4], [1, 1, 1, 0], "{speech:?}");
    }
}
