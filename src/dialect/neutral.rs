//! The request in dialect-neutral words, as hooks see it (`hookgate check --schema event`, `request`).
use crate::context::Call;
use serde::Serialize;
use serde_json::{Map, Value};

/// A request as a hook reads it.
#[derive(Debug, Clone, Default, Serialize)]
pub struct NeutralRequest {
    /// `turn`, `side`, `compaction`, `count` or `batch`; set by whoever knows, empty where nobody does.
    pub kind: &'static str,
    /// Instruction blocks.
    pub system: Vec<String>,
    /// The history.
    pub messages: Vec<NeutralMessage>,
    /// The tools.
    pub tools: Vec<NeutralTool>,
    /// The dialect's own tool choice.
    pub tool_choice: Option<Value>,
    /// `max_tokens`, `temperature`, `top_p`, `stop`, `reasoning_effort`, `response_format`, by neutral names; what is not set is null.
    pub params: Map<String, Value>,
}

/// One message.
#[derive(Debug, Clone, Default, Serialize)]
pub struct NeutralMessage {
    /// `system`, `user`, `assistant` or `tool`.
    pub role: &'static str,
    /// All its text, blocks joined by a newline.
    pub text: String,
    /// The calls it makes.
    pub tool_calls: Vec<Call>,
    /// The results it brings.
    pub tool_results: Vec<NeutralResult>,
}

/// A tool's result.
#[derive(Debug, Clone, Default, Serialize)]
pub struct NeutralResult {
    /// The call's id.
    pub id: String,
    /// Its text.
    pub text: String,
    /// Whether the tool failed.
    pub is_error: bool,
}

/// A tool's result, as hooks on it see it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ToolResult {
    /// The call's id; empty where it says none (Gemini).
    pub id: String,
    /// The tool's name; empty where only the call says it.
    pub name: String,
    /// Its texts, joined by newlines.
    pub text: String,
    /// Whether the tool failed.
    pub is_error: bool,
}

/// A tool definition.
#[derive(Debug, Clone, Default, Serialize)]
pub struct NeutralTool {
    /// Its name.
    pub name: String,
    /// What it says of itself.
    pub description: String,
    /// JSON schema of its input.
    pub input_schema: Value,
}
