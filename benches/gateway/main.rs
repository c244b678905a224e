//! The whole gateway as a process of its own, next to a bare hyper proxy between the same client and the same provider.
//!
//! `cargo bench --bench gateway` takes about a minute and talks to loopback only. Absolute numbers say little on a shared
//! machine; the ratios in one row were measured in turns and are what to compare.
#![allow(clippy::expect_used, clippy::print_stdout)] // a bench that can't start must stop, and prints its table
#[path = "../body/mod.rs"]
mod body;
mod load;
mod process;
mod provider;
mod proxy;

use body::agent_body;
use bytes::Bytes;
use load::{Load, Measured};
use process::Process;
use std::time::Duration;

/// Rounds of one row; each visits every target once, and a ratio is the median over the rounds.
const ROUNDS: usize = 3;
/// How long one target is measured in one round.
const SLICE: Duration = Duration::from_secs(1);
/// Requests in flight: enough to keep a small machine busy.
const CONNECTIONS: usize = 16;
/// The paced row: 10 connections that each ask every 10 ms are 1,000 requests a second.
const PACED_CONNECTIONS: usize = 10;
const PACE: Duration = Duration::from_millis(10);

/// Three texts, a session record, everything else as it is by default.
const HOOKS: &str = r#"
hooks:
  - { name: rules, on: session.start, run: { text: "Write a test for every fix." } }
  - { name: style, on: session.start, run: { text: "Names say what a thing is." } }
  - { name: notes, on: prompt.submit, run: { text: "The build is green; two reviews are open." } }
"#;

fn main() {
    let arguments: Vec<String> = std::env::args().collect();
    let runtime = tokio::runtime::Runtime::new().expect("a runtime");
    match arguments.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        [_, "provider", port] => runtime.block_on(provider::run(number(port))),
        [_, "proxy", port, upstream] => runtime.block_on(proxy::run(number(port), number(upstream))),
        _ => runtime.block_on(measure()),
    }
}

fn number(port: &str) -> u16 {
    port.parse().expect("a port")
}

async fn measure() {
    let provider = Process::of_this_bench("provider", &[]).await;
    let bare = Process::of_this_bench("proxy", &[provider.port]).await;
    let relaying = Process::gateway(provider.port, "").await;
    let hooked = Process::gateway(provider.port, HOOKS).await;
    let targets = [&bare, &relaying, &hooked];

    println!(
        "{:<34}{:>12}{:>12}{:>12}{:>11}{:>11}{:>11}",
        "", "relay/bare", "hooks/bare", "bare", "bare", "relay", "hooks"
    );
    println!("{:<34}{:>12}{:>12}{:>12}{:>11}{:>11}{:>11}", "throughput", "", "", "req/s", "us CPU", "us CPU", "us CPU");
    for (name, size) in [("4 KB", 4_096), ("100 KB", 100_000), ("1 MB", 1_000_000)] {
        row(name, Load { body: conversation(size, false), burst: false, pace: None }, targets).await;
    }
    row("4 KB, 50 events at once", Load { body: conversation(4_096, true), burst: true, pace: None }, targets).await;

    println!("\n{:<34}{:>12}{:>12}{:>12}", "latency, us", "p50", "p99", "added p50");
    let paced = Load { body: conversation(4_096, false), burst: false, pace: Some(PACE) };
    let mut floor = 0;
    for (name, target) in [("1,000 req/s, bare", &bare), ("1,000 req/s, hooks", &hooked)] {
        let measured = paced.run(target, PACED_CONNECTIONS, SLICE * 3).await;
        let (p50, p99) = (measured.percentile(50), measured.percentile(99));
        println!("{name:<34}{p50:>12}{p99:>12}{:>12}", if floor == 0 { 0 } else { p50.saturating_sub(floor) });
        floor = p50;
    }
    println!("\npeak memory with hooks: {} MiB", hooked.peak_memory() >> 20);
}

/// A body whose last message is a prompt, as at the begin of a turn.
fn conversation(size: usize, stream: bool) -> Bytes {
    const PROMPT: &str =
        r#",{"role":"assistant","content":"Read."},{"role":"user","content":"Now fix it."}],"tools":["#;
    let body = agent_body(size).replacen(r#"],"tools":["#, PROMPT, 1);
    Bytes::from(if stream { body } else { body.replace(r#""stream":true"#, r#""stream":false"#) })
}

async fn row(name: &str, load: Load, targets: [&Process; 3]) {
    let mut rounds: [Vec<Measured>; 3] = Default::default();
    for round in 0..ROUNDS {
        let mut order = [0, 1, 2];
        // There and back, so that no target always follows the same one.
        if round % 2 == 1 {
            order.reverse();
        }
        for index in order {
            rounds[index].push(load.run(targets[index], CONNECTIONS, SLICE).await);
        }
    }
    let [bare, relay, hooks] = &rounds;
    let ratio = |of: &[Measured]| median(of.iter().zip(bare).map(|(a, b)| a.rate() / b.rate()).collect());
    let cpu = |of: &[Measured]| median(of.iter().map(Measured::cpu_micros).collect());
    println!(
        "{name:<34}{:>12.2}{:>12.2}{:>12.0}{:>11.1}{:>11.1}{:>11.1}",
        ratio(relay),
        ratio(hooks),
        median(bare.iter().map(Measured::rate).collect()),
        cpu(bare),
        cpu(relay),
        cpu(hooks),
    );
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied().unwrap_or(f64::NAN)
}
