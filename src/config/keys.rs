//! Clients' keys after checking: who may come in, as which tenant, with which credential for the way up.
use super::resolved::Secret;
use std::collections::BTreeMap;
use std::fmt;

/// What every key begins with, so that people and secret scanners know one when they see it.
pub const KEY_PREFIX: &str = "hgk_";

/// `keys`.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Keys {
    /// Whether a request without a known key is refused. Without entries there is nothing to require.
    pub required: bool,
    /// The keys of the configuration, then those of the file.
    pub entries: Vec<Key>,
    /// Where further entries were read from.
    pub file: Option<std::path::PathBuf>,
    /// What every tenant may use.
    pub limits: TenantLimits,
    /// What single tenants may use instead.
    pub tenants: BTreeMap<String, TenantLimits>,
}

impl Keys {
    /// Whether there are any: without one the gateway takes every client as it is.
    pub const fn are_used(&self) -> bool {
        !self.entries.is_empty() || self.file.is_some()
    }

    /// What a tenant may use.
    pub fn limits_of(&self, tenant: &str) -> &TenantLimits {
        self.tenants.get(tenant).unwrap_or(&self.limits)
    }
}

/// One client's key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Key {
    /// What it is called in logs.
    pub name: String,
    /// What the key hashes to.
    pub hash: KeyHash,
    /// Whose sessions and limits it has.
    pub tenant: String,
    /// By an upstream's name: the credential that takes the key's place on the way up.
    pub credentials: BTreeMap<String, Secret>,
}

/// The SHA-256 of a key.
///
/// One round of a plain hash is right here, and a slow one (argon2, bcrypt) would be wrong: those are for passwords, which
/// can be guessed. A key is 256 random bits, so that nobody finds it by trying, whatever a try costs; and the hash is
/// computed for every request. SHA-256, since every system has a command for it.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct KeyHash([u8; KeyHash::LEN]);

impl KeyHash {
    const LEN: usize = 32;
    /// Names the algorithm, so that another one can stand beside it.
    const PREFIX: &'static str = "sha256:";

    /// Of a key.
    pub fn of(key: &[u8]) -> Self {
        use sha2::Digest as _;
        Self(sha2::Sha256::digest(key).into())
    }

    /// As it is written: `sha256:` and 64 hex digits.
    pub(super) fn parse(text: &str) -> Option<Self> {
        let hex = text.strip_prefix(Self::PREFIX)?.as_bytes();
        let (pairs, rest) = hex.as_chunks::<2>();
        let mut hash = [0; Self::LEN];
        if !rest.is_empty() || pairs.len() != hash.len() {
            return None;
        }
        let digit = |byte: u8| char::from(byte).to_digit(16).and_then(|digit| u8::try_from(digit).ok());
        for (byte, [high, low]) in hash.iter_mut().zip(pairs) {
            *byte = digit(*high)? << 4 | digit(*low)?;
        }
        Some(Self(hash))
    }
}

impl fmt::Display for KeyHash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(Self::PREFIX)?;
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl fmt::Debug for KeyHash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// What the keys of one tenant may use together; 0: no limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct TenantLimits {
    /// Requests per minute.
    pub requests_per_minute: usize,
    /// Requests at once; a stream is one until its last byte.
    pub concurrent_requests: usize,
    /// Tokens per minute, as upstreams report them: input that came from no cache, and output.
    pub tokens_per_minute: usize,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_hash_is_what_sha256sum_prints() {
        let hash = KeyHash::of(b"abc");
        let text = "sha256:ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
        assert_eq!(hash.to_string(), text);
        assert_eq!(KeyHash::parse(text), Some(hash));
        assert_eq!(KeyHash::parse(&text.to_uppercase().replace("SHA256", "sha256")), Some(hash));
        for other in ["", "sha256:", &text[1..], &text[..text.len() - 1], &format!("{text}0"), &text.replace('b', "g")]
        {
            assert_eq!(KeyHash::parse(other), None, "{other}");
        }
    }
}
