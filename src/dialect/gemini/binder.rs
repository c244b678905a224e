//! Responses, held to the functions that they may call: parts of refused calls are left out.
//!
//! A chunk never goes away with its calls, so that the framing around it stays whatever it is: events, elements of an
//! array, or a body of one piece.
use super::drafts::{Drafts, Fate};
use super::screened::{Screened, check_frame, is_in_lines};
use crate::context::{AnswerForm, Binding, Call, Ruling};
use crate::dialect::binder::{BindError, Binder, Kept, Pass, Ruled};
use crate::dialect::object::{Object, slice};
use crate::dialect::rewrite::{Rewrite, edited};
use crate::dialect::{Piece, frame};
use crate::json::{Splice, raw};
use std::collections::VecDeque;
use std::sync::Arc;

/// Calls of an answer as parts.
pub(super) fn native_calls(answer: &[String]) -> Vec<String> {
    let mut calls = vec![];
    for content in answer {
        let Some(parts) = super::view::parts_span(content).map(|span| slice(content, span)) else { continue };
        let spans = raw::array(parts).unwrap_or_default().into_iter();
        let is_call = |part: &&str| Object::parse_proto(part).is_ok_and(|part| part.get("functionCall").is_some());
        calls.extend(spans.map(|span| slice(parts, span)).filter(is_call).map(str::to_owned));
    }
    calls
}

/// Binds an answer in any form.
#[derive(Debug)]
pub(super) struct AnswerBinder {
    form: AnswerForm,
    calls: Drafts,
    /// Chunks that wait for calls of theirs, and what came behind them.
    queue: VecDeque<Entry>,
    /// The end, where it is kept back.
    end: Vec<Kept>,
    /// Bytes in `queue` and `end`.
    held: usize,
}

/// A chunk.
#[derive(Debug)]
struct Entry {
    kept: Kept,
    slots: Vec<Slot>,
    ends: bool,
}

/// A part of a chunk that is a call's.
#[derive(Debug, Clone, Copy)]
struct Slot {
    /// Which of the chunk's candidates, and which of its calls.
    candidate: usize,
    call: usize,
    draft: usize,
    /// Whether the call begins here.
    is_first: bool,
}

impl AnswerBinder {
    pub(super) fn new(form: AnswerForm, binding: Arc<Binding>) -> Self {
        Self { form, calls: Drafts::new(binding), queue: VecDeque::new(), end: vec![], held: 0 }
    }

    /// Takes note of a chunk's calls.
    fn slots(&mut self, chunk: &Screened<'_>) -> Result<Vec<Slot>, BindError> {
        let mut slots = vec![];
        for (candidate, found) in chunk.candidates.iter().enumerate() {
            for (call, part) in found.calls.iter().enumerate() {
                let (draft, is_first) = self.calls.take(found.index, part)?;
                slots.push(Slot { candidate, call, draft, is_first });
            }
        }
        self.calls.settle();
        Ok(slots)
    }

    fn is_decided(&self, slots: &[Slot]) -> bool {
        slots.iter().all(|slot| self.calls.fate(slot.draft).is_some())
    }

    /// Passes what waits for nothing any more.
    fn flow(&mut self, pass: &mut Pass<'_>) -> Result<(), BindError> {
        while self.queue.front().is_some_and(|entry| self.is_decided(&entry.slots))
            && let Some(entry) = self.queue.pop_front()
        {
            self.held -= entry.kept.len();
            self.emit(&entry.kept.piece(), &entry.slots, entry.ends, pass)?;
        }
        Ok(())
    }

    /// Passes a chunk whose calls are decided, or keeps it with the end. Where other answers go on to call what is shown,
    /// that was no end to be kept.
    fn emit(&mut self, piece: &Piece<'_>, slots: &[Slot], ends: bool, pass: &mut Pass<'_>) -> Result<(), BindError> {
        let edited = self.edited(piece, slots)?;
        let piece = edited.as_deref().map_or_else(|| piece.clone(), |data| with_data(piece, data));
        if self.end.is_empty() && !(ends && self.is_emptied()) {
            pass(piece);
            return Ok(());
        }
        self.held += piece.raw.len();
        self.end.push(Kept::of(&piece));
        if self.is_emptied() { Ok(()) } else { self.close(None, pass) }
    }

