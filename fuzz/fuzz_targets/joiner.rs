//! Whatever two legs say, in whatever form: joining them comes to an end, and what can't be joined leaves nothing behind.
#![no_main]
use bytes::Bytes;
use hookgate::context::AnswerForm;
use hookgate::dialect::{self, DialectId, Piece};
use libfuzzer_sys::fuzz_target;

type Pieces = Vec<(Option<Vec<u8>>, Option<Vec<u8>>)>;

fuzz_target!(|legs: (Pieces, Pieces)| {
    for id in DialectId::ALL {
        for form in [AnswerForm::Sse, AnswerForm::Json, AnswerForm::JsonArray] {
            let mut joiner = dialect::of(id).joiner(form);
            let mut out: Vec<Bytes> = vec![];
            for (index, leg) in [&legs.0, &legs.1].into_iter().enumerate() {
                if index > 0 {
                    joiner.next_leg();
                }
                for (event, data) in leg {
                    let raw = Bytes::from(data.clone().unwrap_or_default());
                    let before = out.len();
                    let result = joiner.piece(&Piece { raw, event: event.as_deref(), data: data.as_deref() }, &mut out);
                    assert!(index > 0 || result.is_ok(), "the first leg passes");
                    assert!(result.is_ok() || out.len() == before, "a lost piece left something behind");
                }
                let _ = (joiner.is_over(), joiner.has_spoken(), joiner.answer());
            }
            joiner.end(&mut out);
        }
    }
});
