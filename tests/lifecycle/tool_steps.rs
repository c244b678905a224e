//! Hook scripts on the steps of a turn: what Claude Code's `PostToolBatch` is told and what comes of what it says.
use crate::speech::{Item, Speech, Words, every_form};
use crate::stage::{A_WHILE, Play, Stage, session};
use crate::support::Gate;
use serde_json::{Value, json};
use std::fs;

/// A folder with scripts that note what they are told and say what a file says.
struct Scripts(tempfile::TempDir);

impl Scripts {
    /// A script on each of these events of Claude Code.
    fn on(events: &[&str]) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let script = |event: &&str| {
            let line =
                format!("cd $CLAUDE_PROJECT_DIR; cat >> {event}.told; echo >> {event}.told; cat {event}.says || true");
            ((*event).to_owned(), json!([{"hooks": [{"type": "command", "command": line}]}]))
        };
        let hooks: serde_json::Map<String, Value> = events.iter().map(script).collect();
        fs::write(folder.path().join("settings.json"), json!({"hooks": hooks}).to_string()).unwrap();
        Self(folder)
    }

    fn say(&self, event: &str, answer: &Value) {
        fs::write(self.0.path().join(format!("{event}.says")), answer.to_string()).unwrap();
    }

    fn says_context(self, event: &str, text: &str) -> Self {
        self.say(event, &json!({"hookSpecificOutput": {"hookEventName": event, "additionalContext": text}}));
        self
    }

    fn told(&self, event: &str) -> Vec<Value> {
        let text = fs::read_to_string(self.0.path().join(format!("{event}.told"))).unwrap_or_default();
        text.lines().filter(|line| !line.is_empty()).map(|line| serde_json::from_str(line).unwrap()).collect()
    }

    /// Behind a provider that makes calls of these numbers, then says something.
    fn play(&self, more: &str, calls: &'static [usize]) -> Play {
        let folder = self.0.path().display();
        let hooks = format!(
            "hooks:\n  - {{ name: cc, run: {{ claude_code: {{ settings: {folder}/settings.json, project_dir: {folder} }} }}{more} }}\n"
        );
        Play {
            hooks: hooks.leak(),
            says: Box::new(move |request, n| {
                let calls = (0..calls.get(n).copied().unwrap_or_default()).map(|call| format!("call_{n}_{call}"));
                Speech::of(request).answer(
                    request,
                    n,
                    &Words { calls: calls.collect(), ..Words::text(format!("A{n}")) },
                )
            }),
            ..Play::default()
        }
    }
}

/// Where each text stands in a body, all of them in this order.
fn in_order(body: &Value, texts: &[&str]) {
    let body = body.to_string();
    let places: Vec<_> =
        texts.iter().map(|text| body.find(text).unwrap_or_else(|| panic!("{text:?} is not in {body}"))).collect();
    assert!(places.is_sorted(), "{texts:?} {places:?} {body}");
}

#[tokio::test]
async fn a_step_is_told_once_with_all_its_results_and_the_words_stand_behind_the_last_from_then_on() {
    for (speech, stream) in every_form() {
        let scripts = Scripts::on(&["PostToolBatch"]).says_context("PostToolBatch", "MIND THE STEP");
        let settings = "store: { kind: sled, path: ./data }";
        let mut stage = Stage::play(Play { settings, ..scripts.play("", &[2]) }).await;
        let mut agent = stage.agent(speech, stream);
        agent.prompt("one").await;
        agent.history.push(Item::result("call_0_0", "first"));
        agent.history.push(Item::result("call_0_1", "second"));
        agent.send().await;
        let history = agent.history.clone();
        stage.restart().await;
        let mut agent = stage.agent(speech, stream);
        agent.history = history[..history.len() - 1].to_vec();
        agent.ask().await;
        agent.history = history;
        agent.prompt("two").await;
        let told = scripts.told("PostToolBatch");
        let [told] = &told[..] else { panic!("{speech:?} {told:#?}") };
        assert_eq!((&told["hook_event_name"], &told["session_id"]), (&json!("PostToolBatch"), &json!("s1")));
        let calls = json!([
            {"tool_name": "look", "tool_input": {}, "tool_use_id": "call_0_0", "tool_response": "first"},
            {"tool_name": "look", "tool_input": {}, "tool_use_id": "call_0_1", "tool_response": "second"},
        ]);
        assert_eq!(told["tool_calls"], calls, "{speech:?}");
        let bodies = stage.bodies();
        assert_eq!(bodies.len(), 4);
        assert_eq!(bodies[1], bodies[2], "{speech:?}: a retry after a restart");
        for body in &bodies[1..] {
            in_order(body, &["first", "second", "MIND THE STEP"]);
            assert_eq!(body.to_string().matches("MIND THE STEP").count(), 1, "{speech:?} {body}");
        }
        in_order(&bodies[3], &["MIND THE STEP", "two"]);
    }
}

