//! Logs go to stderr; results of commands go to stdout.
use super::one_line::OneLine;
use std::fs::File;
use std::io::IsTerminal as _;
use std::sync::Arc;
use tracing_subscriber::EnvFilter;
use tracing_subscriber::fmt::writer::BoxMakeWriter;

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
    // Colours are for people: in a file they get in the way of a search.
    let colours = std::io::stderr().is_terminal();
    start(BoxMakeWriter::new(|| OneLine(std::io::stderr())), colours, format, directives)
}

/// The same with lines that go to a file, and so does what a panic says: the terminal is somebody else's.
///
/// # Errors
/// [`BadLevel`] when `directives` can't be read.
pub fn init_into(file: File, format: Format, directives: &str) -> Result<(), BadLevel> {
    let file = Arc::new(file);
    start(BoxMakeWriter::new(move || OneLine(file.clone())), false, format, directives)?;
    std::panic::set_hook(Box::new(|panic| tracing::error!("{panic}")));
    Ok(())
}

fn start(writer: BoxMakeWriter, colours: bool, format: Format, directives: &str) -> Result<(), BadLevel> {
    let filter =
        EnvFilter::try_new(directives).map_err(|source| BadLevel { directives: directives.to_owned(), source })?;
    let lines = tracing_subscriber::fmt().with_env_filter(filter).with_ansi(colours).with_writer(writer);
    let started = match format {
        Format::Text => lines.try_init(),
        Format::Json => lines.json().flatten_event(true).try_init(),
    };
    if let Err(error) = started {
        tracing::debug!(%error, "logging was already started");
    }
    Ok(())
}
