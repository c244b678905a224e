//! What became of a request, held against what must.
use crate::cli::rehearsal::reading::{self, Seen};
use crate::cli::rehearsal::runs::{HookRun, RunResult, runs};
use crate::cli::rehearsal::{Exchange, Received};
use crate::config::Config;
use crate::config::case::{BodyPlace, Expect, Holds, HookFate};
use crate::hooks::Sight;
use serde_json::Value;
use std::collections::BTreeMap;
use std::fmt::{Debug, Display};

/// Longest part of a text that a failure shows, in characters: enough to see what it is.
const SHOWN: usize = 400;

/// Something that is not as expected.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Failure {
    /// Which request of the case, from 1.
    pub(super) turn: usize,
    /// What.
    pub(super) what: String,
    /// What was expected.
    pub(super) expected: String,
    /// What came.
    pub(super) came: String,
}

/// Collects what is not as expected.
struct Judge<'a> {
    exchange: &'a Exchange,
    /// Of the client's request.
    client: Option<Seen>,
    /// Of the first request that went up.
    up: Option<Seen>,
    /// The bodies that went up.
    bodies: Vec<Value>,
    runs: Vec<HookRun>,
    failures: Vec<Failure>,
}

/// Everything that is not as expected.
pub(super) fn judge(
    config: &Config,
    expect: &Expect,
    exchange: &Exchange,
    slots: &BTreeMap<String, String>,
) -> Vec<Failure> {
    let up = exchange.received.first().and_then(|up| Seen::of(&up.path, &up.body));
    let json = |received: &Received| serde_json::from_slice(&received.body).unwrap_or_default();
    let mut judge = Judge {
        client: Seen::of(&exchange.asked.path, &exchange.asked.body),
        up,
        bodies: exchange.received.iter().map(json).collect(),
        runs: runs(config, &exchange.sights),
        exchange,
        failures: Vec::new(),
    };
    judge.passage(expect);
    judge.bodies(expect);
    judge.model(expect);
    judge.answer(expect);
    judge.hooks(expect);
    judge.session(expect, slots);
    judge.failures
}

