//! Who there is to be meant by a message, and who sends it.
use super::address::{Agents, Candidate, meant};
use super::message::{Message, Origin};
use super::{Bus, BusError};
use crate::session::record::{SessionKey, Tenant};
use std::collections::BTreeSet;
use std::sync::Arc;

impl Bus {
    /// All that may be meant by a session id, of all tenants or of one.
    ///
    /// # Errors
    /// When records can't be looked up.
    pub async fn candidates(&self, session: &str, tenant: Option<&Tenant>) -> Result<Vec<Candidate>, BusError> {
        let mut all = self.present(session);
        for key in self.records.find(session).await? {
            if let Some(known) = all.iter_mut().find(|candidate| candidate.key == key) {
                if known.parent.is_none() {
                    known.parent = self.parent(&key).await;
                }
                continue;
            }
            let parent = self.parent(&key).await;
            all.push(Candidate { key, label: None, parent });
        }
        all.retain(|candidate| tenant.is_none_or(|tenant| candidate.key.tenant == *tenant));
        Ok(all)
    }

    /// The agents that are meant; `agents` as in [`Agents::parse`].
    ///
    /// # Errors
    /// When records can't be looked up.
    pub async fn meant(&self, tenant: &Tenant, session: &str, agents: &str) -> Result<Vec<SessionKey>, BusError> {
        let of = SessionKey { tenant: tenant.clone(), id: session.to_owned(), agent: String::new() };
        let candidates = self.candidates(session, Some(tenant)).await?;
        Ok(meant(Agents::parse(agents), &of, &candidates))
    }

    /// The tenants that have a session of this id.
    ///
    /// # Errors
    /// When records can't be looked up.
    pub async fn tenants(&self, session: &str) -> Result<BTreeSet<Tenant>, BusError> {
        Ok(self.candidates(session, None).await?.into_iter().map(|candidate| candidate.key.tenant).collect())
    }

    /// What people call an agent.
    pub fn label(&self, key: &SessionKey) -> Option<Arc<str>> {
        self.present(&key.id).into_iter().find(|candidate| candidate.key == *key).and_then(|found| found.label)
    }

    /// The agent that sends, if it is one.
    pub(super) fn sender(&self, to: &SessionKey, message: &Message, origin: &Origin) -> Option<SessionKey> {
        if let Origin::Hook { agent, .. } = origin {
            return Some(agent.clone());
        }
        let (session, name) = message.from.split_once('/').unwrap_or((&to.id, &message.from));
        let candidates = self.present(session).into_iter().filter(|candidate| candidate.key.tenant == to.tenant);
        let named = |c: &Candidate| c.key.agent == name || c.label.as_deref() == Some(name);
        candidates.filter(named).map(|candidate| candidate.key).find(|key| key != to)
    }

    async fn parent(&self, key: &SessionKey) -> Option<String> {
        self.records.get(key).await.ok().flatten().and_then(|record| record.parent.clone())
    }

    /// What is known without asking the store.
    fn present(&self, session: &str) -> Vec<Candidate> {
        let mut all = self.known.of(session);
        for mailbox in self.mailboxes.of(session) {
            let label = mailbox.label();
            match all.iter_mut().find(|candidate| candidate.key == mailbox.key) {
                // What a person calls it counts.
                Some(known) => known.label = label.or(known.label.take()),
                None => all.push(Candidate { key: mailbox.key.clone(), label, parent: None }),
            }
        }
        all
    }
}
