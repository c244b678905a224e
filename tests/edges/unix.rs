//! A Unix socket as the listener.
use crate::support::config::for_provider;
use crate::support::provider::answer;
use crate::support::{Provider, gateway_with, soon};
use hookgate::app::start;
use hookgate::config::{Config, Isolation, Listen};
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::time::Duration;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::UnixStream;

async fn ask(path: &Path) -> String {
    let mut stream = UnixStream::connect(path).await.unwrap();
    let request = b"POST /v1/messages HTTP/1.1\r\nhost: g\r\nconnection: close\r\ncontent-length: 2\r\n\r\n{}";
    stream.write_all(request).await.unwrap();
    let mut read = String::new();
    soon(stream.read_to_string(&mut read)).await.unwrap();
    read
}

#[tokio::test]
async fn agents_connect_to_a_path_which_is_gone_afterwards() {
    let provider = Provider::always(answer("200 OK", "content-type: application/json\r\n", "{}")).await;
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("agents.sock");
    // Left over by a process that was killed.
    drop(std::os::unix::net::UnixListener::bind(&path).unwrap());
    let config = Config { listen: Listen::Unix(path.clone()), ..for_provider(provider.addr()) };
    let gateway = gateway_with(config.clone()).await;
    assert_eq!(gateway.at(), &Listen::Unix(path.clone()));
    assert!(ask(&path).await.starts_with("HTTP/1.1 200 OK"));
    assert_eq!(std::fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o660);

    let second = start(config.clone()).await.map(|_| ()).unwrap_err().to_string();
    assert!(second.starts_with(&format!("can't listen on unix:{}: ", path.display())), "{second}");
    assert!(ask(&path).await.starts_with("HTTP/1.1 200 OK"), "the first one is not disturbed");

    gateway.shutdown(Duration::from_secs(10)).await;
    assert!(!path.exists());
    std::fs::write(&path, "a file").unwrap();
    assert!(start(config).await.is_err());
    assert_eq!(std::fs::read_to_string(&path).unwrap(), "a file", "nobody's file is taken away");
}

#[test]
fn a_path_starts_at_the_files_folder_and_is_only_this_machines() {
    let text = "listen: unix:run/agents.sock\nsessions: { isolation: none }";
    let source = hookgate::config::Source::File("/nowhere/hookgate.yaml".into());
    let config = hookgate::config::parse(text, source, &|_| None).unwrap().config;
    assert_eq!(config.listen, Listen::Unix("/nowhere/run/agents.sock".into()));
    assert_eq!(config.sessions.isolation, Isolation::None);
}
