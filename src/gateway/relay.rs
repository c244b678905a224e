//! The upstream's answer on its way to the client.
use super::answer_head::{EVENT_STREAM, is_type};
use super::body::{BrokenOff, RelayBody};
use super::errors::GatewayError;
use super::guard::StreamGuard;
use super::inspect::Following;
use super::leg_request::{LegBody, LegRequest};
use super::legs::{LegsBody, Wire};
use super::request::Exchange;
use super::turn::{Legs, Watched};
use crate::context::AnswerForm;
use crate::json::Rope;
use crate::upstream::Answer;
use crate::upstream::headers::strip_hop_by_hop;
use axum::body::Body;
use axum::response::Response;
use bytes::Bytes;
use http::header::{CONTENT_ENCODING, CONTENT_LENGTH, TRANSFER_ENCODING};
use http::response::Parts;
use http::{StatusCode, Version};
use http_body::{Body as HttpBody, Frame};
use http_body_util::BodyExt as _;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

/// How long the head of such an answer waits for its body: as long as the first keep-alive would take.
const HEAD_WAIT: Duration = Duration::from_secs(8);

/// The answer as it is: status, headers but the hop-by-hop ones, every byte, trailers. Its places are kept
/// until its end. `again`: the request and its body, where the answer may be changed or continued.
///
/// An answer in JSON that may be changed or continued begins with its body, or after [`HEAD_WAIT`]: until then the client can be
/// told what became of it by a status.
///
/// # Errors
/// [`GatewayError::Withheld`], or why such an answer broke off.
pub(super) async fn relay(
    exchange: &Exchange<'_>,
    answer: Answer,
    follow: Option<Following>,
    again: Option<(LegRequest, Rope)>,
    place: impl Send + 'static,
) -> Result<Response, GatewayError> {
    let Answer { response, place: lane } = answer;
    let (mut head, body) = response.into_parts();
    let guard = guard(exchange, &head);
    let spending = exchange.payer().and_then(|payer| payer.open(&head));
    let Watched { tap, legs } = match (follow, again) {
        (Some(Following::Turn(follow)), again) => follow.answered(head.status, &head.headers, guard, again)?,
        (Some(Following::Bound(bound)), Some(again)) => bound.answered(head.status, &head.headers, guard, again)?,
        (Some(Following::Bound(_)), None) => return Err(GatewayError::Withheld),
        (None, _) => Watched::only(guard),
    };
    strip_hop_by_hop(&mut head.headers);
    // The upstream's version is none of the client's; the server library writes that of its connection.
    head.version = Version::HTTP_11;
    let idle_timeout = exchange.upstream.idle_timeout();
    let body = LegBody::new(body, lane, spending);
    let body = match (legs, exchange.endpoint.as_ref()) {
        (Some(Legs { director, form, binding }), Some(endpoint)) => {
            // How long it becomes is not known yet.
            head.headers.remove(CONTENT_LENGTH);
            let wire = Wire { dialect: endpoint.dialect, form, idle_timeout, binding };
            let legs = LegsBody::new(body, wire, director);
            let body = RelayBody::new(legs, None, tap).holding(place);
            match form {
                AnswerForm::Json | AnswerForm::JsonArray => {
                    Body::new(exchange.clock.elsewhere(Begun::of(body, idle_timeout)).await?)
                }
                AnswerForm::Sse => Body::new(body),
            }
        }
        _ => Body::new(RelayBody::new(body, Some(idle_timeout), tap).holding(place)),
    };
    Ok(Response::from_parts(head, body))
}

/// A body of which the first frame is here.
struct Begun<B> {
    first: Option<Frame<Bytes>>,
    rest: B,
}

impl<B> Begun<B>
where
    B: HttpBody<Data = Bytes, Error = BrokenOff> + Unpin,
{
    /// # Errors
    /// It broke off before it began.
    async fn of(mut rest: B, idle_timeout: Duration) -> Result<Self, GatewayError> {
        match tokio::time::timeout(HEAD_WAIT, rest.frame()).await {
            Ok(Some(Err(BrokenOff(why)))) => Err(GatewayError::cut(why, idle_timeout)),
            Ok(Some(Ok(frame))) => Ok(Self { first: Some(frame), rest }),
            Ok(None) | Err(_) => Ok(Self { first: None, rest }),
        }
    }
}

impl<B> HttpBody for Begun<B>
where
    B: HttpBody<Data = Bytes, Error = BrokenOff> + Unpin,
{
    type Data = Bytes;
    type Error = BrokenOff;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Self::Data>, Self::Error>>> {
        match self.first.take() {
            Some(frame) => Poll::Ready(Some(Ok(frame))),
            None => Pin::new(&mut self.rest).poll_frame(cx),
        }
    }

    fn is_end_stream(&self) -> bool {
        self.first.is_none() && self.rest.is_end_stream()
    }
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
