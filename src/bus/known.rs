//! Agents that were seen, whether or not a record is kept of their session: a gateway without hooks keeps none, and can be asked
//! to deliver a message all the same.
use super::address::Candidate;
use crate::session::record::{SessionKey, Tenant};
use foldhash::fast::RandomState;
use moka::sync::Cache;
use parking_lot::RwLock;
use std::sync::Arc;

/// Session ids that are remembered, some 500 bytes each.
const SESSIONS: u64 = 50_000;
/// Agents of one id, of all tenants; the one that was seen first goes first.
const AGENTS: usize = 64;

/// The agents that were seen.
pub(super) struct Known {
    sessions: Cache<String, Arc<RwLock<Vec<Seen>>>, RandomState>,
}

struct Seen {
    /// Tells sightings of one id apart without their tenant, which costs a keyed hash.
    mark: u64,
    agent: Candidate,
}

/// A request as its head shows it.
#[derive(Debug, Clone, Copy)]
pub struct Sighting<'a> {
    /// The session's id.
    pub session: &'a str,
    /// The agent.
    pub agent: &'a str,
    /// The agent that started it.
    pub parent: Option<&'a str>,
    /// A hash of all that, and of the credential.
    pub mark: u64,
}

impl Known {
    pub(super) fn new() -> Self {
        Self { sessions: Cache::builder().max_capacity(SESSIONS).build_with_hasher(RandomState::default()) }
    }

    /// Notes an agent; what is not in the sighting is asked for only when it is new.
    pub(super) fn note(
        &self,
        sighting: Sighting<'_>,
        tenant: impl FnOnce() -> Tenant,
        label: impl FnOnce() -> Option<String>,
    ) {
        let agents = self.sessions.get(sighting.session);
        if agents.as_ref().is_some_and(|agents| agents.read().iter().any(|seen| seen.mark == sighting.mark)) {
            return;
        }
        let agents = agents.unwrap_or_else(|| self.sessions.get_with_by_ref(sighting.session, Arc::default));
        let key = SessionKey { tenant: tenant(), id: sighting.session.to_owned(), agent: sighting.agent.to_owned() };
        let agent = Candidate { key, label: label().map(Arc::from), parent: sighting.parent.map(str::to_owned) };
        let mut agents = agents.write();
        // The same agent under another label or parent is seen anew.
        agents.retain(|seen| seen.agent.key != agent.key);
        if agents.len() >= AGENTS {
            agents.remove(0);
        }
        agents.push(Seen { mark: sighting.mark, agent });
    }

    /// The agents of this session id, of all tenants.
    pub(super) fn of(&self, session: &str) -> Vec<Candidate> {
        let agents = self.sessions.get(session);
        agents.map(|agents| agents.read().iter().map(|seen| seen.agent.clone()).collect()).unwrap_or_default()
    }
}
