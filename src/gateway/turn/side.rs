//! `sessions.side_requests`: the operator's own word on what is a side request.
use super::Turns;
use super::read::Read;
use crate::config::EventKind;
use crate::context::Step;
use crate::hooks::contract::{Event, PromptInfo, SessionInfo, VERSION};
use crate::session::record::MAIN;
use crate::telemetry::traces::Trace;
use std::collections::BTreeMap;
use std::sync::Arc;

impl Turns {
    /// Whether one of the operator's expressions says so. They see the request before its session is known.
    pub(super) async fn is_side(&self, read: &Read) -> bool {
        !self.side_rules.is_empty() && self.side_rules.any(&self.preliminary(read), &read.asked.headers).await
    }

    fn preliminary(&self, read: &Read) -> Event {
        let prompt = match read.view.step {
            Step::Prompt { item } => Some(PromptInfo { text: self.prompt_text(read, item) }),
            _ => None,
        };
        let request = self.side_rules.needs_request().then(|| Arc::new(read.neutral(&read.doc, &read.view)));
        Event {
            v: VERSION,
            event: EventKind::PromptSubmit.name(),
            event_id: String::new(),
            hook: String::new(),
            session: SessionInfo {
                id: String::new(),
                agent: MAIN.to_owned(),
                parent: None,
                project: None,
                tenant: String::new(),
                turn: 0,
                source: String::new(),
                started_at: String::new(),
                new: false,
            },
            model: self.model(read).info(),
            persistent: BTreeMap::new(),
            prompt,
            request,
            roster: None,
            batch: None,
            tool: None,
            turn: None,
            reason: None,
            trace: Trace::default(),
        }
    }
}