impl Judge<'_> {
    fn fail(&mut self, what: impl Into<String>, expected: impl Into<String>, came: impl Into<String>) {
        self.failures.push(Failure { turn: 1, what: what.into(), expected: expected.into(), came: came.into() });
    }

    fn same<T: PartialEq + Debug>(&mut self, what: &str, expected: &Option<T>, came: &T) {
        if let Some(expected) = expected.as_ref().filter(|expected| *expected != came) {
            self.fail(what, format!("{expected:?}"), format!("{came:?}"));
        }
    }

    /// Whether it goes up, how often, and what the gateway itself says.
    fn passage(&mut self, expect: &Expect) {
        self.same("requests", &expect.requests, &self.exchange.received.len());
        let came = self.exchange.error.clone().unwrap_or_else(|| "no error".to_owned());
        match &expect.error {
            Some(code) => self.same("error", &Some(code.clone()), &came),
            None if self.exchange.error.is_some() => {
                let said = shown(&String::from_utf8_lossy(&self.exchange.answer));
                self.fail("error", "none", format!("{came}: {said}"));
            }
            None => {}
        }
        let Some(reason) = &expect.blocked else { return };
        let words = self.words();
        if !self.exchange.received.is_empty() {
            self.fail("blocked", reason, "it went up");
        } else if !words.contains(reason.as_str()) {
            self.fail("blocked", reason, shown(&words));
        }
    }

    /// What goes up.
    fn bodies(&mut self, expect: &Expect) {
        for place in &expect.body {
            self.place(place);
        }
        for text in &expect.contains {
            if !self.bodies.iter().any(|body| find(body, text).is_some()) {
                let came = self.bodies.iter().map(|body| cut(&body.to_string())).collect::<Vec<_>>().join(" and ");
                self.fail("contains", text, if came.is_empty() { "nothing went up".to_owned() } else { came });
            }
        }
        for text in &expect.lacks {
            if let Some(at) = self.bodies.iter().find_map(|body| find(body, text)) {
                self.fail("lacks", format!("no {text:?}"), format!("it is at {at}"));
            }
        }
        if let Some(expected) = expect.unchanged {
            let came = self.exchange.received.first().is_some_and(|up| up.body == self.exchange.asked.body);
            self.same("unchanged", &Some(expected), &came);
        }
    }

    fn place(&mut self, BodyPlace { at, request, holds }: &BodyPlace) {
        let what = format!("body {at}");
        let Some(body) = self.bodies.get(*request) else {
            return self.fail(what, format!("request {}", request + 1), format!("{} went up", self.bodies.len()));
        };
        let came = body.pointer(at);
        let show = came.map_or_else(|| "nothing".to_owned(), |value| cut(&value.to_string()));
        match holds {
            Holds::Equals(value) if came != Some(value) => self.fail(what, value.to_string(), show),
            Holds::Contains(text) if came.and_then(|value| find(value, text)).is_none() => self.fail(what, text, show),
            Holds::Nothing if came.is_some() => self.fail(what, "nothing", show),
            _ => {}
        }
    }

    /// Who is asked, with which tools and headers.
    fn model(&mut self, expect: &Expect) {
        let tools = self.up.as_ref().map(Seen::tools).unwrap_or_default();
        self.same("tools", &expect.tools, &tools);
        let model = self.up.as_ref().and_then(|up| up.view.model.clone()).unwrap_or_else(|| "none".to_owned());
        self.same("model", &expect.model, &model);
        for (name, expected) in &expect.headers {
            let up = self.exchange.received.first();
            let value = up.and_then(|up| up.headers.get(name.as_str()));
            let came = value.map(|value| String::from_utf8_lossy(value.as_bytes()).into_owned());
            if came != *expected {
                let show = |value: &Option<String>| value.clone().unwrap_or_else(|| "absent".to_owned());
                self.fail(format!("header {name}"), show(expected), show(&came));
            }
        }
    }

    /// What the client reads.
    fn answer(&mut self, expect: &Expect) {
        let words = self.words();
        for text in expect.answer_contains.iter().filter(|text| !words.contains(text.as_str())) {
            self.fail("answer", text, shown(&words));
        }
        for text in expect.answer_lacks.iter().filter(|text| words.contains(text.as_str())) {
            self.fail("answer", format!("no {text:?}"), shown(&words));
        }
    }

    /// What became of hooks.
    fn hooks(&mut self, expect: &Expect) {
        for (hook, fates) in &expect.hooks {
            let came: Vec<HookRun> = self.runs.iter().filter(|run| run.hook == *hook).cloned().collect();
            let missing = fates.iter().find(|fate| !is_fate(**fate, &came));
            if let Some(fate) = missing {
                let runs = came.iter().map(|run| format!("{} on {}{}", run.result.word(), run.event, why(run)));
                let runs = runs.collect::<Vec<_>>().join(", ");
                let came = if runs.is_empty() { "not_asked".to_owned() } else { runs };
                self.fail(format!("hook {hook}"), fate.word(), came);
            }
        }
        let surprises: Vec<HookRun> = self.runs.iter().filter(|run| run.result == RunResult::Failed).cloned().collect();
        for run in surprises.iter().filter(|run| !expect.hooks.contains_key(&run.hook)) {
            self.fail(format!("hook {}", run.hook), "no failure", format!("failed on {}{}", run.event, why(run)));
        }
        for (hook, expected) in &expect.edits {
            let own = self.runs.iter().filter(|run| run.hook == *hook);
            let came: Vec<String> = own.flat_map(|run| run.edits.iter().map(|op| (*op).to_owned())).collect();
            self.same(&format!("edits of {hook}"), &Some(expected.clone()), &came);
        }
    }

    /// What is left of it.
    fn session(&mut self, expect: &Expect, slots: &BTreeMap<String, String>) {
        let spent = self.exchange.sights.iter().filter_map(|sight| match sight {
            Sight::Budget(spending) => Some(spending.used),
            _ => None,
        });
        let spent: usize = spent.sum();
        if let Some(most) = expect.budget.filter(|most| spent > *most) {
            self.fail("budget", format!("at most {most}"), spent.to_string());
        }
        for (slot, expected) in &expect.slots {
            let came = slots.get(slot).cloned();
            if came != *expected {
                let show = |text: &Option<String>| text.as_deref().map_or_else(|| "nothing".to_owned(), shown);
                self.fail(format!("slot {slot}"), show(expected), show(&came));
            }
        }
    }

    /// The words that the client reads; of an error, or of another answer without words, its body.
    fn words(&self) -> String {
        let answer = &self.exchange.answer;
        let client = self.client.as_ref().filter(|_| self.exchange.error.is_none());
        let words = client.map(|client| reading::words(client.dialect, client.view.form, answer)).unwrap_or_default();
        if words.is_empty() { String::from_utf8_lossy(answer).into_owned() } else { words }
    }
}

fn is_fate(fate: HookFate, runs: &[HookRun]) -> bool {
    let is = |result: RunResult| runs.iter().any(|run| run.result == result);
    match fate {
        HookFate::Ran => is(RunResult::Ran),
        HookFate::Skipped => is(RunResult::Skipped),
        HookFate::Failed => is(RunResult::Failed),
        HookFate::Audited => is(RunResult::Audited),
        HookFate::NotAsked => runs.is_empty(),
    }
}

fn why(run: &HookRun) -> String {
    run.reason.as_ref().map(|reason| format!(" ({reason})")).unwrap_or_default()
}

/// Where in this value a text or a key holds `text`, as a JSON pointer.
fn find(value: &Value, text: &str) -> Option<String> {
    let within = |at: &dyn Display, value: &Value| find(value, text).map(|rest| format!("/{at}{rest}"));
    match value {
        Value::String(own) => own.contains(text).then(String::new),
        Value::Array(list) => list.iter().enumerate().find_map(|(index, value)| within(&index, value)),
        Value::Object(members) => members
            .iter()
            .find_map(|(key, value)| if key.contains(text) { Some(format!("/{key}")) } else { within(key, value) }),
        other => other.to_string().contains(text).then(String::new),
    }
}

/// A text in quotes, no longer than somebody wants to read.
fn shown(text: &str) -> String {
    format!("{:?}", cut(text))
}

fn cut(text: &str) -> String {
    match text.char_indices().nth(SHOWN) {
        Some((end, _)) => format!("{}...", &text[..end]),
        None => text.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_text_is_found_as_it_reads_and_not_as_it_is_escaped() {
        let body = json!({"messages": [{"content": "say \"hi\"\nnow", "n": 12}]});
        for (text, expected) in [
            ("say \"hi\"\nnow", Some("/messages/0/content")),
            ("\\n", None),
            ("content", Some("/messages/0/content")),
            ("12", Some("/messages/0/n")),
            ("x", None),
        ] {
            assert_eq!(find(&body, text).as_deref(), expected, "{text:?}");
        }
    }
}
