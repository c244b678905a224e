//! Which tools an edit lets through.
use crate::context::edit::{Edit, Globs};

/// `tools.remove` or `tools.keep`.
#[derive(Debug, Clone, Copy)]
pub(in crate::dialect) struct Sieve<'e> {
    globs: &'e Globs,
    keeps: bool,
}

impl<'e> Sieve<'e> {
    /// The sieve that an edit is, if it is one.
    pub(in crate::dialect) fn of(edit: &'e Edit) -> Option<Self> {
        match edit {
            Edit::ToolsRemove { names } => Some(Self { globs: names, keeps: false }),
            Edit::ToolsKeep { names } => Some(Self { globs: names, keeps: true }),
            _ => None,
        }
    }

    /// What the name of a group of tools says of all that it holds; `None`: each of them is asked.
    pub(in crate::dialect) fn of_group<'n>(&self, names: impl IntoIterator<Item = &'n str>) -> Option<bool> {
        names.into_iter().any(|name| self.globs.matches(name)).then_some(self.keeps)
    }

    /// Whether a tool stays. It may go by several names (a provider's tool by its own and by its type); one that is named
    /// is meant.
    pub(in crate::dialect) fn passes<'n>(&self, names: impl IntoIterator<Item = &'n str>) -> bool {
        names.into_iter().any(|name| self.globs.matches(name)) == self.keeps
    }
}
