use super::firing::default_timeout;
use super::*;
use crate::config::{Hook, Limits, Mode, OnError, Run};
use crate::dialect::neutral::NeutralRequest;
use crate::hooks::report::Status;
use crate::hooks::runner::testing::event;
use crate::hooks::runner::{Invocation, Output, Runner};
use crate::hooks::{Outcome, Verdict};
use crate::inspect::Recording;
use std::collections::BTreeMap;
use std::io;
use std::path::PathBuf;
use std::sync::Mutex;
use std::time::Duration;

const LIMITS: Limits = Limits {
    request_body: 1 << 26,
    buffered_bytes: 1 << 30,
    hook_output: 1 << 20,
    held_response: 1 << 23,
    outcome_text: 1 << 18,
    concurrent_requests: 4096,
};

fn hook(name: &str, run: Run) -> Hook {
    Hook {
        name: name.into(),
        on: vec![EventKind::PromptSubmit],
        run,
        slot: name.into(),
        when: None,
        timeout: Some(Duration::from_secs(20)),
        on_error: OnError::Skip,
        mode: Mode::Enforce,
        include_request: false,
    }
}

fn text(name: &str) -> Hook {
    hook(name, Run::Text(format!("text of {name}")))
}

fn shell(name: &str, script: &str) -> Hook {
    let argv = vec!["sh".into(), "-c".into(), script.into()];
    hook(name, Run::Command { argv, cwd: PathBuf::from("/"), env: BTreeMap::new(), env_pass: vec![] })
}

fn pipeline(hooks: &[Hook]) -> Pipeline {
    Pipeline::new(hooks, &LIMITS, crate::knowledge::Knowledge::none()).expect("a pipeline")
}

async fn fire_until(pipeline: &Pipeline, deadline: Option<Duration>) -> Vec<HookReport> {
    let headers = HeaderMap::new();
    let context = FireContext {
        headers: &headers,
        deadline: deadline.map(|time| Instant::now() + time),
        recording: &Recording::NONE,
    };
    pipeline.fire(EventKind::PromptSubmit, &event(), context).await
}

async fn fire(hooks: &[Hook]) -> Vec<HookReport> {
    fire_until(&pipeline(hooks), None).await
}

fn context(reports: &[HookReport]) -> Vec<&str> {
    reports.iter().flat_map(|report| &report.outcome.context).map(String::as_str).collect()
}

#[tokio::test]
async fn hooks_run_at_the_same_time_and_report_in_config_order() {
    let folder = tempfile::tempdir().expect("a folder");
    let fifo = folder.path().join("fifo");
    assert!(std::process::Command::new("mkfifo").arg(&fifo).status().expect("mkfifo").success());
    // The first can only end when the second runs beside it.
    let first = format!("cat {}", fifo.display());
    let second = format!("echo first > {}; echo second", fifo.display());
    let reports = fire(&[shell("a", &first), shell("b", &second), text("c")]).await;
    assert_eq!(context(&reports), ["first", "second", "text of c"]);
}

#[tokio::test]
async fn only_hooks_of_the_event_run() {
    let mut other = text("other");
    other.on = vec![EventKind::SessionStart, EventKind::SessionEnd];
    let pipeline = pipeline(&[other, text("mine")]);
    let reports = fire_until(&pipeline, None).await;
    assert_eq!(context(&reports), ["text of mine"]);
    let listened = EventKind::ALL.map(|kind| pipeline.has(kind));
    assert_eq!(listened, [true, true, false, false, false, false, false, false, true]);
}

