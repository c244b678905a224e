//! `run.claude_code`: a project's hook scripts, as people write them for Claude Code, behind other agents and dialects. The
//! project is in `tests/claude_code`.
use crate::speech::{ALL, Speech, Words};
use crate::stage::{Play, Stage, session};
use crate::support::provider::answer;
use crate::support::soon;
use hookgate::config::{Config, EventKind, Source, parse, process_env};
use hookgate::hooks::contract::{Event, ModelInfo, PromptInfo, SessionInfo, ToolInfo};
use hookgate::hooks::{FireContext, HookReport, Outcome, Pipeline, Status};
use hookgate::inspect::Recording;
use http::HeaderMap;
use serde_json::Value;
use serde_json::value::RawValue;
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// A copy of the project, with a repository in it.
struct Project(tempfile::TempDir);

impl Project {
    fn new() -> Self {
        let fixture = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/claude_code");
        let folder = tempfile::tempdir().unwrap();
        let hooks = folder.path().join(".claude/hooks");
        fs::create_dir_all(&hooks).unwrap();
        fs::copy(fixture.join("settings.json"), folder.path().join(".claude/settings.json")).unwrap();
        for script in fs::read_dir(fixture.join("hooks")).unwrap() {
            let script = script.unwrap();
            fs::copy(script.path(), hooks.join(script.file_name())).unwrap();
        }
        fs::write(folder.path().join("TODO.md"), "- finish the parser\n").unwrap();
        let made = Command::new("git").args(["init", "-q", "-b", "trunk"]).arg(folder.path()).status().unwrap();
        assert!(made.success());
        Self(folder)
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    /// A configuration's `hooks` with these scripts.
    fn hooks(&self) -> String {
        let folder = self.0.path().display();
        format!(
            "hooks:\n  - {{ name: cc, run: {{ claude_code: {{ settings: {folder}/.claude/settings.json, project_dir: {folder} }} }} }}\n"
        )
    }

    fn play(&self) -> Play {
        Play { hooks: self.hooks().leak(), ..Play::default() }
    }

    /// The lines of a file, once there are `count`.
    async fn lines(&self, name: &str, count: usize) -> Vec<String> {
        let read = || {
            let text = fs::read_to_string(self.path(name)).unwrap_or_default();
            text.lines().map(str::to_owned).collect::<Vec<_>>()
        };
        soon(async {
            while read().len() < count {
                tokio::task::yield_now().await;
            }
        })
        .await;
        read()
    }

    /// What was logged of the events, in order.
    async fn audit(&self, count: usize) -> Vec<Value> {
        let lines = self.lines(".claude/logs/audit.jsonl", count).await;
        lines.iter().map(|line| serde_json::from_str(line).unwrap()).collect()
    }
}

#[tokio::test]
async fn start_and_prompt_add_context_and_stop_asks_for_the_tests_once_in_every_dialect() {
    for speech in ALL {
        let project = Project::new();
        let stage = Stage::play(project.play()).await;
        let answer = stage.agent(speech, true).prompt("Fix ABC-12 now").await;

        let [first, second] = stage.bodies().try_into().unwrap_or_else(|all| panic!("{speech:?}: {all:#?}"));
        let first = first.to_string();
        for text in ["No commits yet on trunk", "finish the parser", "Ticket ABC-12: see docs/tickets."] {
            assert!(first.contains(text), "{speech:?} {text}: {first}");
        }
        assert!(!first.contains("Read the plan again"), "another source's matcher");
        assert!(second.to_string().contains("Run the tests before you stop."), "{speech:?}");
        let heard = speech.heard(true, &answer.body);
        assert!(heard.text.contains("ANSWER0") && heard.text.contains("ANSWER1"), "{heard:?}");
        // Transcript: a prompt, then one answer more each time.
        assert_eq!(project.lines("counts", 2).await, ["1 1 ANSWER0", "1 2 ANSWER1"], "{speech:?}");

        let audit = project.audit(4).await;
        let names: Vec<_> = audit.iter().map(|event| event["hook_event_name"].as_str().unwrap()).collect();
        assert_eq!(names, ["SessionStart", "UserPromptSubmit", "Stop", "Stop"]);
        assert!(audit.iter().all(|event| event["session_id"] == "s1" && event["cwd"].is_string()), "{audit:?}");
        assert_eq!(audit[1]["prompt_id"], audit[3]["prompt_id"]);
        assert_eq!(
            (&audit[2]["last_assistant_message"], &audit[3]["last_assistant_message"]),
            (&"ANSWER0".into(), &"ANSWER1".into())
        );
    }
}

#[tokio::test]
async fn the_last_answer_of_a_turn_with_a_tool_step_is_told_alone() {
    for speech in ALL {
        let project = Project::new();
        let says = Box::new(move |request: &crate::support::Recorded, n: usize| {
            let words = if n == 0 { Words::call("let me look", "call_1") } else { Words::text(format!("ANSWER{n}")) };
            Speech::of(request).answer(request, n, &words)
        });
        let stage = Stage::play(Play { says, ..project.play() }).await;
        let mut agent = stage.agent(speech, true);
        agent.prompt("look").await;
        agent.result("call_1", "seen").await;
        let audit = project.audit(4).await;
        let last: Vec<_> = audit[2..].iter().map(|event| &event["last_assistant_message"]).collect();
        assert_eq!(last, ["ANSWER1", "ANSWER2"], "{speech:?}");
        assert_eq!(project.lines("counts", 2).await, ["1 2 ANSWER1", "1 3 ANSWER2"], "{speech:?}");
    }
}

#[tokio::test]
async fn a_prompt_with_a_secret_is_answered_with_the_reason_and_not_sent() {
    for speech in ALL {
        let project = Project::new();
        let stage = Stage::play(project.play()).await;
        let mut agent = stage.agent(speech, false);
        let answer = agent.prompt("use AKIAABCDEFGHIJKLMNOP").await;
        assert!(answer.text().contains("The prompt holds an AWS key"), "{speech:?}: {}", answer.text());
        assert!(stage.provider.requests().is_empty());
        agent.prompt("something else").await;
        assert!(!stage.bodies()[0].to_string().contains("AKIA"), "{speech:?}");
    }
}

#[tokio::test]
async fn sub_agents_have_events_of_their_own() {
    let project = Project::new();
    let stage = Stage::play(project.play()).await;
    let headers = format!("{}x-hookgate-agent: a7\r\n", session("s1"));
    stage.agent(Speech::Anthropic, true).headers(headers).prompt("find ABC-1 with AKIAABCDEFGHIJKLMNOP").await;
    let lines = project.lines("subagents", 2).await;
    assert_eq!(lines, ["SubagentStart s1 a7 unknown None", "SubagentStop s1 a7 unknown ANSWER0"]);
    assert!(!project.path(".claude/logs/audit.jsonl").exists() && !project.path("counts").exists());
    assert!(!stage.last_body().to_string().contains("Ticket"), "a sub-agent's prompt is no user's");
}

#[tokio::test]
async fn a_turn_that_fails_is_told_with_its_error_and_a_session_that_ends() {
    let project = Project::new();
    let says = Box::new(|request: &crate::support::Recorded, n: usize| match n {
        0 => answer("529 Overloaded", "content-type: application/json\r\n", "{\"type\":\"error\",\"error\":{}}"),
        1 => answer("400 Bad Request", "content-type: application/json\r\n", "{\"type\":\"error\",\"error\":{}}"),
        _ => Speech::of(request).answer(request, n, &Words::text(format!("ANSWER{n}"))),
    });
    let settings = "sessions: { idle_end: 100ms }";
    let stage = Stage::play(Play { says, settings, ..project.play() }).await;
    for prompt in ["one", "two"] {
        let mut agent = stage.agent(Speech::Anthropic, true);
        agent.history.push(crate::speech::Item::user(prompt));
        agent.ask().await;
    }
    let audit = project.audit(5).await;
    let failures: Vec<_> = audit.iter().filter(|event| event["hook_event_name"] == "StopFailure").collect();
    let [failure] = &failures[..] else { panic!("{audit:#?}") };
    assert_eq!((&failure["error"], &failure["error_details"]), (&"overloaded".into(), &"HTTP status 529".into()));
    assert!(audit.iter().any(|event| event["hook_event_name"] == "SessionEnd" && event["reason"] == "other"));
}

#[test]
fn check_names_what_never_fires_and_is_content() {
    let project = Project::new();
    fs::write(project.path("hookgate.yaml"), project.hooks()).unwrap();
    let check = |more: &[&str]| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_hookgate"));
        let output =
            command.arg("check").args(more).arg("--config").arg(project.path("hookgate.yaml")).output().unwrap();
        (output.status.success(), String::from_utf8(output.stdout).unwrap())
    };
    let (fine, said) = check(&[]);
    assert!(fine && said.contains("notice: ") && said.contains("Notification, PreCompact: never fires"), "{said}");
    assert!(said.ends_with("hookgate.yaml: ok\n"), "{said}");
    let (fine, said) = check(&["--json"]);
    let said: Value = serde_json::from_str(&said).unwrap();
    assert!(fine && said["ok"] == true && said["problems"][0]["notice"] == true, "{said:#}");

