//! A body that keeps something until it is over.
use bytes::Bytes;
use http_body::{Body, Frame, SizeHint};
use std::pin::Pin;
use std::task::{Context, Poll};

/// The same body; `T` is dropped with it.
pub(super) struct Held<B, T> {
    body: B,
    _until_the_end: T,
}

impl<B, T> Held<B, T> {
    pub(super) fn new(body: B, until_the_end: T) -> Self {
        Self { body, _until_the_end: until_the_end }
    }
}

impl<B: Body<Data = Bytes> + Unpin, T: Unpin> Body for Held<B, T> {
    type Data = Bytes;
    type Error = B::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Self::Data>, Self::Error>>> {
        Pin::new(&mut self.body).poll_frame(cx)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}
