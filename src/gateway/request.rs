//! The life of a request.
use super::Gateway;
use super::allowance::Seat;
use super::client_body::ClientBody;
use super::clock::{Clock, OVERHEAD_HEADER, overhead};
use super::earlier_answer::Renamed;
use super::errors::{GatewayError, Shape};
use super::held::Held;
use super::inspect::{Inspected, Passage, inspect, set_session};
use super::keys::Holder;
use super::leg_request::LegRequest;
use super::path::has_dot_segment;
use super::read::{ReadBody, ReadError, read};
use super::relay::relay;
use super::request_id::{REQUEST_ID_HEADER, RequestId};
use super::router::{Route, RouteError};
use super::server::Visitor;
use super::spending::Payer;
use super::websocket;
use crate::config::Provider;
use crate::context::Operation;
use crate::context::view::AnswerForm;
use crate::dialect::{self, DialectId, Endpoint};
use crate::session::key::{PathIds, strip_session_prefix};
use crate::session::record::Tenant;
use crate::telemetry::traces::{self, Trace};
use crate::telemetry::{names, redact};
use crate::upstream::{Call, Upstream};
use axum::body::Body;
use axum::extract::Request;
use axum::response::Response;
use http::request::Parts;
use http::uri::PathAndQuery;
use http::{HeaderMap, StatusCode};
use std::sync::Arc;

/// Ahead of the model in a Gemini path.
const MODELS: &str = "/models/";

/// One request under way: what is known once it is routed.
pub struct Exchange<'a> {
    /// What all requests share.
    pub gateway: &'a Arc<Gateway>,
    /// Its name.
    pub id: RequestId,
    /// Its time.
    pub clock: &'a Clock,
    /// Its trace.
    pub trace: &'a Trace,
    /// Where it goes.
    pub upstream: &'a Upstream,
    /// What it asks for, where that is something that hookgate looks into.
    pub endpoint: Option<Endpoint>,
    /// The query, which may carry a credential.
    pub query: Option<String>,
    /// A session named in the base URL.
    pub path_ids: Option<PathIds<'static>>,
    /// Whose key it came with.
    pub holder: Option<Arc<Holder>>,
}

impl Exchange<'_> {
    /// The path with the model's name on the way up, where the path names it (Gemini) and the config has another name.
    fn renamed(&self, line: PathAndQuery, by_hooks: Option<&str>) -> Result<PathAndQuery, RouteError> {
        let model = self.endpoint.as_ref().filter(|e| e.dialect == DialectId::Gemini).and_then(|e| e.model.as_deref());
        let resolved = by_hooks.or_else(|| model.map(|model| self.gateway.turns.resolved(model)));
        let Some(resolved) = resolved.filter(|resolved| model.is_some_and(|model| model != *resolved)) else {
            return Ok(line);
        };
        let text = line.as_str();
        let begin = text.rfind(MODELS).map(|at| at + MODELS.len()).ok_or(RouteError::NoRoute)?;
        let method = text[begin..].find(':').ok_or(RouteError::NoRoute)?;
        let renamed = format!("{}{resolved}{}", &text[..begin], &text[begin + method..]);
        PathAndQuery::try_from(renamed).map_err(|_| RouteError::InvalidPath)
    }

    /// The tenant of the key that it came with.
    pub fn tenant(&self) -> Option<&Tenant> {
        self.holder.as_ref().map(|holder| &holder.tenant)
    }

    /// Whom its answer is counted for.
    pub fn payer(&self) -> Option<Payer> {
        Payer::of(self.holder.as_deref(), self.endpoint.as_ref())
    }

    /// What is asked of the upstream, as traces call it.
    fn called(&self) -> traces::Call<'_> {
        let asks = self.endpoint.as_ref().filter(|endpoint| endpoint.operation == Operation::Generate);
        let operation = asks.map(|endpoint| match endpoint.dialect {
            DialectId::Gemini => "generate_content",
            DialectId::Anthropic | DialectId::Chat | DialectId::Responses => "chat",
        });
        let provider = match self.upstream.provider() {
            Provider::Anthropic => "anthropic",
            Provider::OpenAi => "openai",
            Provider::Gemini => "gcp.gemini",
        };
        traces::Call { operation, provider, host: self.upstream.host() }
    }

    /// Reads the body into memory, within the gateway's budget, for hooks to look into.
    ///
    /// # Errors
    /// [`ReadError`]
    pub async fn read(&self, headers: &HeaderMap, body: ClientBody) -> Result<ReadBody, ReadError> {
        self.clock.elsewhere(read(headers, body, &self.gateway.budget)).await
    }
}

