//! What tells one client from another, as data: one YAML file per client in `profiles/`, more from the config.
//!
//! A profile is chosen by the request's headers alone. It knows the client's protected instruction blocks, its own
//! reminders among the user's words, which requests are side requests or compactions, and how a compacted history shows.
//! What a profile does not know is a turn: to run a hook too much is seen, to run none is not.
mod shape;
mod written;

pub use shape::{RequestFacts, Texts};

use self::shape::Shape;
use super::key::Source;
use super::tenant::Credential;
use crate::config::yaml;
use http::HeaderMap;
use regex::{Regex, RegexSet};
use std::sync::Arc;

/// Tried in this order; the first that matches wins. Qwen Code poses as Claude Code, so Claude Code is known by more than
/// its name.
const BUILT_IN: [(&str, &str); 8] = [
    ("claude-code", include_str!("profiles/claude-code.yaml")),
    ("codex", include_str!("profiles/codex.yaml")),
    ("opencode", include_str!("profiles/opencode.yaml")),
    ("gemini-cli", include_str!("profiles/gemini-cli.yaml")),
    ("qwen-code", include_str!("profiles/qwen-code.yaml")),
    ("cline", include_str!("profiles/cline.yaml")),
    ("pi", include_str!("profiles/pi.yaml")),
    ("aider", include_str!("profiles/aider.yaml")),
];
/// For every client that no other profile knows.
const GENERIC: (&str, &str) = ("generic", include_str!("profiles/generic.yaml"));

/// Why a profile can't be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("client profile {profile}: {reason}")]
pub struct ProfileError {
    /// Its name, or its place among the config's profiles.
    pub profile: String,
    /// What is wrong.
    pub reason: String,
}

/// What a request is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RequestKind {
    /// The conversation goes on.
    Turn,
    /// The client's own business: a title, a routing decision, a probe.
    Side,
    /// Asks for a summary that will replace the history.
    Compaction,
    /// One of many bodies that are answered later.
    Batch,
}

/// Where a client's history makes one layout the right one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LayoutHint {
    /// It rewrites its history every turn: nothing of a prefix is worth keeping.
    System,
}

/// One client.
#[derive(Debug)]
pub struct Profile {
    /// Its name, in records and logs.
    pub name: String,
    /// The layout to choose where the config says `auto`.
    pub layout: Option<LayoutHint>,
    /// Places in the body where the client names its session, for when no header does.
    pub session_from_body: Vec<Source>,
    matching: Vec<Shape>,
    protected: RegexSet,
    reminders: RegexSet,
    side: Vec<Shape>,
    compaction: Vec<Shape>,
    continued: Option<Regex>,
    window: Option<http::HeaderName>,
    compaction_item: bool,
    oauth_prefix: Option<String>,
}

/// All clients.
#[derive(Debug)]
pub struct Profiles {
    known: Vec<Arc<Profile>>,
    generic: Arc<Profile>,
}

impl Profiles {
    /// The built-in profiles behind `extra`, YAML texts of the same format.
    ///
    /// # Errors
    /// [`ProfileError`] for the first that can't be used.
    pub fn load(extra: &[String]) -> Result<Self, ProfileError> {
        let numbered =
            extra.iter().enumerate().map(|(n, text)| (format!("number {} of the config", n + 1), text.as_str()));
        let built_in = BUILT_IN.iter().map(|(name, text)| ((*name).to_owned(), *text));
        let known = numbered.chain(built_in).map(|(place, text)| Profile::parse(&place, text).map(Arc::new));
        Ok(Self { known: known.collect::<Result<_, _>>()?, generic: Arc::new(Profile::parse(GENERIC.0, GENERIC.1)?) })
    }

    /// The profile of the client that sends these headers.
    pub fn of(&self, headers: &HeaderMap) -> Arc<Profile> {
        let known = self.known.iter().find(|profile| profile.matching.iter().any(|shape| shape.fits_headers(headers)));
        known.unwrap_or(&self.generic).clone()
    }
}

impl Profile {
    fn parse(place: &str, text: &str) -> Result<Self, ProfileError> {
        let error = |reason: String| ProfileError { profile: place.to_owned(), reason };
        let value = yaml::value(text).map_err(|e| error(e.to_string()))?;
        let written: written::Profile = serde_json::from_value(value).map_err(|e| error(e.to_string()))?;
        written.compile().map_err(error)
    }

    /// How many of the first instruction blocks must stay first and untouched.
    pub fn protected<T: AsRef<str>>(&self, system: impl IntoIterator<Item = T>) -> usize {
        system.into_iter().take_while(|text| self.protected.is_match(text.as_ref())).count()
    }

    /// Whether a text block is the client's own reminder and not the user's words.
    pub fn is_reminder(&self, text: &str) -> bool {
        self.reminders.is_match(text)
    }

    /// What a request is for. Texts are decoded only when everything else of a shape fits.
    pub fn kind(&self, facts: &RequestFacts<'_>) -> RequestKind {
        // A title's instructions speak of summaries too, so the narrower shapes come first.
        if self.side.iter().any(|shape| shape.fits(facts)) {
            RequestKind::Side
        } else if self.compaction.iter().any(|shape| shape.fits(facts)) {
            RequestKind::Compaction
        } else {
            RequestKind::Turn
        }
    }

    /// The client's own count of compactions, where it sends one: `THREAD:NUMBER` or `NUMBER`.
    pub fn window(&self, headers: &HeaderMap) -> Option<u64> {
        let value = headers.get(self.window.as_ref()?)?.to_str().ok()?;
        value.rsplit(':').next()?.parse().ok()
    }

    /// Whether the history of this request stands behind a compaction: it begins with the client's continuation text,
    /// holds a compaction item, or the client's count is higher than `known_window`. It stays true for as long as the
    /// history shows it; a compaction is news only where no known history is continued.
    pub fn compacted(&self, facts: &RequestFacts<'_>, known_window: Option<u64>) -> bool {
        let window_moved = || known_window.zip(self.window(facts.headers)).is_some_and(|(known, now)| now > known);
        let continued = || {
            let texts = facts.texts.first_user();
            self.continued.as_ref().is_some_and(|pattern| texts.iter().any(|t| pattern.is_match(shape::head(t))))
        };
        (self.compaction_item && facts.compaction_item) || window_moved() || continued()
    }

    /// Whether this credential is one that the client's vendor binds to its own instructions: the system array is then
    /// left alone.
    pub fn is_oauth<'a>(&self, credential: impl FnOnce() -> Option<Credential<'a>>) -> bool {
        self.oauth_prefix.as_ref().is_some_and(|prefix| credential().is_some_and(|c| c.starts_with(prefix)))
    }
}

#[cfg(test)]
mod tests;
