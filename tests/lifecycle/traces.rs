//! Traces, as a collector reads them.
use crate::speech::{Item, Speech, every_form};
use crate::stage::{Play, Stage, session};
use crate::support::provider::answer;
use crate::support::{Provider, Recorded, Step};
use opentelemetry_proto::tonic::collector::trace::v1::ExportTraceServiceRequest;
use opentelemetry_proto::tonic::common::v1::any_value::Value;
use opentelemetry_proto::tonic::trace::v1::Span;
use opentelemetry_proto::tonic::trace::v1::span::SpanKind;
use prost::Message as _;
use std::time::{Duration, Instant};

const TRACE: &str = "0af7651916cd43dd8448eb211c80319c";
const PARENT: &str = "b7ad6b7169203331";

const HOOKS: &str = "
hooks:
  - { name: adds, on: prompt.submit, run: { http: { url: 'HOOKS' } } }
  - { name: fails, on: prompt.submit, run: { command: ['false'] } }
  - { name: stops, on: session.stop, run: { http: { url: 'HOOKS' } } }
";

async fn collector() -> Provider {
    Provider::always(answer("200 OK", "content-type: application/x-protobuf\r\n", "")).await
}

fn settings(collector: &Provider, more: &str) -> &'static str {
    format!("telemetry: {{ otlp: {{ endpoint: 'http://{}', {more} }} }}", collector.addr()).leak()
}

/// Every span that arrived.
fn spans(collector: &Provider) -> Vec<Span> {
    let requests = collector.requests();
    assert!(requests.iter().all(|request| request.target() == "/v1/traces"));
    let batches = requests.iter().map(|request| ExportTraceServiceRequest::decode(&*request.body).unwrap());
    let scopes = batches.flat_map(|batch| batch.resource_spans).flat_map(|resource| resource.scope_spans);
    scopes.flat_map(|scope| scope.spans).collect()
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn named<'s>(spans: &'s [Span], name: &str) -> &'s Span {
    spans
        .iter()
        .find(|span| span.name == name)
        .unwrap_or_else(|| panic!("{name}: {:?}", spans.iter().map(|span| &span.name).collect::<Vec<_>>()))
}

/// An attribute as text.
fn attribute(span: &Span, key: &str) -> Option<String> {
    let value = span.attributes.iter().find(|attribute| attribute.key == key)?.value.clone()?.value?;
    Some(match value {
        Value::StringValue(text) => text,
        Value::IntValue(number) => number.to_string(),
        Value::ArrayValue(list) => format!("{list:?}"),
        other => format!("{other:?}"),
    })
}

fn traced_session(flags: &str) -> String {
    format!("{}traceparent: 00-{TRACE}-{PARENT}-{flags}\r\ntracestate: vendor=one\r\n", session("s1"))
}

#[tokio::test]
async fn a_turn_is_one_trace_of_its_request_its_answer_and_its_hooks() {
    for (speech, stream) in every_form() {
        let collector = collector().await;
        let hooks = HOOKS;
        let mut stage = Stage::play(Play { hooks, settings: settings(&collector, ""), ..Play::default() }).await;
        let mut agent = stage.agent(speech, stream).headers(traced_session("01"));
        agent.prompt("one").await;
        let sent = stage.provider.requests()[0].clone();
        let hook_head = stage.hooks.requests()[0].head.clone();
        stage.stop().await;
        let spans = spans(&collector);
        assert!(spans.iter().all(|span| hex(&span.trace_id) == TRACE), "{speech:?}");
        let request = spans.iter().find(|span| span.kind == SpanKind::Server as i32).unwrap();
        assert_eq!(hex(&request.parent_span_id), PARENT);
        assert_eq!(attribute(request, "http.response.status_code").as_deref(), Some("200"));
        let call = spans.iter().find(|span| span.kind == SpanKind::Client as i32).unwrap();
        assert_eq!(call.parent_span_id, request.span_id);
        let model = attribute(call, "gen_ai.request.model").unwrap();
        let (operation, provider) = match speech {
            Speech::Anthropic => ("chat", "anthropic"),
            Speech::Chat | Speech::Responses => ("chat", "openai"),
            Speech::Gemini => ("generate_content", "gcp.gemini"),
        };
        assert_eq!(call.name, format!("{operation} {model}"), "{speech:?}");
        assert_eq!(attribute(call, "gen_ai.operation.name").as_deref(), Some(operation));
        assert_eq!(attribute(call, "gen_ai.provider.name").as_deref(), Some(provider));
        assert_eq!(attribute(call, "server.address").as_deref(), Some("127.0.0.1"));
        assert_eq!(attribute(call, "gen_ai.conversation.id").as_deref(), Some("s1"));
        let tokens =
            ["gen_ai.usage.input_tokens", "gen_ai.usage.cache_read.input_tokens", "gen_ai.usage.output_tokens"];
        let tokens = tokens.map(|key| attribute(call, key).unwrap().parse::<u64>().unwrap());
        assert!(tokens[0] >= tokens[1] && tokens[2] > 0, "{speech:?} {tokens:?}");
        assert!(attribute(call, "gen_ai.response.finish_reasons").is_some(), "{speech:?}");
        // What goes up names the span of the answer; what hooks get that of the request.
        assert_eq!(sent.head.get("traceparent").unwrap(), format!("00-{TRACE}-{}-01", hex(&call.span_id)));
        assert_eq!(sent.head.get("tracestate"), Some("vendor=one"));
        assert_eq!(hook_head.get("traceparent").unwrap(), format!("00-{TRACE}-{}-01", hex(&request.span_id)));
        for (hook, event, is_error) in
            [("adds", "prompt.submit", false), ("fails", "prompt.submit", true), ("stops", "session.stop", false)]
        {
            let span = named(&spans, &format!("hook {hook}"));
            assert_eq!(span.parent_span_id, request.span_id);
            assert_eq!(attribute(span, "hookgate.event").as_deref(), Some(event));
            assert_eq!(span.status.as_ref().is_some_and(|status| status.code == 2), is_error, "{hook}");
            assert!(span.start_time_unix_nano <= span.end_time_unix_nano);
        }
        let text = format!("{spans:?}");
        assert!(!text.contains("Bearer") && !text.contains("ANSWER0"), "no credential and no word of a body");
    }
}

