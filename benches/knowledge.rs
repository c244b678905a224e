//! How long it takes to find what matches a prompt, and what stands at the start of a session, among 10,000 entries.
//!
//! Words are drawn as languages use them: the n-th most frequent of 5,000 about 1/n as often as the first.
#![allow(missing_docs, clippy::unwrap_used, clippy::print_stdout, reason = "criterion's macros; a benchmark may fail")]

use criterion::{Criterion, criterion_group, criterion_main};
use hookgate::knowledge::entry::VERSION;
use hookgate::knowledge::{Entry, Kind, Knowledge, Origin, Reader, Scope, Status};
use hookgate::session::record::Tenant;
use hookgate::session::store::{MemoryStore, Store as _, keys};
use jiff::Timestamp;
use std::hint::black_box;
use std::sync::Arc;

const ENTRIES: usize = 10_000;
const VOCABULARY: f64 = 5_000.0;
const BODY_WORDS: usize = 60;

/// Words, always the same ones.
struct Speech(u64);

impl Speech {
    fn text(&mut self, words: usize) -> String {
        (0..words).map(|_| self.word()).collect::<Vec<_>>().join(" ")
    }

    #[allow(clippy::cast_precision_loss, clippy::cast_possible_truncation, clippy::cast_sign_loss)]
    fn word(&mut self) -> String {
        // xorshift64
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        let share = (self.0 % 1_000_000) as f64 / 1e6;
        format!("term{}", VOCABULARY.powf(share) as u64)
    }
}

fn entry(number: usize, speech: &mut Speech) -> Entry {
    Entry {
        v: VERSION,
        id: format!("{number:06}"),
        tenant: Some(Tenant("t_1".into())),
        title: speech.text(6),
        body: speech.text(BODY_WORDS),
        kind: Kind::Fact,
        tier: None,
        confidence: None,
        scope: Scope::All,
        status: Status::Approved,
        supersedes: None,
        superseded_by: None,
        origin: Origin::default(),
        proposed_at: Timestamp::from_second(i64::try_from(number).unwrap()).unwrap(),
        decided_by: None,
        decided_at: None,
    }
}

fn knowledge(speech: &mut Speech) -> Arc<Knowledge> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let store = MemoryStore::new();
        let write = |entry: Entry| {
            (keys::knowledge(entry.tenant.as_ref(), &entry.id), Some(serde_json::to_vec(&entry).unwrap().into()))
        };
        store.write((0..ENTRIES).map(|number| write(entry(number, speech))).collect()).await.unwrap();
        let started = std::time::Instant::now();
        let knowledge = Knowledge::open(None, Arc::new(store)).await.unwrap();
        println!("{ENTRIES} entries read and indexed in {:?}", started.elapsed());
        knowledge
    })
}

fn benchmark(criterion: &mut Criterion) {
    let mut speech = Speech(42);
    let knowledge = knowledge(&mut speech);
    let tenant = Tenant("t_1".into());
    let reader = Reader { tenant: &tenant, session: "s1", project: None };
    for words in [10, 60, 500] {
        let prompt = speech.text(words);
        criterion.bench_function(&format!("pick 3 of {ENTRIES} for a prompt of {words} words"), |bencher| {
            bencher.iter(|| knowledge.find(&reader, black_box(&prompt), 3, |_| true));
        });
    }
    criterion.bench_function(&format!("what stands at the start, of {ENTRIES}"), |bencher| {
        bencher.iter(|| knowledge.standing(black_box(&reader), 2000));
    });
}

criterion_group!(benches, benchmark);
criterion_main!(benches);
