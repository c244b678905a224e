//! What a connection passes before its first request: the word of a proxy, TLS, and finding out what it speaks.
use super::proxy::{self, Said};
use super::socket::Accepted;
use super::wire::{Stream, Wire};
use crate::config::{Config, Limits, Trust};
use bytes::BytesMut;
use rustls::ServerConfig;
use rustls::server::{ClientHello, ResolvesServerCert};
use rustls::sign::CertifiedKey;
use std::io;
use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;
use tokio::io::AsyncReadExt as _;
use tokio_rustls::TlsAcceptor;

/// How every HTTP/2 connection begins, and no request of HTTP/1.1 does (RFC 9113, section 3.4).
const H2_PREFACE: &[u8] = b"PRI ";

/// Protocols that TLS offers, the better one first.
const ALPN: [&[u8]; 2] = [b"h2", b"http/1.1"];

/// What is read first, in bytes: the whole head of most requests, so that it costs no read of its own.
const FIRST_READ: usize = 8 << 10;

/// The way in.
pub struct Door {
    tls: Option<TlsAcceptor>,
    trust: Trust,
    head_timeout: Duration,
    head_limit: usize,
}

impl std::fmt::Debug for Door {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Door").field("tls", &self.tls.is_some()).field("trust", &self.trust).finish_non_exhaustive()
    }
}

/// What a connection speaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Protocol {
    Http1,
    Http2,
}

/// A connection with its first bytes.
pub(super) struct Opened {
    pub(super) wire: Wire,
    pub(super) protocol: Protocol,
    pub(super) client: Option<IpAddr>,
}

impl Door {
    /// The way in to where agents connect.
    ///
    /// # Errors
    /// When the crypto provider has none of the protocol versions.
    pub fn new(config: &Config) -> Result<Self, rustls::Error> {
        let tls = config.tls.as_ref().map(|tls| acceptor(tls.identity.0.clone())).transpose()?;
        Ok(Self { tls, trust: config.trust.clone(), ..Self::plain(&config.limits) })
    }

    /// Without TLS and proxies.
    pub fn plain(limits: &Limits) -> Self {
        let Limits { head_timeout, request_head, .. } = *limits;
        Self { tls: None, trust: Trust::default(), head_timeout, head_limit: request_head }
    }

    /// How long the head of a connection's first request may take, once it has begun.
    pub(super) const fn head_timeout(&self) -> Duration {
        self.head_timeout
    }

    /// Longest head, in bytes.
    pub(super) const fn head_limit(&self) -> usize {
        self.head_limit
    }

    /// `patience`: with a client that connects ahead of time.
    ///
    /// # Errors
    /// The client left, was too slow, or did not speak as it has to.
    pub(super) async fn open(&self, Accepted { mut stream, peer }: Accepted, patience: Duration) -> io::Result<Opened> {
        let mut first = BytesMut::with_capacity(FIRST_READ);
        within(patience, more(&mut stream, &mut first)).await?;
        within(self.head_timeout, self.inside(stream, first, peer)).await
    }

    async fn inside(&self, mut stream: Stream, mut first: BytesMut, peer: Option<IpAddr>) -> io::Result<Opened> {
        let client = match peer.filter(|peer| self.trust.is_proxy(*peer)) {
            Some(proxy) => client_of(&mut stream, &mut first).await?.or(Some(proxy)),
            None => peer,
        };
        if let Some(acceptor) = &self.tls {
            let stream = acceptor.accept(Wire::new(first.freeze(), stream)).await?;
            let is_h2 = stream.get_ref().1.alpn_protocol() == Some(ALPN[0]);
            let protocol = if is_h2 { Protocol::Http2 } else { Protocol::Http1 };
            let wire = Wire::new(bytes::Bytes::new(), Stream::Tls(Box::new(stream)));
            return Ok(Opened { wire, protocol, client });
        }
        while first.len() < H2_PREFACE.len() && H2_PREFACE.starts_with(&first) {
            more(&mut stream, &mut first).await?;
        }
        let protocol = if first.starts_with(H2_PREFACE) { Protocol::Http2 } else { Protocol::Http1 };
        Ok(Opened { wire: Wire::new(first.freeze(), stream), protocol, client })
    }
}

async fn within<T>(limit: Duration, work: impl Future<Output = io::Result<T>>) -> io::Result<T> {
    tokio::time::timeout(limit, work).await.unwrap_or_else(|_| Err(io::ErrorKind::TimedOut.into()))
}

async fn more(stream: &mut Stream, first: &mut BytesMut) -> io::Result<()> {
    match stream.read_buf(first).await? {
        0 => Err(io::ErrorKind::UnexpectedEof.into()),
        _ => Ok(()),
    }
}

async fn client_of(stream: &mut Stream, first: &mut BytesMut) -> io::Result<Option<IpAddr>> {
    loop {
        match proxy::take(first) {
            Said::Client(client) => return Ok(client),
            Said::More => more(stream, first).await?,
            Said::Nothing => {
                let what = "a proxy of trust.proxy_protocol does not say whom it connects for";
                return Err(io::Error::new(io::ErrorKind::InvalidData, what));
            }
        }
    }
}

fn acceptor(identity: Arc<CertifiedKey>) -> Result<TlsAcceptor, rustls::Error> {
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let mut config = ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()?
        .with_no_client_auth()
        .with_cert_resolver(Arc::new(Shown(identity)));
    config.alpn_protocols = ALPN.map(<[u8]>::to_vec).into();
    Ok(TlsAcceptor::from(Arc::new(config)))
}

/// The one certificate that every client is shown.
#[derive(Debug)]
struct Shown(Arc<CertifiedKey>);

impl ResolvesServerCert for Shown {
    fn resolve(&self, _: ClientHello<'_>) -> Option<Arc<CertifiedKey>> {
        Some(Arc::clone(&self.0))
    }
}
