use super::*;
use crate::config::{self, Config, Source};
use crate::hooks::contract::{Event, ToolInfo};
use crate::hooks::runner::testing::{PATIENCE, call_of, event, eventually, is_alive, pid_in, turn};
use crate::hooks::{FireContext, HookReport, Pipeline, Status};
use crate::inspect::Recording;
use http::HeaderMap;
use serde_json::{Value, json};
use std::path::Path;
use tempfile::TempDir;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpListener;
use tokio::time::Instant;

/// A project with settings, and the hook `cc` made of them.
struct Project {
    folder: TempDir,
    pipeline: Pipeline,
}

/// The configuration whose one hook has these further keys and settings files.
fn configured(folder: &Path, files: &[Value], keys: &str, run: &str) -> Result<config::Loaded, config::Problems> {
    let mut names = Vec::new();
    for (index, hooks) in files.iter().enumerate() {
        let name = format!("settings-{index}.json");
        std::fs::write(folder.join(&name), hooks.to_string()).expect("written");
        names.push(name);
    }
    let files = names.join(", ");
    let text = format!(
        "store: {{ kind: memory }}\nhooks: [{{ name: cc, {keys} run: {{ claude_code: {{ settings: [{files}], {run} }} }} }}]"
    );
    config::parse(&text, Source::File(folder.join("hookgate.yaml")), &config::process_env)
}

impl Project {
    fn of(files: &[Value], keys: &str, run: &str) -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let Config { hooks, limits, .. } = configured(folder.path(), files, keys, run).expect("a configuration").config;
        Self {
            pipeline: Pipeline::new(&hooks, &limits, crate::knowledge::Knowledge::none()).expect("a pipeline"),
            folder,
        }
    }

    fn path(&self, name: &str) -> std::path::PathBuf {
        self.folder.path().join(name)
    }

    async fn fire_within(&self, kind: EventKind, event: &Event, time: Option<Duration>) -> HookReport {
        let headers = HeaderMap::new();
        let context = FireContext {
            headers: &headers,
            deadline: time.map(|time| Instant::now() + time),
            recording: &Recording::NONE,
        };
        let fired = self.pipeline.fire(kind, event, context);
        let mut reports = tokio::time::timeout(PATIENCE, fired).await.expect("no hang");
        reports.pop().expect("the hook listens")
    }

    async fn fire(&self, kind: EventKind, event: &Event) -> HookReport {
        self.fire_within(kind, event, None).await
    }
}

/// Settings with one group of these handlers.
fn on(event: &str, handlers: &[Value]) -> Value {
    json!({"hooks": {event: [{"hooks": handlers}]}})
}

fn command(line: &str) -> Value {
    json!({"type": "command", "command": line})
}

fn prompts(handlers: &[Value]) -> Project {
    Project::of(&[on("UserPromptSubmit", handlers)], "", "")
}

async fn prompted(handlers: &[Value]) -> HookReport {
    prompts(handlers).fire(EventKind::PromptSubmit, &event()).await
}

#[tokio::test]
async fn exit_codes_are_read_as_claude_code_reads_them() {
    let allow = r#"echo '{"hookSpecificOutput":{"hookEventName":"UserPromptSubmit","additionalContext":"c"}}'"#;
    for (line, block, context, failed) in [
        ("echo more", None, Some("more"), false),
        ("exit 0", None, None, false),
        ("echo text; echo oops >&2; exit 1", None, None, true),
        ("./not-there", None, None, true),
        ("kill -9 $$", None, None, true),
        ("echo no >&2; exit 2", Some("no"), None, false),
        (&format!("{allow}; echo no >&2; exit 2"), Some("no"), Some("c"), false),
        (&format!("{allow}; exit 1"), None, Some("c"), false),
        ("echo '{\"decision\": oops'", None, None, true),
    ] {
        let report = prompted(&[command(line)]).await;
        assert_eq!(report.outcome.block.as_deref(), block, "{line}");
        assert_eq!(report.outcome.context.first().map(String::as_str), context, "{line}");
        assert_eq!(matches!(report.status, Status::Failed(_)), failed, "{line}: {:?}", report.status);
    }
}

#[tokio::test]
async fn a_failure_names_the_event_and_the_command() {
    let report = prompted(&[command("./not-there --now")]).await;
    let Status::Failed(failure) = report.status else { panic!("{:?}", report.status) };
    let failure = failure.to_string();
    assert!(failure.starts_with("UserPromptSubmit \"./not-there --now\" failed: exit status 127: "), "{failure}");
}

