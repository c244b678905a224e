//! The files that decide what a configuration runs.
use super::Tree;
use super::list::TrustList;
use crate::config::claude_code::{Action, ClaudeCode};
use crate::config::{Config, Files, Hook, Run};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// What ends a word of a shell line, or an option's name (`--config=FILE`).
const BETWEEN_WORDS: [char; 16] = [' ', '\t', '\n', '\'', '"', '`', ';', '|', '&', '(', ')', '<', '>', '=', ',', ':'];

/// How lines of Claude Code's hooks name the project's folder.
const PROJECT_DIR: [&str; 2] = ["${CLAUDE_PROJECT_DIR}", "$CLAUDE_PROJECT_DIR"];

/// Programs whose arguments are read and never run: an agent that works on its notes does not change what `cat NOTES.md` does.
const READERS: [&str; 10] = ["cat", "head", "tail", "grep", "wc", "ls", "test", "cut", "stat", "echo"];

/// A file of the working tree that decides what runs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Covered {
    /// Where: its name, in a folder without links.
    pub path: PathBuf,
    /// Of its bytes; `None`: they can't be read, so nobody can have seen them.
    pub hash: Option<blake3::Hash>,
}

/// What the list says of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum State {
    /// It is trusted as it is.
    Trusted,
    /// It was, and is another by now.
    Changed,
    /// It never was.
    New,
}

impl Covered {
    /// What the list says of it.
    pub fn state(&self, list: &TrustList) -> State {
        match list.of(&self.path) {
            Some(hash) if Some(hash) == self.hash => State::Trusted,
            Some(_) => State::Changed,
            None => State::New,
        }
    }
}

/// What is to be trusted before this configuration may count, in the order of the paths: what it was read from, and what its
/// hooks name, as far as it lies in the tree.
pub fn covered(config: &Config, files: &Files, tree: &Tree) -> Vec<Covered> {
    let read = files.contents().filter(|(path, hash)| hash.is_some() && tree.holds(path));
    let read = read.map(|(path, hash)| (real(path), hash));
    let named = config.hooks.iter().flat_map(|hook| scripts(hook, tree)).map(|Covered { path, hash }| (path, hash));
    // What was read is taken from what was parsed, not from the disk again.
    let all: BTreeMap<_, _> = named.chain(read).collect();
    all.into_iter().map(|(path, hash)| Covered { path, hash }).collect()
}

/// The files of the tree that a hook names, as they are now.
pub(super) fn scripts(hook: &Hook, tree: &Tree) -> Vec<Covered> {
    let named = named(hook).into_iter().filter(|path| path.is_file() && tree.holds(path));
    let hash = |path: &Path| std::fs::read(path).ok().map(|bytes| blake3::hash(&bytes));
    named.map(|path| Covered { path: real(&path), hash: hash(&path) }).collect()
}

/// A file by its name in its folder. A link keeps its own name: what it leads to may be trusted elsewhere, where relative paths
/// in it mean other files.
fn real(path: &Path) -> PathBuf {
    let folder = path.parent().and_then(|folder| folder.canonicalize().ok());
    folder.zip(path.file_name()).map_or_else(|| path.to_owned(), |(folder, name)| folder.join(name))
}

/// Every path that words of the hook's programs may name.
fn named(hook: &Hook) -> Vec<PathBuf> {
    match &hook.run {
        Run::Command { argv, cwd, .. } | Run::Worker { argv, cwd, .. } => of_program(argv, cwd),
        Run::ClaudeCode(settings) => {
            let handlers = settings.groups.iter().flat_map(|group| &group.handlers);
            handlers.flat_map(|handler| of_action(&handler.action, settings)).collect()
        }
        Run::Text(_)
        | Run::Edits(_)
        | Run::File(_)
        | Run::ModelContext(_)
        | Run::Knowledge { .. }
        | Run::Http { .. } => Vec::new(),
    }
}

fn of_action(action: &Action, settings: &ClaudeCode) -> Vec<PathBuf> {
    let folder = settings.project_dir.to_string_lossy();
    let filled = |word: &str| PROJECT_DIR.iter().fold(word.to_owned(), |word, name| word.replace(name, &folder));
    match action {
        Action::Shell { line, .. } => of_line(&filled(&unquoted(line)), &settings.cwd),
        Action::Program { program, arguments } => {
            let words: Vec<_> = std::iter::once(program).chain(arguments).map(|word| filled(word)).collect();
            of_program(&words, &settings.cwd)
        }
        Action::Http { .. } => Vec::new(),
    }
}