#[tokio::test]
async fn a_failed_hook_leaves_the_others_alone() {
    let mut slow = shell("slow", "sleep 300");
    slow.timeout = Some(Duration::from_millis(50));
    let mut unset = text("unset");
    unset.when = Some("headers['x-team'] == 'a'".into());
    let mut off = text("off");
    off.when = Some("model.family == 'gpt'".into());
    let hooks = [
        slow,
        shell("status", "exit 7"),
        shell("signal", "kill -9 $$"),
        shell("garbage", "echo '{\"context\": oops'"),
        shell("flood", "head -c 10485760 /dev/zero"),
        hook("file", Run::File("/nowhere/notes".into())),
        unset,
        off,
        text("fine"),
    ];
    let reports = fire(&hooks).await;
    assert_eq!(context(&reports), ["text of fine"]);
    let lines: Vec<String> = reports
        .iter()
        .map(|report| match &report.status {
            Status::Failed(failure) => format!("{}: {failure}", report.hook),
            status => format!("{}: {}", report.hook, status.name()),
        })
        .collect();
    insta::assert_snapshot!(lines.join("\n"), @"
    slow: timed out after 50ms
    status: exit status 7
    signal: ended by signal 9
    garbage: invalid JSON: expected value at line 1 column 13
    flood: output over the limit of 1048576 bytes
    file: could not read /nowhere/notes: No such file or directory (os error 2)
    unset: invalid `when`: `x-team` is undefined
    off: skipped
    fine: ok
    ");
}

#[tokio::test]
async fn all_hooks_share_the_deadline() {
    let pipeline = pipeline(&[shell("a", "sleep 300"), shell("b", "sleep 300"), text("c")]);
    let started = Instant::now();
    let reports = fire_until(&pipeline, Some(Duration::from_millis(100))).await;
    assert!(started.elapsed() < Duration::from_secs(10));
    assert!(matches!(reports[0].status, Status::Failed(HookFailure::Deadline(_))));
    assert!(matches!(reports[1].status, Status::Failed(HookFailure::Deadline(_))));
    assert_eq!(context(&reports), ["text of c"]);
}

#[tokio::test]
async fn a_deadline_that_has_passed_starts_nothing_but_constants_still_count() {
    let folder = tempfile::tempdir().expect("a folder");
    let started = folder.path().join("started");
    let pipeline = pipeline(&[shell("a", &format!("touch {}", started.display())), text("rules")]);
    let reports = fire_until(&pipeline, Some(Duration::ZERO)).await;
    assert_eq!(context(&reports), ["text of rules"]);
    assert_eq!(reports[0].status, Status::Failed(HookFailure::Deadline(Duration::ZERO)));
    assert!(!started.exists());
}

#[tokio::test]
async fn audited_hooks_are_recorded_and_change_nothing() {
    let audited = |mut hook: Hook| {
        hook.mode = Mode::Audit;
        hook.on_error = OnError::Block;
        hook
    };
    let reports = fire(&[
        audited(text("a")),
        audited(shell("b", "echo '{\"block\":{\"reason\":\"no\"}}'")),
        audited(shell("c", "exit 1")),
    ])
    .await;
    assert!(reports.iter().all(|report| report.outcome == Outcome::default() && !report.blocks()));
    assert_eq!(reports[0].would.as_ref().map(|would| would.context.len()), Some(1));
    assert_eq!(reports[1].would.as_ref().and_then(|would| would.block.as_deref()), Some("no"));
    assert_eq!(reports[2].would, None);
}

#[tokio::test]
async fn only_a_failure_that_says_block_blocks() {
    let mut blocking = shell("blocking", "exit 1");
    blocking.on_error = OnError::Block;
    let mut fine = text("fine");
    fine.on_error = OnError::Block;
    let mut skipped = text("skipped");
    skipped.on_error = OnError::Block;
    skipped.when = Some("false".into());
    let mut undefined = text("undefined");
    undefined.on_error = OnError::Block;
    undefined.when = Some("turn.attempt == 1".into());
    let reports = fire(&[blocking, shell("skipping", "exit 1"), fine, skipped, undefined]).await;
    let blocks: Vec<bool> = reports.iter().map(HookReport::blocks).collect();
    assert_eq!(blocks, [true, false, false, false, true]);
}

#[tokio::test]
async fn the_request_goes_to_those_who_asked() {
    let mut asking = shell("asking", "grep -c '\"request\":{' || true");
    asking.include_request = true;
    let silent = shell("silent", "grep -c '\"request\":{' || true");
    let mut by_when = text("by_when");
    by_when.when = Some("size(tools) == 0".into());
    let headers = HeaderMap::new();
    let context_of_event = FireContext { headers: &headers, deadline: None, recording: &Recording::NONE };
    let event = Event { request: Some(Arc::new(NeutralRequest::default())), ..event() };
    let all = pipeline(&[asking, silent.clone(), by_when.clone()]);
    let reports = all.fire(EventKind::PromptSubmit, &event, context_of_event).await;
    assert_eq!(context(&reports), ["1", "0", "text of by_when"]);

    assert!(all.wants_request(EventKind::PromptSubmit));
    assert!(!all.wants_request(EventKind::SessionStart));
    assert!(!pipeline(&[silent, text("c")]).wants_request(EventKind::PromptSubmit));
    assert!(pipeline(&[by_when]).wants_request(EventKind::PromptSubmit));
}

/// Fails as no runner should.
#[derive(Debug)]
struct Defect;

impl Runner for Defect {
    fn run<'a>(&'a self, _: &'a Invocation<'a>) -> futures_util::future::BoxFuture<'a, Result<Output, HookFailure>> {
        Box::pin(async { panic!("defect") })
    }
}

