//! Joins answers that are no streams: see `Joiner`.
use super::event::Snapshot;
use super::items::{alias, id};
use super::splice::{self, Identity};
use crate::dialect::JoinError;
use crate::dialect::body_joiner::Bodies;
use crate::dialect::openai::error;
use crate::dialect::rewrite::edited;
use crate::dialect::transcript::MAX_ANSWER;
use crate::json::raw;
use serde_json::value::RawValue;
use std::collections::HashSet;

/// What is made of a `response`.
#[derive(Debug)]
pub(super) struct Whole;

impl Bodies for Whole {
    fn answer(body: &str) -> Option<Vec<String>> {
        Self::check(body).ok().filter(|()| body.len() <= MAX_ANSWER)?;
        Some(items(&read(body).ok()?))
    }

    fn check(body: &str) -> Result<(), JoinError> {
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

    fn join(bodies: &[&str]) -> Option<String> {
        let last = bodies.last()?;
        let read: Vec<Snapshot<'_>> = bodies.iter().map(|body| read(body).ok()).collect::<Option<_>>()?;
        let mut identity = Identity::default();
        identity.learn(read.first()?);
        let mut taken = HashSet::new();
        let named = |item: String| {
            let alias = alias(&id(&item), &mut taken);
            splice::with_id(&item, alias.as_deref()).unwrap_or(item)
        };
        let all: Vec<String> = read.iter().flat_map(items).map(named).collect();
        let costs: Vec<String> = read.iter().filter_map(|body| Some(body.usage?.get().to_owned())).collect();
        edited(last, splice::whole(last, "", &identity, &all, &costs)).ok()
    }
}

fn read(body: &str) -> Result<Snapshot<'_>, JoinError> {
    serde_json::from_str(body).map_err(JoinError::unreadable)
}

fn items(snapshot: &Snapshot<'_>) -> Vec<String> {
    let output = snapshot.output.map_or("[]", RawValue::get);
    let spans = raw::array(output).unwrap_or_default();
    spans.iter().filter_map(|span| output.get(span.start..span.end)).map(str::to_owned).collect()
}
