//! `run.model_context`: each family says which models it means, and has at most one system prompt.
use super::Base;
use crate::config::reader::{At, Reader};
use crate::config::resolved::{FAMILIES, Family, ModelContext, Run, SystemText};
use crate::config::written as from;
use crate::context::edit::Globs;
use std::sync::Arc;

/// Resolves it; a family that can't be is left out.
pub(super) fn resolve(written: &At<from::ModelContext>, base: &Base, reader: &mut Reader<'_>) -> Option<Run> {
    let from::ModelContext { families, default, edit_tools, place } = &written.value;
    if families.0.is_empty() && default.is_none() {
        reader.refuse_at(written, "no model is meant, write families or default");
        return None;
    }
    let families: Vec<Family> = families.0.iter().map(|(name, family)| convert(name, family, base, reader)).collect();
    for ((_, written), family) in written.value.families.0.iter().zip(&families) {
        if family.matching.is_none() && !FAMILIES.contains(&family.name.as_str()) {
            let known = FAMILIES.join(", ");
            reader.refuse_at(written, format!("`{}` is no family of models ({known}), write match", family.name));
        }
    }
    let default = default.as_ref().map(|written| {
        if written.value.r#match.is_some() {
            reader.refuse_at(written, "the default is for every other model, leave match out");
        }
        convert("default", written, base, reader)
    });
    let edit_tools = match edit_tools {
        Some(tools) => tools.clone(),
        None => Globs::joined(families.iter().chain(&default).map(|family| &family.tools)),
    };
    Some(Run::ModelContext(Arc::new(ModelContext { families, default, edit_tools, place: *place })))
}

fn convert(name: &str, written: &At<from::Family>, base: &Base, reader: &mut Reader<'_>) -> Family {
    let from::Family { r#match, system, system_file, tools } = &written.value;
    let system = match (system, system_file) {
        (Some(_), Some(file)) => {
            reader.refuse_at(file, "written beside system, keep one of them");
            None
        }
        (Some(text), None) => Some(SystemText::Text(text.clone())),
        (None, Some(file)) => {
            let path = base.join(&file.value);
            if !path.is_file() {
                reader.warn_at(file, format!("no such file {}, create it or write another path", path.display()));
            }
            Some(SystemText::File(path))
        }
        (None, None) => None,
    };
    Family { name: name.to_owned(), matching: r#match.clone(), system, tools: tools.clone() }
}
