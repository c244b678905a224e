//! What a `when` expression sees (README, What a hook gets and says), built once per event and only as far as some expression names it.
use super::contract::Event;
use crate::config::EventKind;
use cel::common::types::{CelBool, CelDouble, CelInt, CelList, CelMap, CelMapKey, CelNull, CelString, CelUInt};
use cel::common::value::Val;
use http::HeaderMap;
use serde_json::{Map, Value};
use std::collections::HashMap;
use tokio::sync::OnceCell;

/// Words in the names of headers that carry credentials. Words and not whole names: every vendor has its own
/// (`x-goog-api-key`, `helicone-auth`, `x-amz-security-token`), and one that is withheld without need does less harm than
/// one that is shown.
const CREDENTIAL_WORDS: [&str; 8] =
    ["auth", "cookie", "token", "secret", "api-key", "apikey", "password", "credential"];

/// A name that expressions may use.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Variable {
    /// The event's name.
    Event,
    /// `session` of the payload.
    Session,
    /// `model` of the payload.
    Model,
    /// `prompt` of the payload; undefined where there is none.
    Prompt,
    /// The neutral request; undefined where there is none.
    Request,
    /// `request.tools`.
    Tools,
    /// `tool` of the payload; undefined but on `tool.call` and `tool.result`.
    Tool,
    /// `turn` of the payload; undefined but on stopping, stop and fail.
    Turn,
    /// The client's headers by lower-case name, without credentials.
    Headers,
    /// The time of the event.
    Now,
}

impl Variable {
    pub(super) const ALL: [Self; 10] = [
        Self::Event,
        Self::Session,
        Self::Model,
        Self::Prompt,
        Self::Request,
        Self::Tools,
        Self::Tool,
        Self::Turn,
        Self::Headers,
        Self::Now,
    ];

    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::Event => "event",
            Self::Session => "session",
            Self::Model => "model",
            Self::Prompt => "prompt",
            Self::Request => "request",
            Self::Tools => "tools",
            Self::Tool => "tool",
            Self::Turn => "turn",
            Self::Headers => "headers",
            Self::Now => "now",
        }
    }

    /// Whether it takes the neutral request to know it.
    pub(super) const fn needs_request(self) -> bool {
        matches!(self, Self::Request | Self::Tools)
    }
}

/// A value, or undefined.
type Known = Option<Box<dyn Val>>;

/// The variables of one event, shared by its hooks.
#[derive(Debug)]
pub(super) struct Variables<'a> {
    kind: EventKind,
    event: &'a Event,
    headers: &'a HeaderMap,
    cells: [OnceCell<Known>; Variable::ALL.len()],
}

impl<'a> Variables<'a> {
    pub(super) fn new(kind: EventKind, event: &'a Event, headers: &'a HeaderMap) -> Self {
        Self { kind, event, headers, cells: Default::default() }
    }

    /// What they are of.
    pub(super) const fn event(&self) -> &'a Event {
        self.event
    }

    /// Builds what of `needed` is not yet built.
    pub(super) async fn prepare(&self, needed: &[Variable]) {
        for &variable in needed {
            if let Some(cell) = self.cells.get(variable as usize) {
                cell.get_or_init(|| self.build(variable)).await;
            }
        }
    }

    /// A prepared value.
    pub(super) fn get(&self, name: &str) -> Option<&dyn Val> {
        let variable = Variable::ALL.into_iter().find(|variable| variable.name() == name)?;
        self.cells.get(variable as usize)?.get()?.as_deref()
    }

    async fn build(&self, variable: Variable) -> Known {
        let event = self.event;
        let value = match variable {
            Variable::Event => Value::from(self.kind.name()),
            Variable::Session => serde_json::to_value(&event.session).ok()?,
            Variable::Model => serde_json::to_value(&event.model).ok()?,
            Variable::Prompt => serde_json::to_value(event.prompt.as_ref()?).ok()?,
            Variable::Tool => serde_json::to_value(event.tool.as_ref()?).ok()?,
            Variable::Turn => serde_json::to_value(event.turn.as_ref()?).ok()?,
            Variable::Headers => shown_headers(self.headers).into(),
            Variable::Now => return now(),
            Variable::Request | Variable::Tools => return self.build_of_request(variable).await,
        };
        Some(cel_value(value))
    }

    /// A body may be tens of megabytes: its conversion must not hold up the other streams of this thread.
    async fn build_of_request(&self, variable: Variable) -> Known {
        let request = self.event.request.clone()?;
        let built = tokio::task::spawn_blocking(move || {
            let value = if variable == Variable::Tools {
                serde_json::to_value(&request.tools)
            } else {
                serde_json::to_value(&*request)
            };
            value.ok().map(cel_value)
        });
        built.await.ok().flatten()
    }
}

/// Several values of one header are joined as HTTP allows (RFC 9110, section 5.3).
fn shown_headers(headers: &HeaderMap) -> Map<String, Value> {
    let mut shown = Map::new();
    for name in headers.keys() {
        let values = headers.get_all(name);
        let secret = CREDENTIAL_WORDS.iter().any(|word| name.as_str().contains(word))
            || values.iter().any(http::HeaderValue::is_sensitive);
        if !secret {
            let values: Vec<_> = values.iter().map(|value| String::from_utf8_lossy(value.as_bytes())).collect();
            shown.insert(name.as_str().to_owned(), values.join(", ").into());
        }
    }
    shown
}

fn now() -> Known {
    let now = jiff::Timestamp::now().to_string().parse().ok()?;
    cel::Value::Timestamp(now).try_into().ok()
}

/// Whole numbers become `int`, not `uint` as the crate's own conversion has it: `session.turn + 1` has no overload for
/// the mix.
fn cel_value(value: Value) -> Box<dyn Val> {
    match value {
        Value::Null => Box::new(CelNull),
        Value::Bool(value) => Box::new(CelBool::from(value)),
        Value::Number(number) => match (number.as_i64(), number.as_u64()) {
            (Some(value), _) => Box::new(CelInt::from(value)),
            (None, Some(value)) => Box::new(CelUInt::from(value)),
            (None, None) => Box::new(CelDouble::from(number.as_f64().unwrap_or(f64::NAN))),
        },
        Value::String(text) => Box::new(CelString::from(text)),
        Value::Array(items) => Box::new(CelList::from(items.into_iter().map(cel_value).collect::<Vec<_>>())),
        Value::Object(members) => {
            let members = members.into_iter().map(|(key, value)| (CelMapKey::from(key), cel_value(value)));
            Box::new(CelMap::from(members.collect::<HashMap<_, _>>()))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn headers_show_no_credentials() {
        let mut headers = HeaderMap::new();
        for name in [
            "authorization",
            "proxy-authorization",
            "x-api-key",
            "x-goog-api-key",
            "api-key",
            "cookie",
            "x-amz-security-token",
            "helicone-auth",
        ] {
            headers.insert(name, http::HeaderValue::from_static("s3cret"));
        }
        let mut marked = http::HeaderValue::from_static("s3cret");
        marked.set_sensitive(true);
        headers.insert("x-other", marked);
        headers.insert("user-agent", http::HeaderValue::from_static("cli/1"));
        headers.append("x-many", http::HeaderValue::from_static("a"));
        headers.append("x-many", http::HeaderValue::from_static("b"));
        assert_eq!(Value::from(shown_headers(&headers)), json!({"user-agent": "cli/1", "x-many": "a, b"}));
    }

    #[test]
    fn every_variable_has_its_own_cell() {
        for (place, variable) in Variable::ALL.into_iter().enumerate() {
            assert_eq!(variable as usize, place, "{}", variable.name());
        }
    }
}