/// Answers a request: the upstream's answer, or an error in the client's dialect.
pub async fn handle(gateway: Arc<Gateway>, request: Request, visitor: Visitor) -> Response {
    let id = gateway.ids.next();
    let (head, body) = request.into_parts();
    let client = visitor.client.map(tracing::field::display);
    tracing::debug!(request_id = %id, client, method = %head.method, target = %redact::Target(&head.uri), "request");
    let routed = Routed::of(&gateway, &head);
    let shape = shape(routed.endpoint.as_ref(), routed.route.as_ref().ok());
    let clock = Clock::start(shape.dialect);
    let trace = gateway.traces.begin(&head.method, &head.headers, shape.dialect.name(), &id);
    let mut response = match answer(&gateway, (id, &clock, &trace), routed, head, body, visitor).await {
        Ok(response) => response,
        Err(error) => error.into_response(shape, &id),
    };
    response.headers_mut().insert(REQUEST_ID_HEADER, id.header());
    let own = clock.answered();
    if gateway.turns.config().telemetry.overhead_header {
        response.headers_mut().insert(OVERHEAD_HEADER, overhead(own));
    }
    count(shape.dialect, response.status());
    if trace.is_on() {
        let end = trace.answered(response.status());
        response = response.map(|body| Body::new(Held::new(body, end)));
    }
    response
}

/// What the head of a request says of its way.
struct Routed {
    route: Result<Route, GatewayError>,
    endpoint: Option<Endpoint>,
    path_ids: Option<PathIds<'static>>,
    /// Bytes at the start of the path that name the session.
    session_prefix: usize,
}

impl Routed {
    fn of(gateway: &Gateway, head: &Parts) -> Self {
        let (path, query) = (head.uri.path(), head.uri.query());
        let route = |path: &str| gateway.router.route(&head.method, path, query, &head.headers);
        match strip_session_prefix(path) {
            Ok(None) => Self::new(route(path).map_err(Into::into), head, path, None, 0),
            Ok(Some(ids)) => {
                let prefix = path.len() - path.strip_suffix(ids.rest).map_or(0, |_| ids.rest.len());
                let rest = ids.rest.to_owned();
                let owned = PathIds { session: ids.session, agent: ids.agent, rest: "" };
                Self::new(route(&rest).map_err(Into::into), head, &rest, Some(owned), prefix)
            }
            // A dot segment is one wherever it stands.
            Err(_) if has_dot_segment(path) => Self::new(Err(RouteError::InvalidPath.into()), head, path, None, 0),
            Err(error) => Self::new(Err(GatewayError::InvalidSession(error.to_string())), head, path, None, 0),
        }
    }

    fn new(
        route: Result<Route, GatewayError>,
        head: &Parts,
        path: &str,
        path_ids: Option<PathIds<'static>>,
        session_prefix: usize,
    ) -> Self {
        let provider = route.as_ref().ok().map(|route| route.provider);
        let endpoint = dialect::endpoint(&head.method, path, head.uri.query());
        // A path that only looks like one of a dialect, at an upstream that speaks another.
        let endpoint = endpoint.filter(|e| provider.is_none_or(|provider| provider.speaks(e.dialect)));
        Self { route, endpoint, path_ids, session_prefix }
    }
}