#[tokio::test]
async fn one_that_fails_leaves_the_others_alone_unless_failures_block() {
    let handlers = [command("echo one"), command("exit 1"), command("echo three")];
    let report = prompted(&handlers).await;
    assert_eq!(
        (report.outcome.context.as_slice(), &report.status),
        (&["one".into(), "three".into()][..], &Status::Ran)
    );
    assert!(report.warnings.iter().any(|warning| warning.contains("\"exit 1\" failed")), "{:?}", report.warnings);
    let strict = Project::of(&[on("UserPromptSubmit", &handlers)], "on_error: block,", "");
    assert!(strict.fire(EventKind::PromptSubmit, &event()).await.blocks());
}

#[tokio::test]
async fn all_run_at_the_same_time_and_identical_ones_once() {
    let folder = tempfile::tempdir().expect("a folder");
    let (fifo, count) = (folder.path().join("fifo"), folder.path().join("count"));
    assert!(std::process::Command::new("mkfifo").arg(&fifo).status().expect("mkfifo").success());
    let (fifo, counts) = (fifo.display(), command(&format!("echo x >> {}", count.display())));
    // The first can only end when the second runs beside it.
    let both = [command(&format!("cat {fifo}")), command(&format!("echo first > {fifo}; echo second"))];
    let files = [
        on("UserPromptSubmit", &[both[0].clone(), counts.clone(), counts.clone()]),
        on("UserPromptSubmit", &[counts, both[1].clone()]),
    ];
    let report = Project::of(&files, "", "").fire(EventKind::PromptSubmit, &event()).await;
    assert_eq!(report.outcome.context, ["first", "second"]);
    assert_eq!(std::fs::read_to_string(count).expect("counted"), "x\n");
}

#[tokio::test]
async fn a_timeout_is_no_decision_and_ends_all_that_was_begun() {
    let project = prompts(&[
        json!({"type": "command", "command": "sleep 300 & echo $! > child; echo no >&2; wait; exit 2", "timeout": 0.5}),
        command("echo fine"),
    ]);
    let report = project.fire(EventKind::PromptSubmit, &event()).await;
    assert_eq!((report.outcome.block, report.outcome.context), (None, vec!["fine".into()]));
    assert!(report.warnings[0].contains("timed out after 500ms"), "{:?}", report.warnings);
    let child = pid_in(&project.path("child")).await;
    eventually("the child is gone", || !is_alive(child)).await;
}

#[tokio::test]
async fn what_was_said_before_the_deadline_counts() {
    let project = prompts(&[command("sleep 300"), command("echo fine")]);
    let report = project.fire_within(EventKind::PromptSubmit, &event(), Some(Duration::from_secs(2))).await;
    assert_eq!((&report.status, report.outcome.context.as_slice()), (&Status::Ran, &["fine".into()][..]));
}

#[tokio::test]
async fn a_handler_may_take_what_its_settings_say() {
    let settings = json!({"hooks": {
        "Stop": [{"hooks": [{"type": "command", "command": "a", "timeout": 900}, {"type": "command", "command": "b"}]}],
        "UserPromptSubmit": [{"hooks": [{"type": "command", "command": "c"}]}],
        "SessionEnd": [{"hooks": [{"type": "command", "command": "d"}, {"type": "command", "command": "e", "timeout": 300}]}],
    }});
    let folder = tempfile::tempdir().expect("a folder");
    let config = configured(folder.path(), &[settings], "", "").expect("a configuration").config;
    let config::Run::ClaudeCode(settings) = &config.hooks[0].run else { panic!("{:?}", config.hooks) };
    let scripts = Scripts::new(&config.hooks[0], settings, &Arc::new(Semaphore::new(1))).expect("scripts");
    let seconds = |kind| scripts.timeout(kind).map(|time| (time - ASIDE).as_secs_f64());
    assert_eq!(seconds(EventKind::SessionStopping), Some(900.0));
    assert_eq!(seconds(EventKind::PromptSubmit), Some(30.0));
    assert_eq!(seconds(EventKind::SessionEnd), Some(60.0));
    assert_eq!(seconds(EventKind::ToolCall), None);
    assert_eq!(config.hooks[0].on, [EventKind::PromptSubmit, EventKind::SessionStopping, EventKind::SessionEnd]);
}

