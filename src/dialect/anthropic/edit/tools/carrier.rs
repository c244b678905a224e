//! Where a Messages body speaks of tools.
use super::super::messages::{Block, Blocks, Content, messages};
use crate::context::{RequestView, Role};
use crate::dialect::EditError;
use crate::dialect::edit::{Fields, Keys};
use crate::json::{Doc, ScanError};
use std::borrow::Cow;

/// A tool's definition.
#[derive(Debug)]
pub(super) struct Definition<'a> {
    /// Its name; empty where it has none.
    pub(super) name: Cow<'a, str>,
    /// Its `type`, where that is not a client's own tool.
    kind: Option<Cow<'a, str>>,
    /// Its members.
    pub(super) fields: Fields<'a>,
}

impl<'a> Definition<'a> {
    fn new(fields: Fields<'a>) -> Self {
        let kind = fields.string("type").filter(|kind| kind != "custom");
        Self { name: fields.string("name").unwrap_or_default(), kind, fields }
    }

    /// All names that mean it: its own, its type's, and the server's whose tools it is.
    pub(super) fn names(&self) -> impl Iterator<Item = Cow<'a, str>> {
        let server = self.fields.string("mcp_server_name");
        [Some(self.name.clone()).filter(|name| !name.is_empty()), self.kind.clone(), server].into_iter().flatten()
    }

    /// Whether the provider defines what it does.
    pub(super) fn is_built_in(&self) -> bool {
        self.kind.is_some()
    }

    /// Whether it stands for several tools (`mcp_toolset`, `computer_toolset_…`) that have names of their own.
    pub(super) fn is_set(&self) -> bool {
        self.kind.as_ref().is_some_and(|kind| kind.contains("toolset"))
    }

    /// Whether it may carry a cache marker: one that is loaded later may not.
    pub(super) fn takes_marker(&self) -> bool {
        self.fields.text("defer_loading") != Some("true")
    }
}

/// The elements of `tools`.
pub(super) fn listed(doc: &Doc) -> Result<Vec<Definition<'_>>, ScanError> {
    let elements = doc.get("tools").map_or(&[][..], |tools| &tools.elements);
    elements.iter().map(|element| Fields::at(doc, *element, Keys::Exact).map(Definition::new)).collect()
}

/// All definitions: `tools`, and those in `tool_addition` blocks.
pub(super) fn definitions<'a>(doc: &'a Doc, view: &RequestView) -> Result<Vec<Definition<'a>>, EditError> {
    let mut definitions = listed(doc)?;
    for (_, blocks) in instructions(doc, view)? {
        for block in blocks.list.iter().filter(|block| block.kind == "tool_addition") {
            let Some(tool) = block.fields.object("tool")? else { continue };
            definitions.extend(tool.object("definition")?.map(Definition::new));
        }
    }
    Ok(definitions)
}

/// The instructions among the messages that are arrays of blocks, by their item.
pub(super) fn instructions<'a>(doc: &'a Doc, view: &RequestView) -> Result<Vec<(usize, Blocks<'a>)>, EditError> {
    contents(doc, view, Role::System)
}

/// The messages of a role that are arrays of blocks, by their item.
pub(super) fn contents<'a>(
    doc: &'a Doc,
    view: &RequestView,
    role: Role,
) -> Result<Vec<(usize, Blocks<'a>)>, EditError> {
    let mut found = vec![];
    for (index, _) in view.items.iter().enumerate().filter(|(_, item)| item.role() == role) {
        for message in messages(doc, view, index)? {
            if let Content::Blocks(blocks) = Content::of(doc, &message)? {
                found.push((index, blocks));
            }
        }
    }
    Ok(found)
}

/// The names of the tool that a block brings up: an addition or removal with a definition or a reference, or the bare
/// reference that a search for tools results in. None where it is another block.
pub(super) fn mentioned<'a>(block: &Block<'a>) -> Result<Vec<Cow<'a, str>>, ScanError> {
    match block.kind.as_ref() {
        "tool_reference" => Ok(block.fields.string("tool_name").into_iter().collect()),
        "tool_addition" | "tool_removal" => {
            let Some(tool) = block.fields.object("tool")? else { return Ok(vec![]) };
            let defined = tool.object("definition")?.map(Definition::new);
            let names = defined.iter().flat_map(Definition::names);
            let names = names.chain(tool.string("name")).chain(tool.string("server_name"));
            Ok(names.collect())
        }
        _ => Ok(vec![]),
    }
}
