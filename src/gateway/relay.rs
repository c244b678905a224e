//! The upstream's answer on its way to the client.
use super::admission::Place;
use super::body::RelayBody;
use super::guard::StreamGuard;
use super::request::Exchange;
use super::tap::Tap;
use super::turn::Follow;
use crate::upstream::Answer;
use crate::upstream::headers::strip_hop_by_hop;
use axum::body::Body;
use axum::response::Response;
use http::header::{CONTENT_ENCODING, CONTENT_LENGTH, CONTENT_TYPE, HeaderMap, TRANSFER_ENCODING};
use http::response::Parts;
use http::{StatusCode, Version};

/// Media type of server-sent events.
const EVENT_STREAM: &str = "text/event-stream";

/// The answer as it is: status, headers but the hop-by-hop ones, every byte, trailers. Its places are kept
/// until its end.
pub(super) fn relay(exchange: &Exchange<'_>, answer: Answer, follow: Option<Box<Follow>>, place: Place) -> Response {
    let Answer { response, place: lane } = answer;
    let (mut head, body) = response.into_parts();
    let guard = guard(exchange, &head);
    let tap = match follow {
        Some(follow) => follow.answered(head.status, &head.headers, guard),
        None => guard.map(|guard| Box::new(guard) as Box<dyn Tap>),
    };
    strip_hop_by_hop(&mut head.headers);
    // The client's connection is HTTP/1.1, whatever the upstream's was.
    head.version = Version::HTTP_11;
    let body = RelayBody::new(body, exchange.upstream.idle_timeout(), tap).holding((place, lane));
    Response::from_parts(head, Body::new(body))
}

/// A guard for event streams of a known dialect. Not where an error event could not be read: compressed, or beyond an
/// announced length; such an answer is broken off instead.
fn guard(exchange: &Exchange<'_>, head: &Parts) -> Option<StreamGuard> {
    let endpoint = exchange.endpoint.as_ref()?;
    let headers = &head.headers;
    let writable = !headers.contains_key(CONTENT_LENGTH) && !headers.contains_key(CONTENT_ENCODING);
    if head.status != StatusCode::OK || !is_event_stream(headers) || !writable {
        return None;
    }
    let framed = head.version == Version::HTTP_2 || headers.contains_key(TRANSFER_ENCODING);
    let idle = exchange.upstream.idle_timeout();
    Some(StreamGuard::new(endpoint.dialect, exchange.id, idle, framed))
}

fn is_event_stream(headers: &HeaderMap) -> bool {
    headers
        .get(CONTENT_TYPE)
        .and_then(|value| value.as_bytes().get(..EVENT_STREAM.len()))
        .is_some_and(|start| start.eq_ignore_ascii_case(EVENT_STREAM.as_bytes()))
}
