//! Edits of a later leg's events, so that they go on with the response that the first leg began.
use super::event::{Event, Snapshot};
use crate::dialect::openai::usage;
use crate::dialect::rewrite::edited;
use crate::json::{Kind, Splice, raw};

/// What a response says of itself wherever it stands.
const SHARED: [&str; 3] = ["id", "created_at", "previous_response_id"];

/// The first leg's values of [`SHARED`], as written.
#[derive(Debug, Default)]
pub(super) struct Identity(Vec<(&'static str, String)>);

impl Identity {
    pub(super) fn learn(&mut self, snapshot: &Snapshot<'_>) {
        if self.0.is_empty() {
            let values = [snapshot.id, snapshot.created_at, snapshot.previous_response_id];
            // Absent and null are the same here, and both are what the client sees of a first response.
            let value = |value: Option<&serde_json::value::RawValue>| value.map_or("null", |v| v.get()).to_owned();
            self.0 = SHARED.into_iter().zip(values.map(value)).collect();
        }
    }

    /// Puts these values in the place of those of the response that stands at `pointer`.
    fn put(&self, splice: &mut Splice, text: &str, pointer: &str) {
        for (key, value) in &self.0 {
            if let Some(span) = raw::pointer(text, &format!("{pointer}/{key}")) {
                splice.replace(span, value.clone());
            }
        }
    }
}

/// Where an event stands in the joined response.
pub(super) struct Place<'a> {
    /// Its number; `None` if it has none.
    pub(super) sequence: Option<u64>,
    /// How many items stand before its leg.
    pub(super) before: u64,
    /// The id of its item, if it is not its own.
    pub(super) alias: Option<&'a str>,
}

/// The edits of one event.
pub(super) fn renewed(text: &str, event: &Event<'_>, place: &Place<'_>, identity: &Identity) -> Splice {
    let mut splice = Splice::new();
    let mut put = |pointer: &str, value: Option<String>| {
        if let Some(value) = value
            && let Some(span) = raw::pointer(text, pointer)
        {
            splice.replace(span, value);
        }
    };
    put("/sequence_number", place.sequence.map(|number| number.to_string()));
    put("/output_index", event.output_index.map(|index| index.saturating_add(place.before).to_string()));
    put("/item_id", place.alias.map(raw::quote));
    put("/item/id", place.alias.map(raw::quote));
    if event.response.is_some() {
        identity.put(&mut splice, text, "/response");
    }
    splice
}

/// The edits of the last response, at `pointer` of `text`: it has all `items`, and what all of it cost. The last of
/// `costs` is its own.
pub(super) fn whole(text: &str, pointer: &str, identity: &Identity, items: &[String], costs: &[String]) -> Splice {
    let mut splice = Splice::new();
    identity.put(&mut splice, text, pointer);
    if let Some(span) = raw::pointer(text, &format!("{pointer}/output")) {
        splice.replace(span, format!("[{}]", items.join(",")));
    }
    let span = raw::pointer(text, &format!("{pointer}/usage"));
    let own = span.and_then(|span| text.get(span.start..span.end)).filter(|own| raw::kind(own) == Some(Kind::Object));
    if let (Some(span), Some(own), Some((_, before))) = (span, own, costs.split_last()) {
        splice.replace(span, usage::summed(own, before, "output"));
    }
    splice
}

/// The item with this id; `None` if it keeps its own.
pub(super) fn with_id(item: &str, id: Option<&str>) -> Option<String> {
    let mut splice = Splice::new();
    splice.replace(raw::get(item, "id")?, raw::quote(id?));
    edited(item, splice).ok()
}
