//! Where a generateContent body has its tools.
use super::{at, body};
use crate::dialect::EditError;
use crate::dialect::edit::Fields;
use crate::json::Doc;

/// The client's own functions.
pub(super) const DECLARATIONS: &str = "functionDeclarations";
/// Servers whose tools the provider calls.
pub(super) const SERVERS: &str = "mcpServers";
/// A set of functions that the client executes and the body does not name.
const COMPUTER: &str = "computerUse";

/// One element of `tools`: each key is a tool of the provider's, or a list.
#[derive(Debug)]
pub(super) struct Holder<'a>(pub(super) Fields<'a>);

impl<'a> Holder<'a> {
    /// The elements of a list in it.
    pub(super) fn named(&self, doc: &'a Doc, list: &str) -> Result<Vec<Fields<'a>>, EditError> {
        self.0.elements(list).into_iter().map(|element| at(doc, element)).collect()
    }

    /// Whether it lets the model call what the body does not name.
    pub(super) fn is_opaque(&self) -> bool {
        [SERVERS, COMPUTER].iter().any(|key| self.0.get(key).is_some())
    }
}

/// The elements of `tools`.
pub(super) fn holders(doc: &Doc) -> Result<Vec<Holder<'_>>, EditError> {
    body(doc)?.elements("tools").into_iter().map(|element| Ok(Holder(at(doc, element)?))).collect()
}

/// All function declarations.
pub(super) fn declarations(doc: &Doc) -> Result<Vec<Fields<'_>>, EditError> {
    let mut all = vec![];
    for holder in holders(doc)? {
        all.extend(holder.named(doc, DECLARATIONS)?);
    }
    Ok(all)
}

/// The snake case of a camel-case key: a policy may write either.
pub(super) fn snake_case(key: &str) -> String {
    let mut out = String::with_capacity(key.len() + 4);
    for c in key.chars() {
        if c.is_ascii_uppercase() {
            out.push('_');
        }
        out.push(c.to_ascii_lowercase());
    }
    out
}
