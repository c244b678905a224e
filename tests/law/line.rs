//! A client's side of one conversation.
use serde_json::Value;

/// What stands in a history.
#[derive(Debug, Clone)]
pub enum Said {
    User(String),
    Answer(Answer),
    /// An answer as the client keeps what it got, in elements of the wire.
    Copy(Vec<Value>),
    Results(Vec<String>),
}

/// One answer of the model.
#[derive(Debug, Clone)]
pub struct Answer {
    /// Unique; also what its message id is made of.
    pub number: usize,
    /// Two blocks, the second behind the calls.
    pub texts: [String; 2],
    /// Ids of its calls.
    pub calls: Vec<String>,
    /// Whether it thought, which is bound to all that stood before.
    pub signed: bool,
}

/// How a client writes its history into one request; clients change this from request to request.
#[derive(Debug, Clone, Copy)]
pub struct Style {
    /// Blocks instead of strings.
    pub blocks: bool,
    /// A cache marker on the last message.
    pub marker: bool,
    /// The text that came behind calls is moved ahead of them.
    pub calls_last: bool,
    /// Neighbouring texts of an answer become one.
    pub merged: bool,
    /// Items keep their ids.
    pub ids: bool,
}

/// A conversation as the client knows it.
#[derive(Debug, Clone)]
pub struct Line {
    /// The agent's id, for a sub-agent.
    pub agent: Option<&'static str>,
    /// The client's own instructions.
    pub system: Option<&'static str>,
    /// The name of its tool.
    pub tool: &'static str,
    /// Whether the model thinks.
    pub signed: bool,
    /// The history.
    pub history: Vec<Said>,
}

impl Line {
    /// Where the prompts stand.
    pub fn prompts(&self) -> Vec<usize> {
        let said = self.history.iter().enumerate();
        said.filter(|(_, said)| matches!(said, Said::User(_))).map(|(index, _)| index).collect()
    }

    /// The calls that wait for their results.
    pub fn open_calls(&self) -> Vec<String> {
        match self.history.last() {
            Some(Said::Answer(answer)) => answer.calls.clone(),
            _ => vec![],
        }
    }
}
