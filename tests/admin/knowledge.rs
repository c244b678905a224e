//! What was approved, and who is told of it.
use crate::rig::Rig;
use crate::support::{Client, soon};
use hookgate::config::Store;
use serde_json::{Value, json};
use std::path::Path;
use std::time::Duration;

const ALL: &str = "/v1/proposals";
/// Between two looks at what must happen.
const PAUSE: Duration = Duration::from_millis(10);

/// Waits until something holds.
async fn until(holds: impl AsyncFn() -> bool) {
    let wait = async {
        while !holds().await {
            tokio::time::sleep(PAUSE).await;
        }
    };
    soon(wait).await;
}

/// Proposes something and approves it; its id.
async fn learn(rig: &Rig, body: Value) -> String {
    let (status, made) = rig.admin("POST", ALL, &body.to_string()).await;
    assert_eq!(status, 201, "{made}");
    let id = made["id"].as_str().unwrap().to_owned();
    let (status, approved) = rig.admin("POST", &format!("{ALL}/{id}/approve"), "").await;
    assert_eq!(status, 200, "{approved}");
    id
}

async fn knows(rig: &Rig, session: &str, key: &str, title: &str) -> bool {
    rig.say(session, "main", key, "Hi").await;
    rig.received().contains(title)
}

/// A prompt in a project.
async fn say_in(rig: &Rig, session: &str, project: &str) -> String {
    let headers = format!(
        "x-hookgate-session: {session}\r\nx-hookgate-project: {project}\r\nx-api-key: k\r\nanthropic-version: 2023-06-01\r\n"
    );
    let body = json!({"model": "m", "max_tokens": 9, "messages": [{"role": "user", "content": "Hi"}]});
    let mut client = Client::connect(rig.gateway.addr()).await;
    assert_eq!(client.request("POST", "/v1/messages", &headers, body.to_string()).await.status(), 200);
    rig.received()
}

#[tokio::test]
async fn a_hooks_proposal_reaches_no_model_before_it_is_approved() {
    let answer = r#"{"propose":[{"title":"Use uv","body":"LEARNED","kind":"rule"},{"title":"no body"}]}"#;
    let hook = json!({"name": "learn", "on": "session.stop", "run": {"command": ["sh", "-c", "cat >/dev/null; printf %s \"$A\""], "env": {"A": answer}}});
    let rig = Rig::start(&json!({"hooks": [hook]}).to_string()).await;
    rig.say("s1", "main", "k", "Hi").await;
    let pending = async || rig.admin("GET", ALL, "").await.1["items"].as_array().unwrap().clone();
    until(async || !pending().await.is_empty()).await;
    let items = pending().await;
    assert_eq!(items.len(), 1, "what can't be read is left out");
    let origin = json!({"session": "s1", "agent": "main", "project": null, "turn": 1, "hook": "learn"});
    assert_eq!((&items[0]["status"], &items[0]["origin"]), (&json!("pending"), &origin));

    assert!(!knows(&rig, "s2", "k", "LEARNED").await);
    // It ends behind its last turn's stop.
    rig.admin("POST", "/v1/sessions/s2/agents/main/end", "").await;
    assert_eq!(pending().await.len(), 1, "the same words again are no other proposal");
    rig.admin("POST", &format!("{ALL}/{}/approve", items[0]["id"].as_str().unwrap()), "").await;
    assert!(knows(&rig, "s3", "k", "rule: Use uv\\nLEARNED").await, "{}", rig.received());
    assert!(!knows(&rig, "s4", "other", "LEARNED").await, "it is its tenant's alone");
}

#[tokio::test]
async fn without_hooks_and_knowledge_a_body_is_not_read() {
    let rig = Rig::start("{}").await;
    assert!(!knows(&rig, "s1", "k", "context source").await);
    assert_eq!(rig.admin("GET", "/v1/sessions", "").await.1["items"], json!([]), "no session is kept");
    learn(&rig, json!({"title": "Use uv", "body": "Not pip."})).await;
    assert!(knows(&rig, "s2", "k", "Use uv").await, "what belongs to no tenant is everybody's");
    assert!(knows(&rig, "s3", "other", "Use uv").await);
    assert_eq!(rig.admin("GET", "/v1/sessions/s2", "").await.1["items"][0]["slots"]["knowledge"]["by"], "hookgate");
}

