//! All entries in memory: by id, and what is approved also by tenant, with an index over its words.
use super::entry::{Entry, Reader, Status};
use super::index::Index;
use super::{Filter, KnowledgeError, MAX_ENTRIES, MAX_PENDING};
use crate::session::record::Tenant;
use std::collections::{BTreeMap, HashMap};
use std::ops::Bound;
use std::sync::Arc;

/// Everything.
#[derive(Default)]
pub(super) struct Shelves {
    entries: BTreeMap<String, Arc<Entry>>,
    /// What is approved, by whose it is.
    approved: HashMap<Option<Tenant>, Shelf>,
    /// Proposals whose id a file has: they are back when it is gone.
    covered: HashMap<String, Arc<Entry>>,
}

/// What is approved of one tenant.
#[derive(Default)]
struct Shelf {
    entries: BTreeMap<String, Arc<Entry>>,
    index: Index,
}

impl Shelves {
    pub(super) fn get(&self, id: &str) -> Option<Arc<Entry>> {
        self.entries.get(id).cloned()
    }

    pub(super) fn ids(&self) -> impl Iterator<Item = &String> {
        self.entries.keys()
    }

    /// Puts an entry in, in the place of what has its id.
    pub(super) fn put(&mut self, entry: Arc<Entry>) {
        self.remove(&entry.id);
        if entry.status == Status::Approved {
            let shelf = self.approved.entry(entry.tenant.clone()).or_default();
            shelf.index.put(&entry.id, &entry.title, &entry.body);
            shelf.entries.insert(entry.id.clone(), entry.clone());
        }
        self.entries.insert(entry.id.clone(), entry);
    }

    /// Puts an entry in that stands in a file.
    pub(super) fn file(&mut self, entry: Arc<Entry>) {
        if let Some(proposal) = self.get(&entry.id).filter(|known| !known.status.is_filed()) {
            self.covered.insert(entry.id.clone(), proposal);
        }
        self.put(entry);
    }

    /// Takes out what stood in a file that is gone.
    pub(super) fn unfile(&mut self, id: &str) {
        self.remove(id);
        if let Some(proposal) = self.covered.remove(id) {
            self.put(proposal);
        }
    }

    pub(super) fn remove(&mut self, id: &str) {
        let Some(gone) = self.entries.remove(id) else { return };
        if let Some(shelf) = self.approved.get_mut(&gone.tenant) {
            shelf.entries.remove(id);
            shelf.index.remove(id);
        }
    }

    pub(super) fn has_approved(&self) -> bool {
        self.approved.values().any(|shelf| !shelf.entries.is_empty())
    }

    pub(super) fn list(&self, filter: &Filter, after: Option<&str>, limit: usize) -> Vec<Arc<Entry>> {
        let from = after.map_or(Bound::Unbounded, Bound::Excluded);
        let wanted = |entry: &&Arc<Entry>| {
            filter.status.is_none_or(|status| entry.status == status)
                && filter.tenant.as_ref().is_none_or(|tenant| entry.tenant.as_ref() == Some(tenant))
        };
        let behind = self.entries.range::<str, _>((from, Bound::Unbounded)).map(|(_, entry)| entry);
        behind.filter(wanted).take(limit).cloned().collect()
    }

    /// Whoever said it first, if it waits for its review or is approved.
    pub(super) fn same(&self, entry: &Entry) -> Option<Arc<Entry>> {
        let stands = |known: &&Arc<Entry>| matches!(known.status, Status::Pending | Status::Approved);
        self.entries.values().filter(stands).find(|known| known.says_the_same(entry)).cloned()
    }

    /// What has to go to make room for one more proposal, if anything: the oldest that was rejected.
    ///
    /// # Errors
    /// [`KnowledgeError::TooManyPending`], [`KnowledgeError::Full`].
    pub(super) fn room(&self, tenant: Option<&Tenant>) -> Result<Option<Arc<Entry>>, KnowledgeError> {
        let waits = |entry: &&Arc<Entry>| entry.status == Status::Pending && entry.tenant.as_ref() == tenant;
        if self.entries.values().filter(waits).count() >= MAX_PENDING {
            return Err(KnowledgeError::TooManyPending);
        }
        if self.entries.len() < MAX_ENTRIES {
            return Ok(None);
        }
        let rejected = self.entries.values().find(|entry| entry.status == Status::Rejected);
        rejected.cloned().map(Some).ok_or(KnowledgeError::Full)
    }

    /// The approved entries that `reader` may see, in no order.
    pub(super) fn in_scope<'a>(&'a self, reader: &'a Reader<'a>) -> impl Iterator<Item = &'a Arc<Entry>> {
        let entries = self.visible(reader.tenant).flat_map(|shelf| shelf.entries.values());
        entries.filter(move |entry| entry.scope.covers(reader))
    }

    pub(super) fn find(
        &self,
        reader: &Reader<'_>,
        query: &str,
        limit: usize,
        wanted: impl Fn(&Entry) -> bool,
    ) -> Vec<Arc<Entry>> {
        let mut found: Vec<(f32, &Arc<Entry>)> = Vec::new();
        for shelf in self.visible(reader.tenant) {
            let matches = shelf.index.matches(query);
            let entries = matches.iter().filter_map(|(id, score)| Some((*score, shelf.entries.get(*id)?)));
            found.extend(entries.filter(|(_, entry)| entry.scope.covers(reader)));
        }
        // The newer of two that match alike.
        found.sort_by(|(a, one), (b, other)| b.total_cmp(a).then_with(|| other.since().cmp(&one.since())));
        let wanted = found.into_iter().map(|(_, entry)| entry).filter(|entry| wanted(entry));
        wanted.take(limit).cloned().collect()
    }

    fn visible(&self, tenant: &Tenant) -> impl Iterator<Item = &Shelf> {
        [self.approved.get(&Some(tenant.clone())), self.approved.get(&None)].into_iter().flatten()
    }
}

#[cfg(test)]
mod tests {
    use super::super::entry::tests::entry;
    use super::*;

    #[test]
    fn a_proposal_is_back_when_the_file_with_its_id_is_gone() {
        let mut shelves = Shelves::default();
        let pending = Arc::new(Entry { status: Status::Pending, ..entry("a", "t", "proposed") });
        let filed = Arc::new(Entry { status: Status::Approved, ..entry("a", "t", "in a file") });
        shelves.put(pending.clone());
        shelves.file(filed.clone());
        shelves.file(filed.clone());
        assert_eq!(shelves.get("a"), Some(filed));
        shelves.unfile("a");
        assert_eq!(shelves.get("a"), Some(pending));
        shelves.unfile("a");
        assert_eq!(shelves.get("a"), None);
    }

    #[test]
    fn what_was_rejected_makes_room_and_what_counts_does_not() {
        let mut shelves = Shelves::default();
        let numbered = |number: usize, status| Arc::new(Entry { status, ..entry(&format!("{number:06}"), "t", "b") });
        for number in 0..MAX_ENTRIES {
            let status = if number == 7 { Status::Rejected } else { Status::Superseded };
            shelves.put(numbered(number, status));
        }
        assert_eq!(shelves.room(None), Ok(Some(numbered(7, Status::Rejected))));
        shelves.put(numbered(7, Status::Superseded));
        assert_eq!(shelves.room(None), Err(KnowledgeError::Full));
        shelves.remove("000007");
        assert_eq!(shelves.room(None), Ok(None));
    }
}
