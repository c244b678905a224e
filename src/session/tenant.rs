//! Whose credential a request carries. Only keyed fingerprints leave this file: no log, record or metric ever holds a
//! credential.
use super::record::Tenant;
use super::store::SECRET_LEN;
use crate::config::Isolation;
use http::{HeaderMap, HeaderName, header};
use serde::{Deserialize, Serialize};
use std::borrow::Cow;
use std::fmt;

/// The tenant of everybody where sessions are not isolated.
pub const LOCAL: &str = "local";
/// The tenant of requests without a credential: they share what they have, which is nothing.
pub const ANONYMOUS: &str = "t_none";
/// Tenants made of credentials are named so; those of the gateway's own keys are not.
const BY_CREDENTIAL: &str = "t_";
/// Hex digits of the fingerprint in a tenant's name: 48 bits tell a gateway's credentials apart, and say nothing about
/// them.
const NAME_DIGITS: usize = 12;
/// Hex digits of a fingerprint: 128 bits, so that two credentials never meet by accident.
const FINGERPRINT_DIGITS: usize = 32;

/// Where providers' clients put their credential, beside `Authorization: Bearer`. Gemini also takes it as `?key=`.
const KEY_HEADERS: [HeaderName; 3] = [
    HeaderName::from_static("x-api-key"),
    HeaderName::from_static("x-goog-api-key"),
    HeaderName::from_static("api-key"),
];
const KEY_PARAMETER: &str = "key";
const BEARER: &str = "bearer";

/// A keyed hash of a credential: 32 hex digits.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Fingerprint(pub String);

/// A request's credential. It never prints.
#[derive(Clone, PartialEq, Eq)]
pub struct Credential<'a>(Cow<'a, [u8]>);

impl fmt::Debug for Credential<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Credential(***)")
    }
}

impl<'a> Credential<'a> {
    /// The credential of a request: `Authorization`, else one of the key headers, else `?key=`; `query` without `?`.
    /// Blank ones do not count.
    pub fn of(headers: &'a HeaderMap, query: Option<&'a str>) -> Option<Self> {
        Self::all(headers, query).next()
    }

    /// All that a request has, in the order in which they count.
    pub fn all(headers: &'a HeaderMap, query: Option<&'a str>) -> impl Iterator<Item = Self> {
        let authorization = headers.get(header::AUTHORIZATION).map(|value| without_scheme(value.as_bytes()));
        let keys = KEY_HEADERS.into_iter().filter_map(|name| headers.get(name)).map(http::HeaderValue::as_bytes);
        let in_headers =
            authorization.into_iter().chain(keys).map(<[u8]>::trim_ascii).filter(|value| !value.is_empty());
        in_headers.map(|value| Self(Cow::Borrowed(value))).chain(query.into_iter().filter_map(in_query))
    }

    /// Its bytes, for a hash in memory; never to be stored or shown.
    pub fn bytes(&self) -> &[u8] {
        &self.0
    }

    /// Whether it begins with `prefix`: some clients' credentials say what they are (`sk-ant-oat`).
    pub fn starts_with(&self, prefix: &str) -> bool {
        self.0.starts_with(prefix.as_bytes())
    }
}

/// `Bearer x` and `x` are the same credential; another scheme belongs to what it is.
fn without_scheme(value: &[u8]) -> &[u8] {
    match value.split_at_checked(BEARER.len()) {
        Some((scheme, rest)) if scheme.eq_ignore_ascii_case(BEARER.as_bytes()) && rest.starts_with(b" ") => rest,
        _ => value,
    }
}

fn in_query(query: &str) -> Option<Credential<'_>> {
    let (_, value) =
        form_urlencoded::parse(query.as_bytes()).find(|(name, value)| name == KEY_PARAMETER && !value.is_empty())?;
    Some(Credential(match value {
        Cow::Borrowed(text) => Cow::Borrowed(text.as_bytes()),
        Cow::Owned(text) => Cow::Owned(text.into_bytes()),
    }))
}

/// Whether a tenant is made of a credential, which may change, and not of the gateway's own keys.
pub fn is_by_credential(tenant: &Tenant) -> bool {
    tenant.0.starts_with(BY_CREDENTIAL)
}

/// Tells tenants apart.
#[derive(Clone)]
pub struct Tenants {
    secret: [u8; SECRET_LEN],
    isolation: Isolation,
}

impl Tenants {
    /// With the store's [secret](super::store::secret).
    pub const fn new(secret: [u8; SECRET_LEN], isolation: Isolation) -> Self {
        Self { secret, isolation }
    }

    /// The same secret with another isolation.
    #[must_use]
    pub const fn isolated(&self, isolation: Isolation) -> Self {
        Self { secret: self.secret, isolation }
    }

