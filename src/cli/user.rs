//! Where a user's files are (XDG Base Directory Specification 0.8): configuration, and state that outlives a run.
use crate::config::Env;
use std::path::{Path, PathBuf};

/// hookgate's folder in each of them.
const OURS: &str = "hookgate";
/// What is trusted, in the folder of states.
const TRUSTED: &str = "trusted.json";

/// No folder to keep anything in.
#[derive(Debug, thiserror::Error)]
#[error("no folder for the state of a run: set HOME, or XDG_STATE_HOME to an absolute path")]
pub(super) struct Homeless;

/// The folder with the user's own configuration; `None` without a home.
pub(super) fn config(env: Env<'_>) -> Option<PathBuf> {
    folder(env, "XDG_CONFIG_HOME", ".config")
}

/// The folder for what is kept.
///
/// # Errors
/// [`Homeless`]
pub(super) fn state(env: Env<'_>) -> Result<PathBuf, Homeless> {
    folder(env, "XDG_STATE_HOME", ".local/state").ok_or(Homeless)
}

/// The file with what is trusted.
///
/// # Errors
/// [`Homeless`]
pub(super) fn trusted(env: Env<'_>) -> Result<PathBuf, Homeless> {
    state(env).map(|folder| folder.join(TRUSTED))
}

/// Relative paths are to be ignored, the specification says.
fn folder(env: Env<'_>, variable: &str, usual: &str) -> Option<PathBuf> {
    let absolute = |name: &str| env(name).map(PathBuf::from).filter(|path| path.is_absolute());
    let base = absolute(variable).or_else(|| absolute("HOME").map(|home| home.join(usual)))?;
    Some(base.join(OURS))
}

/// The user's home.
pub(super) fn home(env: Env<'_>) -> Option<PathBuf> {
    env("HOME").map(PathBuf::from).filter(|home| Path::is_absolute(home))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn folders_are_those_of_the_specification() {
        let of = |variables: &[(&str, &str)]| {
            let variables: Vec<_> =
                variables.iter().map(|(name, value)| (name.to_string(), value.to_string())).collect();
            let env =
                move |name: &str| variables.iter().find(|(known, _)| known == name).map(|(_, value)| value.clone());
            state(&env).ok().map(|folder| folder.display().to_string())
        };
        for (variables, expected) in [
            (&[("HOME", "/h")][..], Some("/h/.local/state/hookgate")),
            (&[("HOME", "/h"), ("XDG_STATE_HOME", "/s")], Some("/s/hookgate")),
            (&[("HOME", "/h"), ("XDG_STATE_HOME", "s")], Some("/h/.local/state/hookgate")),
            (&[("HOME", "h")], None),
            (&[], None),
        ] {
            assert_eq!(of(variables).as_deref(), expected, "{variables:?}");
        }
    }
}
