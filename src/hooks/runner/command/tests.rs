use super::super::program::PASSED;
use super::super::testing::{OUTPUT_LIMIT, PATIENCE, event, eventually, invocation, is_alive, pid_in, zombies};
use super::*;
use crate::hooks::contract::PromptInfo;
use nix::sys::signal::kill;
use nix::unistd::Pid;
use std::time::{Duration, Instant};

fn command(argv: &[&str]) -> Command {
    in_folder(argv, Path::new("/"), &[], &[])
}

fn in_folder(argv: &[&str], cwd: &Path, env: &[(&str, &str)], pass: &[&str]) -> Command {
    let argv: Vec<String> = argv.iter().map(|&word| word.to_owned()).collect();
    let env = env.iter().map(|&(name, value)| (name.to_owned(), value.to_owned())).collect();
    let pass: Vec<String> = pass.iter().map(|&name| name.to_owned()).collect();
    Command::new("probe", &argv, cwd, &env, &pass, Arc::new(Semaphore::new(4))).expect("a command")
}

fn shell(script: &str) -> Command {
    command(&["sh", "-c", script])
}

async fn run(command: &Command) -> Result<String, HookFailure> {
    run_with(command, &event()).await
}

async fn run_with(command: &Command, event: &crate::hooks::Event) -> Result<String, HookFailure> {
    let call = invocation(event);
    let output = tokio::time::timeout(PATIENCE, command.run(&call)).await.expect("no hang")?;
    match output {
        Output::Written(bytes) => Ok(String::from_utf8_lossy(&bytes).into_owned()),
        other => panic!("a command writes: {other:?}"),
    }
}

fn with_prompt(bytes: usize) -> crate::hooks::Event {
    crate::hooks::Event { prompt: Some(PromptInfo { text: "p".repeat(bytes) }), ..event() }
}

#[tokio::test]
async fn the_event_is_one_line_of_json_and_then_eof() {
    let written = run(&command(&["cat"])).await.expect("output");
    assert_eq!(written.matches('\n').count(), 1);
    assert!(written.ends_with("}\n"));
    let event: serde_json::Value = serde_json::from_str(&written).expect("JSON");
    assert_eq!(event["hook"], "probe");
    assert_eq!(event["event"], "prompt.submit");
    assert_eq!(event["v"], 1);
    assert_eq!(event["session"]["id"], "s1");
    assert_eq!(event["session"]["parent"], serde_json::Value::Null);
    assert!(event.get("request").is_none());
}

#[tokio::test]
async fn a_background_child_that_keeps_the_pipe_open_does_not_delay_the_output() {
    let folder = tempfile::tempdir().expect("a folder");
    let started = Instant::now();
    let hook = in_folder(&["sh", "-c", "sleep 300 & echo $! > pid; echo ok; exit 0"], folder.path(), &[], &[]);
    assert_eq!(run(&hook).await.as_deref(), Ok("ok\n"));
    assert!(started.elapsed() < Duration::from_secs(10));
    let child = pid_in(&folder.path().join("pid")).await;
    assert!(is_alive(child), "a child of a hook that ended by itself is left alone");
    kill(Pid::from_raw(child), nix::sys::signal::Signal::SIGKILL).expect("ended");
}

#[tokio::test]
async fn a_dropped_run_ends_the_whole_group_even_if_it_ignores_sigterm() {
    let folder = tempfile::tempdir().expect("a folder");
    let script = "trap '' TERM; (trap '' TERM; sleep 300) & echo $! > child; echo $$ > leader; sleep 300";
    let hook = in_folder(&["sh", "-c", script], folder.path(), &[], &[]);
    let event = event();
    let call = invocation(&event);
    let (leader, child) = tokio::select! {
        _ = hook.run(&call) => panic!("it sleeps"),
        pids = async { (pid_in(&folder.path().join("leader")).await, pid_in(&folder.path().join("child")).await) } => pids,
    };
    eventually("leader and grandchild are gone", || !is_alive(leader) && !is_alive(child)).await;
    eventually("the leader is reaped", || zombies() == 0).await;
}

#[tokio::test]
async fn fifty_runs_leave_no_zombie() {
    let event = event();
    let call = invocation(&event);
    for round in 0..50 {
        let (script, time) = match round % 5 {
            0 => ("exec sleep 300", Duration::from_millis(5)),
            1 => ("exit 3", PATIENCE),
            2 => ("kill -9 $$", PATIENCE),
            _ => ("echo ok", PATIENCE),
        };
        let _ = tokio::time::timeout(time, shell(script).run(&call)).await;
    }
    eventually("all are reaped", || zombies() == 0).await;
}

#[tokio::test]
async fn stdin_and_stdout_do_not_wait_for_each_other() {
    let event = with_prompt(1 << 20);
    let written = run_with(&shell("head -c 300000 /dev/zero | tr '\\0' x; cat > /dev/null"), &event).await;
    assert_eq!(written.map(|text| text.len()), Ok(300_000));
}

#[tokio::test]
async fn a_hook_need_not_read_its_stdin() {
    let event = with_prompt(1 << 20);
    assert_eq!(run_with(&shell("exit 0"), &event).await.as_deref(), Ok(""));
    assert_eq!(run_with(&shell("exec 0<&-; echo ok"), &event).await.as_deref(), Ok("ok\n"));
}

