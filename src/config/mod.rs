//! Configuration: as written (YAML), checked with all problems at once, resolved.
//!
//! [`resolved`] is all that the rest of the house ever sees; it is plain data and has no side effects.
//!
//! The way of a file: [`node`] makes a tree that knows every place, [`written`] names every key (once: defaults, hints,
//! schema and documentation come from there), `resolve` makes paths absolute and applies the rules that concern more
//! than one key.

mod any;
pub mod case;
pub mod claude_code;
mod collection;
pub mod condition;
mod edits;
mod files;
pub mod keys;
pub mod links;
pub mod listeners;
mod masked;
mod node;
mod problem;
mod reader;
mod redis_url;
mod resolve;
pub mod resolved;
mod section;
pub mod terms;
mod units;
mod value;
mod variables;
mod written;
pub mod yaml;

pub use files::{Content, Files};
pub use keys::{KEY_PREFIX, Key, KeyHash, Keys, TenantLimits};
pub use listeners::{Identity, Listen, Tls, Trust};
pub use masked::masked;
pub use problem::{Place, Problem, Problems, Severity};
pub use reader::Env;
pub use redis_url::RedisUrl;
pub use resolved::*;
pub use terms::{Guard, Imposed, Terms};
pub use units::parse_duration as duration;

use node::Node;
use reader::Reader;
use resolve::Base;
use std::fmt;
use std::io;
use std::path::{Path, PathBuf};

/// Where a configuration is looked for when none is named (README, A first hook).
const LOOKUP: [&str; 2] = ["./config/hookgate.yaml", "/etc/hookgate/hookgate.yaml"];

/// Where a configuration came from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Source {
    /// A file.
    File(PathBuf),
    /// There was none.
    BuiltIn,
    /// The program that runs the gateway made it.
    Program,
}

impl fmt::Display for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::File(path) => path.display().fmt(f),
            Self::BuiltIn => f.write_str("built-in defaults"),
            Self::Program => f.write_str("the program's own configuration"),
        }
    }
}

/// A configuration that can be used.
#[derive(Debug)]
pub struct Loaded {
    /// It.
    pub config: Config,
    /// Where it came from.
    pub source: Source,
    /// What does not stop the gateway, but `check`.
    pub warnings: Problems,
    /// What it was read from.
    pub files: Files,
}

/// Why there is no configuration.
#[derive(Debug)]
pub struct Unusable {
    /// What is wrong, warnings included.
    pub problems: Problems,
    /// What was read.
    pub files: Files,
}

impl From<Config> for Loaded {
    /// A configuration that the program made.
    fn from(config: Config) -> Self {
        let source = Source::Program;
        let warnings = Problems::new(source.to_string(), Vec::new());
        Self { config, source, warnings, files: Files::default() }
    }
}

/// The environment of this process.
pub fn process_env(name: &str) -> Option<String> {
    std::env::var(name).ok()
}

/// Loads `path`; without one, the first of `./config/hookgate.yaml` and `/etc/hookgate/hookgate.yaml` that exists, else
/// the built-in defaults.
///
/// # Errors
/// Every problem of the file, warnings included, when one of them is fatal.
pub fn load(path: Option<&Path>, env: Env<'_>) -> Result<Loaded, Problems> {
    let on = On { terms: &Terms::default(), running: None };
    match path {
        Some(path) => load_file(path, env, on),
        None => look_up(env, on),
    }
    .map_err(|unusable| unusable.problems)
}

/// Loads a file on these terms; without one the defaults, which the program then stands for.
///
/// # Errors
/// As [`load`].
pub fn load_on(terms: &Terms, path: Option<&Path>, env: Env<'_>) -> Result<Loaded, Problems> {
    let on = On { terms, running: None };
    match path {
        Some(path) => load_file(path, env, on),
        None => read("", Source::Program, Files::default(), env, on),
    }
    .map_err(|unusable| unusable.problems)
}

/// What a configuration is read for.
#[derive(Clone, Copy)]
struct On<'a> {
    terms: &'a Terms,
    /// The one whose place it takes.
    running: Option<&'a Config>,
}

