//! Logs go to stderr; results of commands go to stdout.
use std::io::IsTerminal as _;
use tracing_subscriber::EnvFilter;

/// How log lines look.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Format {
    /// For people.
    #[default]
    Text,
    /// One JSON object per line.
    Json,
}

/// Why logging can't start.
#[derive(Debug, thiserror::Error)]
#[error("log level {directives:?}: {source}")]
pub struct BadLevel {
    directives: String,
    source: tracing_subscriber::filter::ParseError,
}

/// Starts logging; `directives` as in `info` or `hookgate=debug,hyper=warn`. The first call in a process counts, a later
/// one changes nothing (tests start many gateways).
///
/// # Errors
/// [`BadLevel`] when `directives` can't be read.
pub fn init(format: Format, directives: &str) -> Result<(), BadLevel> {
    let filter =
        EnvFilter::try_new(directives).map_err(|source| BadLevel { directives: directives.to_owned(), source })?;
    let mut lines = tracing_subscriber::fmt().with_env_filter(filter).with_writer(std::io::stderr);
    if !std::io::stderr().is_terminal() {
        lines = lines.with_ansi(false);
    }
    let started = match format {
        Format::Text => lines.try_init(),
        Format::Json => lines.json().flatten_event(true).try_init(),
    };
    if let Err(error) = started {
        tracing::debug!(%error, "logging was already started");
    }
    Ok(())
}
