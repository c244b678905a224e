//! Which agent a request's head names: noted, so that it can be sent messages, and whether it ever got one.
use super::Turns;
use super::read::Asked;
use crate::bus::Sighting;
use crate::json::Doc;
use crate::session::key::PathIds;
use crate::session::record::{MAIN, Tenant};
use crate::session::tenant::Credential;
use http::{HeaderMap, HeaderName};
use serde::Deserialize;
use xxhash_rust::xxh3::xxh3_64;

/// What people call the agent.
const LABEL: HeaderName = HeaderName::from_static("x-hookgate-label");
/// Longest label in bytes; a longer one is none.
const MAX_LABEL: usize = 128;
/// Codex' own: JSON with the name of a sub-agent.
const CODEX_TURN: HeaderName = HeaderName::from_static("x-codex-turn-metadata");

#[derive(Deserialize)]
struct CodexTurn {
    /// `/root/TASK`
    agent_name: Option<String>,
}

impl Turns {
    /// Notes the agent that a request's head names. True when the request may have to show messages, so that it must be
    /// read.
    pub fn meet(
        &self,
        headers: &HeaderMap,
        path: Option<&PathIds<'_>>,
        key: Option<&Tenant>,
        query: Option<&str>,
    ) -> bool {
        // Whoever reads the body refuses a bad id.
        let Ok(ids) = self.sessions.keys.find(headers, path, &[], &|_| None) else { return false };
        let Some(session) = ids.session.as_deref() else { return self.bus.is_used() };
        let credential = Credential::of(headers, query);
        let given = headers.get(LABEL).map(http::HeaderValue::as_bytes);
        let parts = [
            key.map(|tenant| tenant.0.as_bytes()).or(credential.as_ref().map(Credential::bytes)),
            Some(ids.agent.as_bytes()),
            given,
            ids.parent.as_deref().map(str::as_bytes),
        ];
        let mark = parts.into_iter().fold(0_u64, |mark, part| mark.rotate_left(17) ^ part.map_or(1, xxh3_64));
        let sighting = Sighting { session, agent: &ids.agent, parent: ids.parent.as_deref(), mark };
        let tenant = || self.sessions.tenants.whose(key, headers, query).0;
        self.bus.note(sighting, tenant, || label(headers, &ids.agent));
        self.bus.has_addressed(session, &ids.agent)
    }

    /// Whether this request, now that its body is known, is of a session that got a message.
    pub(super) fn is_addressed(&self, asked: &Asked, doc: &Doc) -> bool {
        if !self.bus.is_used() {
            return false;
        }
        let profile = self.sessions.profiles.of(&asked.headers);
        let body = |member: &str| doc.get(member).map(|m| doc.text(m.value));
        let ids = self.sessions.keys.find(&asked.headers, asked.path_ids.as_ref(), &profile.session_from_body, &body);
        // An id that is none is refused where the session is looked for.
        ids.is_ok_and(|ids| match ids.session {
            Some(session) => self.bus.has_addressed(&session, &ids.agent),
            None => self.bus.has_addressed_nameless(),
        })
    }
}

fn label(headers: &HeaderMap, agent: &str) -> Option<String> {
    if let Some(given) = headers.get(LABEL) {
        return given.to_str().ok().map(str::trim).filter(|label| is_label(label)).map(str::to_owned);
    }
    let turn = headers.get(CODEX_TURN).filter(|_| agent != MAIN)?;
    let CodexTurn { agent_name } = serde_json::from_slice(turn.as_bytes()).ok()?;
    let name = agent_name?;
    name.rsplit('/').next().filter(|label| is_label(label)).map(str::to_owned)
}

/// Whether a text can be a label.
pub fn is_label(text: &str) -> bool {
    !text.trim().is_empty() && text.len() <= MAX_LABEL && !text.chars().any(char::is_control)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_label_is_what_a_header_says_or_codex_calls_its_sub_agent() {
        let turn = r#"{"turn_id":"t","agent_name":"/root/fix_tests"}"#;
        for (name, value, agent, expected) in [
            ("x-hookgate-label", " qa ", MAIN, Some("qa")),
            ("x-hookgate-label", "", MAIN, None),
            ("x-codex-turn-metadata", turn, "thread-2", Some("fix_tests")),
            // Its first agent is called "root" like every other.
            ("x-codex-turn-metadata", turn, MAIN, None),
            ("x-codex-turn-metadata", r#"{"agent_name":"/root/"}"#, "thread-2", None),
            ("x-codex-turn-metadata", "{}", "thread-2", None),
            ("x-codex-turn-metadata", "no JSON", "thread-2", None),
        ] {
            let headers = HeaderMap::from_iter([(HeaderName::from_static(name), value.parse().unwrap())]);
            assert_eq!(label(&headers, agent).as_deref(), expected, "{name}: {value}");
        }
    }
}
