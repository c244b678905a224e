//! Generation parameters of a Messages body.
use super::{NAME, body, changed};
use crate::context::edit::{Edit, ParamName, Params};
use crate::context::{Operation, RequestView};
use crate::dialect::EditError;
use crate::dialect::edit::params::{Mode, ParamPlaces, Path, change, number_at, remove};
use crate::dialect::edit::{Changes, Fields, Format};
use crate::json::{Doc, ScanError, Splice};
use serde_json::json;

/// Fewest tokens that thinking may be given (the API's reference on `thinking.budget_tokens`).
const LEAST_BUDGET: u64 = 1024;

struct Places;

impl ParamPlaces for Places {
    fn path(&self, name: ParamName) -> Result<Path, EditError> {
        Ok(match name {
            ParamName::MaxTokens => &["max_tokens"],
            ParamName::Temperature => &["temperature"],
            ParamName::TopP => &["top_p"],
            ParamName::Stop => &["stop_sequences"],
            ParamName::ReasoningEffort => &["output_config", "effort"],
            ParamName::ResponseFormat => &["output_config", "format"],
        })
    }

    fn rivals(&self, name: ParamName) -> &'static [Path] {
        match name {
            // Its name from the beta.
            ParamName::ResponseFormat => &[&["output_format"]],
            _ => &[],
        }
    }

    fn format(&self, format: &Format, changes: &mut Changes<'_>) -> Result<(), EditError> {
        const PATH: Path = &["output_config", "format"];
        match format {
            Format::Text => changes.remove(PATH),
            Format::JsonObject => return Err(EditError::Unknown { dialect: NAME, what: "json_object" }),
            Format::Schema { schema, .. } => changes.set(PATH, json!({"type": "json_schema", "schema": schema})),
        }
        Ok(())
    }
}

/// What an edit of parameters changes. A request that only counts has none of them.
pub(super) fn edit(doc: &Doc, view: &RequestView, edit: &Edit) -> Result<Splice, EditError> {
    if view.operation == Operation::Count {
        return Ok(Splice::new());
    }
    let (params, mode) = match edit {
        Edit::ParamsSet(params) => (params, Mode::Set),
        Edit::ParamsClamp(params) => (params, Mode::Clamp),
        Edit::ParamsRemove { names } if names.contains(&ParamName::MaxTokens) => {
            return Err(EditError::Unknown { dialect: NAME, what: "request without max_tokens" });
        }
        Edit::ParamsRemove { names } => return changed(doc, &remove(names, &Places)?),
        _ => return Ok(Splice::new()),
    };
    let body = body(doc)?;
    let mut changes = change(&body, params, mode, &Places, NAME)?;
    bound_thinking(&body, params, mode, &mut changes)?;
    changed(doc, &changes)
}

/// The answer's limit must stay above what thinking may take of it.
fn bound_thinking(body: &Fields<'_>, params: &Params, mode: Mode, changes: &mut Changes<'_>) -> Result<(), ScanError> {
    let Some(wanted) = params.max_tokens else { return Ok(()) };
    let is_below = |limit: Option<f64>| limit.is_some_and(|limit| limit <= wanted as f64);
    if mode == Mode::Clamp && is_below(number_at(body, &["max_tokens"])?) {
        return Ok(());
    }
    if number_at(body, &["thinking", "budget_tokens"])?.is_none_or(|budget| budget < wanted as f64) {
        return Ok(());
    }
    match wanted.saturating_sub(1) {
        budget if budget >= LEAST_BUDGET => changes.set(&["thinking", "budget_tokens"], budget),
        _ => changes.remove(&["thinking"]),
    }
    Ok(())
}
