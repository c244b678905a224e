//! `models.aliases`: the client's name for a model becomes the provider's.
use super::Turns;
use crate::json::{Doc, Kind, Span, Splice, raw};
use bytes::Bytes;

/// The edit that puts the resolved name in the place of the client's.
#[derive(Debug, Clone)]
pub(super) struct Rename {
    at: Span,
    name: Bytes,
}

impl Rename {
    /// Adds the edit to others of the same body.
    pub(super) fn apply(&self, splice: &mut Splice) {
        splice.replace(self.at, self.name.clone());
    }
}

impl Turns {
    /// What a model is called on the way up.
    pub fn resolved<'a>(&'a self, requested: &'a str) -> &'a str {
        self.config.aliases.get(requested).map_or(requested, String::as_str)
    }

    /// The rename of the model that a body names. Where the path names it (Gemini), [`super::super::request`] renames it.
    pub(super) fn rename(&self, doc: &Doc) -> Option<Rename> {
        let member = doc.get("model").filter(|m| m.kind == Kind::String && !self.config.aliases.is_empty())?;
        let requested = raw::string(doc.text(member.value))?;
        let resolved = self.config.aliases.get(&*requested)?;
        Some(Rename { at: member.value, name: raw::quote(resolved).into() })
    }
}
