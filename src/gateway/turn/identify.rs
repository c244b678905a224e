//! Second phase: whose request it is. The session by its key (or, without one, by its history), the conversation by the
//! longest known history that the request begins with.
use super::owner::{Name, Owner, covers_answer};
use super::read::Read;
use super::{TurnError, Turns};
use crate::bus::Carrying;
use crate::config::{EventKind, Layout};
use crate::context::{Delta, Digest, Step};
use crate::gateway::request_id::RequestId;
use crate::session::SessionError;
use crate::session::anchor::Anchors;
use crate::session::chain::Chain;
use crate::session::conversation::{Change, ConversationLayout, Live, Shape, State};
use crate::session::conversations::Found;
use crate::session::key::NAMELESS;
use crate::session::leases::Lease;
use crate::session::ledger::HookEdits;
use crate::session::profile::{LayoutHint, RequestKind};
use crate::session::record::{self, SessionKey, SessionRecord, Source};
use crate::session::store::StoreError;
use crate::session::tenant::{Credential, Fingerprint};
use crate::telemetry::names;
use jiff::Timestamp;
use std::sync::Arc;
use tokio::sync::OwnedMutexGuard;
use xxhash_rust::xxh3::xxh3_64;

/// Whose request it is.
pub(super) struct Identity {
    /// The session.
    pub key: Arc<SessionKey>,
    /// Its record.
    pub record: Arc<SessionRecord>,
    /// The conversation.
    pub live: Arc<Live>,
    /// The chain of its history.
    pub chain: Chain,
    /// What the chain is rooted in.
    pub scope: Digest,
    /// The places in it that are known again.
    pub anchors: Anchors,
    /// Whether this request opened the session.
    pub new: bool,
    /// Set when `session.start` is due; other requests of the session wait until it is dropped.
    pub opening: Option<OwnedMutexGuard<()>>,
    /// Held until the request goes up: no other process prepares one of this session.
    pub _lease: Option<Lease>,
    /// What hooks of `session.start` change of this request, and of its turn once it is recorded.
    pub start_edits: Vec<HookEdits>,
    /// A new credential that is bound to the session once the upstream has accepted it.
    pub rebind: Option<Fingerprint>,
    /// The parent agent that this request names.
    pub parent: Option<String>,
    /// The workspace that it names.
    pub project: Option<String>,
    /// Messages that it shows and that are not known to be delivered.
    pub mail: Option<Carrying>,
}

/// A conversation that the request's history was found in.
pub(super) struct Place {
    pub(super) found: Found,
    pub(super) live: Arc<Live>,
}

impl Identity {
    /// The nodes that are to be stored so that later requests find this one.
    pub(super) fn new_nodes(&self) -> Vec<Digest> {
        let known = self.live.state.lock().record.tip == Some(self.chain.end());
        if known { Vec::new() } else { vec![self.chain.end()] }
    }

    /// Notes that this request is the newest of its conversation.
    pub(super) fn set_tip(&self, state: &mut State) {
        set_tip(state, self.chain.end());
    }
}

fn set_tip(state: &mut State, end: Digest) {
    if state.record.tip != Some(end) {
        state.record.tip = Some(end);
        state.record.tip_answer = None;
    }
    state.record.last_active = now_ms();
}

/// Milliseconds since 1970.
pub(super) fn now_ms() -> u64 {
    u64::try_from(Timestamp::now().as_millisecond()).unwrap_or_default()
}