#[tokio::test]
async fn a_script_finds_claude_codes_surroundings() {
    let line = "cat > stdin; tail -c 1 stdin; echo; echo \"$CLAUDE_PROJECT_DIR\"; pwd; echo \"$HOOKGATE_EVENT $OWN\"; \
                env | grep -c CARGO_MANIFEST_DIR || true";
    let program = json!({"type": "command", "command": "${CLAUDE_PROJECT_DIR}/print.sh", "args": ["${CLAUDE_PROJECT_DIR}/x", "$HOME"]});
    let folder = tempfile::tempdir().expect("a folder");
    std::fs::create_dir_all(folder.path().join("proj/sub")).expect("made");
    let script = folder.path().join("proj/print.sh");
    std::fs::write(&script, "#!/bin/sh\necho \"$@\"\n").expect("written");
    std::fs::set_permissions(&script, std::os::unix::fs::PermissionsExt::from_mode(0o755)).expect("executable");
    let settings = on("UserPromptSubmit", &[command(line), program]);
    let run = "project_dir: proj, cwd: proj/sub, env: { OWN: mine }";
    let config = configured(folder.path(), &[settings], "", run).expect("a configuration").config;
    let pipeline =
        Pipeline::new(&config.hooks, &config.limits, crate::knowledge::Knowledge::none()).expect("a pipeline");
    let project = Project { folder, pipeline };
    let report = project.fire(EventKind::PromptSubmit, &event()).await;
    let (root, sub) = (project.path("proj"), project.path("proj/sub"));
    let (root, sub) = (root.display(), sub.display());
    assert_eq!(report.outcome.context[0], format!("}}\n{root}\n{sub}\nprompt.submit mine\n0"));
    assert_eq!(report.outcome.context[1], format!("{root}/x $HOME"));
    let stdin: Value =
        serde_json::from_slice(&std::fs::read(project.path("proj/sub/stdin")).expect("read")).expect("JSON");
    assert_eq!((&stdin["cwd"], &stdin["prompt"]), (&json!(sub.to_string()), &json!("what now?")));
    let transcript = std::fs::read_to_string(stdin["transcript_path"].as_str().expect("a path")).expect("a transcript");
    assert!(transcript.contains("what now?"), "{transcript}");
}

