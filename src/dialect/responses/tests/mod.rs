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

use super::Responses;
use crate::context::answer::Ending;
use crate::context::{Answer, AnswerForm, Delta, Finish, Operation, Place, Role, Step, Usage};
use crate::dialect::openai::testing::{self, MapCache, Wire, doc, frames, sample, texts};
use crate::dialect::{Dialect, LowerError, NoCache, Reading, Reply, ViewError, WireError};
use crate::json::ScanError;
use proptest::prelude::*;
use serde_json::{Value, json};

const RESPONSES: Wire = Wire { dialect: &Responses, path: "/v1/responses" };

const CALL: &str = r#"{"type":"function_call","call_id":"c1","name":"f","arguments":"{}"}"#;
const OUTPUT: &str = r#"{"type":"function_call_output","call_id":"c1","output":"r"}"#;
const USER: &str = r#"{"role":"user","content":"u"}"#;
const ANSWER: &str = r#"{"type":"message","role":"assistant","content":[{"type":"output_text","text":"a"}]}"#;
const REMINDER: &str = r#"{"role":"user","content":[{"type":"input_text","text":"<reminder> env"}]}"#;
const DEVELOPER: &str = r#"{"type":"message","role":"developer","content":[{"type":"input_text","text":"d"}]}"#;
const TOOLS: &str = r#"{"type":"additional_tools","role":"developer","tools":[{"type":"function","name":"f"}]}"#;
const REASONING: &str = r#"{"type":"reasoning","id":"rs_1","summary":[],"encrypted_content":"gAAA"}"#;

const POOL: [&str; 10] = [
    CALL,
    OUTPUT,
    USER,
    ANSWER,
    REMINDER,
    DEVELOPER,
    TOOLS,
    REASONING,
    r#"{"role":"developer","content":""}"#,
    r#"{"type":"computer_call_output","call_id":"c1","output":{"type":"computer_screenshot","image_url":"d"}}"#,
];

fn body(items: &[&str]) -> String {
    format!(r#"{{"model":"m","input":[{}]}}"#, items.join(","))
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
