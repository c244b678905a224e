//! What happens to an answer while it comes: calls are judged, refused ones answered, and hooks asked whether it may end.
use super::again::{Again, Refusal};
use super::judge::Judge;
use super::mail::Mail;
use super::stopping::Stopping;
use crate::bus::Carrying;
use crate::context::{Answer, Call, Finish, LegReply, LegResult, Restored, Ruling, Stands, answer::call_key};
use crate::dialect::{self, Ruled};
use crate::gateway::leg_request::LegBody;
use crate::gateway::legs::{Director, Ended, Next};
use crate::gateway::tap::Cut;
use crate::telemetry::names;
use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use std::sync::Arc;

/// Runs [`Directing`] for the legs of one answer.
pub struct AnswerDirector(Arc<Directing>);

/// What may become of one answer.
pub(super) struct Directing {
    /// The request, to be sent again.
    pub again: Again,
    /// Whether the answer may have further legs at all: not one of several choices, not one of a given shape.
    pub may_go_on: bool,
    /// Decides on calls; only where hooks listen to them.
    pub judge: Option<Judge>,
    /// Asks whether the turn may end; only where hooks listen to that.
    pub stopping: Option<Stopping>,
    /// Looks for messages; only where there may be any.
    pub mail: Option<Mail>,
}

impl AnswerDirector {
    pub(super) fn new(directing: Directing) -> Self {
        Self(Arc::new(directing))
    }
}

impl Director for AnswerDirector {
    type Body = LegBody;

    fn judge(&mut self, call: Call) -> BoxFuture<'static, Ruling> {
        if let Some(why) = self.0.mail.as_ref().and_then(Mail::halted) {
            return std::future::ready(Ruling::Refuse(why)).boxed();
        }
        match &self.0.judge {
            Some(judge) => judge.decide(call),
            None => std::future::ready(Ruling::Allow).boxed(),
        }
    }

    fn after(&mut self, leg: Ended) -> BoxFuture<'static, Next<LegBody>> {
        let directing = self.0.clone();
        async move { directing.after(leg).await }.boxed()
    }

    fn heard(&mut self, answer: &Answer, spoken: bool) {
        self.0.again.joined.lock().hear(answer, spoken);
    }

    fn lost(&mut self, why: &str, spoken: bool) {
        metrics::counter!(names::CONTINUATIONS, "result" => "lost").increment(1);
        tracing::warn!(why, spoken, "an answer was lost on its way down");
        if !spoken {
            self.0.again.joined.lock().stay();
        }
    }
}

impl Directing {
    async fn after(&self, leg: Ended) -> Next<LegBody> {
        let origin = &self.again.origin;
        origin.turns.audit_calls(origin.session.as_ref(), &leg.calls);
        if leg.emptied {
            return self.answer_refused(&leg).await;
        }
        if leg.is_altered() {
            let restored = self.restored(&leg);
            self.again.joined.lock().restore(restored);
            return Next::End;
        }
        if let Some(mail) = self.mail.as_ref().filter(|_| self.may_go_on)
            && let Some(body) = mail.follow_up(&self.again, &leg).await
        {
            return Next::Leg(body);
        }
        match &self.stopping {
            Some(stopping) if self.may_go_on => stopping.follow_up(&self.again, leg).await.map_or(Next::End, Next::Leg),
            _ => Next::End,
        }
    }

    /// All calls of the leg were refused: the model is told, and goes on. Where that is not possible the client gets the
    /// reason as text.
    async fn answer_refused(&self, leg: &Ended) -> Next<LegBody> {
        let results = self.results(leg);
        let may_answer = self.may_answer(leg, results.as_deref());
        let (mail, behind) = self.mail(may_answer.is_ok()).await.unzip();
        let reply = || LegReply::Results(with_mail(results.clone().unwrap_or_default(), behind.as_deref()));
        let carry = |mail| self.again.joined.lock().carry(mail);
        let refusal = match may_answer {
            Ok(()) => match self.again.send(leg, reply()).await {
                Ok(body) => {
                    self.again.origin.recording.goes_on("refused_calls", None);
                    mail.into_iter().for_each(carry);
                    metrics::counter!(names::REFUSED_CALLS, "result" => "answered").increment(1);
                    return Next::Leg(body);
                }
                Err(refusal) => refusal,
            },
            Err(refusal) => refusal,
        };
        metrics::counter!(names::REFUSED_CALLS, "result" => refusal.name()).increment(1);
        tracing::warn!("a leg of nothing but refused tool calls is not answered: {refusal}");
        if let Refusal::Upstream(failure) = refusal {
            return Next::Broken(Cut::Failed(failure));
        }
        if leg.answer.finish == Finish::ToolCalls && self.may_go_on && results.is_some() {
            self.again.speak(leg, reply());
            mail.into_iter().for_each(carry);
        }
        let mut reasons: Vec<&str> = leg.calls.iter().filter_map(reason).collect();
        reasons.dedup();
        Next::Say(reasons.join("\n"))
    }

