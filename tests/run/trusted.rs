//! A cloned repository runs nothing that its user has not seen.
use crate::stage::Stage;
use std::fs;
use std::os::unix::fs::{PermissionsExt as _, symlink};

const CONFIG: &str = "hooks: [{ name: hint, on: prompt.submit, run: { command: [./hint.sh, --all] } }]\n";
const HINT: &str = "#!/bin/sh\ntouch it-ran\necho THE-HINT\n";

async fn cloned() -> Stage {
    let stage = Stage::set().await;
    stage.clone("hookgate.yaml", CONFIG);
    stage.clone("hint.sh", HINT);
    stage
}

/// Nothing ran, and the user reads why.
async fn refused(stage: &Stage, arguments: &[&str], words: &[&str]) {
    let ran = stage.hookgate(arguments, &[]).await;
    assert_eq!(ran.code, Some(1), "{arguments:?}: {}", ran.stderr);
    for word in words {
        assert!(ran.stderr.contains(word), "{word}: {}", ran.stderr);
    }
    assert!(stage.seen().is_none() && !stage.project().join("it-ran").exists());
}

#[tokio::test]
async fn what_came_with_the_tree_counts_after_it_was_seen_and_trusted() {
    let stage = cloned().await;
    let run = ["run", "--", "claude"];
    refused(&stage, &run, &["hint on prompt.submit", "hint.sh --all", "is not trusted", "hookgate trust"]).await;
    refused(&stage, &["run", "--config", "hookgate.yaml", "--", "claude"], &["is not trusted"]).await;

    // Where nobody can be asked, the command itself is the answer.
    let shown = stage.hookgate(&["trust"], &[]).await.ok().stdout.clone();
    assert!(shown.contains("hint.sh --all"), "{shown}");
    stage.hookgate(&run, &[]).await.ok();
    assert!(stage.bodies()[0].contains("THE-HINT"));
    let list = stage.home().join(".local/state/hookgate/trusted.json");
    assert_eq!(fs::metadata(&list).unwrap().permissions().mode() & 0o777, 0o600);

    let listed = stage.hookgate(&["trust", "--list"], &[]).await.ok().stdout.clone();
    let project = stage.project().display().to_string();
    assert_eq!(listed, format!("trusted  {project}/hint.sh\ntrusted  {project}/hookgate.yaml\n"));
    stage.hookgate(&["trust", "--remove"], &[]).await.ok();
    fs::remove_file(stage.project().join("it-ran")).unwrap();
    refused(&stage, &run, &["is not trusted"]).await;
}

#[tokio::test]
async fn in_a_folder_that_is_no_repository_a_named_configuration_is_its_users() {
    let stage = cloned().await;
    fs::remove_dir(stage.project().join(".git")).unwrap();
    refused(&stage, &["run", "--", "claude"], &["is not trusted"]).await;
    stage.hookgate(&["run", "--config", "hookgate.yaml", "--", "claude"], &[]).await.ok();
    assert!(stage.bodies()[0].contains("THE-HINT"));
}

#[tokio::test]
async fn a_change_of_a_file_that_decides_takes_the_trust_away() {
    for (file, text) in
        [("hookgate.yaml", CONFIG.replace("--all", "--evil")), ("hint.sh", HINT.replace("HINT", "EVIL"))]
    {
        let stage = cloned().await;
        stage.hookgate(&["trust", "--yes"], &[]).await.ok();
        stage.clone(file, &text);
        refused(&stage, &["run", "--", "claude"], &["has changed since it was trusted", file]).await;
        let listed = stage.hookgate(&["trust", "--list"], &[]).await.ok().stdout.clone();
        assert!(listed.lines().any(|line| line.starts_with("changed") && line.ends_with(file)), "{listed}");
    }
}

#[tokio::test]
async fn a_link_in_the_tree_is_the_trees_wherever_it_leads() {
    let stage = Stage::set().await;
    fs::write(stage.home().join("elsewhere.yaml"), CONFIG).unwrap();
    symlink(stage.home().join("elsewhere.yaml"), stage.project().join("hookgate.yaml")).unwrap();
    refused(&stage, &["run", "--", "claude"], &["is not trusted"]).await;
}

