//! Tools of policy teams as they meet them: dry runs and policy tests through the built binary.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by a panic")]

#[path = "support/command.rs"]
mod command;

use command::{hookgate, stdout};
use serde_json::{Value, json};
use std::path::{Path, PathBuf};
use std::process::Output;

fn result(output: &Output) -> Value {
    serde_json::from_slice(&output.stdout).unwrap_or_else(|_| panic!("{}", String::from_utf8_lossy(&output.stderr)))
}

/// A folder with these files.
fn folder(files: &[(&str, &str)]) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    for (name, text) in files {
        std::fs::write(folder.path().join(name), text).unwrap();
    }
    folder
}

const HOOKS: &str = r#"
models: { aliases: { fast: claude-haiku-4-5 } }
hooks:
  - { name: rules, on: session.start, run: { text: Write a test for every fix. } }
  - { name: tree, on: prompt.submit, run: { command: [sh, -c, 'echo changed: a.rs'] } }
  - { name: no-shell, on: model.context, run: { edits: [{ op: tools.remove, names: [Bash] }, { op: headers.set, name: x-team, value: blue }] } }
  - { name: nothing, on: model.context, run: { edits: [{ op: tools.remove, names: [None] }] } }
  - { name: watch, on: model.context, mode: audit, run: { edits: [{ op: tools.keep, names: [None] }] } }
  - { name: gpt, on: model.context, when: 'model.family == "gpt"', run: { edits: [{ op: system.append, text: x }] } }
  - { name: after, on: [session.stopping, session.stop, session.fail], run: { command: [touch, ran-after] } }
"#;

fn request() -> String {
    json!({
        "model": "fast", "max_tokens": 9, "stream": true,
        "system": [{"type": "text", "text": "Be careful.", "cache_control": {"type": "ephemeral"}}],
        "tools": [{"name": "Read", "input_schema": {"type": "object"}}, {"name": "Bash", "input_schema": {"type": "object"}}],
        "messages": [{"role": "user", "content": "hello"}],
    })
    .to_string()
}

#[test]
fn explain_shows_what_every_hook_did_and_what_goes_up() {
    let folder = folder(&[("c.yaml", HOOKS), ("r.json", &request())]);
    let output = hookgate(folder.path(), &["explain", "--config", "c.yaml", "--json", "r.json"]);
    assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
    let seen = result(&output);
    let hooks: Vec<[&str; 3]> = seen["hooks"]
        .as_array()
        .unwrap()
        .iter()
        .map(|run| ["event", "hook", "result"].map(|key| run[key].as_str().unwrap()))
        .collect();
    assert_eq!(
        hooks,
        [
            ["session.start", "rules", "ran"],
            ["prompt.submit", "tree", "ran"],
            ["model.context", "no-shell", "ran"],
            ["model.context", "nothing", "ran"],
            ["model.context", "watch", "audited"],
            ["model.context", "gpt", "skipped"],
        ]
    );
    assert_eq!((&seen["hooks"][2]["changed_body"], &seen["hooks"][3]["changed_body"]), (&json!(true), &json!(false)));
    assert_eq!(seen["hooks"][4]["edits"], json!(["tools.keep"]));
    assert_eq!(seen["not_asked"][0]["hook"], "after");
    assert_eq!((&seen["path"], &seen["upstream"]), (&json!("/v1/messages"), &json!("anthropic")));
    assert!(seen["assumed_because"].is_string());
    assert_eq!(seen["tools"], json!({"client": ["Read", "Bash"], "up": ["Read"]}));
    assert_eq!(seen["model"], json!({"client": "fast", "up": "claude-haiku-4-5"}));
    assert!(seen["headers"].as_array().unwrap().contains(&json!({"name": "x-team", "client": null, "up": "blue"})));
    assert_eq!(seen["budget"]["used"], "Write a test for every fix.".len() + "changed: a.rs".len());
    assert_eq!(seen["prefix"]["departs_in"], "the tools");
    assert!(seen["texts"][0]["text"].as_str().unwrap().contains("Write a test"), "{}", seen["texts"]);
    assert!(seen["diff"].as_str().unwrap().contains("\n-      \"name\": \"Bash\""), "{}", seen["diff"]);
}

