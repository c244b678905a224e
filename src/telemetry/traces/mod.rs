//! Traces in the words of OpenTelemetry: one span for a request, below it one for the upstream's answer (by the conventions for
//! generative AI) and one for each run of a hook. Sent by OTLP as protobuf over HTTP.
//!
//! A client's trace context is continued and handed on. Without a collector there are no spans, and headers pass untouched.
//! Spans wait for a collector in a queue of the exporter's, which is bounded (2048, `OTEL_BSP_MAX_QUEUE_SIZE`); what does not
//! fit is dropped, and no request waits.
mod collector;

use super::audit::Who;
use collector::Collector;
use http::{HeaderMap, HeaderValue, Method, StatusCode};
use opentelemetry::propagation::TextMapPropagator as _;
use opentelemetry::trace::{
    Span as _, SpanBuilder, SpanContext, SpanKind, Status, TraceContextExt as _, TracerProvider as _,
};
use opentelemetry::{Array, Context, KeyValue, StringValue, Value};
use opentelemetry_http::{HeaderExtractor, HeaderInjector};
use opentelemetry_otlp::{Protocol, SpanExporter, WithExportConfig as _, WithHttpConfig as _};
use opentelemetry_sdk::Resource;
use opentelemetry_sdk::propagation::TraceContextPropagator;
use opentelemetry_sdk::trace::{Sampler, SdkTracer, SdkTracerProvider, Span};
use parking_lot::Mutex;
use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

/// Behind the collector's address (OTLP/HTTP).
const TRACES_PATH: &str = "/v1/traces";
/// A vendor's part of a trace context.
const TRACESTATE: &str = "tracestate";
/// How long the last spans may take when the gateway ends.
const CLOSE_TIMEOUT: Duration = Duration::from_secs(2);

/// Where spans go.
#[derive(Clone, PartialEq)]
pub struct Settings {
    /// The collector's address.
    pub endpoint: String,
    /// Headers with names and values, which may be secrets.
    pub headers: Vec<(String, String)>,
    /// Part of the requests that are traced where the client does not say, from 0 to 1.
    pub sample: f64,
    /// How long a batch may take.
    pub timeout: Duration,
}

impl Eq for Settings {}

impl fmt::Debug for Settings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Settings").field("endpoint", &self.endpoint).finish_non_exhaustive()
    }
}

/// Why there can be no traces.
#[derive(Debug, thiserror::Error)]
#[error("traces can't be sent: {0}")]
pub struct TracesError(Box<dyn std::error::Error + Send + Sync>);

/// What makes spans; the default makes none.
#[derive(Clone, Default)]
pub struct Traces(Option<Arc<Exporting>>);

struct Exporting {
    provider: SdkTracerProvider,
    tracer: SdkTracer,
}

/// One request's trace; clones are the same. Nothing where there are no traces.
#[derive(Clone, Default)]
pub struct Trace(Option<Arc<Request>>);

struct Request {
    exporting: Arc<Exporting>,
    /// The parent of all else.
    context: SpanContext,
    span: Mutex<Span>,
    noted: Mutex<Noted>,
}

/// What is known of the upstream's answer.
#[derive(Debug, Clone, Default)]
pub struct Noted {
    /// The session.
    pub session: String,
    /// The model's resolved name.
    pub model: String,
    /// The answer's id.
    pub response: Option<String>,
    /// Why it ended, in the provider's words.
    pub finish: Option<String>,
    /// Tokens: uncached and cached input, output.
    pub tokens: Option<(u64, u64, u64)>,
}

/// What is asked of an upstream.
#[derive(Debug, Clone, Copy)]
pub struct Call<'a> {
    /// `chat`, `generate_content`; `None` where no model is asked.
    pub operation: Option<&'static str>,
    /// As the conventions call it.
    pub provider: &'static str,
    /// The upstream's host.
    pub host: &'a str,
}

/// The span of one upstream's answer; ends when it is dropped.
pub struct CallSpan(Option<Box<(Trace, Span)>>);

/// Ends the request's span when it is dropped.
pub struct RequestEnd(Trace);

impl fmt::Debug for Trace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Trace").field(&self.0.is_some()).finish()
    }
}

