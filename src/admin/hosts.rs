//! Under which names the listener is addressed, and from where.
//!
//! A web page that the operator visits can send requests to loopback addresses, and by rebinding a name of its own to such
//! an address (DNS rebinding) it could read the answers too. So the `Host` must be one that no foreign name server can
//! stand behind, and an `Origin`, which browsers add by themselves, must be the listener's own. There are no CORS headers.
use super::error::ApiError;
use http::header::{HOST, ORIGIN};
use http::request::Parts;
use http::uri::Authority;
use http::{HeaderMap, HeaderName, Version};
use std::net::{IpAddr, SocketAddr};

/// How a loopback listener is addressed.
const LOOPBACK: [&str; 3] = ["localhost", "127.0.0.1", "[::1]"];
/// A `Host` leaves this port out (RFC 9110 section 4.2.1).
const HTTP_PORT: u16 = 80;

/// The names of the listener, in lower case.
#[derive(Debug, Clone)]
pub(super) struct Hosts {
    names: Vec<String>,
    /// The listener is bound to every address of the machine: which ones it has, and on which port a container publishes
    /// it, is not known here. Any address will do, since only names can be rebound.
    any_address: bool,
}

impl Hosts {
    /// Those of a listener that is bound to `addr`.
    pub(super) fn of(addr: SocketAddr) -> Self {
        let ip = match addr.ip() {
            IpAddr::V4(ip) => ip.to_string(),
            IpAddr::V6(ip) => format!("[{ip}]"),
        };
        let names = LOOPBACK.into_iter().chain([ip.as_str()]);
        let mut names: Vec<_> = names.map(|name| format!("{name}:{}", addr.port())).collect();
        if addr.port() == HTTP_PORT {
            names.extend(LOOPBACK.map(str::to_owned).into_iter().chain([ip]));
        }
        Self { names, any_address: addr.ip().is_unspecified() }
    }

    /// Refuses what is addressed to somebody else, or sent by a page of another origin.
    pub(super) fn check(&self, request: &Parts) -> Result<(), ApiError> {
        let authority = request.uri.authority().filter(|_| request.version == Version::HTTP_2);
        // HTTP/2 names the host in the target, and need not name it again (RFC 9113 section 8.3.1).
        let named = only(&request.headers, HOST).unwrap_or_else(|| authority.map(Authority::as_str));
        let host = named.filter(|host| self.contains(host));
        // A target in absolute form wins over the header (RFC 9112 section 3.2.2).
        let target = request.uri.authority().is_none_or(|authority| self.contains(authority.as_str()));
        let Some(host) = host.filter(|_| target) else { return Err(ApiError::WrongHost) };
        let own = |origin: &str| origin.strip_prefix("http://").is_some_and(|origin| origin.eq_ignore_ascii_case(host));
        match only(&request.headers, ORIGIN) {
            None => Ok(()),
            Some(Some(origin)) if own(origin) => Ok(()),
            Some(_) => Err(ApiError::ForeignOrigin),
        }
    }

    fn contains(&self, host: &str) -> bool {
        let host = host.to_ascii_lowercase();
        self.names.contains(&host) || self.any_address && is_address(&host)
    }
}

/// `localhost` counts as an address: browsers and resolvers give it no other meaning (RFC 6761 section 6.3).
fn is_address(host: &str) -> bool {
    let (name, port) = match host.rsplit_once(':') {
        Some((name, port)) if !port.ends_with(']') => (name, port),
        _ => (host, "0"),
    };
    let name = if name == "localhost" { "127.0.0.1" } else { name };
    format!("{name}:{port}").parse::<SocketAddr>().is_ok()
}

