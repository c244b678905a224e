//! `hookgate test`: policy tests, through the real gateway.
mod judge;
mod run;
mod table;

use super::{CliError, ConfigFile, print};
use crate::config::case::{self, Case};
use crate::telemetry::logs;
use clap::Args;
use run::Verdict;
use std::path::PathBuf;
use std::process::ExitCode;

/// What a test finds, the table says; logs are for what went wrong beside it.
const LOG_LEVEL: &str = "error";

#[derive(Debug, Args)]
#[command(
    about = "Policy tests: requests, and what must become of them",
    long_about = "Policy tests: each case of a file is a request, or several, that go through the hooks of a configuration, and what
must become of them: the body that goes up, its tools, blocks, texts, the budget, what each hook did.

The gateway is the real one, in this process; the model is played by what the case says, the store is memory. The hooks DO
run: their commands are started, and the services of http hooks are asked where the case does not play them.

A case names its configuration, or its file does, or --config. A hook that fails and an error of the gateway fail the case
if it does not expect them. `hookgate check --schema case` prints the schema of the files, config/examples has some.",
    after_help = "Example:\n  hookgate test --config hookgate.yaml cases.yaml"
)]
pub(super) struct Test {
    #[command(flatten)]
    file: ConfigFile,
    /// Print the result as JSON
    #[arg(long)]
    json: bool,
    /// The files with cases
    #[arg(value_name = "CASE.yaml", required = true)]
    cases: Vec<PathBuf>,
}

/// A case and what became of it.
struct Tried {
    file: String,
    case: Case,
    verdict: Verdict,
}

impl Test {
    pub(super) fn run(self, format: logs::Format) -> Result<ExitCode, CliError> {
        logs::init(format, LOG_LEVEL)?;
        let mut read = Vec::new();
        for path in &self.cases {
            read.push((path.display().to_string(), case::load(path)?));
        }
        let runtime = tokio::runtime::Runtime::new()?;
        let mut tried = Vec::new();
        for (file, cases) in read {
            for case in cases {
                let verdict = runtime.block_on(run::case(&case, self.file.config.as_deref()));
                tried.push(Tried { file: file.clone(), case, verdict });
            }
        }
        match self.json {
            true => print(format_args!("{:#}", table::json(&tried)))?,
            false => print(table::text(&tried))?,
        }
        Ok(if tried.iter().all(|tried| tried.verdict.is_ok()) { ExitCode::SUCCESS } else { ExitCode::FAILURE })
    }
}