#[test]
fn explain_stores_nothing_and_runs_nothing_behind_the_request() {
    let folder = folder(&[("c.yaml", HOOKS), ("r.json", &request())]);
    for _ in 0..2 {
        let seen = result(&hookgate(folder.path(), &["explain", "--config", "c.yaml", "--json", "r.json"]));
        assert_eq!(seen["hooks"][0]["hook"], "rules", "always the first request of its session");
    }
    let mut left: Vec<_> = std::fs::read_dir(folder.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    left.sort();
    assert_eq!(left, ["c.yaml", "r.json"]);
}

#[test]
fn explain_reads_every_dialect_by_its_shape() {
    let folder = folder(&[("c.yaml", HOOKS)]);
    for (body, dialect) in [
        (json!({"model": "m", "messages": [{"role": "user", "content": "hi"}]}), "chat"),
        (json!({"model": "m", "input": "hi"}), "responses"),
        (json!({"contents": [{"role": "user", "parts": [{"text": "hi"}]}]}), "gemini"),
    ] {
        std::fs::write(folder.path().join("r.json"), body.to_string()).unwrap();
        let seen = result(&hookgate(folder.path(), &["explain", "--config", "c.yaml", "--json", "r.json"]));
        assert_eq!((&seen["dialect"], &seen["kind"]), (&json!(dialect), &json!("turn")), "{body}");
        assert!(seen["diff"].as_str().unwrap().contains("Write a test for every fix."), "{seen:#}");
    }
}

#[test]
fn explain_tells_a_block_a_failure_and_a_refusal_by_its_exit_code() {
    let block =
        r#"hooks: [{ name: b, on: prompt.submit, run: { command: [echo, '{"block": {"reason": "not today"}}'] } }]"#;
    let failing = "hooks: [{ name: f, on: prompt.submit, run: { command: ['false'] } }]";
    let twice = r#"{"messages": [{"role": "user", "content": "a"}], "max_tokens": 1, "max_tokens": 2}"#;
    let folder = folder(&[("b.yaml", block), ("f.yaml", failing), ("r.json", &request()), ("twice.json", twice)]);
    let explain = |config: &str, request: &str| hookgate(folder.path(), &["explain", "--config", config, request]);
    let output = explain("b.yaml", "r.json");
    assert_eq!(output.status.code(), Some(0));
    assert!(
        stdout(&output).contains("the gateway answers itself, nothing goes up:\n    | not today"),
        "{}",
        stdout(&output)
    );
    let output = explain("f.yaml", "r.json");
    assert_eq!(output.status.code(), Some(1));
    assert!(stdout(&output).contains("exit status 1"), "{}", stdout(&output));
    let output = explain("f.yaml", "twice.json");
    assert_eq!(output.status.code(), Some(1));
    assert!(stdout(&output).contains("refuses the request: invalid_body"), "{}", stdout(&output));
    assert_eq!(hookgate(folder.path(), &["explain", "--header", "no-colon", "r.json"]).status.code(), Some(2));
}

#[test]
fn explain_shows_no_credential() {
    let config = "upstreams: [{ name: anthropic, dialect: anthropic, base_url: 'https://a.example', api_key: sk-own, headers: { x-house: sk-house } }]
hooks: [{ name: t, on: session.start, run: { text: hello } }]";
    let folder = folder(&[("c.yaml", config), ("r.json", &request())]);
    let arguments = ["explain", "--config", "c.yaml", "--header", "x-api-key: sk-client", "r.json"];
    let shown = stdout(&hookgate(folder.path(), &arguments));
    assert!(!shown.contains("sk-") && shown.contains("header x-house: absent before, *** after"), "{shown}");
}

#[test]
fn a_case_that_fails_says_what_was_expected_and_what_came() {
    let cases = "config: c.yaml
cases:
  - name: fine
    request: &asked { model: fast, max_tokens: 9, messages: [{ role: user, content: hello }], tools: [{ name: Bash, input_schema: {} }] }
    expect: { tools: [], hooks: { after: ran, watch: audited, gpt: skipped }, requests: 1, budget: 40, headers: { x-team: blue, x-other: null } }
  - name: wrong
    request: *asked
    expect:
      tools: [Bash]
      lacks: changed
      blocked: no
      body: [{ at: /model, equals: fast }, { at: /nowhere, contains: x }]
      hooks: { gpt: ran, rules: not_asked }
      budget: 3
";
    let folder = folder(&[("c.yaml", HOOKS), ("cases.yaml", cases)]);
    let output = hookgate(folder.path(), &["test", "cases.yaml"]);
    assert_eq!(output.status.code(), Some(1));
    insta::assert_snapshot!(stdout(&output), @r#"
    CASE   RESULT  PLACE
    fine   ok      cases.yaml:3
    wrong  FAILED  cases.yaml:6
      blocked
        expected: no
        came:     it went up
      body /model
        expected: "fast"
        came:     "claude-haiku-4-5"
      body /nowhere
        expected: x
        came:     nothing
      lacks
        expected: no "changed"
        came:     it is at /messages/0/content/1/text
      tools
        expected: ["Bash"]
        came:     []
      hook gpt
        expected: ran
        came:     skipped on model.context
      hook rules
        expected: not_asked
        came:     ran on session.start
      budget
        expected: at most 3
        came:     40
    2 cases, 1 failed
    "#);
    let seen = result(&hookgate(folder.path(), &["test", "--json", "cases.yaml"]));
    assert_eq!((&seen["failed"], &seen["cases"][0]["ok"]), (&json!(1), &json!(true)));
    assert_eq!(seen["cases"][1]["failures"].as_array().unwrap().len(), 8);
}

#[test]
fn turns_share_a_session_and_stop_hooks_have_ended_before_the_next() {
    let config = r#"
hooks:
  - { name: memory, on: session.stop, run: { command: [echo, '{"context": "the turn before went well"}'] } }
  - { name: tests, on: session.stopping, when: turn.attempt == 1, run: { command: [echo, '{"continue": true, "message": "run the tests"}'] } }
"#;
    let cases = "
name: continued
path: /v1/messages
headers: { x-hookgate-session: s1 }
turns:
  - request: { model: m, max_tokens: 9, stream: true, messages: [{ role: user, content: one }] }
    response: [First., Second.]
    expect:
      requests: 2
      body: [{ at: /messages/2/content, contains: run the tests, request: 2 }]
      answer: { contains: [First., Second.], lacks: run the tests }
      slots: { memory: the turn before went well }
      hooks: { tests: [ran, skipped], memory: ran }
  - request: { model: m, max_tokens: 9, messages: [{ role: user, content: two }] }
    response: { sse: \"event: error\\ndata: {}\\n\\n\", status: 529 }
    expect: { contains: the turn before went well, hooks: { memory: not_asked } }
";
    let folder = folder(&[("c.yaml", config), ("case.yaml", cases)]);
    let output = hookgate(folder.path(), &["test", "--config", "c.yaml", "case.yaml"]);
    assert_eq!(output.status.code(), Some(0), "{}", stdout(&output));
}

#[test]
fn a_hook_that_fails_and_an_error_fail_a_case_that_does_not_expect_them() {
    let config = "hooks: [{ name: f, on: prompt.submit, run: { command: ['false'] } }]";
    let cases = "
- { name: failing, request: { model: m, input: hi } }
- { name: expected, request: { model: m, input: hi }, expect: { hooks: { f: failed } } }
- { name: refused, path: /v1/../x, request: {} }
- { name: as it should, path: /v1/../x, request: {}, expect: { error: invalid_path, requests: 0 } }
- { name: misspelled, request: { model: m, input: hi }, expect: { hooks: { g: ran } } }
";
    let folder = folder(&[("c.yaml", config), ("cases.yaml", cases)]);
    let seen = result(&hookgate(folder.path(), &["test", "--config", "c.yaml", "--json", "cases.yaml"]));
    let ok: Vec<bool> = seen["cases"].as_array().unwrap().iter().map(|case| case["ok"].as_bool().unwrap()).collect();
    assert_eq!(ok, [false, true, false, true, false], "{seen:#}");
    assert_eq!(seen["cases"][0]["failures"][0]["came"], "failed on prompt.submit (exit status 1)");
    assert!(seen["cases"][4]["error"].as_str().unwrap().contains("no hook \"g\""));
}

#[test]
fn a_broken_file_of_cases_names_every_place() {
    let folder =
        folder(&[("cases.yaml", "- { name: a, reqest: {} }\n- { name: b, request: {}, expect: { tols: [] } }\n")]);
    let output = hookgate(folder.path(), &["test", "cases.yaml"]);
    assert_eq!(output.status.code(), Some(1));
    let told = String::from_utf8(output.stderr).unwrap();
    assert!(told.contains("cases.yaml:1:14: [0].reqest: unknown key, did you mean `request`?"), "{told}");
    assert!(told.contains("cases.yaml:2:37: [1].expect.tols: unknown key, did you mean `tools`?"), "{told}");
    assert_eq!(hookgate(folder.path(), &["test"]).status.code(), Some(2));
}

fn examples() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("config/examples")
}

#[test]
fn every_example_with_cases_passes_them() {
    let mut tried = 0;
    for example in std::fs::read_dir(examples()).unwrap() {
        let example = example.unwrap().path();
        let Some(cases) = Some(example.join("cases.yaml")).filter(|cases| cases.is_file()) else { continue };
        let config = example.join("hookgate.yaml");
        let arguments = ["test", "--config", config.to_str().unwrap(), cases.to_str().unwrap()];
        let output = hookgate(&example, &arguments);
        assert!(output.status.success(), "{}{}", stdout(&output), String::from_utf8_lossy(&output.stderr));
        tried += 1;
    }
    assert!(tried >= 7, "{tried}");
}
