//! The web page: what lies in `page/assets`, built from `page/src` by `npm ci && npm run build` in `page/`.
//!
//! It holds no data: it asks this API for them, with the token that its user gives it.
use super::Admin;
use axum::Router;
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use http::HeaderName;
use http::header::{CONTENT_SECURITY_POLICY, CONTENT_TYPE, REFERRER_POLICY, X_FRAME_OPTIONS};
use std::sync::Arc;

/// Nothing from elsewhere, nothing inline, and in no frame: a text that an agent wrote stays a text.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self' data:; \
                      frame-ancestors 'none'; base-uri 'none'; form-action 'none'";

/// The files by path, with their types.
const FILES: [(&str, &str, &str); 3] = [
    ("/", "text/html; charset=utf-8", include_str!("page/assets/index.html")),
    ("/page.js", "text/javascript; charset=utf-8", include_str!("page/assets/page.js")),
    ("/page.css", "text/css; charset=utf-8", include_str!("page/assets/page.css")),
];

/// Whoever asks: it says nothing about anybody.
pub(super) fn page() -> Router<Arc<Admin>> {
    let file =
        |router: Router<_>, (path, kind, text)| router.route(path, get(move || async move { served(kind, text) }));
    FILES.into_iter().fold(Router::new(), file)
}

fn served(kind: &'static str, text: &'static str) -> Response {
    let headers: [(HeaderName, &str); 4] = [
        (CONTENT_TYPE, kind),
        (CONTENT_SECURITY_POLICY, POLICY),
        (REFERRER_POLICY, "no-referrer"),
        (X_FRAME_OPTIONS, "DENY"),
    ];
    (headers, text).into_response()
}
