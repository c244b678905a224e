use super::*;
use crate::config::EventKind;
use crate::context::Call;
use crate::dialect::neutral::{NeutralMessage, NeutralRequest};
use crate::hooks::contract::{Event, ToolInfo, TurnInfo};
use crate::hooks::runner::Invocation;
use crate::hooks::runner::testing::{call_of, event, invocation, turn};
use crate::session::record::Tenant;
use serde_json::Value;
use serde_json::value::RawValue;
use std::os::unix::fs::PermissionsExt as _;

const CWD: &str = "/work";

async fn write(transcripts: &Transcripts, kind: EventKind, event: &Event) -> Files {
    let call = Invocation { kind, ..invocation(event) };
    transcripts.write(&Moment::of(&call).expect("a moment"), Path::new(CWD)).await
}

fn read(path: &Path) -> Vec<Value> {
    let text = fs::read_to_string(path).expect("readable");
    text.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect()
}

/// Each line in few words.
fn words(path: &Path) -> Vec<String> {
    let word = |line: Value| {
        let content = &line["message"]["content"];
        let block = &content[0];
        let said = match block["type"].as_str() {
            None => content.as_str().unwrap_or_default().to_owned(),
            Some("tool_use") => format!("calls {} {}", block["name"].as_str().unwrap_or_default(), block["input"]),
            Some("tool_result") => format!("result {}", block["content"]),
            Some(_) => block["text"].as_str().unwrap_or_default().to_owned(),
        };
        format!("{}: {said}", line["type"].as_str().unwrap_or_default())
    };
    read(path).into_iter().map(word).collect()
}

fn in_folder() -> (TempDir, Transcripts) {
    let folder = tempfile::tempdir().expect("a folder");
    let transcripts = Transcripts::new(Some(folder.path().join("transcripts")), Duration::from_secs(3600));
    (folder, transcripts)
}

fn call(id: &str, name: &str) -> Call {
    Call { id: id.into(), name: name.into(), input: RawValue::from_string("{}".into()).expect("JSON") }
}

