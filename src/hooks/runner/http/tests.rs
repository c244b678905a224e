use super::super::testing::{event, invocation};
use super::*;
use ::http::StatusCode;
use axum::Router;
use axum::body::{Body, Bytes};
use axum::response::{IntoResponse, Redirect};
use axum::routing::post;
use futures_util::stream;
use std::convert::Infallible;
use std::net::SocketAddr;

/// A hook server on a free port, until the runtime ends.
async fn server() -> SocketAddr {
    let zeros = || stream::repeat_with(|| Ok::<_, Infallible>(Bytes::from_static(&[b' '; 8192])));
    let router = Router::new()
        .route("/echo", post(|headers: HeaderMap, body: Bytes| async move { echo(&headers, &body) }))
        .route("/status", post(|| async { (StatusCode::INTERNAL_SERVER_ERROR, "{}") }))
        .route("/redirect", post(|| async { Redirect::temporary("/echo") }))
        .route("/empty", post(|| async { StatusCode::NO_CONTENT }))
        .route("/text", post(|| async { "plain" }))
        .route("/flood", post(move || async move { Body::from_stream(zeros()).into_response() }));
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let address = listener.local_addr().expect("an address");
    tokio::spawn(async move { axum::serve(listener, router).await });
    address
}

fn echo(headers: &HeaderMap, body: &[u8]) -> String {
    let event: serde_json::Value = serde_json::from_slice(body).expect("JSON");
    let header = |name: &str| headers.get(name).and_then(|value| value.to_str().ok()).unwrap_or_default().to_owned();
    let seen = format!("{} {} {}", header("content-type"), header("authorization"), event["hook"]);
    serde_json::json!({ "context": seen }).to_string()
}

fn hook(url: &str) -> Http {
    let headers = [(::http::header::AUTHORIZATION, Secret("Bearer s3cret".into()))];
    Http::new("probe", &url.parse().expect("a url"), &headers).expect("a client")
}

async fn run(url: &str) -> Result<Output, HookFailure> {
    let event = event();
    let call = Invocation { output_limit: 10_000, ..invocation(&event) };
    hook(url).run(&call).await
}

#[tokio::test]
async fn the_event_is_posted_and_the_answer_read() {
    let answer = run(&format!("http://{}/echo", server().await)).await;
    let expected = r#"{"context":"application/json Bearer s3cret \"probe\""}"#;
    assert_eq!(answer, Ok(Output::Written(expected.into())));
}

#[tokio::test]
async fn whatever_is_no_2xx_json_object_fails() {
    let address = server().await;
    for (path, failure) in [
        ("status", HookFailure::Status(500)),
        ("missing", HookFailure::Status(404)),
        ("redirect", HookFailure::Status(307)),
        ("empty", HookFailure::NotAnObject),
        ("text", HookFailure::NotAnObject),
        ("flood", HookFailure::OutputOverLimit { limit: 10_000 }),
    ] {
        assert_eq!(run(&format!("http://{address}/{path}")).await, Err(failure), "{path}");
    }
}

#[tokio::test]
async fn an_unreachable_hook_fails_without_its_address() {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = listener.local_addr().expect("an address");
    drop(listener);
    let failure = run(&format!("http://{address}/hook?key=s3cret")).await.expect_err("nobody listens");
    assert!(matches!(failure, HookFailure::Http(_)), "{failure}");
    assert!(!failure.to_string().contains("s3cret"), "{failure}");
    assert!(failure.to_string().contains("refused"), "{failure}");
}

#[test]
fn secrets_do_not_print() {
    let printed = format!("{:?}", hook("http://127.0.0.1:1/hook?key=s3cret"));
    assert!(!printed.contains("s3cret"), "{printed}");
}

#[test]
fn a_header_value_with_a_line_end_is_refused() {
    let headers = [(::http::header::AUTHORIZATION, Secret("a\nb".into()))];
    let error = Http::new("probe", &Uri::from_static("https://127.0.0.1/"), &headers).expect_err("refused");
    assert!(!error.to_string().contains('\n'), "{error}");
}
