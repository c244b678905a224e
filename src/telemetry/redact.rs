//! What must never be logged, and how it is shown instead.
use http::{HeaderMap, HeaderName, Uri};
use std::fmt;

/// Stands where a secret was.
const MASK: &str = "***";

/// Headers that carry credentials.
const SECRET_HEADERS: [&str; 8] = [
    "authorization",
    "proxy-authorization",
    "x-api-key",
    "x-goog-api-key",
    "api-key",
    "cookie",
    "set-cookie",
    "chatgpt-account-id",
];

/// Query parameters that carry credentials (Gemini's `key`, OAuth's `access_token`).
const SECRET_PARAMETERS: [&str; 2] = ["key", "access_token"];

/// Whether a header carries a credential.
pub fn is_secret(name: &HeaderName) -> bool {
    SECRET_HEADERS.contains(&name.as_str())
}

/// By its name as a server reads it: each letter may be written as `%6B`.
fn is_secret_parameter(name: &str) -> bool {
    form_urlencoded::parse(name.as_bytes()).next().is_some_and(|(name, _)| SECRET_PARAMETERS.contains(&&*name))
}

/// Headers that print without their secrets.
pub struct Headers<'a>(pub &'a HeaderMap);

impl fmt::Display for Headers<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, (name, value)) in self.0.iter().enumerate() {
            let separator = if index == 0 { "" } else { "; " };
            let secret = value.is_sensitive() || is_secret(name);
            let shown = if secret { MASK.into() } else { String::from_utf8_lossy(value.as_bytes()) };
            write!(f, "{separator}{name}: {shown}")?;
        }
        Ok(())
    }
}

/// Path and query of a URI without the secrets in its query.
pub struct Target<'a>(pub &'a Uri);

impl fmt::Display for Target<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.0.path())?;
        for (index, parameter) in self.0.query().into_iter().flat_map(|query| query.split('&')).enumerate() {
            f.write_str(if index == 0 { "?" } else { "&" })?;
            match parameter.split_once('=') {
                Some((name, _)) if is_secret_parameter(name) => write!(f, "{name}={MASK}")?,
                _ => f.write_str(parameter)?,
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use http::HeaderValue;

    #[test]
    fn credentials_are_masked_and_the_rest_is_shown() {
        let mut headers = HeaderMap::new();
        for name in SECRET_HEADERS {
            headers.insert(name, HeaderValue::from_static("s3cret"));
        }
        headers.insert("x-extra", HeaderValue::from_static("s3cret"));
        headers.get_mut("x-extra").unwrap().set_sensitive(true);
        headers.insert("accept", HeaderValue::from_static("text/plain"));
        let shown = Headers(&headers).to_string();
        assert!(!shown.contains("s3cret"), "{shown}");
        assert!(shown.contains("accept: text/plain"));
    }

    #[test]
    fn keys_in_queries_are_masked() {
        for (uri, shown) in [
            ("/v1beta/models/m:generateContent?key=AIza&alt=sse", "/v1beta/models/m:generateContent?key=***&alt=sse"),
            ("/x?a=1&access_token=t", "/x?a=1&access_token=***"),
            ("/x?%6bey=AIza&access%5Ftoken=t&", "/x?%6bey=***&access%5Ftoken=***&"),
            ("/x?monkey=1", "/x?monkey=1"),
            ("/x", "/x"),
        ] {
            assert_eq!(Target(&uri.parse().unwrap()).to_string(), shown);
        }
    }
}
