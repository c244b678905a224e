//! TLS on the listener.
use crate::http2;
use crate::support::config::ADMIN_TOKEN;
use crate::support::provider::answer;
use crate::support::{Client, Provider, soon};
use hookgate::app::{Running, start};
use hookgate::config::{load, process_env};
use http::StatusCode;
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, ServerName};
use rustls::{ClientConfig, RootCertStore};
use std::net::SocketAddr;
use std::path::Path;
use std::sync::Arc;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;

/// Makes a certificate in `folder`.
fn certificate(folder: &Path) -> CertificateDer<'static> {
    let made = rcgen::generate_simple_self_signed(["localhost".to_owned()]).unwrap();
    std::fs::write(folder.join("cert.pem"), made.cert.pem()).unwrap();
    std::fs::write(folder.join("key.pem"), made.signing_key.serialize_pem()).unwrap();
    CertificateDer::from_pem_slice(made.cert.pem().as_bytes()).unwrap()
}

async fn gateway(folder: &Path, provider: &Provider) -> Running {
    let config = format!(
        "listen: 127.0.0.1:0\ntls: {{ cert: cert.pem, key: key.pem }}\n\
         admin: {{ listen: 127.0.0.1:0, token: {ADMIN_TOKEN} }}\nstore: {{ kind: memory }}\n\
         upstreams: [{{ name: anthropic, dialect: anthropic, base_url: 'http://{}' }}]\n",
        provider.addr()
    );
    let file = folder.join("hookgate.yaml");
    std::fs::write(&file, config).unwrap();
    start(load(Some(&file), &process_env).unwrap()).await.unwrap()
}

async fn connect(
    addr: SocketAddr,
    trusted: &CertificateDer<'static>,
    alpn: &[&str],
) -> std::io::Result<TlsStream<TcpStream>> {
    let mut roots = RootCertStore::empty();
    roots.add(trusted.clone()).unwrap();
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let mut config = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_root_certificates(roots)
        .with_no_client_auth();
    config.alpn_protocols = alpn.iter().map(|name| name.as_bytes().to_vec()).collect();
    let stream = TcpStream::connect(addr).await?;
    let name = ServerName::try_from("localhost").unwrap();
    soon(TlsConnector::from(Arc::new(config)).connect(name, stream)).await
}

/// Asks over HTTP/1.1; the answer's first line.
async fn ask(stream: &mut TlsStream<TcpStream>) -> String {
    stream.write_all(b"POST /v1/messages HTTP/1.1\r\nhost: g\r\ncontent-length: 2\r\n\r\n{}").await.unwrap();
    let mut read = Vec::new();
    soon(async {
        while !read.ends_with(b"\r\n\r\n{}") {
            stream.read_buf(&mut read).await.unwrap();
        }
    })
    .await;
    String::from_utf8(read).unwrap().lines().next().unwrap().to_owned()
}

async fn ok() -> Provider {
    Provider::always(answer("200 OK", "content-type: application/json\r\n", "{}")).await
}

#[tokio::test]
async fn a_client_gets_the_version_that_it_offers() {
    let (provider, folder) = (ok().await, tempfile::tempdir().unwrap());
    let certificate = certificate(folder.path());
    let gateway = gateway(folder.path(), &provider).await;
    for alpn in [&["http/1.1"][..], &[]] {
        let mut stream = connect(gateway.addr(), &certificate, alpn).await.unwrap();
        assert_eq!(ask(&mut stream).await, "HTTP/1.1 200 OK");
    }
    let stream = connect(gateway.addr(), &certificate, &["http/1.1", "h2"]).await.unwrap();
    assert_eq!(stream.get_ref().1.alpn_protocol(), Some(&b"h2"[..]));
    let (mut sender, _task) = http2::speak(stream).await;
    assert_eq!(http2::ask(&mut sender, "/v1/messages", &[], "{}").await.status(), StatusCode::OK);
    assert_eq!(provider.requests().len(), 3);
}

#[tokio::test]
async fn who_speaks_no_tls_is_not_answered() {
    let (provider, folder) = (ok().await, tempfile::tempdir().unwrap());
    certificate(folder.path());
    let gateway = gateway(folder.path(), &provider).await;
    let mut client = Client::connect(gateway.addr()).await;
    client.send("POST /v1/messages HTTP/1.1\r\nhost: g\r\ncontent-length: 2\r\n\r\n{}").await;
    assert!(
        soon(async {
            while !client.is_closed().await {}
            true
        })
        .await
    );
    assert!(provider.requests().is_empty());
}

#[tokio::test]
async fn a_renewed_certificate_is_shown_from_the_next_connection_on() {
    let (provider, folder) = (ok().await, tempfile::tempdir().unwrap());
    let old = certificate(folder.path());
    let gateway = gateway(folder.path(), &provider).await;
    let mut before = connect(gateway.addr(), &old, &[]).await.unwrap();
    assert_eq!(ask(&mut before).await, "HTTP/1.1 200 OK");

    // The files themselves are followed; nobody says anything.
    let new = certificate(folder.path());
    soon(async {
        while connect(gateway.addr(), &new, &[]).await.is_err() {
            tokio::task::yield_now().await;
        }
    })
    .await;
    assert!(connect(gateway.addr(), &old, &[]).await.is_err());
    assert_eq!(ask(&mut before).await, "HTTP/1.1 200 OK", "what was open stays open");
}

#[test]
fn files_that_are_no_certificate_with_its_key_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("hookgate.yaml");
    std::fs::write(&file, "tls: { cert: cert.pem, key: key.pem }").unwrap();
    let problem = || load(Some(&file), &process_env).unwrap_err().to_string();
    assert!(problem().contains(":1:14: tls.cert: "), "{}", problem());
    certificate(folder.path());
    assert!(load(Some(&file), &process_env).is_ok());
    let other = rcgen::generate_simple_self_signed(["localhost".to_owned()]).unwrap();
    std::fs::write(folder.path().join("key.pem"), other.signing_key.serialize_pem()).unwrap();
    assert!(problem().contains(":1:29: tls.key: tls.key is not the key of tls.cert"), "{}", problem());
    std::fs::write(folder.path().join("key.pem"), "no key").unwrap();
    assert!(problem().contains(":1:29: tls.key: "), "{}", problem());
    std::fs::write(folder.path().join("cert.pem"), "").unwrap();
    assert!(problem().contains("tls.cert holds no certificate"), "{}", problem());
}
