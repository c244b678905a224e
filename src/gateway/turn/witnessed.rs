//! What the phases show: to a witness, which dry runs and policy tests have, and to who looks at the running gateway.
use super::Turns;
use super::identify::Identity;
use super::read::Read;
use crate::context::placement::{Placed, Scene, SystemEdge, TextKind};
use crate::hooks::Sight;
use crate::hooks::witness::{Asked, Spending, StandingText, TextPlace};
use crate::inspect::{Budget, Recording};
use crate::json::Doc;
use crate::session::placing::{Cut, SlotText};

impl Turns {
    /// A body was read.
    pub(super) fn show_request(&self, read: &Read) {
        if let Some(witness) = self.pipeline.witness() {
            let profile = read.profile.name.to_string();
            witness.see(Sight::Request(Asked { kind: read.kind_name(), profile }));
        }
    }

    /// Texts were given room.
    pub(super) fn show_budget(&self, recording: &Recording, used: usize, cuts: &[Cut]) {
        let limit = self.config.lifecycle.max_injected_context_chars;
        if used > 0 || !cuts.is_empty() {
            recording.budget(|| {
                let of =
                    |partly: bool| cuts.iter().filter(move |cut| cut.partly == partly).map(|cut| cut.source.clone());
                Budget { used, limit, cut: of(true).collect(), left_out: of(false).collect() }
            });
        }
        if let Some(witness) = self.pipeline.witness() {
            let cuts = cuts.iter().map(|cut| (cut.source.clone(), cut.partly)).collect();
            witness.see(Sight::Budget(Spending { used, limit, cuts }));
        }
    }

    /// The body, as the hooks so far have made it.
    pub(super) fn show_draft(&self, behind: Option<&str>, doc: &Doc) {
        if let Some(witness) = self.pipeline.witness() {
            let hook = behind.map(str::to_owned);
            witness.see(Sight::Draft { hook, body: doc.bytes().clone() });
        }
    }

    /// What stands in a request.
    pub(super) fn show_scene(&self, read: &Read, identity: &Identity, slots: &[SlotText<'_>], scene: &Scene) {
        let witness = self.pipeline.witness();
        if (witness.is_none() && !read.recording.is_some()) || !has_texts(scene) {
            return witness.into_iter().for_each(|witness| witness.see(Sight::Texts(Vec::new())));
        }
        let edge = match scene.edge {
            SystemEdge::Front { .. } => TextPlace::SystemFront,
            SystemEdge::End => TextPlace::SystemEnd,
        };
        let system = scene.system.iter().map(|text| (edge, text));
        let notes =
            scene.notes.iter().flat_map(|note| note.texts.iter().map(|text| (TextPlace::Item(note.item), text)));
        let aside = scene.results.iter().flat_map(|r| r.append.iter().map(|text| (TextPlace::Item(r.item), text)));
        let state = identity.live.state.lock();
        let recorded = state.ledger.entries().iter().flat_map(|(_, entry)| entry.what.texts());
        let known: Vec<&Placed> = state.record.baseline.iter().chain(recorded).collect();
        let standing = system.chain(notes).chain(aside);
        for (place, text) in standing.clone() {
            let (place, item) = match place {
                TextPlace::SystemFront | TextPlace::SystemEnd => ("system", None),
                TextPlace::Item(item) => ("message", Some(item)),
            };
            read.recording.stands(place, item, text, || origin(&known, slots, text));
        }
        let Some(witness) = witness else { return };
        let standing = standing.map(|(place, text)| {
            let (source, kind) = origin(&known, slots, text);
            StandingText { source, kind, place, text: text.clone() }
        });
        witness.see(Sight::Texts(standing.collect()));
    }
}

fn has_texts(scene: &Scene) -> bool {
    let aside = || scene.results.iter().any(|result| !result.append.is_empty());
    !scene.system.is_empty() || scene.notes.iter().any(|note| !note.texts.is_empty()) || aside()
}

/// Whose text it is. Layout system makes texts of slots anew for every request and records none.
fn origin(known: &[&Placed], slots: &[SlotText<'_>], text: &str) -> (String, TextKind) {
    if let Some(placed) = known.iter().rev().find(|placed| placed.text == *text) {
        return (placed.source.clone(), placed.kind);
    }
    let slot = slots.iter().find(|slot| text.contains(slot.text.trim()));
    (slot.map(|slot| slot.slot.to_owned()).unwrap_or_default(), TextKind::Persistent)
}
