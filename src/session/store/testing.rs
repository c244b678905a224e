//! A store that fails when a test says so, alone or shared with other processes.
use super::shared::{Feed, News, Shared};
use super::{Change, MemoryStore, Pair, Store, StoreError};
use bytes::Bytes;
use futures_util::FutureExt;
use futures_util::future::{BoxFuture, pending, ready};
use parking_lot::Mutex;
use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};

/// A view of what others may see as well.
#[derive(Default)]
pub(crate) struct Faulty {
    /// What is stored.
    pub(crate) inner: Arc<MemoryStore>,
    /// Nothing is answered.
    pub(crate) down: AtomicBool,
    /// So many writes to come fail.
    pub(crate) failing: AtomicUsize,
    /// So many writes to come are made, but nobody is told so.
    pub(crate) mute: AtomicUsize,
    /// What was not answered.
    pub(crate) refused: AtomicUsize,
    /// Leases by name.
    pub(crate) leases: Mutex<HashMap<String, String>>,
    others: Option<Feeds>,
}

struct Feeds {
    news: UnboundedSender<News>,
    feed: Mutex<Option<UnboundedReceiver<News>>>,
}

impl Faulty {
    /// One that other processes write to, too.
    pub(crate) fn shared(inner: Arc<MemoryStore>) -> Self {
        let (news, feed) = unbounded_channel();
        Self { inner, others: Some(Feeds { news, feed: Mutex::new(Some(feed)) }), ..Self::default() }
    }

    /// The feed says this next.
    pub(crate) fn tell(&self, news: News) {
        self.others.as_ref().unwrap().news.send(news).unwrap();
    }

    fn fails<T>(&self) -> Option<Result<T, StoreError>> {
        self.down.load(Ordering::SeqCst).then(|| self.refuse())
    }

    fn write_fails<T>(&self) -> Option<Result<T, StoreError>> {
        self.fails().or_else(|| take_one(&self.failing).then(|| self.refuse()))
    }

    fn refuse<T>(&self) -> Result<T, StoreError> {
        self.refused.fetch_add(1, Ordering::SeqCst);
        Err(StoreError::Unavailable("asked for by a test".into()))
    }

    fn told<'a, T: Send + 'a>(
        &'a self,
        done: BoxFuture<'a, Result<T, StoreError>>,
    ) -> BoxFuture<'a, Result<T, StoreError>> {
        async move {
            let done = done.await;
            if take_one(&self.mute) { self.refuse() } else { done }
        }
        .boxed()
    }
}

fn take_one(count: &AtomicUsize) -> bool {
    count.fetch_update(Ordering::SeqCst, Ordering::SeqCst, |left| left.checked_sub(1)).is_ok()
}

impl Store for Faulty {
    fn get<'a>(&'a self, key: &'a [u8]) -> BoxFuture<'a, Result<Option<Bytes>, StoreError>> {
        self.fails().map_or_else(|| self.inner.get(key), |failed| ready(failed).boxed())
    }

    fn compare_and_set<'a>(
        &'a self,
        key: &'a [u8],
        expected: Option<Bytes>,
        new: Option<Bytes>,
    ) -> BoxFuture<'a, Result<bool, StoreError>> {
        match self.write_fails() {
            Some(failed) => ready(failed).boxed(),
            None => self.told(self.inner.compare_and_set(key, expected, new)),
        }
    }

    fn write(&self, batch: Vec<Change>) -> BoxFuture<'_, Result<(), StoreError>> {
        match self.write_fails() {
            Some(failed) => ready(failed).boxed(),
            None => self.told(self.inner.write(batch)),
        }
    }

    fn scan<'a>(
        &'a self,
        prefix: &'a [u8],
        after: Option<Vec<u8>>,
        limit: usize,
    ) -> BoxFuture<'a, Result<Vec<Pair>, StoreError>> {
        self.fails().map_or_else(|| self.inner.scan(prefix, after, limit), |failed| ready(failed).boxed())
    }

    fn flush(&self) -> BoxFuture<'_, Result<(), StoreError>> {
        self.inner.flush()
    }

    fn shared(&self) -> Option<&dyn Shared> {
        self.others.is_some().then_some(self as &dyn Shared)
    }
}

impl Shared for Faulty {
    fn process(&self) -> &str {
        "here"
    }

    fn is_up(&self) -> bool {
        !self.down.load(Ordering::SeqCst)
    }

    fn write_if<'a>(
        &'a self,
        key: &'a [u8],
        expected: Option<Bytes>,
        batch: Vec<Change>,
    ) -> BoxFuture<'a, Result<bool, StoreError>> {
        if let Some(failed) = self.write_fails() {
            return ready(failed).boxed();
        }
        self.told(
            async move {
                let holds = self.inner.get(key).await? == expected;
                if holds {
                    self.inner.write(batch).await?;
                }
                Ok(holds)
            }
            .boxed(),
        )
    }

    fn get_many(&self, keys: Vec<Vec<u8>>) -> BoxFuture<'_, Result<Vec<Option<Bytes>>, StoreError>> {
        async move {
            let mut values = Vec::new();
            for key in &keys {
                values.push(self.get(key).await?);
            }
            Ok(values)
        }
        .boxed()
    }

    fn acquire<'a>(&'a self, name: &'a str, holder: &'a str) -> BoxFuture<'a, Result<bool, StoreError>> {
        if let Some(failed) = self.fails() {
            return ready(failed).boxed();
        }
        let mut leases = self.leases.lock();
        let is_free = !leases.contains_key(name);
        if is_free {
            leases.insert(name.to_owned(), holder.to_owned());
        }
        ready(Ok(is_free)).boxed()
    }

    fn release<'a>(&'a self, name: &'a str, holder: &'a str) -> BoxFuture<'a, Result<(), StoreError>> {
        if let Some(failed) = self.fails() {
            return ready(failed).boxed();
        }
        let mut leases = self.leases.lock();
        if leases.get(name).is_some_and(|held| held == holder) {
            leases.remove(name);
        }
        ready(Ok(())).boxed()
    }

    fn lives<'a>(&'a self, _: &'a str) -> BoxFuture<'a, Result<bool, StoreError>> {
        ready(Ok(true)).boxed()
    }

    fn feed(&self) -> Box<dyn Feed> {
        Box::new(Told(self.others.as_ref().and_then(|others| others.feed.lock().take())))
    }
}

struct Told(Option<UnboundedReceiver<News>>);

impl Feed for Told {
    fn next(&mut self) -> BoxFuture<'_, News> {
        async move {
            match &mut self.0 {
                Some(news) => match news.recv().await {
                    Some(news) => news,
                    None => pending().await,
                },
                None => pending().await,
            }
        }
        .boxed()
    }
}