impl Turns {
    /// Finds or opens session and conversation. `None`: no session, by the config's will or because the store can't tell.
    pub(super) async fn identify(&self, read: &Read) -> Result<Option<Identity>, TurnError> {
        let Some(owner) = self.owner(read).await? else { return Ok(None) };
        let chain = Chain::new(owner.scope, &read.view);
        // Without an id the first words stand for the session.
        let name = match &owner.name {
            Name::Key(_) => owner.scope,
            Name::History(_) => owner.scope.then(chain.first().unwrap_or(owner.scope)),
        };
        let lease = self.sessions.leases.take(name, read.deadline).await;
        self.needs_store()?;
        if let Some(identity) = self.settled(read, &owner, &chain).await {
            return Ok(Some(Identity { _lease: lease, ..identity }));
        }
        // Two first requests of one session must not both open it.
        let guard = self.sessions.opening.lock(name).await;
        if let Some(identity) = self.settled(read, &owner, &chain).await {
            return Ok(Some(Identity { _lease: lease, ..identity }));
        }
        match self.establish(read, owner, chain, guard).await {
            Ok(identity) => Ok(Some(Identity { _lease: lease, ..identity })),
            Err(error) if self.has_guards() => {
                tracing::error!(%error, "a session can't be opened, and hooks that may not be left out can't be asked");
                Err(TurnError::NoStore)
            }
            Err(error) => {
                tracing::error!(%error, "a session can't be opened; its request goes up without hooks");
                Ok(None)
            }
        }
    }

    /// The conversation that a request which is no turn belongs to, if what was placed in it stands in this request too: a
    /// compaction of it, or a side request that carries its history behind the same instructions.
    pub(super) async fn recognize(&self, read: &Read) -> Result<Option<Identity>, TurnError> {
        let Some(owner) = self.owner(read).await? else { return Ok(None) };
        let chain = Chain::new(owner.scope, &read.view);
        let place = self.place(&chain).await;
        self.needs_store()?;
        let Some(place) = place.filter(|p| owner.may_be(&p.live.key)) else { return Ok(None) };
        let same_agent = place.live.state.lock().record.shape.system == shape(read).system;
        if read.kind != RequestKind::Compaction && !(same_agent && covers_answer(read, &chain, &place.found)) {
            return Ok(None);
        }
        let Ok(Some(record)) = self.sessions.records.get(&place.live.key).await else { return Ok(None) };
        Ok(Some(self.identity(read, &owner, chain, place.live, record)))
    }

    fn identity(
        &self,
        read: &Read,
        owner: &Owner,
        chain: Chain,
        live: Arc<Live>,
        record: Arc<SessionRecord>,
    ) -> Identity {
        Identity {
            key: live.key.clone(),
            anchors: anchors(read, &chain, &live),
            record,
            live,
            chain,
            scope: owner.scope,
            new: false,
            opening: None,
            _lease: None,
            start_edits: Vec::new(),
            rebind: owner.credential.clone().filter(|_| owner.rebind),
            parent: owner.ids.parent.clone(),
            project: owner.ids.project.clone(),
            mail: None,
        }
    }

    /// The conversation with the longest known history that `chain` begins with.
    pub(super) async fn place(&self, chain: &Chain) -> Option<Place> {
        let lookup = async {
            let Some(found) = self.sessions.conversations.find(chain).await? else { return Ok(None) };
            let live = self.sessions.conversations.get(&found.owner).await?;
            Ok(live.map(|live| Place { found, live }))
        };
        lookup.await.unwrap_or_else(|error: StoreError| {
            self.sessions.records.report(&error);
            None
        })
    }

    /// The usual request: it goes on with a conversation that is known, of a session that has begun.
    async fn settled(&self, read: &Read, owner: &Owner, chain: &Chain) -> Option<Identity> {
        let place = self.place(chain).await.filter(|p| owner.may_be(&p.live.key))?;
        let record = self.sessions.records.get(&place.live.key).await.ok()??;
        if !record.started || record.is_ended() || is_compacted(read, chain, Some((&place, &record))) {
            return None;
        }
        if !starts_over(read, owner, chain, &place) && goes_on(read, chain, &place) {
            return Some(self.identity(read, owner, chain.clone(), place.live, record));
        }
        None
    }

