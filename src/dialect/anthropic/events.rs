//! The parts of stream events and of a whole message that a reader looks at, as raw text; everything else is skipped
//! unread.
use crate::json::{ScanError, raw};
use std::borrow::Cow;

/// Any event; which members it has depends on its type.
pub(super) struct Event<'a> {
    pub(super) kind: Option<&'a str>,
    pub(super) index: Option<u64>,
    pub(super) message: Option<&'a str>,
    pub(super) content_block: Option<&'a str>,
    pub(super) delta: Option<&'a str>,
    pub(super) usage: Option<&'a str>,
    pub(super) error: Option<&'a str>,
}

impl<'a> Event<'a> {
    pub(super) fn parse(text: &'a str) -> Result<Self, ScanError> {
        let keys = ["type", "index", "message", "content_block", "delta", "usage", "error"];
        let [kind, index, message, content_block, delta, usage, error] = raw::pick(text, keys)?;
        Ok(Self { kind, index: number(index), message, content_block, delta, usage, error })
    }
}

/// A whole message, or the one in `message_start`.
pub(super) struct Message<'a> {
    pub(super) kind: Option<&'a str>,
    pub(super) id: Option<&'a str>,
    pub(super) content: Option<&'a str>,
    pub(super) stop_reason: Option<&'a str>,
    pub(super) usage: Option<&'a str>,
    pub(super) error: Option<&'a str>,
}

impl<'a> Message<'a> {
    pub(super) fn parse(text: &'a str) -> Result<Self, ScanError> {
        let keys = ["type", "id", "content", "stop_reason", "usage", "error"];
        let [kind, id, content, stop_reason, usage, error] = raw::pick(text, keys)?;
        Ok(Self { kind, id, content, stop_reason, usage, error })
    }
}

/// A content block, or a delta to one: they share no member with different meanings.
pub(super) struct Piece<'a> {
    pub(super) kind: Option<&'a str>,
    pub(super) text: Option<&'a str>,
    pub(super) id: Option<&'a str>,
    pub(super) name: Option<&'a str>,
    pub(super) input: Option<&'a str>,
    pub(super) partial_json: Option<&'a str>,
    pub(super) signature: Option<&'a str>,
    pub(super) thinking: Option<&'a str>,
    pub(super) citation: Option<&'a str>,
    pub(super) stop_reason: Option<&'a str>,
}

impl<'a> Piece<'a> {
    pub(super) fn parse(text: &'a str) -> Result<Self, ScanError> {
        let keys =
            ["type", "text", "id", "name", "input", "partial_json", "signature", "thinking", "citation", "stop_reason"];
        let [kind, text, id, name, input, partial_json, signature, thinking, citation, stop_reason] =
            raw::pick(text, keys)?;
        Ok(Self { kind, text, id, name, input, partial_json, signature, thinking, citation, stop_reason })
    }
}

/// Token counts. Those in `message_delta` are running totals and overwrite the earlier ones.
pub(super) struct Tokens {
    pub(super) input: Option<u64>,
    pub(super) cached_input: Option<u64>,
    pub(super) output: Option<u64>,
}

impl Tokens {
    pub(super) fn parse(text: &str) -> Result<Self, ScanError> {
        let keys = ["input_tokens", "cache_read_input_tokens", "output_tokens"];
        let [input, cached_input, output] = raw::pick(text, keys)?.map(number);
        Ok(Self { input, cached_input, output })
    }
}

/// A string's text; nothing for what is no string.
pub(super) fn string(raw: &str) -> Cow<'_, str> {
    raw::string(raw).unwrap_or_default()
}

fn number(text: Option<&str>) -> Option<u64> {
    text?.parse().ok()
}
