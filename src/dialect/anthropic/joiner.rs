//! Streams of several legs, joined to one: the legs' blocks are counted through, one start, one end.
//!
//! The precedent is the Python SDK's middleware for fallbacks, which splices the second answer's stream onto the first.
use super::event::JoinedEvent;
use super::said::Said;
use super::tokens::Tokens;
use crate::dialect::frame;
use crate::dialect::held::Held;
use crate::dialect::rewrite::Rewrite;
use crate::dialect::upstream_error::error_text;
use crate::dialect::{JoinError, Joiner, Piece};
use bytes::Bytes;

/// The last event, for a leg that ended behind its stop reason: it told everything. Its last frame may lack its end.
const LAST: &[u8] = b"\n\nevent: message_stop\ndata: {\"type\":\"message_stop\"}\n\n";

/// Joins streams.
#[derive(Debug, Default)]
pub(super) struct StreamJoiner {
    run: Run,
    is_later: bool,
    /// Blocks of the legs before.
    base: u64,
    /// Output tokens of the legs before.
    spent: u64,
    /// The end of the leg before, for the case that the running one says nothing.
    end_before: Held,
}

/// The running leg: where it stands in the order of a message, and what it says.
#[derive(Debug, Default)]
struct Run {
    started: bool,
    blocks: u64,
    open: Option<u64>,
    spoken: bool,
    /// Its stop reason was seen.
    ended: bool,
    over: bool,
    /// A piece of it could not be joined.
    lost: bool,
    tokens: Tokens,
    said: Said,
    held: Held,
}

impl Joiner for StreamJoiner {
    fn piece(&mut self, piece: &Piece<'_>, out: &mut Vec<Bytes>) -> Result<(), JoinError> {
        if !self.is_later {
            self.first(piece, out);
            return Ok(());
        }
        let joined =
            if self.run.lost { Err(JoinError::OutOfOrder("a lost leg".to_owned())) } else { self.later(piece) };
        self.run.lost |= joined.is_err();
        out.extend(joined?);
        Ok(())
    }

    fn is_over(&self) -> bool {
        self.run.over && !self.run.lost
    }

    fn has_spoken(&self) -> bool {
        self.run.spoken
    }

    fn answer(&self) -> Option<Vec<String>> {
        self.run.said.message().filter(|_| !self.run.held.has_let_go())
    }

    fn next_leg(&mut self) {
        let run = std::mem::take(&mut self.run);
        self.is_later = true;
        self.base = self.base.saturating_add(run.blocks);
        self.spent = self.spent.saturating_add(run.tokens.output());
        self.end_before = run.held;
    }

    fn lose(&mut self) {
        self.run.lost = true;
    }

    fn end(&mut self, out: &mut Vec<Bytes>) {
        let is_told = self.run.over || (self.run.ended && self.run.spoken);
        if !self.is_later || (is_told && !self.run.lost) {
            self.run.held.release(out);
            if self.is_later && !self.run.over {
                out.push(Bytes::from_static(LAST));
            }
        } else if !self.run.spoken {
            self.end_before.release(out);
        }
    }
}

impl StreamJoiner {
    /// Everything passes as it is, however strange; what is strange is not remembered as an answer.
    fn first(&mut self, piece: &Piece<'_>, out: &mut Vec<Bytes>) {
        let run = &mut self.run;
        let mut is_end = !run.held.is_empty();
        match piece.data.map(|data| JoinedEvent::read(piece, data)) {
            Some(Ok(event)) => {
                if event.speaks() && is_end {
                    run.held.let_go(out);
                    is_end = false;
                }
                is_end |= event.is_final_delta() || event.kind == "message_stop";
                run.spoken |= event.speaks();
                if run.take(&event).is_err() {
                    run.said.lose();
                }
                run.over |= event.kind == "message_stop";
            }
            Some(Err(_)) => run.said.lose(),
            None => {}
        }
        match is_end {
            true => run.held.keep_or_pass(piece.raw.clone(), out),
            false => out.push(piece.raw.clone()),
        }
    }

    /// The piece as it goes down now; `None` where it doesn't.
    fn later(&mut self, piece: &Piece<'_>) -> Result<Option<Bytes>, JoinError> {
        let event = piece.data.map(|data| JoinedEvent::read(piece, data)).transpose()?;
        let bytes = match &event {
            Some(event) => {
                self.run.take(event)?;
                if event.kind == "message_start" {
                    return Ok(None);
                }
                self.rewritten(piece, event)?
            }
            None => piece.raw.clone(),
        };
        if !self.run.ended {
            return Ok(Some(bytes));
        }
        self.run.held.keep(bytes)?;
        Ok(None)
    }

    /// The event with the place and the costs that it has in the whole message. A frame without a name gets one: the SDKs
    /// drop it otherwise.
    fn rewritten(&self, piece: &Piece<'_>, event: &JoinedEvent<'_>) -> Result<Bytes, JoinError> {
        let mut data = Rewrite::of(event.raw).map_err(JoinError::unreadable)?;
        let index = event.event.index.filter(|_| self.base > 0);
        if let Some(index) = index {
            let index = index.checked_add(self.base).ok_or_else(|| event.out_of_order())?;
            data.set("index", index.to_string());
        }
        let is_delta = event.kind == "message_delta";
        if is_delta {
            data.set("usage", self.run.tokens.joined(event.event.usage, self.spent));
        }
        Ok(match piece.event {
            Some(_) if index.is_none() && !is_delta => piece.raw.clone(),
            Some(_) => frame::with_data(piece, &data.finish()),
            None if event.kind.is_empty() => piece.raw.clone(),
            None => frame::event(Some(&event.kind), &data.finish()).into(),
        })
    }
}

impl Run {
    /// The next event of the leg, if it may stand here: a start, blocks one after the other and counted without a gap, an
    /// end.
    fn take(&mut self, event: &JoinedEvent<'_>) -> Result<(), JoinError> {
        let index = event.event.index;
        let is_final = event.is_final_delta();
        let has_begun = self.started && !self.ended;
        let legal = match event.kind.as_ref() {
            "message_start" => !std::mem::replace(&mut self.started, true),
            "content_block_start" => {
                let is_next = self.open.is_none() && index == Some(self.blocks);
                self.blocks = self.blocks.saturating_add(1);
                has_begun && is_next
            }
            "content_block_delta" | "content_block_stop" => has_begun && index.is_some() && index == self.open,
            "message_delta" if is_final => has_begun && self.open.is_none(),
            "message_delta" => self.started && !self.over,
            "message_stop" => self.ended && !std::mem::replace(&mut self.over, true),
            // Pings, and what comes next.
            _ => true,
        };
        if event.kind == "error" {
            let error = event.event.error.unwrap_or(event.raw);
            return Err(JoinError::Failed(error_text(error)));
        }
        if !legal {
            return Err(event.out_of_order());
        }
        self.ended |= is_final;
        self.follow(event);
        Ok(())
    }

    fn follow(&mut self, JoinedEvent { kind, event, .. }: &JoinedEvent<'_>) {
        match kind.as_ref() {
            "message_start" => {
                let message = Rewrite::of_any(event.message);
                self.tokens.read(message.get("usage"));
            }
            "content_block_start" => {
                self.open = event.index;
                self.spoken = true;
                self.said.begin(event.content_block.unwrap_or_default());
            }
            "content_block_delta" => self.said.delta(event.delta.unwrap_or_default()),
            "content_block_stop" => {
                self.open = None;
                self.said.finish();
            }
            "message_delta" => self.tokens.read(event.usage),
            _ => {}
        }
    }
}
