//! What the tests of binding share.
use super::leg_testing::{form_of, pieces, samples};
use super::{BindError, BoundLeg, Dialect, Piece, Ruled};
use crate::context::{AnswerForm, Binding, Call, LegResult, Roster, Ruling};
use std::sync::Arc;

/// More than any test holds, in bytes.
const LIMIT: usize = 1 << 20;

/// What a leg came to.
#[derive(Debug)]
pub(super) struct Bound {
    /// What went down, the end that was kept back included.
    pub(super) text: String,
    /// What went down before the end that was kept back.
    pub(super) before_end: String,
    /// The calls.
    pub(super) calls: Vec<Ruled>,
    /// Whether the end was kept back.
    pub(super) emptied: bool,
}

/// Only these tools.
pub(super) fn only(names: &[&str]) -> Binding {
    let names = names.iter().map(|name| (*name).to_owned()).collect();
    Binding { tools: Roster::Only(names), asks: false }
}

/// What the model is told of a call of `bash` that was refused.
pub(super) fn told(id: &str) -> Option<LegResult> {
    Some(LegResult {
        id: id.to_owned(),
        name: "bash".to_owned(),
        kind: String::new(),
        text: "no".to_owned(),
        is_error: true,
    })
}

/// Every call is asked for.
pub(super) fn asking() -> Binding {
    Binding { tools: Roster::Any, asks: true }
}

/// Nobody is asked.
pub(super) fn never(call: &Call) -> Ruling {
    panic!("nobody is to be asked about {}", call.name)
}

/// Denies calls to this tool.
pub(super) fn deny(name: &'static str) -> impl Fn(&Call) -> Ruling {
    move |call| if call.name == name { Ruling::Refuse("no".into()) } else { Ruling::Allow }
}

/// Binds a whole leg; calls that are asked for are decided on by `decide`. An end that is kept back is passed behind
/// `notice`.
pub(super) fn bind(
    dialect: &dyn Dialect,
    form: AnswerForm,
    leg: &[u8],
    binding: Binding,
    notice: Option<&str>,
    decide: impl Fn(&Call) -> Ruling,
) -> Result<Bound, BindError> {
    let mut bound = BoundLeg::new(dialect.binder(form, Arc::new(binding)), LIMIT);
    let mut out = String::new();
    let mut pass = |piece: Piece<'_>| out.push_str(&String::from_utf8_lossy(&piece.raw));
    for piece in pieces(form, leg) {
        bound.piece(&piece.piece(), &mut pass)?;
    }
    bound.finish(&mut pass)?;
    while let Some(call) = bound.waiting().cloned() {
        bound.rule(decide(&call), &mut pass)?;
    }
    let emptied = bound.is_emptied();
    let before_end = out.clone();
    let mut pass = |piece: Piece<'_>| out.push_str(&String::from_utf8_lossy(&piece.raw));
    if emptied {
        bound.close(notice, &mut pass)?;
    }
    Ok(Bound { text: out, before_end, calls: bound.calls().to_vec(), emptied })
}

/// The calls of an answer that a client would make.
pub(super) fn calls_in(dialect: &dyn Dialect, form: AnswerForm, answer: &str) -> Vec<(String, String)> {
    let mut reader = dialect.reader(form);
    for piece in pieces(form, answer.as_bytes()) {
        let piece = piece.piece();
        match (piece.data, form) {
            (Some(data), AnswerForm::Json) => reader.body(data),
            (Some(data), _) => reader.event(piece.event, data),
            (None, _) => {}
        }
    }
    reader.finish().calls.into_iter().map(|call| (call.name, call.input.get().to_owned())).collect()
}

/// What a leg costs that is held beside its own bytes: its calls, its choices, the end.
const BESIDE: usize = 8 << 10;

/// A leg of one long call can wait, where there is room for its bytes and not for twice as many.
pub(super) fn what_waits_counts_once(dialect: &dyn Dialect, leg: &str) {
    assert!(leg.len() > 4 * BESIDE, "too short to tell");
    for binding in [asking(), only(&[])] {
        let mut bound = BoundLeg::new(dialect.binder(AnswerForm::Sse, Arc::new(binding)), leg.len() + BESIDE);
        for piece in pieces(AnswerForm::Sse, leg.as_bytes()) {
            bound.piece(&piece.piece(), &mut |_| {}).unwrap();
        }
        let mut bound = BoundLeg::new(dialect.binder(AnswerForm::Sse, Arc::new(asking())), leg.len() / 8);
        let mut pieces = pieces(AnswerForm::Sse, leg.as_bytes()).into_iter();
        assert!(pieces.any(|piece| bound.piece(&piece.piece(), &mut |_| {}) == Err(BindError::TooLong)));
    }
}

/// The law of all recorded streams: what is allowed passes byte for byte, whoever decided it.
pub(super) fn what_is_allowed_passes_byte_for_byte(dialect: &dyn Dialect) {
    for (file, bytes, _) in samples(dialect) {
        let form = form_of(&file);
        let names = calls_in(dialect, form, &String::from_utf8_lossy(&bytes));
        let names: Vec<&str> = names.iter().map(|(name, _)| name.as_str()).collect();
        for binding in [only(&names), asking()] {
            let Ok(bound) = bind(dialect, form, &bytes, binding, None, |_| Ruling::Allow) else {
                assert!(file.contains("-bad-") || file.contains("-cut-"), "{file}");
                continue;
            };
            assert!(bound.emptied || bound.text == String::from_utf8_lossy(&bytes), "{file}:\n{}", bound.text);
            assert!(!bound.emptied, "{file}");
        }
    }
}

/// The law of all recorded streams: a refused call does not reach the client, everything else does.
pub(super) fn what_is_refused_does_not_reach_the_client(dialect: &dyn Dialect) {
    let mut refused = 0;
    for (file, bytes, _) in samples(dialect) {
        let form = form_of(&file);
        let text = String::from_utf8_lossy(&bytes).into_owned();
        let calls = calls_in(dialect, form, &text);
        let deny = |_: &Call| Ruling::Refuse("no".to_owned());
        for binding in [only(&[]), asking()] {
            let Ok(bound) = bind(dialect, form, &bytes, binding, Some("told"), deny) else {
                assert!(file.contains("-bad-") || file.contains("-cut-"), "{file}");
                continue;
            };
            assert_eq!(calls_in(dialect, form, &bound.text), [], "{file}:\n{}", bound.text);
            if !calls.is_empty() {
                refused += 1;
                assert_eq!(bound.calls.len(), calls.len(), "{file}");
                for (ruled, (name, input)) in bound.calls.iter().zip(&calls) {
                    assert_eq!((&ruled.call.name, ruled.call.input.get()), (name, input.as_str()), "{file}");
                }
            } else {
                assert_eq!(bound.text, text, "{file}");
            }
        }
    }
    assert!(refused > 2, "too few samples have calls");
}
