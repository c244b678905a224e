//! `hookgate trust`: what a working tree's configuration would run, and that it may.
use super::run::ANY_PORT;
use super::user::{self, Homeless};
use super::{CliError, print};
use crate::config::{self, Imposed, Loaded, Problems, Secret, Source, Terms};
use crate::trust::{Covered, ListError, Shown, State, Tree, TrustList, covered, plain};
use clap::Args;
use std::cell::RefCell;
use std::fmt::{self, Display, Write as _};
use std::io::{self, IsTerminal as _, Write as _};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// A variable that programs are looked for in, and no text of a configuration.
const PATH: &str = "PATH";

#[derive(Debug, Args)]
#[command(
    after_help = "Trusted is a file as it is now: the configuration, the files that it reads, and the scripts in the tree that \
                  its hooks name. Not what those run or read in turn. A change of one of them takes the trust away.\n\n\
                  Example:\n  hookgate trust"
)]
pub(super) struct Trust {
    /// The configuration; without it the one that `hookgate run` would find here
    file: Option<PathBuf>,
    /// The same, as other commands have it
    #[arg(long, value_name = "FILE", conflicts_with = "file")]
    config: Option<PathBuf>,
    /// Do not ask on a terminal
    #[arg(long, conflicts_with_all = ["list", "remove"])]
    yes: bool,
    /// Print what is trusted
    #[arg(long, conflicts_with_all = ["file", "config", "remove"])]
    list: bool,
    /// Trust the file, or what lies in the folder, no more; without one all of this project
    #[arg(long)]
    remove: bool,
}

