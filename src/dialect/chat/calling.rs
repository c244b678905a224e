//! The calls of one choice while they are streamed: which piece belongs to which, what each is called, and whether the
//! client gets it.
use super::call::{Form, OpenCall};
use super::chunk::{CallDelta, Called, Delta};
use crate::context::{Binding, Call, Glance, Ruling};
use crate::dialect::binder::BindError;
use crate::dialect::rewrite::Rewrite;
use crate::json::{ScanError, raw};
use serde_json::value::RawValue;

/// What a call counts as held besides its text, in bytes. Each piece looks for its call, so that their number must have
/// a limit.
const CALL_COST: usize = 1 << 10;

/// The calls.
#[derive(Debug, Default)]
pub(super) struct Calling {
    calls: Vec<OpenCall>,
    /// What is kept of their texts, in bytes.
    text: usize,
}

/// A piece of a call.
#[derive(Debug, Clone, Copy)]
pub(super) struct Part {
    call: usize,
    /// The index that it says, as clients read it that take none for the first one.
    index: u64,
    /// It says the name once more, and a client that puts names together would get one that is not to be called.
    renames: bool,
}

/// The pieces in a delta, as [`super::parts::Parts`] has them.
#[derive(Debug, Default)]
pub(super) struct Taken {
    calls: Vec<Part>,
    old: Option<Part>,
    /// What they say that is kept of their calls, in bytes.
    pub(super) text: usize,
}

impl Taken {
    pub(super) fn is_empty(&self) -> bool {
        self.calls.is_empty() && self.old.is_none()
    }
}

/// The calls of a chunk as the client gets them.
pub(super) struct Written {
    pub(super) calls: Vec<String>,
    pub(super) old: Option<String>,
    /// They are what came.
    pub(super) same: bool,
}

impl Calling {
    /// Takes the pieces of a delta.
    ///
    /// # Errors
    /// [`BindError::Renamed`], or [`BindError::Unreadable`] for what clients could read in several ways.
    pub(super) fn take(&mut self, delta: &Delta<'_>, binding: &Binding) -> Result<Taken, BindError> {
        let mut taken = Taken::default();
        let before = self.text;
        for piece in delta.tool_calls.iter().flatten() {
            let call = self.find(piece);
            let forms = [(&piece.function, Form::Function), (&piece.custom, Form::Custom)];
            let mut renames = false;
            for (called, form) in forms {
                if let Some(called) = called {
                    renames |= self.hear(call, called, form, binding)?;
                }
            }
            taken.calls.push(Part { call, index: piece.index.unwrap_or_default(), renames });
        }
        if let Some(called) = &delta.function_call {
            let known = self.calls.iter().position(|call| call.form == Some(Form::Old));
            let call = known.unwrap_or_else(|| self.open(OpenCall { form: Some(Form::Old), ..OpenCall::default() }));
            taken.old = Some(Part { call, index: 0, renames: self.hear(call, called, Form::Old, binding)? });
        }
        taken.text = self.text - before;
        Ok(taken)
    }

    /// What counts as held of them, in bytes.
    pub(super) fn size(&self) -> usize {
        self.calls.len() * CALL_COST + self.text
    }

    /// The call that a piece belongs to: as the reader of answers has it.
    fn find(&mut self, piece: &CallDelta<'_>) -> usize {
        let id = piece.id.and_then(|id| raw::string(id.get())).unwrap_or_default();
        let is_new = |call: &OpenCall| call.form != Some(Form::Old);
        let known = match piece.index {
            Some(_) => self.calls.iter().rposition(|call| is_new(call) && call.index == piece.index),
            None => self.calls.iter().rposition(is_new),
        };
        let is_other = |call: &OpenCall| !id.is_empty() && !call.id.is_empty() && call.id != id;
        let known = known.filter(|at| self.calls.get(*at).is_some_and(|call| !is_other(call)));
        let Some(at) = known else {
            return self.open(OpenCall { index: piece.index, id: id.into_owned(), ..OpenCall::default() });
        };
        if let Some(call) = self.calls.get_mut(at).filter(|call| call.id.is_empty()) {
            self.text += id.len();
            call.id = id.into_owned();
        }
        at
    }

    fn open(&mut self, call: OpenCall) -> usize {
        self.text += call.id.len();
        self.calls.push(call);
        self.calls.len() - 1
    }

