//! What a project shows of the agents that work in it, and of their hook scripts.
use crate::cli::run::agents::{self, Agent};
use serde_json::Value;
use std::path::Path;

/// What an agent leaves in a project, by the program's name. The first that is there is the project's agent.
const TRACES: [(&str, &[&str]); 9] = [
    ("claude", &[".claude", "CLAUDE.md"]),
    ("codex", &[".codex"]),
    ("opencode", &["opencode.json", "opencode.jsonc", ".opencode"]),
    ("gemini", &[".gemini", "GEMINI.md"]),
    ("qwen", &[".qwen", "QWEN.md"]),
    ("aider", &[".aider.conf.yml", ".aider.chat.history.md"]),
    ("crush", &["crush.json", ".crush.json", ".crush"]),
    ("pi", &[".pi"]),
    ("cline", &[".clinerules", ".cline"]),
];

/// Settings files of Claude Code.
const CLAUDE_SETTINGS: [&str; 2] = [".claude/settings.json", ".claude/settings.local.json"];

/// Hooks of Codex' own.
const CODEX_HOOKS: &str = ".codex/hooks.json";

/// What was found.
#[derive(Debug)]
pub(super) struct Found {
    /// The agents that were here, by the traces that they left.
    pub(super) agents: Vec<(&'static Agent, &'static str)>,
    /// Settings files of Claude Code that name hooks.
    pub(super) claude_hooks: Vec<&'static str>,
    /// Hooks that Codex runs itself.
    pub(super) codex_hooks: Option<&'static str>,
}

impl Found {
    /// Looks into a project's folder.
    pub(super) fn look(project: &Path) -> Self {
        let is_there = |name: &&&'static str| project.join(name).exists();
        let left = |(program, traces): &(&str, &'static [&'static str])| {
            Some((agents::by_name(program)?, *traces.iter().find(is_there)?))
        };
        let names_hooks = |file: &&str| {
            let text = std::fs::read_to_string(project.join(file)).unwrap_or_default();
            let settings: Value = serde_json::from_str(&text).unwrap_or_default();
            settings["hooks"].as_object().is_some_and(|events| !events.is_empty())
        };
        Self {
            agents: TRACES.iter().filter_map(left).collect(),
            claude_hooks: CLAUDE_SETTINGS.into_iter().filter(|file| names_hooks(file)).collect(),
            codex_hooks: Some(CODEX_HOOKS).filter(|file| names_hooks(file)),
        }
    }

    /// The agent that the configuration is for: the one that is wanted, else the first that was here.
    pub(super) fn agent(&self, wanted: Option<&'static Agent>) -> Option<&'static Agent> {
        wanted.or_else(|| self.agents.first().map(|(agent, _)| *agent))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    #[test]
    fn agents_and_scripts_are_found_by_what_they_left() {
        let folder = tempfile::tempdir().unwrap();
        let project = folder.path();
        let names = |found: &Found| found.agents.iter().map(|(agent, _)| agent.name).collect::<Vec<_>>();
        assert_eq!(names(&Found::look(project)), [""; 0]);
        fs::write(project.join("opencode.json"), "{}").unwrap();
        fs::create_dir(project.join(".claude")).unwrap();
        fs::write(project.join(".claude/settings.local.json"), r#"{"hooks": {"Stop": []}}"#).unwrap();
        fs::write(project.join(".claude/settings.json"), r#"{"hooks": {}}"#).unwrap();
        let found = Found::look(project);
        assert_eq!(names(&found), ["Claude Code", "opencode"]);
        assert_eq!(found.claude_hooks, [".claude/settings.local.json"]);
        assert_eq!(found.codex_hooks, None);
        assert_eq!(found.agent(agents::by_name("gemini")).map(|agent| agent.name), Some("Gemini CLI"));
    }
}
