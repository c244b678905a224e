//! The directory: one Markdown file for every entry that is, or was, approved. It is the truth, to be edited, reviewed and
//! reverted with git; [`file`](super::file) is the form of a file.
use super::KnowledgeError;
use super::entry::Entry;
use super::file;
use parking_lot::Mutex;
use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{self, Read as _, Write as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use tokio::task::spawn_blocking;

/// The ending of an entry's file.
const ENDING: &str = "md";
/// Files that are no entries.
const OTHERS: [&str; 2] = ["README.md", "CONTRIBUTING.md"];
/// Largest file in bytes: a body of the largest size, with room for what stands ahead of it.
const MAX_FILE: u64 = 64 * 1024;

/// The directory.
#[derive(Debug, Clone)]
pub(super) struct Directory {
    path: Arc<PathBuf>,
    seen: Arc<Mutex<Seen>>,
}

/// What was found in it last.
#[derive(Debug, Default)]
struct Seen {
    /// The files of each entry, which need not be named after it: the one that counts, and then its copies.
    files: BTreeMap<String, Vec<PathBuf>>,
    /// What is wrong, by file, as the log has it.
    broken: BTreeMap<PathBuf, String>,
}

impl Directory {
    pub(super) fn new(path: PathBuf) -> Self {
        Self { path: Arc::new(path), seen: Arc::default() }
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// Makes it, if it is not there.
    pub(super) async fn ready(&self) -> Result<(), KnowledgeError> {
        self.aside(|this| fs::create_dir_all(this.path()).map_err(|error| failed(this.path(), &error))).await
    }

    /// Writes an entry's file, which is there as a whole or not at all.
    pub(super) async fn write(&self, entry: &Entry) -> Result<(), KnowledgeError> {
        let entry = entry.clone();
        self.aside(move |this| {
            let path = this.file_of(&entry.id);
            put(&path, &file::written(&entry)).map_err(|error| failed(&path, &error))
        })
        .await
    }

    /// Writes an entry's file unless there is one.
    pub(super) async fn adopt(&self, entry: &Entry) -> Result<(), KnowledgeError> {
        let entry = entry.clone();
        self.aside(move |this| {
            let path = this.file_of(&entry.id);
            if path.exists() {
                return Ok(());
            }
            put(&path, &file::written(&entry)).map_err(|error| failed(&path, &error))
        })
        .await
    }

    /// Deletes every file of an entry: a copy that was left out before would take the place of the one that is gone.
    pub(super) async fn remove(&self, id: &str) -> Result<(), KnowledgeError> {
        let id = id.to_owned();
        self.aside(move |this| {
            let copies = this.seen.lock().files.get(&id).cloned().unwrap_or_default();
            for path in copies.into_iter().chain([this.named(&id)]) {
                match fs::remove_file(&path) {
                    Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(failed(&path, &error)),
                    _ => {}
                }
            }
            Ok(())
        })
        .await
    }

    /// All entries. A file that is none is named in the log, once, and left out.
    pub(super) async fn read(&self) -> Result<Vec<Entry>, KnowledgeError> {
        self.aside(|this| this.read_all().map_err(|error| failed(this.path(), &error))).await
    }

    fn read_all(&self) -> io::Result<Vec<Entry>> {
        let mut entries = Vec::new();
        let mut now = Seen::default();
        for path in files(self.path())? {
            match read(&path) {
                Ok(entry) => {
                    let own = now.files.entry(entry.id.clone()).or_default();
                    own.push(path.clone());
                    if own.len() == 1 {
                        entries.push(entry);
                    } else {
                        now.broken.insert(path, format!("another file has the id {:?}", entry.id));
                    }
                }
                Err(what) => {
                    now.broken.insert(path, what);
                }
            }
        }
        let mut seen = self.seen.lock();
        for (path, what) in now.broken.iter().filter(|(path, what)| seen.broken.get(*path) != Some(what)) {
            tracing::warn!(path = %path.display(), "a file of knowledge is left out: {}: {what}", path.display());
        }
        *seen = now;
        Ok(entries)
    }

    /// The file of an entry: the one that it was found in, else one that is named after it.
    fn file_of(&self, id: &str) -> PathBuf {
        let counts = self.seen.lock().files.get(id).and_then(|files| files.first().cloned());
        counts.unwrap_or_else(|| self.named(id))
    }

    fn named(&self, id: &str) -> PathBuf {
        self.path().join(format!("{id}.{ENDING}"))
    }

    async fn aside<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Self) -> Result<T, KnowledgeError> + Send + 'static,
    ) -> Result<T, KnowledgeError> {
        let this = self.clone();
        spawn_blocking(move || work(&this)).await.unwrap_or(Err(KnowledgeError::Lost))
    }
}

