//! A Redis of the test's own, on a free port.
use crate::support::soon;
use hookgate::config::RedisUrl;
use std::io::{ErrorKind, Write};
use std::net::TcpListener;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

/// What has to be set where the tests must not be passed over.
const REQUIRED: &str = "HOOKGATE_TEST_REDIS";

/// How it is spoken to.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    Plain,
    /// A cluster of one.
    Cluster,
    /// With a certificate of its own making, [`Server::certificate`].
    Tls,
}

pub(crate) struct Server {
    kind: Kind,
    port: u16,
    folder: tempfile::TempDir,
    child: Option<Child>,
}

impl Server {
    /// `None`, and a word about it, where there is no `redis-server`.
    pub(crate) async fn start(test: &str) -> Option<Self> {
        Self::start_as(test, Kind::Plain).await
    }

    pub(crate) async fn start_as(test: &str, kind: Kind) -> Option<Self> {
        let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
        let mut server = Self { kind, port, folder: tempfile::tempdir().unwrap(), child: None };
        if kind == Kind::Tls {
            server.certify();
        }
        if server.again().await {
            return Some(server);
        }
        assert!(std::env::var(REQUIRED).is_err(), "redis-server is not installed");
        // Past the capture of the test's output: who runs the tests has to read it.
        let _ = writeln!(std::io::stderr(), "NOT RUN: {test}, since redis-server is not installed");
        None
    }

    pub(crate) fn url(&self) -> String {
        match self.kind {
            Kind::Plain => format!("redis://127.0.0.1:{}/0", self.port),
            Kind::Cluster => format!("redis+cluster://127.0.0.1:{}", self.port),
            Kind::Tls => format!("rediss://localhost:{}", self.port),
        }
    }

    /// What a client of the TLS kind has to trust.
    pub(crate) fn certificate(&self) -> PathBuf {
        self.folder.path().join("cert.pem")
    }

    fn certify(&self) {
        let made = rcgen::generate_simple_self_signed(["localhost".to_owned()]).unwrap();
        std::fs::write(self.certificate(), pem("CERTIFICATE", made.cert.der())).unwrap();
        std::fs::write(self.folder.path().join("key.pem"), pem("PRIVATE KEY", &made.signing_key.serialize_der()))
            .unwrap();
    }

    fn arguments(&self) -> Vec<String> {
        let path = |name: &str| self.folder.path().join(name).to_str().unwrap().to_owned();
        let port = self.port.to_string();
        let words: &[&str] = match self.kind {
            Kind::Plain => &["--port", &port],
            Kind::Cluster => &["--port", &port, "--cluster-enabled", "yes"],
            Kind::Tls => &["--port", "0", "--tls-port", &port, "--tls-auth-clients", "no"],
        };
        let mut arguments: Vec<String> = words.iter().map(|word| (*word).to_owned()).collect();
        if self.kind == Kind::Tls {
            let files = [("cert", "cert.pem"), ("key", "key.pem"), ("ca-cert", "cert.pem")]
                .map(|(of, file)| [format!("--tls-{of}-file"), path(file)]);
            arguments.extend(files.into_iter().flatten());
        }
        arguments
    }

    pub(crate) fn address(&self) -> RedisUrl {
        RedisUrl::parse(&self.url()).unwrap()
    }

    /// Starts it, again with what it had stored; false where it is not installed.
    pub(crate) async fn again(&mut self) -> bool {
        let started = Command::new("redis-server")
            .args(["--bind", "127.0.0.1", "--save", "", "--appendonly", "yes", "--appendfsync", "no"])
            .args(self.arguments())
            .arg("--dir")
            .arg(self.folder.path())
            .stdout(Stdio::null())
            .spawn();
        match started {
            Ok(child) => self.child = Some(child),
            Err(error) if error.kind() == ErrorKind::NotFound => return false,
            Err(error) => panic!("redis-server: {error}"),
        }
        soon(async {
            while !self.answers().await {
                tokio::time::sleep(Duration::from_millis(10)).await;
            }
        })
        .await;
        if self.kind == Kind::Cluster {
            soon(async {
                let _ = self.say("CLUSTER ADDSLOTSRANGE 0 16383").await;
                while !self.say("CLUSTER INFO").await.unwrap_or_default().contains("cluster_state:ok") {
                    tokio::time::sleep(Duration::from_millis(10)).await;
                }
            })
            .await;
        }
        true
    }

    /// The beginning of the answer to a command.
    async fn say(&self, command: &str) -> std::io::Result<String> {
        let mut stream = TcpStream::connect(("127.0.0.1", self.port)).await?;
        stream.write_all(format!("{command}\r\n").as_bytes()).await?;
        let mut answer = [0; 256];
        let length = stream.read(&mut answer).await?;
        Ok(String::from_utf8_lossy(&answer[..length]).into_owned())
    }

    async fn answers(&self) -> bool {
        match self.kind {
            Kind::Tls => TcpStream::connect(("127.0.0.1", self.port)).await.is_ok(),
            Kind::Plain | Kind::Cluster => self.say("PING").await.is_ok_and(|answer| answer == "+PONG\r\n"),
        }
    }

    /// Kills it.
    pub(crate) fn stop(&mut self) {
        if let Some(mut child) = self.child.take() {
            child.kill().unwrap();
            child.wait().unwrap();
        }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.stop();
    }
}

/// DER as a file holds it.
fn pem(label: &str, der: &[u8]) -> String {
    const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let groups = der.chunks(3).map(|bytes| {
        let bits = (0..3).fold(0, |bits, n| bits << 8 | usize::from(bytes.get(n).copied().unwrap_or_default()));
        let digit = |n: usize| if n > bytes.len() { '=' } else { char::from(DIGITS[bits >> (18 - 6 * n) & 63]) };
        (0..4).map(digit).collect::<String>()
    });
    let lines = groups.collect::<Vec<_>>().chunks(16).map(|line| line.concat() + "\n").collect::<String>();
    format!("-----BEGIN {label}-----\n{lines}-----END {label}-----\n")
}
