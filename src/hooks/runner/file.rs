//! `run: { file: ... }`: a file's text, read at every run, so that an edit counts from the next event on.
use super::{Invocation, Output, Runner};
use crate::hooks::HookFailure;
use futures_util::future::BoxFuture;
use std::io;
use std::path::PathBuf;
use tokio::io::AsyncReadExt;

/// The file.
#[derive(Debug)]
pub(super) struct File(pub(super) PathBuf);

impl Runner for File {
    fn run<'a>(&'a self, call: &'a Invocation<'a>) -> BoxFuture<'a, Result<Output, HookFailure>> {
        Box::pin(self.read(call.output_limit))
    }
}

impl File {
    async fn read(&self, limit: usize) -> Result<Output, HookFailure> {
        self.text(limit).await.map(Output::Text)
    }

    /// The file's text.
    ///
    /// # Errors
    /// [`HookFailure::File`], [`HookFailure::OutputOverLimit`] beyond `limit` bytes.
    pub(super) async fn text(&self, limit: usize) -> Result<String, HookFailure> {
        let bytes =
            self.bytes(limit).await.map_err(|e| HookFailure::File { path: self.0.clone(), reason: e.to_string() })?;
        if bytes.len() > limit {
            return Err(HookFailure::OutputOverLimit { limit });
        }
        Ok(String::from_utf8_lossy(&bytes).into_owned())
    }

    /// The file's bytes, at most one more than `limit`.
    async fn bytes(&self, limit: usize) -> io::Result<Vec<u8>> {
        // Opening a FIFO blocks a thread for ever, and no timeout gets that thread back.
        if !tokio::fs::metadata(&self.0).await?.is_file() {
            return Err(io::Error::other("not a regular file"));
        }
        let mut bytes = Vec::new();
        let file = tokio::fs::File::open(&self.0).await?;
        file.take(limit as u64 + 1).read_to_end(&mut bytes).await?;
        Ok(bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{event, invocation};
    use super::*;

    async fn read(path: &std::path::Path) -> Result<Output, HookFailure> {
        let event = event();
        let call = Invocation { output_limit: 10, ..invocation(&event) };
        File(path.to_owned()).run(&call).await
    }

    #[tokio::test]
    async fn a_file_is_read_at_every_run() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("NOTES.md");
        for text in ["first", "second"] {
            std::fs::write(&path, text).expect("written");
            assert_eq!(read(&path).await, Ok(Output::Text(text.into())));
        }
    }

    #[tokio::test]
    async fn a_file_over_the_limit_fails() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("large");
        std::fs::write(&path, "0123456789").expect("written");
        assert_eq!(read(&path).await, Ok(Output::Text("0123456789".into())));
        std::fs::write(&path, "0123456789a").expect("written");
        assert_eq!(read(&path).await, Err(HookFailure::OutputOverLimit { limit: 10 }));
    }

    #[tokio::test]
    async fn what_is_no_regular_file_fails() {
        let folder = tempfile::tempdir().expect("a folder");
        let fifo = folder.path().join("fifo");
        let made = std::process::Command::new("mkfifo").arg(&fifo).status().expect("mkfifo");
        assert!(made.success());
        for path in [&fifo, &folder.path().join("missing"), &folder.path().to_owned(), &PathBuf::from("/dev/zero")] {
            assert!(matches!(read(path).await, Err(HookFailure::File { .. })), "{}", path.display());
        }
    }
}
