//! A profile as it is written in YAML.
use super::shape::{HeaderTest, Shape, TextTest};
use super::{LayoutHint, Source};
use http::HeaderName;
use regex::{Regex, RegexSet};
use serde::Deserialize;
use std::collections::BTreeMap;

/// One file.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Profile {
    /// The client's name.
    name: String,
    /// Header conditions; the client is recognised when all of one entry hold.
    #[serde(default, rename = "match")]
    matching: Vec<Headers>,
    /// Patterns of the first instruction blocks that must stay first and untouched.
    #[serde(default)]
    protected_system: Vec<String>,
    /// Patterns of text blocks in user messages that are the client's own.
    #[serde(default)]
    reminders: Vec<String>,
    /// Requests that are no turns; one entry must hold.
    #[serde(default)]
    side_requests: Vec<Conditions>,
    #[serde(default)]
    compaction: Compaction,
    layout: Option<LayoutHint>,
    oauth: Option<OAuth>,
    /// Places of the session's id in the body.
    #[serde(default)]
    session_from_body: Vec<BodySource>,
}

/// Header names with the pattern that their value matches; `absent` lists those that must not be there.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct Headers {
    #[serde(default)]
    headers: BTreeMap<String, String>,
    #[serde(default)]
    absent: Vec<String>,
}

/// All that are given must hold.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Conditions {
    #[serde(default)]
    no_tools: bool,
    #[serde(default)]
    structured: bool,
    /// The last item carries no cache marker.
    #[serde(default)]
    tail_unmarked: bool,
    max_tokens_at_most: Option<u64>,
    items_at_most: Option<usize>,
    model_matches: Option<String>,
    /// One instruction block matches.
    system_matches: Option<String>,
    /// One text block of the last message, the user's, matches.
    last_user_matches: Option<String>,
    #[serde(default)]
    headers: BTreeMap<String, String>,
    #[serde(default)]
    absent: Vec<String>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct Compaction {
    /// Requests that ask for a summary; one entry must hold.
    #[serde(default)]
    requests: Vec<Conditions>,
    #[serde(default)]
    compacted: Compacted,
}

/// How a compacted history shows.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct Compacted {
    /// One text block of the first user message matches.
    first_user_matches: Option<String>,
    /// A header that counts compactions.
    header_counter: Option<String>,
    /// It holds a compaction item of the provider.
    #[serde(default)]
    item: bool,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct OAuth {
    credential_prefix: String,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct BodySource {
    body: String,
    #[serde(rename = "match")]
    pattern: Option<String>,
}

impl Profile {
    pub(super) fn compile(self) -> Result<super::Profile, String> {
        let shapes = |list: Vec<Conditions>| list.into_iter().map(Conditions::compile).collect::<Result<Vec<_>, _>>();
        let matching = self.matching.into_iter().map(|entry| {
            let headers = header_tests(entry.headers, entry.absent)?;
            // An entry without conditions would take every client.
            if headers.is_empty() { Err("match: an entry has no conditions".to_owned()) } else { Ok(headers) }
        });
        let sources = self.session_from_body.iter().map(|s| Source::body(&s.body, s.pattern.as_deref()));
        let compacted = self.compaction.compacted;
        Ok(super::Profile {
            name: self.name,
            layout: self.layout,
            session_from_body: sources.collect::<Result<_, _>>().map_err(|e| e.to_string())?,
            matching: matching
                .map(|headers| Ok(Shape { headers: headers?, ..Shape::default() }))
                .collect::<Result<_, String>>()?,
            protected: set(&self.protected_system)?,
            reminders: set(&self.reminders)?,
            side: shapes(self.side_requests)?,
            compaction: shapes(self.compaction.requests)?,
            continued: compacted.first_user_matches.map(|p| regex(&p)).transpose()?,
            window: compacted.header_counter.map(|n| header_name(&n)).transpose()?,
            compaction_item: compacted.item,
            oauth_prefix: self.oauth.map(|o| o.credential_prefix),
        })
    }
}

impl Conditions {
    fn compile(self) -> Result<Shape, String> {
        let system = self.system_matches.map(|p| regex(&p).map(TextTest::System)).transpose()?;
        let last_user = self.last_user_matches.map(|p| regex(&p).map(TextTest::LastUser)).transpose()?;
        Ok(Shape {
            headers: header_tests(self.headers, self.absent)?,
            no_tools: self.no_tools,
            structured: self.structured,
            tail_unmarked: self.tail_unmarked,
            max_tokens_at_most: self.max_tokens_at_most,
            items_at_most: self.items_at_most,
            model: self.model_matches.map(|p| regex(&p)).transpose()?,
            texts: system.into_iter().chain(last_user).collect(),
        })
    }
}

fn header_tests(matches: BTreeMap<String, String>, absent: Vec<String>) -> Result<Vec<HeaderTest>, String> {
    let matches = matches.iter().map(|(name, pattern)| Ok(HeaderTest::Matches(header_name(name)?, regex(pattern)?)));
    let absent = absent.iter().map(|name| header_name(name).map(HeaderTest::Absent));
    matches.chain(absent).collect()
}

fn header_name(name: &str) -> Result<HeaderName, String> {
    name.parse().map_err(|_| format!("{name:?} is not a header name"))
}

fn regex(pattern: &str) -> Result<Regex, String> {
    Regex::new(pattern).map_err(|e| e.to_string())
}

fn set(patterns: &[String]) -> Result<RegexSet, String> {
    RegexSet::new(patterns).map_err(|e| e.to_string())
}
