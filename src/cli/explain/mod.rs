//! `hookgate explain`: one request through the hooks, and what they would make of it.
mod prefix;
mod report;
mod text;

use super::rehearsal::script::Canned;
use super::rehearsal::{Asked, Rehearsal, RehearsalError, assume};
use super::{CliError, ConfigFile, print};
use crate::config::{self, Config, EventKind};
use crate::telemetry::logs;
use bytes::Bytes;
use clap::Args;
use http::{HeaderMap, HeaderName, HeaderValue, StatusCode};
use report::Report;
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// What a dry run says, the result says; logs are for what went wrong beside it.
const LOG_LEVEL: &str = "error";

/// Behind a request that is only tried out nothing ends: these events do not fire.
const NOT_FIRED: [EventKind; 3] = [EventKind::SessionStop, EventKind::SessionFail, EventKind::SessionEnd];

#[derive(Debug, Args)]
#[command(
    about = "Dry run: what the hooks make of a request",
    long_about = "Dry run: what the hooks make of a request.

The hooks DO run: their commands are started, their services are asked. But nothing goes to a provider, and nothing is
stored: the request is always the first that this gateway sees of its session. Prints which hooks ran, in which order and
with what result, what each said and changed, the texts and where they stand, the budget, tools, model and headers before
and after, how much of the prefix that the client's provider may have cached stays in front, and the difference between
the body of the client and the one that goes up.

Exit code 1 when a hook failed or the gateway refused the request.",
    after_help = "Example:\n  hookgate explain --config hookgate.yaml --header 'x-hookgate-agent: qa' request.json"
)]
pub(super) struct Explain {
    #[command(flatten)]
    file: ConfigFile,
    /// Path and query of the request; without it the body's shape decides, and the output says so
    #[arg(long, value_name = "PATH")]
    path: Option<String>,
    /// A header of the request; can be repeated
    #[arg(long, value_name = "NAME: VALUE", value_parser = header)]
    header: Vec<(HeaderName, HeaderValue)>,
    /// Print the result as JSON
    #[arg(long)]
    json: bool,
    /// The body; - reads stdin
    #[arg(value_name = "REQUEST.json")]
    request: PathBuf,
}

/// Why nothing can be explained.
#[derive(Debug, thiserror::Error)]
pub(super) enum ExplainError {
    /// The file with the body.
    #[error("{file}: {source}")]
    Unreadable {
        /// Which.
        file: String,
        /// Why.
        source: io::Error,
    },
    /// The body is no JSON.
    #[error("{file}: not JSON: {source}")]
    NotJson {
        /// Which.
        file: String,
        /// Why.
        source: serde_json::Error,
    },
    /// The body has no shape that is known.
    #[error("{file}: no request that I know by its shape; say where it goes with --path")]
    Shapeless {
        /// Which.
        file: String,
    },
    /// The gateway.
    #[error(transparent)]
    Rehearsal(#[from] RehearsalError),
}

impl Explain {
    pub(super) fn run(self, format: logs::Format) -> Result<ExitCode, CliError> {
        logs::init(format, LOG_LEVEL)?;
        let config = config::load(self.file.config.as_deref(), &config::process_env)?.config;
        let runtime = tokio::runtime::Runtime::new()?;
        let report = runtime.block_on(self.explain(config))?;
        match self.json {
            true => print(format_args!("{:#}", report.json()))?,
            false => print(text::of(&report))?,
        }
        Ok(if report.is_clean() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
    }

    async fn explain(&self, config: Config) -> Result<Report, ExplainError> {
        let file = self.request.display().to_string();
        let body = read(&self.request).map_err(|source| ExplainError::Unreadable { file: file.clone(), source })?;
        let (path, assumed) = match &self.path {
            Some(path) => (path.clone(), None),
            None => {
                let unread = |source| ExplainError::NotJson { file: file.clone(), source };
                let shape = assume(&serde_json::from_slice(&body).map_err(unread)?);
                let shape = shape.ok_or(ExplainError::Shapeless { file })?;
                (shape.path, Some(shape.because))
            }
        };
        let asked = Asked { path, headers: self.header.iter().cloned().collect::<HeaderMap>(), body };
        let mut tried = config.clone();
        for hook in &mut tried.hooks {
            hook.on.retain(|event| !NOT_FIRED.contains(event));
        }
        // An answer that is none: hooks that would extend it are not asked.
        let nothing = || Canned::json(StatusCode::SERVICE_UNAVAILABLE, "{}");
        let rehearsal = Rehearsal::start(tried, Box::new(move |_| nothing())).await?;
        let exchange = rehearsal.ask(asked).await?;
        Ok(Report::of(&config, assumed, &exchange))
    }
}

fn read(path: &Path) -> io::Result<Bytes> {
    if path != Path::new("-") {
        return std::fs::read(path).map(Bytes::from);
    }
    let mut body = Vec::new();
    io::stdin().read_to_end(&mut body)?;
    Ok(body.into())
}

fn header(text: &str) -> Result<(HeaderName, HeaderValue), String> {
    let (name, value) = text.split_once(':').ok_or("write 'name: value'")?;
    let name = name.trim().parse().map_err(|_| "not a header's name")?;
    let value = HeaderValue::from_str(value.trim()).map_err(|_| "a control character in a header's value")?;
    Ok((name, value))
}
