//! Streamed responses, held to the tools that they may call: events of refused items are left out, and the others, and all
//! numbers, run on without them.
mod rulings;
mod terminal;

use super::bound::{self, CallItem, elements};
use super::event::{ADDED, DONE, Event};
use super::known::{Calls as KnownCalls, Known, read};
use super::numbers::Numbers;
use crate::context::{Binding, Call, Glance, Ruling};
use crate::dialect::binder::{BindError, Binder, Calls, Kept, Pass, Ruled};
use crate::dialect::rewrite::Rewrite;
use crate::dialect::{Piece, joiner};
use crate::json::raw;
use serde_json::value::RawValue;
use std::collections::VecDeque;
use std::sync::Arc;
use terminal::{Terminal, output};

/// Binds a stream.
#[derive(Debug)]
pub(super) struct StreamBinder {
    calls: Calls,
    known: KnownCalls,
    /// Complete calls that are to be decided on, and what goes on then.
    queue: VecDeque<usize>,
    behind: Option<Terminal>,
    waiting: Option<Call>,
    numbers: Numbers,
    /// How many items the upstream has begun.
    items: u64,
    /// The end of the leg, where it is kept back.
    end: Option<Terminal>,
    behind_end: Vec<Kept>,
    /// The id of a message that is added to the response.
    message_id: Option<String>,
}

impl StreamBinder {
    pub(super) fn new(binding: Arc<Binding>) -> Self {
        Self {
            calls: Calls::new(binding),
            known: KnownCalls::default(),
            queue: VecDeque::new(),
            behind: None,
            waiting: None,
            numbers: Numbers::default(),
            items: 0,
            end: None,
            behind_end: vec![],
            message_id: None,
        }
    }

    fn event(
        &mut self,
        piece: &Piece<'_>,
        text: &str,
        event: &Event<'_>,
        pass: &mut Pass<'_>,
    ) -> Result<(), BindError> {
        let response = event.response.map(RawValue::get);
        let item = event.item.map(RawValue::get);
        if event.is_terminal() {
            self.must_pass(item.into_iter().collect())?;
            return self.terminal(piece, response, pass);
        }
        if let Some(response) = response {
            self.message_id = self.message_id.take().or_else(|| Some(bound::message_id(response)));
            self.must_pass(elements(output(response)?))?;
        }
        let about = self.known.of(event, text)?;
        let call = item.map(CallItem::read).transpose()?.flatten();
        match (event.kind.as_ref(), call) {
            (ADDED, Some(call)) => self.begin(piece, event, call, false, pass),
            (DONE, call) if about.is_some() => self.complete(about, piece, event, call, pass),
            (DONE, Some(call)) => self.begin(piece, event, call, true, pass),
            (_, Some(call)) if call.glance(self.calls.binding()) != Glance::Pass => Err(unknown(&event.kind)),
            _ => self.about(about, piece, event, pass),
        }
    }

    /// Calls where none can be held or left out.
    fn must_pass(&self, items: Vec<&str>) -> Result<(), BindError> {
        for item in items {
            if CallItem::read(item)?.is_some_and(|call| call.glance(self.calls.binding()) != Glance::Pass) {
                return Err(BindError::Unreadable("a call ahead of its time".to_owned()));
            }
        }
        Ok(())
    }

    /// A call's first event, which may be its last.
    fn begin(
        &mut self,
        piece: &Piece<'_>,
        event: &Event<'_>,
        call: CallItem,
        is_complete: bool,
        pass: &mut Pass<'_>,
    ) -> Result<(), BindError> {
        let index = event.output_index;
        let glance = call.glance(self.calls.binding());
        let is_new = index.is_some_and(|index| index >= self.items);
        if !is_new && glance != Glance::Pass || self.known.holds() {
            return Err(unknown(&event.kind));
        }
        let at = self.known.add(index, call.clone(), self.calls.binding());
        if is_complete {
            self.complete(Some(at), piece, event, Some(call), pass)
        } else {
            self.about(Some(at), piece, event, pass)
        }
    }

    /// An event about the call at `about`, or about something else.
    fn about(
        &mut self,
        about: Option<usize>,
        piece: &Piece<'_>,
        event: &Event<'_>,
        pass: &mut Pass<'_>,
    ) -> Result<(), BindError> {
        if let Some(index) = event.output_index {
            self.items = self.items.max(index.saturating_add(1));
        }
        let Some(known) = about.and_then(|at| self.known.0.get_mut(at)) else {
            if !self.known.holds() {
                return self.pass(piece, event, &[], pass);
            }
            if event.output_index.is_some() {
                return Err(BindError::Unreadable("items in parallel".to_owned()));
            }
            self.numbers.own |= event.sequence_number.is_some();
            return self.pass(piece, event, &[], pass);
        };
        if known.is_held() {
            known.held.push(Kept::of(piece));
        } else if known.is_shown() {
            return self.pass(piece, event, &[], pass);
        } else {
            self.numbers.own |= event.sequence_number.is_some();
        }
        Ok(())
    }

