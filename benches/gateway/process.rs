//! The processes that are measured: children that end with this one.
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;
use tempfile::TempDir;
use tokio::net::{TcpListener, TcpStream};

/// How often a child that starts is asked whether it listens.
const POLL: Duration = Duration::from_millis(20);
/// The unit of CPU time in `/proc/PID/stat` (proc(5)): Linux has told programs 100 a second on every common platform.
const TICKS_PER_SECOND: u64 = 100;

/// A child that listens on loopback.
pub(crate) struct Process {
    pub(crate) port: u16,
    child: Child,
    _folder: Option<TempDir>,
}

impl Process {
    /// This program in another role.
    pub(crate) async fn of_this_bench(role: &str, ports: &[u16]) -> Self {
        let port = free_port().await;
        let mut command = Command::new(std::env::current_exe().expect("a path"));
        command.arg(role).arg(port.to_string()).args(ports.iter().map(u16::to_string));
        Self::started(command, port, None).await
    }

    /// The gateway's own program, with what `more` adds to its configuration.
    pub(crate) async fn gateway(provider: u16, more: &str) -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let (port, admin) = (free_port().await, free_port().await);
        let config = folder.path().join("hookgate.yaml");
        std::fs::write(&config, configuration(port, admin, provider, folder.path()) + more).expect("a configuration");
        let mut command = Command::new(env!("CARGO_BIN_EXE_hookgate"));
        command.arg("serve").arg("--config").arg(config);
        Self::started(command, port, Some(folder)).await
    }

    async fn started(mut command: Command, port: u16, folder: Option<TempDir>) -> Self {
        let child = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().expect("a child");
        let mut process = Self { port, child, _folder: folder };
        while TcpStream::connect(("127.0.0.1", port)).await.is_err() {
            assert!(process.child.try_wait().expect("a state").is_none(), "a child ended early: {command:?}");
            tokio::time::sleep(POLL).await;
        }
        process
    }

    /// CPU time so far; zero where there is no `/proc`.
    pub(crate) fn cpu(&self) -> Duration {
        let stat = self.proc("stat");
        // The name before it may hold anything but ends with the last parenthesis; user and system time are the 12th and
        // 13th fields behind it.
        let behind_name = stat.rsplit(')').next().unwrap_or_default();
        let ticks: u64 =
            behind_name.split_whitespace().skip(11).take(2).filter_map(|field| field.parse::<u64>().ok()).sum();
        Duration::from_millis(ticks * 1000 / TICKS_PER_SECOND)
    }

    /// Most memory so far, in bytes.
    pub(crate) fn peak_memory(&self) -> u64 {
        let status = self.proc("status");
        let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
        line.and_then(|line| line.split_whitespace().next()?.parse::<u64>().ok()).unwrap_or_default() << 10
    }

    fn proc(&self, file: &str) -> String {
        std::fs::read_to_string(format!("/proc/{}/{file}", self.child.id())).unwrap_or_default()
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        // It may have ended by itself, which was told where it mattered.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

async fn free_port() -> u16 {
    let listener = TcpListener::bind(("127.0.0.1", 0)).await.expect("a port");
    listener.local_addr().expect("an address").port()
}

fn configuration(port: u16, admin: u16, provider: u16, folder: &Path) -> String {
    format!(
        "listen: 127.0.0.1:{port}\n\
         admin: {{ listen: 127.0.0.1:{admin}, token: bench }}\n\
         upstreams:\n  - {{ name: anthropic, dialect: anthropic, base_url: http://127.0.0.1:{provider} }}\n\
         store: {{ kind: sled, path: {} }}\n",
        folder.join("data").display()
    )
}
