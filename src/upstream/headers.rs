//! Headers that end at a hop.
use http::header::{
    CONNECTION, HeaderMap, HeaderName, HeaderValue, PROXY_AUTHENTICATE, PROXY_AUTHORIZATION, TE, TRANSFER_ENCODING,
    UPGRADE,
};

/// Fields that are about one connection (RFC 9110 section 7.6.1, and the older names still in use). `trailer` is not
/// among them: it announces fields that are passed on.
const HOP_BY_HOP: [HeaderName; 7] = [
    CONNECTION,
    HeaderName::from_static("keep-alive"),
    HeaderName::from_static("proxy-connection"),
    PROXY_AUTHENTICATE,
    PROXY_AUTHORIZATION,
    TRANSFER_ENCODING,
    UPGRADE,
];

/// Prefix of the gateway's own fields: instructions to it, never to an upstream.
const OWN_PREFIX: &str = "x-hookgate-";

/// Takes out the hop-by-hop fields and whatever `connection` names. `te: trailers` stays, since trailers are relayed.
pub fn strip_hop_by_hop(headers: &mut HeaderMap) {
    // Most heads have none: one look at each name costs less than a removal of each that may be there.
    if !headers.keys().any(|name| *name == TE || HOP_BY_HOP.contains(name)) {
        return;
    }
    let trailers = headers.get_all(TE).iter().any(|value| lists(value, "trailers"));
    if headers.contains_key(CONNECTION) {
        for name in named_by_connection(headers) {
            headers.remove(name);
        }
    }
    for name in &HOP_BY_HOP {
        headers.remove(name);
    }
    headers.remove(TE);
    if trailers {
        headers.insert(TE, HeaderValue::from_static("trailers"));
    }
}

/// Whether a field of this name is about one hop, or for the gateway itself.
pub fn ends_here(name: &HeaderName) -> bool {
    *name == TE || HOP_BY_HOP.contains(name) || name.as_str().starts_with(OWN_PREFIX)
}

/// Takes out the client's `x-hookgate-*` fields.
pub fn strip_own(headers: &mut HeaderMap) {
    let own: Vec<HeaderName> = headers.keys().filter(|name| name.as_str().starts_with(OWN_PREFIX)).cloned().collect();
    for name in own {
        headers.remove(name);
    }
}

/// Whether a comma-separated field value lists `token`, in any case.
pub fn lists(value: &HeaderValue, token: &str) -> bool {
    tokens(value).any(|listed| listed.eq_ignore_ascii_case(token))
}

fn tokens(value: &HeaderValue) -> impl Iterator<Item = &str> {
    value.to_str().unwrap_or_default().split(',').map(str::trim)
}

fn named_by_connection(headers: &HeaderMap) -> Vec<HeaderName> {
    headers
        .get_all(CONNECTION)
        .iter()
        .flat_map(tokens)
        .filter_map(|token| HeaderName::from_bytes(token.as_bytes()).ok())
        .collect()
}
