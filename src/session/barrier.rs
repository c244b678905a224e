//! Stop before next prompt: a prompt of a session waits for that session's running stop hooks, so that it sees what they
//! stored. Stops of one session run in the order in which their turns ended, so that a slow one does not undo what a later
//! one stored. Other sessions never wait.
use super::record::SessionKey;
use parking_lot::Mutex;
use std::collections::HashMap;
use std::sync::Arc;
use tokio::sync::watch;

/// The running stop hooks of all sessions.
#[derive(Debug, Clone, Default)]
pub struct Barrier {
    running: Arc<Mutex<HashMap<SessionKey, Gate>>>,
}

#[derive(Debug)]
struct Gate {
    count: usize,
    // Dropped with the gate, which wakes everybody who waits.
    done: watch::Sender<()>,
    /// Open while the newest stop runs.
    newest: Option<watch::Receiver<()>>,
}

/// Something of a session that runs; who waits for it waits until this is dropped.
#[derive(Debug)]
pub struct Running {
    barrier: Barrier,
    key: SessionKey,
    /// The stop before this one.
    before: Option<watch::Receiver<()>>,
    /// Dropped with this, which tells the next one.
    _ended: watch::Sender<()>,
}

impl Barrier {
    /// Prompts of `key` wait from now on.
    pub fn raise(&self, key: &SessionKey) -> Running {
        let (ended, newest) = watch::channel(());
        let mut running = self.running.lock();
        let gate =
            running.entry(key.clone()).or_insert_with(|| Gate { count: 0, done: watch::channel(()).0, newest: None });
        gate.count += 1;
        let before = gate.newest.replace(newest);
        Running { barrier: self.clone(), key: key.clone(), before, _ended: ended }
    }

    /// Returns when no stop of `key` runs.
    pub async fn passed(&self, key: &SessionKey) {
        loop {
            let Some(mut done) = self.running.lock().get(key).map(|g| g.done.subscribe()) else { return };
            dropped(&mut done).await;
        }
    }

    /// Whether a stop of `key` runs.
    pub fn is_up(&self, key: &SessionKey) -> bool {
        self.running.lock().contains_key(key)
    }

    /// How many sessions have a running stop.
    pub fn len(&self) -> usize {
        self.running.lock().len()
    }

    /// Whether nothing runs.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

impl Running {
    /// Returns when the stops before this one have ended.
    pub async fn in_order(&mut self) {
        if let Some(before) = &mut self.before {
            dropped(before).await;
        }
    }
}

/// Nothing is ever sent: an error says that the sender is gone.
async fn dropped(sender: &mut watch::Receiver<()>) {
    while sender.changed().await.is_ok() {}
}

impl Drop for Running {
    fn drop(&mut self) {
        let mut running = self.barrier.running.lock();
        if let Some(gate) = running.get_mut(&self.key) {
            gate.count -= 1;
            if gate.count == 0 {
                running.remove(&self.key);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::record::Tenant;
    use super::*;
    use std::time::Duration;

    fn key(id: &str) -> SessionKey {
        SessionKey { tenant: Tenant("t".into()), id: id.into(), agent: "main".into() }
    }

    #[tokio::test(start_paused = true)]
    async fn a_prompt_waits_for_all_stops_of_its_session_only() {
        let barrier = Barrier::default();
        let wait = |id: &'static str| {
            let barrier = barrier.clone();
            async move { tokio::time::timeout(Duration::from_secs(1), barrier.passed(&key(id))).await.is_ok() }
        };
        let first = barrier.raise(&key("a"));
        let second = barrier.raise(&key("a"));
        assert!(wait("b").await);
        assert!(!wait("a").await);
        drop(first);
        assert!(!wait("a").await);
        drop(second);
        assert!(wait("a").await);
        assert!(barrier.is_empty());
    }

    #[tokio::test(start_paused = true)]
    async fn stops_of_a_session_run_in_the_order_in_which_they_were_raised() {
        let barrier = Barrier::default();
        let [mut first, mut second, mut other] = ["a", "a", "b"].map(|id| barrier.raise(&key(id)));
        first.in_order().await;
        other.in_order().await;
        assert!(tokio::time::timeout(Duration::from_secs(1), second.in_order()).await.is_err());
        drop(first);
        second.in_order().await;
    }
}
