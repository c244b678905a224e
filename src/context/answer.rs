//! What the model answered, whatever the dialect and whether it was streamed.
use super::Digest;
use super::digest::NormalForm;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

/// Why the model stopped, in neutral words (`finish_reason` of an event).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Finish {
    /// By itself.
    Stop,
    /// It ran into a token or context limit.
    Length,
    /// It called tools that the client answers.
    ToolCalls,
    /// It, or a filter, refused.
    Refusal,
    /// The server goes on when the client sends the same again, or waits for an approval.
    Pause,
    /// An error, a cut stream, anything that is not known to be a natural end.
    Error,
}

/// Token counts as the provider reports them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Usage {
    /// What the provider counts as uncached input.
    pub input: u64,
    /// Read from its cache.
    pub cached_input: u64,
    /// Written by the model.
    pub output: u64,
}

/// A tool call that the client is to answer.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Call {
    /// Its id; empty where the dialect has none (Gemini).
    pub id: String,
    /// The tool.
    pub name: String,
    /// The arguments, as the model wrote them; `null` when they are not JSON.
    pub input: Box<RawValue>,
}

/// How the answer ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Ending {
    /// The dialect's terminal marker was seen (or a whole JSON body).
    Complete,
    /// End of bytes without it.
    Cut,
    /// The upstream said error, in the stream or by its status.
    Failed,
}

/// One answer of the model.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Answer {
    /// The message's or response's id.
    pub id: Option<String>,
    /// All its text in order (not reasoning).
    pub text: String,
    /// Its tool calls in order.
    pub calls: Vec<Call>,
    /// Why it ended.
    pub finish: Finish,
    /// The provider's own word for that.
    pub native_finish: Option<String>,
    /// Whether the end was seen.
    pub ending: Ending,
    /// What it cost.
    pub usage: Usage,
    /// Whether it holds signed or encrypted reasoning.
    pub signed: bool,
    /// More than one choice or candidate was answered.
    pub many: bool,
    /// No id tells its calls: clients of the dialect drop ids, or make up their own (Gemini).
    #[serde(default)]
    pub loose_ids: bool,
    /// The model refused in so many words, though it ended by itself (OpenAI's `refusal`).
    #[serde(default)]
    pub refused: bool,
    /// The upstream's error text, for the log and `session.fail`.
    pub error: Option<String>,
}

impl Answer {
    /// The normal form: what [`super::ItemFacts::link`] of the same answer will be when the client sends it back.
    pub fn link(&self) -> Option<Digest> {
        let mut form = NormalForm::new();
        form.text(&self.text);
        for call in &self.calls {
            let id = if self.loose_ids { "" } else { &call.id };
            form.part("call", &call_key(id, &call.name, call.input.get()));
        }
        form.digest()
    }

    /// A natural end of the user's turn.
    pub fn is_finished(&self) -> bool {
        self.ending == Ending::Complete && self.finish == Finish::Stop
    }
}

/// What tells one call from another: its id, or where there is none that stays, its name and its arguments with sorted keys.
pub fn call_key(id: &str, name: &str, input: &str) -> String {
    if !id.is_empty() {
        return id.to_owned();
    }
    // A sorted form, because clients write the arguments back in their own key order.
    fn sorted(value: serde_json::Value) -> serde_json::Value {
        match value {
            serde_json::Value::Object(map) => {
                let mut members: Vec<_> = map.into_iter().map(|(k, v)| (k, sorted(v))).collect();
                members.sort_by(|a, b| a.0.cmp(&b.0));
                serde_json::Value::Object(members.into_iter().collect())
            }
            serde_json::Value::Array(list) => serde_json::Value::Array(list.into_iter().map(sorted).collect()),
            other => other,
        }
    }
    let arguments = serde_json::from_str(input).map(|v| sorted(v).to_string()).unwrap_or_else(|_| input.to_owned());
    format!("{name}:{arguments}")
}
