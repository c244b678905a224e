//! Generation parameters of a generateContent body.
use super::{NAME, body, changed};
use crate::context::edit::{Edit, ParamName};
use crate::context::{Operation, RequestView};
use crate::dialect::EditError;
use crate::dialect::edit::params::{Mode, ParamPlaces, Path, change, remove};
use crate::dialect::edit::{Changes, Format};
use crate::json::{Doc, Splice};

/// The media type of the answer.
const MIME: Path = &["generationConfig", "responseMimeType"];

struct Places;

impl ParamPlaces for Places {
    fn path(&self, name: ParamName) -> Result<Path, EditError> {
        Ok(match name {
            ParamName::MaxTokens => &["generationConfig", "maxOutputTokens"],
            ParamName::Temperature => &["generationConfig", "temperature"],
            ParamName::TopP => &["generationConfig", "topP"],
            ParamName::Stop => &["generationConfig", "stopSequences"],
            ParamName::ReasoningEffort => &["generationConfig", "thinkingConfig", "thinkingLevel"],
            ParamName::ResponseFormat => MIME,
        })
    }

    fn rivals(&self, name: ParamName) -> &'static [Path] {
        match name {
            // Level and budget together are refused.
            ParamName::ReasoningEffort => &[&["generationConfig", "thinkingConfig", "thinkingBudget"]],
            ParamName::ResponseFormat => &[
                &["generationConfig", "responseSchema"],
                &["generationConfig", "responseJsonSchema"],
                &["generationConfig", "responseFormat"],
            ],
            _ => &[],
        }
    }

    fn format(&self, format: &Format, changes: &mut Changes<'_>) -> Result<(), EditError> {
        match format {
            Format::Text => changes.remove(MIME),
            Format::JsonObject => changes.set(MIME, r#""application/json""#),
            Format::Schema { schema, .. } => {
                changes.set(MIME, r#""application/json""#);
                changes.set(&["generationConfig", "responseJsonSchema"], schema);
            }
        }
        Ok(())
    }
}

/// What an edit of parameters changes. A request that only counts has none of them.
pub(super) fn edit(doc: &Doc, view: &RequestView, edit: &Edit) -> Result<Splice, EditError> {
    if view.operation == Operation::Count {
        return Ok(Splice::new());
    }
    let body = body(doc)?;
    let changes = match edit {
        Edit::ParamsSet(params) => change(&body, params, Mode::Set, &Places, NAME)?,
        Edit::ParamsClamp(params) => change(&body, params, Mode::Clamp, &Places, NAME)?,
        Edit::ParamsRemove { names } => remove(names, &Places)?,
        _ => return Ok(Splice::new()),
    };
    changed(doc, &changes)
}
