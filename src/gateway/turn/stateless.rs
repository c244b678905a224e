//! Requests that belong to no session (`sessions.without_id: none`): hooks that need no memory still speak.
//!
//! Constant texts stand in the system prompt of every such request, which is the same at every request and so keeps the
//! prefix. Other hooks run once per session or prompt, and without a session nothing tells one prompt from the next.
use super::Turns;
use super::compose::lower;
use super::identify::is_locked;
use super::read::Read;
use crate::config::{EventKind, Hook, Mode, Run};
use crate::context::budget::{Admission, Budget};
use crate::context::placement::Scene;
use crate::context::wrap::{self, Standing};
use crate::json::Splice;

impl Turns {
    /// The edits that place the texts of the stateless hooks.
    pub(super) fn stateless(&self, read: &Read) -> Splice {
        if is_locked(read) {
            return Splice::new();
        }
        let mut budget = Budget::new(self.config.lifecycle.max_injected_context_chars);
        let system = self.config.hooks.iter().filter_map(|hook| {
            let text = constant(hook)?;
            let admitted = match budget.admit(text) {
                Admission::Whole => text.to_owned(),
                Admission::Cut(cut) => cut,
                Admission::LeftOut => return None,
            };
            Some(match self.config.injection.wrap {
                true => wrap::wrap(&hook.name, Standing::New, &admitted),
                false => admitted,
            })
        });
        let scene = Scene { system: system.collect(), ..Scene::empty() };
        lower(read, scene)
    }
}

/// A text that stands in every request whatever was said before.
fn constant(hook: &Hook) -> Option<&str> {
    let speaks = hook.on.iter().any(|on| matches!(on, EventKind::SessionStart | EventKind::PromptSubmit));
    match &hook.run {
        Run::Text(text) if speaks && hook.mode == Mode::Enforce && hook.when.is_none() => Some(text),
        _ => None,
    }
}
