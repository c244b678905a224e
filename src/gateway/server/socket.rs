//! Where connections come from: TCP, or a Unix socket.
use super::wire::Stream;
use crate::config::Listen;
use std::fs;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::os::unix::fs::{FileTypeExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};
use tokio::net::{TcpListener, UnixListener};

/// Who may connect to a Unix socket: its user and its group. The folder that it lies in can narrow that down.
const MODE: u32 = 0o660;

/// A listener.
#[derive(Debug)]
pub struct Listener(Kind);

#[derive(Debug)]
enum Kind {
    Tcp(TcpListener),
    Unix(UnixListener, PathBuf),
}

/// A connection as it came.
pub(super) struct Accepted {
    pub(super) stream: Stream,
    pub(super) peer: Option<IpAddr>,
}

impl Listener {
    /// Listens here.
    ///
    /// # Errors
    /// As the system says. A socket that nobody listens on any more is replaced.
    pub async fn bind(at: &Listen) -> io::Result<Self> {
        Ok(Self(match at {
            Listen::Tcp(addr) => Kind::Tcp(TcpListener::bind(addr).await?),
            Listen::Unix(path) => Kind::Unix(unix(path)?, path.clone()),
        }))
    }

    /// Its address, where it has one: with the port that the system chose.
    ///
    /// # Errors
    /// As the system says.
    pub fn addr(&self) -> io::Result<Option<SocketAddr>> {
        match &self.0 {
            Kind::Tcp(listener) => listener.local_addr().map(Some),
            Kind::Unix(..) => Ok(None),
        }
    }

    pub(super) async fn accept(&self) -> io::Result<Accepted> {
        match &self.0 {
            Kind::Tcp(listener) => {
                let (stream, peer) = listener.accept().await?;
                stream.set_nodelay(true)?;
                Ok(Accepted { stream: Stream::Tcp(stream), peer: Some(peer.ip()) })
            }
            Kind::Unix(listener, _) => {
                let (stream, _) = listener.accept().await?;
                Ok(Accepted { stream: Stream::Unix(stream), peer: None })
            }
        }
    }
}

impl Drop for Listener {
    fn drop(&mut self) {
        if let Kind::Unix(_, path) = &self.0 {
            // Whoever starts next replaces it too.
            let _ = fs::remove_file(path);
        }
    }
}

fn unix(path: &Path) -> io::Result<UnixListener> {
    let listener = match UnixListener::bind(path) {
        Err(error) if error.kind() == io::ErrorKind::AddrInUse && is_left_over(path) => {
            fs::remove_file(path)?;
            UnixListener::bind(path)
        }
        bound => bound,
    }?;
    fs::set_permissions(path, fs::Permissions::from_mode(MODE))?;
    Ok(listener)
}

/// A socket whose process is gone, and not some other file.
fn is_left_over(path: &Path) -> bool {
    let is_socket = fs::symlink_metadata(path).is_ok_and(|metadata| metadata.file_type().is_socket());
    let refuses = |error: io::Error| error.kind() == io::ErrorKind::ConnectionRefused;
    is_socket && std::os::unix::net::UnixStream::connect(path).is_err_and(refuses)
}
