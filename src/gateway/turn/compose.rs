//! Last phase on the way up: what stands in the request, lowered to the dialect's body.
use super::follow::Follow;
use super::identify::Identity;
use super::policy::Policed;
use super::prompt::charge;
use super::read::Read;
use super::recorded::show_cache;
use super::{Prepared, TurnError, Turns};
use crate::config::EventKind;
use crate::context::placement::{Note, Scene};
use crate::context::{Binding, Delta, Digest, Place, Role};
use crate::json::Splice;
use crate::session::conversation::{Change, ConversationLayout, Live, Said, State};
use crate::session::ledger::{Entry, HookEdits};
use crate::session::placing::SlotText;
use crate::session::prefix::{Piece, Prefix};
use crate::telemetry::names;
use jiff::Timestamp;
use std::sync::Arc;
use xxhash_rust::xxh3::xxh3_64;

impl Turns {
    /// The request of a turn, ready to go up.
    pub(super) async fn send(self: &Arc<Self>, read: Read, mut identity: Identity) -> Result<Prepared, TurnError> {
        // In the ledger before the scene is set: what is placed late stands in this very request, or never.
        self.settle_baseline(&read, &identity).await;
        let slots = self.slots(&identity.record);
        let (scene, mut edits, fresh) = {
            let scenery = self.scenery(&read, &identity, &slots);
            let mut state = identity.live.state.lock();
            let fresh = state.record.tip != Some(identity.chain.end());
            if let Some(turn) = &mut state.record.turn {
                turn.requests += 1;
            }
            (scenery.scene(&state), scenery.edits(&state), fresh)
        };
        // Where no prompt was submitted with this request, they are made here alone.
        edits.extend(identity.start_edits.iter().cloned());
        let scene = self.behind(&read, &identity.key, scene).await;
        if needs_history(&read, &identity, &scene) {
            return Err(TurnError::ThreadUnsupported);
        }
        self.measure(&read, &identity, &scene);
        self.show_scene(&read, &identity, &slots, &scene);
        match fresh {
            // The next request may come to another gateway.
            true if self.is_shared() => self.record(&identity, Vec::new()).await,
            true => self.record_later(&identity),
            false => {}
        }
        self.sessions.records.touch(&identity.key, Timestamp::now());
        let said = self.said_before(&read);
        let (body, is_whole) = lowered(&read, scene);
        if !is_whole {
            // What is not shown is not delivered.
            identity.mail = None;
        }
        let Policed { body, upward, reply, tools } = self.police(&read, Some(&identity), &edits, body).await?;
        if let Some(text) = reply {
            return Ok(self.reply(&read, Some(&identity.key), text));
        }
        let binding =
            Binding { tools, asks: self.pipeline.has(EventKind::ToolCall) || self.has_mailbox(&identity.key) };
        let number = identity.live.state.lock().record.turn.as_ref().map_or(0, |turn| turn.number);
        read.recording.goes_up(number, &read.asked.body, body.as_ref());
        let follow = Follow::new(self.clone(), read, identity, said, binding);
        Ok(Prepared::Send { body, upward, follow: Box::new(follow) })
    }

    /// A request that is no turn: what was placed before stands in it again, nothing new does.
    pub(super) async fn replay(self: &Arc<Self>, mut read: Read) -> Result<Prepared, TurnError> {
        let Some(identity) = self.recognize(&read).await? else {
            return self.bare(read).await;
        };
        self.record_request(&mut read, &identity.key);
        let slots = self.slots(&identity.record);
        let scenery = self.scenery(&read, &identity, &slots);
        let (scene, edits) = {
            let state = identity.live.state.lock();
            (scenery.scene(&state), scenery.edits(&state))
        };
        // What holds for a turn alone is not for a request that is none.
        let edits: Vec<HookEdits> = edits.iter().filter_map(HookEdits::lasting).collect();
        let scene = self.behind(&read, &identity.key, scene).await;
        self.show_scene(&read, &identity, &slots, &scene);
        let body = lower(&read, scene);
        self.policed(read, Some(identity.key), &edits, body).await
    }

