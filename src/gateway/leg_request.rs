//! The request of a turn, to be sent again with more in it.
use super::Gateway;
use super::admission::Share;
use super::spending::{Payer, Spending};
use super::tap::Cut;
use crate::json::Rope;
use crate::upstream::{Answer, Call, LanePlace, RequestBody, UpstreamError};
use bytes::Bytes;
use http::header::CONTENT_ENCODING;
use http::response::Parts;
use http::uri::PathAndQuery;
use http::{HeaderMap, HeaderName, HeaderValue, Method};
use http_body::{Body, Frame};
use hyper::body::Incoming;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

/// Sends the legs of one answer up the way that the first one went.
pub struct LegRequest {
    gateway: Arc<Gateway>,
    /// Index into the gateway's upstreams.
    upstream: usize,
    method: Method,
    line: PathAndQuery,
    headers: HeaderMap,
    credential: Option<HeaderValue>,
    payer: Option<Payer>,
    _share: Arc<Share>,
}

impl LegRequest {
    /// As `first` goes to the upstream with this index, paid by the same. `share`: the kept body's part of the budget.
    pub fn new(gateway: Arc<Gateway>, upstream: usize, first: &Call, payer: Option<Payer>, share: Arc<Share>) -> Self {
        let mut headers = copied(&first.headers);
        // The next body is written here, and not compressed.
        headers.remove(CONTENT_ENCODING);
        let line = PathAndQuery::try_from(first.line.as_str()).unwrap_or_else(|_| first.line.clone());
        let (method, credential) = (first.method.clone(), first.credential.clone());
        Self { gateway, upstream, method, line, headers, credential, payer, _share: share }
    }

    /// Sends `body` and waits for the answer's head.
    ///
    /// # Errors
    /// [`UpstreamError`] when none arrives.
    pub async fn send(&self, body: Rope) -> Result<(Parts, LegBody), UpstreamError> {
        let upstream =
            self.gateway.upstreams.get(self.upstream).ok_or(UpstreamError::Config("the upstream is gone"))?;
        let call = Call {
            method: self.method.clone(),
            line: self.line.clone(),
            headers: self.headers.clone(),
            body: RequestBody::rope(body),
            credential: self.credential.clone(),
        };
        let Answer { response, place } = upstream.send(call).await?;
        let (head, body) = response.into_parts();
        let spending = self.payer.as_ref().and_then(|payer| payer.open(&head));
        Ok((head, LegBody::new(body, place, spending)))
    }
}

/// The same headers in memory of their own: those that a client sent are slices of its connection's read buffer, and would
/// keep all of it for as long as the answer lasts.
fn copied(headers: &HeaderMap) -> HeaderMap {
    let mut own = HeaderMap::with_capacity(headers.len());
    for (name, value) in headers {
        let name_copy = HeaderName::from_bytes(name.as_str().as_bytes()).unwrap_or_else(|_| name.clone());
        let mut value_copy = HeaderValue::from_bytes(value.as_bytes()).unwrap_or_else(|_| value.clone());
        value_copy.set_sensitive(value.is_sensitive());
        own.append(name_copy, value_copy);
    }
    own
}

/// The body of one leg, with its place on the way to the upstream.
pub struct LegBody {
    body: Incoming,
    spending: Option<Box<Spending>>,
    _place: LanePlace,
}

impl LegBody {
    /// A body that keeps `place` until it is over, and tells `spending` what it is.
    pub fn new(body: Incoming, place: LanePlace, spending: Option<Spending>) -> Self {
        Self { body, spending: spending.map(Box::new), _place: place }
    }

    fn over(&mut self) {
        if let Some(spending) = self.spending.take() {
            spending.settle();
        }
    }
}

impl Drop for LegBody {
    /// The client left: what was used until then was used.
    fn drop(&mut self) {
        self.over();
    }
}

impl Body for LegBody {
    type Data = Bytes;
    type Error = Cut;

    fn poll_frame(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, Cut>>> {
        let polled = Pin::new(&mut self.body).poll_frame(cx).map_err(Cut::from);
        if let (Some(spending), Poll::Ready(frame)) = (&mut self.spending, &polled) {
            if let Some(data) = frame.as_ref().and_then(|frame| frame.as_ref().ok()?.data_ref()) {
                spending.data(data);
            }
            if self.body.is_end_stream() || !matches!(frame, Some(Ok(_))) {
                self.over();
            }
        }
        polled
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }
}
