//! The store on a Redis or Valkey server (6.0 and later), which several gateways may share.
//!
//! A hash holds the values and a sorted set the order of the keys; every change is a script, which the server runs as one
//! step. How durable an acknowledged write is, is the server's own setting (`appendonly`, `appendfsync`).
mod feed;
mod link;
mod scripts;

use self::feed::RedisFeed;
use self::link::Link;
use self::scripts::{DATA, FEED, INDEX, LEASE, LIFE, Scripts};
use super::keys::{FORMAT, FORMAT_KEY};
use super::shared::{Feed, Shared};
use super::{Change, Pair, Store, StoreError};
use crate::config::RedisUrl;
use bytes::Bytes;
use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use std::fmt::Write as _;
use std::sync::{Arc, Weak};
use std::time::Duration;

/// How long a process that says nothing is taken for alive: what a kill makes others wait.
const LIFETIME: Duration = Duration::from_secs(10);
/// How often it says that it lives: some of these may get lost.
const HEARTBEAT: Duration = Duration::from_secs(2);
/// How often a server that went away is looked for.
const LOOK_AGAIN: Duration = Duration::from_millis(200);
/// After this a lease is gone even if its process lives: longer than all hooks of a request together may take.
const LONGEST_LEASE: Duration = Duration::from_secs(300);
/// How long a start waits for a server that comes up at the same time.
const START: Duration = Duration::from_secs(15);

/// One connection, used by all at once.
pub struct RedisStore {
    inner: Arc<Inner>,
}

struct Inner {
    url: RedisUrl,
    link: Link,
    scripts: Scripts,
    process: String,
}

impl RedisStore {
    /// Connects, and waits for the server if need be. Runs on a tokio runtime.
    ///
    /// # Errors
    /// [`StoreError::Unavailable`] when nobody answers in time, [`StoreError::Io`] when the server refuses,
    /// [`StoreError::Newer`] if a newer hookgate wrote there.
    pub async fn open(url: &RedisUrl) -> Result<Self, StoreError> {
        let begun = tokio::time::Instant::now();
        let link = loop {
            match Link::open(url, None).await {
                Err(StoreError::Unavailable(error)) if begun.elapsed() < START => {
                    tracing::warn!(url = url.masked(), error, "the store can't be reached yet");
                    tokio::time::sleep(LOOK_AGAIN).await;
                }
                opened => break opened?,
            }
        };
        let inner = Arc::new(Inner { url: url.clone(), link, scripts: Scripts::new(), process: name()? });
        inner.beat().await?;
        let store = Self { inner };
        store.check_format().await?;
        store.warn_of_eviction().await;
        tokio::spawn(keep_alive(Arc::downgrade(&store.inner)));
        Ok(store)
    }

    async fn check_format(&self) -> Result<(), StoreError> {
        self.compare_and_set(FORMAT_KEY, None, Some(Bytes::from_static(FORMAT.as_bytes()))).await?;
        match self.get(FORMAT_KEY).await? {
            Some(format) if format == FORMAT.as_bytes() => Ok(()),
            other => {
                let found = String::from_utf8_lossy(&other.unwrap_or_default()).into_owned();
                Err(StoreError::Newer { found, known: FORMAT })
            }
        }
    }

    /// A server that throws keys away when its memory is full would throw sessions away.
    async fn warn_of_eviction(&self) {
        let mut command = redis::cmd("INFO");
        command.arg("memory");
        // Hosted servers may not allow the question, and a cluster answers for each node.
        let Ok(info) = self.inner.link.ask::<String>(command).await else { return };
        let policy = info.lines().find_map(|line| line.trim().strip_prefix("maxmemory_policy:"));
        if let Some(policy) = policy.filter(|policy| *policy != "noeviction") {
            tracing::warn!(
                policy,
                "the store's server may throw sessions away; set its maxmemory-policy to noeviction"
            );
        }
    }
}

impl Inner {
    async fn beat(&self) -> Result<(), StoreError> {
        let mut command = redis::cmd("SET");
        command.arg(format!("{LIFE}{}", self.process)).arg(1).arg("PX").arg(millis(LIFETIME));
        self.link.probe(command).await
    }

    async fn write(&self, guard: Option<(&[u8], Option<Bytes>)>, batch: Vec<Change>) -> Result<bool, StoreError> {
        let flag = |set: bool| if set { b"1".to_vec() } else { b"0".to_vec() };
        let mut args = Vec::with_capacity(4 + 3 * batch.len());
        args.push(flag(guard.is_some()));
        let (key, expected) = guard.unwrap_or_default();
        args.extend([key.to_vec(), flag(expected.is_some())]);
        args.push(expected.map(Vec::from).unwrap_or_default());
        for (key, value) in batch {
            args.extend([key, flag(value.is_some()), value.map(Vec::from).unwrap_or_default()]);
        }
        self.link.run(&self.scripts.write, &[DATA, INDEX, FEED], args).await
    }
}

fn name() -> Result<String, StoreError> {
    let mut bytes = [0; 8];
    getrandom::fill(&mut bytes).map_err(|error| StoreError::Io(format!("no randomness: {error}")))?;
    Ok(bytes.iter().fold(String::new(), |mut name, byte| {
        // Writing to a string can't fail.
        let _ = write!(name, "{byte:02x}");
        name
    }))
}

fn millis(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}

