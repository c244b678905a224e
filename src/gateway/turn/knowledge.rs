//! What was approved stands in a session from its start on: in a slot of its record, placed like any other.
use super::Turns;
use crate::knowledge::{Reader, SLOT};
use crate::session::record::SessionRecord;
use jiff::Timestamp;

/// Who set it.
const BY: &str = "hookgate";

impl Turns {
    /// Sets the slot of a session that begins. What hooks have to say comes first: it takes the room that they leave, up to
    /// its own bound. A slot of this name that a hook has set is the hook's.
    pub(super) fn lay_out(&self, record: &mut SessionRecord, project: Option<&str>) {
        let own = record.slots.get(SLOT).is_none_or(|slot| slot.by == BY);
        if !own {
            if self.knowledge().holds_any() {
                tracing::warn!(session = %record.key, "the slot {SLOT:?} is a hook's: no approved knowledge stands in it");
            }
            return;
        }
        let others = record.slots.iter().filter(|(name, _)| *name != SLOT).map(|(_, slot)| slot.text.chars().count());
        let room = self.config.lifecycle.max_injected_context_chars.saturating_sub(others.sum());
        let reader = Reader {
            tenant: &record.key.tenant,
            session: &record.key.id,
            project: project.or(record.project.as_deref()),
        };
        match self.knowledge().standing(&reader, room.min(self.config.knowledge.max_context_chars)) {
            None => {
                record.clear_slot(SLOT);
            }
            Some(text) => {
                let set = record.set_slot(SLOT, &text, BY, Timestamp::now(), self.config.limits.outcome_text);
                if let Err(error) = set {
                    tracing::warn!(session = %record.key, "approved knowledge was left out: {error}");
                }
            }
        }
    }
}
