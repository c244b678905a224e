//! Configuration: as written (YAML), checked with all problems at once, resolved.
//!
//! [`resolved`] is all that the rest of the house ever sees; it is plain data and has no side effects.
//!
//! The way of a file: [`node`] makes a tree that knows every place, [`written`] names every key (once: defaults, hints,
//! schema and documentation come from there), `resolve` makes paths absolute and applies the rules that concern more
//! than one key.

mod collection;
pub mod condition;
mod edits;
mod masked;
mod node;
mod problem;
mod reader;
mod resolve;
pub mod resolved;
mod section;
mod units;
mod value;
mod variables;
mod written;
pub mod yaml;

pub use masked::masked;
pub use problem::{Place, Problem, Problems, Severity};
pub use reader::Env;
pub use resolved::*;

use node::Node;
use reader::Reader;
use resolve::Base;
use std::fmt;
use std::path::{Path, PathBuf};

/// Where a configuration is looked for when none is named (CONTRACT section 1).
const LOOKUP: [&str; 2] = ["./config/hookgate.yaml", "/etc/hookgate/hookgate.yaml"];

/// Where a configuration came from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Source {
    /// A file.
    File(PathBuf),
    /// There was none.
    BuiltIn,
}

impl fmt::Display for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::File(path) => path.display().fmt(f),
            Self::BuiltIn => f.write_str("built-in defaults"),
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
    let candidates = path.map_or_else(|| LOOKUP.map(Path::new).to_vec(), |path| vec![path]);
    for candidate in candidates {
        match std::fs::read_to_string(candidate) {
            Ok(text) => return parse(&text, Source::File(candidate.to_owned()), env),
            Err(error) if path.is_none() && error.kind() == std::io::ErrorKind::NotFound => {}
            Err(error) => {
                let what = format!("cannot be read: {error}");
                let problem = Problem { place: Place::START, key: String::new(), what, severity: Severity::Fatal };
                return Err(Problems::new(candidate.display().to_string(), vec![problem]));
            }
        }
    }
    parse("", Source::BuiltIn, env)
}

/// Loads `text` as if it came from `source`.
///
/// # Errors
/// As [`load`].
pub fn parse(text: &str, source: Source, env: Env<'_>) -> Result<Loaded, Problems> {
    let base = Base::of(match &source {
        Source::File(path) => Some(path),
        Source::BuiltIn => None,
    });
    let mut reader = Reader::new(env);
    let written = match Node::parse(&variables::shield(text)) {
        // Unknown keys at the top do not keep the rest from being checked.
        Ok(root) => section::read::<written::File>(&root, &mut reader).0,
        Err(error) => {
            reader.refuse(error.place, error.what);
            None
        }
    };
    let config = written.map(|file| resolve::resolve(file, &base, &mut reader));
    let problems = Problems::new(source.to_string(), reader.problems);
    match config {
        Some(config) if !problems.is_fatal() => Ok(Loaded { config, source, warnings: problems }),
        _ => Err(problems),
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
