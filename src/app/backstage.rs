//! A gateway that nobody can connect to: for dry runs and policy tests.
use super::{AppError, turns};
use crate::config::Config;
use crate::gateway::turn::Turns;
use crate::gateway::{Edge, Gateway};
use crate::hooks::Witness;
use crate::session::Sessions;
use axum::extract::Request;
use axum::response::Response;
use std::sync::Arc;
use tower::Service as _;

/// The gateway; its requests are made in this process.
pub struct Backstage {
    edge: Edge,
    turns: Arc<Turns>,
}

impl Backstage {
    /// What the gateway answers.
    pub async fn ask(&self, request: Request) -> Response {
        let answered = self.edge.clone().call(request).await;
        answered.unwrap_or_else(|never| match never {})
    }

    /// Waits until every hook that runs behind an answer has ended.
    pub async fn settled(&self) {
        self.turns.drained().await;
    }

    /// What is known of sessions.
    pub fn sessions(&self) -> &Sessions {
        self.turns.sessions()
    }
}

/// Makes a gateway without listeners, and shows `witness` what becomes of its requests.
///
/// # Errors
/// [`AppError`]
pub async fn backstage(config: Config, witness: Arc<Witness>) -> Result<Backstage, AppError> {
    // Whoever is in this process needs no key.
    let config = Arc::new(Config { keys: Default::default(), ..config });
    let turns = turns(&config, Some(witness)).await?;
    let edge = Gateway::new(&config, turns.clone())?.into_service();
    Ok(Backstage { edge, turns })
}
