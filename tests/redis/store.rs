//! The store itself: what every store does, and what several processes need of it.
use crate::server::{Kind, Server};
use crate::support::soon;
use bytes::Bytes;
use futures_util::future::join_all;
use hookgate::context::Digest;
use hookgate::session::leases::Leases;
use hookgate::session::store::shared::{News, Shared};
use hookgate::session::store::{RedisStore, SECRET_LEN, Store, keys, secret};
use std::sync::Arc;
use std::time::Duration;
use tokio::time::Instant;

#[path = "../../src/session/store/conformance.rs"]
mod conformance;

async fn open(server: &Server) -> Arc<RedisStore> {
    Arc::new(soon(RedisStore::open(&server.address())).await.unwrap())
}

fn b(text: &'static str) -> Bytes {
    Bytes::from_static(text.as_bytes())
}

#[tokio::test]
async fn it_does_what_every_store_does() {
    let Some(server) = Server::start("it_does_what_every_store_does").await else { return };
    let store = open(&server).await;
    conformance::conforms(store.as_ref()).await;
    let binary: Vec<u8> = (0..=255).collect();
    let value = Some(Bytes::from(binary.clone()));
    assert_eq!(store.compare_and_set(&binary, None, value.clone()).await, Ok(true));
    assert_eq!(open(&server).await.get(&binary).await, Ok(value));
    let last = [0xff, 0xff, 1];
    store.write(vec![(last.to_vec(), Some(b("v")))]).await.unwrap();
    assert_eq!(store.scan(&[0xff, 0xff], None, 9).await.unwrap().len(), 1);
}

#[tokio::test]
async fn it_does_so_in_a_cluster() {
    let Some(server) = Server::start_as("it_does_so_in_a_cluster", Kind::Cluster).await else { return };
    let store = open(&server).await;
    conformance::conforms(store.as_ref()).await;
    assert_eq!(store.acquire("l", "1").await, Ok(true));
    let mut feed = store.feed();
    assert_eq!(soon(feed.next()).await, News::Missed);
    let knowledge = keys::knowledge(None, "a");
    store.write(vec![(knowledge.clone(), Some(b("v")))]).await.unwrap();
    assert_eq!(soon(feed.next()).await, News::Changed(vec![knowledge]));
}

#[tokio::test]
async fn tls_trusts_the_certificates_of_the_system() {
    let test = "tls_trusts_the_certificates_of_the_system";
    let Some(server) = Server::start_as(test, Kind::Tls).await else { return };
    let folder = tempfile::tempdir().unwrap();
    let config = folder.path().join("hookgate.yaml");
    std::fs::write(&config, format!("store: {{ kind: redis, url: '{}' }}", server.url())).unwrap();
    let verify = || {
        let mut command = std::process::Command::new(env!("CARGO_BIN_EXE_hookgate"));
        command.args(["store", "verify", "--config"]).arg(&config);
        command
    };
    let trusted = verify().env("SSL_CERT_FILE", server.certificate()).output().unwrap();
    assert!(trusted.status.success(), "{}", String::from_utf8_lossy(&trusted.stderr));
    let other = folder.path().join("none.pem");
    std::fs::write(&other, "").unwrap();
    assert!(!verify().env("SSL_CERT_FILE", other).env_remove("SSL_CERT_DIR").output().unwrap().status.success());
}

#[tokio::test]
async fn a_guarded_batch_is_written_whole_or_not_at_all() {
    let Some(server) = Server::start("a_guarded_batch_is_written_whole_or_not_at_all").await else { return };
    let (one, other) = (open(&server).await, open(&server).await);
    let batch = |value: &'static str| vec![(b"k".to_vec(), Some(b(value))), (b"x".to_vec(), Some(b(value)))];
    assert_eq!(one.write_if(b"k", None, batch("1")).await, Ok(true));
    assert_eq!(other.write_if(b"k", None, batch("2")).await, Ok(false));
    assert_eq!(other.write_if(b"k", Some(b("2")), batch("3")).await, Ok(false));
    assert_eq!(other.write_if(b"k", Some(b("1")), batch("4")).await, Ok(true));
    let keys = ["k", "none", "x"].map(|key| key.as_bytes().to_vec()).to_vec();
    assert_eq!(one.get_many(keys).await, Ok(vec![Some(b("4")), None, Some(b("4"))]));
}

#[tokio::test]
async fn a_lease_has_one_holder_until_it_is_given_back() {
    let Some(server) = Server::start("a_lease_has_one_holder_until_it_is_given_back").await else { return };
    let (one, other) = (open(&server).await, open(&server).await);
    assert_eq!(one.acquire("l", "1").await, Ok(true));
    assert_eq!((one.acquire("l", "2").await, other.acquire("l", "1").await), (Ok(false), Ok(false)));
    other.release("l", "1").await.unwrap();
    assert_eq!(other.acquire("l", "1").await, Ok(false), "only its holder gives it back");
    one.release("l", "1").await.unwrap();
    assert_eq!(other.acquire("l", "1").await, Ok(true));
    assert_eq!((one.lives(other.process()).await, one.lives("nobody").await), (Ok(true), Ok(false)));
}

#[tokio::test(flavor = "multi_thread")]
async fn holders_of_a_lease_in_two_processes_never_overlap() {
    const ROUNDS: usize = 40;
    let Some(server) = Server::start("holders_of_a_lease_in_two_processes_never_overlap").await else { return };
    let store = open(&server).await;
    let processes = [Leases::new(store.clone()), Leases::new(open(&server).await)].map(Arc::new);
    let name = Digest::of(&[b"session"]);
    let tasks = (0..8).map(|n| {
        let (leases, store) = (processes[n % 2].clone(), store.clone());
        tokio::spawn(async move {
            for _ in 0..ROUNDS {
                let lease = leases.take(name, Instant::now() + Duration::from_secs(60)).await;
                // Read and written apart: an update is lost where two are here at once.
                let count =
                    store.get(b"count").await.unwrap().map_or(0, |b| std::str::from_utf8(&b).unwrap().parse().unwrap());
                let next: usize = count + 1;
                store.write(vec![(b"count".to_vec(), Some(Bytes::from(next.to_string())))]).await.unwrap();
                drop(lease);
            }
        })
    });
    for task in join_all(tasks).await {
        task.unwrap();
    }
    assert_eq!(store.get(b"count").await, Ok(Some(Bytes::from((8 * ROUNDS).to_string()))));
}

#[tokio::test]
async fn changes_of_mailboxes_and_knowledge_are_told_in_order() {
    let Some(server) = Server::start("changes_of_mailboxes_and_knowledge_are_told_in_order").await else { return };
    let (one, other) = (open(&server).await, open(&server).await);
    let mut feed = one.feed();
    assert_eq!(soon(feed.next()).await, News::Missed, "what was before is to be read");
    let knowledge = keys::knowledge(None, "a");
    other.write(vec![(b"1/r/quiet".to_vec(), Some(b("v"))), (knowledge.clone(), Some(b("v")))]).await.unwrap();
    assert_eq!(soon(feed.next()).await, News::Changed(vec![knowledge.clone()]));
    other.write(vec![(knowledge.clone(), None)]).await.unwrap();
    assert_eq!(soon(feed.next()).await, News::Changed(vec![knowledge]));
}
