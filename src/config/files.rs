//! The files that a configuration is read from, and whether they have changed since.
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// Files in the order in which they were read, with what stood in each then.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Files(Vec<(PathBuf, Content)>);

/// What stood in a file; `None`: nothing but white space, or there was no such file.
pub type Content = Option<blake3::Hash>;

impl Files {
    /// Reads a file and remembers it, whether or not it can be read.
    ///
    /// # Errors
    /// When it can't be read as text.
    pub fn read(&mut self, path: &Path) -> io::Result<String> {
        let text = fs::read_to_string(path);
        self.0.push((path.to_owned(), text.as_deref().map_or(None, |text| content(text.as_bytes()))));
        text
    }

    /// Where they are.
    pub fn paths(&self) -> impl Iterator<Item = &Path> {
        self.0.iter().map(|(path, _)| path.as_path())
    }

    /// Where they are, with the hash of what stood there; `None`: nothing but white space, or there was no such file.
    pub fn contents(&self) -> impl Iterator<Item = (&Path, Content)> {
        self.0.iter().map(|(path, content)| (path.as_path(), *content))
    }

    /// The same files as they are now.
    #[must_use]
    pub fn now(&self) -> Self {
        // A pipe is read once; to open it again could wait forever.
        let now = |path: &PathBuf| path.is_file().then(|| fs::read(path).ok()).flatten().and_then(|it| content(&it));
        Self(self.0.iter().map(|(path, _)| (path.clone(), now(path))).collect())
    }

    /// Whether something else stands in one of them `now`. One that was emptied or deleted is no news: whoever did that is
    /// about to write it, or has made a mistake.
    #[must_use]
    pub fn has_news(&self, now: &Self) -> bool {
        now.0.iter().any(|file| file.1.is_some() && !self.0.contains(file))
    }
}

fn content(bytes: &[u8]) -> Content {
    (!bytes.trim_ascii().is_empty()).then(|| blake3::hash(bytes))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn news_is_what_was_written_and_not_what_is_gone() {
        let folder = tempfile::tempdir().unwrap();
        let [a, b] = ["a", "b"].map(|name| folder.path().join(name));
        fs::write(&a, "listen: x").unwrap();
        let mut files = Files::default();
        files.read(&a).unwrap();
        files.read(&b).unwrap_err();
        assert_eq!(files.paths().collect::<Vec<_>>(), [&a, &b]);
        let news = || files.has_news(&files.now());
        assert!(!news());
        for (file, text, expected) in
            [(&a, "listen: y", true), (&a, "", false), (&a, " \n", false), (&a, "listen: x", false), (&b, "b", true)]
        {
            fs::write(file, text).unwrap();
            assert_eq!(news(), expected, "{text:?}");
        }
        fs::remove_file(&a).unwrap();
        fs::remove_file(&b).unwrap();
        assert!(!news());
        // Not UTF-8 is something else all the same: a reload says so.
        fs::write(&a, [0xff]).unwrap();
        assert!(news());
    }
}
