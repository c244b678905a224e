//! Joins streamed answers: see `Joiner`.
use super::event::{Event, Snapshot};
use super::items::{Items, id};
use super::splice::{self, Identity};
use crate::dialect::held::Held;
use crate::dialect::joiner::text;
use crate::dialect::rewrite::edited;
use crate::dialect::{JoinError, Joiner, Piece, frame};
use crate::json::raw;
use bytes::Bytes;
use std::collections::HashSet;

/// The joiner.
#[derive(Debug, Default)]
pub(super) struct Stream {
    identity: Identity,
    /// The number of the last event that went down.
    sequence: Option<u64>,
    past: Past,
    leg: Leg,
}

/// What the legs before the running one leave to it.
#[derive(Debug, Default)]
struct Past {
    /// Whether there is one.
    any: bool,
    /// How many of them ended.
    ended: usize,
    /// Their items, as the client knows them.
    items: Vec<String>,
    /// The ids of all items.
    ids: HashSet<String>,
    /// What each leg cost.
    usage: Vec<String>,
    /// The end of the last one.
    end: Option<End>,
}

/// The running leg.
#[derive(Debug, Default)]
struct Leg {
    items: Items,
    started: bool,
    /// Something that it says went down.
    spoken: bool,
    /// It can't be followed by another one.
    strange: bool,
    /// It broke the order of the message.
    lost: bool,
    end: Option<End>,
}

/// The end of a leg: its terminal event, and what stands behind that.
#[derive(Debug)]
struct End {
    event: Option<String>,
    data: String,
    /// The number of the last event that went down before it.
    behind: Option<u64>,
    /// All output items, as the provider wrote them.
    items: Vec<String>,
    usage: Option<String>,
    held: Held,
}

impl Stream {
    /// A piece of the first leg: goes down as it came, or is kept back.
    fn first(&mut self, piece: &Piece<'_>, out: &mut Vec<Bytes>) {
        if self.leg.end.is_none()
            && let Some(data) = piece.data
        {
            match Event::read(piece.event, data) {
                Some(event) => self.learn(piece, data, &event),
                None => self.leg.strange = true,
            }
        }
        let raw = piece.raw.clone();
        match &mut self.leg.end {
            Some(end) => end.held.keep_or_pass(raw, out),
            None => out.push(raw),
        }
    }

    fn learn(&mut self, piece: &Piece<'_>, data: &[u8], event: &Event<'_>) {
        let snapshot = event.snapshot();
        if let Some(snapshot) = &snapshot {
            self.identity.learn(snapshot);
        }
        if event.is_terminal() {
            let snapshot = snapshot.unwrap_or_default();
            let items = self.leg.items.complete(snapshot.output);
            self.leg.strange |= items.is_err();
            self.leg.end = text(data)
                .ok()
                .map(|data| End { items: items.unwrap_or_default(), ..End::of(piece, data, self.sequence, &snapshot) });
            return;
        }
        self.leg.strange |= event.failure().is_some() || self.leg.items.learn(event).is_err();
        self.leg.spoken |= event.speaks();
        self.sequence = event.number().or(self.sequence);
    }

    /// A piece of a later leg: checked, written anew, and passed or kept back.
    fn later(&mut self, piece: &Piece<'_>, out: &mut Vec<Bytes>) -> Result<(), JoinError> {
        let Some(data) = piece.data else {
            match &mut self.leg.end {
                Some(end) => end.held.keep(piece.raw.clone())?,
                None => out.push(piece.raw.clone()),
            }
            return Ok(());
        };
        let event = Event::read(piece.event, data);
        if let Some(end) = &mut self.leg.end {
            // Nothing but the marker that some servers write.
            return match event {
                None => end.held.keep(piece.raw.clone()),
                Some(event) => Err(JoinError::OutOfOrder(event.kind.into_owned())),
            };
        }
        let event = event.ok_or_else(|| JoinError::Unreadable(String::from_utf8_lossy(data).into_owned()))?;
        if let Some(error) = event.failure() {
            return Err(JoinError::Failed(error));
        }
        match event.kind.as_ref() {
            "response.created" if self.leg.started || !self.leg.items.is_empty() => {
                Err(JoinError::OutOfOrder("a second start".to_owned()))
            }
            "response.created" => {
                self.leg.started = true;
                Ok(())
            }
            "response.queued" | "response.in_progress" => Ok(()),
            _ if event.is_terminal() => self.finish(piece, text(data)?, &event),
            _ => self.pass(piece, data, &event, out),
        }
    }