    /// A request in which nothing stands that was placed before, but what took the place of tool results.
    pub(super) async fn bare(self: &Arc<Self>, read: Read) -> Result<Prepared, TurnError> {
        let scene = match self.pipeline.has(EventKind::ToolResult) {
            true => self.replacements(&read).await?,
            false => Scene::empty(),
        };
        let body = lower(&read, scene);
        self.policed(read, None, &[], body).await
    }

    /// A conversation that is first seen in the middle of a turn has no prompt to set its baseline with.
    pub(super) async fn settle_baseline(&self, read: &Read, identity: &Identity) {
        let entry = self.late_baseline(read, identity, &self.slots(&identity.record));
        if let Some(entry) = entry {
            self.record(identity, vec![entry]).await;
        }
    }

    fn late_baseline(&self, read: &Read, identity: &Identity, slots: &[SlotText<'_>]) -> Option<Entry> {
        if identity.live.state.lock().record.baseline_set {
            return None;
        }
        let mut cuts = Vec::new();
        let scenery = self.scenery(read, identity, slots);
        let (entry, spent) = {
            let mut state = identity.live.state.lock();
            let mut budget = self.room(&state);
            let entry = scenery.set_baseline(&mut state, &mut budget, &mut cuts);
            charge(&mut state, &budget);
            (entry, budget.spent())
        };
        self.account(&read.recording, spent, &cuts);
        entry
    }

    /// Leaves the node of this request to be stored with its answer's: a crash before that only makes the next request
    /// match an earlier node.
    fn record_later(self: &Arc<Self>, identity: &Identity) {
        self.announce(&identity.live, identity.new_nodes(), false);
        identity.set_tip(&mut identity.live.state.lock());
    }

    /// Makes nodes known and stores them beside the traffic, at once or with the conversation's next commit.
    pub(super) fn announce(self: &Arc<Self>, live: &Arc<Live>, nodes: Vec<Digest>, due: bool) {
        if self.sessions.conversations.announce(live, nodes, due) {
            let (turns, live) = (self.clone(), live.clone());
            self.tasks.spawn(async move { turns.commit(&live, Change::default()).await });
        }
    }

    /// Measures what of the request before is a prefix of this one, with and without what was placed.
    fn measure(&self, read: &Read, identity: &Identity, scene: &Scene) {
        let prefix = Prefix { pieces: pieces(read, identity, scene) };
        let mut state = identity.live.state.lock();
        if let Some(before) = &state.prefix {
            let kept = prefix.kept(before);
            self.meters.prefix(&kept);
            let broken_by = kept.broken_at.map(|piece| sources(&state, identity, piece, scene)).unwrap_or_default();
            for source in &broken_by {
                metrics::counter!(names::CACHE_BREAKS, "hook" => source.clone()).increment(1);
            }
            show_cache(&read.recording, &kept, broken_by);
        }
        state.prefix = Some(prefix);
    }

    /// What the model said earlier in this turn, as the request shows it.
    fn said_before(&self, read: &Read) -> Said {
        let mut said = Said::default();
        if !self.ends() {
            return said;
        }
        let Some(end) = read.goes_on_behind() else { return said };
        let begin = read.view.items[..end].iter().rposition(|i| i.role() == Role::User && i.facts.prompt.is_some());
        for index in begin.map_or(0, |b| b + 1)..end {
            if read.view.items[index].role() == Role::Assistant {
                let (text, calls) = read.dialect().said(&read.doc, &read.view, index);
                said.text.push_str(&text);
                said.calls.extend(calls);
            }
        }
        said
    }
}

/// Whether something would have to stand in a history that only the provider has.
fn needs_history(read: &Read, identity: &Identity, scene: &Scene) -> bool {
    let continued = matches!(read.view.delta, Some(Delta::ThreadContinue(_)));
    let state = identity.live.state.lock();
    // A thread's system prompt must stay what it was: layout system changes it, and a thread that began elsewhere has none of ours.
    continued && !scene.system.is_empty() && (state.record.layout == ConversationLayout::System || identity.new)
}

/// The edits that place the scene and name the model; none that can't be made together.
pub(super) fn lower(read: &Read, scene: Scene) -> Splice {
    lowered(read, scene).0
}

/// The same, and whether all of the scene is placed.
fn lowered(read: &Read, scene: Scene) -> (Splice, bool) {
    let (mut splice, is_whole) = placed(read, scene);
    if let Some(rename) = &read.rename {
        rename.apply(&mut splice);
    }
    match splice.checked(read.doc.bytes().len()) {
        Ok(splice) => (splice, is_whole),
        Err(error) => {
            not_placed(read, &error.to_string());
            (Splice::new(), false)
        }
    }
}

/// The edits that place the scene, and whether they place all of it; none when the dialect has no place for it.
fn placed(read: &Read, scene: Scene) -> (Splice, bool) {
    let mut places = scene.places();
    if places.is_empty() {
        return (Splice::new(), true);
    }
    let lower = |places: &[Place]| read.dialect().lower(&read.doc, &read.view, places);
    let error = match lower(&places) {
        Ok(splice) => return (splice, true),
        Err(error) => error,
    };
    not_placed(read, &error.to_string());
    // Context may be left out; what a hook put in the place of a result is there because the result must not be.
    places.retain(|place| matches!(place, Place::Result { replace: Some(_), .. }));
    let left = lower(&places).unwrap_or_else(|error| {
        not_placed(read, &error.to_string());
        Splice::new()
    });
    (left, false)
}

fn not_placed(read: &Read, error: &str) {
    let dialect = read.endpoint().dialect.name();
    metrics::counter!(names::PLACEMENT_FAILED, "dialect" => dialect).increment(1);
    tracing::warn!(dialect, error, "context could not be placed; the request goes up without it");
}

/// Instructions and tools are one piece, since providers put them first; then each item.
fn pieces(read: &Read, identity: &Identity, scene: &Scene) -> Vec<Piece> {
    let shape = identity.live.state.lock().record.shape;
    let texts = |texts: &[String]| texts.iter().fold(0, |hash: u64, t| hash.rotate_left(1) ^ xxh3_64(t.as_bytes()));
    let system_len: usize = read.view.system.iter().map(|s| s.len()).sum();
    let head = Piece { client: shape.system ^ shape.tools, placed: texts(&scene.system), len: length(system_len) };
    let items = read.view.items.iter().enumerate().map(|(index, item)| {
        let client = match item.facts.link {
            Some(link) => u64::from_le_bytes(link.0[..8].try_into().unwrap_or_default()),
            None => xxh3_64(read.doc.text(item.span).as_bytes()),
        };
        let notes = scene.notes.iter().filter(|n| n.item == index);
        let placed = notes.fold(0, |hash: u64, Note { texts: t, .. }| hash.rotate_left(1) ^ texts(t));
        let results = scene.results.iter().filter(|r| r.item == index);
        let placed = results.fold(placed, |hash: u64, r| {
            let replaced = r.replace.as_ref().map_or(0, |text| !xxh3_64(text.as_bytes()));
            hash.rotate_left(1) ^ replaced ^ texts(&r.append)
        });
        Piece { client, placed, len: length(item.span.len()) }
    });
    std::iter::once(head).chain(items).collect()
}

fn length(len: usize) -> u32 {
    u32::try_from(len).unwrap_or(u32::MAX)
}

/// The hooks whose text stands, or stood, at the piece where the prefix broke.
fn sources(state: &State, identity: &Identity, piece: usize, scene: &Scene) -> Vec<String> {
    let Some(item) = piece.checked_sub(1) else {
        let hooks = state.record.baseline.iter().map(|t| t.source.clone());
        return if scene.system.is_empty() { Vec::new() } else { hooks.collect() };
    };
    let at_item = state.ledger.entries().iter().filter(|(_, e)| identity.anchors.item(&e.anchor) == Some(item));
    at_item.flat_map(|(_, e)| e.what.texts()).map(|t| t.source.clone()).collect()
}
