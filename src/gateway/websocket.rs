//! WebSockets are declined so that clients fall back to plain requests.
//!
//! Codex opens one first; on 426 it goes on with POST at once, on 404 only after seven tries, on 400 not at all.
use super::errors::GatewayError;
use crate::upstream::headers::lists;
use http::HeaderMap;
use http::header::UPGRADE;

/// # Errors
/// [`GatewayError::NoWebsocket`] when the request asks for one. Other upgrades are hop-by-hop and just not passed on.
pub(super) fn decline(headers: &HeaderMap) -> Result<(), GatewayError> {
    let asked = headers.get_all(UPGRADE).iter().any(|value| lists(value, "websocket"));
    if asked { Err(GatewayError::NoWebsocket) } else { Ok(()) }
}
