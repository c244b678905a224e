//! `hookgate check`
use super::{CliError, ConfigFile, print};
use crate::config::{self, Problem, Problems, Severity};
use crate::hooks;
use clap::{Args, ValueEnum};
use serde_json::{Value, json};
use std::process::ExitCode;

#[derive(Debug, Args)]
#[command(after_help = "Example:\n  hookgate check --config hookgate.yaml")]
pub(super) struct Check {
    #[command(flatten)]
    file: ConfigFile,
    /// Print this JSON schema instead
    #[arg(long, value_enum)]
    schema: Option<Schema>,
    /// Print the result as JSON
    #[arg(long)]
    json: bool,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum Schema {
    /// What a hook gets
    Event,
    /// What a hook may answer
    Answer,
    /// The configuration file
    Config,
    /// A file of policy tests
    Case,
}

impl Check {
    pub(super) fn run(self) -> Result<ExitCode, CliError> {
        if let Some(schema) = self.schema {
            print(format_args!("{:#}", schema.json()))?;
            return Ok(ExitCode::SUCCESS);
        }
        let (source, problems) = match config::load(self.file.config.as_deref(), &config::process_env) {
            Ok(loaded) => (loaded.source.to_string(), loaded.warnings),
            Err(problems) => (problems.file.clone(), problems),
        };
        match (self.json, problems.is_empty()) {
            (true, _) => print(report(&source, &problems))?,
            (false, true) => print(format_args!("{source}: ok"))?,
            (false, false) if problems.is_fine() => print(format_args!("{problems}\n{source}: ok"))?,
            (false, false) => print(&problems)?,
        }
        Ok(if problems.is_fine() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
    }
}

impl Schema {
    fn json(self) -> Value {
        match self {
            Self::Event => hooks::schema::event(),
            Self::Answer => hooks::schema::answer(),
            Self::Config => config::schema(),
            Self::Case => config::case::schema(),
        }
    }
}

fn report(source: &str, problems: &Problems) -> Value {
    let problem = |problem: &Problem| {
        json!({
            "file": problems.file,
            "line": problem.place.line,
            "column": problem.place.column,
            "key": problem.key,
            "message": problem.what,
            "fatal": problem.severity == Severity::Fatal,
            "notice": problem.severity == Severity::Notice,
        })
    };
    json!({
        "config": source,
        "ok": problems.is_fine(),
        "problems": problems.list.iter().map(problem).collect::<Vec<_>>(),
    })
}
