//! Answers on their way: a session that is spoken to is not idle, however long the model thinks.
use super::record::SessionKey;
use foldhash::HashMap;
use parking_lot::Mutex;
use std::collections::hash_map::Entry;
use std::sync::Arc;

type Counts = Arc<Mutex<HashMap<Arc<SessionKey>, usize>>>;

/// How many answers are on their way, by session; as many as requests may be in flight.
#[derive(Debug, Clone, Default)]
pub struct Answers(Counts);

/// One answer, until this is dropped.
#[derive(Debug)]
pub struct Answering {
    counts: Counts,
    key: Arc<SessionKey>,
}

impl Answers {
    /// One more for `key`.
    pub fn begin(&self, key: &Arc<SessionKey>) -> Answering {
        *self.0.lock().entry(key.clone()).or_default() += 1;
        Answering { counts: self.0.clone(), key: key.clone() }
    }

    /// The sessions that are spoken to.
    pub fn all(&self) -> Vec<Arc<SessionKey>> {
        self.0.lock().keys().cloned().collect()
    }

    /// Whether there are any for `key`.
    pub fn any(&self, key: &SessionKey) -> bool {
        self.0.lock().contains_key(key)
    }
}

impl Drop for Answering {
    fn drop(&mut self) {
        if let Entry::Occupied(mut count) = self.counts.lock().entry(self.key.clone()) {
            *count.get_mut() -= 1;
            if *count.get() == 0 {
                count.remove();
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::record::tests::key;
    use super::*;

    #[test]
    fn a_session_is_spoken_to_until_its_last_answer_is_over() {
        let answers = Answers::default();
        let begin = |id: &str| answers.begin(&Arc::new(key(id)));
        let (first, second) = (begin("a"), begin("a"));
        drop(first);
        assert!(answers.any(&key("a")) && !answers.any(&key("b")));
        drop(second);
        assert!(!answers.any(&key("a")));
    }
}
