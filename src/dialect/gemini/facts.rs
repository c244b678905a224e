//! What one content, or a run of model contents, says.
use super::part::{Part, PartKind, parts};
use crate::context::answer::call_key;
use crate::context::digest::NormalForm;
use crate::context::view::RoleOr;
use crate::context::{ItemFacts, Role};
use crate::dialect::object::Object;
use crate::json::ScanError;
use std::collections::HashSet;

/// The facts of contents that form one item; what can't be read is [`ItemFacts::broken`].
pub(super) fn facts(contents: &[&str], is_reminder: &dyn Fn(&str) -> bool) -> ItemFacts {
    let mut facts = ItemFacts::default();
    let mut form = NormalForm::new();
    for content in contents {
        if let Err(error) = read(content, is_reminder, &mut facts, &mut form) {
            return ItemFacts { broken: Some(error), ..ItemFacts::default() };
        }
    }
    facts.link = form.digest();
    if facts.role.0 == Role::User {
        // A content with responses is a reply, whatever text stands behind them: no prompt.
        match facts.results.is_empty() {
            true => facts.prompt = facts.link,
            false => facts.role = RoleOr(Role::Tool),
        }
    }
    facts
}

fn read(
    raw: &str,
    is_reminder: &dyn Fn(&str) -> bool,
    facts: &mut ItemFacts,
    form: &mut NormalForm,
) -> Result<(), ScanError> {
    let content = Object::parse_proto(raw)?;
    let role = match content.string("role").as_deref() {
        // A content without a role is the user's; `function` is the older role of responses.
        None | Some("user" | "function" | "") => Role::User,
        Some("model") => Role::Assistant,
        Some(_) => Role::Other,
    };
    facts.role = RoleOr(role);
    // Gemini CLI 0.61.0 repeats responses when it resumes a session, once more with every resume.
    let mut responses = HashSet::new();
    for (index, part) in parts(&content).enumerate() {
        let part = part?;
        facts.signed |= part.is_signed();
        match role {
            Role::User if part.response().is_some_and(|response| !responses.insert(response)) => {}
            Role::User => user_part(index, &part, is_reminder, facts, form),
            Role::Assistant => model_part(&part, facts, form),
            _ => {}
        }
    }
    Ok(())
}

fn user_part(
    index: usize,
    part: &Part<'_>,
    is_reminder: &dyn Fn(&str) -> bool,
    facts: &mut ItemFacts,
    form: &mut NormalForm,
) {
    match &part.kind {
        PartKind::Text(text) if is_reminder(text) => facts.reminders.push(index),
        PartKind::Text(text) => form.text(text),
        PartKind::Response(response) => {
            form.part("result", &response.id);
            form.text(&response.text);
            facts.results.push(response.id.clone().into_owned());
        }
        PartKind::Thought | PartKind::Call(_) => {}
        PartKind::Other => part.entries().for_each(|(key, value)| form.part(key, value)),
    }
}

fn model_part(part: &Part<'_>, facts: &mut ItemFacts, form: &mut NormalForm) {
    match &part.kind {
        PartKind::Text(text) => form.text(text),
        PartKind::Call(call) => {
            // Gemini CLI gives ids to calls that have none, the AI SDK leaves those away that calls have.
            let key = call_key("", &call.name, call.args);
            form.part("call", &key);
            facts.calls.push(key);
        }
        PartKind::Thought | PartKind::Response(_) | PartKind::Other => {}
    }
}
