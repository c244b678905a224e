//! What each agent needs to be told where the gateway is. A new agent is a row.
use crate::config::Provider;
use std::ffi::OsStr;
use std::path::Path;

/// An agent.
#[derive(Debug)]
pub(in crate::cli) struct Agent {
    /// What it is called.
    pub(in crate::cli) name: &'static str,
    /// File names of its programs, and last parts of its packages' names.
    programs: &'static [&'static str],
    /// The ways in which it is told.
    pub(super) told: &'static [Told],
    /// Who names its sessions.
    pub(super) session: Session,
}

/// One way of telling an agent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Told {
    /// A variable with the base URL of this provider, and the version that its value ends with.
    Variable(&'static str, Provider, &'static str),
    /// `--settings`, which wins over settings files, where one of these says otherwise.
    ClaudeSettings,
    /// `-c`, which wins over `config.toml`.
    CodexOption,
    /// `OPENCODE_CONFIG_CONTENT`, which is merged over the configuration files.
    OpencodeContent,
    /// `--extension` with a generated file.
    PiExtension,
}

/// Who names an agent's sessions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Session {
    /// It sends no id, so its base URL has one.
    Url,
    /// It sends ids; another one can be set as a header.
    Header,
    /// It sends ids, and nothing can be set beside them.
    Own,
}

use Provider::{Anthropic, Gemini, OpenAi};
use Told::Variable;

/// The agents that are known by name.
pub(in crate::cli) static AGENTS: [Agent; 9] = [
    Agent {
        name: "Claude Code",
        programs: &["claude", "claude-code"],
        told: &[Variable("ANTHROPIC_BASE_URL", Anthropic, ""), Told::ClaudeSettings],
        session: Session::Header,
    },
    Agent { name: "Codex", programs: &["codex"], told: &[Told::CodexOption], session: Session::Own },
    Agent {
        name: "opencode",
        programs: &["opencode", "opencode-ai"],
        told: &[Told::OpencodeContent],
        session: Session::Header,
    },
    Agent {
        name: "Gemini CLI",
        programs: &["gemini", "gemini-cli"],
        told: &[Variable("GOOGLE_GEMINI_BASE_URL", Gemini, "")],
        session: Session::Url,
    },
    Agent {
        name: "Qwen Code",
        programs: &["qwen", "qwen-code"],
        told: &[
            Variable("OPENAI_BASE_URL", OpenAi, "/v1"),
            Variable("ANTHROPIC_BASE_URL", Anthropic, ""),
            Variable("GOOGLE_GEMINI_BASE_URL", Gemini, ""),
        ],
        session: Session::Url,
    },
    Agent {
        name: "aider",
        programs: &["aider", "aider-chat"],
        told: &[Variable("OPENAI_API_BASE", OpenAi, "/v1"), Variable("ANTHROPIC_API_BASE", Anthropic, "")],
        session: Session::Url,
    },
    Agent { name: "pi", programs: &["pi", "pi-coding-agent"], told: &[Told::PiExtension], session: Session::Url },
    Agent {
        name: "crush",
        programs: &["crush"],
        told: &[
            Variable("ANTHROPIC_API_ENDPOINT", Anthropic, ""),
            Variable("OPENAI_API_ENDPOINT", OpenAi, "/v1"),
            Variable("GEMINI_API_ENDPOINT", Gemini, ""),
        ],
        session: Session::Own,
    },
    // Its base URL stands in its own settings only.
    Agent { name: "Cline", programs: &["cline"], told: &[], session: Session::Url },
];

/// Any other program: what SDKs and the libraries of agents read.
pub(in crate::cli) static PROGRAM: Agent = Agent {
    name: "an SDK program",
    programs: &[],
    told: &[
        Variable("ANTHROPIC_BASE_URL", Anthropic, ""),
        Variable("OPENAI_BASE_URL", OpenAi, "/v1"),
        Variable("GOOGLE_GEMINI_BASE_URL", Gemini, ""),
        Variable("ANTHROPIC_API_BASE", Anthropic, ""),
        Variable("OPENAI_API_BASE", OpenAi, "/v1"),
        Told::OpencodeContent,
    ],
    session: Session::Url,
};

/// Programs that start the one that a later word names.
const STARTERS: [&str; 8] = ["npx", "bunx", "pnpx", "uvx", "env", "nice", "nohup", "time"];

/// The agent of a command, and where in it the agent's own arguments begin.
pub(super) fn of(command: &[impl AsRef<OsStr>]) -> (&'static Agent, usize) {
    let named = |word: &OsStr| {
        let name = Path::new(word).file_name()?.to_str()?;
        // A package may have a version: `npx @openai/codex@latest`.
        let name = name.split_once('@').map_or(name, |(name, _)| name);
        AGENTS.iter().find(|agent| agent.programs.contains(&name))
    };
    let words = || command.iter().map(AsRef::as_ref).enumerate();
    let starts =
        |word: &OsStr| Path::new(word).file_name().and_then(OsStr::to_str).is_some_and(|name| STARTERS.contains(&name));
    let program = words().find(|(_, word)| !starts(word)).filter(|(index, _)| *index == 0);
    let found = match program {
        Some((index, word)) => named(word).map(|agent| (agent, index + 1)),
        // Options of starters stand in between, so the first word that names an agent counts.
        None => words().find_map(|(index, word)| Some((named(word)?, index + 1))),
    };
    found.unwrap_or((&PROGRAM, command.len().min(1)))
}

/// The agent of this name, as `init` takes it.
pub(in crate::cli) fn by_name(name: &str) -> Option<&'static Agent> {
    AGENTS.iter().find(|agent| agent.programs.contains(&name))
}

impl Agent {
    /// Its program's file name.
    pub(in crate::cli) fn program(&self) -> Option<&'static str> {
        self.programs.first().copied()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_agent_is_recognised_by_its_programs_name() {
        for (command, name, arguments) in [
            (&["claude"][..], "Claude Code", 1),
            (&["/usr/local/bin/claude", "-p", "codex"], "Claude Code", 1),
            (&["./node_modules/.bin/codex", "exec"], "Codex", 1),
            (&["npx", "-y", "@openai/codex@0.171.0", "exec"], "Codex", 3),
            (&["env", "A=1", "nice", "gemini"], "Gemini CLI", 4),
            (&["uvx", "--from", "aider-chat", "aider"], "aider", 3),
            (&["python3", "claude"], PROGRAM.name, 1),
            (&["sh", "-c", "claude"], PROGRAM.name, 1),
            (&["npx", "something"], PROGRAM.name, 1),
            (&["claude.py"], PROGRAM.name, 1),
        ] {
            let (agent, at) = of(command);
            assert_eq!((agent.name, at), (name, arguments), "{command:?}");
        }
    }

    #[test]
    fn no_two_agents_have_a_program_of_the_same_name() {
        let mut programs: Vec<_> = AGENTS.iter().flat_map(|agent| agent.programs).collect();
        let all = programs.len();
        programs.sort_unstable();
        programs.dedup();
        assert_eq!(programs.len(), all);
    }
}