    fs::remove_file(project.path(".claude/hooks/ticket.py")).unwrap();
    let (fine, said) = check(&[]);
    assert!(!fine && said.contains("UserPromptSubmit: no such file"), "{said}");
}

/// The scripts on their own, for events that need no provider.
struct Bench {
    project: Project,
    pipeline: Pipeline,
}

impl Bench {
    fn new() -> Self {
        let project = Project::new();
        let text = format!("store: {{ kind: memory }}\n{}", project.hooks());
        let loaded = parse(&text, Source::File(project.path("hookgate.yaml")), &process_env).unwrap();
        let Config { hooks, limits, .. } = loaded.config;
        Self { pipeline: Pipeline::new(&hooks, &limits, hookgate::knowledge::Knowledge::none()).unwrap(), project }
    }

    async fn fire(&self, kind: EventKind, name: &str, input: Value, result: Option<(&str, bool)>) -> Outcome {
        let event = Event {
            tool: Some(ToolInfo {
                id: "toolu_1".into(),
                name: name.into(),
                input: RawValue::from_string(input.to_string()).unwrap(),
                result: result.map(|(text, _)| text.to_owned()),
                is_error: result.is_some_and(|(_, is_error)| is_error),
            }),
            ..prompted()
        };
        let context = FireContext { headers: &HeaderMap::new(), deadline: None, recording: &Recording::NONE };
        let reports = soon(self.pipeline.fire(kind, &event, context)).await;
        let [HookReport { status, outcome, warnings, .. }] = reports.try_into().unwrap();
        assert!(!matches!(status, Status::Failed(_)) && warnings.is_empty(), "{status:?} {warnings:?}");
        outcome
    }