    /// Opens what is not there yet. The guard goes into the identity when hooks have to run.
    async fn establish(
        &self,
        read: &Read,
        owner: Owner,
        chain: Chain,
        guard: OwnedMutexGuard<()>,
    ) -> Result<Identity, SessionError> {
        let place = self.place(&chain).await.filter(|p| owner.may_be(&p.live.key));
        let place = place.filter(|p| !starts_over(read, &owner, &chain, p));
        let key = match (&owner.name, &place) {
            (Name::Key(key), _) => Arc::new(key.clone()),
            (Name::History(_), Some(place)) => place.live.key.clone(),
            (Name::History(tenant), None) => Arc::new(SessionKey {
                tenant: tenant.clone(),
                id: nameless_id(read.asked.request_id),
                agent: owner.ids.agent.clone(),
            }),
        };
        let before = self.sessions.records.get(&key).await?;
        let compacted = match &before {
            Some(record) => is_compacted(read, &chain, place.as_ref().map(|place| (place, record))),
            None => false,
        };
        let (record, opened) = self.activate(read, &key, &owner, compacted).await?;
        let live = self.conversation(read, &key, &chain, place, compacted).await;
        let due = !record.started;
        let identity = self.identity(read, &owner, chain, live, record);
        Ok(Identity { new: opened, opening: due.then_some(guard), ..identity })
    }

    /// The session's record, opened or brought to life again, and whether it was opened.
    async fn activate(
        &self,
        read: &Read,
        key: &SessionKey,
        owner: &Owner,
        compacted: bool,
    ) -> Result<(Arc<SessionRecord>, bool), SessionError> {
        let beginning = record::Opening {
            parent: owner.ids.parent.clone(),
            project: owner.ids.project.clone(),
            client: read.profile.name.clone(),
            source: if read.view.is_first() { Source::Startup } else { Source::Resume },
            credential: owner.credential.clone(),
            now: Timestamp::now(),
        };
        let (before, opened) = self.sessions.records.open(key, beginning).await?;
        let starts = self.pipeline.has(EventKind::SessionStart) || self.knowledge().holds_any();
        let model = self.model(read);
        let window = read.profile.window(&read.asked.headers);
        let change = |record: &mut SessionRecord| {
            if record.is_ended() {
                record.activate(Source::Resume);
            } else if compacted {
                record.activate(Source::Compact);
            }
            record.started |= !starts;
            record.model = Some(model.clone());
            record.window = window.or(record.window);
            true
        };
        let record = self.sessions.records.update(key, change).await?;
        if opened || record.activation != before.activation {
            metrics::counter!(names::SESSIONS_STARTED, "source" => record.source.name()).increment(1);
        }
        Ok((record, opened))
    }

    /// The conversation: the one found, a fork of it, or a new one.
    async fn conversation(
        &self,
        read: &Read,
        key: &SessionKey,
        chain: &Chain,
        place: Option<Place>,
        compacted: bool,
    ) -> Arc<Live> {
        let (live, known) = match place {
            Some(place) if !compacted && goes_on(read, chain, &place) => return place.live,
            Some(place) if !compacted => {
                let anchors = anchors(read, chain, &place.live);
                let news = new_prompt(read, chain, &place.found);
                let live = self.sessions.conversations.fork(&place.live, &anchors, news, shape(read));
                (live, place.found.covered)
            }
            _ => (self.sessions.conversations.create(key, self.layout(read), shape(read)), 0),
        };
        {
            let mut state = live.state.lock();
            state.record.first = chain.first();
            set_tip(&mut state, chain.end());
        }
        // Known at once, so that a second first request finds it as soon as it may go on. What was answered elsewhere is
        // noted too: a rewind may go back behind the point where this gateway came in.
        let mut nodes: Vec<Digest> = chain.ends(known).collect();
        if matches!(read.view.delta, Some(Delta::Conversation(_))) {
            // Later requests name it by nothing but the provider's id.
            nodes.push(chain.root());
        }
        self.commit(&live, Change { nodes, ..Change::default() }).await;
        live
    }

