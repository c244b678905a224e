//! Policy tests as they are written.
use super::HookFate;
use crate::config::any::{self, Any};
use crate::config::collection::OneOrMany;
use crate::config::node::{Content, Node};
use crate::config::reader::{At, Reader, Value};
use crate::config::section::{section, unknown};
use crate::config::value::{Count, Pointer, choice};
use serde_json::{Value as Json, json};
use std::collections::BTreeMap;

section! {
    /// Policy tests: requests that go through the hooks of a configuration, and what must become of them.
    struct File {
        /// The configuration that they are for, from this file's folder; without one that of --config.
        config: Option<At<String>> = "null",
        /// The tests.
        cases: Vec<At<Case>>,
    }

    /// One test: a request, or several in one after the other.
    struct Case {
        /// Its name.
        name: String,
        /// The configuration that it is for, where it is another than the file's.
        config: Option<At<String>> = "null",
        /// What the services of http hooks say, by the hook's name; a list is said one after the other, the last one again.
        http: BTreeMap<String, OneOrMany<Said>> = "{}",
        /// Path and query; without it the body's shape decides.
        path: Option<String> = "null",
        /// Headers of every request.
        headers: BTreeMap<String, String> = "{}",
        /// The body, as YAML or JSON, or the file that holds it.
        request: Option<Body> = "null",
        /// What the model says; a list is said to one request after the other. Without it a short text.
        response: OneOrMany<Said> = "[]",
        /// What must become of the request.
        expect: Expect = "{}",
        /// Several requests, each when all hooks of the one before have ended.
        turns: Vec<At<Turn>> = "[]",
    }

    /// One request of several.
    struct Turn {
        /// Path and query; without it that of the case.
        path: Option<String> = "null",
        /// Headers beside those of the case.
        headers: BTreeMap<String, String> = "{}",
        /// The body, as YAML or JSON, or the file that holds it.
        request: Body,
        /// What the model says; a list is said to one request after the other. Without it a short text.
        response: OneOrMany<Said> = "[]",
        /// What must become of the request.
        expect: Expect = "{}",
    }

    /// An answer: exactly one of text, body, sse and file.
    struct Answer {
        /// These words, as the dialect writes them, streamed if the request asks for it.
        text: Option<String> = "null",
        /// A JSON body.
        body: Option<Any> = "null",
        /// Server-sent events as they are.
        sse: Option<String> = "null",
        /// A file with a body, or with events if it ends in .sse.
        file: Option<At<String>> = "null",
        /// The HTTP status.
        status: At<u32> = "200",
        /// Headers.
        headers: BTreeMap<String, String> = "{}",
    }

    /// What must become of a request. What is not named here may be as it is, but a hook that fails and an error of the
    /// gateway have to be named.
    struct Expect {
        /// Places in the body that goes up.
        body: Vec<At<Place>> = "[]",
        /// Texts that a body that goes up holds.
        contains: OneOrMany<String> = "[]",
        /// Texts that no body that goes up holds.
        lacks: OneOrMany<String> = "[]",
        /// Whether the body goes up byte for byte.
        unchanged: Option<bool> = "null",
        /// The names of all tools on the way up, in order.
        tools: Option<Vec<String>> = "null",
        /// The model on the way up.
        model: Option<String> = "null",
        /// Headers on the way up; null: absent.
        headers: BTreeMap<String, Option<String>> = "{}",
        /// How many requests go up.
        requests: Option<Count> = "null",
        /// The gateway answers itself with a text that holds this, and nothing goes up.
        blocked: Option<String> = "null",
        /// The gateway refuses the request with this code.
        error: Option<String> = "null",
        /// What the client reads.
        answer: Words = "{}",
        /// What becomes of hooks, by name.
        hooks: BTreeMap<String, OneOrMany<HookFate>> = "{}",
        /// The operations of a hook's edits, by its name; also of an audited hook's.
        edits: BTreeMap<String, Vec<String>> = "{}",
        /// Characters that new texts take at most.
        budget: Option<Count> = "null",
        /// What the session's slots hold afterwards; null: nothing.
        slots: BTreeMap<String, Option<String>> = "{}",
    }

    /// Texts.
    struct Words {
        /// All of them are there.
        contains: OneOrMany<String> = "[]",
        /// None of them is.
        lacks: OneOrMany<String> = "[]",
    }

    /// A place in a body: exactly one of equals, contains and absent.
    struct Place {
        /// A JSON pointer.
        at: Pointer,
        /// It holds this value.
        equals: Option<Any> = "null",
        /// Its text holds this.
        contains: Option<String> = "null",
        /// Nothing is there.
        absent: bool = "false",
        /// In which of the requests that go up, from 1.
        request: Count = "1",
    }
}

choice! {
    HookFate: "ran, skipped, failed, audited or not_asked" {
        "ran" => Ran, "skipped" => Skipped, "failed" => Failed, "audited" => Audited, "not_asked" => NotAsked,
    }
}

/// The body of a request.
#[derive(Debug, Clone)]
pub(super) enum Body {
    /// As it is written here.
    Inline(Json),
    /// In a file.
    File(At<String>),
}

impl Value for Body {
    const WRITE: &'static str = "a body such as { model: m, messages: [] }, or the path of a file with one";

    fn read(node: &Node, reader: &mut Reader<'_>) -> Option<Self> {
        match node.content {
            Content::Scalar { .. } => At::<String>::read(node, reader).map(Self::File),
            _ => any::json(node, reader, Self::WRITE).map(Self::Inline),
        }
    }

    fn schema() -> Json {
        json!({"oneOf": [{"type": "object"}, {"type": "string", "description": "The file's path."}]})
    }
}

/// An answer, or its words.
#[derive(Debug, Clone)]
pub(super) enum Said {
    /// Only words.
    Words(String),
    /// In full.
    Answer(Box<At<Answer>>),
}

impl Value for Said {
    const WRITE: &'static str = "a text, or an answer such as { body: {...} } or { sse: ... }";

    fn read(node: &Node, reader: &mut Reader<'_>) -> Option<Self> {
        match node.content {
            Content::Scalar { .. } => reader.text(node, Self::WRITE).map(Self::Words),
            _ => At::read(node, reader).map(|answer| Self::Answer(Box::new(answer))),
        }
    }

    fn schema() -> Json {
        json!({"oneOf": [{"type": "string"}, Answer::schema()]})
    }
}
