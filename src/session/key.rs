//! Which session, agent, parent and project a request names: headers, the body, the base URL (config/hookgate.yaml,
//! `sessions`).
use super::record::MAIN;
use crate::config::{self, IdSource};
use crate::json::raw;
use http::{HeaderMap, HeaderName};
use percent_encoding::percent_decode_str;
use regex::Regex;
use std::borrow::Cow;

/// Longest id that is kept as it is; longer ones are hashed.
pub const MAX_ID: usize = 256;
/// Ahead of the id that the gateway gives a session whose client sends none.
pub const NAMELESS: &str = "chain-";
/// Ahead of a hashed id.
const HASHED: &str = "h_";
/// Ahead of a session in the base URL.
const SESSION_PREFIX: &str = "/s/";
/// Ahead of an agent in the base URL.
const AGENT_PREFIX: &str = "/a/";

/// Why a request's ids can't be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum KeyError {
    /// Not 1 or more printable ASCII characters.
    #[error("{origin}: an id is 1 or more printable ASCII characters without white space at its ends")]
    Invalid {
        /// Where it stands.
        origin: String,
    },
    /// A pattern of the config or of a profile does not compile, or has not exactly one group.
    #[error("{pattern:?}: {reason}")]
    Pattern {
        /// The pattern.
        pattern: String,
        /// What is wrong.
        reason: String,
    },
}

/// The ids that a request names, checked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ids {
    /// The session; `None` where the client names none.
    pub session: Option<String>,
    /// The agent, [`MAIN`] unless it names another.
    pub agent: String,
    /// The parent agent; [`MAIN`] where it is the session's first.
    pub parent: Option<String>,
    /// The workspace.
    pub project: Option<String>,
}

/// A session named in the base URL.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PathIds<'a> {
    /// The session.
    pub session: String,
    /// The agent, where one is named.
    pub agent: Option<String>,
    /// The path without the prefix; begins with `/`.
    pub rest: &'a str,
}

/// Looks up the raw JSON text of a top-level member of the body.
pub type Members<'a> = dyn Fn(&str) -> Option<&'a str> + 'a;

/// Finds ids in headers and bodies.
#[derive(Debug)]
pub struct KeyFinder {
    id: Vec<Source>,
    agent: Vec<Source>,
    parent: Vec<Source>,
    project: Vec<Source>,
}

/// One place where an id may stand.
#[derive(Debug, Clone)]
pub enum Source {
    /// A header.
    Header(HeaderName),
    /// A string in the body.
    Body {
        /// A JSON pointer (RFC 6901), as its unescaped tokens.
        pointer: Vec<String>,
        /// A pattern whose one group is the id; `None` takes the whole string.
        pattern: Option<Regex>,
    },
}

impl KeyFinder {
    /// Prepares the sources of the config.
    ///
    /// # Errors
    /// [`KeyError::Pattern`].
    pub fn new(sessions: &config::Sessions) -> Result<Self, KeyError> {
        let compile = |sources: &[IdSource]| sources.iter().map(Source::new).collect::<Result<_, _>>();
        Ok(Self {
            id: compile(&sessions.id)?,
            agent: compile(&sessions.agent)?,
            parent: compile(&sessions.parent)?,
            project: compile(&sessions.project)?,
        })
    }

    /// The ids of a request. The first source that is present wins; what the configured sources do not find is taken
    /// from the base URL (`path`), then from the client profile's own places (`fallback`).
    ///
    /// # Errors
    /// [`KeyError::Invalid`] naming the source.
    pub fn find<'a>(
        &self,
        headers: &HeaderMap,
        path: Option<&PathIds<'_>>,
        fallback: &[Source],
        body: &Members<'a>,
    ) -> Result<Ids, KeyError> {
        let first = |sources: &[Source]| sources.iter().find_map(|source| source.find(headers, body)).transpose();
        let session = match (first(&self.id)?, path) {
            (None, Some(path)) => Some(path.session.clone()),
            (None, None) => first(fallback)?,
            (found, _) => found,
        };
        // Codex names its main thread by the session's id. Any spelling of the session counts, because an operator's own
        // session header may stand ahead of the client's.
        let is_session = |id: &str| {
            session.as_deref() == Some(id)
                || self
                    .id
                    .iter()
                    .filter_map(|source| source.find(headers, body))
                    .any(|other| other.as_deref() == Ok(id))
        };
        let agent = first(&self.agent)?.or_else(|| path.and_then(|p| p.agent.clone()));
        Ok(Ids {
            agent: agent.filter(|id| !is_session(id)).unwrap_or_else(|| MAIN.to_owned()),
            parent: first(&self.parent)?.map(|id| if is_session(&id) { MAIN.to_owned() } else { id }),
            project: first(&self.project)?,
            session,
        })
    }
}

