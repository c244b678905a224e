//! Exit codes and signals.
use crate::stage::Stage;
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use std::fs;
use tokio::process::Child;

fn pid(child: &Child) -> Pid {
    Pid::from_raw(child.id().unwrap().try_into().unwrap())
}

/// The third word of Linux' /proc/PID/stat: R, S, T, ...
fn state(pid: Pid) -> String {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    stat.rsplit(") ").next().and_then(|rest| rest.split(' ').next()).unwrap_or_default().to_owned()
}

#[tokio::test]
async fn a_command_that_can_not_be_run_ends_as_in_a_shell() {
    let stage = Stage::set().await;
    stage.clone("plain", "");
    fs::set_permissions(stage.project().join("plain"), std::os::unix::fs::PermissionsExt::from_mode(0o644)).unwrap();
    for (command, code, words) in
        [("no-such-command", 127, "no-such-command: command not found"), ("./plain", 126, "./plain: not executable")]
    {
        let ran = stage.hookgate(&["run", "--", command], &[]).await;
        assert!(ran.code == Some(code) && ran.stderr.contains(words), "{}", ran.stderr);
    }
    assert_eq!(stage.hookgate(&["run"], &[]).await.code, Some(2));
    let ran = stage.hookgate(&["run", "--", "sh", "-c", "kill -KILL $$"], &[]).await;
    assert_eq!(ran.code, Some(137));
}

#[tokio::test]
async fn a_gateway_that_can_not_start_says_why_and_the_command_does_not_run() {
    let stage = Stage::set().await;
    stage.own("hooks: 1");
    let ran = stage.hookgate(&["run", "--", "claude"], &[]).await;
    assert!(ran.code == Some(1) && ran.stderr.contains("hookgate.yaml:1:8: hooks: "), "{}", ran.stderr);
    assert!(stage.seen().is_none());
}

#[tokio::test]
async fn an_operators_ports_store_and_token_are_for_serve() {
    let stage = Stage::set().await;
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let addr = taken.local_addr().unwrap();
    stage.own(&format!("listen: {addr}\nadmin: {{ listen: {addr}, token: t }}\nstore: {{ path: /proc/nowhere }}"));
    let ran = stage.hookgate(&["run", "--", "claude"], &[]).await;
    assert!(!ran.ok().stderr.contains("#token=t\n"), "{}", ran.stderr);
    assert!(!stage.log().contains("NOTHING IS KEPT"), "{}", stage.log());
}

#[tokio::test]
async fn signals_reach_the_command_and_the_gateway_outlives_it() {
    let stage = Stage::set().await;
    let wait = "import signal, time
signal.signal(signal.SIGTERM, lambda *_: open('ended', 'w').close())
open('begun', 'w').close()
while not os.path.exists('ended'): time.sleep(0.01)";
    let child = stage.command(&["run", "--", "claude"], &[("DO", wait), ("EXIT", "9")]).spawn().unwrap();
    stage.until("it has begun", || stage.project().join("begun").exists()).await;
    // From a terminal these come to the command as well; from elsewhere they are not for it.
    for signal in [Signal::SIGINT, Signal::SIGQUIT, Signal::SIGTERM] {
        kill(pid(&child), signal).unwrap();
    }
    let ran = stage.end(child).await;
    assert_eq!(ran.code, Some(9), "it answers SIGTERM as it likes: {}", ran.stderr);
    assert_eq!(stage.bodies().len(), 1, "and asked its provider after that");
}

#[tokio::test]
async fn a_command_that_stops_itself_stops_the_run_and_both_go_on() {
    let stage = Stage::set().await;
    let stop = "import signal; os.kill(os.getpid(), signal.SIGSTOP)";
    let child = stage.command(&["run", "--", "claude"], &[("DO", stop)]).spawn().unwrap();
    let run = pid(&child);
    stage.until("the run has stopped", || state(run) == "T").await;
    kill(run, Signal::SIGCONT).unwrap();
    stage.end(child).await.ok();
    assert_eq!(stage.bodies().len(), 1);
}

#[tokio::test]
async fn hooks_of_the_last_turn_end_before_the_run_does() {
    let stage = Stage::set().await;
    let slow = "hooks: [{ name: slow, on: session.stop, run: { command: [sh, -c, 'sleep 0.5; touch stopped'] } }]";
    stage.own(slow);
    stage.hookgate(&["run", "--", "claude"], &[]).await.ok();
    assert!(stage.home().join(".config/hookgate/stopped").exists(), "{}", stage.log());
}
