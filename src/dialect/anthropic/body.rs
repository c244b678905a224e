//! Whole messages, joined to one.
use super::said::Said;
use super::tokens::Tokens;
use crate::dialect::JoinError;
use crate::dialect::body_joiner::Bodies;
use crate::dialect::object::{Object, slice};
use crate::dialect::rewrite::Rewrite;
use crate::dialect::upstream_error::error_body;
use crate::json::{ScanError, raw};

/// Messages that came without a stream.
pub(super) struct Messages;

impl Bodies for Messages {
    fn check(body: &str) -> Result<(), JoinError> {
        let message = Object::parse(body).map_err(JoinError::unreadable)?;
        match message.string("type").as_deref() {
            Some("message") => Ok(()),
            Some("error") => Err(JoinError::Failed(error_body(body.as_bytes()))),
            kind => Err(JoinError::OutOfOrder(kind.unwrap_or("a body without a type").to_owned())),
        }
    }

    fn answer(body: &str) -> Option<Vec<String>> {
        let mut said = Said::default();
        for block in content(body).ok()? {
            said.begin(block);
            said.finish();
        }
        said.message()
    }

    fn join(bodies: &[&str]) -> Option<String> {
        let (first, last) = (Rewrite::of(bodies.first()?).ok()?, bodies.last()?);
        let mut blocks = vec![];
        let (mut tokens, mut spent) = (Tokens::default(), 0_u64);
        for body in bodies {
            blocks.extend(content(body).ok()?);
            spent = spent.saturating_add(tokens.output());
            tokens = Tokens::default();
            tokens.read(Object::parse(body).ok()?.get("usage"));
        }
        let mut message = Rewrite::of(last).ok()?;
        if let Some(id) = first.get("id") {
            message.set("id", id.to_owned());
        }
        message.set("content", format!("[{}]", blocks.join(",")));
        let usage = tokens.joined(message.get("usage"), spent);
        message.set("usage", usage);
        Some(message.finish())
    }
}

/// The blocks of a message.
fn content(body: &str) -> Result<Vec<&str>, ScanError> {
    let content = Object::parse(body)?.get("content").unwrap_or("[]");
    let blocks = raw::array(content).unwrap_or_default();
    Ok(blocks.into_iter().map(|span| slice(content, span)).collect())
}
