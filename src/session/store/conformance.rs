//! What every store does, run against each of them.
use super::{SECRET_LEN, Store, secret};
use bytes::Bytes;
use futures_util::future::join_all;

fn b(text: &'static str) -> Bytes {
    Bytes::from_static(text.as_bytes())
}

/// Runs the whole suite on an empty store.
pub(super) async fn conforms(store: &dyn Store) {
    a_value_is_set_only_over_the_expected_one(store).await;
    a_batch_sets_and_removes(store).await;
    a_scan_is_ordered_and_pages(store).await;
    one_of_many_concurrent_writers_wins(store).await;
    the_secret_is_made_once(store).await;
    assert_eq!(store.flush().await, Ok(()));
}

async fn a_value_is_set_only_over_the_expected_one(store: &dyn Store) {
    assert_eq!(store.get(b"cas").await, Ok(None));
    assert_eq!(store.compare_and_set(b"cas", Some(b("x")), Some(b("y"))).await, Ok(false), "absent is not x");
    assert_eq!(store.compare_and_set(b"cas", None, Some(b("1"))).await, Ok(true));
    assert_eq!(store.compare_and_set(b"cas", None, Some(b("2"))).await, Ok(false), "present is not absent");
    assert_eq!(store.compare_and_set(b"cas", Some(b("1")), Some(b("2"))).await, Ok(true));
    assert_eq!(store.get(b"cas").await, Ok(Some(b("2"))));
    assert_eq!(store.compare_and_set(b"cas", Some(b("2")), None).await, Ok(true));
    assert_eq!(store.get(b"cas").await, Ok(None));
}

async fn a_batch_sets_and_removes(store: &dyn Store) {
    let set = vec![(b"batch/1".to_vec(), Some(b("a"))), (b"batch/2".to_vec(), Some(b("b")))];
    assert_eq!(store.write(set).await, Ok(()));
    let change = vec![(b"batch/1".to_vec(), None), (b"batch/3".to_vec(), Some(Bytes::new()))];
    assert_eq!(store.write(change).await, Ok(()));
    let left = store.scan(b"batch/", None, 10).await.unwrap();
    assert_eq!(left, [(b"batch/2".to_vec(), b("b")), (b"batch/3".to_vec(), Bytes::new())]);
}

async fn a_scan_is_ordered_and_pages(store: &dyn Store) {
    let keys: Vec<Vec<u8>> = (0..5u8).map(|n| [b"scan/".as_slice(), &[n]].concat()).collect();
    let outside = [b"scam".to_vec(), b"scan0".to_vec()];
    store.write(keys.iter().rev().chain(&outside).map(|k| (k.clone(), Some(b("v")))).collect()).await.unwrap();
    let mut seen = Vec::new();
    loop {
        let page = store.scan(b"scan/", seen.last().cloned(), 2).await.unwrap();
        assert!(page.len() <= 2);
        if page.is_empty() {
            break;
        }
        seen.extend(page.into_iter().map(|(key, _)| key));
    }
    assert_eq!(seen, keys);
    let before_the_prefix = store.scan(b"scan/", Some(b"a".to_vec()), 9).await.unwrap();
    assert_eq!(before_the_prefix.len(), keys.len());
    assert_eq!(store.scan(b"scan/", Some(b"z".to_vec()), 9).await, Ok(vec![]));
    assert_eq!(store.scan(b"scan/", None, 0).await, Ok(vec![]));
}

async fn one_of_many_concurrent_writers_wins(store: &dyn Store) {
    const WRITERS: u8 = 16;
    let won = join_all((0..WRITERS).map(|n| store.compare_and_set(b"race", None, Some(Bytes::from(vec![n]))))).await;
    let winners: Vec<u8> = (0..WRITERS).filter(|n| won[usize::from(*n)] == Ok(true)).collect();
    assert_eq!(winners.len(), 1);
    assert_eq!(store.get(b"race").await, Ok(Some(Bytes::from(winners))));
}

async fn the_secret_is_made_once(store: &dyn Store) {
    let (one, two) = (secret(store).await.unwrap(), secret(store).await.unwrap());
    assert_eq!(one, two);
    assert_ne!(one, [0; SECRET_LEN]);
}
