//! What counts as a change, and what follows one.
use crate::rig::{Rig, message};
use serde_json::json;
use std::fs;
use std::os::unix::fs::symlink;

fn rule(text: &str) -> String {
    format!("hooks: [{{ name: rule, on: prompt.submit, run: {{ text: {text} }} }}]")
}

#[tokio::test]
async fn an_editor_that_writes_by_rename_is_followed() {
    let rig = Rig::plain(&rule("R1")).await;
    for version in 2..5 {
        let beside = rig.folder.path().join(".hookgate.yaml.swp");
        fs::write(&beside, rig.config(0, &rule(&format!("R{version}")))).unwrap();
        fs::rename(beside, rig.file()).unwrap();
        rig.version(version).await;
        rig.say(&format!("s{version}"), "x").await;
        assert!(rig.received(0).contains(&format!("R{version}")));
    }
}

#[tokio::test]
async fn a_configmap_whose_link_is_swapped_is_followed() {
    let rig = Rig::without_gateway(|_, _| message("A"), |_, _| (None, json!({}))).await;
    let volume = rig.folder.path().to_owned();
    let publish = |version: u64, text: String| {
        let name = format!("..{version}");
        fs::create_dir(volume.join(&name)).unwrap();
        fs::write(volume.join(&name).join("hookgate.yaml"), text).unwrap();
        symlink(&name, volume.join("..data_tmp")).unwrap();
        fs::rename(volume.join("..data_tmp"), volume.join("..data")).unwrap();
        let _ = fs::remove_dir_all(volume.join(format!("..{}", version - 1)));
    };
    publish(1, rig.config(0, &rule("R1")));
    symlink("..data/hookgate.yaml", rig.file()).unwrap();
    let rig = rig.started().await;
    for version in 2..4 {
        publish(version, rig.config(0, &rule(&format!("R{version}"))));
        rig.version(version).await;
        rig.say(&format!("s{version}"), "x").await;
        assert!(rig.received(0).contains(&format!("R{version}")));
    }
}

#[tokio::test]
async fn a_profile_is_part_of_the_configuration() {
    let rig = Rig::plain(&rule("R1")).await;
    let profile = rig.folder.path().join("mine.yaml");
    fs::write(&profile, "name: [").unwrap();
    rig.write(&rig.config(0, &format!("{}\nprofiles: [mine.yaml]", rule("R2"))));
    let refused = rig.until(|status| !status["last_refused"].is_null()).await;
    assert!(refused["last_refused"]["problems"].to_string().contains("profiles[0]"), "{refused}");
    // Only the profile is mended.
    fs::write(&profile, "name: mine\nmatch: [{ headers: { x-mine: '.' } }]\n").unwrap();
    let applied = rig.version(2).await;
    assert_eq!(applied["config"]["profiles"], json!(["mine"]));
    fs::write(&profile, "name: yours\nmatch: [{ headers: { x-mine: '.' } }]\n").unwrap();
    let applied = rig.version(3).await;
    assert_eq!(applied["config"]["profiles"], json!(["yours"]));
}

#[tokio::test]
async fn limits_token_and_idle_time_follow() {
    let mut rig = Rig::start(
        "hooks: [{ name: end, on: session.end, run: { http: { url: 'HOOKS/end' } } }]",
        |_, _| message("A"),
        |_, _| (None, json!({})),
    )
    .await;
    rig.say("s1", "x").await;
    let hooks = "sessions: { idle_end: 100ms }\nlimits: { concurrent_requests: 7 }\n\
                 hooks: [{ name: end, on: session.end, run: { http: { url: 'HOOKS/end2' } } }]";
    rig.write(&rig.config(0, hooks).replace("token: admin-token-of-a-test", "token: another-token"));
    let (status, reloaded) = rig.admin("POST", "/v1/config/reload").await;
    assert_eq!((status, &reloaded["version"]), (200, &json!(2)));
    assert_eq!(rig.admin("GET", "/v1/config").await.0, 401);
    rig.has_token("another-token");
    let shown = rig.status().await;
    assert_eq!(shown["loaded_at"], reloaded["loaded_at"]);
    assert_eq!(shown["config"]["limits"]["concurrent_requests"], 7);
    assert_eq!(shown["last_refused"], serde_json::Value::Null);
    // The hook of the configuration in effect, after its idle time.
    assert_eq!(rig.wait_events(1).await, [("/end2".to_owned(), json!("session.end"))]);
    let (_, metrics) = rig.admin_text("GET", "/metrics").await;
    assert!(metrics.contains("hookgate_config_reloads_total{result=\"ok\"}"), "{metrics}");
}