/// Why nothing was trusted.
#[derive(Debug, thiserror::Error)]
pub(super) enum TrustError {
    /// The configuration.
    #[error(transparent)]
    Config(#[from] Problems),
    /// The list.
    #[error(transparent)]
    List(#[from] ListError),
    /// Nowhere to keep it.
    #[error(transparent)]
    Homeless(#[from] Homeless),
    /// The working directory, or the terminal.
    #[error(transparent)]
    Io(#[from] io::Error),
    /// Nothing to trust.
    #[error("no configuration in this working tree; `hookgate init` writes one")]
    None,
    /// The user did not say yes.
    #[error("not trusted")]
    Declined,
}

/// A configuration that lies in the working tree, or reads something there, which its user has not agreed to.
#[derive(Debug, thiserror::Error)]
pub(super) struct Untrusted {
    of: Source,
    shown: Shown,
    files: Vec<(Covered, State)>,
}

impl Display for Untrusted {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { of, shown, files } = self;
        let changed = files.iter().any(|(_, state)| *state == State::Changed);
        let how = if changed { "has changed since it was trusted" } else { "is not trusted" };
        writeln!(f, "{} {how}, as it came with the working tree. It would run:\n", plain(&of.to_string()))?;
        write!(f, "{}", described(shown, files))?;
        let file = words(of);
        write!(
            f,
            "\n`hookgate trust{file}` trusts these files as they are, `hookgate run --no-project-config` leaves them out"
        )
    }
}

fn words(of: &Source) -> String {
    match of {
        Source::File(path) => format!(" {}", plain(&path.display().to_string())),
        Source::BuiltIn | Source::Program => String::new(),
    }
}

/// What would run, and the files that say so.
fn described(shown: &Shown, files: &[(Covered, State)]) -> String {
    let mut text = if shown.is_empty() { "  nothing\n".to_owned() } else { shown.to_string() };
    text.push_str("\nThese files decide it:\n\n");
    for (file, state) in files {
        let state = match state {
            State::Trusted => "trusted",
            State::Changed => "changed",
            State::New => "new",
        };
        // Writing to a string can't fail.
        let _ = writeln!(text, "  {state:7}  {}", plain(&file.path.display().to_string()));
    }
    text
}

/// Whether all of these files are trusted.
///
/// # Errors
/// [`Untrusted`]
pub(super) fn untrusted(
    loaded: &Loaded,
    judged: Vec<(Covered, State)>,
    variables: &[(String, String)],
) -> Result<(), Untrusted> {
    if judged.iter().all(|(_, state)| *state == State::Trusted) {
        return Ok(());
    }
    let shown = Shown::of(&loaded.config, variables);
    Err(Untrusted { of: loaded.source.clone(), shown, files: judged })
}

/// The environment, which remembers what was asked of it: what is shown later has the variables' names in their values' place.
pub(super) fn remembering(asked: &RefCell<Vec<(String, String)>>) -> impl Fn(&str) -> Option<String> {
    |name| {
        let value = config::process_env(name)?;
        if name != PATH {
            asked.borrow_mut().push((name.to_owned(), value.clone()));
        }
        Some(value)
    }
}

impl Trust {
    pub(super) fn run(self) -> Result<ExitCode, CliError> {
        self.execute()?;
        Ok(ExitCode::SUCCESS)
    }

    fn execute(mut self) -> Result<(), TrustError> {
        self.file = self.file.or(self.config.take());
        let env = &config::process_env;
        let list = user::trusted(env)?;
        let own = user::config(env);
        let tree = Tree::around(&std::env::current_dir()?, own.as_deref());
        if self.list {
            return print_list(&list);
        }
        if self.remove {
            let what = self.file.unwrap_or_else(|| tree.project().to_owned());
            return remove(&list, &what);
        }
        let file = self.file.or_else(|| super::run::find_in(&tree)).ok_or(TrustError::None)?;
        let variables = RefCell::default();
        let terms = Terms { imposed: Some(unimposing()), guard: None };
        let loaded = config::load_on(&terms, Some(&file), &remembering(&variables))?;
        let mut files = covered(&loaded.config, &loaded.files, &tree);
        // The file may be named from outside of its tree.
        let around = Tree::around(
            file.parent().filter(|folder| *folder != Path::new("")).unwrap_or(Path::new(".")),
            own.as_deref(),
        );
        let more = covered(&loaded.config, &loaded.files, &around);
        files.extend(more.into_iter().filter(|file| !tree.holds(&file.path)));
        trust(&list, &file, &files, &Shown::of(&loaded.config, &variables.borrow()), self.yes)
    }
}

/// What a run decides in the file's place, as far as it matters for what is read.
fn unimposing() -> Imposed {
    Imposed { listen: ANY_PORT, token: Secret::default(), store: PathBuf::new(), upstreams: Vec::new() }
}

fn trust(list: &Path, file: &Path, files: &[Covered], shown: &Shown, yes: bool) -> Result<(), TrustError> {
    let known = TrustList::read(list, &mut config::Files::default())?;
    let judged: Vec<_> = files.iter().map(|file| (file.clone(), file.state(&known))).collect();
    let file = plain(&file.display().to_string());
    if judged.iter().all(|(_, state)| *state == State::Trusted) {
        print(format_args!("{file}: nothing to trust, it counts as it is"))?;
        return Ok(());
    }
    print(format_args!("{file} would run:\n\n{}", described(shown, &judged)))?;
    if !yes && !agreed()? {
        return Err(TrustError::Declined);
    }
    TrustList::change(list, |list| list.add(files))?;
    print(format_args!("{file}: trusted"))?;
    Ok(())
}

/// Asks, where somebody can answer; elsewhere the command itself is the answer.
fn agreed() -> io::Result<bool> {
    if !io::stdin().is_terminal() {
        return Ok(true);
    }
    write!(io::stdout(), "Trust these files as they are? [y/N] ")?;
    io::stdout().flush()?;
    let mut answer = String::new();
    io::stdin().read_line(&mut answer)?;
    Ok(matches!(answer.trim().to_ascii_lowercase().as_str(), "y" | "yes"))
}

fn print_list(list: &Path) -> Result<(), TrustError> {
    for (path, hash) in TrustList::read(list, &mut config::Files::default())?.files() {
        let state = match std::fs::read(path) {
            Ok(bytes) if blake3::hash(&bytes) == hash => "trusted",
            Ok(_) => "changed",
            Err(_) => "gone",
        };
        print(format_args!("{state:7}  {}", plain(&path.display().to_string())))?;
    }
    Ok(())
}

fn remove(list: &Path, what: &Path) -> Result<(), TrustError> {
    let named = std::path::absolute(what)?;
    let real = what.canonicalize().unwrap_or_else(|_| named.clone());
    let gone = TrustList::change(list, |list| [list.remove(&named), list.remove(&real)].concat())?;
    for path in &gone {
        print(format_args!("removed  {}", plain(&path.display().to_string())))?;
    }
    if gone.is_empty() {
        print(format_args!("nothing was trusted at {}", plain(&named.display().to_string())))?;
    }
    Ok(())
}
