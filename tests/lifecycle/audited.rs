//! The audit log: a line for each kind of decision, and no word of a body or a credential in any.
use crate::speech::{Speech, Words, every_form};
use crate::stage::{Play, Stage, says_answer_n};
use crate::support::{Gate, Recorded, Step};
use hookgate::bus::{Kind, Origin, Written};
use serde_json::{Value, json};
use std::path::PathBuf;

/// Stands in prompts, results, calls, credentials and what hooks say.
const SECRET: &str = "s3cret-of-a-test";

/// A folder for the log, and the settings that name it.
fn audited(more: &str) -> (tempfile::TempDir, PathBuf, &'static str) {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("audit.jsonl");
    let settings = format!("audit: {{ file: '{}'{more} }}\ninjection: {{ layout: stable }}", file.display()).leak();
    (folder, file, settings)
}

/// The lines, once the gateway has ended.
async fn lines(mut stage: Stage, file: &PathBuf) -> Vec<Value> {
    stage.stop().await;
    let text = std::fs::read_to_string(file).unwrap();
    assert!(!text.contains(SECRET), "{text}");
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

/// The one line that has these.
fn one<'l>(lines: &'l [Value], action: &str, hook: Option<&str>) -> &'l Value {
    let mine = |line: &&Value| line["action"] == action && line["hook"].as_str() == hook;
    let mine: Vec<&Value> = lines.iter().filter(mine).collect();
    let [line] = mine[..] else { panic!("{action} {hook:?}: {lines:#?}") };
    line
}

fn secret_session() -> String {
    format!("x-hookgate-session: s1\r\nauthorization: Bearer {SECRET}\r\nx-api-key: {SECRET}\r\n")
}

#[tokio::test]
async fn context_edits_and_redactions_have_lines_with_digests() {
    let hooks = "hooks:
  - { name: says, on: prompt.submit, run: { http: { url: 'HOOKS' } } }
  - { name: redacts, on: model.context, run: { edits: [{ op: messages.redact, pattern: 's3cret-[a-z-]+', with: '[x]' }] } }
  - { name: idle, on: model.context, run: { edits: [{ op: messages.redact, pattern: 'not-there-at-all', with: '[x]' }] } }
";
    for (speech, stream) in every_form() {
        let (_folder, file, settings) = audited("");
        let says = |_: &Value| (None, json!({ "context": format!("{SECRET} too") }));
        let stage = Stage::play(Play { hooks, settings, answers: Box::new(says), ..Play::default() }).await;
        let mut agent = stage.agent(speech, stream).headers(secret_session());
        agent.prompt(&format!("my key is {SECRET}")).await;
        let (sent, received) = (agent.body(), stage.provider.requests()[0].body.clone());
        let lines = lines(stage, &file).await;
        let said = one(&lines, "said", Some("says"));
        assert_eq!((&said["event"], &said["what"]), (&json!("prompt.submit"), &json!(["context"])));
        let changed = one(&lines, "changed", Some("redacts"));
        assert_eq!((&changed["session"], &changed["agent"]), (&json!("s1"), &json!("main")));
        assert_eq!(changed["what"], json!(["messages.redact"]));
        assert!(
            changed["tenant"].as_str().unwrap().starts_with("t_") && changed["request_id"].is_string(),
            "{changed}"
        );
        assert_eq!(changed["after"], format!("blake3:{}", blake3::hash(&received).to_hex()), "{speech:?}");
        assert_ne!(changed["before"], changed["after"]);
        // The agent has heard the answer since.
        assert!(sent.contains(SECRET));
        assert!(!lines.iter().any(|line| line["hook"] == "idle"), "a rule that matched nothing decided nothing");
    }
}

#[tokio::test]
async fn what_stands_in_a_request_again_has_one_line() {
    let (_folder, file, settings) = audited("");
    let stage = Stage::play(Play { settings, ..Play::default() }).await;
    let mut agent = stage.agent(Speech::Anthropic, true);
    agent.prompt("one").await;
    let received = stage.provider.requests()[0].body.clone();
    let lines = lines(stage, &file).await;
    let placed = one(&lines, "placed", None);
    assert_eq!(placed["after"], format!("blake3:{}", blake3::hash(&received).to_hex()));
}

