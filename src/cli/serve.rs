//! `hookgate serve`
use super::{CliError, ConfigFile};
use crate::app;
use crate::config::{self, Loaded};
use crate::telemetry::logs;
use clap::Args;
use std::process::ExitCode;

#[derive(Debug, Args)]
#[command(after_help = "Example:\n  hookgate serve --config hookgate.yaml")]
pub(super) struct Serve {
    #[command(flatten)]
    file: ConfigFile,
}

impl Serve {
    pub(super) fn run(self, format: logs::Format, level: &str) -> Result<ExitCode, CliError> {
        logs::init(format, level)?;
        let Loaded { config, source, warnings } = config::load(self.file.config.as_deref(), &config::process_env)?;
        tracing::info!(config = %source, "configuration loaded");
        for warning in &warnings.list {
            tracing::warn!(config = %source, line = warning.place.line, key = warning.key, "{}", warning.what);
        }
        let runtime = tokio::runtime::Runtime::new()?;
        runtime.block_on(app::serve(config))?;
        Ok(ExitCode::SUCCESS)
    }
}