impl Traces {
    /// Sends spans to a collector, from this runtime.
    ///
    /// # Errors
    /// [`TracesError`]
    pub fn open(settings: &Settings) -> Result<Self, TracesError> {
        let endpoint = settings.endpoint.trim_end_matches('/');
        let endpoint = endpoint.strip_suffix(TRACES_PATH).unwrap_or(endpoint);
        let exporter = SpanExporter::builder()
            .with_http()
            .with_http_client(Collector::new(settings.timeout).map_err(TracesError)?)
            .with_protocol(Protocol::HttpBinary)
            .with_endpoint(format!("{endpoint}{TRACES_PATH}"))
            .with_timeout(settings.timeout)
            .with_headers(settings.headers.iter().cloned().collect::<HashMap<_, _>>())
            .build()
            .map_err(|error| TracesError(error.into()))?;
        let resource = Resource::builder()
            .with_service_name("hookgate")
            .with_attribute(KeyValue::new("service.version", env!("CARGO_PKG_VERSION")));
        let sampler = Sampler::ParentBased(Box::new(Sampler::TraceIdRatioBased(settings.sample)));
        let provider = SdkTracerProvider::builder()
            .with_batch_exporter(exporter)
            .with_sampler(sampler)
            .with_resource(resource.build())
            .build();
        let tracer = provider.tracer("hookgate");
        Ok(Self(Some(Arc::new(Exporting { provider, tracer }))))
    }

    /// A request begins, in the trace that its headers name.
    #[must_use]
    pub fn begin(&self, method: &Method, headers: &HeaderMap, dialect: &'static str, id: &dyn fmt::Display) -> Trace {
        let Some(exporting) = &self.0 else { return Trace::default() };
        let parent = TraceContextPropagator::new().extract_with_context(&Context::new(), &HeaderExtractor(headers));
        let span = SpanBuilder::from_name(format!("{method} {dialect}"))
            .with_kind(SpanKind::Server)
            .with_attributes([
                KeyValue::new("http.request.method", method.as_str().to_owned()),
                KeyValue::new("hookgate.request_id", id.to_string()),
            ])
            .start_with_context(&exporting.tracer, &parent);
        Trace(Some(Arc::new(Request {
            exporting: exporting.clone(),
            context: span.span_context().clone(),
            span: Mutex::new(span),
            noted: Mutex::default(),
        })))
    }

    /// Sends what is left; a collector that hangs is not waited for.
    pub async fn close(&self) {
        let Some(exporting) = self.0.clone() else { return };
        let closed = tokio::task::spawn_blocking(move || exporting.provider.shutdown_with_timeout(CLOSE_TIMEOUT)).await;
        if !matches!(closed, Ok(Ok(()))) {
            tracing::warn!("the last spans may not have reached the collector");
        }
    }
}

impl Trace {
    /// Whether there is one.
    #[must_use]
    pub const fn is_on(&self) -> bool {
        self.0.is_some()
    }

    /// Notes what is known of the answer, for the span that it belongs to.
    pub fn note(&self, noted: impl FnOnce(&mut Noted)) {
        if let Some(request) = &self.0 {
            noted(&mut request.noted.lock());
        }
    }

    /// The client gets an answer with this status; the span ends with its last byte, when what is returned is dropped.
    #[must_use]
    pub fn answered(&self, status: StatusCode) -> RequestEnd {
        if let Some(request) = &self.0 {
            let mut span = request.span.lock();
            span.set_attribute(KeyValue::new("http.response.status_code", i64::from(status.as_u16())));
            if status.is_server_error() {
                span.set_status(Status::error(status.as_str().to_owned()));
            }
        }
        RequestEnd(self.clone())
    }

    /// An upstream is asked: the span of its answer, which `headers` hand on.
    pub fn call(&self, call: Call<'_>, headers: &mut HeaderMap) -> CallSpan {
        let Some(request) = &self.0 else { return CallSpan(None) };
        let model = request.noted.lock().model.clone();
        let name = call.operation.map_or_else(|| "upstream".to_owned(), |operation| format!("{operation} {model}"));
        let mut attributes = vec![
            KeyValue::new("gen_ai.provider.name", call.provider),
            KeyValue::new("server.address", call.host.to_owned()),
        ];
        if let Some(operation) = call.operation {
            attributes.push(KeyValue::new("gen_ai.operation.name", operation));
        }
        if !model.is_empty() {
            attributes.push(KeyValue::new("gen_ai.request.model", model));
        }
        let builder = SpanBuilder::from_name(name.trim_end().to_owned());
        let builder = builder.with_kind(SpanKind::Client).with_attributes(attributes);
        let span = builder.start_with_context(&request.exporting.tracer, &request.parent());
        hand_on(span.span_context(), headers);
        CallSpan(Some(Box::new((self.clone(), span))))
    }

