//! A body as a person reads it, the same for every dialect, and what one body has more than another.
use super::DemoError;
use super::wire;
use crate::dialect::{self, DialectId, NeutralMessage, NoCache, Reading};
use crate::json::Doc;
use bytes::Bytes;
use http::Method;

/// One line of a message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Line {
    /// Who speaks.
    pub(super) role: &'static str,
    /// The words.
    pub(super) text: String,
}

/// The body, line by line.
pub(super) fn lines(id: DialectId, body: &Bytes) -> Result<Vec<Line>, DemoError> {
    let dialect = dialect::of(id);
    let (path, query) = wire::target(id).split_once('?').unwrap_or((wire::target(id), ""));
    let doc = Doc::parse(body.clone())?;
    let Some(endpoint) = dialect.endpoint(&Method::POST, path, Some(query)) else { return Ok(Vec::new()) };
    let view = dialect.view(&doc, &endpoint, &Reading { is_reminder: &|_| false, cache: &NoCache })?;
    let request = dialect.neutral(&doc, &view);
    let system = request.system.iter().flat_map(|text| spoken("system", text));
    Ok(system.chain(request.messages.iter().flat_map(message)).collect())
}

/// The received lines, each with whether it was added on the way. Texts are only ever added, so what was sent is found
/// again in its order.
pub(super) fn compared(sent: &[Line], received: Vec<Line>) -> Vec<(bool, Line)> {
    let mut sent = sent.iter().peekable();
    received.into_iter().map(|line| (sent.next_if_eq(&&line).is_none(), line)).collect()
}

/// The words that were added on the way.
pub(super) fn added(dialect: DialectId, sent: &Bytes, received: &Bytes) -> Result<Vec<String>, DemoError> {
    let compared = compared(&lines(dialect, sent)?, lines(dialect, received)?);
    Ok(compared.into_iter().filter(|(added, _)| *added).map(|(_, line)| line.text).collect())
}

fn message(message: &NeutralMessage) -> Vec<Line> {
    let calls = message.tool_calls.iter().map(|call| format!("calls {} {}", call.name, call.input.get()));
    let calls = calls.map(|text| Line { role: message.role, text });
    let results = message.tool_results.iter().flat_map(|result| spoken("tool", &result.text));
    spoken(message.role, &message.text).chain(calls).chain(results).collect()
}

fn spoken<'a>(role: &'static str, text: &'a str) -> impl Iterator<Item = Line> + use<'a> {
    text.lines().filter(|line| !line.is_empty()).map(move |line| Line { role, text: line.to_owned() })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_sent_is_told_from_what_was_added() {
        let line = |role, text: &str| Line { role, text: text.into() };
        let sent = [line("system", "a"), line("user", "b")];
        let received = vec![line("system", "x"), line("system", "a"), line("user", "b"), line("user", "a")];
        let marks: Vec<bool> = compared(&sent, received).into_iter().map(|(added, _)| added).collect();
        assert_eq!(marks, [true, false, false, true]);
    }
}
