//! What it costs to validate a body and to find its parts.
#![allow(clippy::expect_used)] // a bench that can not read its own body must stop
mod body;

use body::agent_body;
use bytes::Bytes;
use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use hookgate::json::{Doc, raw};
use serde_json::Value;
use serde_json::value::RawValue;
use std::collections::HashMap;

fn scan(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("scan");
    for (name, size) in [("4k", 4_096), ("100k", 100_000), ("1m", 1_000_000)] {
        let body = Bytes::from(agent_body(size));
        group.throughput(Throughput::Bytes(body.len() as u64));
        group.bench_with_input(BenchmarkId::new("doc", name), &body, |bench, body| {
            bench.iter(|| Doc::parse(body.clone()).expect("the body is valid"));
        });
        // The two alternatives that were weighed: borrowed spans, and a tree.
        group.bench_with_input(BenchmarkId::new("serde_raw", name), &body, |bench, body| {
            bench.iter(|| serde_json::from_slice::<HashMap<&str, &RawValue>>(body).expect("the body is valid"));
        });
        group.bench_with_input(BenchmarkId::new("serde_value", name), &body, |bench, body| {
            bench.iter(|| serde_json::from_slice::<Value>(body).expect("the body is valid"));
        });
        let doc = Doc::parse(body.clone()).expect("the body is valid");
        let messages = doc.get("messages").expect("there are messages");
        group.bench_function(BenchmarkId::new("roles", name), |bench| {
            bench.iter(|| {
                let roles = messages.elements.iter().filter_map(|span| raw::get_str(doc.text(*span), "role"));
                roles.map(|role| role.len()).sum::<usize>()
            });
        });
    }
    group.finish();
}

criterion_group!(benches, scan);
criterion_main!(benches);
