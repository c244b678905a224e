//! SIGHUP, and what the log says: only a process of its own can show them.
use crate::rig::{Rig, message};
use crate::support::soon;
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use parking_lot::Mutex;
use serde_json::json;
use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;

pub(crate) struct Process {
    child: Child,
    log: Arc<Mutex<String>>,
}

impl Process {
    fn start(rig: &Rig) -> Self {
        Self::start_with(rig, &[])
    }

    pub(crate) fn start_with(rig: &Rig, environment: &[(&str, &str)]) -> Self {
        let mut command = Command::new(env!("CARGO_BIN_EXE_hookgate"));
        command.envs(environment.iter().copied());
        command.arg("serve").arg("--config").arg(rig.file()).stdin(Stdio::null()).stdout(Stdio::null());
        let mut child = command.stderr(Stdio::piped()).spawn().unwrap();
        let stderr = BufReader::new(child.stderr.take().unwrap());
        let log = Arc::new(Mutex::new(String::new()));
        let writer = log.clone();
        std::thread::spawn(move || {
            for line in stderr.lines().map_while(Result::ok) {
                writer.lock().push_str(&(line + "\n"));
            }
        });
        Self { child, log }
    }

    pub(crate) fn signal(&self, signal: Signal) {
        kill(Pid::from_raw(self.child.id().cast_signed()), signal).unwrap();
    }

    async fn logged(&self, words: &str) -> String {
        soon(async {
            loop {
                if let Some(line) = self.log.lock().lines().find(|line| line.contains(words)) {
                    return line.to_owned();
                }
                tokio::task::yield_now().await;
            }
        })
        .await
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[tokio::test]
async fn sighup_reads_the_configuration_again_and_the_log_says_what_became_of_it() {
    let rig = Rig::without_gateway(|_, _| message("A"), |_, _| (None, json!({}))).await;
    rig.write(&rig.config(0, "hooks: []"));
    let process = Process::start(&rig);
    process.logged("listening").await;
    process.signal(Signal::SIGHUP);
    let line = process.logged("configuration reloaded").await;
    assert!(line.contains("version=2"), "{line}");

    rig.write(&rig.config(0, "hooks: []\nlimts: {}\ncontinuation: { max_per_turn: many }"));
    process.signal(Signal::SIGHUP);
    let line = process.logged("reload refused").await;
    for problem in ["hookgate.yaml:6:1: limts: ", "hookgate.yaml:7:31: continuation.max_per_turn: "] {
        assert!(line.contains("WARN") && line.contains(problem), "{line}");
    }
    // Asked for and noticed: the same file is refused once.
    process.signal(Signal::SIGTERM);
    process.logged("draining").await;
    assert_eq!(process.log.lock().matches("reload refused").count(), 1);
}