/// Says that the process lives, and looks for a server that went away, until the store is dropped.
async fn keep_alive(inner: Weak<Inner>) {
    loop {
        let pause = match inner.upgrade() {
            None => return,
            // What goes wrong is told by whoever asks next.
            Some(inner) => match inner.beat().await {
                Ok(()) => HEARTBEAT,
                Err(_) => LOOK_AGAIN,
            },
        };
        tokio::time::sleep(pause).await;
    }
}

impl Store for RedisStore {
    fn get<'a>(&'a self, key: &'a [u8]) -> BoxFuture<'a, Result<Option<Bytes>, StoreError>> {
        let mut command = redis::cmd("HGET");
        command.arg(DATA).arg(key);
        async move { Ok(self.inner.link.ask::<Option<Vec<u8>>>(command).await?.map(Bytes::from)) }.boxed()
    }

    fn compare_and_set<'a>(
        &'a self,
        key: &'a [u8],
        expected: Option<Bytes>,
        new: Option<Bytes>,
    ) -> BoxFuture<'a, Result<bool, StoreError>> {
        self.inner.write(Some((key, expected)), vec![(key.to_vec(), new)]).boxed()
    }

    fn write(&self, batch: Vec<Change>) -> BoxFuture<'_, Result<(), StoreError>> {
        if batch.is_empty() {
            return futures_util::future::ready(Ok(())).boxed();
        }
        self.inner.write(None, batch).map(|written| written.map(drop)).boxed()
    }

    fn scan<'a>(
        &'a self,
        prefix: &'a [u8],
        after: Option<Vec<u8>>,
        limit: usize,
    ) -> BoxFuture<'a, Result<Vec<Pair>, StoreError>> {
        let from = match after {
            Some(key) if key.as_slice() >= prefix => [b"(".as_slice(), &key].concat(),
            _ => [b"[".as_slice(), prefix].concat(),
        };
        let args = vec![from, behind(prefix), limit.to_string().into_bytes()];
        async move {
            let flat: Vec<Vec<u8>> = self.inner.link.run(&self.inner.scripts.scan, &[DATA, INDEX], args).await?;
            let mut flat = flat.into_iter();
            let pairs = std::iter::from_fn(|| Some((flat.next()?, Bytes::from(flat.next()?))));
            Ok(pairs.collect())
        }
        .boxed()
    }

    fn flush(&self) -> BoxFuture<'_, Result<(), StoreError>> {
        futures_util::future::ready(Ok(())).boxed()
    }

    fn shared(&self) -> Option<&dyn Shared> {
        Some(self)
    }
}

/// Where ZRANGEBYLEX stops that has read all keys with this prefix.
fn behind(prefix: &[u8]) -> Vec<u8> {
    let Some(last) = prefix.iter().rposition(|byte| *byte < u8::MAX) else { return b"+".to_vec() };
    let mut end = [b"(".as_slice(), &prefix[..=last]].concat();
    if let Some(byte) = end.last_mut() {
        *byte += 1;
    }
    end
}

impl Shared for RedisStore {
    fn process(&self) -> &str {
        &self.inner.process
    }

    fn is_up(&self) -> bool {
        self.inner.link.is_up()
    }

    fn write_if<'a>(
        &'a self,
        key: &'a [u8],
        expected: Option<Bytes>,
        batch: Vec<Change>,
    ) -> BoxFuture<'a, Result<bool, StoreError>> {
        self.inner.write(Some((key, expected)), batch).boxed()
    }

    fn get_many(&self, keys: Vec<Vec<u8>>) -> BoxFuture<'_, Result<Vec<Option<Bytes>>, StoreError>> {
        if keys.is_empty() {
            return futures_util::future::ready(Ok(Vec::new())).boxed();
        }
        let mut command = redis::cmd("HMGET");
        command.arg(DATA).arg(keys);
        async move {
            let values: Vec<Option<Vec<u8>>> = self.inner.link.ask(command).await?;
            Ok(values.into_iter().map(|value| value.map(Bytes::from)).collect())
        }
        .boxed()
    }

    fn acquire<'a>(&'a self, name: &'a str, holder: &'a str) -> BoxFuture<'a, Result<bool, StoreError>> {
        let lease = format!("{LEASE}{name}");
        let Inner { link, scripts, process, .. } = &*self.inner;
        let args = vec![process.clone().into(), holder.into(), millis(LONGEST_LEASE).to_string().into_bytes()];
        async move { link.run(&scripts.acquire, &[lease.as_bytes(), LIFE.as_bytes()], args).await }.boxed()
    }

    fn release<'a>(&'a self, name: &'a str, holder: &'a str) -> BoxFuture<'a, Result<(), StoreError>> {
        let lease = format!("{LEASE}{name}");
        let Inner { link, scripts, process, .. } = &*self.inner;
        let args = vec![format!("{process}/{holder}").into_bytes()];
        async move { link.run::<i64>(&scripts.release, &[lease.as_bytes()], args).await.map(drop) }.boxed()
    }

    fn lives<'a>(&'a self, process: &'a str) -> BoxFuture<'a, Result<bool, StoreError>> {
        let mut command = redis::cmd("EXISTS");
        command.arg(format!("{LIFE}{process}"));
        self.inner.link.ask(command).boxed()
    }

    fn feed(&self) -> Box<dyn Feed> {
        Box::new(RedisFeed::new(self.inner.url.clone()))
    }
}
