//! Requests for tests.
use super::request::{Request, State};
use crate::session::record::{MAIN, SessionKey, Tenant};

pub(super) fn key(session: &str) -> SessionKey {
    SessionKey { tenant: Tenant("t".into()), id: session.into(), agent: MAIN.into() }
}

pub(super) fn request(id: &str) -> Request {
    Request {
        id: id.into(),
        tenant: "t".into(),
        session: "s".into(),
        agent: MAIN.into(),
        at: jiff::Timestamp::UNIX_EPOCH,
        kind: "turn",
        step: "prompt",
        turn: 1,
        client: "generic".into(),
        model: "m".into(),
        resolved: None,
        dialect: "anthropic",
        upstream: "u".into(),
        items: 1,
        received: 100,
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
