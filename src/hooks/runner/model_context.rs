//! `run: { model_context: ... }`: a system prompt and a set of edit tools for each family of models.
//!
//! It decides anew for every request and stores nothing, so that it follows a switch of the model at once. The agent's own
//! instructions stay: the system prompt stands beside them. Edit tools of other families are taken out only where one of the
//! model's own is there, so that no agent is left without any.
use super::file::File;
use super::{Invocation, Output, Runner};
use crate::config::{self, Family, SystemPlace, SystemText};
use crate::context::Edit;
use crate::context::edit::{Globs, Text};
use crate::hooks::HookFailure;
use crate::hooks::contract::ModelInfo;
use crate::hooks::model::{OTHER, family};
use futures_util::future::BoxFuture;
use std::sync::Arc;

/// What is configured.
#[derive(Debug)]
pub(super) struct ModelContext(pub(super) Arc<config::ModelContext>);

impl Runner for ModelContext {
    fn run<'a>(&'a self, call: &'a Invocation<'a>) -> BoxFuture<'a, Result<Output, HookFailure>> {
        Box::pin(self.edits(call))
    }

    fn wants_roster(&self) -> bool {
        self.0.families.iter().chain(&self.0.default).any(|family| !family.tools.is_empty())
    }
}

impl ModelContext {
    async fn edits(&self, call: &Invocation<'_>) -> Result<Output, HookFailure> {
        let Some(family) = chosen(&self.0, &call.event.model) else { return Ok(Output::Edits(Arc::new([]))) };
        let system = match &family.system {
            Some(SystemText::Text(text)) => text.clone(),
            Some(SystemText::File(path)) => {
                File(path.clone()).text(call.output_limit).await?.trim_end_matches(['\n', '\r']).to_owned()
            }
            None => String::new(),
        };
        let system = (!system.trim().is_empty()).then(|| match self.0.place {
            SystemPlace::Append => Edit::SystemAppend { text: Text(system) },
            SystemPlace::Prepend => Edit::SystemPrepend { text: Text(system) },
        });
        let strange = strange_tools(&self.0.edit_tools, family, call.event.roster.as_deref().unwrap_or_default());
        let removed = match strange.is_empty() {
            true => None,
            false => Some(Globs::exactly(strange).map_err(|e| HookFailure::Tool(e.to_string()))?),
        };
        let removed = removed.map(|names| Edit::ToolsRemove { names });
        Ok(Output::Edits(system.into_iter().chain(removed).collect()))
    }
}

/// The family that counts for a model: one that names it, requested or resolved, in the order of the configuration; then that
/// of the maker's line; else the default.
fn chosen<'a>(context: &'a config::ModelContext, model: &ModelInfo) -> Option<&'a Family> {
    let families = &context.families;
    let names = |globs: &Globs| globs.matches(&model.requested) || globs.matches(&model.resolved);
    let named = families.iter().find(|f| f.matching.as_ref().is_some_and(names));
    let lines = [model.family, family(&model.requested)].into_iter().filter(|line| *line != OTHER).chain([OTHER]);
    let of_line = |line: &str| families.iter().find(|f| f.matching.is_none() && f.name == line);
    named.or_else(|| lines.into_iter().find_map(of_line)).or(context.default.as_ref())
}

/// The edit tools of other families, if the model has one of its own.
fn strange_tools(edit_tools: &Globs, family: &Family, roster: &[String]) -> Vec<String> {
    if !roster.iter().any(|name| family.tools.matches(name)) {
        return Vec::new();
    }
    roster.iter().filter(|name| edit_tools.matches(name) && !family.tools.matches(name)).cloned().collect()
}

#[cfg(test)]
mod tests;
