//! The configuration that is written: mostly comments, each of which is a configuration when its mark is taken away.
use super::found::Found;
use crate::cli::run::agents::Agent;
use std::fmt::Write as _;

/// What any agent has use for.
const EXAMPLES: &str = "
  # A text at the start of every session.
  # - { name: rules, on: session.start, run: { text: Write a test for every fix. } }

  # What a command says, behind every prompt: for this turn only.
  # - { name: tree, on: prompt.submit, run: { command: [git, status, --short] } }

  # What must not leave this machine.
  # - { name: keys, on: model.context, run: { edits: [{ op: messages.redact, pattern: 'sk-[A-Za-z0-9_-]{16,}', with: '[key]' }] } }

  # A command that sends the model back to work: it prints {\"continue\": true, \"message\": \"...\"} while something fails.
  # - { name: tests, on: session.stopping, timeout: 2m, run: { command: [python3, hooks/tests.py] } }
";

/// The text for this agent; `None`: any.
pub(super) fn configuration(agent: Option<&Agent>, found: &Found) -> String {
    let command = agent.and_then(Agent::program).unwrap_or("COMMAND");
    let mut text = format!(
        "# hookgate's configuration for this project. `hookgate run -- {command}` finds it here, once `hookgate trust` has shown what it
# runs. `hookgate check --config hookgate.yaml` says what is wrong with it, `hookgate check --schema config` prints every key.
# Commands run in this folder, and relative paths start here.

hooks:
"
    );
    let is_active = claude_hooks(agent, found, &mut text);
    if let Some(file) = found.codex_hooks {
        let _ = writeln!(
            text,
            "\n  # {file} names hooks of Codex' own: Codex runs them itself, hookgate leaves them alone."
        );
    }
    text.push_str(EXAMPLES);
    if !is_active {
        text = text.replace("\nhooks:\n", "\nhooks: # nothing yet: take the mark away from what you want\n");
    }
    text
}

/// Scripts for Claude Code; whether they run here.
fn claude_hooks(agent: Option<&Agent>, found: &Found, text: &mut String) -> bool {
    let files = match found.claude_hooks.as_slice() {
        [] => return false,
        [file] => (*file).to_owned(),
        files => format!("[{}]", files.join(", ")),
    };
    let hook = format!("- {{ name: claude-code, run: {{ claude_code: {{ settings: {files} }} }} }}");
    // Writing to a string can't fail.
    let _ = match agent.and_then(Agent::program) {
        Some("claude") => writeln!(
            text,
            "  # Claude Code runs the hook scripts of its settings itself: here they would run twice. For other agents:\n  # {hook}"
        ),
        _ => writeln!(
            text,
            "  # The hook scripts that are there for Claude Code, for this agent too. Claude Code runs them itself: do not run it\n  # behind this configuration, or every script runs twice.\n  {hook}"
        ),
    };
    agent.and_then(Agent::program) != Some("claude")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::run::agents::by_name;
    use crate::config::{Source, parse};
    use std::path::Path;

    fn found(claude_hooks: &[&'static str]) -> Found {
        Found { agents: vec![], claude_hooks: claude_hooks.to_vec(), codex_hooks: Some(".codex/hooks.json") }
    }

    fn hooks(text: &str, folder: &Path) -> Vec<String> {
        let loaded = parse(text, Source::File(folder.join("hookgate.yaml")), &|_| None)
            .unwrap_or_else(|e| panic!("{e}\n{text}"));
        loaded.config.hooks.into_iter().map(|hook| hook.name).collect()
    }

    #[test]
    fn what_is_written_and_what_its_comments_offer_is_a_configuration() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::create_dir(folder.path().join(".claude")).unwrap();
        std::fs::write(folder.path().join(".claude/settings.json"), "{}").unwrap();
        for (agent, files, active) in [
            ("claude", &[".claude/settings.json"][..], &[][..]),
            ("codex", &[".claude/settings.json"], &["claude-code"]),
            ("gemini", &[".claude/settings.json", ".claude/settings.local.json"], &["claude-code"]),
            ("opencode", &[], &[]),
        ] {
            let text = configuration(by_name(agent), &found(files));
            assert_eq!(hooks(&text, folder.path()), active, "{text}");
            let all = hooks(&text.replace("  # - ", "  - "), folder.path());
            assert_eq!(all.len(), 4 + usize::from(!files.is_empty()), "{text}");
        }
    }
}
