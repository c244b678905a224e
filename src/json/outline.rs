//! The places of all values inside one value, found in one pass: whoever descends into it finds them without scanning
//! the same text once for every level.
use super::scan::Scanner;
use super::{Kind, ScanError, Span};

/// Bytes of text for which one value may be remembered, on average. Agents' bodies have a value every 50 bytes and more;
/// one of nothing but tiny values would cost several times its size, and is scanned level by level instead.
const BYTES_PER_VALUE: usize = 16;

/// The values inside one value, and the keys of its objects, in the order of the text.
#[derive(Debug)]
pub(super) struct Outline(Vec<Node>);

/// A key or a value.
#[derive(Debug, Clone, Copy)]
struct Node {
    start: u32,
    end: u32,
    /// The place in the list behind everything that is inside.
    behind: u32,
}

impl Outline {
    /// Of the value that is all of `text`; `None` where it is not valid, or not worth it.
    pub(super) fn of(text: &str) -> Option<Self> {
        u32::try_from(text.len()).ok()?;
        let mut builder =
            Builder { scanner: Scanner::new(text), nodes: Vec::new(), room: text.len() / BYTES_PER_VALUE };
        builder.run().ok().flatten()?;
        Some(Self(builder.nodes))
    }

    /// The keys and values of the object at `span`; `None` where none begins and ends there.
    pub(super) fn object(&self, span: Span) -> Option<impl Iterator<Item = (Span, Span)>> {
        let inside = self.inside(span)?;
        let mut at = 0;
        Some(std::iter::from_fn(move || {
            let (key, value) = (inside.nodes.get(at)?, inside.nodes.get(at + 1)?);
            at = inside.index(value.behind);
            Some((key.span(), value.span()))
        }))
    }

    /// The elements of the array at `span`; `None` where none begins and ends there.
    pub(super) fn array(&self, span: Span) -> Option<impl Iterator<Item = Span>> {
        let inside = self.inside(span)?;
        let mut at = 0;
        Some(std::iter::from_fn(move || {
            let value = inside.nodes.get(at)?;
            at = inside.index(value.behind);
            Some(value.span())
        }))
    }

    fn inside(&self, span: Span) -> Option<Inside<'_>> {
        let at = self.0.binary_search_by_key(&span.start, |node| node.start as usize).ok()?;
        let node = self.0.get(at).filter(|node| node.end as usize == span.end)?;
        let nodes = self.0.get(at + 1..node.behind as usize)?;
        Some(Inside { nodes, base: at + 1 })
    }
}

/// What is inside a container.
struct Inside<'a> {
    nodes: &'a [Node],
    /// The place of the first in the whole list.
    base: usize,
}

impl Inside<'_> {
    fn index(&self, behind: u32) -> usize {
        behind as usize - self.base
    }
}

impl Node {
    const fn span(self) -> Span {
        Span::new(self.start as usize, self.end as usize)
    }
}

struct Builder<'a> {
    scanner: Scanner<'a>,
    nodes: Vec<Node>,
    /// Nodes that may still be made.
    room: usize,
}

impl Builder<'_> {
    /// `None`: there are too many values.
    fn run(&mut self) -> Result<Option<()>, ScanError> {
        let mut open: Vec<(usize, Kind)> = Vec::new();
        loop {
            let Some(at) = self.begin() else { return Ok(None) };
            let mut first = true;
            match self.scanner.kind() {
                Some(kind @ (Kind::Object | Kind::Array)) => {
                    let _brace = self.scanner.eat(if kind == Kind::Object { b'{' } else { b'[' });
                    open.push((at, kind));
                }
                _ => {
                    self.scanner.value(open.len())?;
                    self.close(at);
                    first = false;
                }
            }
            loop {
                let Some(&(container, kind)) = open.last() else { return Ok(Some(())) };
                if self.more(kind, first)? {
                    break;
                }
                open.pop();
                self.close(container);
                first = false;
            }
        }
    }

    /// Goes to the next value of a container, past its key.
    fn more(&mut self, kind: Kind, first: bool) -> Result<bool, ScanError> {
        if kind == Kind::Array {
            return self.scanner.next_element(first);
        }
        let Some(key) = self.scanner.next_key(first)? else { return Ok(false) };
        self.push(key.start, key.end);
        Ok(true)
    }

    fn begin(&mut self) -> Option<usize> {
        self.room = self.room.checked_sub(1)?;
        let start = self.scanner.position();
        self.push(start, start);
        Some(self.nodes.len() - 1)
    }

    fn push(&mut self, start: usize, end: usize) {
        let behind = place(self.nodes.len() + 1);
        self.nodes.push(Node { start: place(start), end: place(end), behind });
    }

    fn close(&mut self, at: usize) {
        let (end, behind) = (place(self.scanner.position()), place(self.nodes.len()));
        if let Some(node) = self.nodes.get_mut(at) {
            *node = Node { end, behind, ..*node };
        }
    }
}

