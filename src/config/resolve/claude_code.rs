//! `run.claude_code`: its settings files, read once, and the scripts that they name.
use super::Base;
use super::hooks::{find_in_path, is_executable};
use crate::config::claude_code::{Action, ClaudeCode, Group, Settings};
use crate::config::problem::Severity;
use crate::config::reader::{At, Reader};
use crate::config::resolved::Store;
use crate::config::written as from;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// The folder of transcripts in that of the store.
const TRANSCRIPTS: &str = "transcripts";

/// The ways in which a line names the project's folder.
const PROJECT_DIR: [&str; 2] = ["${CLAUDE_PROJECT_DIR}", "$CLAUDE_PROJECT_DIR"];

/// Where transcripts are kept, and for how long.
#[derive(Debug)]
pub(super) struct Keeping {
    transcripts: Option<PathBuf>,
    retain: Duration,
}

impl Keeping {
    /// Beside what else is kept.
    pub(super) fn beside(store: &Store, retain: Duration) -> Self {
        let transcripts = match store {
            Store::Sled { path } => Some(path.join(TRANSCRIPTS)),
            Store::Memory | Store::Redis { .. } => None,
        };
        Self { transcripts, retain }
    }
}

/// Resolves one; what a settings file says wrong goes to `reader`, behind the file's own line and column.
pub(super) fn resolve(
    written: &from::ClaudeCode,
    base: &Base,
    keeping: &Keeping,
    reader: &mut Reader<'_>,
) -> ClaudeCode {
    let project_dir = folder(&written.project_dir, base, reader);
    let cwd = written.cwd.as_ref().map_or_else(|| project_dir.clone(), |cwd| folder(cwd, base, reader));
    let mut groups = Vec::new();
    let mut disabled = None;
    for file in &written.settings.0 {
        let Some(settings) = read(file, base, reader) else { continue };
        disabled = disabled.or(settings.disabled.then_some(file));
        for group in &settings.groups {
            check_scripts(file, group, &project_dir, &cwd, reader);
        }
        groups.extend(settings.groups);
    }
    if let Some(file) = disabled {
        groups.clear();
        reader.keep_at(file, "disableAllHooks is set: none of them runs", Severity::Notice);
    }
    ClaudeCode {
        settings: written.settings.0.iter().map(|file| base.join(&file.value)).collect(),
        groups,
        project_dir,
        cwd,
        agent_type: written.agent_type.clone(),
        on_ask: written.on_ask,
        env: written.env.clone(),
        env_pass: written.env_pass.clone(),
        transcripts: keeping.transcripts.clone(),
        retain: keeping.retain,
    }
}

fn folder(written: &At<String>, base: &Base, reader: &mut Reader<'_>) -> PathBuf {
    let folder = base.join(&written.value);
    if !folder.is_dir() {
        reader.warn_at(written, format!("no such folder {}, create it or write another path", folder.display()));
    }
    folder
}

fn read(file: &At<String>, base: &Base, reader: &mut Reader<'_>) -> Option<Settings> {
    let path = base.join(&file.value);
    let text = match reader.file(&path) {
        Ok(text) => text,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
            reader.warn_at(file, format!("no such file {}, create it or write another path", path.display()));
            return None;
        }
        Err(error) => {
            reader.refuse_at(file, format!("{}: {error}", path.display()));
            return None;
        }
    };
    let mut settings = Settings::parse(&text);
    for finding in std::mem::take(&mut settings.findings) {
        let (line, column) = (finding.place.line, finding.place.column);
        reader.keep_at(file, format!("{}:{line}:{column}: {}", path.display(), finding.what), finding.severity);
    }
    Some(settings)
}

/// Says which scripts are not there, as far as a line can be read without a shell.
fn check_scripts(file: &At<String>, group: &Group, project_dir: &Path, cwd: &Path, reader: &mut Reader<'_>) {
    for handler in &group.handlers {
        let words: Vec<&str> = match &handler.action {
            Action::Shell { line, .. } => line.split_whitespace().collect(),
            Action::Program { program, arguments } => {
                std::iter::once(program.as_str()).chain(arguments.iter().map(String::as_str)).collect()
            }
            Action::Http { .. } => continue,
        };
        for (index, word) in words.iter().enumerate() {
            let Some(path) = script(word, index == 0, project_dir, cwd) else { continue };
            if !path.exists() {
                reader.warn_at(file, format!("{}: no such file {}", group.event.name(), path.display()));
            } else if index == 0 && !is_executable(&path) {
                reader.warn_at(
                    file,
                    format!("{0}: not executable, run `chmod +x {1}`", group.event.name(), path.display()),
                );
            }
        }
        if let (Action::Program { program, .. }, Some(path)) = (&handler.action, reader.env("PATH"))
            && !program.contains('/')
            && find_in_path(program, Some(path)).is_none()
        {
            reader.warn_at(file, format!("{}: no `{program}` in PATH", group.event.name()));
        }
    }
}

/// The path that a word is, when it is one and nothing else: anywhere in the project's folder, or the program itself.
fn script(word: &str, is_program: bool, project_dir: &Path, cwd: &Path) -> Option<PathBuf> {
    let word: String = word.chars().filter(|c| !matches!(c, '"' | '\'')).collect();
    let inside = PROJECT_DIR.iter().find_map(|name| word.strip_prefix(name));
    let plain = |path: &str| !path.is_empty() && path.chars().all(|c| c.is_alphanumeric() || "/._-+@".contains(c));
    match inside.and_then(|rest| rest.strip_prefix('/')) {
        Some(rest) => plain(rest).then(|| project_dir.join(rest)),
        None => (is_program && word.contains('/') && plain(&word)).then(|| cwd.join(word)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_script_is_looked_for_where_its_line_can_be_read() {
        let find = |word: &str, is_program| script(word, is_program, Path::new("/p"), Path::new("/w"));
        for (word, is_program, path) in [
            ("$CLAUDE_PROJECT_DIR/.claude/a.sh", false, Some("/p/.claude/a.sh")),
            ("\"$CLAUDE_PROJECT_DIR\"/.claude/a.sh", true, Some("/p/.claude/a.sh")),
            ("\"${CLAUDE_PROJECT_DIR}/a.sh\"", false, Some("/p/a.sh")),
            ("$CLAUDE_PROJECT_DIR/$NAME", false, None),
            ("$CLAUDE_PROJECT_DIR/a.sh;", false, None),
            ("$CLAUDE_PROJECT_DIRECTORY/a", false, None),
            ("./a.sh", true, Some("/w/./a.sh")),
            ("/bin/sh", true, Some("/bin/sh")),
            ("./a.sh", false, None),
            ("python3", true, None),
            ("~/a.sh", true, None),
            ("$HOME/a.sh", true, None),
        ] {
            assert_eq!(find(word, is_program), path.map(PathBuf::from), "{word}");
        }
    }
}
