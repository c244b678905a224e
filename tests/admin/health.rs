//! `hookgate health`: what a container's health check asks.
use crate::rig::{QUIET, Rig};
use crate::support::Provider;
use crate::support::provider::answer;
use std::path::Path;
use std::process::Output;

async fn health(arguments: &[&str], folder: &Path) -> Output {
    let mut command = tokio::process::Command::new(env!("CARGO_BIN_EXE_hookgate"));
    command.arg("health").args(arguments).current_dir(folder).env_clear().output().await.unwrap()
}

async fn of(url: &str) -> (Option<i32>, String) {
    let output = health(&["--admin", url], Path::new("/")).await;
    (output.status.code(), String::from_utf8([output.stdout, output.stderr].concat()).unwrap())
}

#[tokio::test]
async fn a_gateway_that_takes_requests_is_healthy_and_no_token_is_needed() {
    let rig = Rig::start(QUIET).await;
    let admin = rig.gateway.admin_addr();
    assert_eq!(of(&format!("http://{admin}")).await, (Some(0), "ready\n".into()));

    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("hookgate.yaml"), format!("admin: {{ listen: '{admin}' }}")).unwrap();
    let output = health(&["--config", "hookgate.yaml"], folder.path()).await;
    assert_eq!(output.stdout, b"ready\n", "{}", String::from_utf8_lossy(&output.stderr));
}

#[tokio::test]
async fn a_configuration_that_was_broken_meanwhile_says_nothing_about_the_gateway() {
    let rig = Rig::start(QUIET).await;
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("hookgate.yaml"), "limts: {}").unwrap();
    let admin = format!("http://{}", rig.gateway.admin_addr());
    assert_eq!(health(&["--config", "hookgate.yaml", "--admin", &admin], folder.path()).await.status.code(), Some(0));
    assert_eq!(health(&["--config", "hookgate.yaml"], folder.path()).await.status.code(), Some(1));
}

#[tokio::test]
async fn one_that_drains_is_gone_or_is_no_gateway_is_not() {
    let draining = Provider::always(answer("503 Service Unavailable", "", "draining\n")).await;
    let (code, said) = of(&format!("http://{}", draining.addr())).await;
    assert_eq!(code, Some(1));
    assert!(said.ends_with("/readyz: 503 Service Unavailable: draining\n"), "{said}");

    // The agents' listener has no probes.
    let rig = Rig::start(QUIET).await;
    assert_eq!(of(&format!("http://{}", rig.gateway.addr())).await.0, Some(1));

    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let nobody = listener.local_addr().unwrap();
    drop(listener);
    let (code, said) = of(&format!("http://{nobody}")).await;
    assert_eq!(code, Some(1));
    assert!(said.contains("refused"), "{said}");
}
