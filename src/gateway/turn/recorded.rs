//! What is shown of a request to who looks at the running gateway.
use super::Turns;
use super::read::Read;
use crate::context::Step;
use crate::inspect::{Cache, Opening, Recording};
use crate::session::prefix::Kept;
use crate::session::record::SessionKey;
use std::sync::Arc;

impl Turns {
    /// The request's session is known: from now on it is shown.
    pub(super) fn record_request(&self, read: &mut Read, key: &Arc<SessionKey>) {
        let model = read.view.model.as_deref().unwrap_or_default();
        read.recording = self.recorder.begin(Opening {
            id: read.asked.request_id.to_string(),
            key,
            kind: read.kind_name(),
            step: match read.view.step {
                Step::Prompt { .. } => "prompt",
                Step::Tool { .. } => "tool",
                Step::Resume => "resume",
                Step::Empty => "empty",
            },
            client: &read.profile.name,
            model,
            resolved: self.resolved(model),
            dialect: read.endpoint().dialect.name(),
            upstream: &read.asked.upstream,
            items: read.view.items.len(),
            received: read.asked.body.len(),
        });
    }
}

/// How much of the request before is a prefix of this one, and at whose texts it breaks.
pub(super) fn show_cache(recording: &Recording, kept: &Kept, broken_by: Vec<String>) {
    let Kept { before, client, sent, .. } = *kept;
    recording.cache(|| Cache { before, client, sent, broken_by, reread_tokens: None });
}
