//! What changes of a request beside its body.
use crate::upstream::credential::CREDENTIALS;
use crate::upstream::headers::ends_here;
use http::header::{
    ACCEPT_ENCODING, CONTENT_ENCODING, CONTENT_LENGTH, CONTENT_TYPE, COOKIE, EXPECT, HOST, HeaderMap, HeaderName,
    HeaderValue,
};

/// Headers that hooks have no say in, beside credentials and the hop-by-hop ones: cookies, and what says how the body is
/// written.
const KEPT: [HeaderName; 7] = [COOKIE, HOST, CONTENT_LENGTH, CONTENT_ENCODING, CONTENT_TYPE, ACCEPT_ENCODING, EXPECT];

/// Why a header is not changed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum HeaderError {
    /// No header's name.
    #[error("{0:?} is no header name")]
    Name(String),
    /// A control character in the value.
    #[error("the value of {0} can't stand in a header")]
    Value(HeaderName),
    /// Not for hooks.
    #[error("{0} is not for hooks to change")]
    Kept(HeaderName),
}

/// What hooks say of the request's head.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Upward {
    headers: Vec<(HeaderName, Option<HeaderValue>)>,
    /// The model, where the path names it.
    pub model: Option<String>,
}

impl Upward {
    /// Sets a header.
    ///
    /// # Errors
    /// [`HeaderError`]
    pub fn set(&mut self, name: &str, value: &str) -> Result<(), HeaderError> {
        let name = changeable(name)?;
        let value = HeaderValue::from_str(value).map_err(|_| HeaderError::Value(name.clone()))?;
        self.headers.push((name, Some(value)));
        Ok(())
    }

    /// Takes headers out.
    ///
    /// # Errors
    /// [`HeaderError`]; none is taken out then.
    pub fn remove(&mut self, names: &[String]) -> Result<(), HeaderError> {
        let names: Vec<HeaderName> = names.iter().map(|name| changeable(name)).collect::<Result<_, _>>()?;
        self.headers.extend(names.into_iter().map(|name| (name, None)));
        Ok(())
    }

    /// What another one says comes behind.
    pub(super) fn extend(&mut self, other: Self) {
        self.headers.extend(other.headers);
        self.model = other.model.or(self.model.take());
    }

    /// Changes the headers.
    pub fn apply(self, headers: &mut HeaderMap) {
        for (name, value) in self.headers {
            match value {
                Some(value) => headers.insert(name, value),
                None => headers.remove(name),
            };
        }
    }
}

fn changeable(name: &str) -> Result<HeaderName, HeaderError> {
    let name = HeaderName::try_from(name).map_err(|_| HeaderError::Name(name.to_owned()))?;
    let is_kept = ends_here(&name) || CREDENTIALS.contains(&name) || KEPT.contains(&name);
    if is_kept { Err(HeaderError::Kept(name)) } else { Ok(name) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn credentials_framing_and_the_gateways_own_headers_stay() {
        for name in ["authorization", "X-Api-Key", "host", "Content-Length", "connection", "x-hookgate-session", "te"] {
            assert!(matches!(Upward::default().set(name, "x"), Err(HeaderError::Kept(_))), "{name}");
        }
        assert!(Upward::default().set("x y", "x").is_err());
        assert!(Upward::default().set("x-a", "x\ny").is_err());
    }

    #[test]
    fn the_last_word_counts() {
        let mut headers = HeaderMap::from_iter([(HeaderName::from_static("x-a"), HeaderValue::from_static("1"))]);
        let mut upward = Upward::default();
        upward.set("X-A", "2").unwrap();
        upward.remove(&["x-a".to_owned()]).unwrap();
        upward.set("x-b", "3").unwrap();
        upward.apply(&mut headers);
        assert_eq!(headers.len(), 1);
        assert_eq!(headers["x-b"], "3");
    }
}
