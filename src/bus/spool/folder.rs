//! A folder by its handle: nothing below is reached through a link, whatever others put there meanwhile.
use nix::dir::Dir;
use nix::errno::Errno;
use nix::fcntl::{OFlag, openat, renameat};
use nix::sys::stat::{Mode, mkdirat};
use nix::unistd::geteuid;
use std::ffi::{CString, OsStr, OsString};
use std::fs::File;
use std::io::{self, Read as _};
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStringExt as _;
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;

/// Largest file in bytes: the longest text with every character escaped, and the other members.
const MAX_FILE: u64 = 16 * 1024;
/// The user whom every file system belongs to.
const ROOT: u32 = 0;

/// Why a file is not read.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(super) enum Unreadable {
    #[error("it is no regular file")]
    NoFile,
    #[error("it belongs to user {0}, not to the gateway's or the spool's")]
    Owner(u32),
    #[error("it has {0} bytes, at most {MAX_FILE} are read")]
    TooLong(u64),
    #[error("{0}")]
    Io(String),
}

/// An open folder.
#[derive(Debug)]
pub(super) struct Folder {
    fd: OwnedFd,
    /// Who owns it.
    owner: u32,
}

impl Folder {
    /// The folder at a path that the operator gives, links and all.
    pub(super) fn open(path: &Path) -> io::Result<Self> {
        let file = File::open(path)?;
        let owner = file.metadata()?.uid();
        Ok(Self { fd: file.into(), owner })
    }

    /// A folder in this one; `None` where there is none, or only a link.
    pub(super) fn sub(&self, name: &OsStr) -> io::Result<Option<Self>> {
        let flags = OFlag::O_DIRECTORY | OFlag::O_NOFOLLOW | OFlag::O_CLOEXEC;
        match openat(&self.fd, name, flags, Mode::empty()) {
            Ok(fd) => Ok(Some(Self { fd, owner: self.owner })),
            Err(Errno::ENOENT | Errno::ENOTDIR | Errno::ELOOP) => Ok(None),
            Err(error) => Err(error.into()),
        }
    }

    /// The same, made if need be.
    pub(super) fn made(&self, name: &str) -> io::Result<Self> {
        match mkdirat(&self.fd, name, Mode::S_IRWXU | Mode::S_IRWXG) {
            Ok(()) | Err(Errno::EEXIST) => {}
            Err(error) => return Err(error.into()),
        }
        self.sub(OsStr::new(name))?.ok_or_else(|| io::ErrorKind::NotADirectory.into())
    }

    /// The names in it, in their order.
    pub(super) fn names(&self) -> io::Result<Vec<OsString>> {
        let mut dir = Dir::openat(&self.fd, ".", OFlag::O_DIRECTORY | OFlag::O_CLOEXEC, Mode::empty())?;
        let mut names = Vec::new();
        for entry in dir.iter() {
            let name = OsString::from_vec(CString::from(entry?.file_name()).into_bytes());
            if name != "." && name != ".." {
                names.push(name);
            }
        }
        names.sort_unstable();
        Ok(names)
    }

    /// A file in it: regular, of an owner who may send messages, not too long. A link is none.
    pub(super) fn read(&self, name: &OsStr) -> Result<Vec<u8>, Unreadable> {
        let failed = |error: io::Error| Unreadable::Io(error.to_string());
        // A pipe that nobody writes to would hold the reader up.
        let flags = OFlag::O_RDONLY | OFlag::O_NOFOLLOW | OFlag::O_NONBLOCK | OFlag::O_CLOEXEC;
        let file = match openat(&self.fd, name, flags, Mode::empty()) {
            Ok(fd) => File::from(fd),
            Err(Errno::ELOOP | Errno::ENXIO) => return Err(Unreadable::NoFile),
            Err(error) => return Err(failed(error.into())),
        };
        let about = file.metadata().map_err(failed)?;
        if !about.is_file() {
            return Err(Unreadable::NoFile);
        }
        if ![self.owner, geteuid().as_raw(), ROOT].contains(&about.uid()) {
            return Err(Unreadable::Owner(about.uid()));
        }
        if about.len() > MAX_FILE {
            return Err(Unreadable::TooLong(about.len()));
        }
        let mut content = Vec::new();
        // It may grow while it is read.
        file.take(MAX_FILE).read_to_end(&mut content).map_err(failed)?;
        Ok(content)
    }

    /// Moves an entry to another folder.
    pub(super) fn hand_over(&self, name: &OsStr, to: &Self, new_name: &OsStr) -> io::Result<()> {
        renameat(&self.fd, name, &to.fd, new_name).map_err(io::Error::from)
    }
}
