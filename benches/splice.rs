//! What it costs to put text into a body: independent of the body's size.
#![allow(clippy::expect_used)] // a bench that can not read its own body must stop
mod body;

use body::agent_body;
use bytes::Bytes;
use criterion::{BenchmarkId, Criterion, criterion_group, criterion_main};
use hookgate::json::{Doc, Splice};

fn splice(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("splice");
    let text = Bytes::from(r#",{"type":"text","text":"Write a test for every fix."}"#);
    for (name, size) in [("4k", 4_096), ("1m", 1_000_000)] {
        let doc = Doc::parse(agent_body(size).into()).expect("the body is valid");
        let places: Vec<usize> = ["system", "messages", "tools"]
            .iter()
            .map(|key| doc.get(key).expect("the body has all three").value.end - 1)
            .collect();
        group.bench_function(BenchmarkId::new("three_insertions", name), |bench| {
            bench.iter(|| {
                let mut splice = Splice::new();
                for place in &places {
                    splice.insert(*place, text.clone());
                }
                splice.apply(doc.bytes()).expect("the places are in the body")
            });
        });
    }
    group.finish();
}

criterion_group!(benches, splice);
criterion_main!(benches);
