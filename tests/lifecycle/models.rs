//! `run.model_context`: what a model is told and which tools it edits files with follow the model.
use crate::speech::{ALL, Item, Speech, every_form};
use crate::stage::{Play, Stage, session};
use serde_json::{Value, json};

const HOOK: &str = "
hooks:
  - name: per-model
    run:
      model_context:
        families:
          gpt: { match: ['gpt-*'], system: FOR-GPT, tools: [apply_patch] }
          claude: { system: FOR-CLAUDE, tools: [edit, write] }
        default: { tools: [edit, write] }
";

fn play() -> Play {
    Play { hooks: HOOK, settings: "models: { aliases: { fast: claude-haiku-4-5 } }", ..Play::default() }
}

/// A tool of the dialect.
fn tool(speech: Speech, name: &str) -> Value {
    match speech {
        Speech::Anthropic => json!({"name": name, "input_schema": {"type": "object"}}),
        Speech::Chat => json!({"type": "function", "function": {"name": name, "parameters": {"type": "object"}}}),
        Speech::Responses => json!({"type": "function", "name": name, "parameters": {"type": "object"}}),
        Speech::Gemini => json!({"name": name, "parameters": {"type": "OBJECT"}}),
    }
}

/// Sends a history to a model with these tools; the body that the provider got.
async fn sent(stage: &Stage, speech: Speech, stream: bool, model: &str, tools: &[&str], history: &[Item]) -> Value {
    let mut body = speech.body(history, stream, &["look"]);
    let tools: Vec<Value> = tools.iter().map(|name| tool(speech, name)).collect();
    match speech {
        Speech::Gemini => body["tools"] = json!([{"functionDeclarations": tools}]),
        _ => {
            body["model"] = model.into();
            body["tools"] = tools.into();
        }
    }
    let target = speech.target(stream).replace("test-model", model);
    let answer = stage.post(&target, &session("s1"), body.to_string()).await;
    assert_eq!(answer.status(), 200, "{}", answer.text());
    stage.last_body()
}

fn tools(speech: Speech, body: &Value) -> Vec<&str> {
    let list = match speech {
        Speech::Gemini => &body["tools"][0]["functionDeclarations"],
        _ => &body["tools"],
    };
    list.as_array().map_or(vec![], |list| {
        list.iter()
            .map(|tool| match speech {
                Speech::Chat => tool["function"]["name"].as_str().unwrap(),
                _ => tool["name"].as_str().unwrap(),
            })
            .collect()
    })
}

#[tokio::test]
async fn what_a_model_is_told_and_works_with_follows_the_model_within_a_session() {
    let all = ["read", "apply_patch", "edit", "write"];
    let history = [Item::user("one"), Item::Model { text: "ANSWER0".into(), calls: vec![] }, Item::user("two")];
    for (speech, stream) in every_form() {
        let stage = Stage::play(play()).await;
        for (length, model, told, kept) in [
            (1, "gpt-5", Some("FOR-GPT"), ["read", "apply_patch"].as_slice()),
            (3, "fast", Some("FOR-CLAUDE"), &["read", "edit", "write"]),
            (3, "gpt-5", Some("FOR-GPT"), &["read", "apply_patch"]),
            (3, "llama-4", None, &["read", "edit", "write"]),
        ] {
            let body = sent(&stage, speech, stream, model, &all, &history[..length]).await;
            assert_eq!(tools(speech, &body), kept, "{speech:?} {model}");
            let system = speech.seen(&body).system.join("\n");
            assert!(system.contains("You are normal."), "the agent's own stays: {system}");
            for text in ["FOR-GPT", "FOR-CLAUDE"] {
                assert_eq!(
                    system.matches(text).count(),
                    usize::from(told == Some(text)),
                    "{speech:?} {model} {system}"
                );
            }
        }
    }
}

#[tokio::test]
async fn an_agent_is_never_left_without_an_edit_tool() {
    for speech in ALL {
        let stage = Stage::play(play()).await;
        let body = sent(&stage, speech, true, "gpt-5", &["edit", "write"], &[Item::user("one")]).await;
        assert_eq!(tools(speech, &body), ["edit", "write"], "{speech:?}");
    }
}

#[tokio::test]
async fn a_token_count_is_asked_for_the_same() {
    let stage = Stage::play(play()).await;
    let body = json!({"model": "gpt-5", "messages": [{"role": "user", "content": "one"}],
        "tools": [tool(Speech::Anthropic, "apply_patch"), tool(Speech::Anthropic, "edit")]});
    stage.post("/v1/messages/count_tokens", &session("s1"), body.to_string()).await;
    let counted = stage.last_body();
    assert_eq!((&counted["system"], tools(Speech::Anthropic, &counted)), (&"FOR-GPT".into(), vec!["apply_patch"]));
}
