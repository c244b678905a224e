//! Reads an answer: the events of a stream, or a whole `response`.
use super::element;
use super::event::{Event, Snapshot};
use super::output::{Closed, Output, Pending};
use crate::context::answer::{Answer, Ending};
use crate::context::{Finish, Usage};
use crate::dialect::AnswerReader;
use crate::dialect::openai::answer::{Budget, unseen, usage};
use crate::dialect::openai::element::join;
use crate::dialect::openai::error;
use crate::json::raw;
use serde_json::value::RawValue;
use std::borrow::Cow;
use std::collections::BTreeMap;
use std::collections::btree_map::Entry;

/// What an output item costs of the budget besides its text.
const ITEM_COST: usize = 256;

/// The reader.
#[derive(Debug, Default)]
pub(super) struct Reader {
    id: Option<String>,
    outputs: BTreeMap<u64, Output>,
    /// `status`, once it is final.
    status: Option<String>,
    /// Why the response is incomplete.
    reason: Option<String>,
    usage: Usage,
    error: Option<String>,
    /// An item could not be read, so that what it asks of the client is not known.
    unreadable: bool,
    /// Some of the text is a refusal.
    refused: bool,
    budget: Budget,
}

impl AnswerReader for Reader {
    fn event(&mut self, event: Option<&[u8]>, data: &[u8]) {
        if let Some(event) = Event::read(event, data) {
            self.take(&event);
        }
    }

    fn body(&mut self, body: &[u8]) {
        match serde_json::from_slice::<Snapshot<'_>>(body) {
            Ok(snapshot) if snapshot.status.is_none() => {
                let text = snapshot.error.map_or_else(|| "no status".to_owned(), |e| error::text(e.get()));
                self.error = Some(text);
            }
            Ok(snapshot) => self.last(&snapshot, ""),
            // Half a body is a cut answer; anything else that is not JSON is somebody's error page.
            Err(error) if error.is_eof() => {}
            Err(_) => self.error = Some("not JSON".to_owned()),
        }
    }

    fn is_terminal(&self) -> bool {
        self.status.is_some() || self.error.is_some()
    }

    fn finish(&mut self) -> Answer {
        let outputs = std::mem::take(&mut self.outputs);
        let status = self.status.take();
        let ending = match (&self.error, &status) {
            (Some(_), _) => Ending::Failed,
            (None, Some(_)) => Ending::Complete,
            (None, None) => Ending::Cut,
        };
        let pending = Pending::of(&outputs);
        let finish = match status.as_deref().filter(|_| ending == Ending::Complete && !self.unreadable) {
            Some("completed") => pending.finish(),
            Some("incomplete") => incomplete(self.reason.as_deref()),
            // A background job: the client asks again.
            Some("queued" | "in_progress") => Finish::Pause,
            _ => Finish::Error,
        };
        Answer {
            id: self.id.take(),
            text: join(outputs.values().map(|o| Cow::from(&o.text))),
            signed: outputs.values().filter_map(|o| o.closed.as_ref()).any(|c| c.signed),
            refused: self.refused || outputs.values().filter_map(|o| o.closed.as_ref()).any(|c| c.refused),
            calls: pending.calls(outputs),
            finish,
            native_finish: self.reason.take().or(status),
            ending,
            usage: self.usage,
            error: self.error.take(),
            ..unseen()
        }
    }
}

/// What `incomplete_details.reason` means.
fn incomplete(reason: Option<&str>) -> Finish {
    match reason {
        Some("max_output_tokens" | "max_messages") => Finish::Length,
        Some("content_filter") => Finish::Refusal,
        // The user steered the answer: the server goes on with another response by itself.
        Some("steered") => Finish::Pause,
        _ => Finish::Error,
    }
}

