//! `hookgate serve`
use super::{CliError, ConfigFile};
use crate::app;
use crate::config;
use crate::live;
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
        let loaded = config::load(self.file.config.as_deref(), &config::process_env)?;
        tracing::info!(config = %loaded.source, "configuration loaded");
        live::warn(&loaded.warnings);
        let runtime = tokio::runtime::Runtime::new()?;
        runtime.block_on(app::serve(loaded))?;
        Ok(ExitCode::SUCCESS)
    }
}
