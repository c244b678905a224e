//! The client: connections that ask one after the other, as fast as they get answers or at a pace.
use super::process::Process;
use bytes::Bytes;
use http_body_util::{BodyExt as _, Full};
use hyper::Request;
use hyper::client::conn::http1::{self, SendRequest};
use hyper_util::rt::TokioIo;
use std::time::Duration;
use tokio::net::TcpStream;
use tokio::task::JoinSet;
use tokio::time::{Instant, interval_at};

/// What is asked.
#[derive(Clone)]
pub(crate) struct Load {
    pub(crate) body: Bytes,
    /// Whether the provider answers with a stream whose events all come at once.
    pub(crate) burst: bool,
    /// Time from one request of a connection to its next; `None`: at once.
    pub(crate) pace: Option<Duration>,
}

/// One target in one round.
pub(crate) struct Measured {
    /// Of every request, in microseconds, sorted.
    latencies: Vec<u64>,
    elapsed: Duration,
    cpu: Duration,
}

impl Measured {
    /// Requests per second.
    pub(crate) fn rate(&self) -> f64 {
        self.latencies.len() as f64 / self.elapsed.as_secs_f64()
    }

    /// The process' CPU time per request, in microseconds.
    pub(crate) fn cpu_micros(&self) -> f64 {
        self.cpu.as_secs_f64() * 1e6 / self.latencies.len() as f64
    }

    /// In microseconds.
    pub(crate) fn percentile(&self, percent: usize) -> u64 {
        self.latencies.get(self.latencies.len() * percent / 100).copied().unwrap_or_default()
    }
}

impl Load {
    /// Asks `target` for as long as `time`.
    pub(crate) async fn run(&self, target: &Process, connections: usize, time: Duration) -> Measured {
        let (begun, cpu) = (Instant::now(), target.cpu());
        let mut workers = JoinSet::new();
        for number in 0..connections {
            workers.spawn(self.clone().connection(target.port, (number, connections), begun + time));
        }
        let mut latencies: Vec<u64> = workers.join_all().await.into_iter().flatten().collect();
        let (elapsed, cpu) = (begun.elapsed(), target.cpu().saturating_sub(cpu));
        latencies.sort_unstable();
        Measured { latencies, elapsed, cpu }
    }

    async fn connection(self, port: u16, (number, of): (usize, usize), end: Instant) -> Vec<u64> {
        let stream = TcpStream::connect(("127.0.0.1", port)).await.expect("a connection");
        stream.set_nodelay(true).expect("no delay");
        let (mut sender, connection) = http1::handshake(TokioIo::new(stream)).await.expect("a handshake");
        tokio::spawn(connection);
        let mut latencies = Vec::new();
        // Connections take turns within the pace, so that requests come evenly and not all at once.
        let turn = |pace: Duration| pace * u32::try_from(number).unwrap_or_default() / u32::try_from(of).unwrap_or(1);
        let mut ticks = self.pace.map(|pace| interval_at(Instant::now() + turn(pace), pace));
        while Instant::now() < end {
            if let Some(ticks) = &mut ticks {
                ticks.tick().await;
            }
            let asked = Instant::now();
            self.ask(&mut sender, number).await;
            latencies.push(u64::try_from(asked.elapsed().as_micros()).unwrap_or(u64::MAX));
        }
        latencies
    }

    async fn ask(&self, sender: &mut SendRequest<Full<Bytes>>, number: usize) {
        let request = Request::post(if self.burst { "/v1/messages?burst" } else { "/v1/messages" })
            .header("host", "127.0.0.1")
            .header("content-type", "application/json")
            .header("anthropic-version", "2023-06-01")
            .header("x-api-key", "none")
            .header("x-hookgate-session", format!("session-{number}"))
            .body(Full::new(self.body.clone()))
            .expect("a request");
        let response = sender.send_request(request).await.expect("an answer");
        assert!(response.status().is_success(), "{}", response.status());
        let mut body = response.into_body();
        while let Some(frame) = body.frame().await {
            frame.expect("a whole answer");
        }
    }
}
