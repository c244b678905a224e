//! A message of the model's that is put into a stream.
use super::bound::{message, text_part};
use super::event::{ADDED, DONE};
use crate::json::raw;

/// Kinds and members of its events, but for their numbers; in the order that the SDKs' helpers want.
pub(super) fn events(id: &str, index: u64, text: &str) -> [(&'static str, String); 6] {
    let (part, quoted) = (text_part(text), raw::quote(text));
    let place = format!(r#""item_id":{},"output_index":{index},"content_index":0"#, raw::quote(id));
    let [begun, item] = [message(id, "in_progress", ""), message(id, "completed", &part)];
    [
        (ADDED, format!(r#""output_index":{index},"item":{begun}"#)),
        ("response.content_part.added", format!(r#"{place},"part":{}"#, text_part(""))),
        ("response.output_text.delta", format!(r#"{place},"delta":{quoted},"logprobs":[]"#)),
        ("response.output_text.done", format!(r#"{place},"text":{quoted},"logprobs":[]"#)),
        ("response.content_part.done", format!(r#"{place},"part":{part}"#)),
        (DONE, format!(r#""output_index":{index},"item":{item}"#)),
    ]
}
