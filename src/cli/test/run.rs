//! Runs one case.
use super::judge::{Failure, judge};
use crate::cli::rehearsal::reading::Seen;
use crate::cli::rehearsal::script::{Canned, Script};
use crate::cli::rehearsal::{Asked, Received, Rehearsal, RehearsalError, assume};
use crate::config::case::{Answer, Case, Said, Turn};
use crate::config::{self, Config, Problems, Run};
use crate::context::AnswerForm;
use crate::dialect::{self, Reply};
use http::{HeaderMap, HeaderValue, StatusCode};
use parking_lot::Mutex;
use std::collections::VecDeque;
use std::path::Path;
use std::sync::Arc;

/// What the model says when the case does not.
const UNSAID: &str = "Done.";

/// What a case comes to.
#[derive(Debug)]
pub(super) enum Verdict {
    /// All of its turns were tried; what was not as expected.
    Tried(Vec<Failure>),
    /// It could not be tried.
    Impossible(TestError),
}

impl Verdict {
    pub(super) fn is_ok(&self) -> bool {
        matches!(self, Self::Tried(failures) if failures.is_empty())
    }
}

/// Why a case can't be tried.
#[derive(Debug, thiserror::Error)]
pub(super) enum TestError {
    /// Its configuration.
    #[error(transparent)]
    Config(#[from] Problems),
    /// The gateway.
    #[error(transparent)]
    Rehearsal(#[from] RehearsalError),
    /// It plays a service that is none.
    #[error("http.{0}: no http hook of this name is in the configuration")]
    NoService(String),
    /// It expects something of a hook that is not there.
    #[error("turn {turn}: no hook {hook:?} is in the configuration")]
    NoHook {
        /// From 1.
        turn: usize,
        /// Its name.
        hook: String,
    },
    /// A body has no shape that is known.
    #[error("turn {0}: no request that I know by its shape; say its path")]
    Shapeless(usize),
}

/// Runs a case with its own configuration, else with this one.
pub(super) async fn case(case: &Case, config: Option<&Path>) -> Verdict {
    match attempt(case, config).await {
        Ok(failures) => Verdict::Tried(failures),
        Err(error) => Verdict::Impossible(error),
    }
}

async fn attempt(case: &Case, config: Option<&Path>) -> Result<Vec<Failure>, TestError> {
    let mut config = config::load(case.config.as_deref().or(config), &config::process_env)?.config;
    check(case, &config)?;
    let _services = play(case, &mut config).await?;
    let said = Arc::new(Mutex::new(VecDeque::new()));
    let next = said.clone();
    let respond = move |received: &Received| canned(next.lock().pop_front().as_ref(), received);
    let rehearsal = Rehearsal::start(config.clone(), Box::new(respond)).await?;
    let mut failures = Vec::new();
    for (number, turn) in (1..).zip(&case.turns) {
        *said.lock() = turn.answers.iter().cloned().collect();
        let exchange = rehearsal.ask(asked(turn, number)?).await?;
        let slots = match &exchange.session {
            Some(session) => rehearsal.slots(session).await?,
            None => Default::default(),
        };
        failures
            .extend(judge(&config, &turn.expect, &exchange, &slots).into_iter().map(|f| Failure { turn: number, ..f }));
    }
    Ok(failures)
}

/// A misspelled name would make an expectation hold that is none.
fn check(case: &Case, config: &Config) -> Result<(), TestError> {
    let is_hook = |name: &String| config.hooks.iter().any(|hook| hook.name == *name);
    for (turn, asked) in (1..).zip(&case.turns) {
        let mut named = asked.expect.hooks.keys().chain(asked.expect.edits.keys());
        if let Some(hook) = named.find(|name| !is_hook(name)) {
            return Err(TestError::NoHook { turn, hook: hook.clone() });
        }
    }
    Ok(())
}

fn asked(turn: &Turn, number: usize) -> Result<Asked, TestError> {
    let path = match &turn.path {
        Some(path) => path.clone(),
        None => {
            let shape = serde_json::from_slice(&turn.body).ok().as_ref().and_then(assume);
            shape.ok_or(TestError::Shapeless(number))?.path
        }
    };
    Ok(Asked { path, headers: turn.headers.clone(), body: turn.body.clone() })
}

/// Plays the services of http hooks, as far as the case says what they say.
async fn play(case: &Case, config: &mut Config) -> Result<Vec<Script>, TestError> {
    let mut services = Vec::new();
    for (name, answers) in &case.http {
        let hook = config.hooks.iter_mut().find(|hook| hook.name == *name);
        let Some(Run::Http { url, .. }) = hook.map(|hook| &mut hook.run) else {
            return Err(TestError::NoService(name.clone()));
        };
        let said = Mutex::new(answers.iter().cloned().collect::<VecDeque<_>>());
        let respond = move |received: &Received| {
            let mut said = said.lock();
            let next = if said.len() > 1 { said.pop_front() } else { said.front().cloned() };
            canned(next.as_ref(), received)
        };
        let service = Script::start(Box::new(respond)).await.map_err(RehearsalError::from)?;
        *url = format!("http://{}/", service.addr()).parse().map_err(RehearsalError::from)?;
        services.push(service);
    }
    Ok(services)
}

/// What is said to a request; nothing: a short text.
fn canned(answer: Option<&Answer>, received: &Received) -> Canned {
    let json = HeaderValue::from_static("application/json");
    let unsaid = Answer { status: StatusCode::OK, headers: HeaderMap::new(), said: Said::Words(UNSAID.to_owned()) };
    let Answer { status, headers, said } = answer.unwrap_or(&unsaid);
    let (content_type, body) = match said {
        Said::Json(body) => (json, body.clone()),
        Said::Events(events) => (HeaderValue::from_static("text/event-stream; charset=utf-8"), events.clone()),
        Said::Words(words) => match Seen::of(&received.path, &received.body) {
            Some(seen) => {
                let dialect = dialect::of(seen.dialect);
                let form: AnswerForm = seen.view.form;
                let reply = Reply {
                    text: words.clone(),
                    model: seen.view.model.unwrap_or_default(),
                    id: "case".to_owned(),
                    created: u64::try_from(jiff::Timestamp::now().as_second()).unwrap_or_default(),
                };
                (HeaderValue::from_static(dialect.content_type(form)), dialect.reply(&reply, form))
            }
            None => (json, words.clone().into()),
        },
    };
    Canned { status: *status, content_type, headers: headers.clone(), body }
}