#[tokio::test]
async fn a_turn_is_told_once_in_the_order_of_what_happened() {
    let (_folder, transcripts) = in_folder();
    let result = ToolInfo { result: Some("a.txt".into()), ..call_of("Bash", r#"{"command":"ls"}"#) };
    let ended = TurnInfo {
        last_from: 4,
        tool_calls: vec![call(&result.id, "Bash"), call("toolu_9", "Edit")],
        ..turn("stepdone")
    };
    let stopping = Event { turn: Some(ended.clone()), ..event() };
    let mut files = None;
    // What comes again adds nothing.
    for _ in 0..2 {
        write(&transcripts, EventKind::SessionStart, &event()).await;
        write(&transcripts, EventKind::PromptSubmit, &event()).await;
        write(
            &transcripts,
            EventKind::ToolCall,
            &Event { tool: Some(call_of("Bash", r#"{"command":"ls"}"#)), ..event() },
        )
        .await;
        write(&transcripts, EventKind::ToolResult, &Event { tool: Some(result.clone()), ..event() }).await;
        files = Some(write(&transcripts, EventKind::SessionStopping, &stopping).await);
    }
    let again = TurnInfo { attempt: 2, continuing: true, last_from: 8, ..ended };
    let again = Event { turn: Some(TurnInfo { text: "stepdonemore".into(), ..again }), ..event() };
    write(&transcripts, EventKind::SessionStopping, &again).await;
    let files = files.expect("files");
    assert_eq!(files.main, files.own);
    insta::assert_snapshot!(words(&files.main).join("\n"), @r#"
    user: what now?
    assistant: calls Bash {"command":"ls"}
    user: result "a.txt"
    assistant: step
    assistant: calls Edit {}
    assistant: done
    assistant: more
    "#);
    let lines = read(&files.main);
    assert!(lines[0]["parentUuid"].is_null());
    for [line, next] in lines.array_windows() {
        assert_eq!(line["uuid"], next["parentUuid"]);
    }
    let first = &lines[0];
    assert_eq!((&first["sessionId"], &first["cwd"], &first["isSidechain"]), (&"s1".into(), &CWD.into(), &false.into()));
    let last = lines.last().expect("a line");
    assert_eq!(
        (&last["message"]["role"], &last["message"]["model"]),
        (&"assistant".into(), &"claude-haiku-4-5".into())
    );
    assert!(last["message"]["usage"]["output_tokens"].is_u64());
}

#[tokio::test]
async fn only_the_gateways_user_may_read_it() {
    let (folder, transcripts) = in_folder();
    let files = write(&transcripts, EventKind::PromptSubmit, &event()).await;
    let mode = |path: &Path| fs::metadata(path).expect("there").permissions().mode() & 0o777;
    assert_eq!(mode(&files.main), 0o600);
    assert_eq!(mode(files.main.parent().expect("a folder")), 0o700);
    assert!(files.main.starts_with(folder.path()));
}

#[tokio::test]
async fn sub_agents_have_a_file_of_their_own_and_know_the_sessions() {
    let (_folder, transcripts) = in_folder();
    let mut sub = Event { turn: Some(turn("found it")), ..event() };
    sub.session.agent = "a7".into();
    let files = write(&transcripts, EventKind::SessionStopping, &sub).await;
    assert!(files.main.ends_with("t_1/s1.jsonl") && files.own.ends_with("t_1/s1/subagents/agent-a7.jsonl"));
    assert!(!files.main.exists());
    assert_eq!(read(&files.own)[0]["agentId"], "a7");
}

#[tokio::test]
async fn an_id_that_is_no_file_name_leads_nowhere_else() {
    let (folder, transcripts) = in_folder();
    for id in ["../../x", "a/b", ".", "..", &"l".repeat(300), "ö"] {
        let mut odd = event();
        odd.session.id = id.to_owned();
        let files = write(&transcripts, EventKind::PromptSubmit, &odd).await;
        assert!(
            files.main.exists() && files.main.parent() == Some(&folder.path().join("transcripts/t_1")),
            "{files:?}"
        );
    }
}

#[tokio::test]
async fn the_history_before_begins_a_new_file() {
    let (_folder, transcripts) = in_folder();
    let message = |role, text: &str| NeutralMessage { role, text: text.into(), ..NeutralMessage::default() };
    let calls = NeutralMessage { tool_calls: vec![call("toolu_1", "Read")], ..message("assistant", "looking") };
    let messages = vec![message("system", "rules"), message("user", "earlier"), calls, message("user", "what now?")];
    let request = NeutralRequest { messages, ..NeutralRequest::default() };
    let with_history = Event { request: Some(Arc::new(request)), ..event() };
    let files = write(&transcripts, EventKind::SessionStart, &with_history).await;
    write(&transcripts, EventKind::PromptSubmit, &event()).await;
    write(&transcripts, EventKind::SessionStart, &with_history).await;
    assert_eq!(
        words(&files.main),
        ["user: earlier", "assistant: looking", "assistant: calls Read {}", "user: what now?"]
    );
}

#[tokio::test]
async fn a_file_keeps_its_newest_lines_within_its_bound() {
    let (_folder, transcripts) = in_folder();
    let mut files = None;
    for ordinal in 0..60 {
        let mut long = event();
        long.session.turn = ordinal;
        long.prompt.as_mut().expect("a prompt").text = format!("{ordinal:02}{}", "x".repeat(100_000));
        files = Some(write(&transcripts, EventKind::PromptSubmit, &long).await);
    }
    let path = files.expect("files").main;
    assert!(fs::metadata(&path).expect("there").len() <= MAX_FILE as u64);
    let newest = words(&path);
    assert!(newest.last().expect("a line").starts_with("user: 59") && newest.len() < 60, "{}", newest.len());
    assert_eq!(fs::metadata(&path).expect("there").permissions().mode() & 0o777, 0o600);
}

#[test]
fn the_newest_lines_are_whole_ones() {
    for (file, limit, expected) in [
        ("a\nb\nc\n", 100, "a\nb\nc\n"),
        ("a\nb\nc\n", 4, "b\nc\n"),
        ("a\nb\nc\n", 3, "c\n"),
        ("a\nbbbbbb\n", 3, "bbbbbb\n"),
        ("bbbbbb\n", 3, "bbbbbb\n"),
        ("", 3, ""),
    ] {
        assert_eq!(lines::newest(file.into(), limit), expected.as_bytes(), "{file:?} {limit}");
    }
}

#[tokio::test]
async fn without_a_store_files_live_as_long_as_the_hook() {
    let transcripts = Transcripts::new(None, Duration::ZERO);
    let files = write(&transcripts, EventKind::PromptSubmit, &event()).await;
    assert!(files.main.exists());
    drop(transcripts);
    assert!(!files.main.exists());
}

#[tokio::test]
async fn a_session_that_is_deleted_leaves_no_file() {
    let (_folder, transcripts) = in_folder();
    let mut sub = event();
    sub.session.agent = "a7".into();
    let files = write(&transcripts, EventKind::PromptSubmit, &event()).await;
    let own = write(&transcripts, EventKind::SessionStopping, &Event { turn: Some(turn("x")), ..sub }).await.own;
    let key = |agent: &str| SessionKey { tenant: Tenant("t_1".into()), id: "s1".into(), agent: agent.into() };
    transcripts.delete(&key("main")).await;
    assert!(!files.main.exists() && own.exists());
    transcripts.delete(&key("a7")).await;
    transcripts.delete(&key("never")).await;
    assert!(!own.exists());
}
