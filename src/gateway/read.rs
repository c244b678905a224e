//! Reads a request's body into memory, for requests that hooks look into.
//!
//! One contiguous buffer of the announced size, so that a body costs its own length once; the memory of all bodies
//! together is bounded by a [`Budget`], which a body takes from as its bytes arrive (an announcement costs nothing) and
//! holds for as long as it lives.
use super::admission::{Budget, Share};
use super::client_body::{ClientBody, TooLarge};
use super::decode::{self, Codings};
use super::pace::TooSlow;
use bytes::{Bytes, BytesMut};
use http::HeaderMap;
use http_body::Body as _;
use http_body_util::BodyExt as _;
use tower::BoxError;

/// Up to this size a body is decoded on the spot, which takes some 100 us; beyond, where it would hold up other requests,
/// on a thread for blocking work.
const DECODE_HERE: usize = 64 << 10;

/// Why a body can't be used.
#[derive(Debug, thiserror::Error)]
pub enum ReadError {
    /// Beyond `limits.request_body`, as sent or decoded.
    #[error(transparent)]
    TooLarge(#[from] TooLarge),
    /// A client that stalls would hold its share of the budget for ever.
    #[error(transparent)]
    TooSlow(#[from] TooSlow),
    /// Beyond `limits.buffered_bytes`, together with the bodies of other requests.
    #[error("too many bytes of requests in memory")]
    OverBudget,
    /// A `content-encoding` that is not known here.
    #[error("content-encoding {0:?} is not supported: use gzip, deflate, br or zstd, or none")]
    Encoding(String),
    /// What was sent is not what its headers or its use say.
    #[error("the body can't be read: {0}")]
    Invalid(String),
    /// The client stopped sending.
    #[error("the body did not arrive: {0}")]
    Incomplete(String),
}

/// A body in memory. Cloned slices may outlive it; the budget counts it until it is dropped.
#[derive(Debug)]
pub struct ReadBody {
    /// As the client sent it: what goes up when nothing is changed.
    pub sent: Bytes,
    /// Without its content-encoding: what hooks look into. The same bytes when there is no encoding.
    pub plain: Bytes,
    /// The body's part of the budget.
    pub share: Share,
}

/// Reads and decodes the whole body.
///
/// # Errors
/// [`ReadError`]
pub async fn read(headers: &HeaderMap, body: ClientBody, budget: &Budget) -> Result<ReadBody, ReadError> {
    let codings = Codings::of(headers).map_err(ReadError::Encoding)?;
    let limit = body.limit();
    // In a task of its own: read within the connection's task, each piece would wake that task while it runs, and the
    // runtime then calls another worker for help, which costs more than the reading.
    let collected = tokio::spawn(collect(body, budget.share())).await;
    let (sent, mut share) = collected.map_err(|error| ReadError::Invalid(error.to_string()))??;
    if codings.is_empty() || sent.is_empty() {
        return Ok(ReadBody { plain: sent.clone(), sent, share });
    }
    let input = sent.clone();
    let work = move || decode::decode(&input, &codings, limit, &mut share).map(|plain| (plain, share));
    let (plain, share) = if sent.len() <= DECODE_HERE {
        work()?
    } else {
        let done = tokio::task::spawn_blocking(work).await;
        done.map_err(|error| ReadError::Invalid(error.to_string()))??
    };
    Ok(ReadBody { sent, plain, share })
}

/// A body that came in one piece is not copied.
async fn collect(mut body: ClientBody, mut share: Share) -> Result<(Bytes, Share), ReadError> {
    let Some(first) = next(&mut body, &mut share).await? else { return Ok((Bytes::new(), share)) };
    let announced = body.size_hint();
    if body.is_end_stream() {
        return Ok((first, share));
    }
    let rest = usize::try_from(announced.exact().unwrap_or_default()).unwrap_or_default();
    let mut whole = BytesMut::with_capacity(first.len() + rest);
    whole.extend_from_slice(&first);
    drop(first);
    while let Some(data) = next(&mut body, &mut share).await? {
        whole.extend_from_slice(&data);
    }
    Ok((whole.freeze(), share))
}

/// The next piece, counted; trailers of a body that is read are dropped, its new framing has no place for them.
async fn next(body: &mut ClientBody, share: &mut Share) -> Result<Option<Bytes>, ReadError> {
    loop {
        let frame = match body.frame().await {
            None => return Ok(None),
            Some(Err(error)) => return Err(failed(error)),
            Some(Ok(frame)) => frame,
        };
        if let Ok(data) = frame.into_data() {
            return if share.grow(data.len()) { Ok(Some(data)) } else { Err(ReadError::OverBudget) };
        }
    }
}

fn failed(error: BoxError) -> ReadError {
    match error.downcast::<TooLarge>() {
        Ok(too_large) => ReadError::TooLarge(*too_large),
        Err(error) if error.is::<TooSlow>() => ReadError::TooSlow(TooSlow),
        Err(error) => ReadError::Incomplete(error.to_string()),
    }
}

#[cfg(test)]
mod tests;
