//! One hook of the config, ready to run.
use super::meters::Meters;
use crate::config::{self, EventKind};
use crate::hooks::runner::{self, House, Runner};
use crate::hooks::{HooksError, When};
use std::sync::Arc;

/// One hook.
#[derive(Debug)]
pub(super) struct Entry {
    pub(super) config: config::Hook,
    pub(super) name: Arc<str>,
    pub(super) slot: Arc<str>,
    pub(super) runner: Box<dyn Runner>,
    pub(super) when: Option<When>,
    pub(super) meters: Meters,
}

impl Entry {
    /// # Errors
    /// When it can't work.
    pub(super) fn new(hook: &config::Hook, house: &House) -> Result<Self, HooksError> {
        let when = hook.when.as_deref().map(When::compile).transpose();
        Ok(Self {
            name: hook.name.as_str().into(),
            slot: hook.slot.as_str().into(),
            runner: runner::of(hook, house)?,
            when: when.map_err(|source| HooksError::When { hook: hook.name.clone(), source })?,
            meters: Meters::new(&hook.on),
            config: hook.clone(),
        })
    }

    /// Whether the event must hold the request in neutral words.
    pub(super) fn wants_request(&self, kind: EventKind) -> bool {
        self.config.include_request
            || self.runner.wants_request(kind)
            || self.when.as_ref().is_some_and(When::needs_request)
    }
}
