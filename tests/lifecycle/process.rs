//! The gateway as an operator runs it, for what only a process of its own can show: its log, and its death.
use crate::stage::{Agent, Stage};
use crate::support::{Client, soon};
use parking_lot::Mutex;
use std::io::{BufRead, BufReader};
use std::net::SocketAddr;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;

/// The gateway in a process of its own, killed when dropped.
pub struct Process {
    child: Child,
    addr: SocketAddr,
    log: Arc<Mutex<String>>,
}

impl Process {
    pub fn start(stage: &Stage) -> Self {
        let mut child = Command::new(env!("CARGO_BIN_EXE_hookgate"))
            .arg("serve")
            .arg("--config")
            .arg(stage.write_config())
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut stderr = BufReader::new(child.stderr.take().unwrap());
        let mut said = String::new();
        let addr = loop {
            let mut line = String::new();
            assert_ne!(stderr.read_line(&mut line).unwrap(), 0, "the gateway ended: {said}");
            said.push_str(&line);
            let plain = without_colours(&line);
            if let Some((_, rest)) = plain.split_once("listening").filter(|_| plain.contains("addr=")) {
                let (_, addr) = rest.split_once("addr=").unwrap();
                break addr.split_whitespace().next().unwrap().parse().unwrap();
            }
        };
        let log = Arc::new(Mutex::new(said));
        let writer = log.clone();
        std::thread::spawn(move || {
            for line in stderr.lines().map_while(Result::ok) {
                writer.lock().push_str(&(without_colours(&line) + "\n"));
            }
        });
        Self { child, addr, log }
    }

    /// What it said so far.
    pub fn log(&self) -> String {
        self.log.lock().clone()
    }

    /// The first log line with all of these words.
    pub async fn logged(&self, words: &[&str]) -> String {
        soon(async {
            loop {
                if let Some(line) = self.log.lock().lines().find(|line| words.iter().all(|word| line.contains(word))) {
                    return line.to_owned();
                }
                tokio::task::yield_now().await;
            }
        })
        .await
    }

    pub fn kill(mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }

    /// Sends the agent's history; the connection that the answer comes on.
    pub async fn begin(&self, agent: &Agent<'_>) -> Client {
        agent.begin_at(self.addr).await
    }

    /// Sends the agent's history and takes the answer.
    pub async fn ask(&self, agent: &Agent<'_>) -> String {
        let answer = self.begin(agent).await.answer("POST").await;
        assert!(answer.status() == 200 && answer.whole, "{}", answer.text());
        answer.text()
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn without_colours(line: &str) -> String {
    let mut out = String::new();
    let mut inside = false;
    for c in line.chars() {
        match c {
            '\u{1b}' => inside = true,
            'm' if inside => inside = false,
            c if !inside => out.push(c),
            _ => {}
        }
    }
    out
}
