use super::*;
use crate::config::{Config, Listen, Source, parse};
use std::net::SocketAddr;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

/// A listener that answers with the address that it takes its visitor for.
async fn tell(text: &str) -> (SocketAddr, Shutdown) {
    let config: Config = parse(text, Source::Program, &|_| None).unwrap().config;
    let listener = Listener::bind(&Listen::Tcp(([127, 0, 0, 1], 0).into())).await.unwrap();
    let addr = listener.addr().unwrap().unwrap();
    let entrance = Entrance::new(Places::of(&config.limits), Door::new(&config).unwrap());
    let app = |visitor: Visitor| {
        tower::service_fn(move |_: Request| async move {
            Ok::<_, Infallible>(Response::new(Body::from(format!("<{:?}>", visitor.client))))
        })
    };
    let shutdown = Shutdown::default();
    tokio::spawn(serve(listener, app, entrance, shutdown.clone()));
    (addr, shutdown)
}

async fn told(addr: SocketAddr, before: &str) -> String {
    let mut stream = TcpStream::connect(addr).await.unwrap();
    let request = format!("{before}GET / HTTP/1.1\r\nhost: g\r\nconnection: close\r\n\r\n");
    stream.write_all(request.as_bytes()).await.unwrap();
    let mut read = String::new();
    stream.read_to_string(&mut read).await.unwrap();
    read.split_once('<').map(|(_, rest)| rest.trim_end_matches('>').to_owned()).unwrap_or_default()
}

#[tokio::test]
async fn a_client_is_whom_a_trusted_proxy_says_else_who_connects() {
    let (direct, _shutdown) = tell("").await;
    assert_eq!(told(direct, "").await, "Some(127.0.0.1)");
    let (proxied, _shutdown) = tell("trust: { proxy_protocol: [127.0.0.1] }").await;
    let table = [
        ("PROXY TCP4 10.0.0.1 127.0.0.1 4096 8192\r\n", "Some(10.0.0.1)"),
        ("PROXY TCP6 ::ffff:10.0.0.2 ::1 4096 8192\r\n", "Some(10.0.0.2)"),
        ("PROXY UNKNOWN\r\n", "Some(127.0.0.1)"),
    ];
    for (before, client) in table {
        assert_eq!(told(proxied, before).await, client, "{before}");
    }
}

#[tokio::test(start_paused = true)]
async fn who_comes_into_a_crowd_and_says_nothing_is_soon_sent_away() {
    let listener = Listener::bind(&Listen::Tcp(([127, 0, 0, 1], 0).into())).await.unwrap();
    let addr = listener.addr().unwrap().unwrap();
    let entrance = Entrance::new(Places::new(0), Door::plain(&Config::default().limits));
    let app = |_| tower::service_fn(async |_: Request| Ok::<_, Infallible>(Response::new(Body::empty())));
    tokio::spawn(serve(listener, app, entrance, Shutdown::default()));
    let mut stream = TcpStream::connect(addr).await.unwrap();
    let since = Instant::now();
    assert_eq!(stream.read(&mut [0]).await.unwrap_or_default(), 0, "closed");
    assert!(since.elapsed() <= 2 * CROWDED_TIMEOUT, "{:?}", since.elapsed());
}
