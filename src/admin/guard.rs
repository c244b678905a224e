//! What a request passes before its route.
use super::Admin;
use super::error::ApiError;
use super::hosts::Hosts;
use crate::live::Status;
use axum::extract::{Request, State};
use axum::middleware::Next;
use axum::response::Response;
use http::header::{AUTHORIZATION, CACHE_CONTROL, CONTENT_TYPE, X_CONTENT_TYPE_OPTIONS};
use http::{HeaderMap, HeaderValue};
use http_body::Body as _;
use std::sync::Arc;
use subtle::ConstantTimeEq as _;

const BEARER: &str = "bearer";
const JSON: &str = "application/json";

/// Refuses what is addressed to somebody else, or sent by a foreign web page.
pub(super) async fn own(State(hosts): State<Arc<Hosts>>, request: Request, next: Next) -> Result<Response, ApiError> {
    let (parts, body) = request.into_parts();
    hosts.check(&parts)?;
    Ok(next.run(Request::from_parts(parts, body)).await)
}

/// Refuses what brings no token: the admin token, or that of reviews, which may all that the other may.
pub(super) async fn authorized(
    State(admin): State<Arc<Admin>>,
    request: Request,
    next: Next,
) -> Result<Response, ApiError> {
    let status = admin.live.status();
    match bearer(request.headers()) {
        Some(token) if status.token.is(token) || approves(&status, token) => Ok(next.run(request).await),
        _ => Err(ApiError::Unauthorized),
    }
}

/// Refuses a review that does not bring `knowledge.approve_token`, where there is one.
pub(super) async fn reviewer(
    State(admin): State<Arc<Admin>>,
    request: Request,
    next: Next,
) -> Result<Response, ApiError> {
    let status = admin.live.status();
    let is_open = status.config().knowledge.approve_token.is_none();
    match bearer(request.headers()) {
        Some(token) if is_open || approves(&status, token) => Ok(next.run(request).await),
        _ => Err(ApiError::NotReviewer),
    }
}

/// Whether this is the token of reviews.
fn approves(status: &Status, offered: &[u8]) -> bool {
    let token = status.config().knowledge.approve_token.as_ref();
    token.is_some_and(|token| token.0.as_bytes().ct_eq(offered).into())
}

/// The credentials of the only `Authorization`; the scheme's case does not matter (RFC 9110 section 11.1).
fn bearer(headers: &HeaderMap) -> Option<&[u8]> {
    let mut values = headers.get_all(AUTHORIZATION).into_iter();
    let value = values.next().filter(|_| values.next().is_none())?.as_bytes();
    let (scheme, rest) = value.split_at_checked(BEARER.len())?;
    let token = rest.strip_prefix(b" ")?;
    scheme.eq_ignore_ascii_case(BEARER.as_bytes()).then(|| token.trim_ascii())
}

/// Refuses bodies of the types that a web page can send without asking first, and of all others but JSON.
pub(super) async fn json(request: Request, next: Next) -> Result<Response, ApiError> {
    if request.body().is_end_stream() || is_json(request.headers()) {
        Ok(next.run(request).await)
    } else {
        Err(ApiError::UnsupportedType)
    }
}

fn is_json(headers: &HeaderMap) -> bool {
    let value = headers.get(CONTENT_TYPE).and_then(|value| value.to_str().ok());
    let essence = value.and_then(|value| value.split(';').next());
    essence.is_some_and(|essence| essence.trim().eq_ignore_ascii_case(JSON))
}

/// What was begun is ended, whether or not the client waits: a hook that has run is noted as run.
pub(super) async fn to_the_end(
    State(admin): State<Arc<Admin>>,
    request: Request,
    next: Next,
) -> Result<Response, ApiError> {
    Ok(admin.live.turns().to_the_end(next.run(request)).await?)
}

/// What prompts say is kept by no cache, and nothing is taken for a page.
pub(super) async fn private(mut response: Response) -> Response {
    let headers = response.headers_mut();
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    headers.insert(X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    response
}

#[cfg(test)]
mod tests {
    use super::*;

    fn headers(name: &'static str, values: &[&str]) -> HeaderMap {
        values.iter().map(|value| (http::HeaderName::from_static(name), value.parse().unwrap())).collect()
    }

    #[test]
    fn the_token_stands_behind_bearer_in_any_case() {
        for (values, token) in [
            (&["Bearer t"][..], Some("t")),
            (&["bearer  t "], Some("t")),
            (&["Bearer "], Some("")),
            (&["Bearer"], None),
            (&["Bearert"], None),
            (&["Basic t"], None),
            (&["t"], None),
            (&["Bearer t", "Bearer t"], None),
            (&[], None),
        ] {
            assert_eq!(bearer(&headers("authorization", values)), token.map(str::as_bytes), "{values:?}");
        }
    }

    #[test]
    fn json_is_json_with_or_without_parameters() {
        for (value, json) in [
            ("application/json", true),
            ("Application/JSON; charset=utf-8", true),
            ("application/json-seq", false),
            ("text/plain", false),
            ("text/plain; application/json", false),
            ("application/x-www-form-urlencoded", false),
        ] {
            assert_eq!(is_json(&headers("content-type", &[value])), json, "{value}");
        }
        assert!(!is_json(&HeaderMap::new()));
    }
}
