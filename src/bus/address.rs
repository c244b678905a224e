//! Who is meant, by what people write: an agent's id or label, all agents of a session, all children of one.
use crate::session::record::SessionKey;
use std::sync::Arc;

/// All agents of the session.
const ALL: &str = "*";
/// Behind an agent: all that it started.
const CHILDREN: &str = "/*";

/// Which agents of a session.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Agents<'a> {
    /// `*`
    All,
    /// `PARENT/*`
    ChildrenOf(&'a str),
    /// An id or a label.
    One(&'a str),
}

impl<'a> Agents<'a> {
    /// From what is written in a path, a folder's name or a hook's `to.agent`.
    pub fn parse(text: &'a str) -> Self {
        match text.strip_suffix(CHILDREN) {
            _ if text == ALL => Self::All,
            Some(parent) if !parent.is_empty() => Self::ChildrenOf(parent),
            _ => Self::One(text),
        }
    }
}

/// An agent that may be meant.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Candidate {
    /// Its session.
    pub key: SessionKey,
    /// What people call it.
    pub label: Option<Arc<str>>,
    /// The agent that started it, as the client names it.
    pub parent: Option<String>,
}

impl Candidate {
    fn goes_by(&self, name: &str) -> bool {
        self.key.agent == name || self.label.as_deref() == Some(name)
    }
}

/// The agents that are meant. A name that none has means an agent that has not spoken yet; a label that several have means all of
/// them.
pub fn meant(agents: Agents<'_>, of: &SessionKey, candidates: &[Candidate]) -> Vec<SessionKey> {
    let chosen = |is_meant: &dyn Fn(&Candidate) -> bool| -> Vec<SessionKey> {
        candidates.iter().filter(|candidate| is_meant(candidate)).map(|candidate| candidate.key.clone()).collect()
    };
    match agents {
        Agents::All => chosen(&|_| true),
        Agents::ChildrenOf(parent) => {
            let parents: Vec<&str> =
                candidates.iter().filter(|c| c.goes_by(parent)).map(|c| c.key.agent.as_str()).chain([parent]).collect();
            chosen(&|candidate| candidate.parent.as_deref().is_some_and(|parent| parents.contains(&parent)))
        }
        Agents::One(name) => {
            let by_id = chosen(&|candidate| candidate.key.agent == name);
            if !by_id.is_empty() {
                return by_id;
            }
            let labelled = chosen(&|candidate| candidate.label.as_deref() == Some(name));
            match labelled.is_empty() {
                false => labelled,
                true => vec![SessionKey { agent: name.to_owned(), ..of.clone() }],
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::session::record::Tenant;

    fn key(agent: &str) -> SessionKey {
        SessionKey { tenant: Tenant("t".into()), id: "s".into(), agent: agent.into() }
    }

    fn candidate(agent: &str, label: &str, parent: &str) -> Candidate {
        let some = |text: &str| (!text.is_empty()).then(|| text.to_owned());
        Candidate { key: key(agent), label: some(label).map(Arc::from), parent: some(parent) }
    }

    #[test]
    fn an_agent_is_meant_by_its_id_its_label_its_session_or_its_parent() {
        let all = [
            candidate("main", "", ""),
            candidate("a1", "qa", "main"),
            candidate("a2", "dev", "main"),
            candidate("a3", "qa", "a2"),
            candidate("qa2", "a2", "gone"),
        ];
        for (written, expected) in [
            ("main", vec!["main"]),
            ("a1", vec!["a1"]),
            ("qa", vec!["a1", "a3"]),
            ("a2", vec!["a2"]),
            ("later", vec!["later"]),
            ("*", vec!["main", "a1", "a2", "a3", "qa2"]),
            ("main/*", vec!["a1", "a2"]),
            ("dev/*", vec!["a3"]),
            ("gone/*", vec!["qa2"]),
            ("nobody/*", vec![]),
            ("/*", vec!["/*"]),
        ] {
            let found = meant(Agents::parse(written), &key("main"), &all);
            assert_eq!(found.iter().map(|key| key.agent.as_str()).collect::<Vec<_>>(), expected, "{written}");
        }
    }
}
