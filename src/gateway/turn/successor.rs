//! An answer of several legs under the client's name and under the provider's.
use super::Turns;
use super::read::Read;
use crate::context::Delta;
use crate::context::placement::Scene;
use crate::session::conversation::GoesOn;
use crate::session::record::{SessionKey, Tenant};
use http::HeaderMap;
use std::sync::Arc;

impl Turns {
    /// The provider's id of an answer that the client knows as `id`; `None` when it is the same, or the credential has no
    /// part in the session that the answer belongs to.
    pub async fn newest_of(
        &self,
        id: &str,
        key: Option<&Tenant>,
        headers: &HeaderMap,
        query: Option<&str>,
    ) -> Option<String> {
        let owner = self.sessions.conversations.owner_of_answer(id).await.ok()??;
        let (tenant, credential) = self.sessions.tenants.whose(key, headers, query);
        if tenant != owner.session.tenant {
            let record = self.sessions.records.get(&owner.session).await.ok()??;
            record.admits(credential.as_ref()?).then_some(())?;
        }
        self.successor(&owner.session, id).await.map(|goes_on| goes_on.id.clone())
    }

    /// The scene with the id behind which a delta goes on, where the client knows it by another, and with what the
    /// provider has to be told first.
    pub(super) async fn behind(&self, read: &Read, session: &SessionKey, scene: Scene) -> Scene {
        let Some(goes_on) = self.goes_on(read, session).await else { return scene };
        let in_conversation = matches!(read.view.delta, Some(Delta::Conversation(_)));
        let goes_on_behind = (!in_conversation).then(|| goes_on.id.clone());
        Scene { goes_on_behind, owed: goes_on.owed.clone(), ..scene }
    }

    async fn goes_on(&self, read: &Read, session: &SessionKey) -> Option<Arc<GoesOn>> {
        match read.view.delta.as_ref()? {
            Delta::PreviousResponse(id) | Delta::ThreadContinue(id) | Delta::Conversation(id) => {
                self.successor(session, id).await
            }
            Delta::ThreadCreate => None,
        }
    }

    async fn successor(&self, session: &SessionKey, id: &str) -> Option<Arc<GoesOn>> {
        self.sessions.conversations.successor(session, id).await.unwrap_or_else(|error| {
            self.sessions.records.report(&error);
            None
        })
    }
}
