//! `hookgate sessions watch`: what happens in a running gateway, one line per event.
use super::admin_client::{AdminClient, AdminError};
use super::table::cell;
use super::{CliError, print};
use crate::sse::Framer;
use bytes::Bytes;
use jiff::Timestamp;
use reqwest::Response;
use serde_json::{Value, json};
use std::io::{self, Write as _};

/// Where the time of day stands in RFC 3339.
const TIME_OF_DAY: std::ops::Range<usize> = 11..19;
/// In microseconds; from here on seconds are shown.
const SECOND: u64 = 1_000_000;
/// In microseconds; from here on milliseconds are shown.
const MILLISECOND: u64 = 1000;

/// Prints what happens, of one session or of all, until the gateway ends the stream.
pub(super) async fn watch(client: &AdminClient, session: Option<&str>, as_json: bool) -> Result<(), CliError> {
    let query: Vec<_> = session.iter().map(|session| ("session", *session)).collect();
    loop {
        let mut answer = client.follow(&["v1", "events"], &query).await?;
        let (mut framer, mut lines, mut missed) = (Framer::new(), Vec::new(), false);
        while let Some(bytes) = next(&mut answer).await? {
            framer.push(&bytes, |frame| match frame.event.and_then(|name| str::from_utf8(name).ok()) {
                Some("missed") => missed = true,
                name => lines.extend(line(name.unwrap_or_default(), &frame.data, as_json)),
            });
            lines.drain(..).try_for_each(print)?;
        }
        if !missed {
            return Ok(());
        }
        writeln!(io::stderr(), "some events were missed: they came faster than they were read")?;
    }
}

async fn next(answer: &mut Response) -> Result<Option<Bytes>, AdminError> {
    let chunk = answer.chunk().await;
    chunk.map_err(|source| AdminError::lost(answer, source))
}

fn line(name: &str, data: &[u8], as_json: bool) -> Option<String> {
    let mut data: Value = serde_json::from_slice(data).ok()?;
    if as_json {
        let event = [("event".to_owned(), json!(name))];
        let members = data.as_object_mut().map(std::mem::take)?;
        // An event's own member of that name is the hook's, inside of `run`.
        return Some(Value::Object(event.into_iter().chain(members).collect()).to_string());
    }
    let now = Timestamp::now().to_string();
    let time = now.get(TIME_OF_DAY).unwrap_or_default();
    let whose = match data.get("session") {
        Some(_) => format!("{}/{}", cell(data.get("session")), cell(data.get("agent"))),
        None => "-".to_owned(),
    };
    Some(format!("{time}  {whose}  {}", words(name, &data)).replace('\n', " "))
}

fn words(name: &str, data: &Value) -> String {
    let said = |member: &str| cell(data.get(member));
    match name {
        "request" => request(data),
        "hook" => data.get("run").map(hook).unwrap_or_default(),
        "message" => format!("message {} {}", said("id"), said("state")),
        "context" => format!("context {} changed by hand", said("slot")),
        "session" => format!("session {}", said("state")),
        "proposal" => format!("proposal {}", said("id")),
        "config" if data.get("last_refused").is_some_and(Value::is_string) => {
            format!("configuration {}, last reload refused at {}", said("version"), said("last_refused"))
        }
        "config" => format!("configuration {}", said("version")),
        other => other.to_owned(),
    }
}

fn request(data: &Value) -> String {
    let said = |member: &str| cell(data.get(member));
    let number = |member: &str| data.get(member).and_then(Value::as_u64);
    let after = |member: &str| number(member).map(|us| format!(" after {}", duration(us))).unwrap_or_default();
    match (data.get("state").and_then(Value::as_str), number("sent")) {
        (Some("asking"), None) => {
            let (step, model) = (said("step"), said("model"));
            let messages = counted(number("items").unwrap_or_default(), "message");
            format!("request {} {step} to {model}, {messages}, {}", said("id"), size(number("received")))
        }
        (Some("asking"), Some(sent)) => {
            let texts = match number("standing") {
                Some(0) | None => String::new(),
                Some(texts) => {
                    let characters = counted(number("standing_chars").unwrap_or_default(), "character");
                    format!(", {} of hooks ({characters})", counted(texts, "text"))
                }
            };
            format!("up, turn {}{}, {}{texts}{}", said("turn"), after("prepared_us"), size(Some(sent)), cache(data))
        }
        (Some("answering"), _) => {
            match data.get("continuations").and_then(Value::as_array).and_then(|all| all.last()) {
                Some(last) => format!("goes on by {}", cell(last.get("by"))),
                None => format!("answer {}{}", said("status"), after("answered_us")),
            }
        }
        _ => ended(data),
    }
}

fn ended(data: &Value) -> String {
    let said = |member: &str| cell(data.get(member));
    let mut words = vec![said("outcome")];
    let listed = |member: &str| {
        let all = data.get(member).and_then(Value::as_array)?;
        Some(all.iter().map(|one| cell(Some(one))).collect::<Vec<_>>().join(", "))
    };
    words.extend(["reason", "error"].into_iter().filter(|name| data.get(name).is_some_and(Value::is_string)).map(said));
    words.extend(data.get("usage").filter(|usage| usage.is_object()).map(|usage| {
        let count = |member: &str| cell(usage.get(member));
        format!("tokens {} in, {} cached, {} out", count("input"), count("cached_input"), count("output"))
    }));
    words.extend(listed("calls").map(|calls| format!("calls {calls}")));
    words.extend(listed("messages").map(|ids| format!("delivered {ids}")));
    words.extend(data.get("took_us").and_then(Value::as_u64).map(duration));
    words.join(", ")
}

