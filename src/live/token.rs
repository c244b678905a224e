//! The token that every request to the admin API brings.
//!
//! Without `admin.token` one is made at the first start and kept in the store's folder, where only the gateway's own user
//! reads it and the command line finds it. It is never logged.
use crate::config::{Config, Store};
use std::fmt::Write as _;
use std::fs::{self, OpenOptions};
use std::io::{self, Write as _};
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};
use subtle::ConstantTimeEq;

/// The file in the store's folder.
const FILE: &str = "admin.token";
/// It is written under this name first: a crash leaves no half of a token.
const UNFINISHED: &str = "admin.token.new";
/// Random bytes of a token: as many as a 256 bit key.
const LEN: usize = 32;
/// Read and written by the gateway's user.
const MODE: u32 = 0o600;
/// Permissions of everybody else.
const OTHERS: u32 = 0o077;

/// The token. It never prints.
pub struct Token(String);

impl Token {
    /// The configured token, the one that an earlier start made, or a new one. A folder that can't be read or written costs
    /// a token that outlives this process, not the gateway.
    ///
    /// # Errors
    /// When the system has no randomness.
    pub fn obtain(config: &Config) -> Result<Self, getrandom::Error> {
        if let Some(token) = stored(config) {
            return Ok(Self(token));
        }
        let token = random()?;
        match file(&config.store).as_deref().map(|file| (file, keep(file, &token))) {
            Some((file, Ok(()))) => tracing::info!(path = %file.display(), "made an admin token"),
            Some((file, Err(error))) => {
                tracing::error!(path = %file.display(), %error, "the admin token can't be kept; set admin.token");
            }
            None => {
                tracing::info!(
                    "the admin token is random, as the store has no folder to keep one in; set admin.token to use the API"
                )
            }
        }
        Ok(Self(token))
    }

    /// Whether `offered` is the token. Takes the same time whatever is wrong with it.
    pub fn is(&self, offered: &[u8]) -> bool {
        self.0.as_bytes().ct_eq(offered).into()
    }
}

/// The token that a gateway with this configuration takes, as far as it can be known: the configured one, or the one in
/// the store's folder.
pub fn stored(config: &Config) -> Option<String> {
    match &config.admin.token {
        Some(token) => Some(token.0.clone()),
        None => file(&config.store).and_then(|file| read(&file)),
    }
}

fn file(store: &Store) -> Option<PathBuf> {
    match store {
        Store::Sled { path } => Some(path.join(FILE)),
        Store::Memory | Store::Redis { .. } => None,
    }
}

fn read(file: &Path) -> Option<String> {
    let text = match fs::read_to_string(file) {
        Ok(text) => text,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return None,
        Err(error) => {
            tracing::warn!(path = %file.display(), %error, "the admin token can't be read");
            return None;
        }
    };
    if fs::metadata(file).is_ok_and(|metadata| metadata.permissions().mode() & OTHERS != 0) {
        tracing::warn!(path = %file.display(), "others may read the admin token; set its mode to 0600");
    }
    Some(text.trim().to_owned()).filter(|token| !token.is_empty())
}

fn keep(file: &Path, token: &str) -> io::Result<()> {
    let unfinished = file.with_file_name(UNFINISHED);
    match fs::remove_file(&unfinished) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
        _ => {}
    }
    let mut new = OpenOptions::new().write(true).create_new(true).mode(MODE).open(&unfinished)?;
    writeln!(new, "{token}")?;
    new.sync_all()?;
    fs::rename(&unfinished, file)
}

/// A new token.
///
/// # Errors
/// When the system has no randomness.
pub fn random() -> Result<String, getrandom::Error> {
    let mut bytes = [0; LEN];
    getrandom::fill(&mut bytes)?;
    Ok(bytes.iter().fold(String::with_capacity(2 * LEN), |mut hex, byte| {
        // Writing to a string can't fail.
        let _ = write!(hex, "{byte:02x}");
        hex
    }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::Secret;

    fn config(store: Store) -> Config {
        Config { store, ..Config::default() }
    }

    #[test]
    fn a_token_is_made_once_and_only_its_owner_reads_it() {
        let folder = tempfile::tempdir().unwrap();
        let config = config(Store::Sled { path: folder.path().to_owned() });
        let made = Token::obtain(&config).unwrap();
        assert_eq!(made.0.len(), 2 * LEN);
        let file = folder.path().join(FILE);
        assert_eq!(fs::metadata(&file).unwrap().permissions().mode() & 0o777, MODE);
        assert!(Token::obtain(&config).unwrap().is(made.0.as_bytes()), "a second start finds it");
        assert_eq!(stored(&config), Some(made.0.clone()));
        assert!(!folder.path().join(UNFINISHED).exists());

        fs::write(&file, "\n").unwrap();
        assert!(!Token::obtain(&config).unwrap().is(made.0.as_bytes()), "an empty file is no token");
    }

    #[test]
    fn the_configured_token_comes_first() {
        let folder = tempfile::tempdir().unwrap();
        let mut config = config(Store::Sled { path: folder.path().to_owned() });
        config.admin.token = Some(Secret("configured".into()));
        let token = Token::obtain(&config).unwrap();
        assert!(token.is(b"configured"));
        assert!(!token.is(b"configure") && !token.is(b"") && !token.is(b"configured2"));
        assert!(!folder.path().join(FILE).exists());
    }

    #[test]
    fn a_gateway_without_a_folder_has_a_token_too() {
        let memory = config(Store::Memory);
        assert!(!Token::obtain(&memory).unwrap().is(Token::obtain(&memory).unwrap().0.as_bytes()));
        let gone = config(Store::Sled { path: "/proc/nowhere".into() });
        assert!(!Token::obtain(&gone).unwrap().is(b""));
    }
}
