//! Who may ask, and in which form.
use crate::rig::{QUIET, Rig};
use crate::support::config::ADMIN_TOKEN;
use crate::support::{Answer, Client};
use std::collections::BTreeSet;

const WRITE: (&str, &str) = ("PUT", "/v1/sessions/s1/agents/main/context/notes");

fn code(answer: &Answer) -> (u16, String) {
    let body: serde_json::Value = serde_json::from_str(&answer.text()).unwrap();
    assert!(body["error"]["message"].is_string(), "{body}");
    (answer.status(), body["error"]["code"].as_str().unwrap().to_owned())
}

fn token() -> String {
    format!("authorization: Bearer {ADMIN_TOKEN}\r\n")
}

#[tokio::test]
async fn without_the_token_there_are_only_the_probes() {
    let rig = Rig::start(QUIET).await;
    let unauthorized = (401, "unauthorized".to_owned());
    for path in ["/metrics", "/openapi.json", "/v1/config", "/v1/sessions", "/v1/sessions/s1", "/nowhere"] {
        for headers in
            ["", "authorization: Bearer\r\n", "authorization: Bearer wrong\r\n", "authorization: Basic eDp5\r\n"]
        {
            let answer = rig.raw("GET", path, headers, "").await;
            assert_eq!(code(&answer), unauthorized, "{path} {headers}");
            assert_eq!(answer.head.get("www-authenticate"), Some("Bearer"));
        }
        let twice = format!("{}{}", token(), token());
        assert_eq!(code(&rig.raw("GET", path, &twice, "").await), unauthorized, "two tokens are none");
    }
    assert_eq!(rig.raw("GET", "/v1/sessions?token=x", &token(), "").await.status(), 400);
    // The page holds no data.
    for (path, text) in [("/healthz", "ok\n"), ("/readyz", "ready\n")] {
        assert_eq!(rig.raw("GET", path, "", "").await.text(), text);
    }
}

#[tokio::test]
async fn a_web_page_can_neither_read_nor_write() {
    let rig = Rig::start(QUIET).await;
    rig.say("s1", "main", "k", "Hi").await;
    let addr = rig.gateway.admin_addr();
    let own = addr.to_string();
    let localhost = format!("localhost:{}", addr.port());
    for (host, origin, expected) in [
        (own.as_str(), None, 200),
        (&localhost, None, 200),
        (&own, Some(format!("http://{own}")), 200),
        (&own, Some("https://evil.example".into()), 403),
        (&own, Some("null".into()), 403),
        (&own, Some(format!("http://{localhost}")), 403),
        ("evil.example", None, 421),
        (&format!("evil.example:{}", addr.port()), Some(format!("http://evil.example:{}", addr.port())), 421),
        ("localhost", None, 421),
    ] {
        let origin = origin.map(|origin| format!("origin: {origin}\r\n")).unwrap_or_default();
        let body = r#"{"text":"x"}"#;
        let (method, path) = WRITE;
        let mut client = Client::connect(addr).await;
        let head = format!(
            "{method} {path} HTTP/1.1\r\nhost: {host}\r\n{origin}{}content-type: application/json\r\ncontent-length: {}\r\n\r\n{body}",
            token(),
            body.len()
        );
        client.send(head).await;
        let answer = client.answer(method).await;
        assert_eq!(answer.status(), expected, "{host} {origin} {}", answer.text());
        assert_eq!(answer.head.get("access-control-allow-origin"), None);
    }
    let preflight = "origin: https://evil.example\r\naccess-control-request-method: PUT\r\n";
    assert_eq!(rig.raw("OPTIONS", WRITE.1, preflight, "").await.status(), 403);
}

