//! One thing that happened, as programs and the admin page read it.
use super::request::Request;
use super::run::HookRun;
use crate::session::record::SessionKey;
use serde::Serialize;
use std::sync::Arc;

/// One thing that happened.
#[derive(Debug, Clone, Serialize)]
#[serde(untagged)]
pub enum News<'a> {
    /// A request came, went up, was answered, or is over.
    Request(Box<Request>),
    /// A hook has run.
    Hook {
        /// For which request; absent at the end of a session.
        #[serde(skip_serializing_if = "Option::is_none")]
        request: Option<&'a str>,
        /// How.
        run: HookRun,
    },
    /// A message of the session bus.
    Message {
        /// Its id.
        id: &'a str,
        /// queued or delivered.
        state: &'static str,
    },
    /// A slot of persistent context was set or emptied by hand.
    Context {
        /// Which.
        slot: &'a str,
    },
    /// A session ended or was deleted.
    Session {
        /// ended or deleted.
        state: &'static str,
    },
    /// A proposal was made, changed or decided.
    Proposal {
        /// Which; absent where a hook has made some.
        #[serde(skip_serializing_if = "Option::is_none")]
        id: Option<&'a str>,
    },
}

impl News<'_> {
    pub(super) const fn name(&self) -> &'static str {
        match self {
            Self::Request(_) => "request",
            Self::Hook { .. } => "hook",
            Self::Message { .. } => "message",
            Self::Context { .. } => "context",
            Self::Session { .. } => "session",
            Self::Proposal { .. } => "proposal",
        }
    }
}

/// One thing that happened, ready to be sent.
#[derive(Debug, Clone)]
pub struct Happened {
    /// What: request, hook, message, context, session or proposal.
    pub name: &'static str,
    /// The session's id; `None` where it is about none.
    pub session: Option<Arc<str>>,
    /// JSON.
    pub data: Arc<str>,
}

#[derive(Serialize)]
struct Told<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    tenant: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    session: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    agent: Option<&'a str>,
    #[serde(flatten)]
    news: &'a News<'a>,
}

impl Happened {
    pub(super) fn new(whose: Option<&SessionKey>, news: &News<'_>) -> Self {
        // A request says itself whose it is.
        let told = whose.filter(|_| !matches!(news, News::Request(_)));
        let data = serde_json::to_string(&Told {
            tenant: told.map(|key| key.tenant.0.as_str()),
            session: told.map(|key| key.id.as_str()),
            agent: told.map(|key| key.agent.as_str()),
            news,
        });
        Self {
            name: news.name(),
            session: whose.map(|key| key.id.as_str().into()),
            data: data.unwrap_or_default().into(),
        }
    }
}
