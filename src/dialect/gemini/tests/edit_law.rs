//! Whatever is edited in whatever valid request: the result is one that the provider takes.
use super::PATH;
use crate::dialect::edit_testing::{edited, every_edit};
use proptest::prelude::*;
use serde_json::{Value, json};

fn user() -> impl Strategy<Value = Value> {
    prop_oneof![
        Just(json!({"text": "q1"})),
        Just(json!([{"text": "<system-reminder>q"}, {"text": "q2"}])),
        Just(json!([{"inlineData": {}}, {"text": "q1"}])),
    ]
}

/// What one answer leads to: its parts, and the next user content.
fn turn() -> impl Strategy<Value = [Value; 2]> {
    let options = (any::<bool>(), any::<bool>(), 0..3_usize, any::<bool>(), user());
    options.prop_map(move |(signs, speaks, calls, interjects, user)| {
        let mut parts = vec![];
        parts.extend((speaks || calls == 0).then(|| json!({"text": "said"})));
        parts.extend((0..calls).map(|_| json!({"functionCall": {"name": "Read", "args": {"q": 1.0}}})));
        if signs {
            parts[0]["thoughtSignature"] = json!("c2ln");
        }
        let response = json!({"functionResponse": {"name": "Read", "response": {"output": "q2", "q": ["q"]}}});
        let mut results = vec![response; calls];
        results.extend((interjects && calls > 0).then(|| json!({"text": "q3"})));
        let reply = if calls == 0 { user } else { json!(results) };
        [json!({"role": "model", "parts": parts}), json!({"role": "user", "parts": reply})]
    })
}

fn request() -> impl Strategy<Value = Value> {
    let tools = prop_oneof![
        Just(json!(null)),
        Just(json!([{"functionDeclarations": [{"name": "Read"}, {"name": "Bash"}], "googleSearch": {}}])),
        Just(
            json!([{"function_declarations": [{"name": "Bash"}]}, {"functionDeclarations": [{"name": "Read"}]}, {"webSearch": {}}])
        ),
        Just(json!({"functionDeclarations": {"name": "Bash"}})),
    ];
    let system = prop_oneof![Just(json!(null)), Just(json!({"parts": [{"text": "rules"}]}))];
    (user(), prop::collection::vec(turn(), 0..4), tools, system, any::<bool>()).prop_map(
        |(first, turns, tools, system, chooses)| {
            let first = json!({"parts": first});
            let contents: Vec<Value> = [first].into_iter().chain(turns.into_iter().flatten()).collect();
            let mut body = json!({"contents": contents, "generationConfig": {"thinkingConfig": {"thinkingBudget": 9}}});
            if chooses && !tools.is_null() {
                let config = json!({"mode": "ANY", "allowedFunctionNames": ["Bash"]});
                body["toolConfig"] = json!({"functionCallingConfig": config});
            }
            if !system.is_null() {
                body["systemInstruction"] = system;
            }
            body["tools"] = tools;
            body
        },
    )
}

fn list(value: &Value) -> Vec<Value> {
    match value {
        Value::Array(elements) => elements.clone(),
        Value::Null => vec![],
        single => vec![single.clone()],
    }
}

fn count(content: Option<&Value>, key: &str) -> usize {
    content.map_or(0, |content| list(&content["parts"]).iter().filter(|part| part.get(key).is_some()).count())
}

/// The first rule that a body breaks.
fn broken_rule(body: &Value) -> Option<String> {
    let contents = list(&body["contents"]);
    let is_user = |content: &Value| content["role"] != "model";
    if contents.is_empty() || !contents.iter().enumerate().all(|(at, content)| is_user(content) == (at % 2 == 0)) {
        return Some("roles do not alternate".to_owned());
    }
    if contents.len().is_multiple_of(2) {
        return Some("ends with an answer".to_owned());
    }
    for (at, content) in contents.iter().enumerate() {
        let parts = list(&content["parts"]);
        let is_blank = |part: &Value| part["text"].as_str().is_some_and(|text| text.trim().is_empty());
        if parts.is_empty() || parts.iter().any(is_blank) {
            return Some(format!("nothing said in {at}"));
        }
        let before = at.checked_sub(1).and_then(|at| contents.get(at));
        if count(Some(content), "functionCall") != count(contents.get(at + 1), "functionResponse")
            || count(Some(content), "functionResponse") != count(before, "functionCall")
        {
            return Some(format!("calls and results at {at}"));
        }
    }
    let thinking = &body["generationConfig"]["thinkingConfig"];
    let is_both = thinking.get("thinkingBudget").is_some() && thinking.get("thinkingLevel").is_some();
    is_both.then(|| "level and budget".to_owned()).or_else(|| broken_in_tools(body))
}

