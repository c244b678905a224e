use super::*;
use std::fs;
use std::os::unix::fs::PermissionsExt as _;

const KEY: &[u8] = b"k";

async fn reopened(path: &Path) -> SledStore {
    // The committer closes the old one in the background.
    loop {
        match SledStore::open(path).await {
            Err(StoreError::Locked { .. }) => tokio::task::yield_now().await,
            other => return other.unwrap(),
        }
    }
}

#[tokio::test]
async fn conforms() {
    let folder = tempfile::tempdir().unwrap();
    super::super::conformance::conforms(&SledStore::open(folder.path()).await.unwrap()).await;
}

#[tokio::test]
async fn what_was_written_is_there_after_reopening() {
    let folder = tempfile::tempdir().unwrap();
    let store = SledStore::open(folder.path()).await.unwrap();
    assert_eq!(store.compare_and_set(KEY, None, Some(Bytes::from_static(b"v"))).await, Ok(true));
    drop(store);
    assert_eq!(reopened(folder.path()).await.get(KEY).await, Ok(Some(Bytes::from_static(b"v"))));
}

#[tokio::test]
async fn a_folder_that_is_made_is_its_users_alone() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("data");
    let _store = SledStore::open(&path).await.unwrap();
    assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, OWN);
}

#[tokio::test]
async fn a_second_opening_says_that_the_store_is_in_use() {
    let folder = tempfile::tempdir().unwrap();
    let _first = SledStore::open(folder.path()).await.unwrap();
    let second = SledStore::open(folder.path()).await;
    assert!(matches!(second, Err(StoreError::Locked { .. })));
}

#[tokio::test]
async fn concurrent_writes_share_flushes() {
    const WRITES: usize = 2000;
    let folder = tempfile::tempdir().unwrap();
    let store = SledStore::open(folder.path()).await.unwrap();
    let started = std::time::Instant::now();
    let writes = (0..WRITES).map(|n| store.write(vec![(n.to_be_bytes().to_vec(), Some(Bytes::from_static(b"v")))]));
    let results = futures_util::future::join_all(writes).await;
    println!("{WRITES} acknowledged writes in {:?}", started.elapsed());
    assert!(results.iter().all(Result::is_ok));
}

#[tokio::test]
async fn a_store_of_a_newer_format_is_refused_and_left_alone() {
    let folder = tempfile::tempdir().unwrap();
    let store = SledStore::open(folder.path()).await.unwrap();
    store.write(vec![(b"format".to_vec(), Some(Bytes::from_static(b"2")))]).await.unwrap();
    drop(store);
    let error = loop {
        match SledStore::open(folder.path()).await {
            Err(StoreError::Locked { .. }) => tokio::task::yield_now().await,
            Err(error) => break error,
            Ok(_) => panic!("opened a newer format"),
        }
    };
    assert_eq!(error, StoreError::Newer { found: "2".into(), known: "1" });
    assert!(!has_broken(folder.path()));
}

fn has_broken(path: &Path) -> bool {
    fs::read_dir(path).unwrap().any(|e| e.unwrap().file_name().to_string_lossy().starts_with("sled.broken-"))
}

/// Each way to damage the files of a closed store.
type Damage = fn(&Path);

#[tokio::test]
async fn a_damaged_store_is_moved_aside_and_an_empty_one_begins() {
    let damages: [(&str, Damage); 5] = [
        ("garbage in db", |sled| fs::write(sled.join("db"), vec![0xA5; 700_000]).unwrap()),
        ("zeros in db", |sled| fs::write(sled.join("db"), vec![0; 700_000]).unwrap()),
        ("empty db", |sled| fs::write(sled.join("db"), b"").unwrap()),
        ("garbage in conf", |sled| fs::write(sled.join("conf"), b"this is not a configuration of sled").unwrap()),
        ("db is a folder", |sled| {
            fs::remove_file(sled.join("db")).unwrap();
            fs::create_dir(sled.join("db")).unwrap();
        }),
    ];
    for (what, damage) in damages {
        let folder = tempfile::tempdir().unwrap();
        let store = SledStore::open(folder.path()).await.unwrap();
        store.write(vec![(KEY.to_vec(), Some(Bytes::from_static(b"v")))]).await.unwrap();
        drop(store);
        drop(reopened(folder.path()).await);
        let closed = loop {
            if let Ok(lock) = lock(folder.path()) {
                break lock;
            }
            tokio::task::yield_now().await;
        };
        damage(&folder.path().join("sled"));
        drop(closed);
        let store = SledStore::open(folder.path()).await.unwrap_or_else(|e| panic!("{what}: {e}"));
        assert!(has_broken(folder.path()), "{what}: nothing was moved aside");
        assert_eq!(store.get(KEY).await, Ok(None), "{what}");
        assert_eq!(store.compare_and_set(KEY, None, Some(Bytes::new())).await, Ok(true), "{what}");
    }
}
