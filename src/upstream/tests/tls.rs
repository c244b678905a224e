//! Upstreams behind TLS, with either version of HTTP.
use super::*;
use bytes::Bytes;
use http_body_util::{BodyExt as _, Full};
use hyper::service::service_fn;
use hyper_util::rt::{TokioExecutor, TokioIo};
use hyper_util::server::conn::auto;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use std::convert::Infallible;
use std::net::SocketAddr;
use std::sync::Arc;
use tokio::net::TcpListener;
use tokio_rustls::TlsAcceptor;

/// Answers with what it was asked.
async fn echo(request: Request<Incoming>) -> Result<Response<Full<Bytes>>, Infallible> {
    let version = request.version();
    let authority = request.uri().authority().map(ToString::to_string);
    let host = request.headers().get(HOST).map(|host| host.to_str().unwrap().to_owned());
    let line = request.uri().path_and_query().unwrap().to_string();
    let headers = request.headers().len();
    let body = request.into_body().collect().await.unwrap().to_bytes();
    let told = format!("{version:?} {authority:?} {host:?} {line} {headers} {body:?}");
    Ok(Response::new(Full::from(told)))
}

/// A server on a free port of localhost, and the certificate that it shows.
async fn serve(protocols: &[&[u8]]) -> (SocketAddr, CertificateDer<'static>) {
    let made = rcgen::generate_simple_self_signed(["localhost".to_owned()]).unwrap();
    let certificate = made.cert.der().clone();
    let key = PrivateKeyDer::try_from(made.signing_key.serialize_der()).unwrap();
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let mut config = rustls::ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(vec![certificate.clone()], key)
        .unwrap();
    config.alpn_protocols = protocols.iter().map(|protocol| protocol.to_vec()).collect();
    let acceptor = TlsAcceptor::from(Arc::new(config));
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let addr = listener.local_addr().unwrap();
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            let acceptor = acceptor.clone();
            tokio::spawn(async move {
                let stream = TokioIo::new(acceptor.accept(stream).await?);
                let server = auto::Builder::new(TokioExecutor::new());
                server.serve_connection(stream, service_fn(echo)).await
            });
        }
    });
    (addr, certificate)
}

async fn ask(addr: SocketAddr, tls: &connect::Tls) -> Result<String, UpstreamError> {
    let base = format!("https://localhost:{}", addr.port());
    let upstream = Upstream::new(&configured(&base, Provider::OpenAi, None), tls).unwrap();
    let body = RequestBody::rope(Rope::from(Bytes::from_static(b"{}")));
    let answer = upstream.send(call("/v1/x?a=1", &[("host", "gateway"), ("te", "trailers")], body)).await?;
    let told = answer.response.into_body().collect().await.unwrap().to_bytes();
    Ok(String::from_utf8_lossy(&told).into_owned())
}

#[tokio::test]
async fn alpn_decides_the_version_and_the_upstream_gets_its_own_name() {
    for (protocols, version) in
        [(&[&b"h2"[..], b"http/1.1"][..], "HTTP/2.0"), (&[b"http/1.1"], "HTTP/1.1"), (&[], "HTTP/1.1")]
    {
        let (addr, certificate) = serve(protocols).await;
        let mut roots = rustls::RootCertStore::empty();
        roots.add(certificate).unwrap();
        let name = format!("localhost:{}", addr.port());
        let (authority, host, headers) = match version {
            // te, x-extra, content-length; `host` stands in `:authority`.
            "HTTP/2.0" => (format!("{:?}", Some(&name)), "None".into(), 3),
            _ => ("None".into(), format!("{:?}", Some(&name)), 4),
        };
        let told = ask(addr, &connect::Tls::trusting(roots)).await.unwrap();
        assert_eq!(told, format!("{version} {authority} {host} /v1/x?a=1 {headers} b\"{{}}\""));
    }
}

#[tokio::test]
async fn a_certificate_that_nobody_vouches_for_is_refused() {
    let (addr, _) = serve(&[b"http/1.1"]).await;
    let error = ask(addr, &connect::Tls::new().unwrap()).await.unwrap_err();
    assert!(matches!(error, UpstreamError::Unreachable(_)), "{error}");
}

#[tokio::test]
async fn the_connect_timeout_covers_the_tls_handshake() {
    let silent = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let error = ask(silent.local_addr().unwrap(), &connect::Tls::new().unwrap()).await.unwrap_err();
    let UpstreamError::Unreachable(told) = error else { panic!("{error}") };
    assert!(told.contains("not connected within"), "{told}");
}
