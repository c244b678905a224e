//! The play: what the user asks, what the model answers, what the tool finds.
use crate::context::Answer;

/// The client's own instructions.
pub(super) const SYSTEM: &str = "You are a careful engineer.";

/// What the user asks, turn by turn.
pub(super) const PROMPTS: [&str; 2] = ["Does the test suite pass?", "Then fix it."];

/// The client's only tool.
pub(super) const TOOL: &str = "run_tests";
/// What the tool says of itself.
pub(super) const TOOL_DESCRIPTION: &str = "Runs the test suite";
/// The arguments that the model calls it with.
pub(super) const ARGUMENTS: &str = r#"{"suite":"all"}"#;
/// What it finds.
pub(super) const FOUND: &str = "41 passed, 1 failed: parser::empty_input";

/// What the model does, request by request.
pub(super) const ANSWERS: [Act; 3] = [
    Act::Call,
    Act::Say("No: parser::empty_input fails, the other 41 pass."),
    Act::Say("Fixed: an empty input now gives an empty tree."),
];

/// One answer of the model.
#[derive(Debug, Clone, Copy)]
pub(super) enum Act {
    /// It calls [`TOOL`].
    Call,
    /// It says this, and its turn ends.
    Say(&'static str),
}

/// One message of the history that the client keeps.
#[derive(Debug)]
pub(super) enum Said {
    /// By the user.
    User(&'static str),
    /// By the model.
    Model(Box<Answer>),
    /// By [`TOOL`], for the call with this id.
    Tool(String),
}
