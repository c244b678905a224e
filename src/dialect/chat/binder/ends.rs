//! The ends of choices, which wait until all of their calls are decided on.
use super::super::calling::Taken;
use super::super::choice::chunk_text;
use super::super::parts::{self, Parts};
use super::{Ending, StreamBinder};
use crate::context::{Call, Glance, Ruling, binding};
use crate::dialect::Piece;
use crate::dialect::binder::{BindError, Kept, Pass};

impl StreamBinder {
    /// A chunk that ends its choice: what else it says goes ahead of what has to be decided.
    pub(super) fn finish_choice(
        &mut self,
        at: usize,
        piece: &Piece<'_>,
        text: &str,
        taken: Taken,
        pass: &mut Pass<'_>,
    ) -> Result<(), BindError> {
        let parts = Parts::of(text).map_err(BindError::unreadable)?;
        let waits = self.choices.get(at).is_some_and(|bound| bound.is_holding() || bound.calling.has_refused());
        let mut end = Kept::of(piece);
        if waits && (!taken.is_empty() || parts.says_more()) {
            let front = parts.front();
            self.go_on(at, &Kept::with_data(piece, front.clone()).piece(), &front, taken, pass)?;
            end = Kept::with_data(piece, parts.end());
        } else if let Some(bound) = self.choices.get_mut(at) {
            end = bound.written(piece, &taken)?.unwrap_or(end);
        }
        self.ending.extend([Ending::Choice { at, next: 0 }, Ending::Piece(end)]);
        self.advance(pass)
    }

    /// Decides on what needs no question, and lets go of what waits for it.
    pub(super) fn advance(&mut self, pass: &mut Pass<'_>) -> Result<(), BindError> {
        while let Some(ending) = self.ending.pop_front() {
            let (at, next) = match ending {
                Ending::Piece(piece) => {
                    self.last(piece, pass)?;
                    continue;
                }
                Ending::Choice { at, next } => (at, next),
            };
            let complete = self.choices.get(at).and_then(|bound| bound.calling.complete(next, self.calls.binding()));
            let Some((call, glance)) = complete else {
                self.release(at, pass)?;
                continue;
            };
            match glance {
                Glance::Pass => self.decide(at, next, call, Ruling::Allow),
                Glance::Refuse => {
                    let why = binding::not_there(&call.name);
                    self.decide(at, next, call, Ruling::Refuse(why));
                }
                Glance::Ask => {
                    self.waiting = Some(call);
                    self.ending.push_front(Ending::Choice { at, next });
                    return Ok(());
                }
            }
            self.ending.push_front(Ending::Choice { at, next: next + 1 });
        }
        Ok(())
    }

    pub(super) fn decide(&mut self, at: usize, call: usize, known: Call, ruling: Ruling) {
        if let Some(bound) = self.choices.get_mut(at) {
            bound.calling.rule(call, ruling.clone());
        }
        self.calls.push(known, ruling);
    }

    /// Passes what was held of a choice.
    pub(super) fn release(&mut self, at: usize, pass: &mut Pass<'_>) -> Result<(), BindError> {
        self.show(pass)?;
        let Some(bound) = self.choices.get_mut(at) else { return Ok(()) };
        for (kept, taken) in std::mem::take(&mut bound.held) {
            if let Some(now) = bound.written(&kept.piece(), &taken)? {
                pass(now.piece());
            }
        }
        Ok(())
    }

    /// The client gets a call: the end of a choice without any need not wait any more.
    pub(super) fn show(&mut self, pass: &mut Pass<'_>) -> Result<(), BindError> {
        let is_shown = self.choices.iter().any(|choice| choice.calling.is_shown());
        if is_shown { self.pass_end(pass) } else { Ok(()) }
    }

    /// An end whose calls are decided on.
    pub(super) fn last(&mut self, piece: Kept, pass: &mut Pass<'_>) -> Result<(), BindError> {
        self.end.push(piece);
        let is_shown = self.choices.iter().any(|choice| choice.calling.is_shown());
        let is_emptied = self.choices.iter().any(|choice| choice.calling.is_emptied());
        if is_emptied && !is_shown { Ok(()) } else { self.pass_end(pass) }
    }

    pub(super) fn pass_end(&mut self, pass: &mut Pass<'_>) -> Result<(), BindError> {
        let is_emptied = |index| self.choices.iter().any(|choice| choice.index == index && choice.calling.is_emptied());
        for kept in std::mem::take(&mut self.end) {
            let piece = kept.piece();
            let ended = match chunk_text(&piece)? {
                Some(text) => parts::ended(text, is_emptied).map_err(BindError::unreadable)?,
                None => None,
            };
            match ended {
                Some(ended) => pass(Kept::with_data(&piece, ended).piece()),
                None => pass(piece),
            }
        }
        Ok(())
    }

    /// What is about no choice: costs, comments.
    pub(super) fn aside(&mut self, piece: &Piece<'_>, pass: &mut Pass<'_>) {
        if self.end.is_empty() {
            pass(piece.clone());
        } else {
            self.end.push(Kept::of(piece));
        }
    }

    /// The marker behind the last chunk: no call goes on.
    pub(super) fn done(&mut self, piece: &Piece<'_>, pass: &mut Pass<'_>) -> Result<(), BindError> {
        let open = (0..).zip(&mut self.choices).filter(|(_, choice)| !choice.is_ended && !choice.calling.is_empty());
        for (at, choice) in open {
            choice.is_ended = true;
            self.ending.push_back(Ending::Choice { at, next: 0 });
        }
        self.ending.push_back(Ending::Piece(Kept::of(piece)));
        self.advance(pass)
    }
}
