//! Follows the stream of changed keys, on a connection of its own, since its command blocks.
use super::link::Link;
use super::scripts::FEED;
use crate::config::RedisUrl;
use crate::session::store::StoreError;
use crate::session::store::shared::{Feed, News};
use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use std::time::Duration;

/// How long the server keeps a question that has no answer yet.
const BLOCK: Duration = Duration::from_secs(2);
/// How long to wait for that.
const PATIENCE: Duration = Duration::from_secs(5);
/// Changes that are read at once.
const BATCH: usize = 512;
/// How often a server that went away is looked for.
const LOOK_AGAIN: Duration = Duration::from_millis(250);
/// Before everything.
const FIRST: &str = "0-0";

/// An entry of the stream: its id, names and values.
type Entry = (String, Vec<Vec<u8>>);

pub(super) struct RedisFeed {
    url: RedisUrl,
    at: Option<(Link, String)>,
}

impl RedisFeed {
    pub(super) fn new(url: RedisUrl) -> Self {
        Self { url, at: None }
    }

    /// A connection, and where the stream ends now.
    async fn begin(&self) -> Result<(Link, String), StoreError> {
        let link = Link::open(&self.url, Some(PATIENCE)).await?;
        let mut command = redis::cmd("XREVRANGE");
        command.arg(FEED).arg("+").arg("-").arg("COUNT").arg(1);
        let newest: Vec<Entry> = link.wait(command).await?;
        let at = newest.into_iter().next().map_or_else(|| FIRST.to_owned(), |(id, _)| id);
        Ok((link, at))
    }
}

impl Feed for RedisFeed {
    fn next(&mut self) -> BoxFuture<'_, News> {
        async move {
            loop {
                let Some((link, at)) = &mut self.at else {
                    match self.begin().await {
                        Ok(begun) => {
                            self.at = Some(begun);
                            return News::Missed;
                        }
                        Err(_) => tokio::time::sleep(LOOK_AGAIN).await,
                    }
                    continue;
                };
                match read(link, at).await {
                    Ok(keys) if keys.is_empty() => {}
                    Ok(keys) => return News::Changed(keys),
                    // Also when the stream was cut off behind this reader.
                    Err(_) => self.at = None,
                }
            }
        }
        .boxed()
    }
}

/// What came behind `at`.
async fn read(link: &Link, at: &mut String) -> Result<Vec<Vec<u8>>, StoreError> {
    let mut command = redis::cmd("XREAD");
    let block = u64::try_from(BLOCK.as_millis()).unwrap_or_default();
    command.arg("COUNT").arg(BATCH).arg("BLOCK").arg(block).arg("STREAMS").arg(FEED).arg(at.as_str());
    let streams: Option<Vec<(String, Vec<Entry>)>> = link.wait(command).await?;
    let entries: Vec<Entry> = streams.into_iter().flatten().flat_map(|(_, entries)| entries).collect();
    let Some((newest, _)) = entries.last() else { return Ok(Vec::new()) };
    if entries.len() == BATCH && is_cut(link, at).await? {
        return Err(StoreError::Io("the feed was cut off".into()));
    }
    newest.clone_into(at);
    let mut keys: Vec<Vec<u8>> = entries.into_iter().filter_map(|(_, mut fields)| fields.pop()).collect();
    keys.sort_unstable();
    keys.dedup();
    Ok(keys)
}

/// Whether the oldest entry that is left came after `at`: those between are gone.
async fn is_cut(link: &Link, at: &str) -> Result<bool, StoreError> {
    let mut command = redis::cmd("XRANGE");
    command.arg(FEED).arg("-").arg("+").arg("COUNT").arg(1);
    let oldest: Vec<Entry> = link.wait(command).await?;
    Ok(oldest.first().is_none_or(|(id, _)| parts(id) > parts(at)) && at != FIRST)
}

/// Milliseconds and number of an entry's id.
fn parts(id: &str) -> (u64, u64) {
    let (time, number) = id.split_once('-').unwrap_or((id, "0"));
    (time.parse().unwrap_or_default(), number.parse().unwrap_or_default())
}
