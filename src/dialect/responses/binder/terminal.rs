//! The last event of a stream, which lists all of its items once more.
use super::super::bound::{self, CallItem, elements};
use super::super::known::read;
use super::super::notice;
use super::StreamBinder;
use crate::context::Ruling;
use crate::dialect::Piece;
use crate::dialect::binder::{BindError, Kept, Pass};
use crate::dialect::rewrite::Rewrite;
use crate::json::{Kind, raw};
use serde_json::value::RawValue;

/// The last event.
#[derive(Debug)]
pub(super) struct Terminal {
    pub(super) piece: Kept,
    /// Which of the items in its list are which calls.
    listed: Vec<Option<usize>>,
}

impl StreamBinder {
    /// The last event: its list may have calls that the stream did not bring.
    pub(super) fn terminal(
        &mut self,
        piece: &Piece<'_>,
        response: Option<&str>,
        pass: &mut Pass<'_>,
    ) -> Result<(), BindError> {
        let response = response.unwrap_or("{}");
        self.message_id = self.message_id.take().or_else(|| Some(bound::message_id(response)));
        let mut listed = vec![];
        for item in elements(output(response)?) {
            let at = match CallItem::read(item)? {
                Some(call) => Some(self.known.listed(call, self.calls.binding())?),
                None => None,
            };
            self.queue.extend(at);
            listed.push(at);
        }
        self.behind = Some(Terminal { piece: Kept::of(piece), listed });
        self.advance(pass)
    }

    /// Passes the last event, with the calls in its list that the client gets, and behind them `notice`.
    pub(super) fn pass_terminal(
        &mut self,
        terminal: &Terminal,
        notice: Option<&str>,
        pass: &mut Pass<'_>,
    ) -> Result<(), BindError> {
        let piece = terminal.piece.piece();
        let Some((_, event)) = read(&piece)? else { return Ok(()) };
        let response = event.response.map_or("{}", RawValue::get);
        let (mut kept, mut same) = (vec![], true);
        for (item, at) in elements(output(response)?).into_iter().zip(&terminal.listed) {
            let ruling = at.and_then(|at| self.known.0.get(at)?.ruling.as_ref()).unwrap_or(&Ruling::Allow);
            let now = bound::ruled(item, ruling).map_err(BindError::unreadable)?;
            same &= now.as_deref() == Some(item);
            kept.extend(now);
        }
        let mut edits = vec![];
        // Some servers leave the list empty, whatever the stream brought.
        let notice = notice.filter(|_| !terminal.listed.is_empty());
        if !same || notice.is_some() {
            kept.extend(notice.map(str::to_owned));
            let mut response = Rewrite::of(response).map_err(BindError::unreadable)?;
            response.set("output", format!("[{}]", kept.join(",")));
            edits.push(("response", response.finish()));
        }
        self.pass(&piece, &event, &edits, pass)
    }

    /// A message of the model's that is `text`; the complete item.
    pub(super) fn tell(&mut self, text: &str, pass: &mut Pass<'_>) -> String {
        let id = self.message_id.clone().unwrap_or_else(|| bound::message_id("{}"));
        let index = self.items - self.known.dropped_before(self.items).min(self.items);
        let item = bound::message(&id, "completed", &bound::text_part(text));
        self.numbers.own = true;
        for (kind, members) in notice::events(&id, index, text) {
            let number = self.numbers.last.map(|last| self.numbers.next(last));
            let number = number.map(|number| format!(r#","sequence_number":{number}"#)).unwrap_or_default();
            let data = format!(r#"{{"type":"{kind}",{members}{number}}}"#);
            pass(Kept::made(Some(kind), data).piece());
        }
        item
    }
}

/// The list of a response's items.
pub(super) fn output(response: &str) -> Result<&str, BindError> {
    match raw::kind(response) {
        Some(Kind::Object) => {
            let [output] = raw::pick(response, ["output"]).map_err(BindError::unreadable)?;
            Ok(output.unwrap_or("[]"))
        }
        _ => Ok("[]"),
    }
}
