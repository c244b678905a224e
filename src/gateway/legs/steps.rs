//! What follows what: calls that wait, the end of a leg, the next one, the end of the message.
use super::leg::Leg;
use super::loss::{Loss, failed};
use super::{Director, Ended, LegsBody, Next, Phase};
use crate::context::Ruling;
use crate::context::answer::Ending;
use crate::dialect::{BoundLeg, Joiner};
use crate::gateway::failure::Failure;
use crate::gateway::tap::Cut;
use bytes::Bytes;
use http_body::Body as _;
use std::pin::Pin;
use std::task::Context;

impl<D: Director> LegsBody<D> {
    pub(super) fn take(&mut self, data: &Bytes) {
        if let Some(loss) = self.feed(|pieces, each| pieces.push(data, each)) {
            return self.lost(&loss);
        }
        match self.says_all().is_over() {
            true => self.close(),
            false => self.advance(),
        }
    }

    /// The joiner that gets everything that the model says.
    pub(super) fn says_all(&self) -> &dyn Joiner {
        self.model.as_deref().unwrap_or(&*self.joiner)
    }

    /// All of the running leg is here.
    pub(super) fn close(&mut self) {
        let cut_short = self.feed(|pieces, each| pieces.finish(each));
        self.leg.closed = true;
        match cut_short.or_else(|| self.bind(|bound, pass| bound.finish(pass))) {
            Some(loss) => self.lost(&loss),
            None => self.advance(),
        }
    }

    /// Goes on with the first call that waits, or with the end of the leg.
    pub(super) fn advance(&mut self) {
        let waiting = self.leg.bound.as_ref().and_then(|bound| bound.waiting()).cloned();
        self.phase = match waiting {
            Some(call) => Phase::Judging(self.director.judge(call)),
            None if self.leg.closed => return self.leg_ended(),
            None => Phase::Running,
        };
    }

    pub(super) fn judged(&mut self, ruling: Ruling) {
        // Nothing was read meanwhile.
        self.leg.idle.reset();
        match self.bind(|bound, pass| bound.rule(ruling, pass)) {
            Some(loss) => self.lost(&loss),
            None => self.advance(),
        }
    }

    pub(super) fn leg_ended(&mut self) {
        let answer = self.leg.reader.finish();
        if !self.is_first && answer.ending != Ending::Complete {
            let why = answer.error.as_deref().unwrap_or("it was cut");
            let cut = if answer.ending == Ending::Failed { failed(Failure::unusable(why)) } else { Cut::Unfinished };
            return self.lost(&Loss::new(cut, why));
        }
        let native = self.says_all().answer();
        if !self.is_first {
            self.director.heard(&answer, native.as_ref().is_none_or(|said| !said.is_empty()));
        }
        let bound = self.leg.bound.as_ref();
        let calls = bound.map(|bound| bound.calls().to_vec()).unwrap_or_default();
        let emptied = bound.is_some_and(BoundLeg::is_emptied);
        let leg = Ended { answer, native, calls, emptied };
        let asks = leg.answer.is_finished() || (leg.is_altered() && leg.answer.ending == Ending::Complete);
        if !asks || self.leg.pieces.is_blind() {
            return self.end();
        }
        self.phase = Phase::Deciding(self.director.after(leg));
    }

    /// The upstream broke the running leg off.
    pub(super) fn broke(&mut self, why: Cut) {
        self.leg.drained = true;
        // Local servers close the connection behind the marker, without the last chunk.
        if self.leg.reader.is_terminal() {
            return self.close();
        }
        if !self.is_first {
            return self.lost(&Loss::new(why, "the upstream broke it off"));
        }
        self.feed(|pieces, each| pieces.finish(each));
        self.end();
        self.phase = Phase::Over(Some(why));
    }

    pub(super) fn lost(&mut self, loss: &Loss) {
        let spoken = self.joiner.has_spoken();
        self.joiner.lose();
        self.director.lost(&loss.why, spoken);
        let breaks = spoken || self.is_first || self.owes || loss.cut == Cut::Withheld;
        if !breaks {
            self.end();
        }
        self.phase = Phase::Over(breaks.then(|| loss.cut.clone()));
    }

    pub(super) fn end(&mut self) {
        let mut out = Vec::new();
        self.joiner.end(&mut out);
        self.ready.extend(out);
        self.phase = if self.leg.drained { Phase::Over(None) } else { Phase::Draining };
    }

    pub(super) fn go_on(&mut self, next: Next<D::Body>, cx: &mut Context<'_>) {
        let body = match next {
            Next::End => return self.end(),
            Next::Say(notice) => {
                return match self.bind(|bound, pass| bound.close(Some(&notice), pass)) {
                    Some(loss) => self.lost(&loss),
                    None => self.end(),
                };
            }
            Next::Broken(cut) => {
                self.phase = Phase::Over(Some(cut));
                return;
            }
            Next::Leg(body) => body,
        };
        self.owes = self.leg.bound.as_ref().is_some_and(BoundLeg::is_emptied);
        if self.owes
            && let Some(loss) = self.bind(|bound, pass| bound.close(None, pass))
        {
            return self.lost(&loss);
        }
        // Whether something comes does not matter: a body that is read to its end gives its connection back.
        let _ = Pin::new(&mut self.leg.body).poll_frame(cx);
        for joiner in self.model.iter_mut().chain([&mut self.joiner]) {
            joiner.next_leg();
        }
        self.leg = Leg::new(body, &self.wire);
        self.is_first = false;
        self.trailers = None;
        self.phase = Phase::Running;
    }
}
