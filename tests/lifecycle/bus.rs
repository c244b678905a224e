//! The session bus: what the model sees of a message, when, how often, and what becomes of the running turn.
use crate::speech::{Item, Speech, Words, every_form};
use crate::stage::{Play, Stage, session};
use crate::support::provider::answer;
use crate::support::{Gate, Recorded, Step, soon};
use hookgate::bus::{Kind, Message, Origin, State, Written};
use hookgate::session::record::{SessionKey, Tenant};
use serde_json::{Value, json};

/// No hooks: the gateway reads nothing before somebody gets a message.
fn bare() -> Play {
    Play { hooks: "", ..Play::default() }
}

/// Calls in the first answers, one in each, then text.
fn calls_then_text(calls: usize) -> Play {
    let says = move |request: &Recorded, n: usize| {
        let words = match n < calls {
            true => Words::call("", format!("call_{n}")),
            false => Words::text(format!("ANSWER{n}")),
        };
        Speech::of(request).answer(request, n, &words)
    };
    Play { says: Box::new(says), ..bare() }
}

async fn owner(stage: &Stage, id: &str) -> Tenant {
    stage.turns().bus().tenants(id).await.unwrap().pop_first().expect("it was seen")
}

async fn send(stage: &Stage, id: &str, kind: Kind, text: &str) {
    let written = Written { text: text.into(), kind, id: Some(text.into()), ..Written::default() };
    let tenant = owner(stage, id).await;
    let sent = stage.turns().bus().send(&tenant, id, "main", written, &Origin::Api).await.unwrap();
    assert!(sent.iter().all(|(_, receipt)| receipt.is_ok()), "{sent:?}");
}

async fn letters(stage: &Stage, id: &str) -> Vec<Message> {
    let key = SessionKey { tenant: owner(stage, id).await, id: id.into(), agent: "main".into() };
    stage.turns().bus().list(&key).await.unwrap()
}

async fn states(stage: &Stage, id: &str) -> Vec<&'static str> {
    letters(stage, id).await.iter().map(|message| message.state.name()).collect()
}

/// A first message that is over: from then on the session's answers are watched for others.
async fn acquaint(stage: &Stage, id: &str) {
    send(stage, id, Kind::Note, "HELLO").await;
}

fn count(body: &Value, needle: &str) -> usize {
    body.to_string().matches(needle).count()
}

/// The history of a body, without what follows it in this request.
fn items(speech: Speech, body: &Value) -> Vec<Value> {
    let list = match speech {
        Speech::Anthropic | Speech::Chat => "messages",
        Speech::Responses => "input",
        Speech::Gemini => "contents",
    };
    body[list].as_array().unwrap().clone()
}

#[tokio::test]
async fn a_message_stands_inside_the_last_result_of_a_tool_step_and_stays_there() {
    for (speech, stream) in every_form() {
        let what = format!("{speech:?} stream={stream}");
        let stage = Stage::play(calls_then_text(2)).await;
        let mut agent = stage.agent(speech, stream);
        agent.prompt("do it").await;
        send(&stage, "s1", Kind::Correction, "USE-BCRYPT").await;
        agent.result("call_0", "out").await;
        agent.result("call_1", "out").await;
        agent.prompt("thanks").await;
        let bodies = stage.bodies();
        assert_eq!(bodies.len(), 4, "{what}");
        assert_eq!(count(&bodies[0], "session-bus"), 0, "{what}");
        let sent: Value =
            serde_json::from_str(&speech.body(&agent.history[..3], stream, agent.tools).to_string()).unwrap();
        assert_eq!(items(speech, &bodies[1]).len(), items(speech, &sent).len(), "{what}: nothing beside the result");
        let placed = items(speech, &bodies[1]).pop().unwrap();
        assert_eq!(count(&placed, "[session-bus] correction from operator"), 1, "{what} {placed}");
        assert_eq!(count(&placed, "USE-BCRYPT"), 1, "{what}");
        for body in &bodies[2..] {
            assert_eq!(items(speech, body)[..items(speech, &bodies[1]).len()], items(speech, &bodies[1]), "{what}");
            assert_eq!(count(body, "USE-BCRYPT"), 1, "{what}");
        }
        assert!(matches!(letters(&stage, "s1").await[0].state, State::Delivered { turn: 1, .. }), "{what}");
    }
}

