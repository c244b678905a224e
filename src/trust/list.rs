//! The digests that are trusted: a file in the user's state folder that only its owner reads and writes.
use super::Covered;
use crate::config::Files;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::fs::{self, OpenOptions, TryLockError};
use std::io::{self, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};

/// The format that this version writes, and the only one that it reads.
const VERSION: u64 = 1;
/// Read and written by the user.
const MODE: u32 = 0o600;
/// The folder: entered by the user.
const FOLDER_MODE: u32 = 0o700;
/// It is written under this ending first: whoever reads it sees the old list or the new one.
const UNFINISHED: &str = "new";
/// Held by the one who changes it.
const LOCK: &str = "lock";

/// Why the list can't be read or written.
#[derive(Debug, thiserror::Error)]
pub enum ListError {
    /// The disk.
    #[error("{}: {source}", path.display())]
    Io {
        /// The list.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// It is no list of this version.
    #[error("{}: not a list of trusted files that this version reads; nothing is trusted until it is deleted", path.display())]
    Unreadable {
        /// The list.
        path: PathBuf,
    },
    /// Another command is changing it.
    #[error("{}: another command is changing it, try again", path.display())]
    Busy {
        /// The list.
        path: PathBuf,
    },
}

/// The list.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TrustList(BTreeMap<PathBuf, blake3::Hash>);

impl TrustList {
    /// The list in this file, which `files` remembers; without one nothing is trusted.
    ///
    /// # Errors
    /// [`ListError`]; whoever asks then trusts nothing.
    pub fn read(path: &Path, files: &mut Files) -> Result<Self, ListError> {
        match files.read(path) {
            Ok(text) => Self::parse(&text).ok_or_else(|| ListError::Unreadable { path: path.to_owned() }),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Self::default()),
            Err(source) => Err(ListError::Io { path: path.to_owned(), source }),
        }
    }

    fn parse(text: &str) -> Option<Self> {
        let list: Value = serde_json::from_str(text).ok()?;
        if list.get("v")?.as_u64()? != VERSION {
            return None;
        }
        let entry = |(path, hash): (&String, &Value)| Some((path.into(), blake3::Hash::from_hex(hash.as_str()?).ok()?));
        list.get("blake3")?.as_object()?.iter().map(entry).collect::<Option<_>>().map(Self)
    }

    /// Changes the list in this file.
    ///
    /// # Errors
    /// [`ListError`]; it is then as it was.
    pub fn change<T>(path: &Path, change: impl FnOnce(&mut Self) -> T) -> Result<T, ListError> {
        let io = |source| ListError::Io { path: path.to_owned(), source };
        if let Some(folder) = path.parent() {
            fs::DirBuilder::new().recursive(true).mode(FOLDER_MODE).create(folder).map_err(io)?;
        }
        let mut open = OpenOptions::new();
        open.write(true).create(true).truncate(false).mode(MODE);
        let lock = open.open(path.with_extension(LOCK)).map_err(io)?;
        match lock.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => return Err(ListError::Busy { path: path.to_owned() }),
            Err(TryLockError::Error(source)) => return Err(io(source)),
        }
        let mut list = Self::read(path, &mut Files::default())?;
        let changed = change(&mut list);
        list.write(path).map_err(io)?;
        Ok(changed)
    }

    fn write(&self, path: &Path) -> io::Result<()> {
        let unfinished = path.with_extension(UNFINISHED);
        match fs::remove_file(&unfinished) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            _ => {}
        }
        let mut file = OpenOptions::new().write(true).create_new(true).mode(MODE).open(&unfinished)?;
        let entry = |(path, hash): (&PathBuf, &blake3::Hash)| (path.display().to_string(), hash.to_string().into());
        let entries: serde_json::Map<String, Value> = self.0.iter().map(entry).collect();
        writeln!(file, "{:#}", json!({"v": VERSION, "blake3": entries}))?;
        file.sync_all()?;
        fs::rename(&unfinished, path)
    }

    /// The digest under which a file is trusted.
    pub fn of(&self, path: &Path) -> Option<blake3::Hash> {
        self.0.get(path).copied()
    }

    /// Trusts these files as they are.
    pub fn add(&mut self, files: &[Covered]) {
        self.0.extend(files.iter().filter_map(|file| Some((file.path.clone(), file.hash?))));
    }

    /// Trusts a file, or what lies in a folder, no more; returns which they were.
    pub fn remove(&mut self, path: &Path) -> Vec<PathBuf> {
        let (gone, kept) = std::mem::take(&mut self.0).into_iter().partition(|(file, _)| file.starts_with(path));
        self.0 = kept;
        let gone: BTreeMap<PathBuf, blake3::Hash> = gone;
        gone.into_keys().collect()
    }

    /// The files, in the order of their paths.
    pub fn files(&self) -> impl Iterator<Item = (&Path, blake3::Hash)> {
        self.0.iter().map(|(path, hash)| (path.as_path(), *hash))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt as _;

    fn file(path: &str) -> Covered {
        Covered { path: path.into(), hash: Some(blake3::hash(path.as_bytes())) }
    }

    #[test]
    fn what_is_added_is_read_again_and_only_by_its_owner() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("state/trusted.json");
        let read = || TrustList::read(&path, &mut Files::default()).unwrap();
        assert_eq!(read(), TrustList::default());
        TrustList::change(&path, |list| list.add(&[file("/p/a"), file("/p/b/c"), file("/q")])).unwrap();
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, MODE);
        assert_eq!(read().of(Path::new("/p/b/c")), file("/p/b/c").hash);
        assert_eq!(read().of(Path::new("/p/b")), None);
        let gone = TrustList::change(&path, |list| list.remove(Path::new("/p"))).unwrap();
        assert_eq!(gone, [Path::new("/p/a"), Path::new("/p/b/c")]);
        assert_eq!(read().files().map(|(path, _)| path.to_owned()).collect::<Vec<_>>(), [Path::new("/q")]);
    }

    #[test]
    fn what_can_not_be_read_trusts_nothing_and_is_not_overwritten() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("trusted.json");
        for text in ["", "{", r#"{"v": 2, "blake3": {}}"#, r#"{"v": 1, "blake3": {"/a": "x"}}"#, r#"{"v": 1}"#] {
            fs::write(&path, text).unwrap();
            assert!(TrustList::read(&path, &mut Files::default()).is_err(), "{text}");
            assert!(TrustList::change(&path, |list| list.add(&[file("/a")])).is_err(), "{text}");
            assert_eq!(fs::read_to_string(&path).unwrap(), text);
        }
    }
}
