//! A YAML text as a tree that knows the place of every node and what every scalar looked like.
//!
//! Scalars stay text: whether `123` is a number or a name is decided by the key that it is written for.
use super::problem::Place;
use saphyr_parser::{Event, Marker, Parser, ScalarStyle};
use std::collections::HashMap;

/// Nesting beyond this is refused: readers of the tree recurse. A real configuration needs eight levels.
const MAX_DEPTH: usize = 64;

/// Nodes in one text, copies by alias included: a few nested anchors can otherwise grow without bound.
const MAX_NODES: usize = 100_000;

/// One node.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Node {
    /// Where it begins.
    pub(super) place: Place,
    /// What it is.
    pub(super) content: Content,
}

/// What a node is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Content {
    /// Text, as written.
    Scalar {
        /// Without quotes, escapes resolved.
        text: String,
        /// Plain: written without quotes, so that `null`, `true` and `12` may mean more than their letters.
        plain: bool,
    },
    /// A sequence.
    List(Vec<Node>),
    /// A mapping, in the order of the text; the same key may occur twice.
    Map(Vec<(Name, Node)>),
}

/// A key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Name {
    /// Its text.
    pub(super) text: String,
    /// Where it begins.
    pub(super) place: Place,
}

/// Why a text is not a tree.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("line {} column {}: {what}", .place.line, .place.column)]
pub struct NotYaml {
    /// Where.
    pub place: Place,
    /// What.
    pub what: String,
}

impl Node {
    /// The one document of `text`; an empty text is an empty plain scalar.
    ///
    /// # Errors
    /// [`NotYaml`] when it is not YAML 1.2, has a key that is not a scalar, or more than one document.
    pub(super) fn parse(text: &str) -> Result<Self, NotYaml> {
        let mut tree = Tree::default();
        for event in Parser::new_from_str(text) {
            let (event, span) =
                event.map_err(|e| NotYaml { place: place(*e.marker()), what: format!("not YAML: {}", e.info()) })?;
            tree.on(event, place(span.start))?;
        }
        Ok(tree.root.unwrap_or(Self { place: Place::START, content: Content::null() }))
    }

    /// Whether nothing is written here.
    pub(super) fn is_null(&self) -> bool {
        matches!(&self.content, Content::Scalar { text, plain: true } if matches!(text.as_str(), "" | "~" | "null"))
    }

    /// The value of `name`, if this is a mapping that has it.
    pub(super) fn get(&self, name: &str) -> Option<&Self> {
        match &self.content {
            Content::Map(members) => members.iter().find(|(key, _)| key.text == name).map(|(_, node)| node),
            _ => None,
        }
    }
}

impl Content {
    fn null() -> Self {
        Self::Scalar { text: String::new(), plain: true }
    }

    /// What it is, in words for a message.
    pub(super) const fn kind(&self) -> &'static str {
        match self {
            Self::Scalar { .. } => "a single value",
            Self::List(_) => "a list",
            Self::Map(_) => "a map",
        }
    }
}

/// A collection whose end has not come yet.
struct Open {
    node: Node,
    anchor: usize,
    key: Option<Name>,
}

#[derive(Default)]
struct Tree {
    root: Option<Node>,
    open: Vec<Open>,
    anchors: HashMap<usize, Node>,
    nodes: usize,
}

impl Tree {
    fn on(&mut self, event: Event<'_>, place: Place) -> Result<(), NotYaml> {
        match event {
            Event::Scalar(text, style, anchor, _) => {
                let content = Content::Scalar { text: text.into_owned(), plain: style == ScalarStyle::Plain };
                self.close(Node { place, content }, anchor)
            }
            Event::SequenceStart(anchor, _) => self.begin(Content::List(Vec::new()), anchor, place),
            Event::MappingStart(anchor, _) => self.begin(Content::Map(Vec::new()), anchor, place),
            Event::SequenceEnd | Event::MappingEnd => match self.open.pop() {
                Some(open) => self.close(open.node, open.anchor),
                None => Ok(()),
            },
            Event::Alias(anchor) => match self.anchors.get(&anchor).cloned() {
                Some(node) => {
                    self.nodes += node.count();
                    self.close(Node { place, ..node }, 0)
                }
                None => Err(NotYaml { place, what: "an alias to something that is not finished".into() }),
            },
            Event::DocumentStart(_) if self.root.is_some() => {
                Err(NotYaml { place, what: "a second document, write one file per configuration".into() })
            }
            Event::Nothing | Event::StreamStart | Event::StreamEnd | Event::DocumentStart(_) | Event::DocumentEnd => {
                Ok(())
            }
        }
    }

