//! All that is known of sessions, in one place for the gateway and the admin API.
use super::SessionError;
use super::answering::Answers;
use super::barrier::Barrier;
use super::conversations::Conversations;
use super::facts::Facts;
use super::key::KeyFinder;
use super::leases::Leases;
use super::locks::Locks;
use super::profile::Profiles;
use super::records::Records;
use super::store::{self, Store};
use super::tenant::Tenants;
use crate::config::Config;
use crate::context::Digest;
use std::sync::Arc;

/// The session room's state, shared by all configurations of a process, and what the configuration says of sessions.
pub struct Sessions {
    /// One record per session key.
    pub records: Arc<Records>,
    /// Histories, turns, ledgers.
    pub conversations: Arc<Conversations>,
    /// Clients.
    pub profiles: Profiles,
    /// Where ids stand.
    pub keys: KeyFinder,
    /// Owners.
    pub tenants: Tenants,
    /// What messages say.
    pub facts: Facts,
    /// Held while a session is found or opened, by its scope.
    pub opening: Arc<Locks<Digest>>,
    /// The same across processes, for all that prepares a request.
    pub leases: Arc<Leases>,
    /// Running stops.
    pub barrier: Barrier,
    /// Answers on their way.
    pub answering: Answers,
}

impl Sessions {
    /// On this store, for this configuration.
    ///
    /// # Errors
    /// When the store can't be read, or a pattern of the config or a profile does not compile.
    pub async fn new(config: &Config, store: Arc<dyn Store>) -> Result<Self, SessionError> {
        let secret = store::secret(store.as_ref()).await?;
        let seed = u64::from_le_bytes([
            secret[0], secret[1], secret[2], secret[3], secret[4], secret[5], secret[6], secret[7],
        ]);
        Ok(Self {
            conversations: Arc::new(Conversations::new(store.clone())),
            records: Arc::new(Records::new(store.clone())),
            leases: Arc::new(Leases::new(store)),
            profiles: Profiles::load(&config.profiles)?,
            keys: KeyFinder::new(&config.sessions)?,
            tenants: Tenants::new(secret, config.sessions.isolation),
            facts: Facts::new(seed),
            opening: Arc::default(),
            barrier: Barrier::default(),
            answering: Answers::default(),
        })
    }

    /// The same sessions under another configuration.
    ///
    /// # Errors
    /// When a pattern of the config or a profile does not compile.
    pub fn under(&self, config: &Config) -> Result<Self, SessionError> {
        Ok(Self {
            records: self.records.clone(),
            conversations: self.conversations.clone(),
            profiles: Profiles::load(&config.profiles)?,
            keys: KeyFinder::new(&config.sessions)?,
            tenants: self.tenants.isolated(config.sessions.isolation),
            facts: self.facts.clone(),
            opening: self.opening.clone(),
            leases: self.leases.clone(),
            barrier: self.barrier.clone(),
            answering: self.answering.clone(),
        })
    }
}