fn failed(path: &Path, error: &io::Error) -> KnowledgeError {
    KnowledgeError::File { path: path.to_owned(), reason: error.to_string() }
}

/// The files that should be entries, in the order of their names; none where there is no folder.
fn files(folder: &Path) -> io::Result<Vec<PathBuf>> {
    let mut files = Vec::new();
    let items = match fs::read_dir(folder) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(files),
        items => items?,
    };
    for item in items {
        let path = item?.path();
        let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        let is_markdown = path.extension().is_some_and(|ending| ending.eq_ignore_ascii_case(ENDING));
        if is_markdown && !name.starts_with('.') && !OTHERS.contains(&name) && path.is_file() {
            files.push(path);
        }
    }
    files.sort();
    Ok(files)
}

fn read(path: &Path) -> Result<Entry, String> {
    let mut text = String::new();
    let opened = File::open(path).map_err(|error| error.to_string())?;
    let changed = opened.metadata().and_then(|metadata| metadata.modified()).ok();
    opened.take(MAX_FILE + 1).read_to_string(&mut text).map_err(|error| error.to_string())?;
    if text.len() as u64 > MAX_FILE {
        return Err(format!("is larger than {MAX_FILE} bytes"));
    }
    let stem = path.file_stem().and_then(|stem| stem.to_str()).unwrap_or_default();
    let since = changed.and_then(|time| jiff::Timestamp::try_from(time).ok()).unwrap_or_default();
    file::read(&text, stem, since)
}

/// A crash leaves the old file or the new one.
fn put(path: &Path, text: &str) -> io::Result<()> {
    path.parent().map_or(Ok(()), fs::create_dir_all)?;
    let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
    let unfinished = path.with_file_name(format!(".{name}.new"));
    // What a crash left, or a link that somebody put there.
    match fs::remove_file(&unfinished) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
        _ => {}
    }
    let mut file = File::create_new(&unfinished)?;
    file.write_all(text.as_bytes())?;
    file.sync_all()?;
    fs::rename(&unfinished, path)?;
    // The name is durable when its folder is.
    path.parent().map_or(Ok(()), |folder| File::open(folder)?.sync_all())
}

#[cfg(test)]
mod tests {
    use super::super::entry::tests::entry;
    use super::*;

    #[tokio::test]
    async fn a_link_in_the_place_of_an_unfinished_file_leads_nowhere() {
        let (folder, outside) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let victim = outside.path().join("victim");
        fs::write(&victim, "untouched").unwrap();
        std::os::unix::fs::symlink(&victim, folder.path().join(".k1.md.new")).unwrap();
        let directory = Directory::new(folder.path().to_owned());
        directory.write(&entry("k1", "Use uv", "Not pip.")).await.unwrap();
        assert_eq!(fs::read_to_string(&victim).unwrap(), "untouched");
        assert_eq!(directory.read().await.unwrap(), [entry("k1", "Use uv", "Not pip.")]);
        assert!(!fs::symlink_metadata(folder.path().join("k1.md")).unwrap().is_symlink());
    }
}
