//! Reading values from the tree: every problem is collected with its place and the path of its key, and reading goes on.
use super::files::Files;
use super::node::{Content, Node};
use super::problem::{Place, Problem, Severity};
use super::variables;
use serde_json::Value as Json;
use std::io;
use std::path::Path;

/// The environment, as a function: tests need none of their own.
pub type Env<'a> = &'a dyn Fn(&str) -> Option<String>;

/// What reads values and keeps what is wrong with them.
pub(super) struct Reader<'a> {
    env: Env<'a>,
    /// Whether `${VAR}` is a variable.
    has_variables: bool,
    path: String,
    /// What was wrong so far.
    pub(super) problems: Vec<Problem>,
    /// What was read so far.
    pub(super) files: Files,
}

/// Something that can be written as a value.
pub(super) trait Value: Sized {
    /// What to write, in words that follow "write".
    const WRITE: &'static str;

    /// Reads `node`; `None` when it was refused, which [`Reader::problems`] then says.
    fn read(node: &Node, reader: &mut Reader<'_>) -> Option<Self>;

    /// Its JSON schema.
    fn schema() -> Json;
}

/// A value that remembers where it was written, for rules that concern more than one key.
#[derive(Debug, Clone)]
pub(super) struct At<T> {
    /// The value.
    pub(super) value: T,
    /// Where.
    pub(super) place: Place,
    /// The path of its key.
    pub(super) key: String,
}

impl<'a> Reader<'a> {
    /// Nothing read yet but these files.
    pub(super) fn new(env: Env<'a>, files: Files) -> Self {
        Self { env, has_variables: true, path: String::new(), problems: Vec::new(), files }
    }

    /// Nothing read yet of a text in which `${VAR}` is no variable but what it looks like.
    pub(super) fn verbatim() -> Self {
        Self { has_variables: false, ..Self::new(&|_| None, Files::default()) }
    }

    /// Nothing read yet of another text in the same environment.
    pub(super) fn of_another_text(&self) -> Self {
        Self::new(self.env, Files::default())
    }

    /// The text of a file that the configuration names. It is part of the configuration: a change of it is a reload.
    pub(super) fn file(&mut self, path: &Path) -> io::Result<String> {
        self.files.read(path)
    }

    /// The environment.
    pub(super) fn env(&self, name: &str) -> Option<String> {
        (self.env)(name)
    }

    /// Reads under a member's name.
    pub(super) fn member<T>(&mut self, name: &str, read: impl FnOnce(&mut Self) -> T) -> T {
        let dot = if self.path.is_empty() { "" } else { "." };
        self.under(&format!("{dot}{name}"), read)
    }

    /// Reads under an element's index.
    pub(super) fn element<T>(&mut self, index: usize, read: impl FnOnce(&mut Self) -> T) -> T {
        self.under(&format!("[{index}]"), read)
    }

    fn under<T>(&mut self, step: &str, read: impl FnOnce(&mut Self) -> T) -> T {
        let length = self.path.len();
        self.path.push_str(step);
        let value = read(self);
        self.path.truncate(length);
        value
    }

    /// Keeps a problem of the value being read.
    pub(super) fn refuse(&mut self, place: Place, what: impl Into<String>) {
        let (key, what) = (self.path.clone(), what.into());
        self.problems.push(Problem { place, key, what, severity: Severity::Fatal });
    }

    /// Keeps a problem of a value that was read before.
    pub(super) fn refuse_at<T>(&mut self, at: &At<T>, what: impl Into<String>) {
        self.keep(at, what.into(), Severity::Fatal);
    }

    /// Keeps a problem that does not stop the gateway.
    pub(super) fn warn_at<T>(&mut self, at: &At<T>, what: impl Into<String>) {
        self.keep(at, what.into(), Severity::Warning);
    }

    /// Keeps a problem of what the value leads to, such as a file.
    pub(super) fn keep_at<T>(&mut self, at: &At<T>, what: impl Into<String>, severity: Severity) {
        self.keep(at, what.into(), severity);
    }

    /// Whether something under `key` was refused.
    pub(super) fn has_refused(&self, key: &str) -> bool {
        let below = |rest: &str| rest.is_empty() || rest.starts_with(['.', '[']);
        self.problems.iter().any(|problem| problem.key.strip_prefix(key).is_some_and(below))
    }

    fn keep<T>(&mut self, at: &At<T>, what: String, severity: Severity) {
        self.problems.push(Problem { place: at.place, key: at.key.clone(), what, severity });
    }

    /// The text of a scalar, variables replaced.
    pub(super) fn text(&mut self, node: &Node, write: &str) -> Option<String> {
        let Content::Scalar { text, .. } = &node.content else {
            self.refuse(node.place, format!("{} where a single value belongs, write {write}", node.content.kind()));
            return None;
        };
        if !self.has_variables {
            return Some(text.clone());
        }
        variables::expand(&variables::unshield(text), self.env).map_err(|what| self.refuse(node.place, what)).ok()
    }

    /// A scalar that `parse` understands. The message does not repeat the value: it may hold a secret.
    pub(super) fn parsed<T>(&mut self, node: &Node, write: &str, parse: impl FnOnce(&str) -> Option<T>) -> Option<T> {
        let text = self.text(node, write)?;
        let value = parse(&text);
        if value.is_none() {
            self.refuse(node.place, format!("not valid here, write {write}"));
        }
        value
    }

    /// The elements of a list.
    pub(super) fn list<'n>(&mut self, node: &'n Node, write: &str) -> Option<&'n [Node]> {
        match &node.content {
            Content::List(list) => Some(list),
            other => {
                self.refuse(node.place, format!("{} where a list belongs, write {write}", other.kind()));
                None
            }
        }
    }
}

impl<T: Value> Value for At<T> {
    const WRITE: &'static str = T::WRITE;

    fn read(node: &Node, reader: &mut Reader<'_>) -> Option<Self> {
        let value = T::read(node, reader)?;
        Some(Self { value, place: node.place, key: reader.path.clone() })
    }

    fn schema() -> Json {
        T::schema()
    }
}