#[tokio::test]
async fn bodies_are_json_of_a_sane_size() {
    let rig = Rig::start(QUIET).await;
    rig.say("s1", "main", "k", "Hi").await;
    let ask = async |kind: &str, body: &str| {
        let kind = if kind.is_empty() { String::new() } else { format!("content-type: {kind}\r\n") };
        let answer = rig.raw(WRITE.0, WRITE.1, &format!("{}{kind}", token()), body).await;
        if answer.status() == 200 { (200, String::new()) } else { code(&answer) }
    };
    let text = r#"{"text":"x"}"#;
    assert_eq!(ask("application/json; charset=utf-8", text).await.0, 200);
    for kind in ["", "text/plain", "application/x-www-form-urlencoded", "multipart/form-data; boundary=x"] {
        assert_eq!(ask(kind, text).await, (415, "unsupported_type".into()), "{kind}");
    }
    for broken in ["{", "[]", "{}", r#"{"text":1}"#, r#"{"text":"a","text":"b"}"#, r#"{"text":"a","slot":"b"}"#] {
        assert_eq!(ask("application/json", broken).await, (400, "invalid_body".into()), "{broken}");
    }
    let text = |bytes: usize| format!(r#"{{"text":"{}"}}"#, "x".repeat(bytes));
    assert_eq!(ask("application/json", &text(256 * 1024 + 1)).await, (413, "text_too_long".into()));
    assert_eq!(ask("application/json", &text(1024 * 1024)).await, (413, "body_too_large".into()));
}

#[tokio::test]
async fn what_is_no_route_is_told_apart_from_what_is_no_method() {
    let rig = Rig::start(QUIET).await;
    for path in ["/v1", "/v1/sessions/", "/V1/sessions", "/v1/config/"] {
        assert_eq!(rig.refused("GET", path, "").await, (404, "no_route".into()), "{path}");
    }
    let answer = rig.raw("PATCH", "/v1/sessions/s1/agents/main", &token(), "").await;
    assert_eq!(code(&answer), (405, "no_method".into()));
    let allowed: BTreeSet<_> = answer.head.get("allow").unwrap().split(',').collect();
    assert_eq!(allowed, BTreeSet::from(["DELETE", "GET", "HEAD"]));
    assert_eq!(answer.head.get("cache-control"), Some("no-store"));
}

#[tokio::test]
async fn the_description_names_every_route_and_only_those() {
    let rig = Rig::start(QUIET).await;
    let (_, description) = rig.admin("GET", "/openapi.json", "").await;
    let mut routes = Vec::new();
    let mut operations = BTreeSet::new();
    for (path, item) in description["paths"].as_object().unwrap() {
        for (method, operation) in item.as_object().unwrap() {
            let target = ["{id}", "{agent}", "{slot}"].iter().fold(path.clone(), |path, name| path.replace(name, "x"));
            let method = method.to_uppercase();
            let open = rig.raw(&method, &target, "", "").await.status() != 401;
            assert_eq!(open, operation["security"].as_array().is_some(), "{path}");
            if path == "/v1/events" {
                // It goes on for ever.
                routes.push(format!("{method} {path}"));
                continue;
            }
            let (status, refusal) = rig.refused(&method, &target, "").await;
            assert!(status != 405 && refusal != "no_route", "{method} {path}: {status} {refusal}");
            assert!(operation["summary"].is_string() && operation["responses"].is_object(), "{method} {path}");
            assert!(operations.insert(operation["operationId"].to_string()), "{path}: the name is taken");
            routes.push(format!("{method} {path}"));
        }
    }
    routes.sort();
    insta::assert_snapshot!(routes.join("\n"), @r"
    DELETE /v1/sessions/{id}/agents/{agent}
    DELETE /v1/sessions/{id}/agents/{agent}/context/{slot}
    DELETE /v1/sessions/{id}/agents/{agent}/label
    GET /healthz
    GET /metrics
    GET /openapi.json
    GET /readyz
    GET /v1/config
    GET /v1/events
    GET /v1/hooks
    GET /v1/proposals
    GET /v1/proposals/{id}
    GET /v1/sessions
    GET /v1/sessions/{id}
    GET /v1/sessions/{id}/agents/{agent}
    GET /v1/sessions/{id}/agents/{agent}/knowledge
    GET /v1/sessions/{id}/agents/{agent}/messages
    GET /v1/sessions/{id}/agents/{agent}/requests
    GET /v1/sessions/{id}/agents/{agent}/requests/{request}
    PATCH /v1/proposals/{id}
    POST /v1/config/reload
    POST /v1/proposals
    POST /v1/proposals/{id}/approve
    POST /v1/proposals/{id}/reject
    POST /v1/sessions/{id}/agents/{agent}/end
    POST /v1/sessions/{id}/agents/{agent}/messages
    PUT /v1/sessions/{id}/agents/{agent}/context/{slot}
    PUT /v1/sessions/{id}/agents/{agent}/label
    ");
    assert_eq!(description["components"]["securitySchemes"]["bearer"]["scheme"], "bearer");
}

#[tokio::test]
async fn the_configuration_is_shown_without_secrets() {
    let rig = Rig::start(QUIET).await;
    let (status, shown) = rig.admin("GET", "/v1/config", "").await;
    assert_eq!((status, &shown["version"], &shown["last_refused"]), (200, &1.into(), &serde_json::Value::Null));
    assert!(shown["loaded_at"].as_str().unwrap().parse::<jiff::Timestamp>().is_ok());
    assert_eq!(shown["config"]["admin"]["token"], "***");
    assert_eq!(shown["config"]["hooks"][0]["name"], "quiet");
    assert!(!shown.to_string().contains(ADMIN_TOKEN));
}