#[tokio::test]
async fn a_client_without_a_trace_begins_one_and_one_that_is_not_sampled_stays_so() {
    let collector = collector().await;
    let mut stage = Stage::play(Play { settings: settings(&collector, ""), ..Play::default() }).await;
    stage.agent(Speech::Chat, true).prompt("one").await;
    stage.agent(Speech::Chat, true).headers(traced_session("00")).prompt("two").await;
    let heads: Vec<_> = stage.provider.requests().iter().map(|request| request.head.clone()).collect();
    stage.stop().await;
    assert!(heads[0].get("tracestate").is_none(), "nobody has a state");
    let begun = heads[0].get("traceparent").unwrap();
    assert!(begun.ends_with("-01") && !begun.contains(TRACE), "{begun}");
    let passed = heads[1].get("traceparent").unwrap();
    assert!(passed.starts_with(&format!("00-{TRACE}-")) && passed.ends_with("-00"), "{passed}");
    assert!(spans(&collector).iter().all(|span| hex(&span.trace_id) != TRACE));
}

#[tokio::test]
async fn nothing_is_traced_where_the_sample_is_empty() {
    let collector = collector().await;
    let mut stage = Stage::play(Play { settings: settings(&collector, "sample: 0"), ..Play::default() }).await;
    stage.agent(Speech::Chat, true).prompt("one").await;
    stage.stop().await;
    assert!(spans(&collector).is_empty());
}

#[tokio::test]
async fn without_a_collector_the_clients_headers_pass_untouched() {
    let mut stage = Stage::usual().await;
    let mut agent = stage.agent(Speech::Anthropic, true).headers(traced_session("01"));
    agent.prompt("one").await;
    let head = stage.provider.requests()[0].head.clone();
    stage.stop().await;
    assert_eq!(head.get("traceparent"), Some(&*format!("00-{TRACE}-{PARENT}-01")));
    assert_eq!(head.get("tracestate"), Some("vendor=one"));
}

#[tokio::test]
async fn an_upstream_that_fails_is_an_error_of_its_span() {
    let collector = collector().await;
    let says = |_: &Recorded, _: usize| answer("529 Overloaded", "content-type: application/json\r\n", "{}");
    let mut stage =
        Stage::play(Play { settings: settings(&collector, ""), says: Box::new(says), ..Play::default() }).await;
    let mut agent = stage.agent(Speech::Anthropic, false);
    agent.history.push(Item::user("one"));
    agent.ask().await;
    stage.stop().await;
    let spans = spans(&collector);
    let call = spans.iter().find(|span| span.kind == SpanKind::Client as i32).unwrap();
    assert_eq!(attribute(call, "error.type").as_deref(), Some("529"));
}

/// The collector takes connections and says nothing; requests go on, and the gateway ends.
#[tokio::test]
async fn a_collector_that_hangs_holds_nothing_up() {
    let collector = Provider::always(vec![Step::WaitForClose]).await;
    let mut stage = Stage::play(Play { settings: settings(&collector, "timeout: 60s"), ..Play::default() }).await;
    let mut agent = stage.agent(Speech::Chat, true);
    for number in 0..20 {
        agent.prompt(&format!("prompt {number}")).await;
    }
    let began = Instant::now();
    stage.stop().await;
    assert!(began.elapsed() < Duration::from_secs(30), "{:?}", began.elapsed());
}