/// `None`: the header is absent; `Some(None)`: it is there more than once, or is no text.
fn only(headers: &HeaderMap, name: HeaderName) -> Option<Option<&str>> {
    let mut values = headers.get_all(name).into_iter();
    let first = values.next()?;
    Some(first.to_str().ok().filter(|_| values.next().is_none()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use http::Request;

    fn checked(listener: &str, target: &str, headers: &[(&str, &str)]) -> Option<u16> {
        let mut request = Request::builder().uri(target);
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        let (parts, ()) = request.body(()).unwrap().into_parts();
        Hosts::of(listener.parse().unwrap()).check(&parts).err().map(|error| error.verdict().0.as_u16())
    }

    #[test]
    fn the_host_must_be_the_listeners() {
        for (listener, host, refused) in [
            ("127.0.0.1:8788", "127.0.0.1:8788", false),
            ("127.0.0.1:8788", "localhost:8788", false),
            ("127.0.0.1:8788", "LocalHost:8788", false),
            ("127.0.0.1:8788", "[::1]:8788", false),
            ("[::1]:8788", "[::1]:8788", false),
            ("10.0.0.5:8788", "10.0.0.5:8788", false),
            ("127.0.0.1:80", "localhost", false),
            ("127.0.0.1:8788", "localhost", true),
            ("127.0.0.1:8788", "localhost:8787", true),
            ("127.0.0.1:8788", "10.0.0.5:8788", true),
            ("127.0.0.1:8788", "evil.example:8788", true),
            ("127.0.0.1:8788", "localhost.evil.example:8788", true),
            ("127.0.0.1:8788", "u@localhost:8788", true),
            ("127.0.0.1:8788", "", true),
            // Published by a container on another port, or addressed as a pod.
            ("0.0.0.0:8788", "10.1.2.3:8788", false),
            ("0.0.0.0:8788", "localhost:9999", false),
            ("0.0.0.0:8788", "localhost", false),
            ("[::]:8788", "[fd00::1]:8788", false),
            ("[::]:8788", "[fd00::1]", false),
            ("0.0.0.0:8788", "evil.example:8788", true),
            ("0.0.0.0:8788", "127.0.0.1.evil.example:8788", true),
            ("0.0.0.0:8788", "localhost:port", true),
        ] {
            assert_eq!(
                checked(listener, "/v1/sessions", &[("host", host)]),
                refused.then_some(421),
                "{listener} {host}"
            );
        }
    }

    #[test]
    fn a_host_that_is_absent_or_ambiguous_is_refused() {
        let own = ("host", "localhost:1");
        assert_eq!(checked("127.0.0.1:1", "/", &[]), Some(421));
        assert_eq!(checked("127.0.0.1:1", "/", &[own, own]), Some(421));
        assert_eq!(checked("127.0.0.1:1", "http://localhost:1/", &[own]), None);
        assert_eq!(checked("127.0.0.1:1", "http://evil.example/", &[own]), Some(421));
    }

    #[test]
    fn http_2_names_the_host_in_its_target() {
        let hosts = Hosts::of("127.0.0.1:1".parse().unwrap());
        for (version, target, refused) in [
            (Version::HTTP_2, "http://localhost:1/", false),
            (Version::HTTP_2, "http://evil.example:1/", true),
            (Version::HTTP_11, "http://localhost:1/", true),
        ] {
            let request = Request::builder().version(version).uri(target).body(()).unwrap();
            assert_eq!(hosts.check(&request.into_parts().0).is_err(), refused, "{version:?} {target}");
        }
    }

    #[test]
    fn a_foreign_origin_is_refused() {
        let own = ("host", "localhost:1");
        for (origin, refused) in [
            ("http://localhost:1", false),
            ("http://LOCALHOST:1", false),
            ("http://127.0.0.1:1", true),
            ("http://localhost:2", true),
            ("https://localhost:1", true),
            ("http://localhost:1/", true),
            ("http://evil.example", true),
            ("null", true),
            ("", true),
        ] {
            assert_eq!(checked("127.0.0.1:1", "/", &[own, ("origin", origin)]), refused.then_some(403), "{origin}");
        }
        let twice = ("origin", "http://localhost:1");
        assert_eq!(checked("127.0.0.1:1", "/", &[own, twice, twice]), Some(403));
    }
}
