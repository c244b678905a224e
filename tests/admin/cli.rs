//! `hookgate sessions` against a gateway that runs.
use crate::rig::{QUIET, Rig};
use crate::support::config::ADMIN_TOKEN;
use hookgate::config::Store;
use std::os::unix::fs::PermissionsExt as _;
use std::process::Output;

async fn sessions(rig: &Rig, arguments: &[&str]) -> Output {
    let url = format!("http://{}", rig.gateway.admin_addr());
    let mut command = tokio::process::Command::new(env!("CARGO_BIN_EXE_hookgate"));
    command.arg("sessions").args(arguments).args(["--admin", &url, "--token", ADMIN_TOKEN]).env_clear();
    command.output().await.unwrap()
}

async fn said(rig: &Rig, arguments: &[&str]) -> String {
    let output = sessions(rig, arguments).await;
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

#[tokio::test]
async fn sessions_are_listed_shown_cleared_and_ended() {
    let rig = Rig::start(QUIET).await;
    rig.say("older", "main", "k", "Hi").await;
    rig.say("a/b c", "main", "k", "Hi").await;
    for slot in ["one", "two"] {
        let path = format!("/v1/sessions/a%2Fb%20c/agents/main/context/{slot}");
        rig.admin("PUT", &path, r#"{"text":"Use\ntabs."}"#).await;
    }

    let list = said(&rig, &["list"]).await;
    let first: Vec<_> = list.lines().map(|line| line.split("  ").next().unwrap()).collect();
    assert_eq!(first, ["ID", "a/b c", "older"], "latest first");

    let shown = said(&rig, &["show", "a/b c"]).await;
    assert!(shown.starts_with("id=a/b c agent=main tenant=t_"), "{shown}");
    assert!(shown.contains("  one: Use\n    tabs.\n"), "{shown}");

    assert_eq!(said(&rig, &["clear", "a/b c", "--slot", "one"]).await, "cleared one\n");
    assert_eq!(said(&rig, &["clear", "a/b c"]).await, "cleared two\n");
    assert_eq!(said(&rig, &["clear", "a/b c"]).await, "nothing to clear\n");

    assert_eq!(said(&rig, &["end", "a/b c"]).await, "ended a/b c main\n");
    let json: serde_json::Value = serde_json::from_str(&said(&rig, &["show", "a/b c", "--json"]).await).unwrap();
    assert!(json["items"][0]["ended_at"].is_string());
}

#[tokio::test]
async fn the_token_that_the_gateway_made_is_found_by_those_who_may_read_it() {
    let folder = tempfile::tempdir().unwrap();
    let rig = Rig::with(QUIET, |config| {
        config.admin.token = None;
        config.store = Store::Sled { path: folder.path().join("data") };
    });
    let rig = rig.await;
    let file = folder.path().join("data/admin.token");
    assert_eq!(std::fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o600);

    std::fs::write(folder.path().join("hookgate.yaml"), "store: { path: ./data }").unwrap();
    let url = format!("http://{}", rig.gateway.admin_addr());
    let mut command = tokio::process::Command::new(env!("CARGO_BIN_EXE_hookgate"));
    command.args(["sessions", "list", "--json", "--config", "hookgate.yaml", "--admin", &url]);
    let output = command.current_dir(folder.path()).env_clear().output().await.unwrap();
    assert_eq!(String::from_utf8_lossy(&output.stdout), "[]\n", "{}", String::from_utf8_lossy(&output.stderr));
}

#[tokio::test]
async fn refusals_are_told() {
    let rig = Rig::start(QUIET).await;
    rig.say("s1", "main", "one", "Hi").await;
    rig.say("s1", "main", "two", "Hi").await;
    for (arguments, words) in [
        (&["show", "gone"][..], "404 Not Found: there is no such session"),
        (&["end", "s1"], "409 Conflict: several tenants have a session of this id, name one as tenant: t_"),
        (&["show", ".."], "\"..\" can't be part of a URL"),
        (&["clear", "s1", "--tenant", "t_other"], "404 Not Found"),
    ] {
        let output = sessions(&rig, arguments).await;
        let stderr = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(1));
        assert!(stderr.contains(words), "{stderr}");
    }
}
