//! What is known of a mailbox without reading it: whether something waits, and what is under way.
use super::letters::Letters;
use super::message::{Kind, State};
use crate::session::record::SessionKey;
use foldhash::{HashMap, HashMapExt};
use parking_lot::Mutex;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicUsize, Ordering};

/// The mailbox of one agent of a session.
#[derive(Debug)]
pub struct Mailbox {
    /// Whose.
    pub key: SessionKey,
    /// Held while what it holds is changed.
    pub(super) writing: tokio::sync::Mutex<()>,
    /// It had a message once: from then on its session's requests are looked into, since they show what was delivered.
    addressed: AtomicBool,
    waiting: AtomicUsize,
    urgent: AtomicUsize,
    halts: AtomicUsize,
    hops: AtomicU32,
    memory: Mutex<Memory>,
}

#[derive(Debug, Default)]
struct Memory {
    label: Option<Arc<str>>,
    /// Id of the turn that a halt ends.
    halted: Option<String>,
    /// Messages that requests under way bring, each with how many of them and their conversation.
    flying: HashMap<String, (usize, String)>,
}

impl Mailbox {
    pub(super) fn new(key: SessionKey, letters: &Letters) -> Self {
        let mailbox = Self {
            key,
            writing: tokio::sync::Mutex::default(),
            addressed: AtomicBool::new(false),
            waiting: AtomicUsize::new(0),
            urgent: AtomicUsize::new(0),
            halts: AtomicUsize::new(0),
            hops: AtomicU32::new(letters.hops),
            memory: Mutex::new(Memory { flying: HashMap::new(), ..Memory::default() }),
        };
        mailbox.reflect(letters);
        mailbox
    }

    /// Takes over what the mailbox holds now.
    pub(super) fn reflect(&self, letters: &Letters) {
        let queued = || letters.messages.iter().filter(|message| message.state == State::Queued);
        self.urgent.store(queued().filter(|message| message.kind.is_urgent()).count(), Ordering::Relaxed);
        self.halts.store(queued().filter(|message| message.kind == Kind::Halt).count(), Ordering::Relaxed);
        self.hops.store(letters.hops, Ordering::Relaxed);
        {
            let mut memory = self.memory.lock();
            memory.label = letters.label.as_deref().map(Arc::from);
            memory.halted = letters.halted().map(str::to_owned);
        }
        if !letters.messages.is_empty() {
            self.addressed.store(true, Ordering::Relaxed);
        }
        self.waiting.store(letters.waiting().count(), Ordering::Release);
    }

    /// Whether it ever had a message.
    pub fn is_addressed(&self) -> bool {
        self.addressed.load(Ordering::Relaxed)
    }

    /// Whether something waits, or is on its way.
    pub fn has_waiting(&self) -> bool {
        self.waiting.load(Ordering::Acquire) > 0
    }

    /// Whether something waits for which a turn that ends goes on.
    pub fn has_urgent(&self) -> bool {
        self.urgent.load(Ordering::Relaxed) > 0
    }

    /// Whether this turn is to end: a halt waits, or was said in it.
    pub fn halts(&self, turn_id: &str) -> bool {
        self.halts.load(Ordering::Relaxed) > 0 || self.memory.lock().halted.as_deref() == Some(turn_id)
    }

    /// A person prompts the agent: messages of agents are counted anew. Whether there were any.
    pub(super) fn hear_person(&self) -> bool {
        self.hops.swap(0, Ordering::Relaxed) > 0
    }

    /// [`super::Message::hops`] of the newest message that it got.
    pub(super) fn hops(&self) -> u32 {
        self.hops.load(Ordering::Relaxed)
    }

    /// What people call the agent.
    pub fn label(&self) -> Option<Arc<str>> {
        self.memory.lock().label.clone()
    }

    /// The conversation whose request brings a message just now.
    pub(super) fn is_flying(&self, id: &str) -> bool {
        self.memory.lock().flying.contains_key(id)
    }

    /// A request takes messages along.
    pub(super) fn take_off<'i>(&self, conversation: &str, ids: impl Iterator<Item = &'i String>) {
        let flying = &mut self.memory.lock().flying;
        for id in ids {
            flying.entry(id.clone()).or_insert_with(|| (0, conversation.to_owned())).0 += 1;
        }
    }

    /// What became of that request is known.
    pub(super) fn land(&self, ids: &[String]) {
        let flying = &mut self.memory.lock().flying;
        for id in ids {
            let Some((requests, _)) = flying.get_mut(id) else { continue };
            *requests -= 1;
            if *requests == 0 {
                flying.remove(id);
            }
        }
    }
}
