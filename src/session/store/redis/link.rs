//! The connection: one server or a cluster, with a bound on every wait, and out of the way while nobody answers.
use crate::config::RedisUrl;
use crate::session::store::StoreError;
use redis::aio::{ConnectionLike, ConnectionManager, ConnectionManagerConfig};
use redis::cluster::ClusterClient;
use redis::cluster_async::ClusterConnection;
use redis::{Client, Cmd, FromRedisValue, Pipeline, RedisError, RedisFuture, Script, ServerErrorKind, Value};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// Longest wait for one answer, and for a connection. A server in the same region answers within milliseconds.
const PATIENCE: Duration = Duration::from_secs(1);
/// Tries of a reconnection behind one request; the next request tries again.
const RECONNECTIONS: usize = 2;

/// A connection that is used by all at once.
#[derive(Clone)]
pub(super) struct Link {
    wire: Wire,
    /// The last answer did not come. Until the heartbeat finds the server again, nobody else waits for it.
    down: Arc<AtomicBool>,
}

/// How the server is spoken to.
#[derive(Clone)]
enum Wire {
    One(ConnectionManager),
    Many(ClusterConnection),
}

impl Link {
    /// Connects, and waits at most `patience` for an answer to each try.
    pub(super) async fn open(url: &RedisUrl, patience: Option<Duration>) -> Result<Self, StoreError> {
        let wait = patience.unwrap_or(PATIENCE);
        let nodes = url.nodes();
        let wire = match nodes.as_slice() {
            [one] if !url.is_cluster() => {
                let client = Client::open(one.as_str()).map_err(|error| said(&error))?;
                let config = ConnectionManagerConfig::new()
                    .set_connection_timeout(Some(PATIENCE))
                    .set_response_timeout(Some(wait))
                    .set_number_of_retries(RECONNECTIONS);
                Wire::One(ConnectionManager::new_with_config(client, config).await.map_err(|error| said(&error))?)
            }
            nodes => {
                let client = ClusterClient::builder(nodes.iter().map(String::as_str))
                    .connection_timeout(PATIENCE)
                    .response_timeout(wait)
                    .build()
                    .map_err(|error| said(&error))?;
                Wire::Many(client.get_async_connection().await.map_err(|error| said(&error))?)
            }
        };
        Ok(Self { wire, down: Arc::default() })
    }

    pub(super) fn is_up(&self) -> bool {
        !self.down.load(Ordering::Relaxed)
    }

    /// Asks, unless nobody answers.
    pub(super) async fn ask<T: FromRedisValue>(&self, command: Cmd) -> Result<T, StoreError> {
        self.check()?;
        let mut wire = self.wire.clone();
        self.bounded(async move { command.query_async(&mut wire).await }).await
    }

    /// Runs a script on these keys, unless nobody answers.
    pub(super) async fn run<T: FromRedisValue>(
        &self,
        script: &Script,
        keys: &[&[u8]],
        args: Vec<Vec<u8>>,
    ) -> Result<T, StoreError> {
        self.check()?;
        let mut call = script.prepare_invoke();
        for key in keys {
            call.key(*key);
        }
        for arg in args {
            call.arg(arg);
        }
        let mut wire = self.wire.clone();
        self.bounded(async move { call.invoke_async(&mut wire).await }).await
    }

    /// Asks whether or not anybody answers: the heartbeat's way.
    pub(super) async fn probe<T: FromRedisValue>(&self, command: Cmd) -> Result<T, StoreError> {
        let mut wire = self.wire.clone();
        self.bounded(async move { command.query_async(&mut wire).await }).await
    }

    /// Waits longer than others: for a command that blocks.
    pub(super) async fn wait<T: FromRedisValue>(&self, command: Cmd) -> Result<T, StoreError> {
        let mut wire = self.wire.clone();
        command.query_async(&mut wire).await.map_err(|error| said(&error))
    }

    fn check(&self) -> Result<(), StoreError> {
        match self.is_up() {
            true => Ok(()),
            false => Err(StoreError::Unavailable("it did not answer a moment ago".into())),
        }
    }

    async fn bounded<T>(&self, answer: impl Future<Output = Result<T, RedisError>>) -> Result<T, StoreError> {
        let answer = tokio::time::timeout(PATIENCE, answer).await;
        let answer = match answer {
            Ok(answer) => answer.map_err(|error| said(&error)),
            Err(_) => Err(StoreError::Unavailable(format!("no answer within {PATIENCE:?}"))),
        };
        let is_down = matches!(answer, Err(StoreError::Unavailable(_)));
        if self.down.swap(is_down, Ordering::Relaxed) != is_down {
            match &answer {
                Err(error) => tracing::error!(%error, "the store went away"),
                Ok(_) => tracing::info!("the store is back"),
            }
        }
        answer
    }
}

impl ConnectionLike for Wire {
    fn req_packed_command<'a>(&'a mut self, cmd: &'a Cmd) -> RedisFuture<'a, Value> {
        match self {
            Self::One(one) => one.req_packed_command(cmd),
            Self::Many(many) => many.req_packed_command(cmd),
        }
    }

    fn req_packed_commands<'a>(
        &'a mut self,
        cmd: &'a Pipeline,
        offset: usize,
        count: usize,
    ) -> RedisFuture<'a, Vec<Value>> {
        match self {
            Self::One(one) => one.req_packed_commands(cmd, offset, count),
            Self::Many(many) => many.req_packed_commands(cmd, offset, count),
        }
    }

    fn get_db(&self) -> i64 {
        match self {
            Self::One(one) => one.get_db(),
            Self::Many(many) => many.get_db(),
        }
    }
}

/// A server that will answer later is away; one that refuses is not.
fn said(error: &RedisError) -> StoreError {
    use ServerErrorKind::{BusyLoading, ClusterDown, MasterDown, ReadOnly, TryAgain};
    let later = matches!(
        error.kind(),
        redis::ErrorKind::Server(BusyLoading | ClusterDown | MasterDown | ReadOnly | TryAgain)
            | redis::ErrorKind::ClusterConnectionNotFound
    );
    match later || error.is_io_error() || error.is_timeout() || error.is_connection_dropped() {
        true => StoreError::Unavailable(error.to_string()),
        false => StoreError::Io(error.to_string()),
    }
}
