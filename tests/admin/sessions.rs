//! Sessions in lists and by id.
use crate::rig::{QUIET, Rig};
use serde_json::{Value, json};

fn ids(page: &Value) -> Vec<&str> {
    page["items"].as_array().unwrap().iter().map(|item| item["id"].as_str().unwrap()).collect()
}

#[tokio::test]
async fn a_session_is_shown_with_its_agents_and_without_credentials() {
    let rig = Rig::start("hooks: [{ name: rules, on: session.start, run: { text: Be kind. } }]").await;
    rig.say("s1", "main", "sk-secret", "Hi").await;
    rig.say("s1", "qa", "sk-secret", "Hi").await;
    let (status, mut shown) = rig.admin("GET", "/v1/sessions/s1", "").await;
    assert_eq!((status, &shown["next"]), (200, &Value::Null));
    let agents: Vec<_> = shown["items"].as_array().unwrap().iter().map(|item| item["agent"].clone()).collect();
    assert_eq!(agents, ["main", "qa"]);

    let mut main = shown["items"][0].take();
    assert_eq!(rig.admin("GET", "/v1/sessions/s1/agents/main", "").await.1, main);
    for time in ["/started_at", "/last_active", "/slots/rules/updated_at"] {
        let time = main.pointer_mut(time).unwrap();
        assert!(time.as_str().unwrap().parse::<jiff::Timestamp>().is_ok(), "{time}");
        *time = json!("TIME");
    }
    assert!(main["tenant"].as_str().unwrap().starts_with("t_"));
    main["tenant"] = json!("TENANT");
    insta::assert_snapshot!(main, @r#"{"tenant":"TENANT","id":"s1","agent":"main","label":null,"parent":null,"project":null,"client":"generic","source":"startup","started_at":"TIME","last_active":"TIME","turns":1,"ended_at":null,"model":{"requested":"claude-haiku-4-5","resolved":"claude-haiku-4-5","dialect":"anthropic","upstream":"anthropic"},"slots":{"rules":{"text":"Be kind.","updated_at":"TIME","by":"rules"}}}"#);
}

#[tokio::test]
async fn lists_go_page_by_page() {
    let rig = Rig::start(QUIET).await;
    assert_eq!(rig.admin("GET", "/v1/sessions", "").await, (200, json!({"items": [], "next": null})));
    for id in ["a", "b", "c"] {
        rig.say(id, "main", "k", "Hi").await;
    }
    let (_, first) = rig.admin("GET", "/v1/sessions?limit=2", "").await;
    assert_eq!(ids(&first), ["a", "b"]);
    let cursor = first["next"].as_str().unwrap();
    let (_, second) = rig.admin("GET", &format!("/v1/sessions?limit=2&cursor={cursor}"), "").await;
    assert_eq!((ids(&second), &second["next"]), (vec!["c"], &Value::Null));
    for query in ["limit=0", "limit=501", "limit=-1", "limit=x", "cursor=x", "cursor=%00", "curser=aa"] {
        let refusal = rig.refused("GET", &format!("/v1/sessions?{query}"), "").await;
        assert_eq!(refusal, (400, "invalid_query".into()), "{query}");
    }
}

#[tokio::test]
async fn texts_stay_out_of_lists() {
    let rig = Rig::start("hooks: [{ name: rules, on: session.start, run: { text: Be kind. } }]").await;
    rig.say("s1", "main", "k", "Hi").await;
    let (_, list) = rig.admin("GET", "/v1/sessions", "").await;
    assert_eq!(list["items"][0]["slots"]["rules"]["by"], "rules");
    assert_eq!(list["items"][0]["slots"]["rules"].get("text"), None);
}

#[tokio::test]
async fn one_id_of_two_tenants_needs_a_tenant() {
    let rig = Rig::start(QUIET).await;
    rig.say("s1", "main", "one", "Hi").await;
    rig.say("s1", "main", "two", "Hi").await;
    for (method, path) in [
        ("GET", "/v1/sessions/s1"),
        ("GET", "/v1/sessions/s1/agents/main"),
        ("DELETE", "/v1/sessions/s1/agents/main"),
        ("POST", "/v1/sessions/s1/agents/main/end"),
        ("DELETE", "/v1/sessions/s1/agents/main/context/x"),
    ] {
        assert_eq!(rig.refused(method, path, "").await, (409, "ambiguous".into()), "{method} {path}");
    }
    let (_, refusal) = rig.admin("GET", "/v1/sessions/s1", "").await;
    let tenants = refusal["error"]["tenants"].as_array().unwrap().clone();
    assert_eq!(tenants.len(), 2);

    for tenant in &tenants {
        let query = format!("?tenant={}", tenant.as_str().unwrap());
        assert_eq!(rig.admin("GET", &format!("/v1/sessions/s1{query}"), "").await.1["items"][0]["tenant"], *tenant);
        let list = rig.admin("GET", &format!("/v1/sessions{query}"), "").await.1;
        assert_eq!((list["items"].as_array().unwrap().len(), &list["items"][0]["tenant"]), (1, tenant));
        let (status, shown) = rig.admin("GET", &format!("/v1/sessions/s1/agents/main{query}"), "").await;
        assert_eq!((status, &shown["tenant"]), (200, tenant));
    }
    for path in ["/v1/sessions/s1", "/v1/sessions/s1/agents/main"] {
        let path = format!("{path}?tenant=t_other");
        assert_eq!(rig.refused("GET", &path, "").await, (404, "no_session".into()));
    }
    let gone = format!("/v1/sessions/s1/agents/main?tenant={}", tenants[0].as_str().unwrap());
    assert_eq!(rig.admin("DELETE", &gone, "").await.0, 204);
    assert_eq!(rig.admin("GET", "/v1/sessions/s1", "").await.1["items"][0]["tenant"], tenants[1], "one is left");
}

#[tokio::test]
async fn ids_may_be_hostile() {
    let rig = Rig::start(QUIET).await;
    for (id, spelled) in [("a/../b", "a%2F..%2Fb"), ("<script>?#%", "%3Cscript%3E%3F%23%25"), ("a b;c", "a%20b;c")] {
        rig.say(id, "x/y", "k", "Hi").await;
        let path = format!("/v1/sessions/{spelled}/agents/x%2Fy");
        let (status, shown) = rig.admin("GET", &path, "").await;
        assert_eq!((status, &shown["id"], &shown["agent"]), (200, &id.into(), &"x/y".into()), "{id}");
        let context = format!("{path}/context/..%2F%22");
        assert_eq!(rig.admin("PUT", &context, r#"{"text":"x"}"#).await.1["slots"]["../\""]["text"], "x");
        assert_eq!(rig.admin("DELETE", &path, "").await.0, 204);
    }
    let long = "x".repeat(300);
    rig.say(&long, "main", "k", "Hi").await;
    assert_eq!(rig.admin("GET", &format!("/v1/sessions/{long}/agents/main"), "").await.0, 200, "hashed here as there");

    rig.say("s1", "main", "k", "Hi").await;
    let (_, s1) = rig.admin("GET", "/v1/sessions/s1", "").await;
    let into_the_key = format!("s1%00{}", s1["items"][0]["tenant"].as_str().unwrap());
    for id in [&into_the_key, "%ff", "%0d%0a", "%20s1", "s1%00", "%C3%A9"] {
        for path in [format!("/v1/sessions/{id}"), format!("/v1/sessions/s1/agents/{id}")] {
            assert_eq!(rig.refused("GET", &path, "").await, (400, "invalid_id".into()), "{path}");
        }
    }
    for path in ["..", ".", "%2e%2e", "s1%25", "S1", "s"].map(|id| format!("/v1/sessions/{id}")) {
        assert_eq!(rig.refused("GET", &path, "").await, (404, "no_session".into()), "{path}");
    }
    for slot in ["%00", "%0a", &"x".repeat(257)] {
        let path = format!("/v1/sessions/s1/agents/main/context/{slot}");
        assert_eq!(rig.refused("PUT", &path, r#"{"text":"x"}"#).await, (400, "invalid_id".into()), "{slot}");
    }
}
