//! Agents that write to each other without end: each message of an agent counts one more than the newest one that it got,
//! and a prompt of a person begins the count anew.
use super::Refusal;
use crate::session::record::SessionKey;

/// Messages of agents in a row without a prompt of a person between: six there and six back. What two agents have not
/// settled by then they do not settle.
pub(super) const MAX_HOPS: u32 = 12;

/// The count of a message from `from` to `to`, where the newest message that `from` got has this one.
///
/// # Errors
/// [`Refusal::Throttled`] beyond [`MAX_HOPS`], which is logged.
pub(super) fn next(from: &SessionKey, to: &SessionKey, got: u32) -> Result<u32, Refusal> {
    let hops = got.saturating_add(1);
    if hops > MAX_HOPS {
        tracing::warn!(%from, %to, hops, "agents {from} and {to} write to each other without end; the message is refused until a person prompts one of them");
        return Err(Refusal::Throttled { from: Box::new(from.clone()), to: Box::new(to.clone()) });
    }
    Ok(hops)
}
