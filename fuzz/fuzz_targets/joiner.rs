//! Whatever legs say, in whatever form: joining them comes to an end, a first leg passes without a byte lost or added but
//! where its end is parted from a text, and what can't be joined leaves nothing behind.
//!
//! An input is one leg after the other, a zero byte between them. Good seeds are pairs of `tests/wire-samples/*`.
#![no_main]
use bytes::Bytes;
use hookgate::context::AnswerForm;
use hookgate::dialect::{self, DialectId, Joiner, Piece};
use hookgate::sse::Framer;
use libfuzzer_sys::fuzz_target;

/// Gives a leg to the joiner, event by event; false if it is lost.
fn feed(joiner: &mut dyn Joiner, form: AnswerForm, leg: &[u8], out: &mut Vec<Bytes>) -> bool {
    let mut kept = true;
    let mut take = |raw: &[u8], event: Option<&[u8]>, data: Option<&[u8]>, out: &mut Vec<Bytes>| {
        let before = out.len();
        if kept && joiner.piece(&Piece { raw: Bytes::copy_from_slice(raw), event, data }, out).is_err() {
            assert_eq!(out.len(), before, "a lost piece left something behind");
            kept = false;
        }
    };
    if form == AnswerForm::Json {
        take(leg, None, Some(leg), out);
        return kept;
    }
    let (mut framer, mut from) = (Framer::new(), 0);
    framer.push_at(leg, |frame, end| {
        let raw = leg.get(from..end).unwrap_or_default();
        from = end;
        match frame {
            Some(frame) => take(raw, frame.event, Some(&frame.data), out),
            None => take(raw, None, None, out),
        }
    });
    let rest = leg.get(from..).unwrap_or_default();
    if !rest.is_empty() {
        take(rest, None, None, out);
    }
    kept
}

fuzz_target!(|legs: &[u8]| {
    for id in DialectId::ALL {
        for form in [AnswerForm::Sse, AnswerForm::Json, AnswerForm::JsonArray] {
            let mut joiner = dialect::of(id).joiner(form);
            let mut out: Vec<Bytes> = vec![];
            for (index, leg) in legs.split(|byte| *byte == 0).take(3).enumerate() {
                if index > 0 {
                    joiner.next_leg();
                }
                let kept = feed(joiner.as_mut(), form, leg, &mut out);
                assert!(index > 0 || kept, "the first leg passes");
                let _ = (joiner.is_over(), joiner.has_spoken(), joiner.answer());
            }
            let is_single = !legs.contains(&0);
            joiner.end(&mut out);
            let parts = matches!(id, DialectId::Chat | DialectId::Gemini) && form != AnswerForm::Json;
            assert!(!is_single || parts || out.concat() == legs, "a single leg is what came");
        }
    }
});
