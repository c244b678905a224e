//! What was seen, for people.
use super::conversation::{Conversation, Exchange, Turn};
use super::house::HOOKS;
use super::transcript::{self, Line};
use super::{DemoError, wire};
use crate::dialect::DialectId;
use serde_json::Value;

const GREEN: &str = "\x1b[32m";
const BOLD: &str = "\x1b[1m";
const PLAIN: &str = "\x1b[0m";

/// Wide enough for the longest role.
const ROLE_WIDTH: usize = 9;

/// Collects lines, with colours where they are wanted.
struct Page {
    lines: Vec<String>,
    colourful: bool,
}

/// The whole conversation.
pub(super) fn text(seen: &Conversation, colourful: bool) -> Result<String, DemoError> {
    let mut page = Page { lines: Vec::new(), colourful };
    page.painted(BOLD, format!("# {}: POST {}", seen.dialect.name(), wire::target(seen.dialect)));
    page.line("");
    HOOKS.lines().for_each(|line| page.line(format!("    {line}")));
    for (number, turn) in (1..).zip(&seen.turns) {
        page.turn(seen.dialect, number, turn)?;
    }
    page.line("");
    Ok(page.lines.join("\n"))
}

impl Page {
    fn line(&mut self, line: impl Into<String>) {
        self.lines.push(line.into());
    }

    fn painted(&mut self, colour: &str, line: String) {
        self.lines.push(if self.colourful { format!("{colour}{line}{PLAIN}") } else { line });
    }

    fn turn(&mut self, dialect: DialectId, number: usize, turn: &Turn) -> Result<(), DemoError> {
        for (step, exchange) in (1..).zip(&turn.exchanges) {
            self.line("");
            self.painted(BOLD, format!("## Turn {number}, request {step}"));
            self.exchange(dialect, exchange)?;
        }
        self.line("");
        self.line("The turn is complete. session.stop was told");
        let told = |key: &str| turn.stop.pointer(key).and_then(Value::as_str).unwrap_or("nothing");
        self.line(format!("      finish_reason {}", told("/turn/finish_reason")));
        self.line(format!("      text          {}", told("/turn/text")));
        self.line("and the session now holds");
        turn.stored.iter().for_each(|(slot, text)| self.painted(GREEN, format!("      {slot}: {text}")));
        Ok(())
    }

    fn exchange(&mut self, dialect: DialectId, seen: &Exchange) -> Result<(), DemoError> {
        let sent = transcript::lines(dialect, &seen.sent)?;
        let received = transcript::compared(&sent, transcript::lines(dialect, &seen.received)?);
        self.line(format!("The client sent {} bytes:", seen.sent.len()));
        self.transcript(sent.into_iter().map(|line| (false, line)));
        self.line(format!("The provider received {} bytes, + is what hooks added:", seen.received.len()));
        self.transcript(received);
        match seen.answer.calls.first() {
            Some(call) => self.line(format!("The model called {} {}", call.name, call.input.get())),
            None => self.line(format!("The model answered: {}", seen.answer.text)),
        }
        Ok(())
    }

    fn transcript(&mut self, lines: impl IntoIterator<Item = (bool, Line)>) {
        let mut speaker = "";
        for (added, Line { role, text }) in lines {
            let name = if role == speaker { "" } else { role };
            speaker = role;
            match added {
                true => self.painted(GREEN, format!("    + {name:ROLE_WIDTH$}  {text}")),
                false => self.line(format!("      {name:ROLE_WIDTH$}  {text}")),
            }
        }
    }
}
