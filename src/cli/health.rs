//! `hookgate health`
use super::admin_client::probe;
use super::{CliError, ConfigFile, print};
use clap::Args;
use reqwest::Url;
use std::process::ExitCode;

/// 200 while new requests are welcome, 503 while the gateway drains.
const READY: &str = "/readyz";

#[derive(Debug, Args)]
#[command(after_help = "Example:\n  hookgate health --admin http://127.0.0.1:8788")]
pub(super) struct Health {
    #[command(flatten)]
    file: ConfigFile,
    /// The admin listener's URL; without it the configuration's admin.listen
    #[arg(long, value_name = "URL")]
    admin: Option<Url>,
}

impl Health {
    pub(super) fn run(self) -> Result<ExitCode, CliError> {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        print(runtime.block_on(probe(&self.file, self.admin.as_ref(), READY))?)?;
        Ok(ExitCode::SUCCESS)
    }
}