#[tokio::test]
async fn a_large_event_arrives_whole() {
    let event = with_prompt(1 << 20);
    let expected = invocation(&event).payload().expect("JSON").len() + 1;
    let written = run_with(&shell("cat | wc -c"), &event).await.expect("output");
    assert_eq!(written.trim().parse(), Ok(expected));
}

#[tokio::test]
async fn output_over_the_limit_fails_at_once() {
    for script in ["head -c 10485760 /dev/zero", "yes", "yes & yes", "yes & sleep 300"] {
        let started = Instant::now();
        assert_eq!(run(&shell(script)).await, Err(HookFailure::OutputOverLimit { limit: OUTPUT_LIMIT }), "{script}");
        assert!(started.elapsed() < PATIENCE / 2, "{script}");
    }
    let exactly = format!("head -c {OUTPUT_LIMIT} /dev/zero");
    assert_eq!(run(&shell(&exactly)).await.map(|text| text.len()), Ok(OUTPUT_LIMIT));
}

#[tokio::test]
async fn stderr_is_bounded_and_no_output() {
    let written = run(&shell("head -c 20000000 /dev/zero >&2; echo ok")).await;
    assert_eq!(written.as_deref(), Ok("ok\n"));
    assert_eq!(run(&shell("yes >&2 & echo ok")).await.as_deref(), Ok("ok\n"));
}

#[tokio::test]
async fn stdout_closed_early_is_no_end() {
    let folder = tempfile::tempdir().expect("a folder");
    let hook =
        in_folder(&["sh", "-c", "echo early; exec 1>&- 2>&-; cat > /dev/null; touch done"], folder.path(), &[], &[]);
    assert_eq!(run(&hook).await.as_deref(), Ok("early\n"));
    assert!(folder.path().join("done").exists(), "the run ends with the process");
}

#[tokio::test]
async fn how_a_process_ends_decides() {
    for (script, failure) in [
        ("echo '{\"context\":\"x\"}'; exit 1", HookFailure::Exit(1)),
        ("echo no >&2; exit 2", HookFailure::Exit(2)),
        ("exec /nowhere/at/all 2>/dev/null", HookFailure::Exit(127)),
        ("kill -9 $$", HookFailure::Signal(9)),
        ("kill -TERM $$", HookFailure::Signal(15)),
    ] {
        assert_eq!(run(&shell(script)).await, Err(failure), "{script}");
    }
}

#[tokio::test]
async fn what_can_not_be_started_fails() {
    let folder = tempfile::tempdir().expect("a folder");
    let plain = folder.path().join("plain");
    std::fs::write(&plain, "#!/bin/sh\necho ok\n").expect("written");
    let plain = plain.to_string_lossy().into_owned();
    for hook in [
        command(&["/nowhere/at/all"]),
        command(&["no-such-program-anywhere"]),
        command(&[&plain]),
        command(&["sh\0"]),
        in_folder(&["true"], Path::new("/nowhere"), &[], &[]),
    ] {
        assert!(matches!(run(&hook).await, Err(HookFailure::Start { .. })), "{hook:?}");
    }
    let empty = Command::new("probe", &[], Path::new("/"), &BTreeMap::new(), &[], Arc::new(Semaphore::new(1)));
    assert!(matches!(empty, Err(HooksError::EmptyCommand { .. })));
}

#[tokio::test]
async fn the_environment_is_clean() {
    // Cargo sets these for every test: they stand for the gateway's own secrets.
    assert!(std::env::var_os("CARGO_MANIFEST_DIR").is_some() && std::env::var_os("CARGO_PKG_NAME").is_some());
    let own = [("PROJECT", "demo"), ("LANG", "C.UTF-8"), ("HOOKGATE_SESSION", "forged")];
    let hook = in_folder(&["env"], Path::new("/"), &own, &["CARGO_PKG_NAME", "NOT_SET_ANYWHERE"]);
    let written = run(&hook).await.expect("output");
    let seen: BTreeMap<&str, &str> = written.lines().filter_map(|line| line.split_once('=')).collect();
    let allowed = ["PROJECT", "CARGO_PKG_NAME", "HOOKGATE_SESSION", "HOOKGATE_AGENT", "HOOKGATE_EVENT"];
    for name in seen.keys() {
        assert!(PASSED.contains(name) || allowed.contains(name), "{name} must not be seen");
    }
    for (name, value) in [
        ("PROJECT", "demo"),
        ("LANG", "C.UTF-8"),
        ("CARGO_PKG_NAME", "hookgate"),
        ("HOOKGATE_SESSION", "s1"),
        ("HOOKGATE_AGENT", "main"),
        ("HOOKGATE_EVENT", "prompt.submit"),
    ] {
        assert_eq!(seen.get(name), Some(&value), "{name}");
    }
}

#[tokio::test]
async fn a_process_runs_in_its_folder() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().canonicalize().expect("a path");
    let written = run(&in_folder(&["pwd"], &path, &[], &[])).await.expect("output");
    assert_eq!(written.trim_end(), path.to_string_lossy());
}

#[tokio::test]
async fn no_more_processes_than_places() {
    let hook = shell("echo ok");
    let all = Arc::clone(&hook.processes).acquire_many_owned(4).await.expect("places");
    let event = event();
    let call = invocation(&event);
    let waiting = hook.run(&call);
    tokio::pin!(waiting);
    assert!(tokio::time::timeout(Duration::from_millis(1), &mut waiting).await.is_err(), "no place, no process");
    drop(all);
    assert_eq!(waiting.await, Ok(Output::Written(b"ok\n".to_vec())));
    assert_eq!(hook.processes.available_permits(), 4);
}