/// Loads what a gateway was started with once more, while it runs with `running`. A file that is empty by now is refused:
/// its defaults would be meant by nobody.
///
/// # Errors
/// As [`load`]; what can't change while a gateway runs is a problem too.
pub fn reload(source: &Source, env: Env<'_>, running: &Config) -> Result<Loaded, Unusable> {
    let on = On { terms: &running.terms, running: Some(running) };
    match source {
        Source::File(path) => load_file(path, env, on),
        Source::BuiltIn => look_up(env, on),
        Source::Program => Err(refuse(Files::default(), source, "has no file that could be read again")),
    }
}

fn look_up(env: Env<'_>, on: On<'_>) -> Result<Loaded, Unusable> {
    let is_missing = |path: &Path| matches!(path.metadata(), Err(error) if error.kind() == io::ErrorKind::NotFound);
    let found = LOOKUP.map(Path::new).into_iter().find(|path| !is_missing(path));
    found.map_or_else(|| read("", Source::BuiltIn, absent(), env, on), |path| load_file(path, env, on))
}

/// The files that were looked for in vain: when one of them is written, that is a change.
fn absent() -> Files {
    let mut files = Files::default();
    for path in LOOKUP.map(Path::new) {
        // Nothing is there, which is what is remembered.
        let _ = files.read(path);
    }
    files
}

fn load_file(path: &Path, env: Env<'_>, on: On<'_>) -> Result<Loaded, Unusable> {
    let source = Source::File(path.to_owned());
    let mut files = Files::default();
    match files.read(path) {
        Ok(text) if on.running.is_some() && text.trim().is_empty() => {
            Err(refuse(files, &source, "is empty, write `{}` if the defaults are meant"))
        }
        Ok(text) => read(&text, source, files, env, on),
        Err(error) => Err(refuse(files, &source, &format!("cannot be read: {error}"))),
    }
}

fn refuse(files: Files, source: &Source, what: &str) -> Unusable {
    Unusable { problems: Problems::whole(source, what), files }
}

/// Loads `text` as if it came from `source`.
///
/// # Errors
/// As [`load`].
pub fn parse(text: &str, source: Source, env: Env<'_>) -> Result<Loaded, Problems> {
    let on = On { terms: &Terms::default(), running: None };
    read(text, source, Files::default(), env, on).map_err(|unusable| unusable.problems)
}

fn read(text: &str, source: Source, files: Files, env: Env<'_>, on: On<'_>) -> Result<Loaded, Unusable> {
    let base = Base::of(match &source {
        Source::File(path) => Some(path),
        Source::BuiltIn | Source::Program => None,
    });
    let mut reader = Reader::new(env, files);
    let written = match Node::parse(&variables::shield(text)) {
        // Unknown keys at the top do not keep the rest from being checked.
        Ok(root) => section::read::<written::File>(&root, &mut reader).0,
        Err(error) => {
            reader.refuse(error.place, error.what);
            None
        }
    };
    let written = match &on.terms.imposed {
        Some(imposed) => written.map(|file| imposed.impose(file)),
        None => written,
    };
    if let (Some(file), Some(running)) = (&written, on.running) {
        resolve::check_unchanged(file, &base, running, &mut reader);
    }
    let config = written.map(|file| resolve::resolve(file, &base, on.terms, &mut reader));
    let Reader { problems, mut files, .. } = reader;
    let problems = Problems::new(source.to_string(), problems);
    let refusal = match (&config, &on.terms.guard) {
        (Some(config), Some(guard)) if !problems.is_fatal() => guard.admits(config, &mut files).err(),
        _ => None,
    };
    if let Some(why) = refusal {
        return Err(refuse(files, &source, &why));
    }
    match config {
        Some(config) if !problems.is_fatal() => Ok(Loaded { config, source, warnings: problems, files }),
        _ => Err(Unusable { problems, files }),
    }
}

/// The JSON schema of the file.
pub fn schema() -> serde_json::Value {
    let mut schema = section::schema::<written::File>();
    schema["$schema"] = "https://json-schema.org/draft/2020-12/schema".into();
    schema["title"] = "hookgate configuration".into();
    schema
}

impl Default for Config {
    /// The configuration of an empty file in the working directory.
    #[allow(clippy::expect_used)] // every default is read by a test
    fn default() -> Self {
        parse("", Source::BuiltIn, &|_| None).expect("the defaults are valid").config
    }
}

#[cfg(test)]
mod tests;
