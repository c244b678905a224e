//! `hookgate store export|import|verify`
mod verify;

use super::{CliError, ConfigFile, print, print_either};
use crate::config::{self, Config};
use crate::session::store::dump::{self, DumpError, Sum};
use crate::session::store::{self, Store};
use clap::{Args, Subcommand};
use serde_json::json;
use std::fs::{File, OpenOptions};
use std::io::{self, BufReader, BufWriter};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;

/// Permissions of an export.
const OWN: u32 = 0o600;

#[derive(Debug, Args)]
#[command(after_help = "Example:\n  hookgate store export --config old.yaml --out state.jsonl")]
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
                let sum = dump::export(store.as_ref(), BufWriter::new(create(&file)?)).await?;
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

/// A new file. It holds what the store holds, so it is its user's alone.
fn create(file: &Path) -> io::Result<File> {
    OpenOptions::new().write(true).create_new(true).mode(OWN).open(file).map_err(named(file))
}

/// The system's words do not say which file it is about.
fn named(file: &Path) -> impl Fn(io::Error) -> io::Error + '_ {
    |error| io::Error::new(error.kind(), format!("{}: {error}", file.display()))
}

fn read(file: &Path, mut each: impl FnMut(store::Pair)) -> Result<Sum, DumpError> {
    dump::read(BufReader::new(File::open(file).map_err(named(file))?), |pair| {
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

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt as _;

    #[test]
    fn an_export_is_its_users_alone_and_replaces_nothing() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("state.jsonl");
        let made = create(&path).unwrap();
        assert_eq!(made.metadata().unwrap().permissions().mode() & 0o777, OWN);
        let again = create(&path).unwrap_err();
        assert_eq!(again.kind(), io::ErrorKind::AlreadyExists);
        assert!(again.to_string().starts_with(path.to_str().unwrap()), "{again}");
    }
}
