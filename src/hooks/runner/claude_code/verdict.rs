//! What all handlers of one event say together, as an outcome of the hook.
use super::moment::Moment;
use super::said::{Permission, Said};
use crate::config::claude_code::{ClaudeEvent, OnAsk};
use crate::hooks::{Outcome, Parsed};

/// The reason of a call that is refused without one.
const NO_CALL_REASON: &str = "A hook refused this tool call.";

/// The reason of a call that somebody would have to be asked about.
const NOBODY_TO_ASK: &str = "This tool call needs a confirmation, and nobody can be asked for one here.";

/// Puts together what was said, in the order of the settings.
pub(super) fn of(moment: &Moment<'_>, said: Vec<Said>, on_ask: OnAsk) -> Parsed {
    let mut parsed = Parsed::default();
    let warn = |parsed: &mut Parsed, what: &str| {
        parsed.warnings.push(format!("{} has no effect on {}", what, moment.event.name()))
    };
    let halt = said.iter().find_map(|one| one.halt.clone());
    match moment.event {
        ClaudeEvent::UserPromptSubmit | ClaudeEvent::PostToolBatch => {
            parsed.outcome.block = said.iter().find_map(|one| one.block.clone()).or_else(|| halt.clone());
        }
        ClaudeEvent::Stop | ClaudeEvent::SubagentStop => {
            parsed.outcome.veto = halt.is_some();
            let messages = said.iter().flat_map(|one| one.block.iter().chain(&one.context)).map(String::as_str);
            let message = messages.collect::<Vec<_>>().join("\n\n");
            parsed.outcome.continue_with = Some(message).filter(|message| !message.is_empty());
            return parsed;
        }
        ClaudeEvent::PreToolUse => {
            call(moment, &said, on_ask, halt, &mut parsed.outcome);
            parsed.outcome.context = said.into_iter().flat_map(|one| one.context).collect();
            return parsed;
        }
        ClaudeEvent::PostToolUse => {
            let is_mcp = moment.tool_name().starts_with("mcp__");
            if !is_mcp && said.iter().any(|one| one.mcp_result.is_some()) {
                parsed.warnings.push("updatedMCPToolOutput is for MCP tools only".to_owned());
            }
            let given = |one: &Said| one.result.clone().or(one.mcp_result.clone().filter(|_| is_mcp));
            parsed.outcome.tool.result = said.iter().rev().find_map(given);
        }
        _ => {}
    }
    if halt.is_some() && parsed.outcome.block.is_none() {
        warn(&mut parsed, "continue: false");
    }
    parsed.outcome.context = said.into_iter().flat_map(|one| one.context).collect();
    parsed
}

/// Whether a call is made, and with what. All is to stop: the nearest that a gateway can do is not to let the call through.
fn call(moment: &Moment<'_>, said: &[Said], on_ask: OnAsk, halt: Option<String>, outcome: &mut Outcome) {
    let given = said.iter().filter_map(|one| one.permission.as_ref());
    let strictest = given.clone().map(|(permission, _)| *permission).max();
    let reasons =
        given.filter(|(permission, _)| Some(*permission) == strictest).filter_map(|(_, reason)| reason.as_deref());
    let reason = reasons.collect::<Vec<_>>().join("\n");
    let or = |text: &str| if reason.is_empty() { text.to_owned() } else { reason.clone() };
    let deny = match strictest {
        Some(Permission::Deny) => Some(or(NO_CALL_REASON)),
        Some(Permission::Ask | Permission::Defer) if on_ask == OnAsk::Deny => Some(or(NOBODY_TO_ASK)),
        _ => halt,
    };
    if deny.is_none() {
        let last = said.iter().rev().find_map(|one| one.input.clone());
        outcome.tool.input = last.map(|input| moment.given_back(input));
    }
    outcome.tool.deny = deny;
}

#[cfg(test)]
mod tests;
