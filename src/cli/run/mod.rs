//! `hookgate run`: a gateway for one command.
//!
//! ```text
//! agents    which agent it is ─► earlier   where it would have gone ─► the gateway's upstreams
//! find      the configuration ─► trust     what its user has seen
//! state     store and log     ─► tell      variables and arguments ─► child   the command, to its end
//! ```
pub(super) mod agents;
mod child;
mod earlier;
mod find;
mod opencode;
mod route;
mod state;
mod tell;

use self::agents::{Agent, Session};
use self::child::{Deputy, NotStarted};
use self::earlier::{Known, Unusable};
use self::state::{RunFolder, StateError};
use self::tell::{RunSession, tell};
use super::CliError;
use super::trust::{Untrusted, untrusted};
use super::user::{self, Homeless};
use crate::app::{self, AppError, Running};
use crate::config::{self, Config, Guard, Imposed, Loaded, Problems, Provider, Secret, Terms};
use crate::live::{self, token};
use crate::session::key::MAX_ID;
use crate::telemetry::logs::{self, BadLevel};
use crate::trust::{Keeper, ListError, Tree};
use clap::Args;
use std::ffi::OsString;
use std::io::{self, Write as _};
use std::net::{Ipv4Addr, SocketAddr};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

/// How long hooks of the last turn may go on when the command has ended: somebody waits for the prompt of a shell. Their own
/// timeout is shorter.
const GRACE: Duration = Duration::from_secs(10);

/// Any free port of the loopback interface.
pub(super) const ANY_PORT: SocketAddr = SocketAddr::new(std::net::IpAddr::V4(Ipv4Addr::LOCALHOST), 0);

/// Random bytes of a session's id: no two runs of a user have the same.
const SESSION_LEN: usize = 8;

#[derive(Debug, Args)]
#[command(
    after_help = "The configuration is that of --config, else the first of hookgate.yaml and config/hookgate.yaml from here up to \
                  the repository's folder, else ~/.config/hookgate/hookgate.yaml, else /etc/hookgate/hookgate.yaml, else the \
                  defaults. One that lies in the working tree counts after `hookgate trust`.\n\n\
                  Sessions and the log (hookgate.log) are kept in ~/.local/state/hookgate/run/, in a folder for each \
                  project.\n\n\
                  Example:\n  hookgate run -- claude"
)]
pub(super) struct Run {
    /// The configuration
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
    /// Leave out configurations of the working tree
    #[arg(long, conflicts_with = "config")]
    no_project_config: bool,
    /// Name the session, for an agent that is to go on with it later
    #[arg(long, value_name = "ID", value_parser = session_id)]
    session: Option<String>,
    /// The agent, or any program with an SDK in it, and its arguments
    #[arg(last = true, required = true, value_name = "COMMAND")]
    command: Vec<OsString>,
}

