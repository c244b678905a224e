//! What the store acknowledged survives `kill -9`, and a full disk does not outlive itself. The process that
//! is killed is this test binary, run again.
#![allow(clippy::unwrap_used, reason = "a test")]
use bytes::Bytes;
use hookgate::session::store::{SledStore, Store, StoreError};
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

/// Where the child finds its store; unset in an ordinary run.
const STORE: &str = "HOOKGATE_TEST_STORE";
/// Counters that the child writes at the same time.
const WRITERS: usize = 8;
const ROUNDS: usize = 12;

fn child(name: &str, store: &Path) -> Command {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["--exact", name, "--nocapture", "--ignored"]).env(STORE, store).stdout(Stdio::piped());
    command
}

async fn counter(store: &SledStore, writer: usize) -> u64 {
    let value = store.get(format!("counter/{writer}").as_bytes()).await.unwrap();
    value.map_or(0, |bytes| String::from_utf8(bytes.to_vec()).unwrap().parse().unwrap())
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "the child of the next test"]
async fn writes_until_it_is_killed() {
    let Ok(path) = std::env::var(STORE) else { return };
    let store = SledStore::open(Path::new(&path)).await.unwrap();
    let write = async |writer: usize| {
        let mut count = counter(&store, writer).await;
        loop {
            count += 1;
            let value = Bytes::from(count.to_string());
            store.write(vec![(format!("counter/{writer}").into_bytes(), Some(value))]).await.unwrap();
            let mut out = std::io::stdout().lock();
            writeln!(out, "ack {writer} {count}").unwrap();
            out.flush().unwrap();
        }
    };
    futures_util::future::join_all((0..WRITERS).map(write)).await;
}

/// Reads acknowledgements until `enough` came, kills the child, and reads what it still had said.
fn acknowledged(mut child: Child, enough: usize) -> [u64; WRITERS] {
    let mut highest = [0; WRITERS];
    let lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let mut seen = 0;
    for line in lines.map_while(Result::ok) {
        let mut words = line.split(' ');
        if words.next() != Some("ack") {
            continue;
        }
        let mut number = || words.next().and_then(|word| word.parse::<u64>().ok());
        // The last line may be cut.
        let (Some(writer), Some(count)) = (number(), number()) else { continue };
        let slot = &mut highest[usize::try_from(writer).unwrap()];
        *slot = count.max(*slot);
        seen += 1;
        if seen == enough {
            child.kill().unwrap();
        }
    }
    child.wait().unwrap();
    highest
}

#[tokio::test]
async fn i9_what_was_acknowledged_survives_kill_9() {
    let folder = tempfile::tempdir().unwrap();
    for round in 0..ROUNDS {
        // Odd numbers of acknowledgements fall into the middle of groups.
        let enough = 1 + round * 37;
        let highest = acknowledged(child("writes_until_it_is_killed", folder.path()).spawn().unwrap(), enough);
        let store = SledStore::open(folder.path()).await.unwrap();
        for (writer, acknowledged) in highest.into_iter().enumerate() {
            let stored = counter(&store, writer).await;
            assert!(stored >= acknowledged, "round {round}: {writer} was told {acknowledged}, {stored} is there");
        }
        close(store, folder.path()).await;
    }
    let names = std::fs::read_dir(folder.path()).unwrap().map(|e| e.unwrap().file_name());
    assert!(!names.into_iter().any(|n| n.to_string_lossy().contains("broken")), "a kill is no damage");
}

/// The store closes in the background: waits until its lock is free.
async fn close(store: SledStore, path: &Path) {
    drop(store);
    let lock = std::fs::File::open(path.join("lock")).unwrap();
    while lock.try_lock().is_err() {
        tokio::task::yield_now().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "the child of the next test"]
async fn meets_a_full_disk() {
    use nix::sys::resource::{Resource, getrlimit, setrlimit};
    /// More than one of sled's segments, so that the log has to grow.
    const VALUE: usize = 100_000;
    let Ok(path) = std::env::var(STORE) else { return };
    let store = SledStore::open(Path::new(&path)).await.unwrap();
    let put = async |n: u64| {
        let value = Bytes::from(vec![u8::try_from(n % 251).unwrap(); VALUE]);
        store.write(vec![(n.to_be_bytes().to_vec(), Some(value))]).await
    };
    let mut written = 0;
    let error = loop {
        match put(written).await {
            Ok(()) => written += 1,
            Err(error) => break error,
        }
        assert!(written < 10_000, "the limit was never met");
    };
    assert!(matches!(error, StoreError::Io(_) | StoreError::Corrupt(_) | StoreError::Panicked), "{error:?}");
    let (_, hard) = getrlimit(Resource::RLIMIT_FSIZE).unwrap();
    setrlimit(Resource::RLIMIT_FSIZE, hard, hard).unwrap();
    // There is room again: within a few tries writes and reads work.
    let mut tries = 0;
    while let Err(error) = put(written).await {
        tries += 1;
        assert!(tries < 50, "still {error}");
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    for n in 0..=written {
        let value = store.get(&n.to_be_bytes()).await.unwrap();
        assert_eq!(value.map(|v| v.len()), Some(VALUE), "{n} of {written}");
    }
    println!("survived {written}");
}

#[test]
fn a_full_disk_is_an_error_and_goes_away() {
    let folder = tempfile::tempdir().unwrap();
    let inner = child("meets_a_full_disk", folder.path());
    // A limit on the file size stands in for the disk: in blocks of 512 bytes, and without the signal that comes with it.
    let mut command = Command::new("sh");
    command.args(["-c", r#"trap "" XFSZ; ulimit -S -f 8192; exec "$@""#, "sh"]).arg(inner.get_program());
    command.args(inner.get_args()).env(STORE, folder.path());
    let output = command.output().unwrap();
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(said.contains("survived"), "{said}\n{}", String::from_utf8_lossy(&output.stderr));
}
