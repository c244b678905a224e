mod answer;
mod binder;
mod edit;
mod joiner;
mod legs;
mod lower;
mod restore;
mod results;
mod servers;
mod view;

use super::Chat;
use crate::context::answer::Ending;
use crate::context::{AnswerForm, Finish, Place, Role, Step, Usage};
use crate::dialect::openai::testing::{self, MapCache, Wire, doc, frames, sample, texts};
use crate::dialect::{Dialect, ItemFacts, LowerError, NoCache, Reading, Reply, ViewError, WireError};
use crate::json::ScanError;
use proptest::prelude::*;
use serde_json::{Value, json};

const CHAT: Wire = Wire { dialect: &Chat, path: "/v1/chat/completions" };

const CALL: &str = r#"{"role":"assistant","content":"a","tool_calls":[{"id":"c","type":"function","function":{"name":"f","arguments":"{}"}}]}"#;

/// The first three are instructions.
const POOL: [&str; 8] = [
    r#"{"role":"system","content":"s"}"#,
    r#"{"role":"system","content":""}"#,
    r#"{"role":"system","content":[{"type":"text","text":"s"}]}"#,
    r#"{"role":"user","content":"u"}"#,
    r#"{"role":"user","content":[]}"#,
    r#"{"role":"user","content":"<reminder>"}"#,
    CALL,
    r#"{"role":"tool","tool_call_id":"c","content":[{"type":"text","text":"r"}]}"#,
];

fn body(messages: &str) -> String {
    format!(r#"{{"model":"m","messages":[{messages}]}}"#)
}

fn end(item: usize, list: &[&str]) -> Place {
    Place::ItemEnd { item, texts: texts(list) }
}

fn front(after: usize, list: &[&str]) -> Place {
    Place::SystemFront { after, texts: texts(list) }
}

fn back(list: &[&str]) -> Place {
    Place::SystemEnd { texts: texts(list) }
}
