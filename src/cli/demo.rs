//! `hookgate demo`
use super::CliError;
use clap::Args;
use std::process::ExitCode;

#[derive(Debug, Args)]
#[command(after_help = "Example:\n  hookgate demo")]
pub(super) struct Demo {}

impl Demo {
    #[allow(clippy::unused_self, clippy::unnecessary_wraps)]
    pub(super) fn run(self) -> Result<ExitCode, CliError> {
        Ok(ExitCode::FAILURE)
    }
}
