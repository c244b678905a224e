//! On what terms a configuration is taken: what whoever starts the gateway decides in its place, and who has to agree with
//! what it would run. They hold for reloads too.
use super::files::Files;
use super::listeners::Listen;
use super::resolved::{Config, Hook, Provider, Secret};
use super::written::File;
use std::fmt;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;

/// The terms; the default leaves everything to the file, and asks nobody.
#[derive(Clone, Default)]
pub struct Terms {
    /// What is decided already.
    pub imposed: Option<Imposed>,
    /// Who has to agree.
    pub guard: Option<Arc<dyn Guard>>,
}

/// What a gateway that serves one command has, whatever its file says: an operator's ports, certificate and store are for
/// `serve`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Imposed {
    /// Both listeners: plain HTTP there, on ports that the system chooses.
    pub listen: SocketAddr,
    /// The admin token.
    pub token: Secret,
    /// Where sled's folder is. Other kinds of stores stay as they are written.
    pub store: PathBuf,
    /// Where requests of a provider go, unless the file names another place.
    pub upstreams: Vec<(Provider, http::Uri)>,
}

/// Who has to agree with what a configuration makes the gateway run.
pub trait Guard: fmt::Debug + Send + Sync {
    /// Whether a configuration that was read from `files` may take effect. What else that depends on is read into `files`, so
    /// that a change of it is looked at again.
    ///
    /// # Errors
    /// Why not, for people.
    fn admits(&self, config: &Config, files: &mut Files) -> Result<(), String>;

    /// Whether what `hook` runs may be run now.
    ///
    /// # Errors
    /// Why not, for the log.
    fn lets_run(&self, hook: &Hook) -> Result<(), String>;
}

impl fmt::Debug for Terms {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Terms").field("imposed", &self.imposed).field("guarded", &self.guard.is_some()).finish()
    }
}

/// Terms are how a configuration came to be, and none of what it says.
impl PartialEq for Terms {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

impl Eq for Terms {}

impl Imposed {
    /// Puts itself in the place of what is written.
    pub(super) fn impose(&self, mut file: File) -> File {
        file.listen.value = Listen::Tcp(self.listen);
        file.tls = None;
        file.trust.proxy_protocol.clear();
        file.admin.listen.value = self.listen;
        file.admin.token = Some(self.token.clone());
        file.store.path.value = self.store.to_string_lossy().into_owned();
        file
    }

    /// Where requests of this provider go.
    pub(super) fn upstream(&self, provider: Provider) -> Option<&http::Uri> {
        self.upstreams.iter().find(|(of, _)| *of == provider).map(|(_, url)| url)
    }
}
