//! `hookgate store export|import|verify`
mod verify;

use super::{CliError, ConfigFile, print, print_either};
use crate::config::{self, Config};
use crate::session::store::dump::{self, DumpError, Sum};
use crate::session::store::{self, Store};
use clap::{Args, Subcommand};
use serde_json::json;
use std::fs::File;
use std::io::{self, BufReader, BufWriter};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;

#[derive(Debug, Args)]
#[command(after_help = "Example:\n  hookgate store export --config old.yaml > state.jsonl")]
pub(super) struct StoreCommand {
    #[command(flatten)]
    file: ConfigFile,
    /// Print the result as JSON
    #[arg(long, global = true)]
    json: bool,
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Write everything as JSON lines, to stdout or a file; stop the gateways first
    #[command(after_help = "Example:\n  hookgate store export --config old.yaml --out state.jsonl")]
    Export {
        /// The file; without it stdout
        #[arg(long, value_name = "FILE")]
        out: Option<PathBuf>,
    },
    /// Read an export into an empty store
    #[command(after_help = "Example:\n  hookgate store import --config new.yaml state.jsonl")]
    Import {
        /// The export
        file: PathBuf,
    },
    /// Read every entry; with an export, whether the store holds exactly that
    #[command(after_help = "Example:\n  hookgate store verify --config new.yaml state.jsonl")]
    Verify {
        /// The export
        file: Option<PathBuf>,
    },
}

impl StoreCommand {
    pub(super) fn run(self) -> Result<ExitCode, CliError> {
        let config = config::load(self.file.config.as_deref(), &config::process_env)?.config;
        let runtime = tokio::runtime::Runtime::new()?;
        Ok(runtime.block_on(self.command.run(&config, self.json))?)
    }
}

impl Command {
    async fn run(self, config: &Config, json: bool) -> Result<ExitCode, DumpError> {
        match self {
            Self::Export { out: None } => {
                dump::export(open(config).await?.as_ref(), BufWriter::new(io::stdout().lock())).await?;
            }
            Self::Export { out: Some(file) } => {
                let store = open(config).await?;
                let sum = dump::export(store.as_ref(), BufWriter::new(File::create_new(file)?)).await?;
                said(json, "exported", &sum)?;
            }
            Self::Import { file } => {
                let mut entries = Vec::new();
                let sum = read(&file, |pair| entries.push(pair))?;
                dump::import(store::open(&config.store).await?.as_ref(), entries).await?;
                said(json, "imported", &sum)?;
            }
            Self::Verify { file } => {
                let expected = file.map(|file| read(&file, drop)).transpose()?;
                let verified = verify::verify(open(config).await?.as_ref(), expected.as_ref()).await?;
                print_either(json, &verified.json(), &verified.to_string())?;
                return Ok(if verified.is_fine() { ExitCode::SUCCESS } else { ExitCode::FAILURE });
            }
        }
        Ok(ExitCode::SUCCESS)
    }
}

/// The store; one that there is not is not made.
async fn open(config: &Config) -> Result<Arc<dyn Store>, DumpError> {
    if let config::Store::Sled { path } = &config.store
        && !path.join("sled").exists()
    {
        let what = format!("there is no store in {}", path.display());
        return Err(io::Error::new(io::ErrorKind::NotFound, what).into());
    }
    Ok(store::open(&config.store).await?)
}

fn read(file: &Path, mut each: impl FnMut(store::Pair)) -> Result<Sum, DumpError> {
    dump::read(BufReader::new(File::open(file)?), |pair| {
        each(pair);
        Ok(())
    })
}

fn said(json: bool, what: &str, sum: &Sum) -> io::Result<()> {
    match json {
        true => print(json!({what: sum.entries, "digest": sum.digest})),
        false => print(format_args!("{what} {} entries, digest {}", sum.entries, sum.digest)),
    }
}
