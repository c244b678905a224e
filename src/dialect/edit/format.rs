//! `response_format` in neutral words.
use super::EditError;
use serde_json::Value;

/// The name of a schema that has none: OpenAI wants one.
const UNNAMED: &str = "answer";

/// The shape that an answer should have.
#[derive(Debug, Clone, PartialEq)]
pub(in crate::dialect) enum Format {
    /// Any text.
    Text,
    /// Any JSON object.
    JsonObject,
    /// JSON of this schema.
    Schema {
        /// Its name.
        name: String,
        /// The schema.
        schema: Value,
        /// Whether it must hold exactly.
        strict: Option<bool>,
    },
}

impl Format {
    /// Reads the value of a hook: one of the forms that OpenAI's APIs and Anthropic's have (`{type: text}`,
    /// `{type: json_object}`, `{type: json_schema, …}` with the schema in it or one level below), or a bare JSON schema.
    ///
    /// # Errors
    /// [`EditError::Unknown`]
    pub(in crate::dialect) fn read(value: &Value, dialect: &'static str) -> Result<Self, EditError> {
        let unknown = EditError::Unknown { dialect, what: "such response format" };
        if !value.is_object() {
            return Err(unknown);
        }
        match value.get("type").and_then(Value::as_str) {
            Some("text") => Ok(Self::Text),
            Some("json_object") => Ok(Self::JsonObject),
            Some("json_schema") => {
                let holder = value.get("json_schema").unwrap_or(value);
                let schema = holder.get("schema").filter(|schema| schema.is_object()).cloned().ok_or(unknown)?;
                let name = holder.get("name").and_then(Value::as_str).unwrap_or(UNNAMED).to_owned();
                Ok(Self::Schema { name, schema, strict: holder.get("strict").and_then(Value::as_bool) })
            }
            _ => Ok(Self::Schema { name: UNNAMED.to_owned(), schema: value.clone(), strict: None }),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn one_schema_is_read_in_every_form() {
        let schema = json!({"type": "object"});
        let forms = [
            (json!({"type": "json_schema", "schema": schema}), UNNAMED),
            (json!({"type": "json_schema", "name": "n", "schema": schema}), "n"),
            (json!({"type": "json_schema", "json_schema": {"name": "n", "schema": schema}}), "n"),
            (schema.clone(), UNNAMED),
        ];
        for (form, name) in forms {
            let expected = Format::Schema { name: name.to_owned(), schema: schema.clone(), strict: None };
            assert_eq!(Format::read(&form, "d"), Ok(expected), "{form}");
        }
        for form in [json!("json"), json!({"type": "json_schema"}), json!([1])] {
            assert!(Format::read(&form, "d").is_err(), "{form}");
        }
    }
}
