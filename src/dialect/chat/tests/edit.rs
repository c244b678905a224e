//! Edits: what they leave of a body, byte for byte.
mod law;
mod messages;
mod params;
mod tools;

use super::*;
use crate::dialect::EditError;

/// Checks that each edit turns a body into another.
fn table(cases: &[(&str, Value, &str)]) {
    for (body, edit, expected) in cases {
        assert_eq!(CHAT.edited(body, edit).as_deref(), Ok(*expected), "{edit}");
    }
}
