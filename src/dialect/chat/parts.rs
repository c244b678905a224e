//! A chunk with one choice, taken apart: its calls, its end, and what else it says.
use super::chunk::is_filled;
use crate::dialect::object::{Object, slice};
use crate::dialect::rewrite::Rewrite;
use crate::json::{ScanError, raw};

/// Members of a delta that call.
const CALLS: [&str; 2] = ["tool_calls", "function_call"];

/// Reasons of an end that say that something was called.
const CALLED: [&str; 2] = [r#""tool_calls""#, r#""function_call""#];

/// Why an answer ends that calls nothing.
pub(super) const ENDED: &str = r#""stop""#;

/// Whether a finish reason, a JSON value, says that something was called.
pub(super) fn is_called(reason: &str) -> bool {
    CALLED.contains(&reason)
}

/// The chunk.
pub(super) struct Parts<'a> {
    chunk: Rewrite<'a>,
    choice: Rewrite<'a>,
    delta: Rewrite<'a>,
    /// The elements of `tool_calls`.
    pub(super) calls: Vec<&'a str>,
    /// The old `function_call`.
    pub(super) old: Option<&'a str>,
}

/// What a chunk that is made of the parts has besides its delta.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Rest {
    All,
    /// Nothing of the end: no finish and no costs.
    Open,
    /// Nothing but the end.
    End,
}

impl<'a> Parts<'a> {
    /// # Errors
    /// [`ScanError`] when an object is none, or has a key twice.
    pub(super) fn of(text: &'a str) -> Result<Self, ScanError> {
        let choices = choices(text)?;
        let choice = choices.first().copied().unwrap_or("{}");
        let delta = Object::parse(choice)?.get("delta").unwrap_or("{}");
        let members = Object::parse(delta)?;
        let list = members.get("tool_calls").unwrap_or("[]");
        Ok(Self {
            chunk: Rewrite::of(text)?,
            choice: Rewrite::of(choice)?,
            delta: Rewrite::of(delta)?,
            calls: elements(list),
            old: members.get("function_call"),
        })
    }

    /// Whether it says something besides its calls, its end and who speaks.
    pub(super) fn says_more(&self) -> bool {
        let is_more = |key: &&str| !CALLS.contains(key) && *key != "role";
        self.delta.keys().filter(is_more).any(|key| self.delta.get(key).is_some_and(is_filled))
    }

    /// Whether the chunk is of use without its calls.
    pub(super) fn stands_alone(&self) -> bool {
        let ends = self.choice.get("finish_reason").is_some_and(is_filled);
        self.says_more() || ends || self.delta.get("role").is_some() || self.chunk.get("usage").is_some()
    }

    /// The chunk with these calls instead of its own.
    pub(super) fn with(&self, calls: &[String], old: Option<String>) -> String {
        let mut delta = self.delta.clone();
        delta.retain(|key| match key {
            "tool_calls" => !calls.is_empty(),
            "function_call" => old.is_some(),
            _ => true,
        });
        if !calls.is_empty() {
            delta.set("tool_calls", format!("[{}]", calls.join(",")));
        }
        if let Some(old) = old {
            delta.set("function_call", old);
        }
        self.made(delta, Rest::All)
    }

    /// Nothing but the calls.
    pub(super) fn calls_alone(&self) -> String {
        let mut delta = self.delta.clone();
        delta.retain(|key| CALLS.contains(&key));
        self.made(delta, Rest::Open)
    }

    /// All but the end.
    pub(super) fn front(&self) -> String {
        self.made(self.delta.clone(), Rest::Open)
    }

    /// Nothing but the end.
    pub(super) fn end(&self) -> String {
        self.made(Rewrite::of_any(None), Rest::End)
    }

    fn made(&self, delta: Rewrite<'a>, rest: Rest) -> String {
        let (mut chunk, mut choice) = (self.chunk.clone(), self.choice.clone());
        choice.set("delta", delta.finish());
        if rest == Rest::Open {
            void(&mut choice, "finish_reason");
            void(&mut chunk, "usage");
        } else if rest == Rest::End {
            void(&mut choice, "logprobs");
        }
        chunk.set("choices", format!("[{}]", choice.finish()));
        chunk.finish()
    }
}

/// The texts of a chunk's choices.
///
/// # Errors
/// [`ScanError`] when the chunk is no object, or has a key twice.
pub(super) fn choices(text: &str) -> Result<Vec<&str>, ScanError> {
    Ok(elements(Object::parse(text)?.get("choices").unwrap_or("[]")))
}

fn elements(list: &str) -> Vec<&str> {
    raw::array(list).unwrap_or_default().into_iter().map(|span| slice(list, span)).collect()
}

/// Takes a value back, where there is one.
fn void<'a>(object: &mut Rewrite<'a>, key: &'a str) {
    if object.get(key).is_some() {
        object.set(key, "null");
    }
}

/// A chunk as several with one choice each; the last one has the costs.
///
/// # Errors
/// [`ScanError`] when it is no object, or has a key twice.
pub(super) fn apart(text: &str) -> Result<Vec<String>, ScanError> {
    let choices = choices(text)?;
    let one = |(index, choice): (usize, &&str)| {
        let mut chunk = Rewrite::of(text)?;
        if index + 1 < choices.len() {
            void(&mut chunk, "usage");
        }
        chunk.set("choices", format!("[{choice}]"));
        Ok(chunk.finish())
    };
    choices.iter().enumerate().map(one).collect()
}

/// The chunk, or whole answer, with the end of a choice that calls nothing any more; `is_emptied` says which.
///
/// # Errors
/// [`ScanError`] when an object is none, or has a key twice.
pub(super) fn ended(text: &str, is_emptied: impl Fn(u64) -> bool) -> Result<Option<String>, ScanError> {
    let mut any = false;
    let mut ended = Vec::new();
    for raw in choices(text)? {
        let mut choice = Rewrite::of(raw)?;
        if is_emptied(choice.number("index")) && choice.get("finish_reason").is_some_and(is_called) {
            choice.set("finish_reason", ENDED);
            any = true;
            ended.push(choice.finish());
        } else {
            ended.push(raw.to_owned());
        }
    }
    let mut chunk = Rewrite::of(text)?;
    chunk.set("choices", format!("[{}]", ended.join(",")));
    Ok(any.then(|| chunk.finish()))
}

/// What all chunks of an answer say of themselves.
const SHARED: [&str; 6] = ["id", "object", "created", "model", "service_tier", "system_fingerprint"];

/// What all chunks of an answer say of themselves, as the beginning of a further one.
///
/// # Errors
/// [`ScanError`] when the chunk is no object, or has a key twice.
pub(super) fn head(text: &str) -> Result<String, ScanError> {
    let object = Object::parse(text)?;
    let member = |key| object.get(key).map(|value| format!(r#""{key}":{value},"#));
    Ok(format!("{{{}", SHARED.into_iter().filter_map(member).collect::<String>()))
}

/// A chunk with a text of the model's.
pub(super) fn text_chunk(head: &str, index: u64, text: &str) -> String {
    let content = raw::quote(text);
    format!(r#"{head}"choices":[{{"index":{index},"delta":{{"content":{content}}},"finish_reason":null}}]}}"#)
}
