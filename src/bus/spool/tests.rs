use super::*;
use crate::bus::{Message, State};
use crate::session::record::SessionKey;
use crate::session::records::Records;
use crate::session::store::testing::Faulty;
use crate::session::store::{MemoryStore, Store};
use std::fs;
use std::os::unix::fs::symlink;
use std::sync::atomic::Ordering;
use std::time::Instant;

const PATIENCE: Duration = Duration::from_secs(30);

fn local() -> Option<Tenant> {
    Some(Tenant("local".into()))
}

fn key(session: &str, agent: &str) -> SessionKey {
    SessionKey { tenant: Tenant("local".into()), id: session.into(), agent: agent.into() }
}

async fn bus() -> Arc<Bus> {
    on(Arc::new(MemoryStore::new())).await
}

async fn on(store: Arc<dyn Store>) -> Arc<Bus> {
    Arc::new(Bus::open(Arc::new(Records::new(store))).await.unwrap())
}

/// A spool, and a sender's way into it.
struct Post {
    dir: tempfile::TempDir,
    bus: Arc<Bus>,
    task: tokio::task::JoinHandle<()>,
}

impl Post {
    async fn start() -> Self {
        Self::start_on(tempfile::tempdir().unwrap(), bus().await)
    }

    fn start_on(dir: tempfile::TempDir, bus: Arc<Bus>) -> Self {
        let task = tokio::spawn(Spool::open(dir.path()).unwrap().run(bus.clone(), local));
        Self { dir, bus, task }
    }

    fn folder(&self, session: &str, agent: &str) -> PathBuf {
        let folder = self.dir.path().join(session).join(agent);
        for sub in ["tmp", "new"] {
            fs::create_dir_all(folder.join(sub)).unwrap();
        }
        folder
    }

    fn put(&self, session: &str, agent: &str, name: &str, content: &str) -> PathBuf {
        let folder = self.folder(session, agent);
        fs::write(folder.join("tmp").join(name), content).unwrap();
        fs::rename(folder.join("tmp").join(name), folder.join("new").join(name)).unwrap();
        folder
    }

    async fn until<T>(&self, mut look: impl AsyncFnMut() -> Option<T>) -> T {
        let looking = async {
            loop {
                if let Some(seen) = look().await {
                    return seen;
                }
                tokio::task::yield_now().await;
            }
        };
        tokio::time::timeout(PATIENCE, looking).await.expect("in time")
    }

    async fn letters(&self, session: &str, agent: &str, count: usize) -> Vec<Message> {
        self.until(async || Some(self.bus.list(&key(session, agent)).await.unwrap()).filter(|all| all.len() == count))
            .await
    }

    fn quarantined(&self) -> Vec<String> {
        let Ok(entries) = fs::read_dir(self.dir.path().join(QUARANTINE)) else { return Vec::new() };
        let mut names: Vec<_> = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }
}

impl Drop for Post {
    fn drop(&mut self) {
        self.task.abort();
    }
}