#[tokio::test]
async fn a_panic_is_this_hooks_failure() {
    let mut pipeline = pipeline(&[text("defect"), text("fine")]);
    pipeline.listening = Default::default();
    Arc::get_mut(&mut pipeline.hooks[0]).unwrap().runner = Box::new(Defect);
    pipeline.listening[EventKind::PromptSubmit as usize] = pipeline.hooks.clone();
    let reports = fire_until(&pipeline, None).await;
    assert_eq!(reports[0].status, Status::Failed(HookFailure::Panicked("defect".into())));
    assert_eq!(context(&reports), ["text of fine"]);
}

#[test]
fn a_hook_that_can_not_work_is_refused_by_name() {
    let mut typing = text("typing");
    typing.when = Some("sesion.agent == 'main'".into());
    let mut nothing = shell("nothing", "");
    nothing.run = Run::Command { argv: vec![], cwd: "/".into(), env: BTreeMap::new(), env_pass: vec![] };
    for (hook, name) in [(typing, "\"typing\": when: 1:1: "), (nothing, "\"nothing\": its command is empty")] {
        let error = Pipeline::new(&[hook], &LIMITS, crate::knowledge::Knowledge::none()).expect_err(name).to_string();
        assert!(error.contains(name), "{error}");
    }
}

#[test]
fn hooks_that_do_work_have_more_time_than_the_others() {
    let defaults = EventKind::ALL.map(|kind| default_timeout(kind).as_secs());
    assert_eq!(defaults, [5, 15, 5, 5, 5, 120, 5, 5, 5]);
}

