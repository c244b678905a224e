//! What a dry run found.
use super::NOT_FIRED;
use super::prefix::Prefix;
use crate::cli::rehearsal::reading::{self, Seen};
use crate::cli::rehearsal::runs::{HookRun, RunResult, runs};
use crate::cli::rehearsal::{Exchange, Received};
use crate::config::{Config, EventKind};
use crate::context::placement::TextKind;
use crate::hooks::Sight;
use crate::hooks::witness::{Spending, StandingText, TextPlace};
use crate::telemetry::redact;
use bytes::Bytes;
use http::header::{CONTENT_LENGTH, CONTENT_TYPE, HOST};
use http::{HeaderMap, HeaderName};
use serde::Serialize;
use serde_json::{Value, json};
use similar::TextDiff;

/// Stands where a value is that nobody should read.
const MASK: &str = "***";

/// All of it.
#[derive(Debug, Serialize)]
pub(super) struct Report {
    /// Where the request goes.
    pub(super) path: String,
    /// Why this path, where nobody said it.
    pub(super) assumed_because: Option<&'static str>,
    /// The upstream that it would go to; `None` when it does not go up.
    pub(super) upstream: Option<String>,
    /// What it speaks; `None`: nothing that hookgate looks into.
    pub(super) dialect: Option<&'static str>,
    /// turn, side, compaction, count or batch; `None`: no hook looks into it.
    pub(super) kind: Option<&'static str>,
    /// The client's profile.
    pub(super) profile: Option<String>,
    /// The hooks that were asked.
    pub(super) hooks: Vec<HookRun>,
    /// Hooks that were not.
    pub(super) not_asked: Vec<NotAsked>,
    /// Texts that stand in the request.
    pub(super) texts: Vec<Text>,
    /// The room that they took.
    pub(super) budget: Option<Budget>,
    /// What the model may call.
    pub(super) tools: Option<Change<Vec<String>>>,
    /// Who is asked.
    pub(super) model: Option<Change<Option<String>>>,
    /// Headers that are others on the way up.
    pub(super) headers: Vec<Header>,
    /// The client's cached prefix.
    pub(super) prefix: Option<Prefix>,
    /// What the client reads when the gateway answers itself.
    pub(super) answered: Option<String>,
    /// The code of the gateway's refusal.
    pub(super) error: Option<String>,
    /// The unified difference of the bodies; empty when they are the same.
    pub(super) diff: String,
}

/// A hook that was not asked.
#[derive(Debug, Serialize)]
pub(super) struct NotAsked {
    /// Its name.
    pub(super) hook: String,
    /// The events that it listens to.
    pub(super) on: Vec<&'static str>,
    /// Whether they come only behind an answer.
    pub(super) runs_after_the_answer: bool,
}

/// A text in the request.
#[derive(Debug, Serialize)]
pub(super) struct Text {
    /// Where.
    pub(super) place: String,
    /// persistent or ephemeral.
    pub(super) kind: &'static str,
    /// The hook or slot.
    pub(super) source: String,
    /// In its frame.
    pub(super) text: String,
}

/// The room that new texts took.
#[derive(Debug, Serialize)]
pub(super) struct Budget {
    /// Characters.
    pub(super) used: usize,
    /// Of these.
    pub(super) limit: usize,
    /// Hooks whose text was cut.
    pub(super) truncated: Vec<String>,
    /// Hooks whose text was left out.
    pub(super) left_out: Vec<String>,
}

/// Before and after.
#[derive(Debug, Serialize)]
pub(super) struct Change<T> {
    /// The client's.
    pub(super) client: T,
    /// What goes up.
    pub(super) up: T,
}

/// A header that is another one.
#[derive(Debug, Serialize)]
pub(super) struct Header {
    /// Its name.
    pub(super) name: String,
    /// The client's value.
    pub(super) client: Option<String>,
    /// What goes up.
    pub(super) up: Option<String>,
}

impl Report {
    pub(super) fn of(config: &Config, assumed_because: Option<&'static str>, exchange: &Exchange) -> Self {
        let asked = &exchange.asked;
        let up = exchange.received.first();
        let client = Seen::of(&asked.path, &asked.body);
        let seen_up = up.and_then(|up| Seen::of(&up.path, &up.body));
        let both = client.as_ref().zip(seen_up.as_ref());
        let hooks = runs(config, &exchange.sights);
        let request = exchange.sights.iter().find_map(|sight| match sight {
            Sight::Request(asked) => Some(asked),
            _ => None,
        });
        Self {
            path: asked.path.clone(),
            assumed_because,
            upstream: up.map(|up| up.upstream.clone()),
            dialect: client.as_ref().map(|seen| seen.dialect.name()),
            kind: request.map(|asked| asked.kind),
            profile: request.map(|asked| asked.profile.clone()),
            not_asked: not_asked(config, &hooks),
            hooks,
            texts: texts(&exchange.sights),
            budget: budget(&exchange.sights),
            tools: both.map(|(client, up)| Change { client: client.tools(), up: up.tools() }),
            model: both.map(|(client, up)| Change { client: client.view.model.clone(), up: up.view.model.clone() }),
            headers: up.map(|up| headers(config, &asked.headers, up)).unwrap_or_default(),
            prefix: both.map(|(client, up)| Prefix::of(client, up)),
            answered: client
                .as_ref()
                .filter(|_| up.is_none() && exchange.error.is_none())
                .map(|client| reading::words(client.dialect, client.view.form, &exchange.answer)),
            error: exchange.error.clone().filter(|_| up.is_none()),
            diff: up.map(|up| diff(&asked.body, &up.body)).unwrap_or_default(),
        }
    }

