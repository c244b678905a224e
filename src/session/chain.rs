//! The digest chain over a history: what tells conversations apart.
//!
//! Every message in normal form is a link; a node stands for all of the history up to its link. Two requests whose
//! chains share a node begin with the same history, whoever sent them.
use crate::context::{Delta, Digest, RequestView, Role};

/// The history of one request up to one item.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Node {
    /// The item that it ends with.
    pub item: usize,
    /// All up to there.
    pub digest: Digest,
    /// The model answered here, so a request has ended with exactly this history.
    pub answered: bool,
}

/// The chain of one request. Items that leave no trace have no node.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Chain {
    root: Digest,
    nodes: Vec<Node>,
    /// Digest of the first link: a compacted history begins with another one.
    first: Option<Digest>,
}

impl Chain {
    /// The chain of `view` for the owner that `scope` names (tenant, session, agent): equal histories of two owners never
    /// share a node.
    pub fn new(scope: Digest, view: &RequestView) -> Self {
        // A delta continues what the provider holds, so its chain begins there and not at nothing.
        let root = match &view.delta {
            Some(delta) => delta_node(scope, delta).unwrap_or(scope),
            None => scope,
        };
        let mut at = root;
        let mut nodes: Vec<Node> = Vec::with_capacity(view.items.len());
        let mut first = None;
        for (index, item) in view.items.iter().enumerate() {
            let Some(link) = item.facts.link else { continue };
            if item.role() == Role::Assistant
                && let Some(before) = nodes.last_mut()
            {
                before.answered = true;
            }
            first.get_or_insert(link);
            at = at.then(link);
            nodes.push(Node { item: index, digest: at, answered: false });
        }
        Self { root, nodes, first }
    }

    /// Where the chain begins: the owner, or the answer that a delta continues.
    pub fn root(&self) -> Digest {
        self.root
    }

    /// The nodes, shortest history first.
    pub fn nodes(&self) -> &[Node] {
        &self.nodes
    }

    /// The nodes behind the first `known` where a request has ended: where the model answered, and the whole.
    pub fn ends(&self, known: usize) -> impl Iterator<Item = Digest> {
        let behind = self.nodes.iter().skip(known).rev().skip(1).rev();
        behind.filter(|node| node.answered).map(|node| node.digest).chain([self.end()])
    }

    /// The whole request.
    pub fn end(&self) -> Digest {
        self.nodes.last().map_or(self.root, |n| n.digest)
    }

    /// The first link.
    pub fn first(&self) -> Option<Digest> {
        self.first
    }

    /// Whether an answer begins a new item of the history. A trailing assistant item (a paused turn sent again) is continued
    /// by its answer instead, so its node can't be told from the answer alone.
    pub fn is_open(&self, view: &RequestView) -> bool {
        view.items.last().is_none_or(|i| i.role() != Role::Assistant)
    }
}

/// The node of a delta's starting point: known once the answer or the conversation with this id went by.
pub fn delta_node(scope: Digest, delta: &Delta) -> Option<Digest> {
    let (kind, id): (&[u8], &str) = match delta {
        Delta::PreviousResponse(id) | Delta::ThreadContinue(id) => (b"answer", id),
        Delta::Conversation(id) => (b"conversation", id),
        Delta::ThreadCreate => return None,
    };
    Some(scope.then(Digest::of(&[kind, id.as_bytes()])))
}

/// The node of an answer of several legs by the id that the client knows it by, whoever's it is: a request for a stored
/// answer names nothing else.
pub fn response_node(id: &str) -> Digest {
    Digest::of(&[b"response", id.as_bytes()])
}

/// The node of an answer by its id, for deltas that will name it.
pub fn answer_node(scope: Digest, id: &str) -> Digest {
    scope.then(Digest::of(&[b"answer", id.as_bytes()]))
}

#[cfg(test)]
mod tests {
    use super::super::testing::{digest, instructions, prompt, reply, result, view};
    use super::*;
    use proptest::prelude::*;

    fn chain(view: &RequestView) -> Chain {
        Chain::new(digest("owner"), view)
    }

    #[test]
    fn an_answer_continues_the_request_that_it_answers() {
        let request = view(vec![prompt("one"), reply("a", &[]), prompt("two")]);
        let answer = reply("b", &[]);
        let next = view(vec![prompt("one"), reply("a", &[]), prompt("two"), answer.clone(), prompt("three")]);
        let (request, next) = (chain(&request), chain(&next));
        assert_eq!(next.nodes()[2].digest, request.end());
        assert_eq!(next.nodes()[3].digest, request.end().then(answer.link.unwrap()));
    }

    #[test]
    fn requests_have_ended_where_the_model_spoke_next_and_at_the_end() {
        let view = view(vec![
            prompt("one"),
            reply("", &["c", "d"]),
            result(&["c"]),
            result(&["d"]),
            reply("a", &[]),
            prompt("two"),
        ]);
        let chain = chain(&view);
        let at = |nodes: &[usize]| nodes.iter().map(|node| chain.nodes()[*node].digest).collect::<Vec<_>>();
        assert_eq!(chain.ends(0).collect::<Vec<_>>(), at(&[0, 3, 5]));
        assert_eq!(chain.ends(2).collect::<Vec<_>>(), at(&[3, 5]));
        assert_eq!(chain.ends(6).collect::<Vec<_>>(), at(&[5]));
    }

    #[test]
    fn an_empty_history_ends_at_its_root() {
        let chain = chain(&view(vec![]));
        assert_eq!((chain.end(), chain.first()), (chain.root(), None));
        assert_eq!(chain.ends(0).collect::<Vec<_>>(), [chain.root()]);
    }

    #[test]
    fn a_delta_begins_at_the_answer_that_it_names() {
        let mut delta = view(vec![prompt("two")]);
        delta.delta = Some(Delta::PreviousResponse("resp_1".into()));
        assert_eq!(chain(&delta).root(), answer_node(digest("owner"), "resp_1"));
        delta.delta = Some(Delta::Conversation("resp_1".into()));
        assert_ne!(chain(&delta).root(), answer_node(digest("owner"), "resp_1"), "an id of another kind");
    }

    #[test]
    fn a_paused_answer_is_not_open() {
        let paused = view(vec![prompt("one"), reply("half", &[])]);
        assert!(!chain(&paused).is_open(&paused));
        let asked = view(vec![prompt("one")]);
        assert!(chain(&asked).is_open(&asked));
    }

    proptest! {
        #[test]
        fn chains_share_exactly_the_nodes_of_their_common_beginning(
            one in prop::collection::vec(0..3_u8, 0..8),
            two in prop::collection::vec(0..3_u8, 0..8),
        ) {
            let history = |words: &[u8]| {
                let said = words.iter().flat_map(|word| [prompt(&word.to_string()), instructions(), reply("ok", &[])]);
                view(said.collect())
            };
            let (first, second) = (chain(&history(&one)), chain(&history(&two)));
            // Two nodes a turn: instructions leave none.
            let common = 2 * one.iter().zip(&two).take_while(|(a, b)| a == b).count();
            for (index, (a, b)) in first.nodes().iter().zip(second.nodes()).enumerate() {
                prop_assert_eq!(a.digest == b.digest, index < common);
            }
            let other = Chain::new(digest("somebody else"), &history(&one));
            prop_assert!(first.nodes().iter().zip(other.nodes()).all(|(a, b)| a.digest != b.digest));
        }
    }
}