/// What of the provider's cache is lost at hooks' texts.
fn cache(data: &Value) -> String {
    let broken = data.get("cache").and_then(|cache| cache.get("broken_by")).and_then(Value::as_array);
    broken.map_or_else(String::new, |hooks| {
        let hooks: Vec<_> = hooks.iter().map(|hook| cell(Some(hook))).collect();
        format!(", cache broken by {}", hooks.join(", "))
    })
}

fn hook(run: &Value) -> String {
    let said = |member: &str| cell(run.get(member));
    let took = duration(run.get("took_us").and_then(Value::as_u64).unwrap_or_default());
    let mut words = format!("hook {} {} {} {took}", said("hook"), said("event"), said("result"));
    if run.get("audit").is_some() {
        words += " (audit)";
    }
    if run.get("failure").is_some() {
        words += &format!(": {}", said("failure"));
    }
    let edits = run.get("edits").and_then(Value::as_array).into_iter().flatten().map(|edit| cell(edit.get("op")));
    let effects = run.get("effects").and_then(Value::as_array).into_iter().flatten().map(|effect| cell(Some(effect)));
    let effects = effects.filter(|effect| effect != "edits").map(|effect| match effect.as_str() {
        "context" => format!("context ({} characters)", said("context_chars")),
        _ => effect,
    });
    let did: Vec<_> = effects.chain(edits).collect();
    if did.is_empty() { words } else { format!("{words}: {}", did.join(", ")) }
}

fn counted(number: u64, what: &str) -> String {
    format!("{number} {what}{}", if number == 1 { "" } else { "s" })
}

#[allow(clippy::cast_precision_loss, reason = "a figure for people")]
fn duration(us: u64) -> String {
    match us {
        0..MILLISECOND => format!("{us} us"),
        MILLISECOND..SECOND => format!("{} ms", us / MILLISECOND),
        _ => format!("{:.1} s", us as f64 / SECOND as f64),
    }
}

#[allow(clippy::cast_precision_loss, reason = "a figure for people")]
fn size(bytes: Option<u64>) -> String {
    match bytes.unwrap_or_default() {
        bytes @ 0..1000 => format!("{bytes} bytes"),
        bytes @ 1000..1_000_000 => format!("{:.1} kB", bytes as f64 / 1e3),
        bytes => format!("{:.1} MB", bytes as f64 / 1e6),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(name: &str, data: &Value) -> String {
        let line = line(name, data.to_string().as_bytes(), false).unwrap();
        line.split_once("  ").unwrap().1.to_owned()
    }

    #[test]
    fn every_event_is_one_line() {
        let asking = json!({"session": "s", "agent": "main", "id": "hg_1", "state": "asking", "step": "prompt", "turn": 0,
            "model": "m\u{1b}[2J", "items": 3, "received": 4200, "sent": null});
        let mut up = asking.clone();
        up["sent"] = json!(4300);
        up["turn"] = json!(2);
        up["prepared_us"] = json!(1500);
        up["standing"] = json!(1);
        up["standing_chars"] = json!(40);
        up["cache"] = json!({"broken_by": ["a", "b"]});
        let mut answering = up.clone();
        answering["state"] = json!("answering");
        answering["status"] = json!(200);
        answering["answered_us"] = json!(2_300_000);
        let mut going_on = answering.clone();
        going_on["continuations"] = json!([{"by": "hook"}]);
        let mut done = up.clone();
        done["state"] = json!("done");
        done["outcome"] = json!("completed");
        done["usage"] = json!({"input": 1, "cached_input": 2, "output": 3});
        done["messages"] = json!(["m1"]);
        done["took_us"] = json!(900);
        let run = json!({"hook": "h", "event": "prompt.submit", "result": "ok", "took_us": 12, "effects": ["context", "edits"],
            "context_chars": 7, "edits": [{"op": "tools.remove"}]});
        for (name, data, expected) in [
            ("request", asking, "s/main  request hg_1 prompt to m\u{fffd}[2J, 3 messages, 4.2 kB"),
            (
                "request",
                up,
                "s/main  up, turn 2 after 1 ms, 4.3 kB, 1 text of hooks (40 characters), cache broken by a, b",
            ),
            ("request", answering, "s/main  answer 200 after 2.3 s"),
            ("request", going_on, "s/main  goes on by hook"),
            ("request", done, "s/main  completed, tokens 1 in, 2 cached, 3 out, delivered m1, 900 us"),
            (
                "hook",
                json!({"session": "s", "agent": "qa", "run": run}),
                "s/qa  hook h prompt.submit ok 12 us: context (7 characters), tools.remove",
            ),
            (
                "message",
                json!({"session": "s", "agent": "qa", "id": "m1", "state": "queued"}),
                "s/qa  message m1 queued",
            ),
            ("config", json!({"version": 2, "last_refused": null}), "-  configuration 2"),
            ("proposal", json!({"id": "p1"}), "-  proposal p1"),
        ] {
            assert_eq!(shown(name, &data), expected);
        }
    }

    #[test]
    fn json_lines_name_their_event() {
        let line = line("message", br#"{"session":"s","id":"m"}"#, true).unwrap();
        assert_eq!(line, r#"{"event":"message","session":"s","id":"m"}"#);
    }
}
