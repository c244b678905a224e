//! `session.stopping`: the model is sent back to work, and the client sees one message.
use crate::speech::{ALL, Finish, Item, Speech, Words, every_form};
use crate::stage::{Play, Stage, session};
use crate::support::provider::{answer, event_stream};
use crate::support::{Client, Gate, Recorded, Step, soon};
use serde_json::{Value, json};

/// A hook that is asked before a turn ends, and two that are told afterwards.
const CHECKED: &str = "
hooks:
  - { name: check, on: session.stopping, run: { http: { url: 'HOOKS' } } }
  - { name: stop, on: session.stop, run: { http: { url: 'HOOKS' } } }
  - { name: fail, on: session.fail, run: { http: { url: 'HOOKS' } } }
";

const TEXT: &str = "run the tests";

/// Says `continue` the first `times` that a turn is about to end.
fn insists(times: u64) -> Play {
    Play {
        hooks: CHECKED,
        answers: Box::new(move |event| {
            let stopping = event["event"] == "session.stopping";
            let again = stopping && event["turn"]["attempt"].as_u64().unwrap() <= times;
            (None, if again { json!({"continue": true, "message": TEXT}) } else { json!({}) })
        }),
        ..Play::default()
    }
}

fn answers(reply: Value) -> Play {
    Play {
        hooks: CHECKED,
        answers: Box::new(move |event| {
            (None, if event["event"] == "session.stopping" { reply.clone() } else { json!({}) })
        }),
        ..Play::default()
    }
}

/// The hook answers when the gate is open.
fn thinks(gate: &Gate, reply: Value) -> Play {
    let gate = gate.clone();
    Play {
        hooks: CHECKED,
        answers: Box::new(move |event| match event["event"].as_str() {
            Some("session.stopping") => (Some(gate.clone()), reply.clone()),
            _ => (None, json!({})),
        }),
        ..Play::default()
    }
}

/// A client that has read the answer's words while the hook thinks.
async fn while_it_thinks(stage: &Stage, speech: Speech) -> Client {
    let mut agent = stage.agent(speech, true);
    agent.history.push(Item::user("fix it"));
    let mut client = agent.begin().await;
    client.head().await;
    soon(read_until(&mut client, "ANSWER0")).await;
    stage.wait_events("session.stopping", 1).await;
    client
}

/// `turn.FIELD` of each event of a kind.
fn told(stage: &Stage, kind: &str, field: &str) -> Vec<Value> {
    stage.events(kind).iter().map(|event| event["turn"][field].clone()).collect()
}

/// What comes before each answer of the model, as it sees it: role and text of every item.
fn seen(speech: Speech, body: &Value) -> Vec<String> {
    let seen = speech.seen(body);
    (0..seen.items.len()).map(|index| format!("{}: {}", seen.items[index].0, seen.item(index).trim())).collect()
}

/// Reads chunks until one holds `needle`, or the body ends; what came.
async fn read_until(client: &mut Client, needle: &str) -> String {
    let mut text = String::new();
    while !text.contains(needle)
        && let Ok(Some(chunk)) = client.chunk().await
    {
        text.push_str(&String::from_utf8_lossy(&chunk));
    }
    text
}

fn model(speech: Speech) -> &'static str {
    if speech == Speech::Gemini { "model" } else { "assistant" }
}

#[tokio::test]
async fn the_client_sees_one_message_and_the_model_what_it_was_told() {
    for (speech, stream) in every_form() {
        let what = format!("{speech:?} stream={stream}");
        let stage = Stage::play(insists(1)).await;
        let mut agent = stage.agent(speech, stream);
        let answer = agent.prompt("fix it").await;
        let heard = speech.heard(stream, &answer.body);
        assert_eq!(heard.text.split_whitespace().collect::<String>(), "ANSWER0ANSWER1", "{what} {}", answer.text());
        stage.wait_events("session.stop", 1).await;
        agent.prompt("thanks").await;
        let m = model(speech);
        let second = ["user: fix it".to_owned(), format!("{m}: ANSWER0"), format!("user: {TEXT}")];
        let third = [second.as_slice(), &[format!("{m}: ANSWER1"), "user: thanks".into()]].concat();
        let bodies = stage.bodies();
        assert_eq!(seen(speech, &bodies[1]), second, "{what}");
        assert_eq!(seen(speech, &bodies[2]), third, "{what}");
        assert_eq!(told(&stage, "session.stopping", "continuing")[..2], [json!(false), json!(true)], "{what}");
        let stop = &stage.events("session.stop")[0]["turn"];
        let text: String = stop["text"].as_str().unwrap().split_whitespace().collect();
        assert_eq!((text.as_str(), &stop["legs"]), ("ANSWER0ANSWER1", &json!(2)), "{what} {stop}");
        assert_eq!(stop["usage"], json!({"input": 10, "cached_input": 3, "output": 10}), "{what}");
    }
}