/// Why a command was not run.
#[derive(Debug, thiserror::Error)]
pub(super) enum RunError {
    /// Its configuration.
    #[error(transparent)]
    Config(#[from] Problems),
    /// Its user has not seen what would run.
    #[error(transparent)]
    Untrusted(#[from] Untrusted),
    /// What is trusted can't be told.
    #[error(transparent)]
    List(#[from] ListError),
    /// The gateway.
    #[error(transparent)]
    App(#[from] AppError),
    /// No folder.
    #[error(transparent)]
    Homeless(#[from] Homeless),
    /// Where it would have gone.
    #[error(transparent)]
    Url(#[from] Unusable),
    /// Its folder.
    #[error(transparent)]
    State(#[from] StateError),
    /// The log.
    #[error(transparent)]
    Logs(#[from] BadLevel),
    /// The command itself.
    #[error(transparent)]
    Command(#[from] NotStarted),
    /// The working directory, signals, a generated file, the runtime.
    #[error(transparent)]
    Io(#[from] io::Error),
    /// The system's randomness.
    #[error("no randomness: {0}")]
    Random(#[from] getrandom::Error),
    /// The agent names its sessions itself.
    #[error("{0} names its sessions itself, and --session would change nothing: leave it out")]
    OwnSession(&'static str),
}

impl RunError {
    /// The exit code.
    pub(super) fn code(&self) -> u8 {
        match self {
            Self::Command(error) => error.code(),
            Self::OwnSession(_) => super::WRONG_USAGE,
            _ => 1,
        }
    }
}

impl Run {
    pub(super) fn run(self, format: logs::Format, level: &str) -> Result<ExitCode, CliError> {
        Ok(self.execute(format, level).map(ExitCode::from)?)
    }

    fn execute(self, format: logs::Format, level: &str) -> Result<u8, RunError> {
        let env = &config::process_env;
        let (agent, at) = agents::of(&self.command);
        if self.session.is_some() && agent.session == Session::Own {
            return Err(RunError::OwnSession(agent.name));
        }
        let own = user::config(env);
        let tree = Tree::around(&std::env::current_dir()?, own.as_deref());
        let folders: Vec<&Path> = tree.folders().collect();
        let mut known = earlier::known(agent, self.command.get(at..).unwrap_or_default(), &folders, env);
        if let Some(unusable) = known.unusable.take() {
            return Err(unusable.into());
        }
        let folder = RunFolder::take(&user::state(env)?, tree.project())?;
        let token = token::random()?;
        let imposed = Imposed {
            listen: ANY_PORT,
            token: Secret(token.clone()),
            store: folder.store(),
            upstreams: known.urls.iter().map(|earlier| (earlier.provider, earlier.upstream.clone())).collect(),
        };
        let is_named = self.config.is_some();
        let file = self.config.or_else(|| find::find(&tree, own.as_deref(), !self.no_project_config));
        let tree = if is_named { tree.where_named() } else { tree };
        let keeper = Arc::new(Keeper::new(user::trusted(env)?, tree));
        let loaded = load(file.as_deref(), imposed, keeper)?;

        logs::init_into(folder.log()?, format, level)?;
        tracing::info!(config = %loaded.source, agent = agent.name, "configuration loaded");
        live::warn(&loaded.warnings);
        let session = match self.session {
            Some(id) => RunSession { id, is_named: true },
            None => RunSession { id: fresh_session()?, is_named: false },
        };
        for line in remarks(agent, &known, &loaded, &folder) {
            say(&line);
        }
        known.urls.retain(|earlier| of(&loaded.config, earlier.provider).is_none_or(|url| *url == earlier.upstream));
        let errand = Errand { agent, at, command: self.command, known, session, folder, token };
        tokio::runtime::Runtime::new()?.block_on(errand.run(loaded))
    }
}

/// Reads what stands in the file once: what is looked at, trusted and used are the same bytes.
fn load(file: Option<&Path>, imposed: Imposed, keeper: Arc<Keeper>) -> Result<Loaded, RunError> {
    let variables = std::cell::RefCell::default();
    let env = super::trust::remembering(&variables);
    let terms = Terms { imposed: Some(imposed), guard: None };
    let mut loaded = config::load_on(&terms, file, &env)?;
    let judged = keeper.judge(&loaded.config, &loaded.files)?;
    untrusted(&loaded, judged, &variables.borrow())?;
    // From here on: each reload, and each run of a hook.
    keeper.admits(&loaded.config, &mut loaded.files).map_err(|why| Problems::whole(&loaded.source, why))?;
    loaded.config.terms.guard = Some(keeper);
    Ok(loaded)
}

/// What the user has to know before the agent takes the terminal.
fn remarks(agent: &Agent, known: &Known, loaded: &Loaded, folder: &RunFolder) -> Vec<String> {
    let mut lines = known.lost.clone();
    if !loaded.warnings.is_fine() {
        let file = &loaded.source;
        lines.push(format!("{file} has problems: `hookgate check --config {file}` says which"));
    }
    if agent.told.is_empty() {
        let name = agent.name;
        lines.push(format!("{name} takes its base URL from its own settings only: this run does not reach it"));
    }
    for earlier in &known.urls {
        if let Some(instead) = of(&loaded.config, earlier.provider).filter(|url| **url != earlier.upstream) {
            let name = route::built_in(earlier.provider);
            lines.push(format!("the configuration sends requests of {name} to {instead}, not to {}", earlier.upstream));
        }
    }
    if folder.is_beside() {
        lines.push("another run of this project is under way: this one has a store of its own".to_owned());
    }
    lines
}

/// The configuration of a working tree that a run would find.
pub(super) fn find_in(tree: &Tree) -> Option<PathBuf> {
    find::in_tree(tree)
}

/// Where a configuration sends the requests of a provider.
fn of(config: &Config, provider: Provider) -> Option<&http::Uri> {
    let upstream = config.upstreams.iter().find(|upstream| upstream.name == route::built_in(provider));
    upstream.map(|upstream| &upstream.base_url)
}

fn say(line: &str) {
    // A closed stderr is no reason not to run.
    let _ = writeln!(io::stderr(), "hookgate: {}", crate::trust::plain(line));
}

/// All that a run needs beside its configuration.
struct Errand {
    agent: &'static Agent,
    at: usize,
    command: Vec<OsString>,
    known: Known,
    session: RunSession,
    folder: RunFolder,
    token: String,
}

impl Errand {
    async fn run(self, loaded: Loaded) -> Result<u8, RunError> {
        let mut deputy = Deputy::new()?;
        let running = app::start(loaded).await?;
        let ended = self.command(&running, &mut deputy).await;
        tokio::select! {
            () = running.shutdown(GRACE) => {}
            () = deputy.impatience() => tracing::warn!("not waited for what still runs"),
        }
        ended
    }

    async fn command(&self, running: &Running, deputy: &mut Deputy) -> Result<u8, RunError> {
        let env = &config::process_env;
        let own = self.command.get(self.at);
        let given = tell((self.agent, own), &self.known, running.addr(), &self.session, self.folder.path(), env)?;
        tracing::info!(addr = %running.at(), admin = %running.admin_addr(), "listening");
        // The token stands behind `#`, which browsers keep to themselves.
        say(&format!("http://{}/#token={}", running.admin_addr(), self.token));
        let Some((program, own)) = self.command.split_first() else { return Ok(super::WRONG_USAGE) };
        let (before, behind) = own.split_at_checked(self.at.saturating_sub(1)).unwrap_or((own, &[]));
        let arguments: Vec<OsString> = [before, &given.arguments, behind].concat();
        Ok(deputy.run(program, &arguments, &given.variables).await?)
    }
}

fn fresh_session() -> Result<String, getrandom::Error> {
    let mut bytes = [0; SESSION_LEN];
    getrandom::fill(&mut bytes)?;
    Ok(format!("run-{:016x}", u64::from_be_bytes(bytes)))
}

/// An id as requests may bring one.
fn session_id(text: &str) -> Result<String, String> {
    let printable = text.chars().all(|c| c == ' ' || c.is_ascii_graphic());
    if text.is_empty() || text.len() > MAX_ID || !printable || text.trim() != text {
        return Err(format!("1 to {MAX_ID} printable ASCII characters, without spaces at its ends"));
    }
    Ok(text.to_owned())
}