    /// Decided once per conversation.
    fn layout(&self, read: &Read) -> ConversationLayout {
        match self.config.injection.layout {
            _ if is_locked(read) => ConversationLayout::Stable,
            Layout::System => ConversationLayout::System,
            Layout::Stable => ConversationLayout::Stable,
            Layout::Auto if read.profile.layout == Some(LayoutHint::System) || !read.asked.cached => {
                ConversationLayout::System
            }
            Layout::Auto => ConversationLayout::Stable,
        }
    }

    pub(super) async fn commit(&self, live: &Live, change: Change) {
        if let Err(error) = self.sessions.conversations.commit(live, change).await {
            self.sessions.records.report(&error);
        }
    }
}

/// Whether the request goes on with the conversation that it was found in, and does not fork it. A rewind to an earlier
/// request forks too: what was placed behind that point must not meet the same words said anew.
fn goes_on(read: &Read, chain: &Chain, place: &Place) -> bool {
    let Place { found, live } = place;
    let mut state = live.state.lock();
    let same_agent = !state.record.shape.is_other_agent(shape(read));
    let delta = found.covered == 0 && read.view.delta.is_some();
    delta || (same_agent && state.claim(found.node, chain.end()))
}

/// The prompt that a request ends with, if the known history does not hold it.
fn new_prompt(read: &Read, chain: &Chain, found: &Found) -> Option<usize> {
    let known = found.covered.checked_sub(1).and_then(|last| chain.nodes().get(last)).map(|node| node.item);
    match read.view.step {
        Step::Prompt { item } if known.is_none_or(|known| item > known) => Some(item),
        _ => None,
    }
}

/// Without an id, the same first words after an answered turn are somebody's new session, not a regeneration.
fn starts_over(read: &Read, owner: &Owner, chain: &Chain, place: &Place) -> bool {
    owner.is_nameless()
        && read.view.is_first()
        && place.found.covered == chain.nodes().len()
        && place.live.state.lock().record.turns_done > 0
}

/// Whether the history stands behind a compaction that is news: the client's count moved on, or the history begins with
/// something else than the known one and says so.
fn is_compacted(read: &Read, chain: &Chain, known: Option<(&Place, &Arc<SessionRecord>)>) -> bool {
    let new_beginning = known.is_none_or(|(place, _)| place.live.state.lock().record.first != chain.first());
    let window = known.and_then(|(_, record)| record.window);
    let window_moved = window.zip(read.profile.window(&read.asked.headers)).is_some_and(|(old, new)| new > old);
    window_moved || (new_beginning && read.profile.compacted(&read.facts(), None))
}

/// Whether the system prompt has to be left as it is.
pub(super) fn is_locked(read: &Read) -> bool {
    !read.view.system_open || is_bound(read)
}

/// Whether the client's vendor takes its login only with the system prompt as the client wrote it.
pub(super) fn is_bound(read: &Read) -> bool {
    read.profile.is_oauth(|| Credential::of(&read.asked.headers, read.asked.query.as_deref()))
}

/// The places of a request that are known again.
pub(super) fn anchors(read: &Read, chain: &Chain, live: &Live) -> Anchors {
    let root = match read.view.delta {
        // A provider-side conversation has no position: equal prompts are told apart by the turns before them.
        Some(Delta::Conversation(_)) => {
            let done = live.state.lock().record.turns_done;
            chain.root().then(Digest::of(&[&done.to_le_bytes()]))
        }
        _ => chain.root(),
    };
    Anchors::of(&read.view, root)
}

fn shape(read: &Read) -> Shape {
    let hash = |text: &str| xxh3_64(text.as_bytes());
    let system = read.view.system.iter().fold(0, |all: u64, span| all.rotate_left(1) ^ hash(read.doc.text(*span)));
    Shape { system, tools: read.doc.get("tools").map_or(0, |tools| hash(read.doc.text(tools.value))) }
}

/// The id of a session whose client sends none.
fn nameless_id(request_id: RequestId) -> String {
    format!("{NAMELESS}{request_id}")
}