impl Reader {
    fn take(&mut self, event: &Event<'_>) {
        match event.kind.as_ref() {
            "response.output_text.delta" => self.delta(event),
            "response.refusal.delta" => {
                self.refused = true;
                self.delta(event);
            }
            "response.output_item.done" => {
                if let (Some(index), Some(item)) = (event.output_index, event.item) {
                    self.close(index, item.get());
                }
            }
            "response.created" | "response.queued" | "response.in_progress" => {
                if let Some(snapshot) = event.snapshot() {
                    self.identify(&snapshot);
                }
            }
            "response.completed" | "response.incomplete" | "response.failed" | "response.cancelled" => {
                let named = event.kind.trim_start_matches("response.");
                self.last(&event.snapshot().unwrap_or_default(), named);
            }
            kind if kind == "error" || (kind.is_empty() && event.error.is_some()) => {
                // Documented flat, seen nested, and from other gateways without a type.
                let text = event.error.or(event.message).map(|e| error::text(e.get()));
                self.error.get_or_insert_with(|| text.unwrap_or_else(|| "error".to_owned()));
            }
            _ => {}
        }
    }

    fn delta(&mut self, event: &Event<'_>) {
        let Some(text) = event.delta.and_then(|d| raw::string(d.get())) else { return };
        let content_index = event.content_index.unwrap_or(0);
        let index = event.output_index.unwrap_or(0);
        let Some(output) = output(&mut self.outputs, &mut self.budget, index) else { return };
        if output.content_index != content_index && !output.text.is_empty() {
            self.budget.push(&mut output.text, "\n");
        }
        output.content_index = content_index;
        self.budget.push(&mut output.text, &text);
    }

    /// The complete item: its text and its calls are what counts.
    fn close(&mut self, index: u64, item: &str) {
        let closed = element::read(item).ok().and_then(|element| {
            let (text, closed) = (element.text(), Closed::of(&element));
            let output = output(&mut self.outputs, &mut self.budget, index)?;
            self.budget.take(text.len() + closed.size()).then_some(())?;
            if !text.is_empty() {
                output.text = text;
            }
            output.closed = Some(closed);
            Some(())
        });
        self.unreadable |= closed.is_none();
    }

    fn identify(&mut self, snapshot: &Snapshot<'_>) {
        if let Some(id) = snapshot.id.and_then(|id| raw::string(id.get())) {
            self.id = Some(id.into_owned());
        }
    }

    /// The last snapshot; `named` is the status that the event's name says.
    fn last(&mut self, snapshot: &Snapshot<'_>, named: &str) {
        self.identify(snapshot);
        let status = snapshot.status.and_then(|s| raw::string(s.get()));
        self.status = Some(status.map_or_else(|| named.to_owned(), Cow::into_owned));
        self.reason = snapshot.incomplete_details.and_then(|d| raw::get_str(d.get(), "reason")).map(Cow::into_owned);
        if let Some(usage) = snapshot.usage.and_then(|u| usage(u.get(), "input", "output")) {
            self.usage = usage;
        }
        match self.status.as_deref() {
            Some("failed" | "cancelled") => {
                let text = snapshot.error.map(|e| error::text(e.get()));
                self.error = text.or_else(|| self.status.clone());
            }
            _ => self.fill(snapshot.output),
        }
    }

    /// Items that the stream did not bring are taken from the snapshot.
    fn fill(&mut self, output: Option<&RawValue>) {
        let Some(output) = output.map(RawValue::get) else { return };
        for (index, span) in (0..).zip(raw::array(output).unwrap_or_default()) {
            let known = self.outputs.get(&index).is_some_and(|o| o.closed.is_some());
            if !known && let Some(item) = output.get(span.start..span.end) {
                self.close(index, item);
            }
        }
    }
}

/// The item at this index; `None` if the budget is used up.
fn output<'o>(outputs: &'o mut BTreeMap<u64, Output>, budget: &mut Budget, index: u64) -> Option<&'o mut Output> {
    match outputs.entry(index) {
        Entry::Occupied(known) => Some(known.into_mut()),
        Entry::Vacant(new) => budget.take(ITEM_COST).then(|| new.insert(Output::default())),
    }
}
