//! Stop before next prompt: a prompt of a session waits for that session's running stop hooks, so that it sees what they
//! stored. Other sessions never wait.
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
}

/// Something of a session that runs; who waits for it waits until this is dropped.
#[derive(Debug)]
pub struct Running {
    barrier: Barrier,
    key: SessionKey,
}

impl Barrier {
    /// Prompts of `key` wait from now on.
    pub fn raise(&self, key: &SessionKey) -> Running {
        let mut running = self.running.lock();
        running.entry(key.clone()).or_insert_with(|| Gate { count: 0, done: watch::channel(()).0 }).count += 1;
        Running { barrier: self.clone(), key: key.clone() }
    }

    /// Returns when no stop of `key` runs.
    pub async fn passed(&self, key: &SessionKey) {
        loop {
            let Some(mut done) = self.running.lock().get(key).map(|g| g.done.subscribe()) else { return };
            // An error says that the sender is gone: the gate is open.
            while done.changed().await.is_ok() {}
        }
    }

    /// Whether something of `key` runs.
    pub fn is_raised(&self, key: &SessionKey) -> bool {
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
}
