//! The error shape of both OpenAI APIs, as written by hookgate and as read from an upstream.
use crate::dialect::WireError;
use crate::dialect::object::Object;
use crate::json::{Kind, raw};
use serde_json::{Value, json};

/// The error object that the SDKs read `message`, `type`, `param` and `code` from.
pub(in crate::dialect) fn object(error: &WireError) -> Value {
    let kind = error.said.as_ref().and_then(|said| said.kind.as_deref()).unwrap_or(kind(error.status));
    json!({"message": error.message, "type": kind, "param": null, "code": code(error)})
}

/// The word for programs: the upstream's own, which may have none.
pub(in crate::dialect) fn code(error: &WireError) -> Option<&str> {
    error.said.as_ref().map_or(Some(error.code), |said| said.code.as_deref())
}

/// The body of an error answer.
pub(in crate::dialect) fn body(error: &WireError) -> bytes::Bytes {
    json!({"error": object(error)}).to_string().into()
}

/// The API's own word for a class of errors.
const fn kind(status: u16) -> &'static str {
    match status {
        401 => "authentication_error",
        403 => "permission_error",
        429 => "rate_limit_error",
        500.. => "server_error",
        _ => "invalid_request_error",
    }
}

/// The text of an upstream's `error` member: an object with a message, or a string (compatible servers).
pub(in crate::dialect) fn text(error: &str) -> String {
    match raw::kind(error) {
        Some(Kind::String) => raw::string(error).unwrap_or_default().into_owned(),
        _ => Object::parse(error)
            .ok()
            .and_then(|e| e.string("message").or_else(|| e.string("code")))
            .map_or_else(|| error.to_owned(), std::borrow::Cow::into_owned),
    }
}
