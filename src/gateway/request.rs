//! The life of a request.
use super::Gateway;
use super::client_body::ClientBody;
use super::errors::{GatewayError, Shape};
use super::inspect::{Passage, inspect};
use super::read::{ReadBody, ReadError, read};
use super::relay::relay;
use super::request_id::{REQUEST_ID_HEADER, RequestId};
use super::router::{Route, RouteError};
use super::websocket;
use crate::config::Provider;
use crate::context::view::AnswerForm;
use crate::dialect::{self, DialectId, Endpoint};
use crate::telemetry::{names, redact};
use crate::upstream::{Call, Upstream};
use axum::body::Body;
use axum::extract::{Request, State};
use axum::response::Response;
use http::request::Parts;
use http::uri::PathAndQuery;
use http::{HeaderMap, StatusCode};
use std::sync::Arc;
use std::time::Instant;

/// One request under way: what is known once it is routed.
pub struct Exchange<'a> {
    /// What all requests share.
    pub gateway: &'a Gateway,
    /// Its name.
    pub id: RequestId,
    /// Where it goes.
    pub upstream: &'a Upstream,
    /// What it asks for, where that is something that hookgate looks into.
    pub endpoint: Option<Endpoint>,
}

impl Exchange<'_> {
    /// Reads the body into memory, within the gateway's budget, for hooks to look into.
    ///
    /// # Errors
    /// [`ReadError`]
    pub async fn read(&self, headers: &HeaderMap, body: ClientBody) -> Result<ReadBody, ReadError> {
        read(headers, body, &self.gateway.budget).await
    }
}

/// Answers a request: the upstream's answer, or an error in the client's dialect.
pub async fn handle(State(gateway): State<Arc<Gateway>>, request: Request) -> Response {
    let id = gateway.ids.next();
    let (head, body) = request.into_parts();
    tracing::debug!(request_id = %id, method = %head.method, target = %redact::Target(&head.uri), "request");
    let route = gateway.router.route(&head.method, head.uri.path(), head.uri.query(), &head.headers);
    let endpoint = endpoint(&head, route.ok().map(|route| route.provider));
    let shape = shape(endpoint.as_ref(), route.ok());
    let mut response = match answer(&gateway, id, route, endpoint, head, body).await {
        Ok(response) => response,
        Err(error) => error.into_response(shape, &id),
    };
    response.headers_mut().insert(REQUEST_ID_HEADER, id.header());
    count(shape.dialect, response.status());
    response
}

async fn answer(
    gateway: &Gateway,
    id: RequestId,
    route: Result<Route, RouteError>,
    endpoint: Option<Endpoint>,
    mut head: Parts,
    body: Body,
) -> Result<Response, GatewayError> {
    let body = ClientBody::new(&head.headers, body, gateway.body_limit);
    let place = gateway.admission.enter().ok_or(GatewayError::Overloaded)?;
    let route = route?;
    let upstream = gateway.upstreams.get(route.upstream).ok_or(RouteError::NoRoute)?;
    websocket::decline(&head.headers)?;
    let body = body.map_err(ReadError::from)?;

    let exchange = Exchange { gateway, id, upstream, endpoint };
    let Passage { body, tap } = inspect(&exchange, &mut head.headers, body).await?;

    let line = line_behind(&head, route.prefix)?;
    let sent = Instant::now();
    let answer = upstream.send(Call { method: head.method, line, headers: head.headers, body }).await?;
    metrics::histogram!(names::UPSTREAM_SECONDS, "upstream" => upstream.name().to_owned()).record(sent.elapsed());

    Ok(relay(&exchange, answer, tap, place))
}

/// What the path asks for, if the upstream speaks that dialect.
fn endpoint(head: &Parts, provider: Option<Provider>) -> Option<Endpoint> {
    let endpoint = dialect::endpoint(&head.method, head.uri.path(), head.uri.query())?;
    provider?.speaks(endpoint.dialect).then_some(endpoint)
}

fn shape(endpoint: Option<&Endpoint>, route: Option<Route>) -> Shape {
    if let Some(endpoint) = endpoint {
        return Shape { dialect: endpoint.dialect, form: endpoint.form.unwrap_or(AnswerForm::Json) };
    }
    let dialect = match route.map(|route| route.provider) {
        Some(Provider::Anthropic) => DialectId::Anthropic,
        Some(Provider::Gemini) => DialectId::Gemini,
        Some(Provider::OpenAi) | None => return Shape::UNKNOWN,
    };
    Shape { dialect, form: AnswerForm::Json }
}

/// Path and query without the gateway's own prefix; the same bytes, not copied where there is none.
fn line_behind(head: &Parts, prefix: usize) -> Result<PathAndQuery, GatewayError> {
    let line = head.uri.path_and_query().ok_or(RouteError::NoRoute)?;
    if prefix == 0 {
        return Ok(line.clone());
    }
    let rest = line.as_str().get(prefix..).unwrap_or_default();
    let line = if rest.starts_with('/') { PathAndQuery::try_from(rest) } else { format!("/{rest}").try_into() };
    line.map_err(|_| RouteError::InvalidPath.into())
}

fn count(dialect: DialectId, status: StatusCode) {
    let class = match status.as_u16() / 100 {
        2 => "2xx",
        3 => "3xx",
        4 => "4xx",
        5 => "5xx",
        _ => "other",
    };
    metrics::counter!(names::REQUESTS, "dialect" => dialect.name(), "status" => class).increment(1);
}