#[tokio::test]
async fn an_answer_that_is_not_continued_is_what_the_provider_sent() {
    for (speech, stream) in every_form() {
        let stage = Stage::play(answers(json!({}))).await;
        let answer = stage.agent(speech, stream).prompt("hello").await;
        let words = Words::text("ANSWER0");
        let sent: Vec<u8> = speech.frames(0, &words).concat();
        if stream {
            assert_eq!(answer.text(), String::from_utf8(sent).unwrap(), "{speech:?}");
        } else {
            assert_eq!(speech.heard(false, &answer.body).text, "ANSWER0", "{speech:?}");
        }
        assert_eq!(stage.provider.requests().len(), 1);
        assert_eq!(stage.wait_events("session.stop", 1).await[0]["turn"]["legs"], 1);
    }
}

#[tokio::test]
async fn text_goes_down_while_the_hook_still_thinks() {
    for speech in ALL {
        let gate = Gate::new();
        let stage = Stage::play(thinks(&gate, json!({}))).await;
        let mut client = while_it_thinks(&stage, speech).await;
        assert!(stage.events("session.stop").is_empty(), "{speech:?}");
        gate.open();
        let rest = soon(read_until(&mut client, "never")).await;
        assert!(!rest.is_empty(), "{speech:?}: the end was held");
        stage.wait_events("session.stop", 1).await;
    }
}

#[tokio::test]
async fn a_turn_is_continued_three_times_and_a_new_prompt_starts_anew() {
    for (speech, stream) in every_form() {
        let stage = Stage::play(insists(u64::MAX)).await;
        let mut agent = stage.agent(speech, stream);
        agent.prompt("fix it").await;
        stage.wait_events("session.stop", 1).await;
        let all = [json!(false), json!(true), json!(true), json!(true)];
        assert_eq!(stage.provider.requests().len(), 4, "{speech:?}");
        assert_eq!(told(&stage, "session.stopping", "continuing"), all, "{speech:?}");
        agent.prompt("again").await;
        assert_eq!(stage.provider.requests().len(), 8, "{speech:?}");
        assert_eq!(told(&stage, "session.stopping", "continuing")[4..], all, "{speech:?}");
        assert_eq!(seen(speech, &stage.last_body()).len(), 15, "{speech:?}: 8 told, 7 said");
    }
}