    /// The chunk without the parts of refused calls, and with other arguments; `None` where it goes down as it came.
    fn edited(&self, piece: &Piece<'_>, slots: &[Slot]) -> Result<Option<String>, BindError> {
        let data = piece.data.unwrap_or_default();
        if slots.iter().all(|slot| matches!(self.calls.fate(slot.draft), Some(Fate::Pass))) {
            let in_lines = is_in_lines(piece);
            return Ok(in_lines.then(|| String::from_utf8_lossy(data).into_owned()));
        }
        let Some(chunk) = Screened::read(data)? else { return Ok(None) };
        let mut splice = Splice::new();
        for (index, candidate) in chunk.candidates.iter().enumerate() {
            let mut gone = vec![];
            for slot in slots.iter().filter(|slot| slot.candidate == index) {
                let Some(part) = candidate.calls.get(slot.call) else { continue };
                match self.calls.fate(slot.draft) {
                    Some(Fate::Pass) => {}
                    Some(Fate::Replace(args)) if slot.is_first => {
                        splice.replace(part.call, replaced(slice(chunk.text, part.call), args)?);
                    }
                    _ => gone.push(part.part),
                }
            }
            if !gone.is_empty() {
                candidate.without(&gone, &mut splice);
            }
        }
        edited(chunk.text, splice).map(Some).map_err(BindError::unreadable)
    }
}

/// A call with other arguments, whole.
fn replaced(call: &str, args: &str) -> Result<String, BindError> {
    let mut call = Rewrite::of(call).map_err(BindError::unreadable)?;
    call.retain(|key| !matches!(key, "partialArgs" | "partial_args" | "willContinue" | "will_continue"));
    call.set("args", args);
    Ok(call.finish())
}

fn with_data<'p>(piece: &Piece<'p>, data: &'p str) -> Piece<'p> {
    Piece { raw: frame::with_data(piece, data), event: piece.event, data: Some(data.as_bytes()) }
}

impl Binder for AnswerBinder {
    fn piece(&mut self, piece: &Piece<'_>, pass: &mut Pass<'_>) -> Result<(), BindError> {
        check_frame(piece)?;
        let is_silence = piece.data.is_none() && (self.form == AnswerForm::Sse || piece.raw.trim_ascii().is_empty());
        if is_silence {
            pass(piece.clone());
            return Ok(());
        }
        let chunk = piece.data.map(Screened::read).transpose()?.flatten();
        let (mut slots, mut ends) = (vec![], false);
        if let Some(chunk) = &chunk {
            slots = self.slots(chunk)?;
            // A body is all there is.
            ends = chunk.ends() || self.form == AnswerForm::Json;
        }
        if self.queue.is_empty() && self.is_decided(&slots) {
            return self.emit(piece, &slots, ends, pass);
        }
        self.held += piece.raw.len();
        self.queue.push_back(Entry { kept: Kept::of(piece), slots, ends });
        self.flow(pass)
    }

    fn finish(&mut self, pass: &mut Pass<'_>) -> Result<(), BindError> {
        self.calls.finish();
        self.flow(pass)
    }

    fn waiting(&self) -> Option<&Call> {
        self.calls.waiting()
    }

    fn rule(&mut self, ruling: Ruling, pass: &mut Pass<'_>) -> Result<(), BindError> {
        self.calls.rule(ruling);
        self.flow(pass)
    }

    fn calls(&self) -> &[Ruled] {
        self.calls.decided()
    }

    fn close(&mut self, notice: Option<&str>, pass: &mut Pass<'_>) -> Result<(), BindError> {
        let mut notice = notice;
        for kept in std::mem::take(&mut self.end) {
            self.held -= kept.len();
            let piece = kept.piece();
            let chunk = match notice {
                Some(_) => piece.data.map(Screened::read).transpose()?.flatten(),
                None => None,
            };
            let told = chunk.as_ref().zip(notice).and_then(|(chunk, text)| Some((chunk.text, chunk.with_text(text)?)));
            match told {
                Some((text, splice)) => {
                    notice = None;
                    pass(with_data(&piece, &edited(text, splice).map_err(BindError::unreadable)?));
                }
                None => pass(piece),
            }
        }
        Ok(())
    }

    fn held(&self) -> usize {
        self.held
    }
}
