//! Legs: answers of the model that one message of the client is made of.
//!
//! A hook can send the model back to work where it ended its turn. The client then sees one message; the model sees its
//! first answer, what it was told, and its next answer. Between the two views stands the [`Leg`].
use serde::{Deserialize, Serialize};

/// An answer that was not the last, and what the model was told then. Replayed byte for byte (invariant I6): signed
/// reasoning of later answers is bound to it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Leg {
    /// The answer's id, where the dialect has one.
    pub id: Option<String>,
    /// The answer as elements of the dialect's native history (messages, input items, contents), JSON texts. Empty when
    /// the model said nothing.
    pub answer: Vec<String>,
    /// What it was told.
    pub reply: LegReply,
}

/// What the model is told behind an answer, by the gateway in the client's place.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LegReply {
    /// A user message with this text.
    Message(String),
    /// Results of the answer's tool calls, of all of them, in their order.
    Results(Vec<LegResult>),
}

/// The result of one tool call.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LegResult {
    /// The call's id; empty where the dialect has none (Gemini).
    pub id: String,
    /// The tool's name.
    pub name: String,
    /// The call's type, where each type has results of its own (Responses); else empty.
    #[serde(default)]
    pub kind: String,
    /// What the tool says.
    pub text: String,
    /// Whether it failed.
    pub is_error: bool,
}
