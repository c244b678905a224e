//! A configuration to begin with.
use crate::stage::Stage;
use std::fs;

#[tokio::test]
async fn a_configuration_is_written_once_and_passes_its_check() {
    let stage = Stage::set().await;
    stage.clone(
        ".claude/settings.json",
        r#"{"hooks": {"Stop": [{"hooks": [{"type": "command", "command": "true"}]}]}}"#,
    );
    let wrote = stage.hookgate(&["init"], &[]).await;
    let said = &wrote.ok().stdout;
    assert!(said.contains("found hooks: .claude/settings.json") && said.contains("hookgate run -- claude"), "{said}");
    stage.hookgate(&["check", "--config", "hookgate.yaml"], &[]).await.ok();
    let file = stage.project().join("hookgate.yaml");
    assert!(fs::read_to_string(&file).unwrap().contains("run twice"));

    let again = stage.hookgate(&["init", "--agent", "gemini"], &[]).await;
    assert!(again.code == Some(1) && again.stderr.contains("--force"), "{}", again.stderr);
    stage.hookgate(&["init", "--agent", "gemini", "--force"], &[]).await.ok();
    stage.hookgate(&["check", "--config", "hookgate.yaml"], &[]).await.ok();
    stage.hookgate(&["trust", "--yes"], &[]).await.ok();
    stage.hookgate(&["run", "--", "gemini"], &[]).await.ok();
    assert_eq!(stage.hookgate(&["init", "--agent", "gemmini"], &[]).await.code, Some(2));
}
