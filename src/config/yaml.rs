//! YAML to JSON values, for data files whose place in the text does not matter (client profiles).
use super::node::{Content, Node};
use serde_json::{Map, Value};

pub use super::node::NotYaml;

/// Why a text can't be read.
#[derive(Debug, Clone, thiserror::Error)]
pub enum YamlError {
    /// Not YAML.
    #[error(transparent)]
    NotYaml(#[from] NotYaml),
    /// A key that is written twice: which of the two counts is nobody's guess.
    #[error("line {line}: the key {key} is written twice")]
    Twice {
        /// The key.
        key: String,
        /// The line of its second occurrence, from 1.
        line: usize,
    },
}

/// The one document of `text` as the YAML 1.2 core schema reads it; an empty text is `null`.
///
/// # Errors
/// [`YamlError`] when it is not YAML, has a key that is not a scalar or is written twice, or more than one document.
pub fn value(text: &str) -> Result<Value, YamlError> {
    convert(Node::parse(text)?)
}

fn convert(node: Node) -> Result<Value, YamlError> {
    Ok(match node.content {
        Content::Scalar { text, plain: false } => Value::String(text),
        Content::Scalar { text, plain: true } => plain(text),
        Content::List(list) => Value::Array(list.into_iter().map(convert).collect::<Result<_, _>>()?),
        Content::Map(members) => {
            let mut object = Map::new();
            for (name, node) in members {
                if object.insert(name.text.clone(), convert(node)?).is_some() {
                    return Err(YamlError::Twice { key: name.text, line: name.place.line });
                }
            }
            Value::Object(object)
        }
    })
}

/// The core schema's guess at an unquoted scalar; what is none of its types is text.
pub(super) fn plain(text: String) -> Value {
    match text.as_str() {
        "" | "~" | "null" => Value::Null,
        "true" => Value::Bool(true),
        "false" => Value::Bool(false),
        // `nan` and `inf`, which Rust would read as floats, are words.
        number if number.starts_with(|c: char| c.is_ascii_digit() || matches!(c, '-' | '+' | '.')) => number
            .parse::<i64>()
            .map(Value::from)
            .or_else(|_| number.parse::<f64>().map(Value::from))
            .unwrap_or(Value::String(text)),
        _ => Value::String(text),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn scalars_follow_the_core_schema() {
        let text = "a: 1\nb: '1'\nc: true\nd: ~\ne: 1.5\nf: nan\ng: [x, {h: -3}]\ni: 1.2.3\n";
        let expected = json!({"a":1,"b":"1","c":true,"d":null,"e":1.5,"f":"nan","g":["x",{"h":-3}],"i":"1.2.3"});
        assert_eq!(value(text).unwrap(), expected);
        assert_eq!(value("").unwrap(), Value::Null);
    }

    #[test]
    fn a_key_written_twice_is_an_error() {
        insta::assert_snapshot!(value("a: 1\nb: 2\na: 3\n").unwrap_err(), @"line 3: the key a is written twice");
    }
}
