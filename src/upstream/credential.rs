//! The operator's credential in the place of the client's: `api_key`, or that of the client's own key.
use super::{UpstreamError, secret_value};
use crate::config::Provider;
use http::header::{AUTHORIZATION, HeaderMap, HeaderName, HeaderValue};

const X_API_KEY: HeaderName = HeaderName::from_static("x-api-key");
const X_GOOG_API_KEY: HeaderName = HeaderName::from_static("x-goog-api-key");

/// Every header in which a client of any of the three providers (or of Azure) sends a credential. All of them go when
/// the operator's key is used: the client's must not reach an upstream that it was not meant for.
pub const CREDENTIALS: [HeaderName; 4] = [AUTHORIZATION, X_API_KEY, X_GOOG_API_KEY, HeaderName::from_static("api-key")];

/// The header value that carries `key`.
///
/// # Errors
/// [`UpstreamError::Config`] when no header can.
pub fn value(provider: Provider, key: &str) -> Result<HeaderValue, UpstreamError> {
    match provider {
        Provider::OpenAi => secret_value(&format!("Bearer {key}")),
        Provider::Anthropic | Provider::Gemini => secret_value(key),
    }
}

/// Puts the operator's key in the place of the client's.
pub(super) fn replace(provider: Provider, key: &HeaderValue, headers: &mut HeaderMap) {
    strip(headers);
    let name = match provider {
        Provider::Anthropic => X_API_KEY,
        Provider::OpenAi => AUTHORIZATION,
        Provider::Gemini => X_GOOG_API_KEY,
    };
    headers.insert(name, key.clone());
}

/// Takes out whatever the client sent as its credential.
pub fn strip(headers: &mut HeaderMap) {
    for name in &CREDENTIALS {
        headers.remove(name);
    }
}
