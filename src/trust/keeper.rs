//! Who is asked while a gateway runs.
use super::covered::{covered, scripts};
use super::{Covered, ListError, State, Tree, TrustList};
use crate::config::{Config, Files, Guard, Hook};
use std::path::PathBuf;

/// Lets a configuration, and what its hooks run, count as far as the list trusts it. The list is read each time, so that
/// `hookgate trust` beside a gateway that runs takes effect.
#[derive(Debug)]
pub struct Keeper {
    list: PathBuf,
    tree: Tree,
}

impl Keeper {
    /// The keeper of a tree, with the list in this file.
    pub fn new(list: PathBuf, tree: Tree) -> Self {
        Self { list, tree }
    }

    /// The files that decide what this configuration runs, each with what the list says of it.
    ///
    /// # Errors
    /// [`ListError`]
    pub fn judge(&self, config: &Config, files: &Files) -> Result<Vec<(Covered, State)>, ListError> {
        let list = TrustList::read(&self.list, &mut Files::default())?;
        let judged = covered(config, files, &self.tree).into_iter().map(|file| {
            let state = file.state(&list);
            (file, state)
        });
        Ok(judged.collect())
    }

    fn refuse(&self, files: impl IntoIterator<Item = Covered>, list: &TrustList) -> Result<(), String> {
        let refused =
            files.into_iter().map(|file| (file.state(list), file)).find(|(state, _)| *state != State::Trusted);
        let Some((state, file)) = refused else { return Ok(()) };
        let how = if state == State::Changed { "has changed since it was trusted" } else { "is not trusted" };
        Err(format!("{} {how}; `hookgate trust` shows what would run, and trusts it", file.path.display()))
    }
}

impl Guard for Keeper {
    fn admits(&self, config: &Config, files: &mut Files) -> Result<(), String> {
        let decisive = covered(config, files, &self.tree);
        let list = TrustList::read(&self.list, files).map_err(|error| error.to_string())?;
        self.refuse(decisive, &list)
    }

    fn lets_run(&self, hook: &Hook) -> Result<(), String> {
        let scripts = scripts(hook, &self.tree);
        if scripts.is_empty() {
            return Ok(());
        }
        let list = TrustList::read(&self.list, &mut Files::default()).map_err(|error| error.to_string())?;
        self.refuse(scripts, &list)
    }
}
