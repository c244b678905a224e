//! The shape of an answer, in the words of either API.
use super::Style;
use serde_json::{Map, Value, json};

/// What a schema is called that has no name of its own: both APIs want one.
const UNNAMED: &str = "answer";

/// What the answer is to be.
#[derive(Debug, PartialEq)]
pub(super) enum Format {
    /// `text` or `json_object`.
    Plain(&'static str),
    /// JSON by a schema: its name, the schema and what else is said of it.
    Schema(Map<String, Value>),
}

impl Format {
    /// Reads a format as either API writes it, or a bare JSON schema.
    pub(super) fn read(value: &Value) -> Option<Self> {
        let object = value.as_object()?;
        let mut schema = match object.get("type").and_then(Value::as_str) {
            Some("text") => return Some(Self::Plain("text")),
            Some("json_object") => return Some(Self::Plain("json_object")),
            Some("json_schema") => match object.get("json_schema") {
                Some(nested) => nested.as_object()?.clone(),
                None => object.iter().filter(|(key, _)| *key != "type").map(|(k, v)| (k.clone(), v.clone())).collect(),
            },
            _ => Map::from_iter([("schema".to_owned(), value.clone())]),
        };
        schema.get("schema").filter(|schema| schema.is_object())?;
        schema.entry("name").or_insert_with(|| UNNAMED.into());
        Some(Self::Schema(schema))
    }

    /// The same as this API writes it.
    pub(super) fn write(self, style: Style) -> String {
        match (self, style) {
            (Self::Plain(kind), _) => json!({"type": kind}),
            (Self::Schema(schema), Style::Nested | Style::Bare) => {
                json!({"type": "json_schema", "json_schema": schema})
            }
            (Self::Schema(schema), Style::Flat) => {
                let kind = ("type".to_owned(), Value::from("json_schema"));
                Value::Object([kind].into_iter().chain(schema).collect())
            }
        }
        .to_string()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_way_to_ask_for_a_shape_is_read() {
        let named = json!({"name": "n", "schema": {"type": "object"}, "strict": true});
        let mut flat = named.clone();
        flat["type"] = "json_schema".into();
        for format in [json!({"type": "json_schema", "json_schema": named}), flat] {
            assert_eq!(Format::read(&format), Some(Format::Schema(named.as_object().unwrap().clone())));
        }
        let bare = Format::read(&json!({"type": "object"})).unwrap().write(Style::Flat);
        assert_eq!(bare, r#"{"type":"json_schema","schema":{"type":"object"},"name":"answer"}"#);
        assert_eq!(Format::read(&json!({"type": "json_schema"})), None);
        assert_eq!(Format::read(&json!("json")), None);
    }
}
