//! A file that begins anew when it is full. Some forty lines of the standard library: the crates for it bring a calendar and
//! compression along.
use std::fs::{self, File, OpenOptions};
use std::io::{self, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};

/// Whom a line may tell who asked what: the gateway's user alone reads it.
const MODE: u32 = 0o600;

/// `PATH`, and beside it `PATH.1` (the newest) to `PATH.KEEP`.
#[derive(Debug)]
pub(super) struct Rotating {
    path: PathBuf,
    max_size: u64,
    keep: usize,
    file: File,
    size: u64,
}

impl Rotating {
    /// Goes on with the file, or begins it with its folder.
    pub(super) fn open(path: &Path, max_size: u64, keep: usize) -> io::Result<Self> {
        if let Some(folder) = path.parent() {
            fs::create_dir_all(folder)?;
        }
        let file = append(path)?;
        let size = file.metadata()?.len();
        Ok(Self { path: path.to_owned(), max_size, keep, file, size })
    }

    /// Writes a line, in the next file if it does not fit into this one. Lines are not torn: a reader sees whole ones.
    pub(super) fn write(&mut self, line: &[u8]) -> io::Result<()> {
        let len = line.len() as u64;
        if self.size > 0 && self.size.saturating_add(len) > self.max_size {
            self.rotate()?;
        }
        self.file.write_all(line)?;
        self.size = self.size.saturating_add(len);
        Ok(())
    }

    fn rotate(&mut self) -> io::Result<()> {
        for number in (1..self.keep).rev() {
            // The first files have none before them.
            let _ = fs::rename(self.numbered(number), self.numbered(number + 1));
        }
        let moved = match self.keep {
            0 => fs::remove_file(&self.path),
            _ => fs::rename(&self.path, self.numbered(1)),
        };
        // Somebody else has moved it, or this did and could not begin the next one.
        moved.or_else(|error| if error.kind() == io::ErrorKind::NotFound { Ok(()) } else { Err(error) })?;
        self.file = append(&self.path)?;
        self.size = 0;
        Ok(())
    }

    fn numbered(&self, number: usize) -> PathBuf {
        let mut name = self.path.clone().into_os_string();
        name.push(format!(".{number}"));
        name.into()
    }
}

fn append(path: &Path) -> io::Result<File> {
    OpenOptions::new().create(true).append(true).mode(MODE).open(path)
}
