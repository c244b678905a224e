//! What happens, live: server-sent events.
use super::Admin;
use super::error::{ApiError, ErrorBody};
use crate::inspect::{Happened, Watching};
use crate::live::Status;
use axum::extract::rejection::QueryRejection;
use axum::extract::{Query, State};
use axum::response::sse::{Event, KeepAlive, Sse};
use futures_util::stream::{self, Stream, StreamExt as _};
use serde::Deserialize;
use serde_json::json;
use std::convert::Infallible;
use std::sync::Arc;
use tokio::sync::watch;
use utoipa::IntoParams;

#[derive(Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(super) struct Which {
    /// Only what concerns this session.
    session: Option<String>,
}

/// What happens, live, as server-sent events: `request` (as in the list of requests, when it came, went up, was answered
/// and is over), `hook` (one run), `message`, `context`, `session`, `proposal` and `config`. A reader that is too slow gets
/// `missed` and is dropped; it asks for what there is, and begins anew
#[utoipa::path(get, path = "/v1/events", tag = "gateway", params(Which), responses(
    (status = 200, content_type = "text/event-stream", body = String),
    (status = "default", description = "Why not", body = ErrorBody)))]
pub(super) async fn watch_events(
    State(admin): State<Arc<Admin>>,
    which: Result<Query<Which>, QueryRejection>,
) -> Result<Sse<impl Stream<Item = Result<Event, Infallible>>>, ApiError> {
    let Query(Which { session }) = which?;
    let mut status = admin.live.subscribe();
    let first = config_event(&status.borrow_and_update());
    let reader = Reader { watching: Some(admin.live.turns().recorder().watch()), status, first: Some(first), session };
    let events = stream::unfold(reader, |mut reader| async { Some((Ok(reader.next().await?), reader)) });
    // A stream that is broken off looks like a gateway that died.
    let events = events.take_until(admin.draining.clone().cancelled_owned());
    Ok(Sse::new(events).keep_alive(KeepAlive::default()))
}

struct Reader {
    /// `None`: it was too slow.
    watching: Option<Watching>,
    status: watch::Receiver<Arc<Status>>,
    /// Tells the reader at once that it is connected.
    first: Option<Event>,
    session: Option<String>,
}

impl Reader {
    async fn next(&mut self) -> Option<Event> {
        if let Some(first) = self.first.take() {
            return Some(first);
        }
        loop {
            let watching = self.watching.as_mut()?;
            tokio::select! {
                happened = watching.next() => match happened {
                    Some(happened) if self.concerns(&happened) => {
                        return Some(Event::default().event(happened.name).data(&*happened.data));
                    }
                    Some(_) => {}
                    None => {
                        self.watching = None;
                        return Some(Event::default().event("missed").data("{}"));
                    }
                },
                changed = self.status.changed() => {
                    changed.ok()?;
                    return Some(config_event(&self.status.borrow_and_update()));
                }
            }
        }
    }

    fn concerns(&self, happened: &Happened) -> bool {
        self.session.is_none() || self.session.as_deref() == happened.session.as_deref()
    }
}

fn config_event(status: &Status) -> Event {
    let refused = status.last_refused.as_ref().map(|refused| refused.at);
    let config = json!({"version": status.version, "loaded_at": status.loaded_at, "last_refused": refused});
    Event::default().event("config").data(config.to_string())
}
