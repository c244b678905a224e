//! The calls of a response while it is streamed: which event is about which, and what becomes of it.
use super::bound::CallItem;
use super::event::Event;
use crate::context::{Binding, Glance, Ruling};
use crate::dialect::binder::{BindError, Kept};
use crate::dialect::{Piece, joiner};
use crate::json::{Kind, raw};

/// What a call counts as held besides its pieces, in bytes. Each event looks for its own, so that their number must have a
/// limit.
const CALL_COST: usize = 1 << 10;

/// A call.
#[derive(Debug)]
pub(super) struct Known {
    /// Where the upstream has it; `None` where the stream did not bring it.
    pub(super) index: Option<u64>,
    pub(super) item: CallItem,
    pub(super) glance: Glance,
    pub(super) ruling: Option<Ruling>,
    /// Its pieces, while it is to be decided on.
    pub(super) held: Vec<Kept>,
    /// Found in the list of the last event.
    is_listed: bool,
}

impl Known {
    pub(super) fn is_shown(&self) -> bool {
        match &self.ruling {
            Some(ruling) => !matches!(ruling, Ruling::Refuse(_)),
            None => self.glance == Glance::Pass,
        }
    }

    /// Whether its pieces wait.
    pub(super) fn is_held(&self) -> bool {
        self.ruling.is_none() && self.glance == Glance::Ask
    }

    /// It came to nothing.
    pub(super) fn drop(&mut self) {
        self.glance = Glance::Refuse;
        self.held.clear();
    }

    /// Whether the client never learns of it.
    pub(super) fn is_dropped(&self) -> bool {
        !self.is_shown() && !self.is_held()
    }

    /// Its input counts once: where its pieces wait, in these.
    fn size(&self) -> usize {
        let waits: usize = self.held.iter().map(Kept::len).sum();
        CALL_COST + waits.max(self.item.call.input.get().len())
    }
}

/// The calls, in the order of the stream.
#[derive(Debug, Default)]
pub(super) struct Calls(pub(super) Vec<Known>);

impl Calls {
    /// The call that an event, `text`, is about.
    ///
    /// # Errors
    /// [`BindError::Unreadable`] when its index and its id name different items, [`BindError::Renamed`] when it says another
    /// name.
    pub(super) fn of(&self, event: &Event<'_>, text: &str) -> Result<Option<usize>, BindError> {
        if self.0.is_empty() {
            return Ok(None);
        }
        let [item_id, name] = raw::pick(text, ["item_id", "name"]).map_err(BindError::unreadable)?;
        let item_id = item_id.and_then(raw::string).unwrap_or_default();
        let about = self.find(event, &item_id)?;
        let known = about.and_then(|at| self.0.get(at));
        match name.and_then(raw::string).zip(known) {
            Some((name, known)) if known.item.call.name != name => Err(BindError::Renamed),
            _ => Ok(about),
        }
    }

    fn find(&self, event: &Event<'_>, item_id: &str) -> Result<Option<usize>, BindError> {
        let by_index =
            event.output_index.and_then(|_| self.0.iter().rposition(|known| known.index == event.output_index));
        let has_id = |known: &Known| !item_id.is_empty() && known.item.item_id == item_id && known.index.is_some();
        let by_id = self.0.iter().rposition(has_id);
        match (by_index, by_id) {
            (Some(index), Some(id)) if index != id => Err(disagree()),
            (None, Some(_)) if event.output_index.is_some() => Err(disagree()),
            (index, id) => Ok(index.or(id)),
        }
    }

    /// A further call.
    pub(super) fn add(&mut self, index: Option<u64>, item: CallItem, binding: &Binding) -> usize {
        let glance = item.glance(binding);
        self.0.push(Known { index, item, glance, ruling: None, held: vec![], is_listed: false });
        self.0.len() - 1
    }

    /// The complete item of a call.
    ///
    /// # Errors
    /// [`BindError::Renamed`] when it is another call than it was.
    pub(super) fn complete(&mut self, at: usize, item: CallItem) -> Result<(), BindError> {
        let Some(known) = self.0.get_mut(at) else { return Ok(()) };
        if !known.item.is_same(&item) {
            return Err(BindError::Renamed);
        }
        known.item = item;
        Ok(())
    }

    /// A call in the list of the last event: the one that the stream brought, or a further one.
    ///
    /// # Errors
    /// [`BindError::Renamed`] when it is another call than it was, or one that was decided on has another input.
    pub(super) fn listed(&mut self, item: CallItem, binding: &Binding) -> Result<usize, BindError> {
        let (id, item_id) = (&item.call.id, &item.item_id);
        let is_it = |known: &Known| {
            !known.is_listed
                && ((!id.is_empty() && known.item.call.id == *id)
                    || (!item_id.is_empty() && known.item.item_id == *item_id)
                    || (id.is_empty() && item_id.is_empty() && known.item.is_same(&item)))
        };
        let at = match self.0.iter().position(is_it) {
            Some(at) => at,
            None => self.add(None, item.clone(), binding),
        };
        let Some(known) = self.0.get_mut(at) else { return Ok(at) };
        known.is_listed = true;
        let is_judged = known.glance == Glance::Ask && known.ruling.is_some() && known.is_shown();
        if is_judged && known.item.call.input.get() != item.call.input.get() {
            return Err(BindError::Renamed);
        }
        self.complete(at, item)?;
        Ok(at)
    }

    /// How many items ahead of this index the client does not get.
    pub(super) fn dropped_before(&self, index: u64) -> u64 {
        let is_before = |known: &&Known| known.is_dropped() && known.index.is_some_and(|own| own < index);
        self.0.iter().filter(is_before).count() as u64
    }

    /// Whether the pieces of one of them wait.
    pub(super) fn holds(&self) -> bool {
        self.0.iter().any(|known| known.is_held() && !known.held.is_empty())
    }

    pub(super) fn size(&self) -> usize {
        self.0.iter().map(Known::size).sum()
    }
}

fn disagree() -> BindError {
    BindError::Unreadable("an event about two items".to_owned())
}

/// The event of a piece; `None` where it says nothing, or is no JSON object, as the marker of some servers: no client can
/// take that for a call.
///
/// # Errors
/// [`BindError::Unreadable`] when it can't be read, or is called otherwise than its type says.
pub(super) fn read<'p>(piece: &'p Piece<'_>) -> Result<Option<(&'p str, Event<'p>)>, BindError> {
    let Some(data) = piece.data else { return Ok(None) };
    let text = joiner::text(data).map_err(BindError::unreadable)?;
    if raw::kind(text) != Some(Kind::Object) {
        return Ok(None);
    }
    let event = Event::read(piece.event, data).ok_or_else(|| BindError::Unreadable("no event".to_owned()))?;
    match piece.event {
        Some(name) if name != event.kind.as_bytes() => {
            Err(BindError::Unreadable(format!("{} is called {}", event.kind, String::from_utf8_lossy(name))))
        }
        _ => Ok(Some((text, event))),
    }
}
