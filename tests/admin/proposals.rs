//! Proposals and their reviews, in the admin API and on the command line.
use crate::rig::{QUIET, Rig};
use crate::support::config::ADMIN_TOKEN;
use serde_json::{Value, json};

const ALL: &str = "/v1/proposals";
const REVIEWER: &str = "token-of-the-reviewers";

/// Proposes something in the words of a session.
async fn add(rig: &Rig, body: Value) -> Value {
    let (status, made) = rig.admin("POST", ALL, &body.to_string()).await;
    assert!(matches!(status, 200 | 201), "{status} {made}");
    made
}

fn of(session: &str, title: &str) -> Value {
    json!({"title": title, "body": "Because.", "session": session})
}

fn id(proposal: &Value) -> &str {
    proposal["id"].as_str().unwrap()
}

async fn approve(rig: &Rig, proposal: &Value, body: &str) -> (u16, Value) {
    rig.admin("POST", &format!("{ALL}/{}/approve", id(proposal)), body).await
}

#[tokio::test]
async fn a_proposal_waits_and_is_approved_or_rejected() {
    let rig = Rig::start(QUIET).await;
    rig.say("s1", "main", "k", "Hi").await;
    let body = json!({"title": " Use  uv ", "body": "Not pip.\n", "kind": "rule", "tier": "core", "confidence": 0.8,
        "scope": "session", "session": "s1"});
    let mut made = add(&rig, body).await;
    assert_eq!(rig.admin("GET", &format!("{ALL}/{}", id(&made)), "").await, (200, made.clone()));
    let (_, list) = rig.admin("GET", &format!("{ALL}?status=pending"), "").await;
    assert_eq!(list, json!({"items": [made], "next": null}));
    assert_eq!(rig.admin("GET", &format!("{ALL}?status=approved"), "").await.1["items"], json!([]));

    let (status, approved) = approve(&rig, &made, r#"{"by":"ann"}"#).await;
    assert_eq!((status, &approved["status"], &approved["decided_by"]), (200, &json!("approved"), &json!("ann")));
    assert_eq!(approve(&rig, &made, "").await, (200, approved), "twice is once");
    let (status, rejected) = rig.admin("POST", &format!("{ALL}/{}/reject", id(&made)), "").await;
    assert_eq!((status, &rejected["status"]), (200, &json!("rejected")), "what was approved is taken back");

    for varying in ["id", "tenant", "proposed_at"] {
        made[varying] = json!("...");
    }
    insta::assert_snapshot!(made, @r#"{"id":"...","tenant":"...","title":"Use uv","body":"Not pip.","kind":"rule","tier":"core","confidence":0.8,"scope":"session","session":"s1","project":null,"status":"pending","supersedes":null,"superseded_by":null,"origin":{"session":"s1","agent":"main","project":null,"turn":1,"hook":"admin"},"proposed_at":"...","decided_by":null,"decided_at":null}"#);
}

#[tokio::test]
async fn what_can_not_be_proposed_or_approved_is_told() {
    let rig = Rig::start(QUIET).await;
    let text = |bytes: usize| "x".repeat(bytes);
    for (body, expected) in [
        (json!({"title": "t"}), (400, "invalid_body")),
        (json!({"title": " ", "body": "b"}), (400, "invalid_body")),
        (json!({"title": "t", "body": "b", "kind": "law"}), (400, "invalid_body")),
        (json!({"title": "t", "body": "b", "confidence": 2}), (400, "invalid_body")),
        (json!({"title": "t", "body": "b", "scope": "session"}), (400, "invalid_body")),
        (json!({"title": "t", "body": "b", "status": "approved"}), (400, "invalid_body")),
        (json!({"title": text(257), "body": "b"}), (413, "text_too_long")),
        (json!({"title": "t", "body": text(8 * 1024 + 1)}), (413, "text_too_long")),
        (json!({"title": "t", "body": "b", "session": "nobody"}), (404, "no_session")),
    ] {
        let refused = rig.refused("POST", ALL, &body.to_string()).await;
        assert_eq!(refused, (expected.0, expected.1.to_owned()), "{body:.80}");
    }
    for (method, path) in
        [("GET", "/v1/proposals/x"), ("POST", "/v1/proposals/x/approve"), ("POST", "/v1/proposals/x/reject")]
    {
        assert_eq!(rig.refused(method, path, "").await, (404, "no_proposal".into()), "{method} {path}");
    }
    let made = add(&rig, json!({"title": "t", "body": "b", "supersedes": "gone"})).await;
    assert_eq!(approve(&rig, &made, "").await.1["error"]["code"], "cannot_supersede");
    for query in ["status=open", "limit=0", "limit=501", "state=pending"] {
        assert_eq!(rig.refused("GET", &format!("{ALL}?{query}"), "").await, (400, "invalid_query".into()), "{query}");
    }
}

#[tokio::test]
async fn the_same_words_for_the_same_sessions_are_one_proposal() {
    let rig = Rig::start(QUIET).await;
    rig.say("s1", "main", "one", "Hi").await;
    rig.say("s2", "main", "two", "Hi").await;
    let first = add(&rig, of("s1", "Use uv")).await;
    assert_eq!(add(&rig, of("s1", " Use uv")).await, first);
    assert_ne!(id(&add(&rig, of("s2", "Use uv")).await), id(&first), "another tenant's is another");
    let narrow = add(&rig, json!({"title": "Use uv", "body": "Because.", "session": "s1", "scope": "session"})).await;
    assert_ne!(id(&narrow), id(&first), "so is one for other sessions");
    rig.admin("POST", &format!("{ALL}/{}/reject", id(&first)), "").await;
    assert_ne!(id(&add(&rig, of("s1", "Use uv")).await), id(&first), "what was rejected may be proposed again");
}

#[tokio::test]
async fn a_tenant_has_a_limit_of_what_waits() {
    let rig = Rig::start(QUIET).await;
    let body = |n: usize, tenant: &str| json!({"title": format!("{n}"), "body": "b", "tenant": tenant}).to_string();
    for n in 0..hookgate::knowledge::MAX_PENDING {
        assert_eq!(rig.admin("POST", ALL, &body(n, "t_1")).await.0, 201);
    }
    let (status, refusal) = rig.admin("POST", ALL, &body(9999, "t_1")).await;
    assert_eq!((status, &refusal["error"]["code"]), (409, &json!("too_many_proposals")));
    assert!(refusal["error"]["message"].as_str().unwrap().contains("wait for a review"), "{refusal}");
    assert_eq!(rig.admin("POST", ALL, &body(0, "t_1")).await.0, 200, "one that waits already is no other");
    assert_eq!(rig.admin("POST", ALL, &body(0, "t_2")).await.0, 201, "another tenant has its own limit");

    let (_, page) = rig.admin("GET", &format!("{ALL}?tenant=t_1&limit=300"), "").await;
    let (_, rest) =
        rig.admin("GET", &format!("{ALL}?tenant=t_1&limit=300&cursor={}", page["next"].as_str().unwrap()), "").await;
    let titles: Vec<_> = [&page, &rest].into_iter().flat_map(|page| page["items"].as_array().unwrap()).collect();
    assert_eq!((titles.len(), &rest["next"]), (hookgate::knowledge::MAX_PENDING, &Value::Null));
}

#[tokio::test]
async fn a_newer_one_takes_the_place_of_an_older_one() {
    let rig = Rig::start(QUIET).await;
    rig.say("s1", "main", "k", "Hi").await;
    let (old, new) = (add(&rig, of("s1", "Use pip")).await, add(&rig, of("s1", "Use uv")).await);
    assert_eq!(approve(&rig, &new, &json!({"supersedes": id(&old)}).to_string()).await.0, 409, "it is not approved");
    approve(&rig, &old, "").await;
    let (status, approved) = approve(&rig, &new, &json!({"supersedes": id(&old)}).to_string()).await;
    assert_eq!((status, &approved["supersedes"]), (200, &old["id"]));
    let (_, before) = rig.admin("GET", &format!("{ALL}/{}", id(&old)), "").await;
    assert_eq!((&before["status"], &before["superseded_by"]), (&json!("superseded"), &new["id"]));
    assert_eq!(approve(&rig, &old, "").await.1["error"]["code"], "wrong_status");

    rig.say("s2", "main", "k", "Hi").await;
    assert!(rig.received().contains("Use uv") && !rig.received().contains("Use pip"), "{}", rig.received());
    rig.say("s3", "main", "other", "Hi").await;
    let others = add(&rig, json!({"title": "Mine", "body": "b", "session": "s3", "supersedes": id(&new)})).await;
    assert_eq!(approve(&rig, &others, "").await.0, 409, "no tenant supersedes what is another's");
}

#[tokio::test]
async fn only_what_is_pending_is_edited() {
    let rig = Rig::start(QUIET).await;
    rig.say("s1", "main", "k", "Hi").await;
    let made = add(&rig, json!({"title": "Use pip", "body": "b", "tier": "core", "session": "s1"})).await;
    let path = format!("{ALL}/{}", id(&made));
    let (status, edited) = rig.admin("PATCH", &path, r#"{"title":"Use uv","kind":"rule","tier":null}"#).await;
    assert_eq!(status, 200);
    assert_eq!(
        [&edited["title"], &edited["kind"], &edited["tier"], &edited["body"]],
        [&json!("Use uv"), &json!("rule"), &Value::Null, &json!("b")]
    );
    assert_eq!(rig.refused("PATCH", &path, r#"{"status":"approved"}"#).await, (400, "invalid_body".into()));
    assert_eq!(rig.refused("PATCH", &path, r#"{"body":""}"#).await, (400, "invalid_body".into()));
    approve(&rig, &made, "").await;
    assert_eq!(rig.refused("PATCH", &path, r#"{"title":"x"}"#).await, (409, "wrong_status".into()));
}

#[tokio::test]
async fn reviews_take_their_own_token_where_there_is_one() {
    let hooks = r#"hooks: [{ name: rules, on: session.start, run: { text: rules } }]"#;
    let rig = Rig::start(&format!("{hooks}\nknowledge: {{ approve_token: {REVIEWER} }}")).await;
    let made = add(&rig, json!({"title": "t", "body": "b"})).await;
    let path = format!("{ALL}/{}", id(&made));
    for (method, path, body) in [
        ("POST", format!("{path}/approve"), ""),
        ("POST", format!("{path}/reject"), ""),
        ("PATCH", path.clone(), r#"{"title":"x"}"#),
    ] {
        assert_eq!(rig.refused(method, &path, body).await, (403, "not_reviewer".into()), "{method} {path}");
        let wrong = "authorization: Bearer wrong\r\ncontent-type: application/json\r\n";
        assert_eq!(rig.raw(method, &path, wrong, body).await.status(), 401);
    }
    assert_eq!(rig.admin("GET", &path, "").await.1["status"], "pending");
    rig.say("s1", "main", "k", "Hi").await;
    let slot = "/v1/sessions/s1/agents/main/context/knowledge";
    assert_eq!(rig.refused("PUT", slot, r#"{"text":"FORGED"}"#).await, (403, "not_reviewer".into()));
    assert_eq!(rig.refused("DELETE", slot, "").await.0, 404, "to empty it forges nothing");
    let own = format!("authorization: Bearer {REVIEWER}\r\n");
    assert_eq!(rig.raw("GET", ALL, &own, "").await.status(), 200, "who reviews must see");
    assert_eq!(rig.raw("POST", &format!("{path}/approve"), &own, "").await.status(), 200);
    let (_, config) = rig.admin("GET", "/v1/config", "").await;
    assert_eq!(config["config"]["knowledge"]["approve_token"], "***");
}

async fn cli(rig: &Rig, arguments: &[&str]) -> (bool, String) {
    let url = format!("http://{}", rig.gateway.admin_addr());
    let mut command = tokio::process::Command::new(env!("CARGO_BIN_EXE_hookgate"));
    command.arg("proposals").args(arguments).args(["--admin", &url, "--token", ADMIN_TOKEN]).env_clear();
    let output = command.output().await.unwrap();
    let said = if output.status.success() { output.stdout } else { output.stderr };
    (output.status.success(), String::from_utf8(said).unwrap())
}

#[tokio::test]
async fn a_reviewer_works_on_the_command_line() {
    let rig = Rig::start(&format!("knowledge: {{ approve_token: {REVIEWER} }}")).await;
    let (done, said) = cli(&rig, &["add", "Use pip", "--body", "Not uv.", "--kind", "rule", "--json"]).await;
    assert!(done, "{said}");
    let made: Value = serde_json::from_str(&said).unwrap();
    let id = id(&made);

    let (_, list) = cli(&rig, &["list", "--status", "pending"]).await;
    let cells: Vec<_> = list.lines().nth(1).unwrap().split_whitespace().collect();
    assert_eq!((cells[0], cells[1], cells[2], cells[3]), (id, "pending", "rule", "all"), "{list}");
    let (done, said) = cli(&rig, &["approve", id]).await;
    assert!(!done && said.contains("403") && said.contains("knowledge.approve_token"), "{said}");

    let with = |arguments: &[&str]| [arguments, &["--approve-token", REVIEWER]].concat().join("\t");
    let run = async |arguments: &[&str]| {
        let all = with(arguments);
        cli(&rig, &all.split('\t').collect::<Vec<_>>()).await
    };
    assert_eq!(run(&["edit", id, "--title", "Use uv"]).await, (true, format!("changed {id}: Use uv\n")));
    assert_eq!(run(&["approve", id, "--by", "ann"]).await, (true, format!("approved {id}: Use uv\n")));
    let (_, shown) = cli(&rig, &["show", id]).await;
    assert!(shown.contains("  decided_by: ann\n") && shown.ends_with("\n\nNot uv.\n"), "{shown}");
    assert_eq!(run(&["reject", id]).await, (true, format!("rejected {id}: Use uv\n")));
}