#[tokio::test]
async fn a_request_that_nothing_changed_has_none() {
    let (_folder, file, settings) = audited("");
    let stage = Stage::play(Play { hooks: "", settings, ..Play::default() }).await;
    stage.agent(Speech::Chat, true).prompt("one").await;
    assert_eq!(lines(stage, &file).await, Vec::<Value>::new());
}

#[tokio::test]
async fn blocked_prompts_have_a_line_whether_a_hook_says_so_or_fails() {
    let hooks = "hooks:
  - { name: blocks, on: prompt.submit, when: 'prompt.text.contains(\"forbidden\")', run: { http: { url: 'HOOKS' } } }
  - { name: must, on: prompt.submit, when: 'prompt.text.contains(\"checked\")', on_error: block, run: { command: ['false'] } }
";
    let (_folder, file, settings) = audited("");
    let says = |_: &Value| (None, json!({ "block": { "reason": format!("not with {SECRET}") } }));
    let stage = Stage::play(Play { hooks, settings, answers: Box::new(says), ..Play::default() }).await;
    let mut agent = stage.agent(Speech::Responses, true).headers(secret_session());
    agent.prompt(&format!("forbidden {SECRET}")).await;
    agent.prompt("checked").await;
    let lines = lines(stage, &file).await;
    for hook in ["blocks", "must"] {
        let line = one(&lines, "blocked", Some(hook));
        assert_eq!((&line["event"], &line["what"]), (&json!("prompt.submit"), &json!(["block"])));
    }
}

#[tokio::test]
async fn calls_that_are_denied_changed_and_refused_have_lines() {
    let hooks = "hooks:
  - { name: judge, on: tool.call, run: { http: { url: 'HOOKS' } } }
  - { name: no-look, on: model.context, run: { edits: [{ op: tools.remove, names: [look] }] } }
";
    let answers = |event: &Value| match event["tool"]["name"].as_str() {
        Some("bash") => json!({ "tool": { "deny": format!("because of {SECRET}") } }),
        _ => json!({ "tool": { "input": { "path": SECRET } } }),
    };
    let says = |request: &Recorded, n: usize| match n {
        0 => Speech::of(request).answer(request, n, &Words::call("", "bash.1")),
        1 => Speech::of(request).answer(request, n, &Words::call("", "look.1")),
        2 => Speech::of(request).answer(request, n, &Words::call("", "edit.1")),
        _ => says_answer_n(request, n),
    };
    let (_folder, file, settings) = audited("");
    let stage = Stage::play(Play {
        hooks,
        settings,
        says: Box::new(says),
        answers: Box::new(move |event| (None, answers(event))),
        ..Play::default()
    })
    .await;
    let mut agent = stage.agent(Speech::Anthropic, true).headers(secret_session());
    agent.tools = &["bash", "edit", "look"];
    agent.prompt("go").await;
    let lines = lines(stage, &file).await;
    let denied = one(&lines, "denied", Some("judge"));
    assert_eq!((&denied["tool"], &denied["what"]), (&json!("bash"), &json!(["tool.deny"])));
    let refused = one(&lines, "refused", None);
    assert_eq!((&refused["tool"], &refused["session"]), (&json!("look"), &json!("s1")));
    let changed = one(&lines, "changed", Some("judge"));
    assert_eq!((&changed["tool"], &changed["what"]), (&json!("edit"), &json!(["tool.input"])));
    assert_ne!(changed["before"], changed["after"]);
}