#[tokio::test]
async fn a_message_is_taken_in_and_moved_to_cur() {
    let post = Post::start().await;
    let folder = post.put("s1", "main", "m1", r#"{"text":"hi","from":"cto","kind":"correction"}"#);
    let letters = post.letters("s1", "main", 1).await;
    assert_eq!((&*letters[0].text, &*letters[0].from, letters[0].verified), ("hi", "cto", false));
    assert_eq!(letters[0].state, State::Queued);
    post.until(async || folder.join("cur/m1:2,S").exists().then_some(())).await;
    assert!(!folder.join("new/m1").exists());
}

#[tokio::test]
async fn ids_are_percent_encoded_and_what_lies_there_at_start_is_taken_in() {
    let dir = tempfile::tempdir().unwrap();
    let new = dir.path().join("a%2Fb%20c/%6Dain/new");
    fs::create_dir_all(&new).unwrap();
    fs::write(new.join("1"), r#"{"text":"hi"}"#).unwrap();
    let post = Post::start_on(dir, bus().await);
    post.letters("a/b c", "main", 1).await;
}

#[tokio::test]
async fn what_is_no_message_goes_to_quarantine() {
    let post = Post::start().await;
    let folder = post.folder("s1", "main");
    let secret = post.dir.path().join("secret");
    fs::write(&secret, r#"{"text":"secret"}"#).unwrap();
    symlink(&secret, folder.join("new/link")).unwrap();
    fs::create_dir(folder.join("new/folder")).unwrap();
    post.put("s1", "main", "broken", "{");
    post.put("s1", "main", "long", &format!(r#"{{"text":"{}"}}"#, "x".repeat(20_000)));
    post.put("s1", "main", "kind", r#"{"text":"x","kind":"shout"}"#);
    post.put("s1", "main", "good", r#"{"text":"good"}"#);
    let names = post.until(async || Some(post.quarantined()).filter(|names| names.len() == 5)).await;
    for (name, expected) in names.iter().zip(["broken.", "folder.", "kind.", "link.", "long."]) {
        assert!(name.starts_with(expected), "{names:?}");
    }
    assert_eq!(post.letters("s1", "main", 1).await[0].text, "good");
    assert!(secret.exists());
}

#[tokio::test]
async fn nothing_is_reached_through_a_folder_that_is_a_link() {
    let post = Post::start().await;
    let outside = tempfile::tempdir().unwrap();
    let new = outside.path().join("new");
    fs::create_dir_all(&new).unwrap();
    fs::write(new.join("m"), r#"{"text":"x"}"#).unwrap();
    fs::create_dir_all(post.dir.path().join("s1")).unwrap();
    symlink(outside.path(), post.dir.path().join("s1/main")).unwrap();
    post.put("s2", "main", "m", r#"{"text":"x"}"#);
    post.letters("s2", "main", 1).await;
    assert!(new.join("m").exists());
    assert_eq!(post.bus.list(&key("s1", "main")).await.unwrap(), []);
}

#[tokio::test]
async fn a_file_that_is_found_again_is_the_same_message() {
    let post = Post::start().await;
    let folder = post.put("s1", "main", "m1", r#"{"text":"hi"}"#);
    post.until(async || folder.join("cur/m1:2,S").exists().then_some(())).await;
    fs::rename(folder.join("cur/m1:2,S"), folder.join("new/m1")).unwrap();
    post.until(async || folder.join("cur/m1:2,S").exists().then_some(())).await;
    assert_eq!(post.letters("s1", "main", 1).await.len(), 1);
}

#[tokio::test]
async fn a_spool_has_one_reader() {
    let dir = tempfile::tempdir().unwrap();
    let first = Spool::open(dir.path()).unwrap();
    assert!(matches!(Spool::open(dir.path()), Err(SpoolError::Locked(_))));
    drop(first);
    assert!(Spool::open(dir.path()).is_ok());
}

/// A spool with these files for `s1/AGENT`, that is not read yet.
fn filled(agent: &str, names: impl Iterator<Item = String>, content: impl Fn(&str) -> String) -> tempfile::TempDir {
    let dir = tempfile::tempdir().unwrap();
    let new = dir.path().join("s1").join(agent).join("new");
    fs::create_dir_all(&new).unwrap();
    names.for_each(|name| fs::write(new.join(&name), content(&name)).unwrap());
    dir
}

#[tokio::test]
async fn messages_keep_their_order_when_the_store_fails_for_a_moment() {
    let store = Arc::new(Faulty::default());
    let bus = on(store.clone()).await;
    store.failing.store(1, Ordering::SeqCst);
    let dir = filled("main", ["1", "2"].map(str::to_owned).into_iter(), |name| format!(r#"{{"text":"{name}"}}"#));
    let post = Post::start_on(dir, bus);
    let letters = post.letters("s1", "main", 2).await;
    assert_eq!(letters.iter().map(|letter| &*letter.text).collect::<Vec<_>>(), ["1", "2"]);
}

#[tokio::test]
async fn a_store_that_is_away_is_not_asked_without_a_pause() {
    let store = Arc::new(Faulty::default());
    let bus = on(store.clone()).await;
    store.down.store(true, Ordering::SeqCst);
    let dir = filled("main", (0..300).map(|n| format!("{n:03}")), |_| r#"{"text":"hi","id":"one"}"#.to_owned());
    let begun = Instant::now();
    let post = Post::start_on(dir, bus);
    let refused = |count| {
        let store = store.clone();
        async move || (store.refused.load(Ordering::SeqCst) >= count).then_some(())
    };
    post.until(refused(2)).await;
    assert!(begun.elapsed() >= POLL / 2, "{:?}", begun.elapsed());
    store.down.store(false, Ordering::SeqCst);
    assert_eq!(post.letters("s1", "main", 1).await[0].text, "hi");
}

#[tokio::test]
async fn a_message_to_several_is_taken_in_when_all_of_them_have_it() {
    let store = Arc::new(Faulty::default());
    let bus = on(store.clone()).await;
    for agent in ["a", "b"] {
        bus.set_label(&key("s1", agent), Some(agent.to_uppercase())).await.unwrap();
    }
    store.failing.store(1, Ordering::SeqCst);
    let dir = filled("*", std::iter::once("m".to_owned()), |_| r#"{"text":"all"}"#.to_owned());
    let cur = dir.path().join("s1/*/cur/m:2,S");
    let post = Post::start_on(dir, bus);
    post.until(async || cur.exists().then_some(())).await;
    for agent in ["a", "b"] {
        assert_eq!(post.bus.list(&key("s1", agent)).await.unwrap().len(), 1, "{agent}");
    }
}

#[test]
fn a_lock_that_is_a_link_is_none() {
    let (dir, outside) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let made = outside.path().join("made");
    symlink(&made, dir.path().join(LOCK)).unwrap();
    assert!(matches!(Spool::open(dir.path()), Err(SpoolError::Io { .. })));
    assert!(!made.exists());
}
