//! The upstream's URI for a request: its base URL, then path and query byte for byte.
use super::UpstreamError;
use http::Uri;
use http::uri::{Authority, InvalidUri, PathAndQuery, Scheme};

/// A base URL taken apart once.
#[derive(Debug, Clone)]
pub(super) struct Base {
    scheme: Scheme,
    authority: Authority,
    /// Put before every path; empty or `/like/this`.
    path: String,
}

impl Base {
    pub(super) fn new(url: &Uri) -> Result<Self, UpstreamError> {
        let (Some(scheme), Some(authority)) = (url.scheme(), url.authority()) else {
            return Err(UpstreamError::Config("the base URL needs a scheme and a host"));
        };
        let path = url.path().trim_end_matches('/').to_owned();
        Ok(Self { scheme: scheme.clone(), authority: authority.clone(), path })
    }

    /// The host, without credentials and port.
    pub(super) fn host(&self) -> &str {
        self.authority.host()
    }

    /// The URI to ask. Without a path of its own nothing is copied and nothing is parsed again.
    pub(super) fn join(&self, line: PathAndQuery) -> Result<Uri, UpstreamError> {
        let line = if self.path.is_empty() { line } else { format!("{}{line}", self.path).try_into()? };
        let mut parts = http::uri::Parts::default();
        parts.scheme = Some(self.scheme.clone());
        parts.authority = Some(self.authority.clone());
        parts.path_and_query = Some(line);
        Uri::from_parts(parts).map_err(|_| UpstreamError::Config("the base URL can't take this path"))
    }
}

/// The line without a `key` parameter: where Gemini clients put their credential.
///
/// # Errors
/// None in practice: it is a part of a line.
pub fn without_key(line: PathAndQuery) -> Result<PathAndQuery, InvalidUri> {
    let Some(query) = line.query().filter(|query| query.split('&').any(is_key)) else {
        return Ok(line);
    };
    let kept: Vec<&str> = query.split('&').filter(|parameter| !is_key(parameter)).collect();
    let path = line.path();
    if kept.is_empty() { path.parse() } else { format!("{path}?{}", kept.join("&")).try_into() }
}

/// By its name as a server reads it: each letter may be written as `%6B`.
fn is_key(parameter: &str) -> bool {
    form_urlencoded::parse(parameter.as_bytes()).next().is_some_and(|(name, _)| name == "key")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_is_taken_out_however_its_name_is_written() {
        for (line, kept) in [
            ("/m?key=a&alt=sse", "/m?alt=sse"),
            ("/m?alt=sse&k%65y=a", "/m?alt=sse"),
            ("/m?%6B%65%79=a&key=b&key", "/m"),
            ("/m?monkey=a&&Key=%6Bey", "/m?monkey=a&&Key=%6Bey"),
            ("/m", "/m"),
        ] {
            assert_eq!(without_key(line.parse().unwrap()).unwrap().as_str(), kept, "{line}");
        }
    }
}
