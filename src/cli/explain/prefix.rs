//! What of the prefix that the client's provider may have cached stays in front of what goes up.
//!
//! Providers cache in the order tools, instructions, history, whatever the order of the body's members is; so the words of
//! both bodies are compared in that order, up to the client's last cache marker where it has one.
use crate::cli::rehearsal::reading::Seen;
use crate::dialect::NeutralMessage;
use serde::Serialize;

/// Between two pieces, so that text behind a piece is no part of it.
const SEPARATOR: u8 = 0x1e;

/// How much stays, in bytes of text.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(super) struct Prefix {
    /// The client's.
    pub(super) bytes: usize,
    /// Of these, what what goes up begins with, too.
    pub(super) kept: usize,
    /// Whether it ends at a cache marker of the client's; else it is the whole body.
    pub(super) is_marked: bool,
    /// Where what goes up departs from it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) departs_in: Option<String>,
}

impl Prefix {
    /// Compares the client's request with the one that goes up.
    pub(super) fn of(client: &Seen, up: &Seen) -> Self {
        let (pieces, is_marked) = cached(client);
        let above = all(up);
        let bytes = pieces.iter().map(|piece| piece.words.len()).sum();
        let above: Vec<u8> = joined(&above);
        let (mut kept, mut at, mut departs_in) = (0, 0, None);
        for piece in &pieces {
            let rest = above.get(at..).unwrap_or_default();
            let same = piece.words.bytes().zip(rest).take_while(|(a, b)| a == *b).count();
            kept += same;
            let ends_here = rest.get(same) == Some(&SEPARATOR);
            if same < piece.words.len() || !ends_here {
                departs_in = Some(piece.place.clone());
                break;
            }
            at += same + 1;
        }
        Self { bytes, kept, is_marked, departs_in }
    }

    /// Of a hundred.
    pub(super) fn percent(&self) -> usize {
        (self.kept * 100).checked_div(self.bytes).unwrap_or(100)
    }
}

/// A part of a request.
struct Piece {
    place: String,
    words: String,
}

fn joined(pieces: &[Piece]) -> Vec<u8> {
    let mut bytes = Vec::new();
    for piece in pieces {
        bytes.extend_from_slice(piece.words.as_bytes());
        bytes.push(SEPARATOR);
    }
    bytes
}

fn all(seen: &Seen) -> Vec<Piece> {
    let tools = seen.request.tools.iter().map(|tool| Piece {
        place: "the tools".to_owned(),
        words: format!("{} {} {}", tool.name, tool.description, tool.input_schema),
    });
    let system = &seen.request.system;
    let system = system.iter().map(|text| Piece { place: "the instructions".to_owned(), words: text.clone() });
    let messages = seen.request.messages.iter().enumerate().map(|(index, message)| Piece {
        place: format!("message {} ({})", index + 1, message.role),
        words: words(message),
    });
    tools.chain(system).chain(messages).collect()
}

/// The pieces up to the last cache marker, and whether there is one.
fn cached(seen: &Seen) -> (Vec<Piece>, bool) {
    let mut pieces = all(seen);
    let items = &seen.view.items;
    let behind = match items.iter().rposition(|item| item.facts.markers > 0) {
        // Items and messages are counted from the end: instructions may be items, too.
        Some(marked) => items.len() - marked - 1,
        None if seen.is_system_marked => seen.request.messages.len(),
        None if seen.view.markers > 0 => seen.request.messages.len() + seen.request.system.len(),
        None => return (pieces, false),
    };
    pieces.truncate(pieces.len().saturating_sub(behind));
    (pieces, true)
}

fn words(message: &NeutralMessage) -> String {
    let calls = message.tool_calls.iter().map(|call| format!("\n{} {} {}", call.id, call.name, call.input.get()));
    let results = message.tool_results.iter().map(|result| format!("\n{} {}", result.id, result.text));
    [message.role.to_owned(), "\n".to_owned(), message.text.clone()].into_iter().chain(calls).chain(results).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};

    fn seen(body: &Value) -> Seen {
        Seen::of("/v1/messages", &body.to_string().into()).unwrap()
    }

    fn body(system: &Value, prompt: &Value, tools: &Value) -> Value {
        json!({"messages": [{"role": "user", "content": prompt}], "system": system, "tools": tools, "max_tokens": 1})
    }

    #[test]
    fn a_prefix_departs_where_the_first_other_word_stands() {
        let tools = json!([{"name": "Read"}, {"name": "Bash"}]);
        let client = seen(&body(&json!("Be brief."), &json!("hello"), &tools));
        let of = |up: Value| {
            let prefix = Prefix::of(&client, &seen(&up));
            (prefix.percent(), prefix.departs_in)
        };
        assert_eq!(of(body(&json!("Be brief."), &json!("hello"), &tools)), (100, None));
        let more = json!([{"type": "text", "text": "Be brief."}, {"type": "text", "text": "More."}]);
        let (percent, place) = of(body(&more, &json!("hello"), &tools));
        assert_eq!(place.as_deref(), Some("message 1 (user)"));
        assert!((40..90).contains(&percent), "{percent}");
        assert_eq!(of(body(&json!("Be brief. More."), &json!("hello"), &tools)).1.as_deref(), Some("the instructions"));
        assert_eq!(of(body(&json!("Be brief."), &json!("hello"), &json!([]))).1.as_deref(), Some("the tools"));
    }

    #[test]
    fn what_stands_behind_the_last_marker_does_not_count() {
        let marked = json!([{"type": "text", "text": "Be brief.", "cache_control": {"type": "ephemeral"}}]);
        let client = seen(&body(&marked, &json!("hello"), &json!([])));
        let up = seen(&body(&marked, &json!("other words"), &json!([])));
        let prefix = Prefix::of(&client, &up);
        assert_eq!((prefix.bytes, prefix.percent(), prefix.is_marked), ("Be brief.".len(), 100, true));
    }
}
