//! What is known of a request when it begins.
use super::request::{Request, State};
use super::texts::{MAX_WORDS, clip};
use crate::session::record::SessionKey;
use jiff::Timestamp;
use std::sync::Arc;

/// What is known of a request when it begins.
#[derive(Debug)]
pub struct Opening<'a> {
    /// Its name.
    pub id: String,
    /// Its session.
    pub key: &'a Arc<SessionKey>,
    /// turn, side or compaction.
    pub kind: &'static str,
    /// prompt, tool, resume or empty.
    pub step: &'static str,
    /// The client's profile.
    pub client: &'a str,
    /// The model as the client named it.
    pub model: &'a str,
    /// After aliases.
    pub resolved: &'a str,
    /// The wire format.
    pub dialect: &'static str,
    /// Where it goes.
    pub upstream: &'a str,
    /// Messages in its history.
    pub items: usize,
    /// Size of its body in bytes.
    pub received: usize,
}

impl Opening<'_> {
    pub(super) fn request(&self) -> Request {
        let words = |text: &str| clip(text, MAX_WORDS).into_string();
        Request {
            id: self.id.clone(),
            tenant: self.key.tenant.0.clone(),
            session: self.key.id.clone(),
            agent: self.key.agent.clone(),
            at: Timestamp::now(),
            kind: self.kind,
            step: self.step,
            turn: 0,
            client: self.client.to_owned(),
            model: words(self.model),
            resolved: (self.resolved != self.model).then(|| words(self.resolved)),
            dialect: self.dialect,
            upstream: self.upstream.to_owned(),
            items: self.items,
            received: self.received,
            sent: None,
            state: State::Asking,
            prepared_us: None,
            answered_us: None,
            took_us: None,
            status: None,
            outcome: None,
            reason: None,
            error: None,
            finish: None,
            calls: Vec::new(),
            usage: None,
            hooks: Vec::new(),
            standing: 0,
            standing_chars: 0,
            texts: Vec::new(),
            budget: None,
            cache: None,
            messages: Vec::new(),
            continuations: Vec::new(),
        }
    }
}