/// Both legs in two pieces, cut where the request's session says.
fn cut_in_two(request: &Recorded, _: usize) -> Vec<Step> {
    let leg = usize::from(String::from_utf8_lossy(&request.body).contains(TEXT));
    let bytes = Speech::of(request).frames(leg, &Words::text(format!("ANSWER{leg} \u{5317}"))).concat();
    let at: usize = request.head.get("x-cut").unwrap().parse().unwrap();
    let (begin, end) = bytes.split_at(at.min(bytes.len() - 1));
    vec![event_stream(), Step::chunk(begin), Step::chunk(end), Step::last_chunk()]
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn b07_a_cut_of_the_network_anywhere_in_both_legs_changes_nothing() {
    for speech in ALL {
        let stage = Stage::play(Play { says: Box::new(cut_in_two), ..insists(1) }).await;
        let mut whole: Option<String> = None;
        for at in 1..speech.frames(0, &Words::text("ANSWER0 \u{5317}")).concat().len() {
            let headers = session(&format!("cut-{at}")) + &format!("x-cut: {at}\r\n");
            let answer = stage.agent(speech, true).headers(headers).prompt("fix it").await;
            let text = answer.text();
            assert!(answer.whole && text.contains("ANSWER0") && text.contains("ANSWER1"), "{speech:?} {at}: {text}");
            assert_eq!(whole.get_or_insert_with(|| text.clone()), &text, "{speech:?} cut at {at}");
        }
    }
}

#[tokio::test]
async fn the_cap_holds_over_tool_steps() {
    for (speech, stream) in every_form() {
        let stage = Stage::play(Play {
            says: Box::new(|request, n| {
                let words = if n == 1 { Words::call("look ", "call_1") } else { Words::text(format!("ANSWER{n}")) };
                Speech::of(request).answer(request, n, &words)
            }),
            settings: "continuation: { max_per_turn: 2 }",
            ..insists(u64::MAX)
        })
        .await;
        let mut agent = stage.agent(speech, stream);
        let first = agent.prompt("fix it").await;
        assert_eq!(speech.heard(stream, &first.body).calls, ["call_1"], "{speech:?} {}", first.text());
        agent.result("call_1", "found").await;
        let stop = &stage.wait_events("session.stop", 1).await[0]["turn"];
        assert_eq!(stage.provider.requests().len(), 4, "{speech:?}: one of the two was used before the call");
        assert_eq!(told(&stage, "session.stopping", "attempt"), [json!(1), json!(2), json!(3)], "{speech:?}");
        let text: String = stop["text"].as_str().unwrap().split_whitespace().collect();
        assert_eq!((text.as_str(), &stop["legs"]), ("ANSWER0lookANSWER2ANSWER3", &json!(3)), "{speech:?}");
        assert_eq!(stop["tool_calls"].as_array().unwrap().len(), 1, "{speech:?}");
        agent.prompt("thanks").await;
        let m = model(speech);
        let shown = seen(speech, &stage.bodies()[4]);
        assert_eq!(
            shown[..3],
            ["user: fix it".to_owned(), format!("{m}: ANSWER0"), format!("user: {TEXT}")],
            "{speech:?}"
        );
        assert!(shown.iter().any(|item| item.contains("<result call_1>")), "{speech:?} {shown:?}");
    }
}

#[tokio::test]
async fn a_turn_that_did_not_end_by_itself_is_never_continued() {
    for (speech, stream) in every_form() {
        let endings = [
            Words::ended("partial", Finish::Length),
            Words::ended("partial", Finish::Refusal),
            Words::call("look", "call_0"),
        ];
        for words in endings {
            let said = words.clone();
            let stage = Stage::play(Play {
                says: Box::new(move |request, n| Speech::of(request).answer(request, n, &said)),
                ..insists(1)
            })
            .await;
            stage.agent(speech, stream).prompt("fix it").await;
            assert_eq!(stage.provider.requests().len(), 1, "{speech:?} {words:?}");
            assert!(stage.events("session.stopping").is_empty(), "{speech:?} {words:?}");
        }
    }
}

#[tokio::test]
async fn whatever_is_not_a_clear_continue_means_stop() {
    let replies = [
        json!({"continue": true}),
        json!({"continue": true, "message": "  \n"}),
        json!({"message": TEXT}),
        json!({"continue": true, "message": TEXT, "veto": true}),
        json!({"continue": "yes", "message": TEXT}),
        json!([1, 2]),
    ];
    for reply in replies {
        let stage = Stage::play(answers(reply.clone())).await;
        stage.agent(Speech::Anthropic, true).prompt("fix it").await;
        stage.wait_events("session.stop", 1).await;
        assert_eq!(stage.provider.requests().len(), 1, "{reply}");
    }
}

#[tokio::test]
async fn a_hook_that_hangs_or_crashes_lets_the_turn_end() {
    let hooks = [
        "run: { command: [sh, -c, 'sleep 600'] }, timeout: 300ms",
        "run: { command: [sh, -c, 'exit 3'] }, on_error: block",
        "run: { command: [sh, -c, 'echo no json'] }",
        "run: { command: [no-such-program-here] }",
    ];
    for hook in hooks {
        let yaml = format!(
            "hooks:\n  - {{ name: check, on: session.stopping, {hook} }}\n  - {{ name: stop, on: session.stop, run: {{ http: {{ url: 'HOOKS' }} }} }}\n"
        );
        let stage = Stage::play(Play { hooks: yaml.leak(), ..Play::default() }).await;
        stage.agent(Speech::Chat, true).prompt("fix it").await;
        stage.wait_events("session.stop", 1).await;
        assert_eq!(stage.provider.requests().len(), 1, "{hook}");
    }
}

#[tokio::test]
async fn a_veto_wins_whatever_the_order() {
    for (first, second) in [("yes", "no"), ("no", "yes")] {
        let hook = |name: &str| {
            let text = if name == "no" { r#"{"veto":true}"# } else { r#"{"continue":true,"message":"go on"}"# };
            format!("  - {{ name: {name}, on: session.stopping, run: {{ command: [echo, '{text}'] }} }}\n")
        };
        let yaml = format!("hooks:\n{}{}", hook(first), hook(second));
        let stage = Stage::play(Play { hooks: yaml.leak(), ..Play::default() }).await;
        stage.agent(Speech::Responses, true).prompt("fix it").await;
        assert_eq!(stage.provider.requests().len(), 1, "{first}, {second}");
    }
}

/// Answers the first request, and the second with `next`.
fn then(next: impl Fn(Speech, bool) -> Vec<Step> + Send + Sync + 'static) -> Play {
    Play {
        says: Box::new(move |request: &Recorded, n| {
            let speech = Speech::of(request);
            match n {
                1 => next(speech, speech.asks_stream(request)),
                _ => speech.answer(request, n, &Words::text(format!("ANSWER{n}"))),
            }
        }),
        ..insists(1)
    }
}

#[tokio::test]
async fn when_the_next_leg_fails_the_turn_ends_with_the_answer_that_was_complete() {
    for (speech, stream) in every_form() {
        let failures: Vec<(&str, Play)> = vec![
            ("529", then(|_, _| answer("529 Overloaded", "content-type: application/json\r\n", r#"{"error":{}}"#))),
            ("reset", then(|_, _| vec![Step::Reset])),
            ("nothing", then(|_, _| answer("200 OK", "content-type: application/json\r\n", "{}"))),
            ("html", then(|_, _| answer("200 OK", "content-type: text/html\r\n", "<html></html>"))),
            ("no words", then(|_, _| vec![event_stream(), Step::last_chunk()])),
            ("cut at once", then(|_, _| vec![event_stream(), Step::Reset])),
        ];
        for (failure, play) in failures {
            let what = format!("{speech:?} stream={stream} {failure}");
            let stage = Stage::play(play).await;
            let mut agent = stage.agent(speech, stream);
            let answer = agent.prompt("fix it").await;
            let heard = speech.heard(stream, &answer.body);
            assert_eq!(heard.text, "ANSWER0", "{what} {}", answer.text());
            assert!(heard.finish.is_some(), "{what}: it ends");
            assert_eq!(stage.wait_events("session.stop", 1).await.len(), 1, "{what}");
            agent.prompt("thanks").await;
            let shown = seen(speech, &stage.bodies()[2]);
            assert_eq!(shown.len(), 3, "{what}: what was not answered is not in the history {shown:?}");
            assert!(stage.events("session.fail").is_empty(), "{what}");
        }
    }
}

#[tokio::test]
async fn a_next_leg_that_breaks_off_in_the_middle_of_its_words_is_a_cut_answer() {
    for speech in ALL {
        let stage = Stage::play(then(|speech, _| {
            let frames = speech.frames(1, &Words::text("half of it"));
            let until = frames.iter().position(|frame| String::from_utf8_lossy(frame).contains("half of it")).unwrap();
            let chunks = frames.iter().take(until + 1).map(Step::chunk);
            std::iter::once(event_stream()).chain(chunks).chain([Step::Reset]).collect()
        }))
        .await;
        let mut agent = stage.agent(speech, true);
        agent.history.push(Item::user("fix it"));
        let text = agent.ask().await.text();
        assert!(text.contains("half of it") && text.contains("error"), "{speech:?} {text}");
        let fail = &stage.wait_events("session.fail", 1).await[0];
        assert_eq!(fail["reason"], "cut", "{speech:?}");
        assert!(stage.events("session.stop").is_empty(), "{speech:?}");
    }
}

#[tokio::test]
async fn a_continuation_never_carries_an_agent_past_its_step_limit() {
    let stage = Stage::play(Play { settings: "lifecycle: { max_requests_per_turn: 2 }", ..insists(u64::MAX) }).await;
    stage.agent(Speech::Anthropic, true).prompt("fix it").await;
    stage.wait_events("session.stop", 1).await;
    assert_eq!(stage.provider.requests().len(), 2);
}

#[tokio::test]
async fn the_same_text_that_brings_the_same_answer_again_and_again_ends_the_loop() {
    let stage = Stage::play(Play {
        says: Box::new(|request, n| Speech::of(request).answer(request, n, &Words::text("All done."))),
        settings: "continuation: { max_per_turn: 20 }",
        ..insists(u64::MAX)
    })
    .await;
    stage.agent(Speech::Anthropic, true).prompt("fix it").await;
    stage.wait_events("session.stop", 1).await;
    assert_eq!(stage.provider.requests().len(), 4);
}

#[tokio::test]
async fn a_client_that_leaves_while_the_hook_thinks_ends_everything() {
    for speech in ALL {
        let gate = Gate::new();
        let stage = Stage::play(thinks(&gate, json!({"continue": true, "message": TEXT}))).await;
        let client = while_it_thinks(&stage, speech).await;
        drop(client);
        let fail = &stage.wait_events("session.fail", 1).await[0];
        gate.open();
        assert_eq!(fail["reason"], "client_gone", "{speech:?}");
        assert_eq!(stage.provider.requests().len(), 1, "{speech:?}");
        assert!(stage.events("session.stop").is_empty(), "{speech:?}");
    }
}

#[tokio::test]
async fn after_a_restart_the_message_is_taken_apart_all_the_same() {
    for (speech, stream) in every_form() {
        let mut stage = Stage::play(Play { settings: "store: { kind: sled, path: ./data }", ..insists(1) }).await;
        let mut agent = stage.agent(speech, stream);
        agent.prompt("fix it").await;
        let history = agent.history;
        stage.restart().await;
        let mut agent = stage.agent(speech, stream);
        agent.history = history;
        agent.prompt("thanks").await;
        let shown = seen(speech, &stage.bodies()[2]);
        assert_eq!(shown.len(), 5, "{speech:?} {shown:?}");
        assert_eq!(shown[2], format!("user: {TEXT}"), "{speech:?}");
    }
}

#[tokio::test]
async fn an_answer_of_a_given_shape_is_never_two() {
    let stage = Stage::play(insists(1)).await;
    let body = json!({"model": "m", "messages": [{"role": "user", "content": "as JSON"}],
        "response_format": {"type": "json_object"}});
    let answer = stage.post("/v1/chat/completions", &session("s1"), body.to_string()).await;
    assert_eq!(answer.status(), 200);
    assert_eq!(stage.provider.requests().len(), 1);
}

#[tokio::test]
async fn a_client_that_names_the_answer_goes_on_behind_the_last_leg() {
    for stream in [true, false] {
        let stage = Stage::play(insists(1)).await;
        let ask = |input: &str, previous: Option<&str>| {
            let mut body = json!({"model": "m", "input": input, "stream": stream});
            if let Some(id) = previous {
                body["previous_response_id"] = id.into();
            }
            body.to_string()
        };
        stage.post("/v1/responses", &session("s1"), ask("fix it", None)).await;
        stage.post("/v1/responses", &session("s1"), ask("thanks", Some("msg_0"))).await;
        let bodies = stage.bodies();
        assert_eq!(bodies[2]["previous_response_id"], "msg_1", "stream={stream}");
        assert_eq!(bodies[2]["input"].to_string().matches("run the tests").count(), 0, "the provider has it");
        let mut client = Client::connect(stage.addr()).await;
        let got = client.request("GET", "/v1/responses/msg_0", &session("s1"), "").await;
        assert!(stage.provider.requests().last().unwrap().target().ends_with("/responses/msg_1"), "stream={stream}");
        assert_eq!(got.status(), 200);
    }
}

#[tokio::test]
async fn a_delta_is_continued_behind_its_own_answer() {
    let stage = Stage::play(insists(1)).await;
    let first = json!({"model": "m", "input": "hello"}).to_string();
    stage.post("/v1/responses", &session("s1"), first).await;
    let body = json!({"model": "m", "input": "fix it", "previous_response_id": "msg_0"}).to_string();
    stage.post("/v1/responses", &session("s1"), body).await;
    let bodies = stage.bodies();
    let ids: Vec<&Value> = bodies.iter().map(|body| &body["previous_response_id"]).collect();
    assert_eq!(ids, [&Value::Null, &Value::Null, &json!("msg_1"), &json!("msg_2")]);
    assert_eq!(Speech::Responses.seen(&bodies[3]).items.len(), 1, "only what is new");
}
