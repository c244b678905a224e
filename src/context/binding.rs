//! Tools bind: which calls of an answer reach the client, and what the model finds of the others in its history.
use super::LegResult;
use super::edit::Globs;
use serde::{Deserialize, Serialize};
use std::collections::HashSet;

/// What the calls of one answer are held to.
#[derive(Debug, Clone, Default)]
pub struct Binding {
    /// The tools that may be called.
    pub tools: Roster,
    /// Hooks decide on every call (`tool.call`).
    pub asks: bool,
}

/// The tools that may be called.
#[derive(Debug, Clone, Default)]
pub enum Roster {
    /// Whatever the model calls: no hook changed the request's tools.
    #[default]
    Any,
    /// These.
    Only(HashSet<String>),
    /// All but these: there are tools that the request does not show.
    AllBut {
        /// Names that stood in the request and were removed.
        removed: HashSet<String>,
        /// What hooks said they remove.
        gone: Vec<Globs>,
        /// What hooks said they keep: a tool is in all of them.
        kept: Vec<Globs>,
    },
}

impl Roster {
    /// Whether a tool of this name may be called.
    pub fn has(&self, name: &str) -> bool {
        match self {
            Self::Any => true,
            Self::Only(names) => names.contains(name),
            Self::AllBut { removed, gone, kept } => {
                let is_gone = removed.contains(name) || gone.iter().any(|globs| globs.matches(name));
                !is_gone && kept.iter().all(|globs| globs.matches(name))
            }
        }
    }
}

/// What a call's name alone says about it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Glance {
    /// It passes, as it comes.
    Pass,
    /// It is refused.
    Refuse,
    /// It is held until hooks have decided.
    Ask,
}

impl Binding {
    /// What the name says.
    pub fn glance(&self, name: &str) -> Glance {
        match (self.tools.has(name), self.asks) {
            (false, _) => Glance::Refuse,
            (true, true) => Glance::Ask,
            (true, false) => Glance::Pass,
        }
    }
}

/// What is decided about a call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Ruling {
    /// The client gets it as it came.
    Allow,
    /// The client does not get it; the model is told this.
    Refuse(String),
    /// The client gets it with this input: a JSON object, or, for a free-form tool, a JSON string.
    Replace(String),
}

/// What the model is told of a call to a tool that it does not have.
pub fn not_there(name: &str) -> String {
    format!("The tool {name:?} is not available here. Go on without it.")
}

/// A call of the model that the client knows otherwise or not at all, as later requests have to hold it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Restored {
    /// The call as the model made it, an element of the dialect's native history.
    pub native: String,
    /// Where it stands among the calls that the client knows.
    pub stands: Stands,
    /// What the model is told came of it; `None` where the client made the call, with another input.
    pub result: Option<LegResult>,
}

/// Where a call stood in the model's answer. Calls are named as in [`super::ItemFacts::calls`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Stands {
    /// Right before this one of the client's.
    Before(String),
    /// Behind all of them.
    Last,
    /// In the place of this one.
    Instead(String),
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_that_is_not_on_the_roster_is_refused_whoever_would_be_asked() {
        let names = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect::<HashSet<_>>();
        let globs = |glob: &str| vec![serde_json::from_value::<Globs>(serde_json::json!([glob])).unwrap()];
        let only = Roster::Only(names(&["edit"]));
        let all_but = Roster::AllBut { removed: names(&["bash"]), gone: globs("sh*"), kept: vec![] };
        let kept = Roster::AllBut { removed: names(&[]), gone: vec![], kept: globs("ed*") };
        for (tools, asks, name, expected) in [
            (Roster::Any, false, "bash", Glance::Pass),
            (Roster::Any, true, "bash", Glance::Ask),
            (only.clone(), false, "edit", Glance::Pass),
            (only.clone(), true, "edit", Glance::Ask),
            (only.clone(), true, "Edit", Glance::Refuse),
            (only, false, "", Glance::Refuse),
            (all_but.clone(), false, "bash", Glance::Refuse),
            (all_but.clone(), true, "shell", Glance::Refuse),
            (all_but, false, "mcp__x", Glance::Pass),
            (kept.clone(), false, "edit", Glance::Pass),
            (kept, false, "bash", Glance::Refuse),
        ] {
            assert_eq!(Binding { tools, asks }.glance(name), expected, "{name} {asks}");
        }
    }
}
