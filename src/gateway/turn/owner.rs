//! Who owns a request's session: the ids that the client sends, and its credential.
use super::identify::Place;
use super::read::Read;
use super::{TurnError, Turns};
use crate::config::WithoutId;
use crate::context::{Digest, Role};
use crate::session::chain::Chain;
use crate::session::conversations::Found;
use crate::session::key::Ids;
use crate::session::record::{SessionKey, Tenant};
use crate::session::tenant::{Fingerprint, is_by_credential};

/// By what a session is named.
pub(super) enum Name {
    /// The client says it.
    Key(SessionKey),
    /// The history says it; a session that is opened belongs to this tenant.
    History(Tenant),
}

/// Whose a request is.
pub(super) struct Owner {
    /// The session's name.
    pub name: Name,
    /// The ids that the client sends.
    pub ids: Ids,
    /// What the chain of its histories is rooted in.
    pub scope: Digest,
    /// The credential that came with it.
    pub credential: Option<Fingerprint>,
    /// The credential is new to the session, and to be bound to it once the upstream has accepted it.
    pub rebind: bool,
}

impl Owner {
    /// Whether a conversation of `key` can be this request's.
    pub(super) fn may_be(&self, key: &SessionKey) -> bool {
        match &self.name {
            Name::Key(named) => named == key,
            Name::History(tenant) => *tenant == key.tenant,
        }
    }

    /// Whether only the history tells the session.
    pub(super) fn is_nameless(&self) -> bool {
        matches!(self.name, Name::History(_))
    }
}

impl Turns {
    /// The owner; `None` when the client sends no id and the config wants no guess.
    pub(super) async fn owner(&self, read: &Read) -> Result<Option<Owner>, TurnError> {
        let body = |member: &str| read.doc.get(member).map(|m| read.doc.text(m.value));
        let asked = &read.asked;
        let ids =
            self.sessions.keys.find(&asked.headers, asked.path_ids.as_ref(), &read.profile.session_from_body, &body)?;
        let tenants = &self.sessions.tenants;
        let (tenant, credential) = tenants.whose(asked.tenant.as_ref(), &asked.headers, asked.query.as_deref());
        Ok(match ids.session.clone() {
            Some(id) => {
                let own = SessionKey { tenant, id, agent: ids.agent.clone() };
                let (key, rebind) = self.reach(own, credential.as_ref(), read).await;
                Some(Owner { scope: scope_of(&key), name: Name::Key(key), ids, credential, rebind })
            }
            None if self.config.sessions.without_id == WithoutId::Chain => {
                let scope = Digest::of(&[b"chain", tenant.0.as_bytes()]);
                Some(Owner { scope, name: Name::History(tenant), ids, credential, rebind: false })
            }
            None => None,
        })
    }

    /// The session that a credential reaches under an id: its own, or one that another credential opened and whose newest
    /// answer stands in the history that is presented now.
    async fn reach(&self, own: SessionKey, credential: Option<&Fingerprint>, read: &Read) -> (SessionKey, bool) {
        let Some(credential) = credential else { return (own, false) };
        if self.known(&own).await {
            return (own, false);
        }
        let others = self.sessions.records.find(&own.id).await.unwrap_or_default();
        let may_be = |k: &SessionKey| k.agent == own.agent && k.tenant != own.tenant && is_by_credential(&k.tenant);
        for other in others.into_iter().filter(may_be) {
            let Ok(Some(record)) = self.sessions.records.get(&other).await else { continue };
            if record.admits(credential) {
                return (other, false);
            }
            // A first request presents no history that could prove anything.
            if read.view.is_first() {
                continue;
            }
            let chain = Chain::new(scope_of(&other), &read.view);
            if let Some(Place { found, live }) = self.place(&chain).await
                && covers_answer(read, &chain, &found)
                && live.state.lock().record.continues_at(found.node)
            {
                return (other, true);
            }
        }
        (own, false)
    }

    async fn known(&self, key: &SessionKey) -> bool {
        matches!(self.sessions.records.get(key).await, Ok(Some(_)))
    }
}

/// What the chain of a named session is rooted in.
pub(super) fn scope_of(key: &SessionKey) -> Digest {
    Digest::of(&[b"session", key.tenant.0.as_bytes(), key.id.as_bytes(), key.agent.as_bytes()])
}

/// Whether the known part of a history holds an answer.
pub(super) fn covers_answer(read: &Read, chain: &Chain, found: &Found) -> bool {
    let last = found.covered.checked_sub(1).and_then(|i| chain.nodes().get(i)).map(|n| n.item);
    match last {
        Some(last) => read.view.items[..=last].iter().any(|item| item.role() == Role::Assistant),
        None => read.view.delta.is_some(),
    }
}