#[tokio::test]
async fn what_fails_or_is_audited_does_not_keep_a_turn_from_its_end() {
    let stopping = |mut hook: Hook| {
        hook.on = vec![EventKind::SessionStopping];
        hook.on_error = OnError::Block;
        hook
    };
    let mut audited = stopping(shell("audited", r#"echo '{"veto":true}'"#));
    audited.mode = Mode::Audit;
    let mut slow = stopping(shell("slow", "sleep 300"));
    slow.timeout = Some(Duration::from_millis(50));
    let hooks = [
        audited,
        slow,
        stopping(shell("broken", r#"echo '{"continue":true,"message":"a"}'; exit 1"#)),
        stopping(shell("plain", "echo go on")),
        stopping(shell("tests", r#"echo '{"continue":true,"message":"run the tests"}'"#)),
    ];
    let headers = HeaderMap::new();
    let verdict = async |hooks: &[Hook]| {
        let context = FireContext { headers: &headers, deadline: None, recording: &Recording::NONE };
        let reports = pipeline(hooks).fire(EventKind::SessionStopping, &event(), context).await;
        let would = reports.first().and_then(|report| report.would.clone());
        (Verdict::of(&reports), would)
    };
    let would = Outcome { veto: true, ..Outcome::default() };
    assert_eq!(would.effects(), ["veto"]);
    assert_eq!(verdict(&hooks).await, (Verdict::Continue("run the tests".into()), Some(would.clone())));
    assert_eq!(verdict(&hooks[..4]).await, (Verdict::Stop, Some(would)));
}

/// A log that a test can read.
#[derive(Debug, Clone, Default)]
struct Log(Arc<Mutex<Vec<u8>>>);

impl io::Write for Log {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().expect("the log").extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[tokio::test]
async fn one_log_line_names_the_hook_and_why_it_failed() {
    let log = Log::default();
    let writer = log.clone();
    let subscriber = tracing_subscriber::fmt().with_ansi(false).with_writer(move || writer.clone()).finish();
    // With one dispatcher alone, a test beside this one that comes first to a line of the log would turn it off for all
    // (tracing-core asks the thread's own dispatcher then, and it has none).
    let _second = tracing::Dispatch::new(tracing_subscriber::registry());
    let guard = tracing::subscriber::set_default(subscriber);
    let mut slow = shell("slow", "echo half-way >&2; sleep 300");
    slow.timeout = Some(Duration::from_secs(2));
    let mut audited = shell("audited", "echo '{\"block\":{\"reason\":\"s3cret\"}}'");
    audited.mode = Mode::Audit;
    let hooks = [slow, shell("status", "echo oh no >&2; exit 3"), shell("typo", "echo '{\"contxt\":1}'"), audited];
    let reports = fire(&hooks).await;
    drop(guard);

    let log = String::from_utf8(log.0.lock().expect("the log").clone()).expect("text");
    for line in [
        "hook \"slow\" failed: timed out after 2s",
        "hook \"slow\" wrote to stderr",
        "hook \"status\" failed: exit status 3",
        "hook \"status\" wrote to stderr",
        "hook \"typo\": unknown fields: \"contxt\"",
        "hook \"audited\" is audited: nothing applied",
    ] {
        assert_eq!(log.matches(line).count(), 1, "{line} in\n{log}");
    }
    assert!(log.contains("oh no") && !log.contains("s3cret"), "{log}");
    assert!(context(&reports).is_empty(), "stderr is no context");
}

#[tokio::test]
async fn every_run_is_counted_and_a_skipped_one_has_no_duration() {
    let recorder = metrics_exporter_prometheus::PrometheusBuilder::new().build_recorder();
    let guard = metrics::set_default_local_recorder(&recorder);
    let mut off = text("off");
    off.when = Some("false".into());
    let pipeline = pipeline(&[text("fine"), off, shell("bad", "exit 1")]);
    for _ in 0..2 {
        fire_until(&pipeline, None).await;
    }
    drop(guard);
    let rendered = recorder.handle().render();
    let mut runs: Vec<&str> = rendered.lines().filter(|line| line.starts_with("hookgate_hook_runs_total{")).collect();
    runs.sort_unstable();
    insta::assert_snapshot!(runs.join("\n"), @r#"
    hookgate_hook_runs_total{hook="bad",event="prompt.submit",result="failed"} 2
    hookgate_hook_runs_total{hook="fine",event="prompt.submit",result="ok"} 2
    hookgate_hook_runs_total{hook="off",event="prompt.submit",result="skipped"} 2
    "#);
    assert!(rendered.contains("hookgate_hook_duration_seconds_count{hook=\"fine\""), "{rendered}");
    assert!(!rendered.contains("hookgate_hook_duration_seconds_count{hook=\"off\""), "{rendered}");
}

#[test]
fn another_pipeline_keeps_the_hooks_that_are_in_both() {
    let before = pipeline(&[text("kept"), shell("changed", "true"), text("gone")]);
    let limits = Limits { hook_output: 1, outcome_text: 2, ..LIMITS };
    let after = before.under(&[text("new"), shell("changed", "false"), text("kept")], &limits).unwrap();
    assert_eq!((after.output_limit, after.text_limit), (1, 2));
    assert!(Arc::ptr_eq(&after.house.processes, &before.house.processes));
    let same = |after: &Arc<Entry>| before.hooks.iter().position(|before| Arc::ptr_eq(before, after));
    assert_eq!(after.hooks.iter().map(same).collect::<Vec<_>>(), [None, None, Some(0)]);
}
