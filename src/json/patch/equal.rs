//! Equality of values as RFC 6902, section 4.6 has it: numbers by what they are worth, objects in any order.
use serde_json::{Number, Value};

/// Whether the text `raw` is `expected`. A text that is too deep to be read is equal to nothing.
pub(super) fn equal(raw: &str, expected: &Value) -> bool {
    serde_json::from_str::<Value>(raw).is_ok_and(|value| same(&value, expected))
}

/// Both come from serde_json, which nests no deeper than 128.
fn same(a: &Value, b: &Value) -> bool {
    match (a, b) {
        (Value::Number(a), Value::Number(b)) => same_number(a, b),
        (Value::Array(a), Value::Array(b)) => a.len() == b.len() && a.iter().zip(b).all(|(a, b)| same(a, b)),
        (Value::Object(a), Value::Object(b)) => {
            a.len() == b.len() && a.iter().all(|(key, a)| b.get(key).is_some_and(|b| same(a, b)))
        }
        (a, b) => a == b,
    }
}

/// Integers are compared as such: two large ones may be one as floating point numbers.
fn same_number(a: &Number, b: &Number) -> bool {
    let is_float = a.is_f64() || b.is_f64();
    a == b || (is_float && a.as_f64() == b.as_f64())
}
