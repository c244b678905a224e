//! Policy tests: files with cases, each a request that goes through the hooks and what must become of it. Checked like the
//! configuration, with every problem and its place at once.
mod resolve;
mod written;

use super::node::{Content, Node};
use super::problem::{Place, Problem, Problems, Severity};
use super::reader::{At, Reader, Value as _};
use super::section;
use bytes::Bytes;
use http::{HeaderMap, StatusCode};
use serde_json::Value as Json;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// One test.
#[derive(Debug, Clone)]
pub struct Case {
    /// Its name.
    pub name: String,
    /// Where it is written.
    pub place: Place,
    /// The configuration that it is for, if it says one.
    pub config: Option<PathBuf>,
    /// What the services of http hooks say, by the hook's name; never empty.
    pub http: BTreeMap<String, Vec<Answer>>,
    /// Its requests, at least one.
    pub turns: Vec<Turn>,
}

/// One request.
#[derive(Debug, Clone)]
pub struct Turn {
    /// Path and query; `None`: the body's shape decides.
    pub path: Option<String>,
    /// Its headers.
    pub headers: HeaderMap,
    /// Its body.
    pub body: Bytes,
    /// What the model says to one request after the other.
    pub answers: Vec<Answer>,
    /// What must become of it.
    pub expect: Expect,
}

/// What somebody says.
#[derive(Debug, Clone)]
pub struct Answer {
    /// The HTTP status.
    pub status: StatusCode,
    /// Headers.
    pub headers: HeaderMap,
    /// The rest.
    pub said: Said,
}

/// The body of an answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Said {
    /// Words, to be written as the dialect writes them.
    Words(String),
    /// JSON as it stands.
    Json(Bytes),
    /// Server-sent events as they stand.
    Events(Bytes),
}

/// What must become of a request.
#[derive(Debug, Clone, Default)]
pub struct Expect {
    /// Places in the body that goes up.
    pub body: Vec<BodyPlace>,
    /// Texts that a body that goes up holds.
    pub contains: Vec<String>,
    /// Texts that none holds.
    pub lacks: Vec<String>,
    /// Whether the body goes up byte for byte.
    pub unchanged: Option<bool>,
    /// All tools on the way up.
    pub tools: Option<Vec<String>>,
    /// The model on the way up.
    pub model: Option<String>,
    /// Headers on the way up; `None`: absent.
    pub headers: BTreeMap<String, Option<String>>,
    /// How many requests go up.
    pub requests: Option<usize>,
    /// The gateway answers itself with a text that holds this.
    pub blocked: Option<String>,
    /// It refuses the request with this code.
    pub error: Option<String>,
    /// Texts that the client reads.
    pub answer_contains: Vec<String>,
    /// Texts that it does not.
    pub answer_lacks: Vec<String>,
    /// What becomes of hooks.
    pub hooks: BTreeMap<String, Vec<HookFate>>,
    /// The operations of their edits.
    pub edits: BTreeMap<String, Vec<String>>,
    /// Characters that new texts take at most.
    pub budget: Option<usize>,
    /// What the session's slots hold afterwards; `None`: nothing.
    pub slots: BTreeMap<String, Option<String>>,
}

/// What is asked of a place in a body.
#[derive(Debug, Clone)]
pub struct BodyPlace {
    /// A JSON pointer.
    pub at: String,
    /// Index of the request, from 0.
    pub request: usize,
    /// What stands there.
    pub holds: Holds,
}

/// What stands in a place.
#[derive(Debug, Clone)]
pub enum Holds {
    /// This value.
    Equals(Json),
    /// A text with this in it.
    Contains(String),
    /// Nothing.
    Nothing,
}

/// What becomes of a hook.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HookFate {
    /// It runs, and what it says counts.
    Ran,
    /// Its `when` is false.
    Skipped,
    /// It fails.
    Failed,
    /// It runs, and what it says does not count.
    Audited,
    /// Its event does not fire.
    NotAsked,
}

/// Reads a file of cases.
///
/// # Errors
/// Every problem of it.
pub fn load(path: &Path) -> Result<Vec<Case>, Problems> {
    let file = path.display().to_string();
    match std::fs::read_to_string(path) {
        Ok(text) => parse(&text, path).map_err(|problems| Problems::new(file, problems)),
        Err(error) => {
            let what = format!("cannot be read: {error}");
            let problem = Problem { place: Place::START, key: String::new(), what, severity: Severity::Fatal };
            Err(Problems::new(file, vec![problem]))
        }
    }
}

fn parse(text: &str, path: &Path) -> Result<Vec<Case>, Vec<Problem>> {
    let mut reader = Reader::verbatim();
    let cases = match Node::parse(text) {
        Ok(root) => read(&root, &mut reader),
        Err(error) => {
            reader.refuse(error.place, error.what);
            None
        }
    };
    let folder = path.parent().unwrap_or(Path::new(""));
    let cases = cases.map(|(config, cases)| resolve::resolve(config.as_ref(), cases, folder, &mut reader));
    match cases {
        Some(cases) if reader.problems.is_empty() => Ok(cases),
        _ => Err(reader.problems),
    }
}

/// A file is a list of cases, a map that has one, or a case.
#[allow(clippy::type_complexity, reason = "a configuration's path, and cases")]
fn read(root: &Node, reader: &mut Reader<'_>) -> Option<(Option<At<String>>, Vec<At<written::Case>>)> {
    match &root.content {
        Content::List(_) => Vec::read(root, reader).map(|cases| (None, cases)),
        Content::Map(_) if root.get("cases").is_none() => At::read(root, reader).map(|case| (None, vec![case])),
        _ => section::read::<written::File>(root, reader).0.map(|file| (file.config, file.cases)),
    }
}

/// The JSON schema of a file of cases.
pub fn schema() -> Json {
    let (file, case) = (section::schema::<written::File>(), section::schema::<written::Case>());
    serde_json::json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "hookgate policy tests",
        "type": ["object", "array"],
        "oneOf": [file, case, {"type": "array", "items": case}],
    })
}

#[cfg(test)]
mod tests;