/// `"$CLAUDE_PROJECT_DIR"/hook.sh` is one word for a shell.
fn unquoted(line: &str) -> String {
    line.chars().filter(|c| !matches!(c, '"' | '\'')).collect()
}

fn of_program(argv: &[String], cwd: &Path) -> Vec<PathBuf> {
    let found = argv.first().filter(|program| !program.contains('/')).and_then(|program| in_path(program));
    let reads = argv.first().is_some_and(|program| READERS.contains(&program.as_str()));
    let words = argv.iter().take(if reads { 1 } else { argv.len() });
    found.into_iter().chain(words.flat_map(|word| of_line(word, cwd))).collect()
}

/// A word may be a path as it stands, with whatever is in its name, or a line of words.
fn of_line(line: &str, cwd: &Path) -> Vec<PathBuf> {
    let words = line.split(BETWEEN_WORDS).filter(|word| !word.is_empty());
    std::iter::once(line).chain(words).map(|word| cwd.join(word)).collect()
}

/// Where a bare name is found, as when it is started.
fn in_path(program: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH")?;
    std::env::split_paths(&path).map(|folder| folder.join(program)).find(|candidate| candidate.is_file())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::{Source, load, parse};
    use std::fs;

    fn names(covered: &[Covered], root: &Path) -> Vec<String> {
        let name = |one: &Covered| one.path.strip_prefix(root).unwrap().display().to_string();
        covered.iter().map(name).collect()
    }

    #[test]
    fn what_decides_is_what_was_read_and_what_hooks_name() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().canonicalize().unwrap();
        fs::create_dir_all(root.join("hooks")).unwrap();
        for file in ["hooks/a.sh", "hooks/b.py", "hooks/c.sh", "hooks/d.py", "e.sh", "f g.sh", "NOTES.md", "unused.sh"]
        {
            fs::write(root.join(file), "x").unwrap();
        }
        let settings = r#"{"hooks": {"Stop": [{"hooks": [
            {"type": "command", "command": "\"$CLAUDE_PROJECT_DIR\"/hooks/c.sh --fast"},
            {"type": "command", "command": "${CLAUDE_PROJECT_DIR}/hooks/d.py", "args": []}]}]}}"#;
        fs::write(root.join("settings.json"), settings).unwrap();
        let config = "
hooks:
  - { name: a, on: prompt.submit, run: { command: [./hooks/a.sh] } }
  - { name: b, on: prompt.submit, run: { worker: [python3, b.py], cwd: hooks } }
  - { name: c, run: { claude_code: { settings: settings.json } } }
  - { name: e, on: prompt.submit, run: { command: [sh, -c, 'cd .; (./e.sh)&& ls'] } }
  - { name: f, on: prompt.submit, run: { command: [bash, f g.sh, --rc=e.sh] } }
  - { name: cat, on: prompt.submit, run: { command: [cat, NOTES.md, unused.sh] } }
  - { name: n, on: prompt.submit, run: { file: NOTES.md } }
";
        let file = root.join("hookgate.yaml");
        fs::write(&file, config).unwrap();
        let loaded = load(Some(&file), &|_| None).unwrap();
        let tree = Tree::around(&root, None);
        let found = covered(&loaded.config, &loaded.files, &tree);
        let expected = [
            "e.sh",
            "f g.sh",
            "hookgate.yaml",
            "hooks/a.sh",
            "hooks/b.py",
            "hooks/c.sh",
            "hooks/d.py",
            "settings.json",
        ];
        assert_eq!(names(&found, &root), expected);
        let elsewhere = tempfile::tempdir().unwrap();
        assert_eq!(covered(&loaded.config, &loaded.files, &Tree::around(elsewhere.path(), None)), []);
    }

    #[test]
    fn an_empty_configuration_decides_nothing() {
        let loaded = parse("", Source::Program, &|_| None).unwrap();
        let here = std::env::current_dir().unwrap();
        assert_eq!(covered(&loaded.config, &loaded.files, &Tree::around(&here, None)), []);
    }
}