/// Texts that do not fit were refused at the start.
fn place(at: usize) -> u32 {
    u32::try_from(at).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests {
    use super::super::raw;
    use super::*;
    use proptest::prelude::*;

    fn json() -> impl Strategy<Value = String> {
        let leaf = prop_oneof![
            Just(serde_json::Value::Null),
            any::<bool>().prop_map(Into::into),
            any::<i32>().prop_map(Into::into),
            "[a-z\"\\\\é\n]{20,60}".prop_map(Into::into),
        ];
        let tree = leaf.prop_recursive(5, 40, 6, |inner| {
            prop_oneof![
                proptest::collection::vec(inner.clone(), 0..6).prop_map(serde_json::Value::from),
                proptest::collection::vec(("[a-z\"é]{0,6}", inner), 0..6)
                    .prop_map(|members| serde_json::Value::Object(members.into_iter().collect())),
            ]
        });
        (tree, any::<bool>()).prop_map(|(tree, pretty)| match pretty {
            true => serde_json::to_string_pretty(&tree).unwrap(),
            false => tree.to_string(),
        })
    }

    /// Compares every container with what a scan of its own finds.
    fn same(outline: &Outline, text: &str, span: Span) {
        let inside = &text[span.start..span.end];
        match raw::kind(inside) {
            Some(Kind::Object) => {
                let scanned: Vec<_> = raw::object(inside).unwrap();
                let scanned = scanned.iter().map(|f| (f.key_span.offset(span.start), f.value.offset(span.start)));
                let found: Vec<_> = outline.object(span).unwrap().collect();
                assert_eq!(found, scanned.collect::<Vec<_>>());
                found.iter().for_each(|(_, value)| same(outline, text, *value));
            }
            Some(Kind::Array) => {
                let scanned = raw::array(inside).unwrap().into_iter().map(|value| value.offset(span.start));
                let found: Vec<_> = outline.array(span).unwrap().collect();
                assert_eq!(found, scanned.collect::<Vec<_>>());
                found.iter().for_each(|value| same(outline, text, *value));
            }
            _ => {}
        }
    }

    proptest! {
        #[test]
        fn an_outline_has_what_scans_of_every_level_find(text in json()) {
            if let Some(outline) = Outline::of(&text) {
                same(&outline, &text, Span::new(0, text.len()));
            }
        }
    }

    #[test]
    fn tiny_values_are_not_worth_an_outline() {
        assert!(Outline::of(&format!("[{}0]", "0,".repeat(1000))).is_none());
        assert!(Outline::of(&format!("[{}\"\"]", "\"a text of some length, as usual\",".repeat(1000))).is_some());
    }

    #[test]
    fn a_place_that_is_none_of_a_value_is_not_found() {
        let text = r#"{"content":[{"type":"text","text":"some words of a message, as long as messages usually are"}]}"#;
        let outline = Outline::of(text).unwrap();
        let list = text.find('[').unwrap();
        assert!(outline.array(Span::new(list, text.len() - 1)).is_some());
        assert!(outline.array(Span::new(list, text.len())).is_none());
        assert!(outline.array(Span::new(list + 2, text.len() - 1)).is_none());
    }
}