    fn hear(&mut self, at: usize, called: &Called<'_>, form: Form, binding: &Binding) -> Result<bool, BindError> {
        let Some(call) = self.calls.get_mut(at) else { return Ok(false) };
        if *call.form.get_or_insert(form) != form {
            return Err(BindError::Unreadable("a call of two kinds".to_owned()));
        }
        let mut renames = false;
        if let Some(name) = called.name.map(RawValue::get).filter(|name| *name != "null") {
            let part = raw::string(name).ok_or_else(|| BindError::Unreadable("a name that is no string".to_owned()))?;
            self.text += part.len();
            renames = call.name(&part, binding)?;
        }
        if call.verdict != Some(Glance::Pass) {
            for piece in [called.arguments, called.input].into_iter().flatten() {
                let text = raw::string(piece.get()).unwrap_or(piece.get().into());
                self.text += text.len();
                call.input.push_str(&text);
            }
        }
        Ok(renames)
    }

    pub(super) fn is_empty(&self) -> bool {
        self.calls.is_empty()
    }

    /// Whether something is to be learnt or decided yet.
    pub(super) fn is_undecided(&self) -> bool {
        self.calls
            .iter()
            .any(|call| call.ruling.is_none() && !matches!(call.verdict, Some(Glance::Pass | Glance::Refuse)))
    }

    /// Whether the client gets one of them.
    pub(super) fn is_shown(&self) -> bool {
        self.calls.iter().any(OpenCall::is_shown)
    }

    /// Whether one of them is refused.
    pub(super) fn has_refused(&self) -> bool {
        self.calls.iter().any(OpenCall::is_refused)
    }

    /// Whether there are calls, and none that the client gets.
    pub(super) fn is_emptied(&self) -> bool {
        !self.is_empty() && self.calls.iter().all(OpenCall::is_refused)
    }

    /// The complete call, and what its name says.
    pub(super) fn complete(&self, at: usize, binding: &Binding) -> Option<(Call, Glance)> {
        self.calls.get(at).map(|call| (call.call(), call.judge(binding)))
    }

    /// What is decided about a call.
    pub(super) fn rule(&mut self, at: usize, ruling: Ruling) {
        if let Some(call) = self.calls.get_mut(at) {
            call.ruling = Some(ruling);
        }
    }

    /// The calls that passed before they were complete.
    pub(super) fn passed(&self) -> impl Iterator<Item = Call> {
        self.calls.iter().filter(|call| call.ruling.is_none() && call.is_shown()).map(OpenCall::call)
    }

    /// Writes the pieces of a chunk, `calls` and `old`, as the client gets them.
    ///
    /// # Errors
    /// [`ScanError`] for a piece with a key twice.
    pub(super) fn write(&mut self, taken: &Taken, calls: &[&str], old: Option<&str>) -> Result<Written, ScanError> {
        let mut written = Written { calls: vec![], old: None, same: true };
        for (part, element) in taken.calls.iter().zip(calls) {
            let now = self.element(*part, element)?;
            written.same &= now.as_deref() == Some(*element);
            written.calls.extend(now);
        }
        if let (Some(part), Some(element)) = (taken.old, old) {
            written.old = self.element(part, element)?;
            written.same &= written.old.as_deref() == old;
        }
        Ok(written)
    }

    fn element(&mut self, part: Part, element: &str) -> Result<Option<String>, ScanError> {
        self.place(part.call);
        let Some(call) = self.calls.get_mut(part.call).filter(|call| call.is_shown()) else { return Ok(None) };
        let index = call.shown.filter(|shown| part.index != *shown);
        if let Some(input) = call.new_input() {
            let is_first = !std::mem::replace(&mut call.written, true);
            return if is_first { call.whole(element, &input, index).map(Some) } else { Ok(None) };
        }
        if index.is_none() && !part.renames {
            return Ok(Some(element.to_owned()));
        }
        let mut edited = Rewrite::of(element)?;
        if let Some(index) = index {
            edited.set("index", index.to_string());
        }
        if part.renames {
            call.unname(&mut edited)?;
        }
        Ok(Some(edited.finish()))
    }

    /// Gives a call that the client gets its index: its own, unless calls before it are left out, or another one has it.
    /// SDKs add up whatever has one index, names too.
    fn place(&mut self, at: usize) {
        let Some(call) = self.calls.get(at).filter(|call| call.shown.is_none() && call.is_shown()) else { return };
        let own = call.index.unwrap_or_default();
        let is_old = call.form == Some(Form::Old);
        let others = || self.calls.iter().filter(|other| other.form != Some(Form::Old)).filter_map(|other| other.shown);
        let is_free = is_old || !(self.has_refused() || others().any(|shown| shown == own));
        let next = others().max().map_or(0, |last| last.saturating_add(1));
        if let Some(call) = self.calls.get_mut(at) {
            call.shown = Some(if is_free { own } else { next });
        }
    }
}
