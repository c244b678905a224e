//! A request's body on its way up.
use crate::json::Rope;
use bytes::Bytes;
use http_body::{Body, Frame, SizeHint};
use std::pin::Pin;
use std::task::{Context, Poll};
use tower::BoxError;

/// What goes up: nothing, slices that are already here, or the client's own stream.
pub struct RequestBody {
    kind: Kind,
    /// Whatever is to be held until the body has been sent.
    _hold: Option<Box<dyn Send>>,
}

enum Kind {
    /// Slices in reverse, so that the next one is popped.
    Slices {
        rest: Vec<Bytes>,
        left: u64,
    },
    Stream(Pin<Box<dyn Body<Data = Bytes, Error = BoxError> + Send>>),
}

impl RequestBody {
    /// No body.
    pub fn empty() -> Self {
        Self::rope(Rope::default())
    }

    /// A body that is here: its length is exact, its slices are written as they are.
    pub fn rope(rope: Rope) -> Self {
        let left = rope.len() as u64;
        let mut rest = rope.into_parts();
        rest.reverse();
        Self { kind: Kind::Slices { rest, left }, _hold: None }
    }

    /// Keeps `hold` until the body has been sent.
    #[must_use]
    pub fn holding(self, hold: impl Send + 'static) -> Self {
        Self { _hold: Some(Box::new(hold)), ..self }
    }

    /// A body that passes through, trailers included.
    pub fn stream<B>(body: B) -> Self
    where
        B: Body<Data = Bytes, Error = BoxError> + Send + 'static,
    {
        Self { kind: Kind::Stream(Box::pin(body)), _hold: None }
    }
}

impl std::fmt::Debug for RequestBody {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match &self.kind {
            Kind::Slices { rest, left } => write!(f, "RequestBody({left} bytes in {} slices)", rest.len()),
            Kind::Stream(_) => f.write_str("RequestBody(stream)"),
        }
    }
}

impl Body for RequestBody {
    type Data = Bytes;
    type Error = BoxError;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Self::Data>, Self::Error>>> {
        match &mut self.kind {
            Kind::Slices { rest, left } => Poll::Ready(rest.pop().map(|slice| {
                *left = left.saturating_sub(slice.len() as u64);
                Ok(Frame::data(slice))
            })),
            Kind::Stream(body) => body.as_mut().poll_frame(cx),
        }
    }

    fn is_end_stream(&self) -> bool {
        match &self.kind {
            Kind::Slices { rest, .. } => rest.is_empty(),
            Kind::Stream(body) => body.is_end_stream(),
        }
    }

    fn size_hint(&self) -> SizeHint {
        match &self.kind {
            Kind::Slices { left, .. } => SizeHint::with_exact(*left),
            Kind::Stream(body) => body.size_hint(),
        }
    }
}
