//! The content of a message: a string or an array of blocks, read alike.
use crate::dialect::object::{Object, slice};
use crate::json::{ScanError, raw};
use std::borrow::Cow;

/// One content block. A string content is one text block.
#[derive(Debug)]
pub(super) struct Block<'a> {
    /// Its `type`; empty when it has none.
    pub(super) kind: Cow<'a, str>,
    body: Body<'a>,
}

#[derive(Debug)]
enum Body<'a> {
    Text(&'a str),
    Object(Object<'a>),
}

impl<'a> Block<'a> {
    /// Reads one element of a content array.
    ///
    /// # Errors
    /// [`ScanError`] when it is no object or has a key twice.
    pub(super) fn parse(raw: &'a str) -> Result<Self, ScanError> {
        let object = Object::parse(raw)?;
        Ok(Self { kind: object.string("type").unwrap_or_default(), body: Body::Object(object) })
    }

    /// Its `text`.
    pub(super) fn text(&self) -> Cow<'a, str> {
        match &self.body {
            Body::Text(quoted) => raw::string(quoted).unwrap_or_default(),
            Body::Object(object) => object.string("text").unwrap_or_default(),
        }
    }

    /// The text of a member's value; `None` where it is absent or null.
    pub(super) fn get(&self, key: &str) -> Option<&'a str> {
        match &self.body {
            Body::Text(_) => None,
            Body::Object(object) => object.get(key),
        }
    }

    /// The string that a member holds, or nothing.
    pub(super) fn string(&self, key: &str) -> Cow<'a, str> {
        self.get(key).and_then(raw::string).unwrap_or_default()
    }

    /// Whether a string member holds something.
    pub(super) fn has(&self, key: &str) -> bool {
        !self.string(key).is_empty()
    }

    /// Its members apart from the cache marker, which clients move about.
    pub(super) fn entries(&self) -> impl Iterator<Item = (&str, &'a str)> {
        let object = match &self.body {
            Body::Text(_) => None,
            Body::Object(object) => Some(object),
        };
        object.into_iter().flat_map(Object::entries).filter(|(key, _)| *key != "cache_control")
    }

    /// Whether it carries a cache marker.
    pub(super) fn is_marked(&self) -> bool {
        self.get("cache_control").is_some()
    }
}

/// The blocks of a content (of a message or of a tool result); none when it is absent. Read one by one: a hostile content
/// may have millions.
pub(super) fn blocks(content: Option<&str>) -> impl Iterator<Item = Result<Block<'_>, ScanError>> {
    let content = content.unwrap_or("[]");
    let elements = raw::array(content);
    let single = elements.is_none().then(|| match content.starts_with('"') {
        true => Ok(Block { kind: "text".into(), body: Body::Text(content) }),
        false => Err(ScanError::NotAnObject),
    });
    let listed = elements.into_iter().flatten().map(|span| Block::parse(slice(content, span)));
    listed.chain(single)
}

/// The texts of a content's text blocks, joined by a newline.
pub(super) fn joined_text(content: Option<&str>) -> String {
    let blocks = blocks(content).flatten();
    let texts: Vec<_> = blocks.filter(|block| block.kind == "text").map(|block| block.text()).collect();
    texts.join("\n")
}
