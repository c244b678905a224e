//! The bytes of one connection, whatever they come through.
//!
//! What was read to find out what a client speaks is read again from here. And a client that takes nothing any more does not
//! hold its answer for ever.
use bytes::{Buf as _, Bytes};
use std::io::{self, IoSlice};
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::{TcpStream, UnixStream};
use tokio::time::Sleep;
use tokio_rustls::server::TlsStream;

/// How long a client may take nothing of what is written to it. Agents are stopped and continued by people.
const STALL: Duration = Duration::from_secs(5 * 60);

/// What carries bytes.
pub(super) enum Stream {
    Tcp(TcpStream),
    Unix(UnixStream),
    Tls(Box<TlsStream<Wire>>),
}

/// A stream, and what was read of it before.
pub(super) struct Wire {
    first: Bytes,
    stream: Stream,
    stalled: Option<Pin<Box<Sleep>>>,
}

impl Wire {
    /// `first` is read before what the stream has.
    pub(super) fn new(first: Bytes, stream: Stream) -> Self {
        Self { first, stream, stalled: None }
    }

    /// An error when nothing could be written for too long.
    fn watched<T>(&mut self, cx: &mut Context<'_>, written: Poll<io::Result<T>>) -> Poll<io::Result<T>> {
        if written.is_ready() {
            self.stalled = None;
            return written;
        }
        let timer = self.stalled.get_or_insert_with(|| Box::pin(tokio::time::sleep(STALL)));
        timer.as_mut().poll(cx).map(|()| Err(io::Error::new(io::ErrorKind::TimedOut, "the client takes nothing")))
    }
}

/// The same call on whichever stream it is.
macro_rules! on {
    ($stream:expr, $inner:ident => $call:expr) => {
        match $stream {
            Stream::Tcp($inner) => {
                let $inner = Pin::new($inner);
                $call
            }
            Stream::Unix($inner) => {
                let $inner = Pin::new($inner);
                $call
            }
            Stream::Tls($inner) => {
                let $inner = Pin::new($inner.as_mut());
                $call
            }
        }
    };
}

impl AsyncRead for Stream {
    fn poll_read(self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        on!(self.get_mut(), inner => inner.poll_read(cx, buf))
    }
}

impl AsyncRead for Wire {
    fn poll_read(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        if self.first.is_empty() {
            return Pin::new(&mut self.stream).poll_read(cx, buf);
        }
        let length = self.first.len().min(buf.remaining());
        buf.put_slice(self.first.get(..length).unwrap_or_default());
        self.first.advance(length);
        if self.first.is_empty() {
            // Its memory goes with it.
            self.first = Bytes::new();
        }
        Poll::Ready(Ok(()))
    }
}

impl AsyncWrite for Wire {
    fn poll_write(self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &[u8]) -> Poll<io::Result<usize>> {
        let this = self.get_mut();
        let written = on!(&mut this.stream, inner => inner.poll_write(cx, buf));
        this.watched(cx, written)
    }

    fn poll_write_vectored(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bufs: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let this = self.get_mut();
        let written = on!(&mut this.stream, inner => inner.poll_write_vectored(cx, bufs));
        this.watched(cx, written)
    }

    fn is_write_vectored(&self) -> bool {
        match &self.stream {
            Stream::Tcp(inner) => inner.is_write_vectored(),
            Stream::Unix(inner) => inner.is_write_vectored(),
            Stream::Tls(inner) => inner.is_write_vectored(),
        }
    }

    fn poll_flush(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let this = self.get_mut();
        let flushed = on!(&mut this.stream, inner => inner.poll_flush(cx));
        this.watched(cx, flushed)
    }

    fn poll_shutdown(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        on!(&mut self.get_mut().stream, inner => inner.poll_shutdown(cx))
    }
}
