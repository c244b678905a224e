//! The upstream's answer on its way to the client.
use super::admission::Place;
use super::answer_head::{EVENT_STREAM, is_type};
use super::body::RelayBody;
use super::errors::GatewayError;
use super::guard::StreamGuard;
use super::inspect::Following;
use super::leg_request::{LegBody, LegRequest};
use super::legs::{LegsBody, Wire};
use super::request::Exchange;
use super::turn::{Legs, Watched};
use crate::json::Rope;
use crate::upstream::Answer;
use crate::upstream::headers::strip_hop_by_hop;
use axum::body::Body;
use axum::response::Response;
use http::header::{CONTENT_ENCODING, CONTENT_LENGTH, TRANSFER_ENCODING};
use http::response::Parts;
use http::{StatusCode, Version};

/// The answer as it is: status, headers but the hop-by-hop ones, every byte, trailers. Its places are kept
/// until its end. `again`: the request and its body, where the answer may be changed or continued.
///
/// # Errors
/// [`GatewayError::Withheld`]
pub(super) fn relay(
    exchange: &Exchange<'_>,
    answer: Answer,
    follow: Option<Following>,
    again: Option<(LegRequest, Rope)>,
    place: Place,
) -> Result<Response, GatewayError> {
    let Answer { response, place: lane } = answer;
    let (mut head, body) = response.into_parts();
    let guard = guard(exchange, &head);
    let Watched { tap, legs } = match (follow, again) {
        (Some(Following::Turn(follow)), again) => follow.answered(head.status, &head.headers, guard, again)?,
        (Some(Following::Bound(bound)), Some(again)) => bound.answered(head.status, &head.headers, guard, again)?,
        (Some(Following::Bound(_)), None) => return Err(GatewayError::Withheld),
        (None, _) => Watched::only(guard),
    };
    strip_hop_by_hop(&mut head.headers);
    // The client's connection is HTTP/1.1, whatever the upstream's was.
    head.version = Version::HTTP_11;
    let idle_timeout = exchange.upstream.idle_timeout();
    let body = match (legs, exchange.endpoint.as_ref()) {
        (Some(Legs { director, form, binding }), Some(endpoint)) => {
            // How long it becomes is not known yet.
            head.headers.remove(CONTENT_LENGTH);
            let wire = Wire { dialect: endpoint.dialect, form, idle_timeout, binding };
            let legs = LegsBody::new(LegBody::new(body, lane), wire, director);
            Body::new(RelayBody::new(legs, None, tap).holding(place))
        }
        _ => Body::new(RelayBody::new(body, Some(idle_timeout), tap).holding((place, lane))),
    };
    Ok(Response::from_parts(head, body))
}

/// A guard for event streams of a known dialect. Not where an error event could not be read: compressed, or beyond an
/// announced length; such an answer is broken off instead.
fn guard(exchange: &Exchange<'_>, head: &Parts) -> Option<StreamGuard> {
    let endpoint = exchange.endpoint.as_ref()?;
    let headers = &head.headers;
    let writable = !headers.contains_key(CONTENT_LENGTH) && !headers.contains_key(CONTENT_ENCODING);
    if head.status != StatusCode::OK || !is_type(headers, EVENT_STREAM) || !writable {
        return None;
    }
    let framed = head.version == Version::HTTP_2 || headers.contains_key(TRANSFER_ENCODING);
    let idle = exchange.upstream.idle_timeout();
    Some(StreamGuard::new(endpoint.dialect, exchange.id, idle, framed))
}
