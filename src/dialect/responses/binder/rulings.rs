//! What is decided about complete calls, and what becomes of their events then.
use super::super::input;
use super::super::known::{Known, read};
use super::StreamBinder;
use crate::context::{Call, Glance, Ruling, binding};
use crate::dialect::binder::{BindError, Binder as _, Kept, Pass};

impl StreamBinder {
    /// Decides on what needs no question.
    pub(super) fn advance(&mut self, pass: &mut Pass<'_>) -> Result<(), BindError> {
        while let Some(known) = self.queue.front().and_then(|at| self.known.0.get(*at)) {
            let call = known.item.call.clone();
            match known.glance {
                _ if known.ruling.is_some() => drop(self.queue.pop_front()),
                Glance::Pass => self.decide(call, Ruling::Allow, pass)?,
                Glance::Refuse => {
                    let why = binding::not_there(&call.name);
                    self.decide(call, Ruling::Refuse(why), pass)?;
                }
                Glance::Ask => {
                    self.waiting = Some(call);
                    return Ok(());
                }
            }
        }
        let Some(terminal) = self.behind.take() else { return Ok(()) };
        // What never was complete is no call.
        self.numbers.own |= self.known.holds();
        self.known.0.iter_mut().filter(|known| known.is_held()).for_each(Known::drop);
        if self.is_emptied() {
            self.end = Some(terminal);
            return Ok(());
        }
        self.pass_terminal(&terminal, None, pass)
    }

    pub(super) fn decide(&mut self, call: Call, ruling: Ruling, pass: &mut Pass<'_>) -> Result<(), BindError> {
        let Some(known) = self.queue.pop_front().and_then(|at| self.known.0.get_mut(at)) else { return Ok(()) };
        known.ruling = Some(ruling.clone());
        let held = std::mem::take(&mut known.held);
        self.calls.push(call, ruling.clone());
        match &ruling {
            Ruling::Refuse(_) => self.numbers.own |= !held.is_empty(),
            Ruling::Allow => self.release(&held, pass)?,
            Ruling::Replace(input) => self.replace(&held, input, pass)?,
        }
        Ok(())
    }

    /// The events of a call with another input, which comes in one piece.
    pub(super) fn replace(&mut self, held: &[Kept], input: &str, pass: &mut Pass<'_>) -> Result<(), BindError> {
        let mut has_come = false;
        for kept in held {
            let piece = kept.piece();
            let Some((_, event)) = read(&piece)? else { continue };
            match input::edit(&event, input, &mut has_come) {
                Some((key, value)) => {
                    let value = value.map_err(BindError::unreadable)?;
                    self.pass(&piece, &event, &[(key, value)], pass)?;
                }
                None => self.numbers.own |= event.sequence_number.is_some(),
            }
        }
        Ok(())
    }
}
