//! How much of one request is a prefix of the next: what a provider's prompt cache can reuse.
//!
//! Measured twice, over the client's own bytes and over what went up, so that a loss can be told from the client's own.
//! Units are the pieces that providers cache by: instructions and tools together, then each item of the history.

/// One piece of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Piece {
    /// Hash of the client's bytes, cache markers aside.
    pub client: u64,
    /// Hash of what was placed into it; 0 for nothing.
    pub placed: u64,
    /// Length of the client's bytes.
    pub len: u32,
}

/// A request as a list of pieces.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Prefix {
    /// In the order in which providers cache.
    pub pieces: Vec<Piece>,
}

/// What of the request before is a prefix of this one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Kept {
    /// Bytes of the request before.
    pub before: u64,
    /// Bytes kept by the client.
    pub client: u64,
    /// Bytes kept in what went up.
    pub sent: u64,
    /// The piece where what went up departs although the client's bytes go on.
    pub broken_at: Option<usize>,
}

impl Prefix {
    /// Compares with the request before.
    pub fn kept(&self, before: &Self) -> Kept {
        let mut kept =
            Kept { before: before.pieces.iter().map(|p| u64::from(p.len)).sum(), client: 0, sent: 0, broken_at: None };
        for (index, (new, old)) in self.pieces.iter().zip(&before.pieces).enumerate() {
            if new.client != old.client {
                break;
            }
            kept.client += u64::from(old.len);
            if kept.broken_at.is_none() {
                if new.placed == old.placed {
                    kept.sent += u64::from(old.len);
                } else {
                    kept.broken_at = Some(index);
                }
            }
        }
        kept
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn piece(client: u64, placed: u64) -> Piece {
        Piece { client, placed, len: 10 }
    }

    #[test]
    fn an_appended_request_keeps_all() {
        let before = Prefix { pieces: vec![piece(1, 9), piece(2, 0)] };
        let after = Prefix { pieces: vec![piece(1, 9), piece(2, 0), piece(3, 0)] };
        assert_eq!(after.kept(&before), Kept { before: 20, client: 20, sent: 20, broken_at: None });
    }

    #[test]
    fn a_loss_by_injection_is_told_from_the_clients_own() {
        let before = Prefix { pieces: vec![piece(1, 9), piece(2, 0), piece(3, 0)] };
        let injected = Prefix { pieces: vec![piece(1, 9), piece(2, 7), piece(3, 0)] };
        assert_eq!(injected.kept(&before), Kept { before: 30, client: 30, sent: 10, broken_at: Some(1) });
        let rewritten = Prefix { pieces: vec![piece(1, 9), piece(5, 0), piece(3, 0)] };
        assert_eq!(rewritten.kept(&before), Kept { before: 30, client: 10, sent: 10, broken_at: None });
    }
}
