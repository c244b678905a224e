//! A further leg of an answer: the request that is sent again with more in it.
use super::Turns;
use super::joined::Joined;
use super::read::Read;
use crate::context::{Answer, Leg, LegReply};
use crate::dialect::{self, Endpoint};
use crate::gateway::answer_head;
use crate::gateway::failure::Failure;
use crate::gateway::leg_request::{LegBody, LegRequest};
use crate::gateway::legs::Ended;
use crate::inspect::Recording;
use crate::json::{Doc, Rope};
use crate::session::profile::Profile;
use crate::session::record::SessionKey;
use http::HeaderMap;
use http::response::Parts;
use parking_lot::Mutex;
use std::sync::Arc;

/// Where a request came from: what is known of it before it goes up, to read it again.
#[derive(Clone)]
pub(super) struct Origin {
    pub(super) turns: Arc<Turns>,
    pub(super) endpoint: Endpoint,
    /// The request.
    pub(super) recording: Recording,
    /// Which client.
    profile: Arc<Profile>,
    /// Whose it is, where that is known.
    pub(super) session: Option<SessionKey>,
}

impl Origin {
    pub(super) fn of(turns: &Arc<Turns>, read: &Read, session: Option<&SessionKey>) -> Self {
        Self {
            turns: turns.clone(),
            endpoint: read.endpoint().clone(),
            recording: read.recording.clone(),
            profile: read.profile.clone(),
            session: session.cloned(),
        }
    }

    /// To send `request` again, of which the body was `sent` and whose answer has this head.
    pub(super) fn again(&self, head: &HeaderMap, request: LegRequest, sent: Rope, joined: Arc<Mutex<Joined>>) -> Again {
        *joined.lock() = Joined::new(sent);
        Again { origin: self.clone(), media_type: answer_head::media_type(head), request, joined }
    }
}

/// What it takes to send the model back to work.
pub(super) struct Again {
    pub(super) origin: Origin,
    /// The media type of the first leg.
    media_type: Option<Vec<u8>>,
    request: LegRequest,
    pub(super) joined: Arc<Mutex<Joined>>,
}

/// Why the model is not sent back to work.
#[derive(Debug, thiserror::Error)]
pub(super) enum Refusal {
    #[error("continuation.max_per_turn is reached")]
    Cap,
    #[error("lifecycle.max_requests_per_turn is reached")]
    Requests,
    #[error("the same text brought the same answer again and again")]
    Circle,
    #[error("the answer can't be sent back to the model")]
    Unknown,
    #[error("the next request can't be made: {0}")]
    Body(String),
    #[error("the next request failed: {0}")]
    Upstream(Arc<Failure>),
    #[error("the turn is not the running one any more")]
    Gone,
}

impl Refusal {
    /// Its word in metrics.
    pub(super) const fn name(&self) -> &'static str {
        match self {
            Self::Cap => "cap",
            Self::Requests => "max_requests",
            Self::Circle => "circle",
            Self::Unknown | Self::Body(_) => "not_possible",
            Self::Upstream(_) => "upstream",
            Self::Gone => "gone",
        }
    }
}

impl Again {
    /// Sends the request with the leg and the reply behind it; from then on they are legs of the answer.
    pub(super) async fn send(&self, leg: &Ended, reply: LegReply) -> Result<LegBody, Refusal> {
        let Ended { answer, native, .. } = leg;
        let native = native.clone().ok_or(Refusal::Unknown)?;
        let leg = Leg { id: answer.id.clone(), answer: native, reply };
        let body = self.next_body(leg.clone()).await?;
        let sent = self.request.send(body.clone()).await;
        let (head, next) = sent.map_err(|error| Refusal::Upstream(Arc::new(Failure::from(&error))))?;
        if !head.status.is_success() {
            return Err(Refusal::Upstream(Arc::new(Failure::answered(&head, next).await)));
        }
        self.check(&head).map_err(|why| Refusal::Upstream(Arc::new(Failure::unusable(why))))?;
        self.joined.lock().go_on(leg, answer, body);
        Ok(next)
    }

    /// The gateway speaks in the place of a next leg: later requests show the leg and the reply ahead of its words.
    pub(super) fn speak(&self, leg: &Ended, reply: LegReply) {
        let Some(native) = leg.native.clone() else { return };
        let mut joined = self.joined.lock();
        let sent = joined.sent().clone();
        joined.go_on(Leg { id: leg.answer.id.clone(), answer: native, reply }, &silent(&leg.answer), sent);
        joined.speak();
    }

    /// The newest request's body with the answer and the reply behind it. Read where it holds up nobody: it may be long.
    async fn next_body(&self, leg: Leg) -> Result<Rope, Refusal> {
        let sent = self.joined.lock().sent().to_bytes();
        let Origin { turns, endpoint, profile, .. } = self.origin.clone();
        let work = move || -> Result<Rope, String> {
            let doc = Doc::parse(sent).map_err(|error| error.to_string())?;
            let view = turns.view(&doc, &endpoint, &profile).map_err(|error| error.to_string())?;
            let splice = dialect::of(endpoint.dialect).extend(&doc, &view, &leg).map_err(|error| error.to_string())?;
            splice.apply(doc.bytes()).map_err(|error| error.to_string())
        };
        let made = tokio::task::spawn_blocking(work).await.map_err(|error| Refusal::Body(error.to_string()))?;
        made.map_err(Refusal::Body)
    }

    /// Whether an answer with this head can be joined; why not.
    fn check(&self, head: &Parts) -> Result<(), &'static str> {
        if answer_head::encoding(&head.headers).is_some() {
            return Err("its answer is compressed, though identity was asked for");
        }
        match answer_head::media_type(&head.headers) == self.media_type {
            true => Ok(()),
            false => Err("its answer has another media type than the first"),
        }
    }
}

/// The answer without its cost: the client's message reports that itself.
fn silent(answer: &Answer) -> Answer {
    Answer { usage: crate::context::Usage::default(), ..answer.clone() }
}
