//! Joins answers that are no streams: see `Joiner`.
use super::event::Snapshot;
use super::splice::{self, Identity};
use crate::dialect::JoinError;
use crate::dialect::openai::bodies::Body;
use crate::dialect::openai::error;
use crate::dialect::openai::frame::edited;
use crate::json::raw;
use serde_json::value::RawValue;

/// What is made of a `response`.
#[derive(Debug)]
pub(super) struct Whole;

impl Body for Whole {
    fn answer(&self, body: &str) -> Option<Vec<String>> {
        Some(items(&read(body).ok()?))
    }

    fn check(&self, body: &str) -> Result<(), JoinError> {
        let snapshot = read(body)?;
        if let Some(upstream) = snapshot.error {
            return Err(JoinError::Failed(error::text(upstream.get())));
        }
        let status = snapshot.status.and_then(|status| raw::string(status.get())).unwrap_or_default();
        match status.as_ref() {
            "completed" | "incomplete" if snapshot.output.is_some() => Ok(()),
            status => Err(JoinError::OutOfOrder(format!("a response that is {status}"))),
        }
    }

    fn joined(&self, others: &[&str], last: &str) -> Result<String, JoinError> {
        let bodies = others.iter().chain([&last]).map(|body| read(body)).collect::<Result<Vec<_>, _>>()?;
        let mut identity = Identity::default();
        bodies.iter().take(1).for_each(|first| identity.learn(first));
        let all: Vec<String> = bodies.iter().flat_map(items).collect();
        let costs: Vec<String> = bodies.iter().filter_map(|body| Some(body.usage?.get().to_owned())).collect();
        edited(last, splice::whole(last, "", &identity, &all, &costs))
    }
}

fn read(body: &str) -> Result<Snapshot<'_>, JoinError> {
    serde_json::from_str(body).map_err(|error| JoinError::Unreadable(error.to_string()))
}

fn items(snapshot: &Snapshot<'_>) -> Vec<String> {
    let output = snapshot.output.map_or("[]", RawValue::get);
    let spans = raw::array(output).unwrap_or_default();
    spans.iter().filter_map(|span| output.get(span.start..span.end)).map(str::to_owned).collect()
}
