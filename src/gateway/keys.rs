//! Clients' keys: who a request is from, and with which credential it goes up.
//!
//! A key is looked up by its hash. The look-up takes no constant time and need not: what it could leak is about the hash of
//! a guess, and nothing of a key follows from that.
use super::allowance::Allowance;
use super::errors::GatewayError;
use super::router::RouteError;
use crate::config::{self, Config, KEY_PREFIX, KeyHash};
use crate::session::record::Tenant;
use crate::session::tenant::Credential;
use crate::upstream::{UpstreamError, credential, target};
use http::HeaderValue;
use http::request::Parts;
use std::collections::HashMap;
use std::sync::Arc;

/// All keys of a configuration.
#[derive(Debug)]
pub struct Keys {
    by_hash: HashMap<KeyHash, Arc<Holder>, foldhash::fast::RandomState>,
    allowances: HashMap<String, Allowance>,
    required: bool,
}

/// Whoever has a key.
#[derive(Debug)]
pub struct Holder {
    /// What the key is called.
    pub name: String,
    /// Whose sessions it has.
    pub tenant: Tenant,
    /// What its tenant may use.
    pub allowance: Allowance,
    /// By an upstream's index.
    credentials: Vec<Option<HeaderValue>>,
}

impl Holder {
    /// The credential for the upstream with this index; `None`: the upstream's own, if it has one.
    pub fn credential(&self, upstream: usize) -> Option<&HeaderValue> {
        self.credentials.get(upstream)?.as_ref()
    }
}

impl Keys {
    /// The keys of a configuration; what tenants have used under `before` counts on. `None`: there are no keys.
    ///
    /// # Errors
    /// [`UpstreamError`]: a credential that no header can carry.
    pub fn new(config: &Config, before: Option<&Self>) -> Result<Option<Self>, UpstreamError> {
        let keys = &config.keys;
        if !keys.are_used() {
            return Ok(None);
        }
        let mut allowances: HashMap<String, Allowance> = HashMap::new();
        let mut by_hash = HashMap::default();
        for key in &keys.entries {
            let limits = *keys.limits_of(&key.tenant);
            let allowance = allowances.entry(key.tenant.clone()).or_insert_with(|| {
                let earlier = before.and_then(|before| before.allowances.get(&key.tenant));
                earlier.map_or_else(|| Allowance::new(limits), |earlier| earlier.under(limits))
            });
            by_hash.insert(key.hash, Arc::new(holder(key, &config.upstreams, allowance.clone())?));
        }
        Ok(Some(Self { by_hash, allowances, required: keys.required }))
    }

    /// Who sends this request. The key, and whatever else the client sent as its credential, is taken out of its head.
    ///
    /// # Errors
    /// [`GatewayError::Unauthorized`]: a key that is not known, or none where one is required.
    pub fn admit(&self, head: &mut Parts) -> Result<Option<Arc<Holder>>, GatewayError> {
        let mut said = None;
        let mut holder = None;
        for credential in Credential::all(&head.headers, head.uri.query()) {
            holder = self.by_hash.get(&KeyHash::of(credential.bytes()));
            if holder.is_some() {
                break;
            }
            let is_own = credential.starts_with(KEY_PREFIX);
            said = Some(said.unwrap_or_default() | is_own);
        }
        let Some(holder) = holder.cloned() else {
            return match said {
                // A key of the gateway's never goes up, least of all one that was withdrawn.
                Some(is_own) if self.required || is_own => Err(GatewayError::Unauthorized("this key is not known")),
                None if self.required => Err(GatewayError::Unauthorized("a key is missing")),
                _ => Ok(None),
            };
        };
        strip(head)?;
        Ok(Some(holder))
    }
}

fn holder(key: &config::Key, upstreams: &[config::Upstream], allowance: Allowance) -> Result<Holder, UpstreamError> {
    let credential = |upstream: &config::Upstream| {
        let written = key.credentials.get(&upstream.name);
        written.map(|secret| credential::value(upstream.provider, &secret.0)).transpose()
    };
    Ok(Holder {
        name: key.name.clone(),
        tenant: Tenant(key.tenant.clone()),
        allowance,
        credentials: upstreams.iter().map(credential).collect::<Result<_, _>>()?,
    })
}

fn strip(head: &mut Parts) -> Result<(), RouteError> {
    credential::strip(&mut head.headers);
    let Some(line) = head.uri.path_and_query().filter(|line| line.query().is_some()) else { return Ok(()) };
    let line = target::without_key(line.clone()).map_err(|_| RouteError::InvalidPath)?;
    let mut uri = std::mem::take(&mut head.uri).into_parts();
    uri.path_and_query = Some(line);
    head.uri = http::Uri::from_parts(uri).map_err(|_| RouteError::InvalidPath)?;
    Ok(())
}