    /// Hands the request's context on to a service that a hook asks.
    pub fn hand_on(&self, headers: &mut HeaderMap) {
        if let Some(request) = &self.0 {
            hand_on(&request.context, headers);
        }
    }

    /// A hook ran on an event, until now.
    pub fn hook(&self, hook: &str, event: &'static str, who: Who<'_>, result: Result<(), String>, took: Duration) {
        let Some(request) = &self.0 else { return };
        let now = SystemTime::now();
        let mut span = SpanBuilder::from_name(format!("hook {hook}"))
            .with_kind(SpanKind::Internal)
            .with_start_time(now.checked_sub(took).unwrap_or(now))
            .with_attributes([
                KeyValue::new("hookgate.hook", hook.to_owned()),
                KeyValue::new("hookgate.event", event),
                KeyValue::new("gen_ai.conversation.id", who.session.to_owned()),
                KeyValue::new("gen_ai.agent.id", who.agent.to_owned()),
            ])
            .start_with_context(&request.exporting.tracer, &request.parent());
        if let Err(failure) = result {
            span.set_status(Status::error(failure));
        }
        span.end_with_timestamp(now);
    }
}

fn hand_on(context: &SpanContext, headers: &mut HeaderMap) {
    let context = Context::new().with_remote_span_context(context.clone());
    TraceContextPropagator::new().inject_context(&context, &mut HeaderInjector(headers));
    // The propagator writes it also where nobody has a state.
    if headers.get(TRACESTATE).is_some_and(HeaderValue::is_empty) {
        headers.remove(TRACESTATE);
    }
}

impl Request {
    fn parent(&self) -> Context {
        Context::new().with_remote_span_context(self.context.clone())
    }
}

impl CallSpan {
    /// The upstream's head is there.
    pub fn answered(&mut self, status: StatusCode) {
        let Some((_, span)) = self.0.as_deref_mut() else { return };
        span.set_attribute(KeyValue::new("http.response.status_code", i64::from(status.as_u16())));
        if status.is_client_error() || status.is_server_error() {
            self.failed(status.as_str().to_owned());
        }
    }

    /// There was no answer, or one that says error.
    pub fn failed(&mut self, why: impl Into<String>) {
        let Some((_, span)) = self.0.as_deref_mut() else { return };
        let why = why.into();
        span.set_attribute(KeyValue::new("error.type", why.clone()));
        span.set_status(Status::error(why));
    }
}

impl Drop for CallSpan {
    fn drop(&mut self) {
        let Some((trace, mut span)) = self.0.take().map(|span| *span) else { return };
        let noted = trace.0.map(|request| request.noted.lock().clone()).unwrap_or_default();
        span.set_attributes(noted.attributes());
        span.end();
    }
}

impl Drop for RequestEnd {
    fn drop(&mut self) {
        let Some(request) = &self.0.0 else { return };
        let session = request.noted.lock().session.clone();
        let mut span = request.span.lock();
        if !session.is_empty() {
            span.set_attribute(KeyValue::new("gen_ai.conversation.id", session));
        }
        span.end();
    }
}

impl Noted {
    /// By the conventions: input counts all of it, what was read from a cache as a part.
    fn attributes(self) -> Vec<KeyValue> {
        let mut all = Vec::new();
        let number = |count: u64| i64::try_from(count).unwrap_or(i64::MAX);
        if !self.session.is_empty() {
            all.push(KeyValue::new("gen_ai.conversation.id", self.session));
        }
        all.extend(self.response.map(|id| KeyValue::new("gen_ai.response.id", id)));
        if let Some(finish) = self.finish {
            let reasons = Value::Array(Array::String(vec![StringValue::from(finish)]));
            all.push(KeyValue::new("gen_ai.response.finish_reasons", reasons));
        }
        if let Some((input, cached, output)) = self.tokens {
            all.push(KeyValue::new("gen_ai.usage.input_tokens", number(input.saturating_add(cached))));
            all.push(KeyValue::new("gen_ai.usage.cache_read.input_tokens", number(cached)));
            all.push(KeyValue::new("gen_ai.usage.output_tokens", number(output)));
        }
        all
    }
}