    /// The complete item of a known call.
    fn complete(
        &mut self,
        about: Option<usize>,
        piece: &Piece<'_>,
        event: &Event<'_>,
        call: Option<CallItem>,
        pass: &mut Pass<'_>,
    ) -> Result<(), BindError> {
        let Some(at) = about else { return Ok(()) };
        match call {
            Some(call) => {
                // Before it goes down: it may be another call than the one that has begun.
                self.known.complete(at, call)?;
                self.about(about, piece, event, pass)?;
                self.queue.push_back(at);
                self.advance(pass)
            }
            None => {
                self.not_a_call(at, event, pass)?;
                self.about(about, piece, event, pass)
            }
        }
    }

    /// A complete item that looked like a call: the provider runs it.
    fn not_a_call(&mut self, at: usize, event: &Event<'_>, pass: &mut Pass<'_>) -> Result<(), BindError> {
        let kind = event.item.and_then(|item| raw::get_str(item.get(), "type")).unwrap_or_default();
        let known = self.known.0.get_mut(at).filter(|known| known.item.kind == kind && !known.is_dropped());
        let known = known.ok_or(BindError::Renamed)?;
        known.glance = Glance::Pass;
        known.ruling = Some(Ruling::Allow);
        let held = std::mem::take(&mut known.held);
        self.release(&held, pass)
    }

    fn release(&mut self, held: &[Kept], pass: &mut Pass<'_>) -> Result<(), BindError> {
        for kept in held {
            let piece = kept.piece();
            if let Some((_, event)) = read(&piece)? {
                self.pass(&piece, &event, &[], pass)?;
            }
        }
        Ok(())
    }

    /// Passes an event with these members in the place of its own, under the numbers that it has for the client.
    fn pass(
        &mut self,
        piece: &Piece<'_>,
        event: &Event<'_>,
        edits: &[(&'static str, String)],
        pass: &mut Pass<'_>,
    ) -> Result<(), BindError> {
        let mut edits: Vec<(&'static str, String)> = edits.to_vec();
        if let Some(index) = event.output_index {
            let now = index - self.known.dropped_before(index).min(index);
            edits.extend((now != index).then(|| ("output_index", now.to_string())));
        }
        if let Some(number) = event.number() {
            let now = self.numbers.next(number);
            edits.extend((now != number).then(|| ("sequence_number", now.to_string())));
        }
        if edits.is_empty() {
            pass(piece.clone());
            return Ok(());
        }
        let text = joiner::text(piece.data.unwrap_or_default()).map_err(BindError::unreadable)?;
        let mut edited = Rewrite::of(text).map_err(BindError::unreadable)?;
        for (key, value) in edits {
            edited.set(key, value);
        }
        pass(Kept::with_data(piece, edited.finish()).piece());
        Ok(())
    }
}

fn unknown(kind: &str) -> BindError {
    BindError::Unreadable(format!("a call in {kind:?}"))
}

impl Binder for StreamBinder {
    fn piece(&mut self, piece: &Piece<'_>, pass: &mut Pass<'_>) -> Result<(), BindError> {
        let event = read(piece)?;
        if self.end.is_some() {
            self.behind_end.push(Kept::of(piece));
            return match event {
                Some((_, event)) if event.response.is_some() || event.item.is_some() => Err(unknown(&event.kind)),
                _ => Ok(()),
            };
        }
        match event {
            Some((text, event)) => self.event(piece, text, &event, pass),
            None => {
                pass(piece.clone());
                Ok(())
            }
        }
    }

    /// A call that was cut off is none, unless the client has it already.
    fn finish(&mut self, _pass: &mut Pass<'_>) -> Result<(), BindError> {
        for known in &mut self.known.0 {
            known.held.clear();
            if known.ruling.is_none() && known.is_shown() {
                known.ruling = Some(Ruling::Allow);
                self.calls.push(known.item.call.clone(), Ruling::Allow);
            }
        }
        Ok(())
    }

    fn waiting(&self) -> Option<&Call> {
        self.waiting.as_ref()
    }

    fn rule(&mut self, ruling: Ruling, pass: &mut Pass<'_>) -> Result<(), BindError> {
        let Some(call) = self.waiting.take() else { return Ok(()) };
        self.decide(call, ruling, pass)?;
        self.advance(pass)
    }

    fn calls(&self) -> &[Ruled] {
        self.calls.all()
    }

    /// A call that the client has begun to read is shown, complete or not.
    fn is_emptied(&self) -> bool {
        !self.calls.all().is_empty() && !self.known.0.iter().any(Known::is_shown)
    }

    fn close(&mut self, notice: Option<&str>, pass: &mut Pass<'_>) -> Result<(), BindError> {
        let told = notice.map(|text| self.tell(text, pass));
        if let Some(end) = self.end.take() {
            self.pass_terminal(&end, told.as_deref(), pass)?;
        }
        for kept in std::mem::take(&mut self.behind_end) {
            pass(kept.piece());
        }
        Ok(())
    }

    fn held(&self) -> usize {
        let end = self.end.iter().chain(&self.behind).map(|end| end.piece.len()).sum::<usize>();
        end + self.behind_end.iter().map(Kept::len).sum::<usize>() + self.known.size()
    }
}
