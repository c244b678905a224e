//! What the audit log says of requests and of calls that hooks had no word in.
use super::Turns;
use super::read::Read;
use crate::context::{Edit, Ruling, binding};
use crate::dialect::Ruled;
use crate::json::Rope;
use crate::session::record::SessionKey;
use crate::telemetry::audit::{Line, Who};
use bytes::Bytes;

/// The event of lines about a request.
const EVENT: &str = "model.context";

/// What hooks changed of one request, while it is on its way; nothing is kept where nobody asks for it.
#[derive(Debug, Default)]
pub(super) struct Changes(Vec<(String, Vec<&'static str>)>);

impl Changes {
    /// A hook's edits changed something.
    pub(super) fn note(&mut self, hook: &str, edits: &[Edit]) {
        self.0.push((hook.to_owned(), edits.iter().map(Edit::name).collect()));
    }
}

fn who(session: Option<&SessionKey>) -> Who<'_> {
    session.map_or_else(Who::default, |key| Who { tenant: &key.tenant.0, session: &key.id, agent: &key.agent })
}

impl Turns {
    /// A request goes up changed: one line for each hook whose edits changed it, or one for what was placed in it.
    pub(super) fn audit_request(
        &self,
        read: &Read,
        session: Option<&SessionKey>,
        Changes(changes): &Changes,
        body: Option<&Rope>,
    ) {
        let audit = self.pipeline.audit();
        if !audit.is_on() || (body.is_none() && changes.is_empty()) {
            return;
        }
        let before = read.doc.bytes();
        let same = std::slice::from_ref(before);
        let after = body.map_or(same, Rope::parts);
        let change = audit.change([&before[..]], after.iter().map(Bytes::as_ref));
        let request_id = read.asked.request_id.to_string();
        let line = Line { who: who(session), event: EVENT, request_id: Some(&request_id), ..Line::default() };
        if changes.is_empty() {
            audit.write(&Line { action: "placed", change: Some(change), ..line });
            return;
        }
        for (hook, what) in changes {
            audit.write(&Line {
                action: "changed",
                hook: Some(hook),
                what,
                change: Some(change.clone()),
                ..line.clone()
            });
        }
    }

    /// The gateway itself stops a request: a rule can't be kept.
    pub(super) fn audit_block(&self, read: &Read, session: Option<&SessionKey>, hook: Option<&str>, what: &str) {
        let request_id = read.asked.request_id.to_string();
        self.pipeline.audit().write(&Line {
            who: who(session),
            event: EVENT,
            hook,
            action: "blocked",
            what: &[what],
            request_id: Some(&request_id),
            ..Line::default()
        });
    }

    /// Calls of one answer that nobody decided on: the tool is not there, or a message halts the turn. What hooks denied is
    /// written where they did.
    pub(super) fn audit_calls(&self, session: Option<&SessionKey>, calls: &[Ruled]) {
        let audit = self.pipeline.audit();
        if !audit.is_on() {
            return;
        }
        for Ruled { call, ruling } in calls {
            let action = match ruling {
                Ruling::Refuse(why) if *why == binding::not_there(&call.name) => "refused",
                Ruling::Refuse(why) if why == super::mail::HALTED => "halted",
                _ => continue,
            };
            audit.write(&Line {
                who: who(session),
                event: "tool.call",
                action,
                tool: Some(&call.name),
                ..Line::default()
            });
        }
    }
}