#[tokio::test]
async fn a_message_goes_behind_the_prompt_and_only_three_go_at_once() {
    for (speech, stream) in every_form() {
        let stage = Stage::play(bare()).await;
        let mut agent = stage.agent(speech, stream);
        agent.prompt("one").await;
        for number in 0..4 {
            send(&stage, "s1", Kind::Note, &format!("NOTE-{number}")).await;
        }
        agent.prompt("two").await;
        agent.prompt("three").await;
        let bodies = stage.bodies();
        assert_eq!([1, 2].map(|n| count(&bodies[n], "NOTE-")), [3, 4], "{speech:?} stream={stream}");
        assert!(speech.seen(&bodies[1]).items.last().unwrap().1.join("").starts_with("two"), "{speech:?}");
        assert_eq!(states(&stage, "s1").await, ["delivered"; 4]);
    }
}

#[tokio::test]
async fn what_the_upstream_refused_is_not_delivered_and_a_retry_brings_the_same_bytes() {
    for (speech, stream) in every_form() {
        let what = format!("{speech:?} stream={stream}");
        let says = |request: &Recorded, n: usize| match n {
            1 => answer("529 Overloaded", "", "{}"),
            _ => Speech::of(request).answer(request, n, &Words::text(format!("ANSWER{n}"))),
        };
        let stage = Stage::play(Play { says: Box::new(says), ..bare() }).await;
        let mut agent = stage.agent(speech, stream);
        agent.prompt("one").await;
        send(&stage, "s1", Kind::Note, "NOTE").await;
        agent.history.push(Item::user("two"));
        assert_eq!(agent.ask().await.status(), 529);
        assert_eq!(states(&stage, "s1").await, ["queued"], "{what}");
        agent.send().await;
        assert_eq!(states(&stage, "s1").await, ["delivered"], "{what}");
        let requests = stage.provider.requests();
        assert_eq!(requests[1].body, requests[2].body, "{what}");
    }
}

#[tokio::test]
async fn what_was_refused_is_placed_anew_where_its_place_is_gone_and_never_twice() {
    let says = |request: &Recorded, n: usize| match n {
        1 => answer("529 Overloaded", "", "{}"),
        _ => Speech::of(request).answer(request, n, &Words::text(format!("ANSWER{n}"))),
    };
    let stage = Stage::play(Play { says: Box::new(says), ..bare() }).await;
    let mut agent = stage.agent(Speech::Anthropic, false);
    agent.prompt("one").await;
    send(&stage, "s1", Kind::Note, "NOTE").await;
    agent.history.push(Item::user("two"));
    assert_eq!(agent.ask().await.status(), 529);
    // Another history of the same session takes the message, and the first one goes on without it.
    let mut other = stage.agent(Speech::Anthropic, false);
    other.prompt("elsewhere").await;
    agent.send().await;
    let bodies = stage.bodies();
    assert_eq!([1, 2, 3].map(|n| count(&bodies[n], "NOTE")), [1, 1, 0]);
    assert_eq!(states(&stage, "s1").await, ["delivered"]);
}

/// The words of an answer, then its end once the gate is open; every other answer as it is.
fn ends_when(gate: &Gate, at: usize) -> Play {
    let gate = gate.clone();
    let says = move |request: &Recorded, n: usize| {
        let mut steps = Speech::of(request).answer(request, n, &Words::text(format!("ANSWER{n}")));
        if n == at {
            steps.insert(steps.len() - 1, Step::Wait(gate.clone()));
            if steps.len() > 4 {
                // Before the first frame that ends it.
                let waits = steps.remove(steps.len() - 2);
                steps.insert(2, waits);
            } else {
                let waits = steps.remove(steps.len() - 2);
                steps.insert(0, waits);
            }
        }
        steps
    };
    Play { says: Box::new(says), ..bare() }
}