    fn finish(&mut self, piece: &Piece<'_>, data: &str, event: &Event<'_>) -> Result<(), JoinError> {
        let snapshot = event.snapshot().unwrap_or_default();
        let items = self.leg.items.complete(snapshot.output)?;
        let mut end = End { items, ..End::of(piece, data, self.sequence, &snapshot) };
        end.held.keep(piece.raw.clone())?;
        self.leg.end = Some(end);
        Ok(())
    }

    fn pass(
        &mut self,
        piece: &Piece<'_>,
        data: &[u8],
        event: &Event<'_>,
        out: &mut Vec<Bytes>,
    ) -> Result<(), JoinError> {
        self.leg.items.take(event)?;
        if event.kind == "response.output_item.added" {
            self.leg.items.name_last(&mut self.past.ids);
        }
        let sequence = event.number().map(|own| self.next_number().unwrap_or(own));
        let place = splice::Place {
            sequence,
            before: self.past.items.len() as u64,
            alias: event.output_index.and_then(|index| self.leg.items.alias(index)),
        };
        let text = text(data)?;
        let edits = splice::renewed(text, event, &place, &self.identity);
        out.push(frame::with_edits(piece, text, edits)?);
        self.leg.spoken |= event.speaks();
        self.sequence = sequence.or(self.sequence);
        Ok(())
    }

    fn next_number(&self) -> Option<u64> {
        self.sequence.map(|last| last.saturating_add(1))
    }

    /// The end of several legs: the last one's, about all of them.
    fn joined(&self, end: &End) -> Result<Bytes, JoinError> {
        let mut edits = splice::whole(&end.data, "/response", &self.identity, &self.past.items, &self.past.usage);
        if let (Some(span), Some(number)) = (raw::get(&end.data, "sequence_number"), self.next_number()) {
            edits.replace(span, number.to_string());
        }
        let data = edited(&end.data, edits).map_err(JoinError::unreadable)?;
        Ok(frame::event(end.event.as_deref(), &data).into())
    }

    fn has_ended(&self) -> bool {
        self.leg.end.is_some() && !self.leg.lost
    }
}

impl Joiner for Stream {
    fn piece(&mut self, piece: &Piece<'_>, out: &mut Vec<Bytes>) -> Result<(), JoinError> {
        if !self.past.any {
            self.first(piece, out);
            return Ok(());
        }
        let joined = self.later(piece, out);
        self.leg.lost |= joined.is_err();
        joined
    }

    fn is_over(&self) -> bool {
        self.leg.end.is_some()
    }

    fn has_spoken(&self) -> bool {
        self.leg.spoken
    }

    fn answer(&self) -> Option<Vec<String>> {
        let is_whole = self.has_ended() && !self.leg.strange;
        self.leg.end.as_ref().filter(|end| is_whole && !end.held.has_let_go()).map(|end| end.items.clone())
    }

    fn next_leg(&mut self) {
        let next = Leg { items: self.leg.items.next(), ..Leg::default() };
        let leg = std::mem::replace(&mut self.leg, next);
        self.past.any = true;
        let Some(mut end) = leg.end.filter(|_| !leg.lost) else { return };
        self.past.ended += 1;
        for (index, item) in (0..).zip(std::mem::take(&mut end.items)) {
            let known = splice::with_id(&item, leg.items.alias(index)).unwrap_or(item);
            self.past.ids.insert(id(&known));
            self.past.items.push(known);
        }
        self.past.usage.extend(end.usage.take());
        self.past.end = Some(end);
    }

    fn lose(&mut self) {
        self.leg.lost = true;
    }

    fn end(&mut self, out: &mut Vec<Bytes>) {
        if self.has_ended() {
            self.next_leg();
        } else if self.leg.spoken {
            return;
        }
        let Some(mut end) = self.past.end.take() else { return };
        let mut pieces = Vec::new();
        end.held.release(&mut pieces);
        // Events of a leg that came to nothing may have used up the number of a single leg's end.
        let as_it_came = self.past.ended == 1 && end.behind == self.sequence;
        if !as_it_came
            && let Some(terminal) = pieces.first_mut()
            && let Ok(joined) = self.joined(&end)
        {
            *terminal = joined;
        }
        out.append(&mut pieces);
    }
}

impl End {
    /// The end that an event is. Its items are not yet known, nor is it kept.
    fn of(piece: &Piece<'_>, data: &str, behind: Option<u64>, snapshot: &Snapshot<'_>) -> Self {
        Self {
            event: piece.event.map(|event| String::from_utf8_lossy(event).into_owned()),
            data: data.to_owned(),
            behind,
            items: Vec::new(),
            usage: snapshot.usage.map(|usage| usage.get().to_owned()),
            held: Held::default(),
        }
    }
}
