//! A request on its way through the hooks of `model.context`.
//!
//! Edits of different parts of a body (instructions, history, tools, parameters) do not see each other, so that they are
//! gathered and made together; the body is read again only where an edit meets a part that an earlier one changed. A long
//! body is read once and not once for each edit.
use super::identify::is_bound;
use super::read::Read;
use super::upward::Upward;
use super::{TurnError, Turns};
use crate::context::edit::Globs;
use crate::context::{Edit, Operation, RequestView, Role, Roster};
use crate::dialect::ViewError;
use crate::json::{Doc, EditedError, Rope, ScanError, Span, Splice};
use crate::session::ledger::Entry;
use std::collections::HashSet;
use std::sync::Arc;

/// The request as it stands.
#[derive(Debug, Clone, Default)]
pub(super) struct Draft {
    /// The body that was read last, where it is another than the client's.
    base: Option<Arc<(Doc, RequestView)>>,
    /// What is made of it beside that.
    pending: Splice,
    /// The parts that `pending` changes.
    touched: Parts,
    /// What changes beside the body.
    pub upward: Upward,
    /// Text that was added to the history, to be recorded with what it was added to.
    pub notes: Vec<Entry>,
    tools: ToolEdits,
    /// Edits that changed something of the body.
    made: usize,
}

/// Parts of a body, as a set of bits.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct Parts(u8);

impl Parts {
    const SYSTEM: Self = Self(1);
    const HISTORY: Self = Self(1 << 1);
    const TOOLS: Self = Self(1 << 2);
    const PARAMS: Self = Self(1 << 3);
    const MODEL: Self = Self(1 << 4);
    const ALL: Self = Self(u8::MAX);

    const fn and(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    const fn meets(self, other: Self) -> bool {
        self.0 & other.0 != 0
    }

    /// What the gateway's own texts and the model's alias change. Most stand inside of messages and leave the instructions
    /// alone, so that rules about these need no second reading.
    fn of_placed(placed: &Splice, read: &Read) -> Self {
        let is_in_a_message = |place: Span| {
            let items = &read.view.items;
            let before = items.partition_point(|item| item.span.start < place.start);
            let item = before.checked_sub(1).and_then(|last| items.get(last));
            item.is_some_and(|item| item.role() != Role::System && place.end < item.span.end)
        };
        match placed {
            _ if placed.is_empty() => Self::default(),
            _ if placed.places().all(is_in_a_message) => Self::HISTORY,
            _ => Self::SYSTEM.and(Self::HISTORY).and(Self::MODEL),
        }
    }

    /// What an edit reads or changes. Instructions may stand in the history, and tools in both: where bytes meet, that is seen
    /// when edits are put together.
    fn of(edit: &Edit, read: &Read) -> Self {
        match edit {
            Edit::SystemPrepend { .. } | Edit::SystemAppend { .. } | Edit::SystemReplace { .. } => {
                if is_bound(read) {
                    Self::SYSTEM.and(Self::HISTORY)
                } else {
                    Self::SYSTEM
                }
            }
            Edit::MessagesAppend { .. } | Edit::MessagesRedact { .. } => Self::HISTORY,
            Edit::MessagesRemove { .. } | Edit::MessagesReplace { .. } => {
                Self::HISTORY.and(Self::SYSTEM).and(Self::TOOLS)
            }
            Edit::ToolsRemove { .. }
            | Edit::ToolsKeep { .. }
            | Edit::ToolsDescribe { .. }
            | Edit::ToolsReplace { .. }
            | Edit::ToolsAdd { .. }
            | Edit::ToolChoiceSet { .. } => Self::TOOLS,
            Edit::ParamsSet(_) | Edit::ParamsClamp(_) | Edit::ParamsRemove { .. } => Self::PARAMS,
            Edit::ModelSet { .. } => Self::MODEL,
            Edit::HeadersSet { .. } | Edit::HeadersRemove { .. } => Self::default(),
            Edit::Native { .. } => Self::ALL,
        }
    }
}

/// What hooks say about the request's tools.
#[derive(Debug, Clone, Default)]
struct ToolEdits {
    /// Something was said that can change which tools there are.
    said: bool,
    /// And something of the body changed by it.
    done: bool,
    gone: Vec<Globs>,
    kept: Vec<Globs>,
}

/// Whether an edit can change which tools there are. Taking messages out does not: a tool that only they told of is one
/// that the model does not know any more, and not one that somebody took from it.
const fn names_tools(edit: &Edit) -> bool {
    matches!(
        edit,
        Edit::ToolsRemove { .. }
            | Edit::ToolsKeep { .. }
            | Edit::ToolsAdd { .. }
            | Edit::ToolsReplace { .. }
            | Edit::Native { .. }
    )
}

impl Draft {
    /// The client's body with what the gateway places in it.
    pub(super) fn new(placed: Splice, read: &Read) -> Self {
        Self { touched: Parts::of_placed(&placed, read), pending: placed, ..Self::default() }
    }

