//! A provider that plays its part: it keeps what it receives and answers with the next line of the script.
use super::script::{ANSWERS, Act};
use super::wire;
use crate::context::AnswerForm;
use crate::dialect::{self, DialectId, Reply};
use axum::Router;
use axum::extract::State;
use axum::response::{IntoResponse, Response};
use bytes::Bytes;
use http::header::CONTENT_TYPE;
use http::{HeaderName, StatusCode};
use parking_lot::Mutex;
use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use tokio::net::TcpListener;
use tokio::task::JoinHandle;

/// The provider; stops when it is dropped.
pub(super) struct Provider {
    addr: SocketAddr,
    stage: Arc<Stage>,
    serving: JoinHandle<()>,
}

struct Stage {
    dialect: DialectId,
    received: Mutex<Vec<Bytes>>,
}

impl Drop for Provider {
    fn drop(&mut self) {
        self.serving.abort();
    }
}

impl Provider {
    pub(super) async fn start(dialect: DialectId) -> io::Result<Self> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await?;
        let addr = listener.local_addr()?;
        let stage = Arc::new(Stage { dialect, received: Mutex::default() });
        let app = Router::new().fallback(answer).with_state(stage.clone());
        let serving = tokio::spawn(async move {
            if let Err(error) = axum::serve(listener, app).await {
                tracing::error!(%error, "the scripted provider stopped");
            }
        });
        Ok(Self { addr, stage, serving })
    }

    pub(super) fn addr(&self) -> SocketAddr {
        self.addr
    }

    /// The newest body that it received.
    pub(super) fn received(&self) -> Bytes {
        self.stage.received.lock().last().cloned().unwrap_or_default()
    }
}

async fn answer(State(stage): State<Arc<Stage>>, body: Bytes) -> Response {
    let number = {
        let mut received = stage.received.lock();
        received.push(body);
        received.len()
    };
    let dialect = dialect::of(stage.dialect);
    let headers: [(HeaderName, &str); 1] = [(CONTENT_TYPE, dialect.content_type(AnswerForm::Sse))];
    match ANSWERS.get(number - 1) {
        Some(Act::Call) => (headers, wire::call(stage.dialect)).into_response(),
        Some(Act::Say(text)) => {
            let reply = Reply {
                text: (*text).to_owned(),
                model: wire::MODEL.to_owned(),
                id: format!("demo{number}"),
                created: u64::try_from(jiff::Timestamp::now().as_second()).unwrap_or_default(),
            };
            (headers, dialect.reply(&reply, AnswerForm::Sse)).into_response()
        }
        None => StatusCode::NOT_FOUND.into_response(),
    }
}