fn declared(body: &Value) -> Vec<Value> {
    let lists =
        |holder: &Value| [list(&holder["functionDeclarations"]), list(&holder["function_declarations"])].concat();
    list(&body["tools"]).iter().flat_map(lists).map(|declaration| declaration["name"].clone()).collect()
}

fn broken_in_tools(body: &Value) -> Option<String> {
    let mut names = declared(body);
    let config = &body["toolConfig"]["functionCallingConfig"];
    let rules = [
        body.get("tools").is_some_and(|tools| tools == &json!([])).then_some("empty tools"),
        list(&body["tools"]).contains(&json!({})).then_some("an empty tool"),
        body.to_string().contains(r#"eclarations":[]"#).then_some("empty declarations"),
        (!config.is_null() && names.is_empty()).then_some("a mode without functions"),
        list(&config["allowedFunctionNames"])
            .iter()
            .any(|name| !names.contains(name))
            .then_some("an unknown function is allowed"),
        config.get("allowedFunctionNames").is_some_and(|names| names == &json!([])).then_some("no function is allowed"),
    ];
    names.sort_by_key(Value::to_string);
    let twice = names.array_windows().any(|[a, b]| a == b).then_some("a name twice");
    rules.into_iter().flatten().chain(twice).next().map(str::to_owned)
}

fn signed(body: &Value) -> Vec<Value> {
    let parts = list(&body["contents"]).into_iter().flat_map(|content| list(&content["parts"]));
    parts.filter(|part| part.get("thoughtSignature").is_some()).collect()
}

#[test]
fn a_long_history_is_gone_through_once() {
    let turn =
        [json!({"role": "user", "parts": [{"text": "q1"}]}), json!({"role": "model", "parts": [{"text": "said"}]})];
    let last = json!({"role": "user", "parts": [{"text": "last"}]});
    let contents: Vec<Value> = turn.into_iter().cycle().take(LONG).chain([last]).collect();
    let body = json!({"contents": contents}).to_string();
    for (edit, left) in long_edits() {
        let value: Value = serde_json::from_str(&edited(PATH, &body, &edit).unwrap()).unwrap();
        assert_eq!((broken_rule(&value), list(&value["contents"]).len()), (None, left), "{edit}");
    }
}

/// Contents of a history that would take minutes if each were looked for among all.
const LONG: usize = 10_000;

fn long_edits() -> [(Value, usize); 3] {
    [
        (json!({"op": "messages.remove", "match": {"role": "assistant"}}), 1),
        (json!({"op": "messages.replace", "match": {"regex": "said"}, "text": "N"}), LONG + 1),
        (json!({"op": "messages.redact", "pattern": "q", "with": "*"}), LONG + 1),
    ]
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
                prop_assert!(!declared(&value).contains(&json!("Bash")));
            }
            text = after;
        }
    }

    #[test]
    fn any_body_is_survived(
        members in prop::collection::vec((prop::sample::select(vec!["tools", "toolConfig", "systemInstruction", "contents", "generation_config"]), crate::dialect::testing::any_json()), 0..5),
        edit in prop::sample::select(every_edit()),
    ) {
        let body = Value::Object(members.into_iter().map(|(key, value)| (key.to_owned(), value)).collect()).to_string();
        if crate::dialect::testing::view(PATH, &body).is_ok() {
            let _ = edited(PATH, &body, &edit);
        }
    }
}