#[tokio::test]
async fn a_step_sees_what_stands_in_the_place_of_results() {
    let scripts = Scripts::on(&["PostToolUse", "PostToolBatch"]).says_context("PostToolBatch", "STEP");
    scripts.say(
        "PostToolUse",
        &json!({"hookSpecificOutput": {"hookEventName": "PostToolUse", "additionalContext": "RESULT", "updatedToolOutput": "clean"}}),
    );
    let stage = Stage::play(scripts.play("", &[1])).await;
    let mut agent = stage.agent(Speech::Anthropic, true);
    agent.prompt("one").await;
    agent.result("call_0_0", "secret").await;
    assert_eq!(scripts.told("PostToolBatch")[0]["tool_calls"][0]["tool_response"], "clean");
    in_order(&stage.last_body(), &["clean", "RESULT", "STEP"]);
}

#[tokio::test]
async fn a_step_that_is_blocked_is_answered_with_the_reason_until_there_is_a_new_prompt() {
    for (speech, stream) in every_form() {
        for halt in [json!({"decision": "block", "reason": "HALT"}), json!({"continue": false, "stopReason": "HALT"})] {
            let scripts = Scripts::on(&["PostToolBatch"]);
            scripts.say("PostToolBatch", &halt);
            let stage = Stage::play(scripts.play("", &[1])).await;
            let mut agent = stage.agent(speech, stream);
            agent.prompt("one").await;
            agent.history.push(Item::result("call_0_0", "seen"));
            for _ in 0..2 {
                let answer = agent.ask().await;
                assert_eq!((answer.status(), &*speech.heard(stream, &answer.body).text), (200, "HALT"), "{speech:?}");
            }
            assert_eq!((stage.bodies().len(), scripts.told("PostToolBatch").len()), (1, 1), "{speech:?}");
            agent.history.push(Item::model("HALT"));
            agent.prompt("two").await;
            in_order(&stage.last_body(), &["seen", "HALT", "two"]);
        }
    }
}

#[tokio::test]
async fn a_step_that_must_be_checked_and_was_not_does_not_go_up() {
    let scripts = Scripts::on(&["PostToolBatch"]);
    fs::write(scripts.0.path().join("PostToolBatch.says"), "{").unwrap();
    let stage = Stage::play(scripts.play(", on_error: block", &[2])).await;
    let mut agent = stage.agent(Speech::Chat, false);
    agent.prompt("one").await;
    agent.history.push(Item::result("call_0_0", "first"));
    agent.history.push(Item::result("call_0_1", "second"));
    let answer = agent.send().await;
    assert!(answer.text().contains("could not be made"), "{}", answer.text());
    agent.prompt("two").await;
    let last = stage.last_body().to_string();
    assert!(stage.bodies().len() == 2 && !last.contains("first") && !last.contains("second"), "{last}");
}

#[tokio::test]
async fn a_step_has_its_room_in_the_turns_budget() {
    let scripts = Scripts::on(&["PostToolBatch"]).says_context("PostToolBatch", &"x".repeat(500));
    let settings = "lifecycle: { max_injected_context_chars: 100 }";
    let stage = Stage::play(Play { settings, ..scripts.play("", &[1]) }).await;
    let mut agent = stage.agent(Speech::Anthropic, true);
    agent.prompt("one").await;
    agent.result("call_0_0", "seen").await;
    let body = stage.last_body().to_string();
    assert!(body.contains(&"x".repeat(100)) && !body.contains(&"x".repeat(101)), "{body}");
}

#[tokio::test]
async fn a_step_of_a_delta_is_told_with_the_calls_that_the_provider_holds() {
    let scripts = Scripts::on(&["PostToolBatch"]).says_context("PostToolBatch", "MIND THE STEP");
    let stage = Stage::play(scripts.play("", &[1])).await;
    let post = async |extra: Value, input: Value| {
        let mut body = json!({"model": "m", "input": input});
        body.as_object_mut().unwrap().extend(extra.as_object().unwrap().clone());
        let answer = stage.post("/v1/responses", &session("s1"), body.to_string()).await;
        assert_eq!(answer.status(), 200, "{}", answer.text());
    };
    post(json!({}), json!("one")).await;
    let result = || json!([{"type": "function_call_output", "call_id": "call_0_0", "output": "found"}]);
    post(json!({"previous_response_id": "msg_0"}), result()).await;
    post(json!({"previous_response_id": "msg_0"}), result()).await;
    let told = scripts.told("PostToolBatch");
    assert_eq!(told.len(), 1, "{told:#?}");
    let call = json!([{"tool_name": "look", "tool_input": {}, "tool_use_id": "call_0_0", "tool_response": "found"}]);
    assert_eq!(told[0]["tool_calls"], call);
    let bodies = stage.bodies();
    in_order(&bodies[1], &["found", "MIND THE STEP"]);
    assert_eq!(bodies[1], bodies[2]);
}

