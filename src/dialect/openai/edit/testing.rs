//! Random edits, and the law that they keep.
use crate::dialect::EditError;
use crate::dialect::openai::testing::Wire;
use proptest::prelude::*;
use proptest::sample::select;
use serde_json::{Value, json};
use std::collections::HashSet;

/// A member that no edit knows, as a client might write it.
pub(in crate::dialect) const FOREIGN: &str = r#" "x" : {"\u0061": 1.0e0, "big":12345678901234567890} "#;

/// Names of tools in these bodies.
pub(in crate::dialect) const NAMES: [&str; 4] = ["Read", "Bash", "Grep", "web_search"];

/// One edit, also of what is not there.
pub(in crate::dialect) fn any_edit() -> impl Strategy<Value = Value> {
    let selector = || {
        let role = select(vec![None, Some("system"), Some("user"), Some("assistant"), Some("tool")]);
        (role, prop::option::of(select(vec!["a", "r1", "^u", ""])), prop::option::of(0..4usize)).prop_map(
            |(role, regex, index)| match (role, regex, index) {
                (None, None, None) => json!({"index": 0}),
                (role, regex, index) => {
                    let all = json!({"role": role, "regex": regex, "index": index});
                    all.as_object().unwrap().clone().into_iter().filter(|(_, value)| !value.is_null()).collect()
                }
            },
        )
    };
    let name = || select([&NAMES[..], &["none", "New"]].concat());
    let globs = select(vec!["Read", "B*", "*", "web_search*", "[x]", "?ead", "n", "n.Read"]);
    prop_oneof![
        select(vec!["system.prepend", "system.append", "messages.append", "system.replace"])
            .prop_map(|op| json!({"op": op, "text": "t\"x"})),
        Just(json!({"op": "system.replace", "text": "t", "match": "s"})),
        select(vec!["u", ".*", "r1", "\\w"])
            .prop_map(|pattern| json!({"op": "messages.redact", "pattern": pattern, "with": ""})),
        selector().prop_map(|which| json!({"op": "messages.remove", "match": which})),
        selector().prop_map(|which| json!({"op": "messages.replace", "match": which, "text": "a new"})),
        (select(vec!["tools.remove", "tools.keep"]), globs).prop_map(|(op, names)| json!({"op": op, "names": names})),
        name().prop_map(|name| json!({"op": "tools.describe", "name": name, "text": "d"})),
        (name(), name()).prop_map(|(name, new)| json!({"op": "tools.replace", "name": name, "tool": {"name": new}})),
        name().prop_map(|name| json!({"op": "tools.add", "tool": {"name": name}})),
        select(vec!["auto", "none", "required", "Read", "web_search"])
            .prop_map(|choice| json!({"op": "tool_choice.set", "choice": choice})),
        Just(json!({"op": "params.clamp", "max_tokens": 5, "reasoning_effort": "low", "temperature": 0.5})),
        Just(json!({"op": "params.set", "top_p": 0.5, "response_format": {"type": "object"}, "native": {"seed": 1}})),
        Just(json!({"op": "params.remove", "names": ["max_tokens", "reasoning_effort"]})),
    ]
}

/// Makes the edits one after the other; after each the body must be legal, and what no edit knows as it was.
pub(in crate::dialect) fn obey(wire: Wire, body: String, edits: &[Value], law: fn(&Value) -> Result<(), String>) {
    let mut body = body;
    law(&serde_json::from_str(&body).unwrap()).unwrap_or_else(|broken| panic!("no legal start: {broken}: {body}"));
    for edit in edits {
        let edited = match wire.edited(&body, edit) {
            Err(EditError::Scan(_) | EditError::Splice(_)) => panic!("{edit} on {body}"),
            Err(_) => continue,
            Ok(edited) => edited,
        };
        law(&serde_json::from_str(&edited).unwrap())
            .unwrap_or_else(|broken| panic!("{broken}\n{edit}\n{body}\n{edited}"));
        assert!(edited.contains(FOREIGN.trim()), "{edit}: {edited}");
        body = edited;
    }
}

/// The rules of tools and their choice, which both APIs have: no empty list, no choice without tools or of another one.
/// `lists` are all lists of tools.
pub(in crate::dialect) fn tools_are_legal(body: &Value, lists: &[&Value]) -> Result<(), String> {
    if body.get("tools").is_some_and(|tools| tools.as_array().is_none_or(Vec::is_empty)) {
        return Err("an empty list of tools".to_owned());
    }
    let definitions: Vec<&Value> = lists.iter().flat_map(|list| list.as_array().unwrap()).collect();
    let names: Vec<&str> = definitions.iter().flat_map(|tool| named(tool)).collect();
    if names.iter().collect::<HashSet<_>>().len() < names.len() {
        return Err("two tools of one name".to_owned());
    }
    let Some(choice) = body.get("tool_choice") else { return Ok(()) };
    if definitions.is_empty() {
        return Err("a choice without tools".to_owned());
    }
    let allowed = choice.get("allowed_tools").unwrap_or(choice).get("tools").and_then(Value::as_array);
    let chosen: Vec<&Value> = match allowed {
        Some(allowed) if allowed.is_empty() => return Err("a choice of nothing".to_owned()),
        Some(allowed) => allowed.iter().collect(),
        None => vec![choice],
    };
    match chosen.iter().flat_map(|chosen| named(chosen)).find(|name| !names.contains(name)) {
        Some(name) => Err(format!("{name} is chosen and not there")),
        None => Ok(()),
    }
}

/// The names of a definition or a choice.
fn named(tool: &Value) -> Vec<&str> {
    let Some(kind) = tool.get("type").and_then(Value::as_str) else { return vec![] };
    if let Some(members) = tool.get("tools").and_then(Value::as_array) {
        return members.iter().flat_map(|tool| named(tool)).collect();
    }
    let name = tool.get(kind).unwrap_or(tool).get("name").and_then(Value::as_str);
    vec![name.unwrap_or(kind)]
}
