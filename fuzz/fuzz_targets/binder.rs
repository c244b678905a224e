//! Whatever a leg says, in whatever form: where no tool may be called, binding it comes to an end, and in what goes down the
//! dialect's own reader finds no call.
//!
//! An input is one leg. Good seeds are `tests/wire-samples/*`.
#![no_main]
use bytes::Bytes;
use hookgate::context::{AnswerForm, Binding, Roster};
use hookgate::dialect::{self, BindError, BoundLeg, DialectId, Piece};
use hookgate::json::ArrayFramer;
use hookgate::sse::Framer;
use libfuzzer_sys::fuzz_target;
use std::collections::HashSet;
use std::sync::Arc;

/// More than an input has, in bytes.
const LIMIT: usize = 64 << 20;

/// Calls `each` for every piece of a leg.
fn pieces(form: AnswerForm, leg: &[u8], mut each: impl FnMut(Piece<'_>)) {
    let mut from = 0;
    let mut take = |end: usize, event: Option<&[u8]>, data: Option<&[u8]>| {
        let raw = Bytes::copy_from_slice(leg.get(from..end).unwrap_or_default());
        from = end;
        each(Piece { raw, event, data });
    };
    match form {
        AnswerForm::Json => return take(leg.len(), None, Some(leg)),
        AnswerForm::Sse => Framer::new().push_at(leg, |frame, end| match frame {
            Some(frame) => take(end, frame.event, Some(&frame.data)),
            None => take(end, None, None),
        }),
        AnswerForm::JsonArray => ArrayFramer::new().push_at(leg, |element, end| take(end, None, Some(element))),
    }
    take(leg.len(), None, None);
}

/// What goes down.
fn bound(id: DialectId, form: AnswerForm, leg: &[u8]) -> Result<Vec<u8>, BindError> {
    let binding = Binding { tools: Roster::Only(HashSet::new()), asks: false };
    let mut bound = BoundLeg::new(dialect::of(id).binder(form, Arc::new(binding)), LIMIT);
    let mut out = vec![];
    let mut failed = None;
    pieces(form, leg, |piece| {
        if failed.is_none() {
            failed = bound.piece(&piece, &mut |piece| out.extend_from_slice(&piece.raw)).err();
        }
    });
    if let Some(error) = failed {
        return Err(error);
    }
    bound.finish(&mut |piece| out.extend_from_slice(&piece.raw))?;
    assert!(bound.waiting().is_none(), "nobody is to be asked");
    if bound.is_emptied() {
        bound.close(Some("no"), &mut |piece| out.extend_from_slice(&piece.raw))?;
    }
    Ok(out)
}

fuzz_target!(|leg: &[u8]| {
    for id in DialectId::ALL {
        for form in [AnswerForm::Sse, AnswerForm::Json, AnswerForm::JsonArray] {
            if form == AnswerForm::JsonArray && id != DialectId::Gemini {
                continue; // no other dialect has it
            }
            let Ok(out) = bound(id, form, leg) else { continue };
            let mut reader = dialect::of(id).reader(form);
            pieces(form, &out, |piece| match (piece.data, form) {
                (Some(data), AnswerForm::Json) => reader.body(data),
                (Some(data), _) => reader.event(piece.event, data),
                (None, _) => {}
            });
            assert!(reader.finish().calls.is_empty(), "a call got through");
        }
    }
});
