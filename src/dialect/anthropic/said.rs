//! What an answer says, as the message that goes back to the provider: its blocks as they were, with what was streamed into
//! them.
use super::block::Block;
use super::events::{Piece, string};
use crate::dialect::rewrite::Rewrite;
use crate::dialect::transcript::MAX_ANSWER;
use crate::json::{Kind, raw};
use serde::de::IgnoredAny;

/// What a block counts beyond its bytes, so that empty ones are bounded too.
const BLOCK_COST: usize = 64;

/// The blocks of an answer so far.
#[derive(Debug, Default)]
pub(super) struct Said {
    /// Finished blocks, JSON texts.
    blocks: Vec<String>,
    open: Option<Draft>,
    held: usize,
    /// Something was too long, or is not understood.
    lost: bool,
}

/// A block that is being streamed.
#[derive(Debug)]
struct Draft {
    /// As it started.
    start: String,
    kind: String,
    /// Text, thinking or input: a block has one of them.
    streamed: String,
    signature: Option<String>,
    citations: Vec<String>,
}

impl Said {
    /// A block begins; whole ones have no deltas.
    pub(super) fn begin(&mut self, start: &str) {
        let Ok(block) = Block::parse(start) else { return self.lose() };
        if self.open.is_some() || !is_understood(&block.kind) {
            return self.lose();
        }
        if self.take_in(BLOCK_COST + start.len()) {
            self.open = Some(Draft {
                kind: block.kind.into_owned(),
                start: start.to_owned(),
                streamed: String::new(),
                signature: None,
                citations: vec![],
            });
        }
    }

    /// Something is added to the open block.
    pub(super) fn delta(&mut self, delta: &str) {
        if !self.take_in(delta.len()) {
            return;
        }
        if self.open.as_mut().and_then(|draft| draft.add(delta)).is_none() {
            self.lose();
        }
    }

    /// The open block ends.
    pub(super) fn finish(&mut self) {
        match self.open.take().map(Draft::finish) {
            Some(Some(block)) => self.blocks.extend(block),
            Some(None) => self.lose(),
            None => {}
        }
    }

    /// The answer can't be given back.
    pub(super) fn lose(&mut self) {
        *self = Self { lost: true, ..Self::default() };
    }

    /// The message, if anything was said; `None` when it can't be given back whole.
    pub(super) fn message(&self) -> Option<Vec<String>> {
        if self.lost || self.open.is_some() {
            return None;
        }
        let message = || format!(r#"{{"role":"assistant","content":[{}]}}"#, self.blocks.join(","));
        Some(if self.blocks.is_empty() { vec![] } else { vec![message()] })
    }

    fn take_in(&mut self, bytes: usize) -> bool {
        self.held = self.held.saturating_add(bytes);
        if self.held > MAX_ANSWER {
            self.lose();
        }
        !self.lost
    }
}

/// Block types that a request takes back as the answer had them: the assistant's side of `content_block_param.py`, and
/// the beta's fallback. A compaction puts an end to what stands before it, which is not for a gateway to repeat.
fn is_understood(kind: &str) -> bool {
    matches!(kind, "text" | "thinking" | "redacted_thinking" | "tool_use" | "server_tool_use" | "mcp_tool_use")
        || kind.ends_with("_tool_result")
        || kind == "fallback"
}

impl Draft {
    /// `None`: a delta that is not understood, or not one of this block.
    fn add(&mut self, delta: &str) -> Option<()> {
        let delta = Piece::parse(delta).ok()?;
        let is_use = self.kind.ends_with("tool_use");
        let streamed = match (string(delta.kind?).as_ref(), self.kind.as_str()) {
            ("text_delta", "text") => delta.text,
            ("thinking_delta", "thinking") => delta.thinking,
            ("input_json_delta", _) if is_use => delta.partial_json,
            // One, and it replaces what the block began with.
            ("signature_delta", "thinking") => {
                self.signature = Some(delta.signature?.to_owned());
                None
            }
            ("citations_delta", "text") => {
                self.citations.push(delta.citation?.to_owned());
                None
            }
            _ => return None,
        };
        self.streamed.push_str(&streamed.map(string).unwrap_or_default());
        Some(())
    }

    /// The block. `Some(None)`: nothing that could go back; blank text and unsigned thinking are refused. `None`: it is
    /// broken.
    fn finish(self) -> Option<Option<String>> {
        let mut block = Rewrite::of(&self.start).ok()?;
        match self.kind.as_str() {
            "text" => {
                let text = block.get("text").and_then(raw::string).unwrap_or_default() + self.streamed.as_str();
                if text.trim().is_empty() {
                    return Some(None);
                }
                block.set("text", raw::quote(&text));
                if !self.citations.is_empty() {
                    let first = elements(block.get("citations"));
                    let all: Vec<&str> = first.iter().chain(&self.citations).map(String::as_str).collect();
                    block.set("citations", format!("[{}]", all.join(",")));
                }
            }
            "thinking" => {
                let text = block.get("thinking").and_then(raw::string).unwrap_or_default() + self.streamed.as_str();
                block.set("thinking", raw::quote(&text));
                if let Some(signature) = self.signature {
                    block.set("signature", signature);
                }
                if block.get("signature").and_then(raw::string).unwrap_or_default().is_empty() {
                    return Some(None);
                }
            }
            kind if kind.ends_with("tool_use") && !self.streamed.trim().is_empty() => {
                let is_object = raw::kind(&self.streamed) == Some(Kind::Object);
                serde_json::from_str::<IgnoredAny>(&self.streamed).ok().filter(|_| is_object)?;
                block.set("input", self.streamed.trim().to_owned());
            }
            _ => return Some(Some(self.start)),
        }
        Some(Some(block.finish()))
    }
}

fn elements(array: Option<&str>) -> Vec<String> {
    let array = array.unwrap_or_default();
    let spans = raw::array(array).unwrap_or_default();
    spans.into_iter().filter_map(|span| array.get(span.start..span.end)).map(str::to_owned).collect()
}
