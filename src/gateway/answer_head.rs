//! What an answer's head says of its body.
use http::header::{CONTENT_ENCODING, CONTENT_TYPE, HeaderMap, HeaderValue};

/// Asked of the upstream where its answer is looked into before it goes down.
pub(super) const IDENTITY: HeaderValue = HeaderValue::from_static("identity");

/// Longest JSON answer that is held or read, in bytes: four times what the longest output (128k tokens) takes as text.
pub(super) const MAX_JSON: usize = 32 << 20;

/// Whether the media type begins so, in any case.
pub(super) fn is_type(headers: &HeaderMap, media_type: &str) -> bool {
    let start = headers.get(CONTENT_TYPE).and_then(|value| value.as_bytes().get(..media_type.len()));
    start.is_some_and(|start| start.eq_ignore_ascii_case(media_type.as_bytes()))
}

/// Media type of server-sent events.
pub(super) const EVENT_STREAM: &str = "text/event-stream";

/// The media type without its parameters, in lower case.
pub(super) fn media_type(headers: &HeaderMap) -> Option<Vec<u8>> {
    let value = headers.get(CONTENT_TYPE)?.as_bytes().split(|byte| *byte == b';').next()?;
    Some(value.trim_ascii().to_ascii_lowercase())
}

/// The body's content-encoding, if it has one.
pub(super) fn encoding(headers: &HeaderMap) -> Option<&HeaderValue> {
    headers.get(CONTENT_ENCODING).filter(|value| !matches!(value.as_bytes().trim_ascii(), b"" | b"identity"))
}
