//! The JSON schema of an edit, operation by operation, for editors of configurations and authors of hooks.
use super::{NativeDialect, OPERATIONS, ParamName};
use serde_json::{Map, Value, json};

/// The schema of one edit.
pub fn schema() -> Value {
    json!({
        "type": "object",
        "required": ["op"],
        "properties": {"op": {"enum": OPERATIONS}},
        "oneOf": OPERATIONS.map(operation),
    })
}

/// The schema of one operation: its arguments, and which of them have to be there.
fn operation(op: &str) -> Value {
    let (about, required, arguments) = describe(op);
    let mut properties = Map::new();
    properties.insert("op".to_owned(), json!({"const": op, "description": about}));
    if let Value::Object(arguments) = arguments {
        properties.extend(arguments);
    }
    let required: Vec<&str> = std::iter::once("op").chain(required.iter().copied()).collect();
    json!({
        "title": op,
        "description": about,
        "properties": properties,
        "required": required,
        "additionalProperties": false,
    })
}

/// What an operation is for, what it can't do without, and all its arguments.
fn describe(op: &str) -> (&'static str, &'static [&'static str], Value) {
    match op {
        "system.prepend" => ("Text ahead of the client's instructions.", &["text"], json!({"text": text()})),
        "system.append" => ("Text behind the client's instructions.", &["text"], json!({"text": text()})),
        "system.replace" => (
            "Text in the place of the client's instructions; with match only of blocks that it matches.",
            &["text"],
            json!({"text": text(), "match": pattern()}),
        ),
        "messages.append" => (
            "Text at the tail, once in a turn, and in the same place in every later request.",
            &["text"],
            json!({"role": {"const": "user"}, "text": text()}),
        ),
        "messages.redact" => (
            "What the pattern matches in user messages and tool results is written anew.",
            &["pattern", "with"],
            json!({"pattern": pattern(), "with": {"type": "string", "description": "$1 is the first group."}}),
        ),
        "messages.remove" => (
            "These messages are left out, calls together with their results.",
            &["match"],
            json!({"match": selector()}),
        ),
        "messages.replace" => (
            "The text of these messages is another one.",
            &["match", "text"],
            json!({"match": selector(), "text": text()}),
        ),
        "tools.remove" => ("Tools with these names are not there.", &["names"], json!({"names": globs()})),
        "tools.keep" => ("Only tools with these names are there.", &["names"], json!({"names": globs()})),
        "tools.describe" => (
            "A tool describes itself otherwise.",
            &["name", "text"],
            json!({"name": {"type": "string"}, "text": text()}),
        ),
        "tools.replace" => (
            "A tool is another one.",
            &["name", "tool"],
            json!({"name": {"type": "string", "description": "Of the one that is replaced."}, "tool": tool()}),
        ),
        "tools.add" => ("A further tool.", &["tool"], json!({"tool": tool()})),
        "tool_choice.set" => (
            "Which tools the model may or must call.",
            &["choice"],
            json!({"choice": {"type": "string", "examples": ["auto", "none", "required"],
                              "description": "auto, none, required or a tool's name."}}),
        ),
        "params.set" => ("Generation parameters.", &[], params()),
        "params.clamp" => ("Upper bounds of generation parameters.", &[], params()),
        "params.remove" => (
            "Generation parameters that the request does without.",
            &["names"],
            json!({"names": {"type": "array", "items": {"enum": ParamName::ALL.map(ParamName::name)}}}),
        ),
        "model.set" => ("Another model.", &["name"], json!({"name": text()})),
        "headers.set" => (
            "A header of the request to the upstream; no credentials.",
            &["name", "value"],
            json!({"name": {"type": "string"}, "value": {"type": "string"}}),
        ),
        "headers.remove" => (
            "Headers that the upstream does not get.",
            &["names"],
            json!({"names": {"type": "array", "items": {"type": "string"}}}),
        ),
        _ => (
            "A JSON Patch (RFC 6902) of the native body, only of bodies of this dialect.",
            &["dialect", "patch"],
            json!({"dialect": {"enum": NativeDialect::ALL}, "patch": {"type": "array", "items": step()}}),
        ),
    }
}

fn text() -> Value {
    json!({"type": "string", "minLength": 1, "description": "Not blank."})
}

fn pattern() -> Value {
    json!({"type": "string", "format": "regex"})
}

fn globs() -> Value {
    let names = json!({"type": "array", "items": {"type": "string"}});
    json!({"oneOf": [{"type": "string"}, names], "description": "Names with * and ?."})
}

fn selector() -> Value {
    json!({
        "type": "object",
        "description": "Which messages; all that is said must hold.",
        "minProperties": 1,
        "additionalProperties": false,
        "properties": {
            "role": {"enum": ["system", "user", "assistant", "tool"]},
            "regex": pattern(),
            "index": {"type": "integer", "minimum": 0, "description": "From the end; 0 is the last."},
        },
    })
}

fn tool() -> Value {
    json!({
        "type": "object",
        "required": ["name"],
        "additionalProperties": false,
        "properties": {
            "name": {"type": "string"},
            "description": {"type": "string"},
            "input_schema": {"type": "object", "description": "JSON schema; without one any object."},
        },
    })
}

fn params() -> Value {
    json!({
        "max_tokens": {"type": "integer", "minimum": 0},
        "temperature": {"type": "number"},
        "top_p": {"type": "number"},
        "stop": {"type": "array", "items": {"type": "string"}},
        "reasoning_effort": {"type": "string"},
        "response_format": {},
        "native": {"type": "object", "description": "Members of the native body, for one dialect."},
    })
}

fn step() -> Value {
    json!({
        "type": "object",
        "required": ["op", "path"],
        "properties": {
            "op": {"enum": ["add", "remove", "replace", "move", "copy", "test"]},
            "path": {"type": "string", "description": "A JSON pointer."},
            "from": {"type": "string", "description": "Of move and copy."},
            "value": {"description": "Of add, replace and test."},
        },
    })
}

#[cfg(test)]
mod tests {
    use super::super::Edit;
    use super::*;

    /// A value that a schema allows.
    fn sample(schema: &Value) -> Value {
        let first = |list: &Value| list.as_array().and_then(|list| list.first()).cloned();
        if let Some(value) = schema.get("const") {
            return value.clone();
        }
        if let Some(value) = schema.get("enum").and_then(first) {
            return value;
        }
        if let Some(one) = schema.get("oneOf").and_then(first) {
            return sample(&one);
        }
        match schema.get("type").and_then(Value::as_str) {
            Some("string") => json!("x"),
            Some("integer" | "number") => json!(1),
            Some("array") => json!([sample(&schema["items"])]),
            Some("object") => match schema.get("properties").and_then(Value::as_object) {
                Some(properties) => properties.iter().map(|(key, schema)| (key.clone(), sample(schema))).collect(),
                None => json!({}),
            },
            _ => json!({"any": "thing"}),
        }
    }

    fn is_edit(value: &Value) -> bool {
        serde_json::from_value::<Edit>(value.clone()).is_ok()
    }

    #[test]
    fn the_schema_names_exactly_the_arguments_that_are_read() {
        for operation in OPERATIONS.map(operation) {
            let whole: Map<String, Value> = operation["properties"]
                .as_object()
                .unwrap()
                .iter()
                .map(|(key, schema)| (key.clone(), sample(schema)))
                .collect();
            assert!(is_edit(&Value::from(whole.clone())), "{whole:?}");
            let required: Vec<&str> =
                operation["required"].as_array().unwrap().iter().filter_map(Value::as_str).collect();
            for name in whole.keys() {
                let mut without = whole.clone();
                without.remove(name);
                assert_eq!(is_edit(&Value::from(without)), !required.contains(&name.as_str()), "{name} of {whole:?}");
            }
            let mut more = whole;
            more.insert("no_such_argument".to_owned(), json!(1));
            assert!(!is_edit(&Value::from(more)), "{operation}");
        }
    }
}
