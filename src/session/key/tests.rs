use super::*;
use crate::config::{Isolation, WithoutId};
use proptest::prelude::*;
use std::time::Duration;

fn header(name: &'static str) -> IdSource {
    IdSource::Header(HeaderName::from_static(name))
}

/// The defaults of config/hookgate.yaml.
fn finder() -> KeyFinder {
    let sources = |names: &[&'static str]| names.iter().map(|name| header(name)).collect::<Vec<_>>();
    KeyFinder::new(&config::Sessions {
        id: sources(&["x-hookgate-session", "x-claude-code-session-id", "x-session-id", "session-id", "session_id"]),
        agent: sources(&["x-hookgate-agent", "x-claude-code-agent-id", "thread-id"]),
        parent: sources(&[
            "x-hookgate-parent",
            "x-claude-code-parent-agent-id",
            "x-codex-parent-thread-id",
            "x-parent-session-id",
        ]),
        project: sources(&["x-hookgate-project"]),
        without_id: WithoutId::Chain,
        isolation: Isolation::Credential,
        idle_end: Duration::from_secs(1800),
        retain: Duration::from_secs(86_400),
        side_requests: vec![],
    })
    .unwrap()
}

fn headers(pairs: &[(&'static str, &str)]) -> HeaderMap {
    let value = |text: &str| http::HeaderValue::from_bytes(text.as_bytes()).unwrap();
    pairs.iter().map(|(name, text)| (HeaderName::from_static(name), value(text))).collect()
}

fn no_body(_: &str) -> Option<&'static str> {
    None
}

fn find(pairs: &[(&'static str, &str)], path: &str) -> Result<Ids, KeyError> {
    let path = strip_session_prefix(path)?;
    finder().find(&headers(pairs), path.as_ref(), &[], &no_body)
}

type Pairs = &'static [(&'static str, &'static str)];
/// Session, agent, parent.
type Found = (Option<&'static str>, &'static str, Option<&'static str>);

#[test]
fn ids_come_from_the_first_source_that_is_present() {
    let cases: [(Pairs, &str, Found); 11] = [
        (&[], "/v1/messages", (None, "main", None)),
        (&[("x-hookgate-session", "s1"), ("x-session-id", "s2")], "/", (Some("s1"), "main", None)),
        (&[("x-session-id", "ses_1"), ("x-parent-session-id", "ses_0")], "/", (Some("ses_1"), "main", Some("ses_0"))),
        (&[("session_id", "pi")], "/", (Some("pi"), "main", None)),
        (&[("x-claude-code-session-id", "u"), ("x-claude-code-agent-id", "a1")], "/", (Some("u"), "a1", None)),
        (&[("session-id", "r"), ("thread-id", "r")], "/", (Some("r"), "main", None)),
        (
            &[("session-id", "r"), ("thread-id", "t"), ("x-codex-parent-thread-id", "r")],
            "/",
            (Some("r"), "t", Some("main")),
        ),
        (&[("x-hookgate-session", "mine"), ("session-id", "r"), ("thread-id", "r")], "/", (Some("mine"), "main", None)),
        (&[], "/s/url/a/qa/v1/messages", (Some("url"), "qa", None)),
        (&[("x-session-id", "head")], "/s/url/v1/messages", (Some("head"), "main", None)),
        (&[("x-hookgate-agent", "qa")], "/s/url/a/other/v1/messages", (Some("url"), "qa", None)),
    ];
    for (pairs, path, (session, agent, parent)) in cases {
        let ids = find(pairs, path).unwrap();
        let found = (ids.session.as_deref(), ids.agent.as_str(), ids.parent.as_deref());
        assert_eq!(found, (session, agent, parent), "{pairs:?} {path}");
    }
}

#[test]
fn an_id_is_printable_ascii() {
    let long = "x".repeat(MAX_ID + 1);
    for good in ["a", "with space", "~!@#/.%", &"x".repeat(MAX_ID)] {
        assert_eq!(find(&[("x-session-id", good)], "/").unwrap().session.as_deref(), Some(good));
    }
    for bad in ["", "é", "a\tb", "\u{1F30D}", &"é".repeat(MAX_ID)] {
        let error = find(&[("x-session-id", bad)], "/");
        assert_eq!(error, Err(KeyError::Invalid { origin: "header x-session-id".into() }), "{bad:?}");
    }
    let hashed = find(&[("x-session-id", &long)], "/").unwrap().session.unwrap();
    assert!(hashed.starts_with(HASHED) && hashed.len() < MAX_ID);
}

#[test]
fn the_prefix_is_taken_off_the_path() {
    let cases = [
        ("/v1/messages", None),
        ("/s", None),
        ("/session/x", None),
        ("/s/x/v1/messages", Some(("x", None, "/v1/messages"))),
        ("/s/x", Some(("x", None, "/"))),
        ("/s/x/a", Some(("x", None, "/a"))),
        ("/s/x/a/q", Some(("x", Some("q"), "/"))),
        ("/s/a%2Fb%20c/a/q%25/local/v1/x", Some(("a/b c", Some("q%"), "/local/v1/x"))),
        ("/s/100%/v1", Some(("100%", None, "/v1"))),
    ];
    for (path, expected) in cases {
        let ids = strip_session_prefix(path).unwrap();
        let found = ids.as_ref().map(|ids| (ids.session.as_str(), ids.agent.as_deref(), ids.rest));
        assert_eq!(found, expected, "{path}");
    }
    for bad in ["/s/", "/s//v1", "/s/x/a/", "/s/x/a//v1", "/s/%0A/v1", "/s/%C3%A9/v1", "/s/%2e%2E/v1", "/s/./v1"] {
        assert!(strip_session_prefix(bad).is_err(), "{bad}");
    }
}

#[test]
fn the_body_is_asked_where_no_header_speaks() {
    const PATTERN: &str = r#"(?:"session_id"\s*:\s*"|_session_)([0-9A-Za-z-]+)"#;
    let source = Source::body("/metadata/user_id", Some(PATTERN)).unwrap();
    let cases = [
        (r#"{"user_id":"{\"device_id\":\"d\",\"account_uuid\":\"\",\"session_id\":\"3f-1\"}"}"#, Some("3f-1")),
        (r#"{"user_id":"user_ab12_account__session_9c-2"}"#, Some("9c-2")),
        (r#"{"user_id":"somebody"}"#, None),
        (r#"{"user_id":7}"#, None),
        (r#"{}"#, None),
        (r#"[]"#, None),
    ];
    for (metadata, expected) in cases {
        let body = move |key: &str| (key == "metadata").then_some(metadata);
        let find = |pairs| finder().find(&headers(pairs), None, std::slice::from_ref(&source), &body).unwrap().session;
        assert_eq!(find(&[]).as_deref(), expected, "{metadata}");
        assert_eq!(find(&[("x-session-id", "head")]).as_deref(), Some("head"), "a header wins");
    }
}

#[test]
fn a_pointer_goes_through_arrays_and_escapes() {
    let source = Source::body("/a~1b/1/m~0n", None).unwrap();
    let body = |key: &str| (key == "a/b").then_some(r#"[0, {"x": 1, "m~n": "i\u0064"}]"#);
    assert_eq!(source.find(&HeaderMap::new(), &body), Some(Ok("id".to_owned())));
}

#[test]
fn a_pattern_has_exactly_one_group() {
    for (pointer, pattern) in [("/a", Some("no group")), ("/a", Some("(a)(b)")), ("/a", Some("(")), ("a", None)] {
        assert!(matches!(Source::body(pointer, pattern), Err(KeyError::Pattern { .. })), "{pointer} {pattern:?}");
    }
}

proptest! {
    #[test]
    fn any_path_is_answered(path in "(/s/)?[ -~é/%.]{0,40}") {
        if let Ok(Some(ids)) = strip_session_prefix(&path) {
            prop_assert!(ids.rest.starts_with('/'));
            prop_assert!(!ids.session.is_empty());
        }
    }
}
