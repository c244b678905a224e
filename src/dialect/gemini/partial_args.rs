//! Puts a call's arguments together from the pieces that Vertex streams: `{jsonPath: "$.body", stringValue: "Dear "}`.
use super::chunk::PartialArg;
use crate::dialect::transcript::MAX_ANSWER;
use crate::json::raw;
use serde_json::{Map, Value};

/// Deepest path that is followed. Tool schemas stay below 10.
const MAX_STEPS: usize = 32;

/// The arguments so far.
#[derive(Debug)]
pub(super) struct PartialArgs {
    value: Value,
    held: usize,
    whole: bool,
}

impl Default for PartialArgs {
    fn default() -> Self {
        Self { value: Value::Object(Map::new()), held: 0, whole: true }
    }
}

impl PartialArgs {
    /// Adds a piece. After one that can't be followed, or beyond the limit, the arguments are unknown.
    pub(super) fn add(&mut self, piece: &PartialArg<'_>) {
        let path = piece.json_path.and_then(|path| raw::string(path.get())).unwrap_or_default();
        let text = piece.string_value.and_then(|text| raw::string(text.get()));
        self.held += path.len() + text.as_ref().map_or(0, |text| text.len());
        let slot = steps(&path).and_then(|steps| find(&mut self.value, &steps));
        let Some(slot) = slot.filter(|_| self.held <= MAX_ANSWER) else {
            self.whole = false;
            return;
        };
        match (slot, text, piece.number_value, piece.bool_value) {
            (Value::String(sofar), Some(text), ..) => sofar.push_str(&text),
            (slot, Some(text), ..) => *slot = Value::String(text.into_owned()),
            (slot, None, Some(number), _) => *slot = serde_json::from_str(number.get()).unwrap_or_default(),
            (slot, None, None, Some(flag)) => *slot = Value::Bool(flag),
            (slot, None, None, None) => *slot = Value::Null,
        }
    }

    /// The arguments as JSON; nothing when they are unknown.
    pub(super) fn into_json(self) -> String {
        if self.whole { self.value.to_string() } else { String::new() }
    }
}

enum Step {
    Key(String),
    Index(usize),
}

/// The steps of a path like `$.a.b[0]['c']`.
fn steps(path: &str) -> Option<Vec<Step>> {
    let mut rest = path.strip_prefix('$')?;
    let mut steps = vec![];
    while !rest.is_empty() {
        if steps.len() == MAX_STEPS {
            return None;
        }
        if let Some(named) = rest.strip_prefix('.') {
            let end = named.find(['.', '[']).unwrap_or(named.len());
            let (key, behind) = named.split_at(end);
            steps.push(Step::Key(key.to_owned()));
            rest = behind;
        } else {
            let (inside, behind) = rest.strip_prefix('[')?.split_once(']')?;
            let quoted = |quote| inside.strip_prefix(quote)?.strip_suffix(quote);
            steps.push(match quoted('\'').or_else(|| quoted('"')) {
                Some(key) => Step::Key(key.to_owned()),
                None => Step::Index(inside.parse().ok()?),
            });
            rest = behind;
        }
    }
    Some(steps)
}

/// The place that the steps lead to, made where it is not there. An array grows by one at a time.
fn find<'v>(mut value: &'v mut Value, steps: &[Step]) -> Option<&'v mut Value> {
    for step in steps {
        value = match step {
            Step::Key(key) => {
                if value.is_null() {
                    *value = Value::Object(Map::new());
                }
                value.as_object_mut()?.entry(key.as_str()).or_insert(Value::Null)
            }
            Step::Index(index) => {
                if value.is_null() {
                    *value = Value::Array(vec![]);
                }
                let list = value.as_array_mut()?;
                if *index == list.len() {
                    list.push(Value::Null);
                }
                list.get_mut(*index)?
            }
        };
    }
    Some(value)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pieces_make_the_arguments() {
        let cases = [
            (
                vec![r#"{"jsonPath":"$.body","stringValue":"Dear "}"#, r#"{"jsonPath":"$.body","stringValue":"all"}"#],
                r#"{"body":"Dear all"}"#,
            ),
            (
                vec![r#"{"jsonPath":"$.a[0].b","numberValue":1.50}"#, r#"{"jsonPath":"$['c d']","boolValue":true}"#],
                r#"{"a":[{"b":1.5}],"c d":true}"#,
            ),
            (vec![r#"{"jsonPath":"$.n","nullValue":"NULL_VALUE"}"#], r#"{"n":null}"#),
            (vec![r#"{"jsonPath":"$.a[999999999]","stringValue":"x"}"#], ""),
            (vec![r#"{"jsonPath":"nonsense","stringValue":"x"}"#], ""),
            (vec![], "{}"),
        ];
        for (pieces, expected) in cases {
            let mut args = PartialArgs::default();
            pieces.iter().for_each(|piece| args.add(&serde_json::from_str(piece).unwrap()));
            assert_eq!(args.into_json(), expected, "{pieces:?}");
        }
    }
}