async fn answer(
    gateway: &Arc<Gateway>,
    (id, clock, trace): (RequestId, &Clock, &Trace),
    routed: Routed,
    mut head: Parts,
    body: Body,
    visitor: Visitor,
) -> Result<Response, GatewayError> {
    let bounds = &gateway.bounds;
    let body = ClientBody::new(&head.headers, body, bounds.body as u64, bounds.body_timeout);
    let place = gateway.admission.enter().filter(|_| !visitor.crowded).ok_or(GatewayError::Overloaded)?;
    let lifetime = clock.until_the_end();
    if head_size(&head) > bounds.head {
        return Err(GatewayError::HeadTooLarge(bounds.head));
    }
    let Routed { route, endpoint, path_ids, session_prefix } = routed;
    let route = route?;
    let upstream = gateway.upstreams.get(route.upstream).ok_or(RouteError::NoRoute)?;
    let (holder, seat) = admit(gateway, &mut head, visitor)?;
    websocket::decline(&head.headers)?;
    let body = body.map_err(ReadError::from)?;

    let query = head.uri.query().map(str::to_owned);
    let exchange = Exchange { gateway, id, clock, trace, upstream, endpoint, query, path_ids, holder };
    let Passage { body, follow, again, session, model } = match inspect(&exchange, &mut head.headers, body).await? {
        Inspected::Up(passage) => passage,
        Inspected::Answered(response) => return Ok(response),
    };

    let line = line_behind(&head, session_prefix + route.prefix)?;
    let mut line = exchange.renamed(line, model.as_deref())?;
    let renamed = Renamed::find(&exchange, &line, &head.headers).await;
    if let Some(renamed) = &renamed {
        line = renamed.line(&line, &mut head.headers)?;
    }
    let mut span = trace.call(exchange.called(), &mut head.headers);
    let credential = exchange.holder.as_ref().and_then(|holder| holder.credential(route.upstream)).cloned();
    let call = Call { method: head.method, line, headers: head.headers, body, credential };
    let again = again.map(|kept| {
        let request = LegRequest::new(gateway.clone(), route.upstream, &call, exchange.payer(), kept.share);
        (request, kept.body)
    });
    let answer = match clock.elsewhere(upstream.send(call)).await {
        Ok(answer) => answer,
        Err(error) => {
            span.failed(error.kind());
            if let Some(follow) = follow {
                follow.unanswered(&error.to_string());
            }
            return Err(error.into());
        }
    };

    span.answered(answer.response.status());
    let held = (place, seat, lifetime, span);
    let mut response = relay(&exchange, answer, follow, again, held).await?;
    if let Some(renamed) = renamed {
        response = renamed.present(response).await?;
    }
    if let Some(session) = session {
        set_session(response.headers_mut(), &session);
    }
    Ok(response)
}

/// Who sends a request, and the place that it takes among those of its tenant. Without keys that is nobody and none.
fn admit(
    gateway: &Gateway,
    head: &mut Parts,
    visitor: Visitor,
) -> Result<(Option<Arc<Holder>>, Option<Seat>), GatewayError> {
    let Some(keys) = &gateway.keys else { return Ok((None, None)) };
    let client = visitor.client.map(tracing::field::display);
    let admitted = keys.admit(head).inspect_err(|error| tracing::info!(client, %error, "a client was not let in"));
    let Some(holder) = admitted? else { return Ok((None, None)) };
    let entered = holder.allowance.enter().inspect_err(|limited| {
        let (key, tenant) = (&holder.name, &holder.tenant.0);
        tracing::info!(key, tenant, limit = limited.what, "a tenant has reached a limit");
    });
    let seat = entered?;
    Ok((Some(holder), Some(seat)))
}

/// Bytes of the request's line and headers.
fn head_size(head: &Parts) -> usize {
    let line = head.uri.path_and_query().map_or(0, |line| line.as_str().len());
    head.headers.iter().fold(line, |sum, (name, value)| sum + name.as_str().len() + value.len())
}

fn shape(endpoint: Option<&Endpoint>, route: Option<&Route>) -> Shape {
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