    /// The body that was read last, without what is pending.
    pub(super) fn base<'a>(&'a self, read: &'a Read) -> (&'a Doc, &'a RequestView) {
        self.base.as_deref().map_or((&read.doc, &read.view), |(doc, view)| (doc, view))
    }

    /// Notes what an edit says about tools.
    pub(super) fn note(&mut self, edit: &Edit) {
        match edit {
            Edit::ToolsRemove { names } => self.tools.gone.push(names.clone()),
            Edit::ToolsKeep { names } => self.tools.kept.push(names.clone()),
            _ => {}
        }
        self.tools.said |= names_tools(edit);
    }

    /// Whether something was changed since it was `before`.
    pub(super) fn is_other(&self, before: &Self) -> bool {
        self.made != before.made || self.upward != before.upward
    }

    /// Reads the body anew if `edit` meets what is pending.
    ///
    /// # Errors
    /// [`ViewError`] when it can't be read.
    pub(super) fn ready_for(&mut self, edit: &Edit, turns: &Turns, read: &Read) -> Result<(), ViewError> {
        if self.touched.meets(Parts::of(edit, read)) { self.settle(turns, read) } else { Ok(()) }
    }

    /// Adds what `edit` changes, `splice` being made of [`Draft::base`].
    ///
    /// # Errors
    /// [`ViewError`] when the result can't be read. `false`: it meets the bytes of what is pending, and is to be made
    /// again of what that makes.
    pub(super) fn add(&mut self, edit: &Edit, splice: Splice, turns: &Turns, read: &Read) -> Result<bool, ViewError> {
        let Ok(together) = self.pending.with(&splice, self.base(read).0.bytes().len()) else {
            self.settle(turns, read)?;
            return Ok(false);
        };
        self.pending = together;
        self.made += 1;
        self.tools.done |= names_tools(edit);
        self.touched = self.touched.and(Parts::of(edit, read));
        // Whoever patches the native body may make something that is none.
        if self.touched == Parts::ALL {
            self.settle(turns, read)?;
        }
        Ok(true)
    }

    /// Makes what is pending, and reads the result.
    ///
    /// # Errors
    /// [`ViewError`] when it can't be read.
    pub(super) fn settle(&mut self, turns: &Turns, read: &Read) -> Result<(), ViewError> {
        self.touched = Parts::default();
        let pending = std::mem::take(&mut self.pending);
        if pending.is_empty() {
            return Ok(());
        }
        let doc = self.base(read).0.edited(pending).map_err(|error| match error {
            EditedError::Scan(error) => error,
            EditedError::Splice(_) => ScanError::NotAnObject,
        })?;
        let view = turns.view(&doc, read.endpoint(), &read.profile)?;
        self.base = Some(Arc::new((doc, view)));
        Ok(())
    }

    /// What the answer may call; `None` where no hook changed the client's tools.
    ///
    /// # Errors
    /// [`ViewError`] when the body can't be read.
    pub(super) fn roster(&mut self, turns: &Turns, read: &Read) -> Result<Option<Roster>, ViewError> {
        if !self.tools.said || read.asked.endpoint.operation != Operation::Generate {
            return Ok(None);
        }
        // A rule about tools that are not there changes nothing, and the body is not read again for it.
        if !self.tools.done && read.dialect().roster(&read.doc, &read.view).is_some() {
            return Ok(None);
        }
        self.settle(turns, read)?;
        let (doc, view) = self.base(read);
        let dialect = read.dialect();
        let names = |names: Option<Vec<String>>| names.map(|names| names.into_iter().collect::<HashSet<String>>());
        Ok(match (names(dialect.roster(&read.doc, &read.view)), names(dialect.roster(doc, view))) {
            (Some(before), Some(after)) => (before != after).then_some(Roster::Only(after)),
            _ => self.unseen(read),
        })
    }

    /// The roster where tools can't all be seen.
    fn unseen(&self, read: &Read) -> Option<Roster> {
        let listed = |doc, view| -> HashSet<String> {
            read.neutral(doc, view).tools.into_iter().map(|tool| tool.name).collect()
        };
        let (doc, view) = self.base(read);
        let after = listed(doc, view);
        let removed: HashSet<String> = listed(&read.doc, &read.view).difference(&after).cloned().collect();
        let ToolEdits { gone, kept, .. } = self.tools.clone();
        let binds = !(removed.is_empty() && gone.is_empty() && kept.is_empty());
        binds.then_some(Roster::AllBut { removed, gone, kept })
    }

    /// The body as it goes up; `None`: as it came.
    ///
    /// # Errors
    /// [`TurnError::Body`] when it can't be made.
    pub(super) fn body(&mut self, read: &Read) -> Result<Option<Rope>, TurnError> {
        let pending = std::mem::take(&mut self.pending);
        if pending.is_empty() {
            return Ok(self.base.as_deref().map(|(doc, _)| Rope::from(doc.bytes().clone())));
        }
        let made = pending.apply(self.base(read).0.bytes());
        made.map(Some).map_err(|_| TurnError::Body(ScanError::NotAnObject))
    }
}
