//! Whatever is edited in whatever valid request: the result is one that the provider takes.
use super::PATH;
use crate::dialect::edit_testing::{edited, every_edit};
use proptest::prelude::*;
use serde_json::{Value, json};

fn user() -> impl Strategy<Value = Value> {
    prop_oneof![
        Just(json!("q1")),
        Just(json!([{"type": "text", "text": "<system-reminder>q"}, {"type": "text", "text": "q2"}])),
        Just(
            json!([{"type": "image", "source": {}}, {"type": "text", "text": "q1", "cache_control": {"type": "ephemeral"}}])
        ),
    ]
}

/// What one answer leads to: its blocks, and the next user message.
fn turn() -> impl Strategy<Value = Vec<Value>> {
    let call = |id: usize| json!({"type": "tool_use", "id": format!("t{id}"), "name": "Read", "input": {"q": 1.0}});
    let content = prop_oneof![
        Just(json!("q2")),
        Just(json!([])),
        Just(json!([{"type": "text", "text": "q1"}, {"type": "image", "source": {}}])),
    ];
    let signed = json!({"type": "thinking", "thinking": "q", "signature": "c2ln"});
    let options = (any::<bool>(), any::<bool>(), 0..3_usize, content, any::<bool>(), any::<bool>(), user());
    options.prop_map(move |(signs, speaks, calls, content, interjects, instructs, user)| {
        let mut blocks = vec![];
        blocks.extend(signs.then(|| signed.clone()));
        blocks.extend((speaks || calls == 0).then(|| json!({"type": "text", "text": "said"})));
        blocks.extend((0..calls).map(call));
        let mut results: Vec<Value> = (0..calls)
            .map(|id| json!({"type": "tool_result", "tool_use_id": format!("t{id}"), "content": content}))
            .collect();
        results.extend((interjects && calls > 0).then(|| json!({"type": "text", "text": "q3"})));
        let reply = if calls == 0 { user } else { json!(results) };
        let mut turn = vec![json!({"role": "assistant", "content": blocks}), json!({"role": "user", "content": reply})];
        turn.extend(instructs.then(|| json!({"role": "system", "content": "S"})));
        turn
    })
}

fn request() -> impl Strategy<Value = Value> {
    let tools = json!([
        {"name": "Read", "input_schema": {"type": "object"}},
        {"name": "Bash", "input_schema": {"type": "object"}, "cache_control": {"type": "ephemeral"}},
        {"type": "web_search_20250305", "name": "web_search"},
    ]);
    let tools = prop::sample::subsequence(tools.as_array().unwrap().clone(), 0..=3).prop_shuffle();
    let system = prop_oneof![
        Just(Value::Null),
        Just(json!("rules")),
        Just(json!([{"type": "text", "text": "rules", "cache_control": {"type": "ephemeral"}}]))
    ];
    (user(), prop::collection::vec(turn(), 0..4), tools, system, any::<bool>(), any::<bool>()).prop_map(
        |(first, turns, tools, system, chooses, thinks)| {
            let first = json!({"role": "user", "content": first});
            let messages: Vec<Value> = [first].into_iter().chain(turns.into_iter().flatten()).collect();
            let mut body = json!({"max_tokens": 5000, "temperature": 1.0, "system": system, "messages": messages});
            if chooses && let Some(tool) = tools.last() {
                body["tool_choice"] = json!({"type": "tool", "name": tool["name"]});
            }
            if !tools.is_empty() {
                body["tools"] = json!(tools);
            }
            if thinks {
                body["thinking"] = json!({"type": "enabled", "budget_tokens": 4000});
            }
            body
        },
    )
}

fn blocks(content: &Value) -> Vec<Value> {
    match content {
        Value::Array(blocks) => blocks.clone(),
        text => vec![json!({"type": "text", "text": text})],
    }
}

fn of_kind<'b>(blocks: &'b [Value], kind: &str) -> Vec<&'b Value> {
    blocks.iter().filter(|block| block["type"] == kind).collect()
}

/// The first rule that a body breaks.
fn broken_rule(body: &Value) -> Option<String> {
    let messages = body["messages"].as_array()?;
    let rules = [
        messages.is_empty().then_some("no message"),
        messages
            .iter()
            .rfind(|m| m["role"] != "system")
            .is_some_and(|m| m["role"] != "user")
            .then_some("ends with an answer"),
        (body.to_string().matches("cache_control").count() > 12).then_some("markers multiply"),
        (body["thinking"]["budget_tokens"].as_u64() >= body["max_tokens"].as_u64() && !body["thinking"].is_null())
            .then_some("thinking above the limit"),
    ];
    let rules = rules.into_iter().flatten().map(str::to_owned);
    let mut rules =
        rules.chain(broken_in_tools(body)).chain((0..messages.len()).filter_map(|at| broken_in(messages, at)));
    rules.next()
}