#[tokio::test]
async fn a_turn_that_ends_goes_on_with_a_correction_but_not_with_a_note() {
    for (speech, stream) in every_form() {
        for (kind, goes_on) in [(Kind::Correction, true), (Kind::Note, false)] {
            let what = format!("{speech:?} stream={stream} {kind:?}");
            let gate = Gate::new();
            let stage = Stage::play(ends_when(&gate, 2)).await;
            let mut agent = stage.agent(speech, stream);
            agent.prompt("one").await;
            acquaint(&stage, "s1").await;
            agent.prompt("two").await;
            let sending = async {
                stage.wait_requests(3).await;
                send(&stage, "s1", kind, "LATE").await;
                gate.open();
            };
            let (answered, ()) = tokio::join!(soon(agent.prompt("three")), sending);
            let heard = speech.heard(stream, &answered.body);
            let text: String = heard.text.split_whitespace().collect();
            agent.prompt("four").await;
            let bodies = stage.bodies();
            if goes_on {
                assert_eq!(text, "ANSWER2ANSWER3", "{what}");
                assert_eq!(bodies.len(), 5, "{what}");
                let last = speech.seen(&bodies[4]);
                let texts: Vec<String> = (0..last.items.len()).map(|n| last.item(n)).collect();
                let at = texts.iter().position(|text| text.contains("LATE")).unwrap();
                assert!(texts[at - 1].contains("ANSWER2") && texts[at + 1].contains("ANSWER3"), "{what} {texts:?}");
            } else {
                assert_eq!(text, "ANSWER2", "{what}");
                assert_eq!(bodies.len(), 4, "{what}");
            }
            assert_eq!(count(bodies.last().unwrap(), "LATE"), 1, "{what}");
            assert_eq!(states(&stage, "s1").await, ["delivered"; 2], "{what}");
        }
    }
}

#[tokio::test]
async fn a_turn_that_may_not_go_on_leaves_a_correction_to_the_next_prompt() {
    let gate = Gate::new();
    let stage = Stage::play(Play { settings: "continuation: { max_per_turn: 0 }", ..ends_when(&gate, 2) }).await;
    let mut agent = stage.agent(Speech::Chat, true);
    agent.prompt("one").await;
    acquaint(&stage, "s1").await;
    agent.prompt("two").await;
    let sending = async {
        stage.wait_requests(3).await;
        send(&stage, "s1", Kind::Correction, "LATE").await;
        gate.open();
    };
    tokio::join!(agent.prompt("three"), sending);
    assert_eq!(states(&stage, "s1").await, ["delivered", "queued"]);
    agent.prompt("four").await;
    let bodies = stage.bodies();
    assert_eq!((bodies.len(), count(&bodies[3], "LATE")), (4, 1));
    assert_eq!(states(&stage, "s1").await, ["delivered"; 2]);
}

#[tokio::test]
async fn a_halt_ends_the_turn_and_no_call_of_it_reaches_the_client() {
    for (speech, stream) in every_form() {
        let what = format!("{speech:?} stream={stream}");
        // The model goes on calling until it was told not to.
        let says = |request: &Recorded, n: usize| {
            let told = String::from_utf8_lossy(&request.body).contains("This call was not made");
            let words = match n {
                0 => Words::text("ANSWER0"),
                _ if told => Words::text(format!("STOPPED{n}")),
                _ => Words::call("CALLING", format!("call_{n}")),
            };
            Speech::of(request).answer(request, n, &words)
        };
        let stage = Stage::play(Play { says: Box::new(says), ..bare() }).await;
        let mut agent = stage.agent(speech, stream);
        agent.prompt("one").await;
        acquaint(&stage, "s1").await;
        let first = agent.prompt("two").await;
        assert_eq!(speech.heard(stream, &first.body).calls, ["call_1"], "{what}");
        send(&stage, "s1", Kind::Halt, "STOP-NOW").await;
        let halted = agent.result("call_1", "out").await;
        let heard = speech.heard(stream, &halted.body);
        assert_eq!((heard.text.ends_with("STOPPED3"), heard.calls.len()), (true, 0), "{what} {}", halted.text());
        let bodies = stage.bodies();
        assert_eq!((bodies.len(), count(&bodies[2], "STOP-NOW")), (4, 1), "{what}");
        assert_eq!(count(&bodies[3], "This call was not made"), 1, "{what}");
        // The next prompt is another turn.
        agent.prompt("go on").await;
        assert_eq!(states(&stage, "s1").await, ["delivered"; 2], "{what}");
        assert_eq!(count(stage.bodies().last().unwrap(), "STOP-NOW"), 1, "{what}");
    }
}

#[tokio::test]
async fn a_halt_ends_a_turn_that_may_not_go_on_with_its_reason() {
    for (speech, stream) in every_form() {
        let what = format!("{speech:?} stream={stream}");
        let says = |request: &Recorded, n: usize| {
            let words = if n == 2 { Words::call("CALLING", "call_2") } else { Words::text(format!("ANSWER{n}")) };
            Speech::of(request).answer(request, n, &words)
        };
        let settings = "continuation: { max_per_turn: 0 }";
        let stage = Stage::play(Play { says: Box::new(says), settings, ..bare() }).await;
        let mut agent = stage.agent(speech, stream);
        agent.prompt("one").await;
        acquaint(&stage, "s1").await;
        agent.prompt("two").await;
        send(&stage, "s1", Kind::Halt, "STOP-NOW").await;
        let answered = agent.prompt("three").await;
        let heard = speech.heard(stream, &answered.body);
        assert!(heard.calls.is_empty() && heard.text.contains("This call was not made"), "{what} {}", answered.text());
        agent.prompt("four").await;
        assert_eq!(count(&stage.last_body(), "STOP-NOW"), 1, "{what}");
        assert_eq!((states(&stage, "s1").await, stage.bodies().len()), (vec!["delivered"; 2], 4), "{what}");
    }
}