    async fn call(&self, name: &str, input: Value) -> Outcome {
        self.fire(EventKind::ToolCall, name, input, None).await
    }

    async fn result(&self, name: &str, input: Value, text: &str, is_error: bool) -> Outcome {
        self.fire(EventKind::ToolResult, name, input, Some((text, is_error))).await
    }
}

fn prompted() -> Event {
    Event {
        v: 1,
        event: "tool.call",
        event_id: "01".into(),
        hook: String::new(),
        session: SessionInfo {
            id: "s1".into(),
            agent: "main".into(),
            parent: None,
            project: None,
            tenant: "t_1".into(),
            turn: 1,
            source: "startup".into(),
            started_at: "2026-01-02T03:04:05Z".into(),
            new: false,
        },
        model: ModelInfo {
            requested: "m".into(),
            resolved: "m".into(),
            family: "other",
            dialect: "chat",
            upstream: "openai".into(),
        },
        persistent: BTreeMap::new(),
        prompt: Some(PromptInfo { text: "go on".into() }),
        request: None,
        roster: None,
        batch: None,
        tool: None,
        turn: None,
        reason: None,
        trace: Default::default(),
    }
}

#[tokio::test]
async fn calls_are_refused_changed_or_let_through() {
    let bench = Bench::new();
    for (name, input, deny, changed) in [
        ("Bash", serde_json::json!({"command": "ls"}), None, None),
        ("Bash", serde_json::json!({"command": "grep -r x ."}), Some("Use rg instead of grep."), None),
        ("Bash", serde_json::json!({"command": "deploy all"}), None, Some("deploy all --dry-run")),
        ("Edit", serde_json::json!({"file_path": "/p/.env"}), Some("/p/.env is protected."), None),
        ("Edit", serde_json::json!({"file_path": "/p/main.rs"}), None, None),
        ("Read", serde_json::json!({"file_path": "/p/.env"}), None, None),
    ] {
        let outcome = bench.call(name, input.clone()).await;
        assert_eq!(outcome.tool.deny.as_deref(), deny, "{name} {input}");
        let command = outcome.tool.input.as_ref().and_then(|input| input["command"].as_str());
        assert_eq!(command, changed, "{name} {input}");
    }
}

#[tokio::test]
async fn edited_files_are_formatted_and_checked() {
    let bench = Bench::new();
    let file = bench.project.path("main.py");
    let input = serde_json::json!({"file_path": file});
    fs::write(&file, "x = 1   \n").unwrap();
    assert_eq!(bench.result("Edit", input.clone(), "ok", false).await, Outcome::default());
    assert_eq!(fs::read_to_string(&file).unwrap(), "x = 1\n");
    fs::write(&file, "y = 2\n# FIXME: later\n").unwrap();
    let outcome = bench.result("Write", input, "ok", false).await;
    assert_eq!(outcome.context, ["2:# FIXME: later\nSolve these before you go on."]);
}

#[tokio::test]
async fn long_output_is_replaced_and_failures_get_a_hint() {
    let bench = Bench::new();
    let long: Vec<String> = (0..100).map(|line| line.to_string()).collect();
    let input = serde_json::json!({"command": "seq 100"});
    let outcome = bench.result("Bash", input.clone(), &long.join("\n"), false).await;
    assert_eq!(outcome.tool.result.as_deref(), Some("0\n1\n2\n... 94 lines ...\n97\n98\n99"));
    assert_eq!(bench.result("Bash", input.clone(), "short", false).await, Outcome::default());
    let outcome = bench.result("Bash", input, "boom", true).await;
    assert_eq!(outcome.context, ["Bash failed with 'boom': read the error before you try again."]);
}
