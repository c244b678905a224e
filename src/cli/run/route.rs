//! Base URLs: the one that an agent had, which becomes an upstream, and the one that it gets.
use crate::config::Provider;
use http::Uri;
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use std::net::SocketAddr;

/// All that means something in a path (RFC 3986 section 2.3).
const RESERVED: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~');

/// A base URL that somebody set before: a company's gateway, a local server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Earlier {
    /// Whose API is there.
    pub(super) provider: Provider,
    /// Where the gateway sends requests: without the version, which stands in every path.
    pub(super) upstream: Uri,
    /// Whether the version stood at its end.
    is_versioned: bool,
}

impl Earlier {
    /// What a setting says whose usual value ends with `version`; `None` when it is no URL to send requests to.
    pub(super) fn new(provider: Provider, version: &str, url: &str) -> Option<Self> {
        let url = url.trim().trim_end_matches('/');
        let stripped = url.strip_suffix(version);
        let upstream: Uri = stripped.unwrap_or(url).parse().ok()?;
        let is_url = matches!(upstream.scheme_str(), Some("http" | "https"))
            && upstream.query().is_none()
            && upstream.authority().is_some_and(|authority| !authority.as_str().contains('@'));
        is_url.then_some(Self { provider, upstream, is_versioned: stripped.is_some() })
    }
}

/// Where the gateway is for one agent.
#[derive(Debug, Clone)]
pub(super) struct Gateway {
    root: String,
}

impl Gateway {
    /// The gateway at `addr`; with a session, it is in every path.
    pub(super) fn new(addr: SocketAddr, session: Option<&str>) -> Self {
        let session = session.map(|id| format!("/s/{}", utf8_percent_encode(id, RESERVED))).unwrap_or_default();
        Self { root: format!("http://{addr}{session}") }
    }

    /// The value of a setting whose usual value ends with `version`. Where the earlier one had no version, paths have none
    /// either, and only behind the upstream's name is it known whose they are.
    pub(super) fn base_url(&self, provider: Provider, version: &str, earlier: &[Earlier]) -> String {
        let bare = earlier.iter().any(|earlier| earlier.provider == provider && !earlier.is_versioned);
        if bare { format!("{}/{}", self.root, built_in(provider)) } else { format!("{}{version}", self.root) }
    }
}

/// The name of the upstream that a provider's requests go to.
pub(super) const fn built_in(provider: Provider) -> &'static str {
    match provider {
        Provider::Anthropic => "anthropic",
        Provider::OpenAi => "openai",
        Provider::Gemini => "gemini",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_base_url_leads_where_the_earlier_one_led() {
        let addr = ([127, 0, 0, 1], 9).into();
        for (provider, version, earlier, upstream, own) in [
            (Provider::Anthropic, "", "https://a.test/anthropic/", "https://a.test/anthropic", ""),
            (Provider::Anthropic, "/v1", "https://a.test/v1", "https://a.test/", "/v1"),
            (Provider::Anthropic, "/v1", "https://a.test/messages-api", "https://a.test/messages-api", "/anthropic"),
            (Provider::OpenAi, "/v1", "https://a.test/openai/v1/", "https://a.test/openai", "/v1"),
            (Provider::OpenAi, "/v1", "https://a.test/v4", "https://a.test/v4", "/openai"),
            (Provider::Gemini, "", "http://127.0.0.1:1", "http://127.0.0.1:1/", ""),
        ] {
            let earlier = Earlier::new(provider, version, earlier).unwrap();
            assert_eq!(earlier.upstream.to_string(), upstream);
            let own = format!("http://127.0.0.1:9{own}");
            assert_eq!(Gateway::new(addr, None).base_url(provider, version, &[earlier]), own);
        }
        for none in ["", "a.test", "ftp://a.test", "https://user:pass@a.test", "https://a.test/?x=1"] {
            assert_eq!(Earlier::new(Provider::OpenAi, "/v1", none), None, "{none}");
        }
    }

    #[test]
    fn a_session_stands_in_every_base_url() {
        let gateway = Gateway::new(([127, 0, 0, 1], 9).into(), Some("a b/c"));
        assert_eq!(gateway.base_url(Provider::Anthropic, "", &[]), "http://127.0.0.1:9/s/a%20b%2Fc");
        assert_eq!(gateway.base_url(Provider::OpenAi, "/v1", &[]), "http://127.0.0.1:9/s/a%20b%2Fc/v1");
    }
}
