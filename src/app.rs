//! The only place that sees every room.
use crate::config::Config;
use crate::telemetry::logs;

/// Why the gateway does not run.
#[derive(Debug, thiserror::Error)]
pub enum AppError {
    /// The log level.
    #[error(transparent)]
    Logs(#[from] logs::BadLevel),
}

/// Runs until SIGTERM or SIGINT.
///
/// # Errors
/// [`AppError`]
#[allow(clippy::unused_async)]
pub async fn serve(_config: Config, format: logs::Format, level: &str) -> Result<(), AppError> {
    logs::init(format, level)?;
    Ok(())
}
