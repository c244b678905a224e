//! Requests that name an earlier answer in their path: `GET /v1/responses/ID`, `DELETE`, `.../cancel`, `.../input_items`.
//!
//! An answer of several legs has the first one's id for the client, while the provider's history goes on behind the last
//! one: that is the answer the client means.
use super::answer_head::{IDENTITY, MAX_JSON, is_type};
use super::errors::GatewayError;
use super::request::Exchange;
use super::router::RouteError;
use crate::config::Provider;
use crate::dialect::responses;
use crate::json::{Doc, Splice, raw};
use crate::upstream::UpstreamError;
use axum::body::Body;
use axum::response::Response;
use http::header::{ACCEPT_ENCODING, CONTENT_ENCODING, CONTENT_LENGTH, HeaderMap, HeaderValue};
use http::uri::PathAndQuery;

/// An answer with two names.
pub(super) struct Renamed {
    client: String,
    provider: String,
}

impl Renamed {
    /// What the path and query name, if it is an answer that has two names.
    pub(super) async fn find(exchange: &Exchange<'_>, line: &PathAndQuery, headers: &HeaderMap) -> Option<Self> {
        if exchange.upstream.provider() != Provider::OpenAi {
            return None;
        }
        let client = line.path().get(responses::answer_in_path(line.path())?)?;
        let turns = &exchange.gateway.turns;
        let provider = turns.newest_of(client, exchange.tenant(), headers, exchange.query.as_deref()).await?;
        Some(Self { client: client.to_owned(), provider })
    }

    /// The line as the provider knows it. The answer is asked for uncompressed, since its id is put back.
    pub(super) fn line(&self, line: &PathAndQuery, headers: &mut HeaderMap) -> Result<PathAndQuery, RouteError> {
        headers.insert(ACCEPT_ENCODING, IDENTITY);
        let span = responses::answer_in_path(line.path()).ok_or(RouteError::NoRoute)?;
        let text = line.as_str();
        let renamed = format!("{}{}{}", &text[..span.start], self.provider, &text[span.end..]);
        PathAndQuery::try_from(renamed).map_err(|_| RouteError::InvalidPath)
    }

    /// The answer under the client's name.
    ///
    /// # Errors
    /// When the upstream breaks it off.
    pub(super) async fn present(self, response: Response) -> Result<Response, GatewayError> {
        let (mut head, body) = response.into_parts();
        if !is_type(&head.headers, "application/json") || head.headers.contains_key(CONTENT_ENCODING) {
            return Ok(Response::from_parts(head, body));
        }
        let closed = |error: axum::Error| UpstreamError::Closed(error.to_string());
        let bytes = axum::body::to_bytes(body, MAX_JSON).await.map_err(closed)?;
        let renamed = Doc::parse(bytes.clone()).ok().and_then(|doc| {
            let id = doc.get("id")?.value;
            let is_his = raw::string(doc.text(id)).is_some_and(|id| id == self.provider);
            let mut splice = Splice::new();
            splice.replace(id, raw::quote(&self.client));
            splice.apply(doc.bytes()).ok().filter(|_| is_his)
        });
        let bytes = renamed.map_or(bytes, |rope| rope.to_bytes());
        if head.headers.contains_key(CONTENT_LENGTH) {
            head.headers.insert(CONTENT_LENGTH, HeaderValue::from(bytes.len()));
        }
        Ok(Response::from_parts(head, Body::from(bytes)))
    }
}
