use super::super::testing::{event, invocation};
use super::*;
use crate::hooks::Event;
use serde_json::{Value, json};

fn globs(names: &[&str]) -> Globs {
    Globs::new(names.iter().map(|&name| name.to_owned())).expect("names")
}

fn told(name: &str, matching: Option<&[&str]>, tools: &[&str]) -> Family {
    Family {
        name: name.to_owned(),
        matching: matching.map(globs),
        system: Some(SystemText::Text(format!("for {name}"))),
        tools: globs(tools),
    }
}

fn context() -> config::ModelContext {
    config::ModelContext {
        families: vec![
            told("claude", None, &["edit", "write"]),
            told("gpt", None, &["apply_patch"]),
            told("mine", Some(&["my-*", "gpt-mine"]), &["apply_patch"]),
            told("yours", Some(&["my-own"]), &[]),
        ],
        default: Some(told("default", None, &["edit", "write"])),
        edit_tools: globs(&["apply_patch", "edit", "write", "multi*"]),
        place: SystemPlace::Append,
    }
}

fn asked(requested: &str, resolved: &str, roster: &[&str]) -> Event {
    let model = ModelInfo {
        requested: requested.to_owned(),
        resolved: resolved.to_owned(),
        family: family(resolved),
        dialect: "chat",
        upstream: "openai".to_owned(),
    };
    Event { model, roster: Some(roster.iter().map(|&name| name.to_owned()).collect()), ..event() }
}

async fn made(context: config::ModelContext, event: &Event) -> Value {
    let Ok(Output::Edits(edits)) = ModelContext(Arc::new(context)).run(&invocation(event)).await else {
        panic!("edits")
    };
    serde_json::to_value(&*edits).expect("JSON")
}

#[tokio::test]
async fn a_model_is_told_what_its_name_or_its_line_says() {
    for (requested, resolved, expected) in [
        ("fast", "claude-haiku-4-5", "for claude"),
        ("gpt-5.1", "gpt-5.1", "for gpt"),
        ("gpt-mine", "gpt-mine", "for mine"),
        ("my-own", "claude-haiku-4-5", "for mine"),
        ("claude-haiku-4-5", "my-proxy", "for mine"),
        ("gpt-5", "deployment-7", "for gpt"),
        ("o3", "o3", "for gpt"),
        ("gemini-3-pro", "gemini-3-pro", "for default"),
        ("", "", "for default"),
    ] {
        let edits = made(context(), &asked(requested, resolved, &[])).await;
        assert_eq!(edits, json!([{"op": "system.append", "text": expected}]), "{requested} {resolved}");
    }
    let none = config::ModelContext { default: None, ..context() };
    assert_eq!(made(none, &asked("llama-4", "llama-4", &["edit"])).await, json!([]));
}

#[tokio::test]
async fn edit_tools_of_others_go_only_where_the_model_has_its_own() {
    let removed = async |model: &str, roster: &[&str]| {
        let edits = made(context(), &asked(model, model, roster)).await;
        edits.as_array().expect("a list").iter().find(|edit| edit["op"] == "tools.remove").map(|e| e["names"].clone())
    };
    let all = ["read", "apply_patch", "edit", "write", "multi_edit"];
    assert_eq!(removed("gpt-5", &all).await, Some(json!(["edit", "write", "multi_edit"])));
    assert_eq!(removed("claude-opus-4", &all).await, Some(json!(["apply_patch", "multi_edit"])));
    assert_eq!(removed("gpt-5", &["read", "edit", "write"]).await, None, "it would have no edit tool");
    assert_eq!(removed("gpt-5", &["read", "apply_patch"]).await, None);
    assert_eq!(removed("gpt-5", &["apply_patch", "edit*"]).await, None, "a name is no pattern");
}

#[tokio::test]
async fn a_file_is_read_at_every_run_and_a_blank_one_says_nothing() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("claude.md");
    let family =
        Family { system: Some(SystemText::File(path.clone())), tools: globs(&[]), ..told("claude", None, &[]) };
    let context = || config::ModelContext { families: vec![family.clone()], place: SystemPlace::Prepend, ..context() };
    for (written, expected) in [
        ("First.\n", json!([{"op": "system.prepend", "text": "First."}])),
        ("Second.", json!([{"op": "system.prepend", "text": "Second."}])),
        (" \n", json!([])),
    ] {
        std::fs::write(&path, written).expect("written");
        assert_eq!(made(context(), &asked("claude-4", "claude-4", &[])).await, expected);
    }
    std::fs::remove_file(&path).expect("gone");
    let event = asked("claude-4", "claude-4", &[]);
    let run = ModelContext(Arc::new(context()));
    assert!(matches!(run.run(&invocation(&event)).await, Err(HookFailure::File { .. })));
}
