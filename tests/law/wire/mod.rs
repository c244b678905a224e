//! The four wire formats as a client writes them, a provider answers them, and an observer compares them. Written without
//! the gateway's own dialects: what they agree on must not depend on one reading of a format.
mod anthropic;
mod chat;
mod gemini;
mod responses;

pub use anthropic::Anthropic;
pub use chat::Chat;
pub use gemini::Gemini;
pub use responses::Responses;

use crate::line::{Answer, Line, Style};
use serde_json::Value;

/// One wire format.
pub trait Wire {
    /// Where a request goes.
    fn path(&self) -> &'static str;
    /// The request that carries this line's history.
    fn body(&self, line: &Line, style: Style) -> Value;
    /// The provider's answer.
    fn answer(&self, answer: &Answer) -> Value;
    /// An answer that the client got, as it keeps it: in the elements of its history, none when there is nothing in it.
    fn copy(&self, got: &Value, style: Style) -> Vec<Value>;
    /// What a model sees of a body: instructions first, then one element per message, neighbouring ones of the model joined.
    fn normal(&self, body: &Value) -> Vec<Seen>;
    /// What a provider refuses beside what [`legal`] knows.
    fn refuses(&self, _body: &Value) -> Option<String> {
        None
    }
}

/// One message as a model sees it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Seen {
    pub role: Role,
    pub parts: Vec<Part>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Role {
    System,
    User,
    Model,
}

/// A piece of it, without cache markers; texts of the model joined and without white space, since clients cut them anew.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Part {
    Text(String),
    Signed(String),
    Call(String),
    Result(String, Vec<String>),
}

impl Seen {
    pub fn of(role: Role) -> Self {
        Self { role, parts: vec![] }
    }

    /// The texts that stand here behind those of `client`, the same message as the client wrote it.
    pub fn added(&self, client: &Self) -> Result<Vec<String>, String> {
        let odd = || format!("{client:?}\nbecame\n{self:?}");
        if self.role != client.role || self.parts.len() < client.parts.len() {
            return Err(odd());
        }
        let mut added = vec![];
        for (index, part) in self.parts.iter().enumerate() {
            match (client.parts.get(index), part) {
                (Some(Part::Text(theirs)), Part::Text(text)) => added.extend(behind(text, theirs).ok_or_else(odd)?),
                (Some(Part::Result(id, theirs)), Part::Result(same, texts)) if id == same => {
                    let client = Self { role: self.role, parts: theirs.iter().cloned().map(Part::Text).collect() };
                    let own = Self { role: self.role, parts: texts.iter().cloned().map(Part::Text).collect() };
                    added.extend(own.added(&client)?);
                }
                (Some(theirs), part) if theirs == part => {}
                (None, Part::Text(text)) => added.push(text.clone()),
                _ => return Err(odd()),
            }
        }
        Ok(added)
    }
}

/// What was joined to a text by a blank line.
fn behind(text: &str, client: &str) -> Option<Option<String>> {
    let rest = text.strip_prefix(client)?;
    match rest.strip_prefix("\n\n") {
        Some(added) => Some(Some(added.to_owned())),
        None => rest.is_empty().then_some(None),
    }
}

/// Adds to the text of the model's message: its white space and its cuts do not count.
pub fn say(seen: &mut Seen, text: &str) {
    let text: String = text.split_whitespace().collect();
    match seen.parts.iter_mut().find(|part| matches!(part, Part::Text(_))) {
        Some(Part::Text(said)) => said.push_str(&text),
        _ if text.is_empty() => {}
        _ => seen.parts.insert(0, Part::Text(text)),
    }
}

/// What every provider refuses.
pub fn legal(seen: &[Seen]) -> Result<(), String> {
    let mut open: Vec<&str> = vec![];
    for (index, message) in seen.iter().enumerate() {
        if message.role == Role::System && index > 0 {
            return Err(format!("instructions at {index}"));
        }
        let mut texts_began = false;
        for part in &message.parts {
            match part {
                Part::Text(text) if text.trim().is_empty() && index > 0 => {
                    return Err(format!("empty text at {index}"));
                }
                Part::Result(id, _) if texts_began || !open.contains(&id.as_str()) => {
                    return Err(format!("the result of {id} at {index} is out of place"));
                }
                Part::Result(id, _) => {
                    let at = open.iter().position(|call| call == id).unwrap();
                    open.remove(at);
                }
                Part::Text(_) => texts_began = true,
                Part::Call(_) | Part::Signed(_) => {}
            }
        }
        if message.role != Role::System && !open.is_empty() && !matches!(message.parts.first(), Some(Part::Result(..)))
        {
            return Err(format!("calls {open:?} are not answered before {index}"));
        }
        open.extend(message.parts.iter().filter_map(|part| match part {
            Part::Call(id) => Some(id.as_str()),
            _ => None,
        }));
    }
    Ok(())
}

/// Joins what the model said in neighbouring messages.
pub fn joined(messages: Vec<Seen>) -> Vec<Seen> {
    let mut out: Vec<Seen> = vec![];
    for message in messages {
        match out.last_mut() {
            Some(last) if last.role == Role::Model && message.role == Role::Model => {
                for part in message.parts {
                    match part {
                        Part::Text(text) => say(last, &text),
                        part => last.parts.push(part),
                    }
                }
            }
            _ => out.push(message),
        }
    }
    out
}

/// The texts of a string or of a list of blocks.
pub fn texts(content: &Value) -> Vec<String> {
    match content {
        Value::String(text) => vec![text.clone()],
        Value::Array(blocks) => blocks.iter().filter_map(|b| b["text"].as_str().map(str::to_owned)).collect(),
        _ => vec![],
    }
}

/// A string member.
pub fn string(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}

/// What clients do with the texts of a list that they keep: empty ones go, those behind calls go ahead of them, and
/// neighbours become one, trimmed. `is_text`: a plain text, with nothing bound to it.
pub fn kept(
    blocks: &[Value],
    style: Style,
    is_text: impl Fn(&Value) -> bool,
    is_call: impl Fn(&Value) -> bool,
) -> Vec<Value> {
    let said = |block: &&Value| !(is_text(block) && block["text"].as_str().unwrap().trim().is_empty());
    let mut blocks: Vec<Value> = blocks.iter().filter(said).cloned().collect();
    if style.calls_last {
        blocks.sort_by_key(&is_call);
    }
    if !style.merged {
        return blocks;
    }
    let mut out: Vec<Value> = vec![];
    for block in blocks {
        match out.last_mut().filter(|last| is_text(last) && is_text(&block)) {
            Some(last) => last["text"] = Value::String(string(&last["text"]) + block["text"].as_str().unwrap()),
            None => out.push(block),
        }
    }
    for block in out.iter_mut().filter(|block| is_text(block)) {
        block["text"] = Value::String(string(&block["text"]).trim().to_owned());
    }
    out
}