#[tokio::test]
async fn a_scope_is_kept() {
    let rig = Rig::start("{}").await;
    learn(&rig, json!({"title": "EVERYWHERE", "body": "b"})).await;
    say_in(&rig, "s1", "demo").await;
    learn(&rig, json!({"title": "IN DEMO", "body": "b", "session": "s1", "scope": "project"})).await;
    learn(&rig, json!({"title": "IN S2", "body": "b", "session": "s1", "scope": "session"})).await;
    let known = |body: &str| ["EVERYWHERE", "IN DEMO", "IN S2"].map(|title| body.contains(title));
    assert_eq!(known(&say_in(&rig, "s2", "demo").await), [true, true, false]);
    assert_eq!(known(&say_in(&rig, "s3", "other").await), [true, false, false]);
    // Another agent of the session that it comes from.
    rig.say("s1", "qa", "k", "Hi").await;
    assert_eq!(known(&rig.received()), [true, false, true]);
}

#[tokio::test]
async fn the_most_specific_and_newest_come_first_and_the_budget_holds() {
    let rig = Rig::start("knowledge: { max_context_chars: 100 }").await;
    learn(&rig, json!({"title": "OLD", "body": "b"})).await;
    say_in(&rig, "s1", "demo").await;
    learn(&rig, json!({"title": "PROJECT", "body": "b", "session": "s1", "scope": "project"})).await;
    learn(&rig, json!({"title": "NEW", "body": "b"})).await;
    let body = say_in(&rig, "s2", "demo").await;
    let at = |title: &str| body.find(title).unwrap_or_else(|| panic!("{title} in {body}"));
    assert!(at("PROJECT") < at("NEW") && at("NEW") < at("OLD"), "{body}");
    learn(&rig, json!({"title": "LARGE", "body": "x".repeat(80)})).await;
    let body = say_in(&rig, "s3", "demo").await;
    assert!(body.contains("PROJECT") && body.contains("NEW") && !body.contains("LARGE"), "{body}");
}

#[tokio::test]
async fn hooks_of_the_start_have_the_room_first() {
    let hook = json!({"name": "rules", "on": "session.start", "run": {"text": "r".repeat(90)}});
    let config = json!({"hooks": [hook], "lifecycle": {"max_injected_context_chars": 120}});
    let rig = Rig::start(&config.to_string()).await;
    learn(&rig, json!({"title": "TOO LONG FOR WHAT IS LEFT", "body": "bbbbbbbbbb"})).await;
    learn(&rig, json!({"title": "FITS", "body": "b"})).await;
    rig.say("s1", "main", "k", "Hi").await;
    let body = rig.received();
    assert!(body.contains(&"r".repeat(90)) && body.contains("FITS") && !body.contains("TOO LONG"), "{body}");
}

#[tokio::test]
async fn what_matches_the_prompt_is_offered_with_it() {
    let rig = Rig::start("hooks: [{ name: recall, run: { knowledge: { max_entries: 1 } } }]").await;
    rig.say("s1", "main", "k", "Hi").await;
    learn(
        &rig,
        json!({"title": "Deploy with make release", "body": "Never push to production by hand.", "session": "s1"}),
    )
    .await;
    learn(&rig, json!({"title": "Tests run with nextest", "body": "cargo nextest run", "session": "s1"})).await;
    rig.say("s1", "main", "k", "How do I deploy to production?").await;
    let body = rig.received();
    assert!(body.contains("Deploy with make release") && !body.contains("nextest"), "{body}");
    rig.say("s1", "main", "k", "What is the weather?").await;
    assert!(!rig.received().contains("Deploy with"), "only what matches: {}", rig.received());
    // A session that has it from its start on is not told twice.
    rig.say("s2", "main", "k", "How do I deploy to production?").await;
    assert_eq!(rig.received().matches("Deploy with make release").count(), 1, "{}", rig.received());

    let found = "/v1/sessions/s1/agents/main/knowledge?query=deploying%20to%20production";
    let (status, found) = rig.admin("GET", found, "").await;
    assert_eq!((status, &found["items"][0]["title"]), (200, &json!("Deploy with make release")));
}

fn file(folder: &Path, id: &str) -> String {
    std::fs::read_to_string(folder.join(format!("{id}.md"))).unwrap_or_default()
}