#[tokio::test]
async fn a_settings_file_in_the_tree_counts_after_it_was_trusted_whoever_names_it() {
    let stage = Stage::set().await;
    stage.own("hooks: [{ name: cc, run: { claude_code: { settings: '${PWD}/.claude/settings.json' } } }]");
    let settings =
        r#"{"hooks": {"UserPromptSubmit": [{"hooks": [{"type": "command", "command": "touch it-ran; echo X"}]}]}}"#;
    stage.clone(".claude/settings.json", settings);
    let here = stage.project().display().to_string();
    let ran = stage.hookgate(&["run", "--", "gemini"], &[("PWD", &here)]).await;
    assert!(ran.code == Some(1) && ran.stderr.contains("touch it-ran; echo X"), "{}", ran.stderr);
    let config = stage.home().join(".config/hookgate/hookgate.yaml");
    stage.hookgate(&["trust", "--yes", config.to_str().unwrap()], &[("PWD", &here)]).await.ok();
    stage.hookgate(&["run", "--", "gemini"], &[("PWD", &here)]).await.ok();
}

#[tokio::test]
async fn a_run_without_the_trees_configuration_needs_no_trust() {
    let stage = cloned().await;
    stage.own("hooks: [{ name: rules, on: session.start, run: { text: THE-RULES } }]");
    stage.hookgate(&["run", "--no-project-config", "--", "claude"], &[]).await.ok();
    let bodies = stage.bodies();
    assert!(bodies[0].contains("THE-RULES") && !bodies[0].contains("THE-HINT"), "{bodies:?}");
}

#[tokio::test]
async fn what_changes_while_the_agent_works_does_not_run() {
    let stage = cloned().await;
    stage.hookgate(&["trust", "--yes"], &[]).await.ok();
    let change = "open('hint.sh', 'w').write('#!/bin/sh\\ntouch it-ran\\necho THE-EVIL\\n')";
    stage.hookgate(&["run", "--", "claude"], &[("DO", change)]).await.ok();
    assert!(!stage.bodies()[0].contains("THE-") && !stage.project().join("it-ran").exists(), "{:?}", stage.bodies());
    assert!(stage.log().contains("hint.sh has changed since it was trusted"), "{}", stage.log());
}

#[tokio::test]
async fn a_program_that_nobody_can_read_does_not_run() {
    let stage = cloned().await;
    stage.hookgate(&["trust", "--yes"], &[]).await.ok();
    if nix::unistd::geteuid().is_root() {
        // The superuser reads everything.
        return;
    }
    let hide = "import shutil; os.remove('hint.sh'); shutil.copy('/bin/echo', 'hint.sh'); os.chmod('hint.sh', 0o111)";
    stage.hookgate(&["run", "--", "claude"], &[("DO", hide)]).await.ok();
    assert!(!stage.bodies()[0].contains("--all"), "{:?}", stage.bodies());
}

#[tokio::test]
async fn a_changed_configuration_waits_for_trust_and_then_counts() {
    let stage = cloned().await;
    stage.hookgate(&["trust", "--yes"], &[]).await.ok();
    let wait = "import time
open('hookgate.yaml', 'w').write('hooks: [{ name: new, on: prompt.submit, run: { command: [echo, THE-NEW] } }]')
while not os.path.exists('old'): time.sleep(0.01)
ask('before')
open('asked', 'w').close()
while not os.path.exists('new'): time.sleep(0.01)";
    let child = stage.command(&["run", "--", "claude"], &[("DO", wait)]).spawn().unwrap();
    stage.until("it is refused", || stage.project().join("hookgate.yaml").exists() && refused_reload(&stage)).await;
    fs::write(stage.project().join("old"), "").unwrap();
    stage.until("it has asked", || stage.project().join("asked").exists()).await;
    stage.hookgate(&["trust", "--yes"], &[]).await.ok();
    stage.until("it is in effect", || stage.log().contains("configuration reloaded")).await;
    fs::write(stage.project().join("new"), "").unwrap();
    stage.end(child).await.ok();
    let bodies = stage.bodies();
    assert!(bodies[0].contains("THE-HINT") && !bodies[0].contains("THE-NEW"), "{bodies:?}");
    assert!(bodies[1].contains("THE-NEW"), "{bodies:?}");
}

fn refused_reload(stage: &Stage) -> bool {
    stage.home().join(".local/state/hookgate/run").exists() && stage.log().contains("reload refused")
}
