//! Whose history a request brings: the longest known one that it begins with.
use super::{Conversations, NodeOwner, decode, node_key};
use crate::context::Digest;
use crate::session::chain::{Chain, Node};
use crate::session::store::{Shared, StoreError};
use std::sync::Arc;

/// Newest nodes, and newest nodes where a request has ended, that are looked up one by one before halving the rest: the
/// usual request extends one of them, even with many results of parallel calls behind it.
const LINEAR: usize = 4;

/// The longest known history that a request begins with.
#[derive(Debug, Clone)]
pub struct Found {
    /// The node.
    pub node: Digest,
    /// How many of the request's nodes it covers; all: a retry or a regeneration.
    pub covered: usize,
    /// Whose it is.
    pub owner: Arc<NodeOwner>,
}

impl Found {
    fn at(nodes: &[Node], index: usize, owner: Arc<NodeOwner>) -> Self {
        Self { node: nodes[index].digest, covered: index + 1, owner }
    }
}

impl Conversations {
    /// The longest known history that `chain` begins with.
    ///
    /// # Errors
    /// When the store can't be read.
    pub async fn find(&self, chain: &Chain) -> Result<Option<Found>, StoreError> {
        if let Some(shared) = self.store.shared() {
            return self.find_shared(shared, chain).await;
        }
        let nodes = chain.nodes();
        let newest_first = || (0..nodes.len()).rev();
        let in_memory = newest_first().find(|i| self.nodes.contains_key(&nodes[*i].digest));
        let unknown = in_memory.map_or(0, |i| i + 1)..nodes.len();
        let newest = unknown.clone().rev().take(LINEAR);
        let ends = unknown.rev().skip(LINEAR).filter(|index| nodes[*index].answered).take(LINEAR);
        for index in newest.chain(ends) {
            if let Some(owner) = self.stored_node(nodes[index].digest).await? {
                return Ok(Some(Found::at(nodes, index, owner)));
            }
        }
        if let Some(index) = in_memory
            && let Some(owner) = self.nodes.get(&nodes[index].digest)
        {
            return Ok(Some(Found::at(nodes, index, owner)));
        }
        if let Some(found) = self.find_by_halving(nodes).await? {
            return Ok(Some(found));
        }
        // Only a delta's root can be known: the answer that it continues.
        let root = chain.root();
        let owner = match self.nodes.get(&root) {
            Some(owner) => Some(owner),
            None => self.stored_node(root).await?,
        };
        Ok(owner.map(|owner| Found { node: root, covered: 0, owner }))
    }

    /// A history that was answered at some point was answered at every earlier point where the model spoke: the nodes
    /// where requests ended have no gaps, so halving finds the last known one in few reads.
    async fn find_by_halving(&self, nodes: &[Node]) -> Result<Option<Found>, StoreError> {
        let ends: Vec<usize> = (0..nodes.len()).filter(|i| nodes[*i].answered).collect();
        let (mut low, mut high) = (0, ends.len());
        let mut best = None;
        while low < high {
            let middle = low + (high - low) / 2;
            match self.stored_node(nodes[ends[middle]].digest).await? {
                Some(owner) => {
                    best = Some((ends[middle], owner));
                    low = middle + 1;
                }
                None => high = middle,
            }
        }
        let Some((end, owner)) = best else { return Ok(None) };
        // The answer that followed may be known as well.
        if let Some(answer) = nodes.get(end + 1)
            && let Some(owner) = self.stored_node(answer.digest).await?
        {
            return Ok(Some(Found::at(nodes, end + 1, owner)));
        }
        Ok(Some(Found::at(nodes, end, owner)))
    }

    pub(super) async fn stored_node(&self, digest: Digest) -> Result<Option<Arc<NodeOwner>>, StoreError> {
        let Some(value) = self.store.get(&node_key(digest)).await? else { return Ok(None) };
        self.read_node(digest, &value).map(Some)
    }

    fn read_node(&self, digest: Digest, value: &[u8]) -> Result<Arc<NodeOwner>, StoreError> {
        let owner: Arc<NodeOwner> = decode(value)?;
        self.nodes.insert(digest, owner.clone());
        Ok(owner)
    }

    /// The same where others write too: the likely nodes are read at once, whatever memory knows of them.
    async fn find_shared(&self, shared: &dyn Shared, chain: &Chain) -> Result<Option<Found>, StoreError> {
        let nodes = chain.nodes();
        let newest = (0..nodes.len()).rev().take(LINEAR);
        let ends = (0..nodes.len()).rev().skip(LINEAR).filter(|index| nodes[*index].answered).take(LINEAR);
        let likely: Vec<usize> = newest.chain(ends).collect();
        let keys = likely.iter().map(|index| nodes[*index].digest).chain([chain.root()]).map(node_key).collect();
        let values = match shared.get_many(keys).await {
            Ok(values) => values,
            // Traffic goes on with what memory knows.
            Err(error) => {
                let known = (0..nodes.len()).rev().find_map(|i| Some((i, self.nodes.get(&nodes[i].digest)?)));
                return known.map(|(index, owner)| Some(Found::at(nodes, index, owner))).ok_or(error);
            }
        };
        for (index, value) in likely.iter().zip(&values) {
            if let Some(value) = value {
                let owner = self.read_node(nodes[*index].digest, value)?;
                return Ok(Some(Found::at(nodes, *index, owner)));
            }
        }
        if nodes.len() > likely.len()
            && let Some(found) = self.find_by_halving(nodes).await?
        {
            return Ok(Some(found));
        }
        let Some(value) = values.last().and_then(Option::as_ref) else { return Ok(None) };
        let owner = self.read_node(chain.root(), value)?;
        Ok(Some(Found { node: chain.root(), covered: 0, owner }))
    }
}