    /// The one tenant that there is, where sessions are not isolated.
    pub fn only(&self) -> Option<Tenant> {
        (self.isolation == Isolation::None).then(|| Tenant(LOCAL.into()))
    }

    /// The fingerprint of a credential.
    pub fn fingerprint(&self, credential: &Credential<'_>) -> Fingerprint {
        let hash = blake3::keyed_hash(&self.secret, &credential.0).to_hex();
        Fingerprint(hash.as_str().get(..FINGERPRINT_DIGITS).unwrap_or(&hash).to_owned())
    }

    /// The tenant of a request, and its credential's fingerprint; with a key of the gateway's the key's tenant, which no
    /// credential is bound to.
    pub fn whose(
        &self,
        key: Option<&Tenant>,
        headers: &HeaderMap,
        query: Option<&str>,
    ) -> (Tenant, Option<Fingerprint>) {
        if let Some(tenant) = key {
            return (self.only().unwrap_or_else(|| tenant.clone()), None);
        }
        let credential = Credential::of(headers, query).map(|credential| self.fingerprint(&credential));
        (self.tenant(credential.as_ref()), credential)
    }

    /// The tenant that a credential opens sessions in.
    pub fn tenant(&self, credential: Option<&Fingerprint>) -> Tenant {
        match (self.isolation, credential) {
            (Isolation::None, _) => Tenant(LOCAL.into()),
            (Isolation::Credential, None) => Tenant(ANONYMOUS.into()),
            (Isolation::Credential, Some(Fingerprint(hex))) => {
                Tenant(format!("{BY_CREDENTIAL}{}", hex.get(..NAME_DIGITS).unwrap_or(hex)))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn headers(pairs: &[(&'static str, &str)]) -> HeaderMap {
        pairs.iter().map(|(name, value)| (HeaderName::from_static(name), value.parse().unwrap())).collect()
    }

    fn secret_of(pairs: &[(&'static str, &str)], query: Option<&str>) -> Option<String> {
        let headers = headers(pairs);
        Credential::of(&headers, query).map(|c| String::from_utf8(c.0.into_owned()).unwrap())
    }

    #[test]
    fn a_credential_is_found_wherever_providers_take_it() {
        /// Headers, query, what is found.
        type Case = (&'static [(&'static str, &'static str)], Option<&'static str>, Option<&'static str>);
        let cases: [Case; 12] = [
            (&[("authorization", "Bearer k1")], None, Some("k1")),
            (&[("authorization", "bearer   k1 ")], None, Some("k1")),
            (&[("authorization", "Basic dTpw")], None, Some("Basic dTpw")),
            (&[("authorization", "Bearer ")], None, None),
            (&[("authorization", "Bearer "), ("x-api-key", "k2")], None, Some("k2")),
            (&[("x-api-key", "k2")], None, Some("k2")),
            (&[("x-goog-api-key", "k3")], Some("key=k4"), Some("k3")),
            (&[("api-key", "k5")], None, Some("k5")),
            (&[], Some("alt=sse&key=k%2B4"), Some("k+4")),
            (&[], Some("keys=no&key="), None),
            (&[("authorization", "Bearer k1"), ("x-api-key", "k2")], None, Some("k1")),
            (&[], None, None),
        ];
        for (pairs, query, expected) in cases {
            assert_eq!(secret_of(pairs, query).as_deref(), expected, "{pairs:?} {query:?}");
        }
    }

    #[test]
    fn tenants_differ_by_credential_and_by_store() {
        let (one, two) = (headers(&[("x-api-key", "one")]), headers(&[("x-api-key", "two")]));
        let bearer = headers(&[("authorization", "Bearer one")]);
        let name = |secret: u8, headers: &HeaderMap| {
            let tenants = Tenants::new([secret; SECRET_LEN], Isolation::Credential);
            let fingerprint = Credential::of(headers, None).map(|c| tenants.fingerprint(&c));
            tenants.tenant(fingerprint.as_ref()).0
        };
        assert_eq!(name(1, &one), name(1, &bearer), "where it stands does not matter");
        assert_ne!(name(1, &one), name(1, &two));
        assert_ne!(name(1, &one), name(2, &one));
        assert_eq!(name(1, &one).len(), "t_".len() + NAME_DIGITS);
        assert_eq!(name(1, &HeaderMap::new()), ANONYMOUS);
    }

    #[test]
    fn without_isolation_everybody_is_one_tenant() {
        let tenants = Tenants::new([1; SECRET_LEN], Isolation::None);
        assert_eq!(tenants.tenant(Some(&Fingerprint("aa".into()))).0, LOCAL);
        assert_eq!(tenants.tenant(None).0, LOCAL);
    }

    #[test]
    fn a_credential_never_prints() {
        let headers = headers(&[("x-api-key", "sk-secret")]);
        assert!(!format!("{:?}", Credential::of(&headers, None)).contains("secret"));
    }
}
