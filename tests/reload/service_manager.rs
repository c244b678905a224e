//! What systemd is told (`Type=notify`), on the socket that it names in the environment.
use crate::process::Process;
use crate::rig::{Rig, message};
use crate::support::PATIENCE;
use nix::sys::signal::Signal;
use serde_json::json;
use std::os::unix::net::UnixDatagram;

fn told(socket: &UnixDatagram) -> String {
    let mut message = [0; 256];
    let length = socket.recv(&mut message).expect("a message in time");
    String::from_utf8(message[..length].to_vec()).unwrap()
}

#[tokio::test]
async fn a_service_manager_is_told_of_readiness_reloads_and_the_end() {
    let rig = Rig::without_gateway(|_, _| message("A"), |_, _| (None, json!({}))).await;
    rig.write(&rig.config(0, "hooks: []"));
    let path = rig.folder.path().join("notify");
    let socket = UnixDatagram::bind(&path).unwrap();
    socket.set_read_timeout(Some(PATIENCE)).unwrap();

    let process = Process::start_with(&rig, &[("NOTIFY_SOCKET", path.to_str().unwrap())]);
    assert_eq!(told(&socket), "READY=1\n");
    process.signal(Signal::SIGHUP);
    let reloading = told(&socket);
    assert!(reloading.starts_with("RELOADING=1\nMONOTONIC_USEC="), "{reloading}");
    assert_eq!(told(&socket), "READY=1\n");

    // A reload that is refused is over, too.
    rig.write(&rig.config(0, "limts: {}"));
    process.signal(Signal::SIGHUP);
    assert!(told(&socket).starts_with("RELOADING=1\n"));
    assert_eq!(told(&socket), "READY=1\n");

    process.signal(Signal::SIGTERM);
    assert_eq!(told(&socket), "STOPPING=1\n");
}