#[tokio::test]
async fn what_is_said_of_a_call_stands_beside_its_result_from_then_on() {
    for (speech, stream) in every_form() {
        let scripts = Scripts::on(&["PreToolUse"]).says_context("PreToolUse", "BEFORE THE CALL");
        let settings = "store: { kind: sled, path: ./data }";
        let mut stage = Stage::play(Play { settings, ..scripts.play("", &[1, 1]) }).await;
        let mut agent = stage.agent(speech, stream);
        agent.prompt("one").await;
        let history = agent.history.clone();
        stage.restart().await;
        scripts.say("PreToolUse", &json!({}));
        let mut agent = stage.agent(speech, stream);
        agent.history = history;
        for text in ["seen", "seen", "seen otherwise"] {
            agent.history.push(Item::result("call_0_0", text));
            agent.ask().await;
            agent.history.pop();
        }
        agent.history.push(Item::result("call_0_0", "seen"));
        agent.send().await;
        agent.result("call_1_0", "more").await;
        agent.prompt("two").await;
        let bodies = stage.bodies();
        for body in &bodies[1..] {
            in_order(body, &["seen", "source=\\\"cc\\\"", "BEFORE THE CALL"]);
            assert_eq!(body.to_string().matches("BEFORE THE CALL").count(), 1, "{speech:?} {body}");
        }
        assert_eq!(bodies[1], bodies[2], "{speech:?}");
        in_order(bodies.last().unwrap(), &["BEFORE THE CALL", "more", "two"]);
    }
}

#[tokio::test]
async fn what_is_said_of_a_call_that_is_denied_stands_behind_the_reason() {
    let scripts = Scripts::on(&["PreToolUse"]);
    let words = json!({"hookEventName": "PreToolUse", "permissionDecision": "deny", "permissionDecisionReason": "NO", "additionalContext": "TRY rg"});
    scripts.say("PreToolUse", &json!({"hookSpecificOutput": words}));
    for (speech, stream) in every_form() {
        let stage = Stage::play(scripts.play("", &[1])).await;
        stage.agent(speech, stream).prompt("one").await;
        in_order(&stage.last_body(), &["one", "NO", "TRY rg"]);
    }
}

#[tokio::test]
async fn what_is_said_of_a_call_of_a_delta_stands_beside_its_result() {
    let scripts = Scripts::on(&["PreToolUse"]).says_context("PreToolUse", "BEFORE THE CALL");
    let stage = Stage::play(scripts.play("", &[1])).await;
    let post = async |body: Value| {
        let answer = stage.post("/v1/responses", &session("s1"), body.to_string()).await;
        assert_eq!(answer.status(), 200, "{}", answer.text());
    };
    post(json!({"model": "m", "input": "one"})).await;
    let result = json!([{"type": "function_call_output", "call_id": "call_0_0", "output": "found"}]);
    post(json!({"model": "m", "previous_response_id": "msg_0", "input": result})).await;
    in_order(&stage.last_body(), &["found", "BEFORE THE CALL"]);
}

#[tokio::test]
async fn requests_at_the_same_time_share_one_decision_on_a_call() {
    for (speech, stream) in every_form() {
        let gate = Gate::new();
        let waits = gate.clone();
        let stage = Stage::play(Play {
            hooks: "hooks: [{ name: judge, on: tool.call, run: { http: { url: 'HOOKS' } } }]",
            says: Box::new(|request, n| {
                let words = Words::call("", "call_1");
                let text = Words::text("done");
                let has_result = String::from_utf8_lossy(&request.body).contains("NOT THIS");
                Speech::of(request).answer(request, n, if has_result { &text } else { &words })
            }),
            answers: Box::new(move |_| (Some(waits.clone()), json!({"tool": {"deny": "NOT THIS"}}))),
            ..Play::default()
        })
        .await;
        let mut agent = stage.agent(speech, stream);
        agent.history.push(Item::user("one"));
        let opens = async {
            stage.wait_requests(5).await;
            stage.wait_events("tool.call", 1).await;
            tokio::time::sleep(A_WHILE).await;
            gate.open();
        };
        let (answers, ()) = tokio::join!(futures_util::future::join_all((0..5).map(|_| agent.ask())), opens);
        assert!(answers.iter().all(|answer| answer.text().contains("done")), "{speech:?}");
        assert_eq!(stage.events("tool.call").len(), 1, "{speech:?} {stream}");
    }
}