#[tokio::test]
async fn a_directory_is_the_truth() {
    let folder = tempfile::tempdir().unwrap();
    let dir = folder.path().join("knowledge");
    let rig = Rig::with("{}", |config| config.knowledge.dir = Some(dir.clone())).await;
    let old = learn(&rig, json!({"title": "Use pip", "body": "Not uv."})).await;
    assert!(
        file(&dir, &old)
            .starts_with(&format!("---\nid: \"{old}\"\ntitle: \"Use pip\"\nkind: \"fact\"\nstatus: \"approved\"\n"))
    );
    let (_, new) =
        rig.admin("POST", ALL, &json!({"title": "Use uv", "body": "Not pip.", "supersedes": old}).to_string()).await;
    let new = new["id"].as_str().unwrap();
    assert_eq!(file(&dir, new), "", "what is pending has no file");
    rig.admin("POST", &format!("{ALL}/{new}/approve"), "").await;
    assert!(
        file(&dir, &old).contains("status: \"superseded\"\n")
            && file(&dir, &old).contains(&format!("superseded_by: \"{new}\""))
    );

    // Edited, written, broken and deleted by hand.
    std::fs::write(dir.join("by-hand.md"), "---\ntitle: BY HAND\n---\nWritten.\n").unwrap();
    std::fs::write(dir.join("broken.md"), "no front matter\n").unwrap();
    std::fs::write(dir.join(format!("{new}.md")), file(&dir, new).replace("Not pip.", "EDITED")).unwrap();
    std::fs::remove_file(dir.join(format!("{old}.md"))).unwrap();
    let ids = async || -> Vec<String> {
        let (_, list) = rig.admin("GET", ALL, "").await;
        list["items"].as_array().unwrap().iter().map(|item| item["id"].as_str().unwrap().to_owned()).collect()
    };
    until(async || ids().await == [new.to_owned(), "by-hand".to_owned()]).await;
    assert!(knows(&rig, "s1", "k", "EDITED").await && rig.received().contains("BY HAND"), "{}", rig.received());

    // Taken back: by hand, and by a reviewer.
    std::fs::remove_file(dir.join("by-hand.md")).unwrap();
    until(async || ids().await == [new.to_owned()]).await;
    rig.admin("POST", &format!("{ALL}/{new}/reject"), "").await;
    assert_eq!(file(&dir, new), "");
    assert!(!knows(&rig, "s2", "k", "EDITED").await);
    assert_eq!(rig.admin("GET", &format!("{ALL}/{new}"), "").await.1["status"], "rejected");
}

#[tokio::test]
async fn a_copy_of_a_file_does_not_outlive_its_rejection() {
    let folder = tempfile::tempdir().unwrap();
    let rig = Rig::start(&format!("knowledge: {{ dir: {:?} }}", folder.path())).await;
    let id = learn(&rig, json!({"title": "Use uv", "body": "Not pip."})).await;
    std::fs::copy(folder.path().join(format!("{id}.md")), folder.path().join("zz.md")).unwrap();
    assert_eq!(rig.admin("POST", &format!("{ALL}/{id}/reject"), "").await.0, 200);
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0, "both files are gone");
    assert!(!knows(&rig, "s1", "k", "Use uv").await);
}

#[tokio::test]
async fn a_review_does_not_write_over_what_was_edited_a_moment_ago() {
    let folder = tempfile::tempdir().unwrap();
    let rig = Rig::start(&format!("knowledge: {{ dir: {:?} }}", folder.path())).await;
    let id = learn(&rig, json!({"title": "Use uv", "body": "Not pip."})).await;
    let path = folder.path().join(format!("{id}.md"));
    let edited = std::fs::read_to_string(&path).unwrap().replace("Not pip.", "Never pip.");
    std::fs::write(&path, edited).unwrap();
    learn(&rig, json!({"title": "Use pixi", "body": "Not uv.", "supersedes": id})).await;
    let kept = std::fs::read_to_string(&path).unwrap();
    assert!(kept.contains("Never pip.") && kept.contains("superseded"), "{kept}");
}

#[tokio::test]
async fn knowledge_outlives_a_restart_and_moves_into_a_directory() {
    let folder = tempfile::tempdir().unwrap();
    let store = Store::Sled { path: folder.path().join("data") };
    let rig = Rig::with("{}", |config| config.store = store.clone()).await;
    let approved = learn(&rig, json!({"title": "Use uv", "body": "Not pip."})).await;
    rig.admin("POST", ALL, r#"{"title":"waits","body":"b"}"#).await;
    let list = rig.admin("GET", ALL, "").await.1;
    rig.gateway.shutdown(Duration::ZERO).await;

    let rig = Rig::with("{}", |config| config.store = store.clone()).await;
    assert_eq!(rig.admin("GET", ALL, "").await.1, list);
    assert!(knows(&rig, "s1", "k", "Use uv").await);
    rig.gateway.shutdown(Duration::ZERO).await;

    let dir = folder.path().join("knowledge");
    let rig = Rig::with("{}", |config| {
        config.store = store.clone();
        config.knowledge.dir = Some(dir.clone());
    });
    let rig = rig.await;
    assert_eq!(rig.admin("GET", ALL, "").await.1, list);
    assert!(file(&dir, &approved).contains("Use uv"));
}
