//! `run: { knowledge: ... }`: the approved entries that match the prompt, as far as the session does not have them anyway.
use super::{Invocation, Output, Runner};
use crate::hooks::contract::Outcome;
use crate::hooks::{HookFailure, Parsed};
use crate::knowledge::{Entry, Knowledge, Reader};
use crate::session::record::Tenant;
use futures_util::future::{BoxFuture, ready};
use std::sync::Arc;

/// What is configured.
#[derive(Debug)]
pub(super) struct Pick {
    knowledge: Arc<Knowledge>,
    /// How many entries at most.
    max_entries: usize,
}

impl Pick {
    pub(super) fn new(knowledge: Arc<Knowledge>, max_entries: usize) -> Self {
        Self { knowledge, max_entries }
    }
}

impl Runner for Pick {
    fn run<'a>(&'a self, call: &'a Invocation<'a>) -> BoxFuture<'a, Result<Output, HookFailure>> {
        let context = match &call.event.prompt {
            Some(prompt) => self.pick(call, &prompt.text),
            None => Vec::new(),
        };
        let parsed = Parsed { outcome: Outcome { context, ..Outcome::default() }, ..Parsed::default() };
        Box::pin(ready(Ok(Output::Outcome(Box::new(parsed)))))
    }

    fn acts(&self) -> bool {
        false
    }
}

impl Pick {
    fn pick(&self, call: &Invocation<'_>, prompt: &str) -> Vec<String> {
        let session = &call.event.session;
        let tenant = Tenant(session.tenant.clone());
        let reader = Reader { tenant: &tenant, session: &session.id, project: session.project.as_deref() };
        let standing = &call.event.persistent;
        let is_new = |entry: &Entry| {
            let text = entry.text();
            !standing.values().any(|slot| slot.contains(&text))
        };
        let found = self.knowledge.find(&reader, prompt, self.max_entries, is_new);
        found.iter().map(|entry| entry.text()).collect()
    }
}
