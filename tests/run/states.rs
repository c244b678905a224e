//! What a project's runs keep, and two of them at once.
use crate::stage::Stage;
use std::fs;

#[tokio::test]
async fn what_a_run_kept_is_there_in_the_next_one_of_the_project() {
    let stage = Stage::set().await;
    stage.own("hooks: [{ name: note, on: session.stop, run: { command: [echo, '{\"context\": \"KEPT\"}'] } }]");
    for prompt in ["one", "two"] {
        stage.hookgate(&["run", "--session", "s", "--", "gemini"], &[("PROMPT", prompt)]).await.ok();
    }
    let bodies = stage.bodies();
    assert!(!bodies[0].contains("KEPT") && bodies[1].contains("KEPT"), "{bodies:?}");
    let modes = std::os::unix::fs::PermissionsExt::mode;
    let state = stage.home().join(".local/state/hookgate");
    assert_eq!(modes(&fs::metadata(state.join("run")).unwrap().permissions()) & 0o077, 0, "only the user reads it");
}

#[tokio::test]
async fn two_runs_of_a_project_do_not_wait_for_each_other() {
    let stage = Stage::set().await;
    let wait = "import time
open('begun', 'w').close()
while not os.path.exists('go'): time.sleep(0.01)";
    let first = stage.command(&["run", "--", "claude"], &[("DO", wait)]).spawn().unwrap();
    stage.until("the first has begun", || stage.project().join("begun").exists()).await;
    let beside = stage.hookgate(&["run", "--", "claude"], &[]).await;
    assert!(beside.ok().stderr.contains("another run of this project"), "{}", beside.stderr);
    fs::write(stage.project().join("go"), "").unwrap();
    let first = stage.end(first).await;
    assert!(!first.ok().stderr.contains("another run"), "{}", first.stderr);
    assert_eq!(stage.bodies().len(), 2);
}

#[tokio::test]
async fn the_log_is_a_file_that_the_help_names() {
    let stage = Stage::set().await;
    stage.hookgate(&["run", "--", "claude"], &[]).await.ok();
    assert!(stage.log().contains("listening"), "{}", stage.log());
    let help = stage.hookgate(&["run", "--help"], &[]).await;
    assert!(
        help.stdout.contains("hookgate.log") && help.stdout.contains(".local/state/hookgate/run"),
        "{}",
        help.stdout
    );
}