    /// The calls of the leg as elements of the native history; `None` where they are not known.
    fn native_calls(&self, leg: &Ended) -> Option<Vec<String>> {
        let native =
            leg.native.as_deref().map(|answer| dialect::of(self.again.origin.endpoint.dialect).native_calls(answer));
        native.filter(|native| native.len() == leg.calls.len())
    }

    /// What the model is told of the leg's refused calls; `None` where one of them can have no text for its result.
    fn results(&self, leg: &Ended) -> Option<Vec<LegResult>> {
        let native = self.native_calls(leg)?;
        let refused = leg.calls.iter().zip(&native).filter(|(ruled, _)| !ruled.is_shown());
        refused.map(|(ruled, native)| self.told(ruled, native)).collect()
    }

    /// What the model is told of a refused call.
    fn told(&self, ruled: &Ruled, native: &str) -> Option<LegResult> {
        let kind = dialect::of(self.again.origin.endpoint.dialect).result_kind(native)?;
        let (text, call) = (reason(ruled)?.to_owned(), &ruled.call);
        Some(LegResult { id: call.id.clone(), name: call.name.clone(), kind, text, is_error: true })
    }

    /// Messages that the model can be told with the results of a leg: all, or, where it will not hear of them in this turn, a
    /// halt alone, which has done what it is for.
    async fn mail(&self, hears: bool) -> Option<(Carrying, String)> {
        let mail = self.mail.as_ref().filter(|mail| hears || mail.halted().is_some())?;
        mail.take(!hears).await
    }

    /// Whether the model may be told: it waits for results, and was not told too often in this answer.
    fn may_answer(&self, leg: &Ended, results: Option<&[LegResult]>) -> Result<(), Refusal> {
        let waits = matches!(leg.answer.finish, Finish::ToolCalls | Finish::Stop) && !leg.answer.many;
        if !self.may_go_on || !waits || results.is_none() {
            return Err(Refusal::Unknown);
        }
        let cap = self.again.origin.turns.config.continuation.max_per_turn;
        if u32::try_from(self.again.joined.lock().answered()).unwrap_or(u32::MAX) >= cap {
            return Err(Refusal::Cap);
        }
        Ok(())
    }

    /// The calls that later requests have to show otherwise than the client does.
    fn restored(&self, leg: &Ended) -> Vec<Restored> {
        let Some(native) = self.native_calls(leg) else {
            tracing::warn!("calls that the client does not get can't be put back into later requests");
            return Vec::new();
        };
        let known = |ruled: &Ruled| known_as(&leg.answer, ruled);
        let restored = |(at, native): (usize, String)| {
            let ruled = leg.calls.get(at)?;
            let stands = match &ruled.ruling {
                Ruling::Allow => return None,
                Ruling::Replace(_) => Stands::Instead(known(ruled)),
                Ruling::Refuse(_) => {
                    let next = leg.calls.iter().skip(at).find(|ruled| ruled.is_shown());
                    next.map_or(Stands::Last, |next| Stands::Before(known(next)))
                }
            };
            let result = self.told(ruled, &native);
            // A call without its result is refused.
            (result.is_some() || ruled.is_shown()).then_some(Restored { native, stands, result })
        };
        native.into_iter().enumerate().filter_map(restored).collect()
    }
}

/// Why a call is not made.
fn reason(Ruled { ruling, .. }: &Ruled) -> Option<&str> {
    match ruling {
        Ruling::Refuse(text) => Some(text),
        _ => None,
    }
}

/// Results with messages behind the last of them.
fn with_mail(mut results: Vec<LegResult>, mail: Option<&str>) -> Vec<LegResult> {
    if let Some((last, mail)) = results.last_mut().zip(mail) {
        last.text = format!("{}\n\n{mail}", last.text);
    }
    results
}

/// The key of a call in the client's copy of the answer.
fn known_as(answer: &Answer, Ruled { call, ruling }: &Ruled) -> String {
    let id = if answer.loose_ids { "" } else { call.id.as_str() };
    let input = match ruling {
        Ruling::Replace(input) => input.as_str(),
        _ => call.input.get(),
    };
    call_key(id, &call.name, input)
}