#[tokio::test]
async fn results_that_are_replaced_and_turns_that_go_on_have_lines() {
    let hooks = "hooks:
  - { name: screen, on: tool.result, run: { http: { url: 'HOOKS' } } }
  - { name: again, on: session.stopping, run: { http: { url: 'HOOKS' } } }
";
    let answers = |event: &Value| match event["event"].as_str() {
        Some("tool.result") => json!({ "tool": { "result": "nothing to see" } }),
        _ if event["turn"]["attempt"] == 1 => json!({ "continue": true, "message": SECRET }),
        _ => json!({}),
    };
    let says = |request: &Recorded, n: usize| match n {
        0 => Speech::of(request).answer(request, n, &Words::call("", "look_1")),
        _ => says_answer_n(request, n),
    };
    let (_folder, file, settings) = audited("");
    let stage = Stage::play(Play {
        hooks,
        settings,
        says: Box::new(says),
        answers: Box::new(move |event| (None, answers(event))),
        ..Play::default()
    })
    .await;
    let mut agent = stage.agent(Speech::Chat, false).headers(secret_session());
    agent.prompt("go").await;
    agent.result("look_1", SECRET).await;
    let lines = lines(stage, &file).await;
    let screened = one(&lines, "changed", Some("screen"));
    assert_eq!(screened["before"], format!("blake3:{}", blake3::hash(SECRET.as_bytes()).to_hex()));
    assert_eq!(screened["after"], format!("blake3:{}", blake3::hash(b"nothing to see").to_hex()));
    assert_eq!(one(&lines, "said", Some("again"))["what"], json!(["continue"]));
}

#[tokio::test]
async fn calls_that_a_halt_takes_have_lines() {
    let (_folder, file, settings) = audited("");
    let gate = Gate::new();
    let waits = gate.clone();
    let says = move |request: &Recorded, n: usize| {
        let words = if n == 2 { Words::call("", "look.1") } else { Words::text("hello") };
        let mut steps = Speech::of(request).answer(request, n, &words);
        if n == 2 {
            steps.insert(0, Step::Wait(waits.clone()));
        }
        steps
    };
    let stage = Stage::play(Play { hooks: "", settings, says: Box::new(says), ..Play::default() }).await;
    let mut agent = stage.agent(Speech::Anthropic, true).headers(secret_session());
    agent.prompt("one").await;
    let tenant = stage.turns().bus().tenants("s1").await.unwrap().pop_first().unwrap();
    let bus = stage.turns().bus().clone();
    let send = async |kind, text: &str| {
        let written = Written { text: text.into(), kind, ..Written::default() };
        bus.send(&tenant, "s1", "main", written, &Origin::Api).await.unwrap();
    };
    // From a session's first message on its calls are watched.
    send(Kind::Note, SECRET).await;
    agent.prompt("two").await;
    let sending = async {
        stage.wait_requests(3).await;
        send(Kind::Halt, &format!("stop {SECRET}")).await;
        gate.open();
    };
    tokio::join!(agent.prompt("three"), sending);
    let lines = lines(stage, &file).await;
    let halted = one(&lines, "halted", None);
    assert_eq!((&halted["tool"], &halted["agent"]), (&json!("look"), &json!("main")));
}

#[tokio::test]
async fn bodies_stand_there_when_asked_for() {
    let hooks = "hooks:\n  - { name: adds, on: model.context, run: { edits: [{ op: system.append, text: ADDED }] } }\n";
    let (_folder, file, settings) = audited(", bodies: true");
    let mut stage = Stage::play(Play { hooks, settings, ..Play::default() }).await;
    stage.agent(Speech::Anthropic, true).prompt("hello there").await;
    stage.stop().await;
    let text = std::fs::read_to_string(&file).unwrap();
    let line: Value = serde_json::from_str(text.lines().next().unwrap()).unwrap();
    let [before, after] = ["body_before", "body_after"].map(|body| line[body].as_str().unwrap());
    assert!(before.contains("hello there") && !before.contains("ADDED") && after.contains("ADDED"), "{line}");
}

#[tokio::test]
async fn answers_say_the_gateways_own_time_only_when_asked() {
    for (settings, says) in [("", false), ("telemetry: { overhead_header: true }", true)] {
        let stage = Stage::set(settings).await;
        let answers = [stage.agent(Speech::Chat, false).prompt("one").await, stage.post("/nowhere", "", "").await];
        for answer in answers {
            let own = answer.head.get("x-hookgate-overhead-us");
            assert_eq!(own.is_some(), says, "{answer:?}");
            assert!(own.is_none_or(|own| own.parse::<u64>().is_ok()), "{own:?}");
        }
    }
}
