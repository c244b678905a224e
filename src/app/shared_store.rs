//! What other processes change in a shared store and this one has in memory.
use crate::bus::Bus;
use crate::knowledge::{Knowledge, KnowledgeError};
use crate::session::store::shared::{News, Shared};
use crate::session::store::{Store, keys};
use std::sync::Arc;
use std::time::Duration;

/// How soon to try again to read what others have changed.
const READ_AGAIN: Duration = Duration::from_secs(1);

/// Follows the store's feed; returns at once where the store is not shared.
pub(super) async fn follow(store: Arc<dyn Store>, bus: Arc<Bus>, knowledge: Arc<Knowledge>) {
    let Some(mut feed) = store.shared().map(Shared::feed) else { return };
    loop {
        let mut read = match feed.next().await {
            News::Changed(changed) => read_again(&bus, &knowledge, &changed).await,
            News::Missed => read_all(&bus, &knowledge).await,
        };
        // The feed tells a change once: what could not be read then would be missed.
        while let Err(error) = read {
            tracing::error!(%error, "what others have changed can't be read");
            tokio::time::sleep(READ_AGAIN).await;
            read = read_all(&bus, &knowledge).await;
        }
    }
}

async fn read_again(bus: &Bus, knowledge: &Knowledge, changed: &[Vec<u8>]) -> Result<(), KnowledgeError> {
    for key in changed {
        match keys::mailbox_of(key) {
            Some(mailbox) => bus.refresh(&mailbox).await?,
            None => knowledge.refresh(key).await?,
        }
    }
    Ok(())
}

async fn read_all(bus: &Bus, knowledge: &Knowledge) -> Result<(), KnowledgeError> {
    bus.refresh_all().await?;
    knowledge.refresh_all().await
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bus::message::{Origin, Written};
    use crate::session::record::{SessionKey, Tenant};
    use crate::session::records::Records;
    use crate::session::store::testing::Faulty;
    use std::sync::atomic::Ordering::SeqCst;

    #[tokio::test]
    async fn what_could_not_be_read_when_it_was_news_is_read_later() {
        let tenant = Tenant("t".into());
        let key = SessionKey { tenant: tenant.clone(), id: "s".into(), agent: "main".into() };
        let open = async |store: Arc<dyn Store>| Arc::new(Bus::open(Arc::new(Records::new(store))).await.unwrap());
        for is_news in [true, false] {
            let here = Arc::new(Faulty::shared(Arc::default()));
            let elsewhere = open(here.inner.clone()).await;
            let bus = open(here.clone()).await;
            let following = tokio::spawn(follow(here.clone(), bus.clone(), Knowledge::none()));
            here.down.store(true, SeqCst);
            let written = Written { text: "hi".into(), ..Written::default() };
            elsewhere.send(&tenant, "s", "main", written, &Origin::Api).await.unwrap();
            here.tell(if is_news { News::Changed(vec![keys::mailbox(&key)]) } else { News::Missed });
            while here.refused.load(SeqCst) == 0 {
                tokio::task::yield_now().await;
            }
            here.down.store(false, SeqCst);
            let known = async {
                while bus.mailbox(&key).is_none() {
                    tokio::task::yield_now().await;
                }
            };
            tokio::time::timeout(10 * READ_AGAIN, known).await.expect("the message is known here, too");
            following.abort();
        }
    }
}
