//! What the later phases take from a read and identified request.
use super::Turns;
use super::identify::{Identity, is_locked};
use super::occasion::Occasion;
use super::read::Read;
use crate::config::EventKind;
use crate::context::Step;
use crate::dialect::NeutralRequest;
use crate::session::conversation::ConversationLayout;
use crate::session::placing::{Scenery, SlotText};
use crate::session::record::ModelSeen;
use std::sync::Arc;

impl Turns {
    /// Which model is asked, and where.
    pub(super) fn model(&self, read: &Read) -> ModelSeen {
        let requested = read.view.model.clone().unwrap_or_default();
        let resolved = self.resolved(&requested).to_owned();
        ModelSeen { requested, resolved, dialect: read.endpoint().dialect, upstream: read.asked.upstream.clone() }
    }

    /// What events of this request have in common.
    pub(super) fn occasion(&self, read: &Read, identity: &Identity) -> Occasion {
        let record = &identity.record;
        let running = identity.live.state.lock().record.turn.as_ref().map(|t| (t.number, t.prompt.clone()));
        let (turn, prompt) = running.unwrap_or_default();
        let prompt = match read.view.step {
            _ if !prompt.is_empty() => Some(prompt),
            Step::Prompt { item } => Some(self.prompt_text(read, item)),
            _ => read.goes_on_behind().and_then(|end| self.last_prompt(read, end)),
        };
        Occasion {
            parent: identity.parent.clone().or_else(|| record.parent.clone()),
            project: identity.project.clone().or_else(|| record.project.clone()),
            turn: turn.max(1),
            new: identity.new,
            model: self.model(read),
            prompt,
            trace: read.asked.trace.clone(),
            ..Occasion::of_record(record)
        }
    }

    fn last_prompt(&self, read: &Read, end: usize) -> Option<String> {
        let item = (0..end).rev().find(|i| read.view.items[*i].facts.prompt.is_some())?;
        Some(self.prompt_text(read, item))
    }

    /// The request in neutral words, if a hook on `kind` wants it.
    pub(super) fn neutral(&self, read: &Read, kind: EventKind) -> Option<Arc<NeutralRequest>> {
        self.pipeline.wants_request(kind).then(|| Arc::new(read.neutral(&read.doc, &read.view)))
    }

    /// The request as the session room sees it when it decides what to place.
    pub(super) fn scenery<'a>(
        &'a self,
        read: &'a Read,
        identity: &'a Identity,
        slots: &'a [SlotText<'a>],
    ) -> Scenery<'a> {
        Scenery {
            view: &read.view,
            anchors: &identity.anchors,
            slots,
            locked: is_locked(read),
            protected: self.protected(read, identity),
            framed: self.config.injection.wrap,
            retain: self.config.injection.retain,
            budget: self.config.lifecycle.max_injected_context_chars,
        }
    }

    /// Instruction blocks that stay first; only layout system puts something at the front, so that elsewhere none is decoded.
    fn protected(&self, read: &Read, identity: &Identity) -> usize {
        match identity.live.state.lock().record.layout {
            ConversationLayout::System => read.profile.protected(read.system_blocks()),
            ConversationLayout::Stable => 0,
        }
    }
}