    fn begin(&mut self, content: Content, anchor: usize, place: Place) -> Result<(), NotYaml> {
        if self.open.len() >= MAX_DEPTH {
            return Err(NotYaml { place, what: format!("nested deeper than {MAX_DEPTH} levels") });
        }
        self.open.push(Open { node: Node { place, content }, anchor, key: None });
        Ok(())
    }

    /// A finished node goes to where it belongs.
    fn close(&mut self, node: Node, anchor: usize) -> Result<(), NotYaml> {
        self.nodes += 1;
        if self.nodes > MAX_NODES {
            return Err(NotYaml { place: node.place, what: format!("more than {MAX_NODES} values") });
        }
        if anchor > 0 {
            self.anchors.insert(anchor, node.clone());
        }
        let Some(parent) = self.open.last_mut() else {
            self.root = Some(node);
            return Ok(());
        };
        match (&mut parent.node.content, parent.key.take()) {
            (Content::List(list), _) => list.push(node),
            (Content::Map(members), Some(key)) => members.push((key, node)),
            (_, None) => match node.content {
                Content::Scalar { text, .. } => parent.key = Some(Name { text, place: node.place }),
                other => {
                    return Err(NotYaml {
                        place: node.place,
                        what: format!("{} as a key, write a text and a colon", other.kind()),
                    });
                }
            },
            (Content::Scalar { .. }, Some(_)) => {}
        }
        Ok(())
    }
}

impl Node {
    fn count(&self) -> usize {
        1 + match &self.content {
            Content::Scalar { .. } => 0,
            Content::List(list) => list.iter().map(Self::count).sum(),
            Content::Map(members) => members.iter().map(|(_, node)| node.count()).sum(),
        }
    }
}

/// The parser counts columns from 0.
fn place(marker: Marker) -> Place {
    Place { line: marker.line(), column: marker.col() + 1 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_node_and_key_knows_its_place() {
        let tree = Node::parse("a: 1\nb:\n  - x\n  - {c: 'y'}\n").unwrap();
        let list = tree.get("b").unwrap();
        assert_eq!(tree.get("a").unwrap().place, Place { line: 1, column: 4 });
        let Content::List(items) = &list.content else { panic!("{list:?}") };
        assert_eq!(items[1].get("c").unwrap().place, Place { line: 4, column: 9 });
        let Content::Map(members) = &items[1].content else { panic!() };
        assert_eq!(members[0].0.place, Place { line: 4, column: 6 });
    }

    #[test]
    fn growth_by_nested_aliases_is_refused() {
        let mut text = String::from("a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n");
        for i in 1..12 {
            let alias = format!("*a{}", i - 1);
            text += &format!("a{i}: &a{i} [{}]\n", vec![alias; 10].join(", "));
        }
        assert!(Node::parse(&text).unwrap_err().what.contains("more than"));
    }

    #[test]
    fn deep_nesting_is_refused_in_block_and_flow() {
        for text in ["- ".repeat(5_000) + "x", "[".repeat(200)] {
            Node::parse(&text).unwrap_err();
        }
    }

    #[test]
    fn one_document_only() {
        assert!(Node::parse("a: 1\n---\nb: 2\n").unwrap_err().what.contains("second document"));
        assert!(Node::parse("").unwrap().is_null());
        assert!(Node::parse("# only a comment\n").unwrap().is_null());
    }

    proptest::proptest! {
        #[test]
        fn any_text_is_a_tree_or_an_error(text in "[ -~\n]{0,200}") {
            let _ = Node::parse(&text);
        }
    }
}