impl Source {
    /// Prepares one source.
    ///
    /// # Errors
    /// [`KeyError::Pattern`].
    pub fn new(source: &IdSource) -> Result<Self, KeyError> {
        match source {
            IdSource::Header(name) => Ok(Self::Header(name.clone())),
            IdSource::Body { pointer, matching } => Self::body(pointer, matching.as_deref()),
        }
    }

    /// A source in the body.
    ///
    /// # Errors
    /// [`KeyError::Pattern`].
    pub fn body(pointer: &str, pattern: Option<&str>) -> Result<Self, KeyError> {
        Ok(Self::Body { pointer: tokens(pointer)?, pattern: pattern.map(one_group).transpose()? })
    }

    fn find<'a>(&self, headers: &HeaderMap, body: &Members<'a>) -> Option<Result<String, KeyError>> {
        match self {
            Self::Header(name) => {
                let value = headers.get(name)?.as_bytes();
                Some(checked(value).ok_or_else(|| KeyError::Invalid { origin: format!("header {name}") }))
            }
            Self::Body { pointer, pattern } => {
                let text = string_at(pointer, body)?;
                let id = match pattern {
                    Some(pattern) => pattern.captures(&text)?.get(1)?.as_str(),
                    None => &text,
                };
                let origin = || format!("body /{}", pointer.join("/"));
                Some(checked(id.as_bytes()).ok_or_else(|| KeyError::Invalid { origin: origin() }))
            }
        }
    }
}

fn one_group(pattern: &str) -> Result<Regex, KeyError> {
    let error = |reason: String| KeyError::Pattern { pattern: pattern.to_owned(), reason };
    let regex = Regex::new(pattern).map_err(|e| error(e.to_string()))?;
    // The whole match counts as a group.
    match regex.captures_len() - 1 {
        1 => Ok(regex),
        other => Err(error(format!("has {other} groups, exactly one must be the id"))),
    }
}

/// The tokens of a JSON pointer (RFC 6901 section 4).
fn tokens(pointer: &str) -> Result<Vec<String>, KeyError> {
    let Some(path) = pointer.strip_prefix('/') else {
        return Err(KeyError::Pattern { pattern: pointer.to_owned(), reason: "a JSON pointer begins with /".into() });
    };
    Ok(path.split('/').map(|token| token.replace("~1", "/").replace("~0", "~")).collect())
}

fn string_at<'a>(pointer: &[String], body: &Members<'a>) -> Option<Cow<'a, str>> {
    let (first, rest) = pointer.split_first()?;
    let value = rest.iter().try_fold(body(first)?, |value, token| child(value, token))?;
    raw::string(value)
}

fn child<'a>(value: &'a str, token: &str) -> Option<&'a str> {
    let span = match raw::array(value) {
        Some(elements) => *elements.get(token.parse::<usize>().ok()?)?,
        None => raw::object(value).ok()?.into_iter().find(|field| field.key == token)?.value,
    };
    value.get(span.start..span.end)
}

/// An id as it is kept: itself, or its hash if it is long; `None` if it is no id.
pub fn checked(id: &[u8]) -> Option<String> {
    let is_printable = |byte: &u8| (b' '..=b'~').contains(byte);
    if id.is_empty() || id.trim_ascii().len() != id.len() || !id.iter().all(is_printable) {
        return None;
    }
    if id.len() > MAX_ID {
        return Some(format!("{HASHED}{}", blake3::hash(id).to_hex()));
    }
    String::from_utf8(id.to_vec()).ok()
}

/// Takes `/s/SESSION` or `/s/SESSION/a/AGENT` off the front of a path; `None` if it has no such prefix. Ids are
/// percent-decoded.
///
/// # Errors
/// [`KeyError::Invalid`] for an id that is none, or one that is a dot segment.
pub fn strip_session_prefix(path: &str) -> Result<Option<PathIds<'_>>, KeyError> {
    let Some(after) = path.strip_prefix(SESSION_PREFIX) else { return Ok(None) };
    let (session, rest) = segment(after);
    let session = path_id(session, "session")?;
    let (agent, rest) = match rest.strip_prefix(AGENT_PREFIX) {
        Some(after) => {
            let (agent, rest) = segment(after);
            (Some(path_id(agent, "agent")?), rest)
        }
        None => (None, rest),
    };
    Ok(Some(PathIds { session, agent, rest: if rest.is_empty() { "/" } else { rest } }))
}

/// The first segment and what follows, which is empty or begins with `/`.
fn segment(path: &str) -> (&str, &str) {
    path.split_at(path.find('/').unwrap_or(path.len()))
}

fn path_id(segment: &str, what: &str) -> Result<String, KeyError> {
    let decoded: Cow<'_, [u8]> = percent_decode_str(segment).into();
    // A path with dot segments is refused in any spelling, here as behind the prefix.
    let is_dots = matches!(decoded.as_ref(), b"." | b"..");
    let id = checked(&decoded).filter(|_| !is_dots);
    id.ok_or_else(|| KeyError::Invalid { origin: format!("the {what} in the path") })
}

#[cfg(test)]
mod tests;
