//! Whether hooks look into a request, and what becomes of it.
use super::client_body::ClientBody;
use super::errors::GatewayError;
use super::request::Exchange;
use super::tap::Tap;
use crate::upstream::RequestBody;
use http::HeaderMap;

/// What goes up, and what watches the answer.
pub struct Passage {
    /// The body.
    pub body: RequestBody,
    /// Sees the answer; `None` when nobody asks for it.
    pub tap: Option<Box<dyn Tap>>,
}

impl Passage {
    /// The client's own body, untouched and unread.
    pub fn untouched(body: ClientBody) -> Self {
        Self { body: RequestBody::stream(body), tap: None }
    }
}

/// Decides what goes up. `headers` are the client's; what is changed in them goes up.
///
/// # Errors
/// [`GatewayError`] when the request is answered here.
#[allow(clippy::unused_async, reason = "hooks are awaited here")]
pub(super) async fn inspect(
    _exchange: &Exchange<'_>,
    _headers: &mut HeaderMap,
    body: ClientBody,
) -> Result<Passage, GatewayError> {
    Ok(Passage::untouched(body))
}