#[tokio::test]
async fn a_halt_that_comes_while_the_model_calls_takes_the_calls_of_that_answer() {
    for (speech, stream) in every_form() {
        let what = format!("{speech:?} stream={stream}");
        let gate = Gate::new();
        let waits = gate.clone();
        let says = move |request: &Recorded, n: usize| {
            let words = if n == 2 { Words::call("CALLING", "call_2") } else { Words::text(format!("ANSWER{n}")) };
            let mut steps = Speech::of(request).answer(request, n, &words);
            if n == 2 {
                steps.insert(0, Step::Wait(waits.clone()));
            }
            steps
        };
        let stage = Stage::play(Play { says: Box::new(says), ..bare() }).await;
        let mut agent = stage.agent(speech, stream);
        agent.prompt("one").await;
        acquaint(&stage, "s1").await;
        agent.prompt("two").await;
        let sending = async {
            stage.wait_requests(3).await;
            send(&stage, "s1", Kind::Halt, "STOP-NOW").await;
            gate.open();
        };
        let (answered, ()) = tokio::join!(agent.prompt("three"), sending);
        let heard = speech.heard(stream, &answered.body);
        assert_eq!((heard.text.ends_with("ANSWER3"), heard.calls.len()), (true, 0), "{what} {}", answered.text());
        agent.prompt("four").await;
        let bodies = stage.bodies();
        assert_eq!([3, 4].map(|n| count(&bodies[n], "STOP-NOW")), [1, 1], "{what}");
        assert_eq!(states(&stage, "s1").await, ["delivered"; 2], "{what}");
    }
}

#[tokio::test]
async fn a_hook_writes_to_another_session_of_its_tenant_and_to_no_other() {
    const HOOK: &str = "hooks: [{ name: tell, on: session.stop, run: { http: { url: 'HOOKS' } } }]";
    let answers = |event: &Value| {
        let to = |id: &str| json!({"to": {"session": id}, "text": format!("TO-{id}"), "kind": "note"});
        let first = event["session"]["id"] == "s1";
        (None, if first { json!({"send": [to("s2"), to("foreign"), to("nobody")]}) } else { json!({}) })
    };
    let stage = Stage::play(Play { hooks: HOOK, answers: Box::new(answers), ..Play::default() }).await;
    let mut neighbour = stage.agent(Speech::Anthropic, false).headers(session("s2"));
    let foreign = "x-hookgate-session: foreign\r\nauthorization: Bearer other\r\n";
    let mut foreign = stage.agent(Speech::Anthropic, false).headers(foreign);
    neighbour.prompt("one").await;
    foreign.prompt("one").await;
    stage.agent(Speech::Anthropic, false).prompt("one").await;
    soon(async {
        while letters(&stage, "s2").await.is_empty() {
            tokio::task::yield_now().await;
        }
    })
    .await;
    stage.turns().drained().await;
    neighbour.prompt("two").await;
    assert_eq!(count(&stage.last_body(), "note from s1/main:\\nTO-s2"), 1, "{}", stage.last_body());
    assert_eq!(letters(&stage, "foreign").await, []);
    assert!(stage.turns().bus().tenants("nobody").await.unwrap().is_empty());
}

#[tokio::test]
async fn other_sessions_of_a_gateway_without_hooks_are_relayed_as_they_come() {
    let stage = Stage::play(bare()).await;
    stage.agent(Speech::Chat, false).prompt("one").await;
    send(&stage, "s1", Kind::Note, "NOTE").await;
    let odd = r#"{ "messages" : [ {"role":"user","content":"a","content":"b"} ] }"#;
    let relayed = stage.post(Speech::Chat.target(false), &session("s2"), odd).await;
    assert_eq!(relayed.status(), 200);
    assert_eq!(stage.provider.requests().last().unwrap().body, odd.as_bytes());
    let refused = stage.post(Speech::Chat.target(false), &session("s1"), odd).await;
    assert_eq!(refused.status(), 400, "a session with a message is read");
}