    /// For scripts.
    pub(super) fn json(&self) -> Value {
        // Strings, numbers and lists of them: there is nothing that can't be written.
        serde_json::to_value(self).unwrap_or_else(|error| json!({"error": error.to_string()}))
    }

    /// Whether no hook failed and the gateway did not refuse the request.
    pub(super) fn is_clean(&self) -> bool {
        self.error.is_none() && self.hooks.iter().all(|run| run.result != RunResult::Failed)
    }
}

fn not_asked(config: &Config, asked: &[HookRun]) -> Vec<NotAsked> {
    let silent = config.hooks.iter().filter(|hook| asked.iter().all(|run| run.hook != hook.name));
    let behind = |event: &EventKind| NOT_FIRED.contains(event) || *event == EventKind::SessionStopping;
    let told = silent.map(|hook| NotAsked {
        hook: hook.name.clone(),
        on: hook.on.iter().map(|event| event.name()).collect(),
        runs_after_the_answer: hook.on.iter().all(behind),
    });
    told.collect()
}

fn texts(sights: &[Sight]) -> Vec<Text> {
    let standing = sights.iter().filter_map(|sight| match sight {
        Sight::Texts(texts) => Some(texts),
        _ => None,
    });
    let text = |StandingText { source, kind, place, text }: &StandingText| Text {
        place: match place {
            TextPlace::SystemFront => "ahead of the instructions".to_owned(),
            TextPlace::SystemEnd => "behind the instructions".to_owned(),
            TextPlace::Item(item) => format!("behind message {}", item + 1),
        },
        kind: match kind {
            TextKind::Persistent => "persistent",
            TextKind::Ephemeral => "ephemeral",
        },
        source: source.clone(),
        text: text.clone(),
    };
    standing.flatten().map(text).collect()
}

fn budget(sights: &[Sight]) -> Option<Budget> {
    let spendings: Vec<&Spending> = sights
        .iter()
        .filter_map(|sight| match sight {
            Sight::Budget(spending) => Some(spending),
            _ => None,
        })
        .collect();
    let cuts = |partly: bool| {
        let cuts = spendings.iter().flat_map(|spending| &spending.cuts);
        cuts.filter(|(_, cut)| *cut == partly).map(|(hook, _)| hook.clone()).collect()
    };
    let used = spendings.iter().map(|spending| spending.used).sum();
    Some(Budget { used, limit: spendings.first()?.limit, truncated: cuts(true), left_out: cuts(false) })
}

/// What says how the body is written and where it goes is no news.
const FRAMING: [HeaderName; 3] = [HOST, CONTENT_LENGTH, CONTENT_TYPE];

fn headers(config: &Config, client: &HeaderMap, up: &Received) -> Vec<Header> {
    let secret = |name: &HeaderName| config.upstreams.iter().flat_map(|u| &u.headers).any(|(own, _)| own == name);
    let value = |headers: &HeaderMap, name: &HeaderName| {
        let mut values = headers.get_all(name).iter().peekable();
        values.peek()?;
        let shown = values.map(|value| String::from_utf8_lossy(value.as_bytes()).into_owned());
        Some(shown.collect::<Vec<_>>().join(", "))
    };
    let own = |name: &&HeaderName| !FRAMING.contains(name) && !name.as_str().starts_with("x-hookgate-");
    let mut names: Vec<&HeaderName> = client.keys().chain(up.headers.keys()).filter(own).collect();
    names.sort_by_key(|name| name.as_str());
    names.dedup();
    let changed = names.into_iter().filter_map(|name| {
        let (client, up) = (value(client, name), value(&up.headers, name));
        let masked = secret(name) || redact::is_secret(name);
        let show = |value: Option<String>| value.map(|value| if masked { MASK.to_owned() } else { value });
        (client != up).then(|| Header { name: name.to_string(), client: show(client), up: show(up) })
    });
    changed.collect()
}

fn diff(client: &Bytes, up: &Bytes) -> String {
    if client == up {
        return String::new();
    }
    let (client, up) = (pretty(client), pretty(up));
    let diff = TextDiff::from_lines(&client, &up);
    diff.unified_diff().header("the client's body", "what goes up").to_string()
}

/// A line for every value.
fn pretty(body: &Bytes) -> String {
    let value = serde_json::from_slice::<Value>(body);
    let text = value.map(|value| format!("{value:#}"));
    text.unwrap_or_else(|_| String::from_utf8_lossy(body).into_owned()) + "\n"
}
