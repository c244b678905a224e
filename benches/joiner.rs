//! What it costs that an answer may be continued: each event of its stream goes by the joiner as well as by the reader.
use bytes::Bytes;
use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use hookgate::context::AnswerForm;
use hookgate::dialect::{self, DialectId, Piece};

/// As many as a long answer has.
const EVENTS: u64 = 1000;

/// A stream of text: what comes before the text, and one event of it.
fn stream(dialect: DialectId) -> (&'static [(&'static str, &'static str)], (&'static str, &'static str)) {
    match dialect {
        DialectId::Anthropic => (
            &[
                ("message_start", r#"{"type":"message_start","message":{"id":"msg_1","usage":{"input_tokens":9}}}"#),
                (
                    "content_block_start",
                    r#"{"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}"#,
                ),
            ],
            (
                "content_block_delta",
                r#"{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":" kettle is"}}"#,
            ),
        ),
        DialectId::Chat => (
            &[],
            (
                "",
                r#"{"id":"chatcmpl-1","object":"chat.completion.chunk","created":1790000000,"model":"m","system_fingerprint":"fp_1","choices":[{"index":0,"delta":{"content":" kettle is"},"logprobs":null,"finish_reason":null}],"usage":null,"obfuscation":"xk3"}"#,
            ),
        ),
        DialectId::Responses => (
            &[
                (
                    "response.output_item.added",
                    r#"{"type":"response.output_item.added","output_index":0,"item":{"id":"msg_0","type":"message","content":[]},"sequence_number":0}"#,
                ),
                (
                    "response.content_part.added",
                    r#"{"type":"response.content_part.added","item_id":"msg_0","output_index":0,"content_index":0,"part":{},"sequence_number":1}"#,
                ),
            ],
            (
                "response.output_text.delta",
                r#"{"type":"response.output_text.delta","item_id":"msg_0","output_index":0,"content_index":0,"delta":" kettle is","logprobs":[],"sequence_number":2,"obfuscation":"xk3"}"#,
            ),
        ),
        DialectId::Gemini => (
            &[],
            (
                "",
                r#"{"candidates":[{"content":{"parts":[{"text":" kettle is"}],"role":"model"},"index":0}],"usageMetadata":{"promptTokenCount":20,"totalTokenCount":20},"modelVersion":"gemini-4-argon","responseId":"r1"}"#,
            ),
        ),
    }
}

fn piece((event, data): (&'static str, &'static str)) -> (Bytes, Option<&'static [u8]>, &'static [u8]) {
    let name = (!event.is_empty()).then_some(event.as_bytes());
    (format!("event: {event}\ndata: {data}\n\n").into(), name, data.as_bytes())
}

fn legs(criterion: &mut Criterion) {
    for id in DialectId::ALL {
        let (start, delta) = stream(id);
        let start: Vec<_> = start.iter().copied().map(piece).collect();
        let delta = piece(delta);
        let pieces = || start.iter().chain(std::iter::repeat_n(&delta, EVENTS as usize));
        let mut group = criterion.benchmark_group("answer");
        group.throughput(Throughput::Elements(EVENTS));
        group.bench_function(BenchmarkId::new("reader", id.name()), |bench| {
            bench.iter(|| {
                let mut reader = dialect::of(id).reader(AnswerForm::Sse);
                pieces().for_each(|(_, event, data)| reader.event(*event, data));
                reader
            });
        });
        for (name, is_later) in [("first leg", false), ("later leg", true)] {
            group.bench_function(BenchmarkId::new(name, id.name()), |bench| {
                bench.iter(|| {
                    let mut joiner = dialect::of(id).joiner(AnswerForm::Sse);
                    let mut out = Vec::with_capacity(4);
                    if is_later {
                        joiner.next_leg();
                    }
                    for (raw, event, data) in pieces() {
                        let piece = Piece { raw: raw.clone(), event: *event, data: Some(data) };
                        assert!(joiner.piece(&piece, &mut out).is_ok(), "a legal leg");
                        out.clear();
                    }
                    joiner
                });
            });
        }
        group.finish();
    }
}

criterion_group!(benches, legs);
criterion_main!(benches);
