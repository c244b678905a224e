//! What it costs to watch a stream.
use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use hookgate::json::ArrayFramer;
use hookgate::sse::Framer;

const FRAMES: usize = 50;
/// A network segment's worth, a read buffer's worth, and everything at once.
const CHUNKS: [(&str, usize); 3] = [("1400", 1_400), ("16k", 16 << 10), ("whole", usize::MAX)];

fn events(text: &str) -> Vec<u8> {
    let delta = r#"{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":""#;
    format!("event: content_block_delta\ndata: {delta}{text}\"}}}}\n\n").repeat(FRAMES).into_bytes()
}

fn framer(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("framer");
    for (frames, text) in [("tokens", " kettle".to_owned()), ("long", " kettle".repeat(300))] {
        let stream = events(&text);
        group.throughput(Throughput::Bytes(stream.len() as u64));
        for (name, size) in CHUNKS {
            group.bench_function(BenchmarkId::new(frames, name), |bench| {
                bench.iter(|| {
                    let (mut framer, mut seen) = (Framer::new(), 0);
                    for chunk in stream.chunks(size) {
                        framer.push(chunk, |frame| seen += frame.data.len());
                    }
                    seen
                });
            });
        }
    }
    group.finish();
}

fn array(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("array");
    let element = r#"{"candidates":[{"content":{"parts":[{"text":"The kettle is on."}],"role":"model"},"index":0}]}"#;
    let stream = format!("[{}]", [element; FRAMES].join("\n,\n"));
    group.throughput(Throughput::Bytes(stream.len() as u64));
    for (name, size) in CHUNKS {
        group.bench_function(BenchmarkId::new("tokens", name), |bench| {
            bench.iter(|| {
                let (mut framer, mut seen) = (ArrayFramer::new(), 0);
                for chunk in stream.as_bytes().chunks(size) {
                    framer.push(chunk, |element| seen += element.len());
                }
                seen
            });
        });
    }
    group.finish();
}

criterion_group!(benches, framer, array);
criterion_main!(benches);
