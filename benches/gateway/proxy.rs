//! The floor: hyper's server and client with nothing between them.
use hyper::body::Incoming;
use hyper::header::{HOST, HeaderValue};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Request, Response, Uri};
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::client::legacy::{Client, Error};
use hyper_util::rt::{TokioExecutor, TokioIo};
use tokio::net::TcpListener;

/// Serves until the process ends.
pub(crate) async fn run(port: u16, upstream: u16) {
    let listener = TcpListener::bind(("127.0.0.1", port)).await.expect("the port");
    let mut connector = HttpConnector::new();
    connector.set_nodelay(true);
    let client: Client<HttpConnector, Incoming> = Client::builder(TokioExecutor::new()).build(connector);
    loop {
        let (stream, _) = listener.accept().await.expect("a connection");
        stream.set_nodelay(true).expect("no delay");
        let client = client.clone();
        let service = service_fn(move |request| pass(client.clone(), upstream, request));
        tokio::spawn(http1::Builder::new().serve_connection(TokioIo::new(stream), service));
    }
}

async fn pass(
    client: Client<HttpConnector, Incoming>,
    upstream: u16,
    mut request: Request<Incoming>,
) -> Result<Response<Incoming>, Error> {
    let host = format!("127.0.0.1:{upstream}");
    let line = request.uri().path_and_query().expect("a path").clone();
    *request.uri_mut() =
        Uri::builder().scheme("http").authority(host.as_str()).path_and_query(line).build().expect("a uri");
    request.headers_mut().insert(HOST, HeaderValue::from_str(&host).expect("a host"));
    client.request(request).await
}