#[tokio::test]
async fn matchers_and_rules_choose_the_handlers() {
    let settings = json!({"hooks": {"PreToolUse": [
        {"matcher": "Bash|Edit", "hooks": [{"type": "command", "command": "echo list >&2; exit 2"}]},
        {"matcher": "^mcp__", "hooks": [{"type": "command", "command": "echo pattern >&2; exit 2"}]},
        {"hooks": [{"type": "command", "command": "echo rule >&2; exit 2", "if": "Bash(rm *)"}]},
    ]}});
    let project = Project::of(&[settings], "", "");
    for (tool, input, reasons) in [
        ("Bash", r#"{"command":"ls"}"#, Some("list")),
        ("Bash", r#"{"command":"cd x && rm y"}"#, Some("list\nrule")),
        ("mcp__a__b", "{}", Some("pattern")),
        ("Read", "{}", None),
    ] {
        let event = Event { tool: Some(call_of(tool, input)), ..event() };
        let report = project.fire(EventKind::ToolCall, &event).await;
        assert_eq!(report.outcome.tool.deny.as_deref(), reasons, "{tool}");
        let ran = if reasons.is_some() { Status::Ran } else { Status::SkippedByWhen };
        assert_eq!(report.status, ran, "{tool}");
    }
}

#[tokio::test]
async fn results_go_to_the_handlers_of_their_kind() {
    let says = |text: &str| json!([{"hooks": [{"type": "command", "command": format!("echo {text} >&2; exit 2")}]}]);
    let settings = json!({"hooks": {"PostToolUse": says("worked"), "PostToolUseFailure": says("failed")}});
    let project = Project::of(&[settings], "", "");
    for (is_error, expected) in [(false, "worked"), (true, "failed")] {
        let tool = ToolInfo { result: Some("x".into()), is_error, ..call_of("Bash", "{}") };
        let report = project.fire(EventKind::ToolResult, &Event { tool: Some(tool), ..event() }).await;
        assert_eq!(report.outcome.context, [expected]);
    }
}

#[tokio::test]
async fn nobody_waits_for_a_handler_in_the_background() {
    let late = json!({"type": "command", "command": "cat > seen; while [ ! -e go ]; do sleep 0.01; done; echo $$ > done", "async": true});
    let stop = json!({"type": "command", "command": "echo no >&2; exit 2", "asyncRewake": true});
    let project = Project::of(&[on("Stop", &[late, stop])], "", "");
    let stopping = Event { turn: Some(turn("done")), ..event() };
    let report = project.fire(EventKind::SessionStopping, &stopping).await;
    assert_eq!((report.status, report.outcome.continue_with), (Status::Ran, None));
    std::fs::write(project.path("go"), "").expect("written");
    pid_in(&project.path("done")).await;
    assert!(
        std::fs::read_to_string(project.path("seen")).expect("read").contains("\"last_assistant_message\":\"done\"")
    );
}

/// Answers one POST with these words, and gives what it was sent.
async fn server(status: &'static str, body: &'static str) -> (String, tokio::task::JoinHandle<String>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let url = format!("http://{}/hook?key=s3cret", listener.local_addr().expect("an address"));
    let served = tokio::spawn(async move {
        let (mut stream, _) = listener.accept().await.expect("a client");
        let mut sent = Vec::new();
        while !sent.ends_with(b"}") {
            stream.read_buf(&mut sent).await.expect("read");
        }
        let length = body.len();
        let answer = format!("HTTP/1.1 {status}\r\ncontent-length: {length}\r\nconnection: close\r\n\r\n{body}");
        stream.write_all(answer.as_bytes()).await.expect("written");
        String::from_utf8_lossy(&sent).into_owned()
    });
    (url, served)
}

#[tokio::test]
async fn an_http_handler_is_posted_the_same_and_answers_an_object() {
    for (status, body, expected, failed) in [
        ("200 OK", r#"{"decision": "block", "reason": "over http"}"#, Some("over http"), None),
        ("204 No Content", "", None, None),
        ("200 OK", "plain", None, Some("the answer is not a JSON object")),
        ("500 Oops", r#"{"decision": "block", "reason": "x"}"#, None, Some("http status 500")),
    ] {
        let (url, served) = server(status, body).await;
        let handler =
            json!({"type": "http", "url": url, "headers": {"X-Key": "k-$TOKEN-$OTHER"}, "allowedEnvVars": ["TOKEN"]});
        let project = Project::of(&[on("UserPromptSubmit", &[handler])], "", "env: { TOKEN: t0k, OTHER: hidden }");
        let report = project.fire(EventKind::PromptSubmit, &event()).await;
        assert_eq!(report.outcome.block.as_deref(), expected, "{body}");
        match (&report.status, failed) {
            (Status::Failed(failure), Some(why)) => {
                let failure = failure.to_string();
                assert!(failure.ends_with(why) && !failure.contains("s3cret"), "{failure}");
            }
            (status, failed) => assert_eq!((status, failed), (&Status::Ran, None)),
        }
        let sent = served.await.expect("served");
        assert!(sent.to_lowercase().contains("x-key: k-t0k-\r\n"), "{sent}");
        assert!(sent.contains(r#""hook_event_name":"UserPromptSubmit""#), "{sent}");
    }
}

#[tokio::test]
async fn an_event_that_is_named_narrows_what_the_settings_say() {
    let settings = json!({"hooks": {
        "SessionStart": [{"hooks": [command("echo start")]}],
        "UserPromptSubmit": [{"hooks": [command("echo prompt")]}],
    }});
    let project = Project::of(&[settings], "on: [prompt.submit, session.end],", "");
    assert!(project.pipeline.has(EventKind::PromptSubmit) && !project.pipeline.has(EventKind::SessionStart));
}

#[test]
fn what_is_wrong_with_settings_is_said_with_both_places() {
    let folder = tempfile::tempdir().expect("a folder");
    let said = |files: &[Value]| {
        let problems = match configured(folder.path(), files, "", "") {
            Ok(loaded) => loaded.warnings,
            Err(problems) => problems,
        };
        let text = problems.to_string().replace(&folder.path().display().to_string(), "DIR");
        (text, problems.is_fatal(), problems.is_fine())
    };
    let scripts = on("Stop", &[command("./gone.sh"), command("python3 \"$CLAUDE_PROJECT_DIR\"/gone.py -v")]);
    let never = on("Notification", &[command("true")]);
    let off = json!({"disableAllHooks": true, "hooks": {"Stop": [{"hooks": [command("true")]}]}});
    let table = [said(&[scripts]), said(&[json!({"hooks": {"Stop": 1}})]), said(&[never]), said(&[off])];
    insta::assert_snapshot!(table.map(|(text, fatal, fine)| format!("fatal: {fatal}, fine: {fine}\n{text}")).join("\n"), @r#"
    fatal: false, fine: false
    DIR/hookgate.yaml:2:55: hooks[0].run.claude_code.settings[0]: Stop: no such file DIR/./gone.sh
    DIR/hookgate.yaml:2:55: hooks[0].run.claude_code.settings[0]: Stop: no such file DIR/gone.py
    fatal: true, fine: false
    DIR/hookgate.yaml:2:55: hooks[0].run.claude_code.settings[0]: DIR/settings-0.json:1:18: hooks.Stop: write a list such as [{"matcher": "", "hooks": [...]}]
    fatal: false, fine: true
    DIR/hookgate.yaml:2:55: hooks[0].run.claude_code.settings[0]: notice: DIR/settings-0.json:1:10: hooks: Notification: never fires behind a gateway
    fatal: false, fine: true
    DIR/hookgate.yaml:2:55: hooks[0].run.claude_code.settings[0]: notice: disableAllHooks is set: none of them runs
    "#);
}