fn broken_in_tools(body: &Value) -> Option<String> {
    let Some(tools) = body.get("tools") else {
        return body.get("tool_choice").map(|_| "choice without tools".to_owned());
    };
    let mut names: Vec<&Value> = tools.as_array()?.iter().map(|tool| &tool["name"]).collect();
    if names.is_empty() {
        return Some("empty tools".to_owned());
    }
    if body["tool_choice"]["type"] == "tool" && !names.contains(&&body["tool_choice"]["name"]) {
        return Some("the choice names no tool".to_owned());
    }
    names.sort_by_key(|name| name.to_string());
    names.array_windows().any(|[a, b]| a == b).then(|| "a name twice".to_owned())
}

fn broken_in(messages: &[Value], at: usize) -> Option<String> {
    let message = &messages[at];
    let content = blocks(&message["content"]);
    let next = messages.get(at + 1);
    let before = at.checked_sub(1).map(|at| &messages[at]);
    let ids =
        |blocks: &[Value], kind, key: &str| of_kind(blocks, kind).iter().map(|b| b[key].clone()).collect::<Vec<_>>();
    let is_blank = |block: &&Value| block["text"].as_str().is_some_and(|text| text.trim().is_empty());
    if content.is_empty() || of_kind(&content, "text").iter().any(is_blank) {
        return Some(format!("nothing said in {at}"));
    }
    match message["role"].as_str()? {
        "assistant" => {
            let answered = next.map_or(vec![], |next| ids(&blocks(&next["content"]), "tool_result", "tool_use_id"));
            (ids(&content, "tool_use", "id") != answered).then(|| format!("calls of {at} are not answered"))
        }
        "user" => {
            let asked = before.map_or(vec![], |before| ids(&blocks(&before["content"]), "tool_use", "id"));
            let results = ids(&content, "tool_result", "tool_use_id");
            let is_first = content.iter().take(results.len()).all(|block| block["type"] == "tool_result");
            (asked != results || !is_first).then(|| format!("results of {at}"))
        }
        "system" => {
            let follows = before.is_some_and(|before| before["role"] == "user" || before["role"] == "system");
            let is_followed = next.is_none_or(|next| next["role"] == "assistant" || next["role"] == "system");
            (!follows || !is_followed).then(|| format!("instructions at {at}"))
        }
        _ => Some("role".to_owned()),
    }
}

fn signed(body: &Value) -> Vec<Value> {
    let messages = body["messages"].as_array().into_iter().flatten();
    messages.filter(|message| message.to_string().contains("signature")).cloned().collect()
}

/// Messages of a history that would take minutes if each were looked for among all.
const LONG: usize = 10_000;

#[test]
fn a_long_history_is_gone_through_once() {
    let message = |role: &str, text: &str| json!({"role": role, "content": text});
    let turn =
        [message("user", "q1"), message("system", "S"), message("assistant", "said"), message("assistant", "more")];
    let messages: Vec<Value> = turn.into_iter().cycle().take(LONG).chain([message("user", "last")]).collect();
    let body = json!({"max_tokens": 1, "messages": messages}).to_string();
    let edits = [
        (json!({"op": "messages.remove", "match": {"role": "assistant"}}), LONG / 2 + 1),
        (json!({"op": "messages.replace", "match": {"regex": "said"}, "text": "N"}), LONG / 4 * 3 + 1),
        (json!({"op": "messages.redact", "pattern": "q", "with": "*"}), LONG + 1),
    ];
    for (edit, left) in edits {
        let value: Value = serde_json::from_str(&edited(PATH, &body, &edit).unwrap()).unwrap();
        assert_eq!((broken_rule(&value), value["messages"].as_array().unwrap().len()), (None, left), "{edit}");
    }
}

proptest! {
    #[test]
    fn edits_leave_a_body_that_the_provider_takes(
        request in request(),
        edits in prop::collection::vec(prop::sample::select(every_edit()), 1..5),
    ) {
        prop_assert_eq!(broken_rule(&request), None, "{}", request);
        let mut text = request.to_string();
        for edit in edits {
            let Ok(after) = edited(PATH, &text, &edit) else { continue };
            let value: Value = serde_json::from_str(&after).unwrap();
            prop_assert_eq!(broken_rule(&value), None, "{} made {} of {}", edit, after, text);
            prop_assert_eq!(signed(&value), signed(&request), "{}", edit);
            if edit["op"] == "tools.remove" && edit["names"] == "Bash" {
                let definitions = value.get("tools").map(Value::to_string).unwrap_or_default();
                prop_assert!(!definitions.contains("Bash") && value["tool_choice"]["name"] != "Bash");
            }
            text = after;
        }
    }

    #[test]
    fn any_body_is_survived(
        members in prop::collection::vec((prop::sample::select(vec!["tools", "tool_choice", "system", "messages", "thinking", "output_config", "max_tokens"]), crate::dialect::testing::any_json()), 0..5),
        edit in prop::sample::select(every_edit()),
    ) {
        let body = Value::Object(members.into_iter().map(|(key, value)| (key.to_owned(), value)).collect()).to_string();
        if crate::dialect::testing::view(PATH, &body).is_ok() {
            let _ = edited(PATH, &body, &edit);
        }
    }
}
