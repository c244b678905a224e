//! Listeners after checking: where agents connect, what shows them whom they reached, and whose word counts for who they are.
use ipnet::IpNet;
use rustls::crypto::ring::sign::any_supported_type;
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::sign::CertifiedKey;
use std::fmt;
use std::net::{IpAddr, SocketAddr};
use std::path::PathBuf;
use std::sync::Arc;

/// How a path is written where an address could stand.
const UNIX: &str = "unix:";

/// `listen`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Listen {
    /// An address and a port.
    Tcp(SocketAddr),
    /// A socket in the file system.
    Unix(PathBuf),
}

impl Listen {
    /// `127.0.0.1:8787` or `unix:/path`.
    pub(super) fn parse(text: &str) -> Option<Self> {
        match text.strip_prefix(UNIX) {
            Some(path) => (!path.is_empty()).then(|| Self::Unix(path.into())),
            None => text.parse().ok().map(Self::Tcp),
        }
    }

    /// Whether only this machine can connect.
    pub fn is_local(&self) -> bool {
        match self {
            Self::Tcp(addr) => addr.ip().is_loopback(),
            Self::Unix(_) => true,
        }
    }
}

impl fmt::Display for Listen {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Tcp(addr) => addr.fmt(f),
            Self::Unix(path) => write!(f, "{UNIX}{}", path.display()),
        }
    }
}

impl From<SocketAddr> for Listen {
    fn from(addr: SocketAddr) -> Self {
        Self::Tcp(addr)
    }
}

/// `tls`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Tls {
    /// The certificate, followed by those up to the root.
    pub cert: PathBuf,
    /// Its private key.
    pub key: PathBuf,
    /// What stands in them.
    pub identity: Identity,
}

/// A certificate with its key. Equal when the certificates are: a key belongs to one.
#[derive(Clone)]
pub struct Identity(pub Arc<CertifiedKey>);

impl Identity {
    /// Of the texts of two PEM files.
    ///
    /// # Errors
    /// What is wrong with them, in words.
    pub(super) fn of(cert: &str, key: &str) -> Result<Self, String> {
        let chain = CertificateDer::pem_slice_iter(cert.as_bytes()).collect::<Result<Vec<_>, _>>();
        let chain = chain.map_err(|error| format!("tls.cert is not PEM: {error}"))?;
        if chain.is_empty() {
            return Err("tls.cert holds no certificate".into());
        }
        let key = PrivateKeyDer::from_pem_slice(key.as_bytes()).map_err(|error| format!("tls.key: {error}"))?;
        let key = any_supported_type(&key).map_err(|error| format!("tls.key: {error}"))?;
        let certified = CertifiedKey::new(chain, key);
        match certified.keys_match() {
            Ok(()) | Err(rustls::Error::InconsistentKeys(rustls::InconsistentKeys::Unknown)) => {
                Ok(Self(Arc::new(certified)))
            }
            Err(error) => Err(format!("tls.key is not the key of tls.cert: {error}")),
        }
    }
}

impl PartialEq for Identity {
    fn eq(&self, other: &Self) -> bool {
        self.0.cert == other.0.cert
    }
}

impl Eq for Identity {}

impl fmt::Debug for Identity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} certificates", self.0.cert.len())
    }
}

/// `trust`.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Trust {
    /// Proxies that say with the PROXY protocol whom they connect for.
    pub proxy_protocol: Vec<IpNet>,
}

impl Trust {
    /// Whether a connection from here begins with the PROXY protocol.
    pub fn is_proxy(&self, peer: IpAddr) -> bool {
        // A dual-stack socket shows IPv4 peers as IPv6 addresses.
        let peer = peer.to_canonical();
        self.proxy_protocol.iter().any(|network| network.contains(&peer))
    }
}

/// `10.0.0.0/8`, or a single address.
pub(super) fn network(text: &str) -> Option<IpNet> {
    text.parse().ok().or_else(|| text.parse::<IpAddr>().ok().map(IpNet::from))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_listener_is_an_address_or_a_path() {
        assert_eq!(Listen::parse("[::1]:1"), Some(Listen::Tcp("[::1]:1".parse().unwrap())));
        assert_eq!(Listen::parse("unix:/run/h"), Some(Listen::Unix("/run/h".into())));
        for text in ["unix:", "unix", "127.0.0.1", "/run/h", ""] {
            assert_eq!(Listen::parse(text), None, "{text}");
        }
        let shown = ["127.0.0.1:1", "unix:/run/h"].map(|text| Listen::parse(text).unwrap().to_string());
        assert_eq!(shown, ["127.0.0.1:1", "unix:/run/h"]);
    }

    #[test]
    fn a_proxy_is_known_by_its_network_whatever_the_socket_shows() {
        let trust =
            Trust { proxy_protocol: ["10.0.0.0/8", "192.0.2.1", "fd00::/8"].map(|t| network(t).unwrap()).into() };
        for (peer, is_proxy) in [
            ("10.1.2.3", true),
            ("::ffff:10.1.2.3", true),
            ("192.0.2.1", true),
            ("192.0.2.2", false),
            ("fd00::1", true),
            ("::1", false),
        ] {
            assert_eq!(trust.is_proxy(peer.parse().unwrap()), is_proxy, "{peer}");
        }
        assert_eq!(network("proxy.example"), None);
    }
}
