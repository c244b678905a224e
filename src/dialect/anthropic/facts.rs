//! What one message, or a run of assistant messages, says.
use super::block::{Block, blocks};
use crate::context::digest::NormalForm;
use crate::context::view::RoleOr;
use crate::context::{ItemFacts, Role};
use crate::dialect::object::Object;
use crate::json::ScanError;
use std::collections::HashSet;

/// The facts of messages that form one item; what can't be read is [`ItemFacts::broken`].
pub(super) fn facts(messages: &[&str], is_reminder: &dyn Fn(&str) -> bool) -> ItemFacts {
    let mut reader = FactsReader::default();
    for message in messages {
        if let Err(error) = reader.message(message, is_reminder) {
            return ItemFacts { broken: Some(error), ..ItemFacts::default() };
        }
    }
    reader.finish()
}

/// The number of cache markers on the blocks or tools of an array, as facts so that it can be remembered by its text.
pub(super) fn marker_facts(array: &str) -> ItemFacts {
    let mut facts = ItemFacts::default();
    for block in blocks(Some(array)) {
        match block {
            Ok(block) => count_marker(&mut facts, &block),
            Err(error) => return ItemFacts { broken: Some(error), ..ItemFacts::default() },
        }
    }
    facts
}

fn count_marker(facts: &mut ItemFacts, block: &Block<'_>) {
    facts.markers = facts.markers.saturating_add(u8::from(block.is_marked()));
}

#[derive(Default)]
struct FactsReader {
    facts: ItemFacts,
    form: NormalForm,
    /// Server tool uses whose results have not been seen.
    waiting: HashSet<String>,
}

impl FactsReader {
    fn message(&mut self, raw: &str, is_reminder: &dyn Fn(&str) -> bool) -> Result<(), ScanError> {
        let message = Object::parse(raw)?;
        let role = match message.string("role").as_deref() {
            Some("user") => Role::User,
            Some("assistant") => Role::Assistant,
            Some("system") => Role::System,
            _ => Role::Other,
        };
        self.facts.role = RoleOr(role);
        for (index, block) in blocks(message.get("content")).enumerate() {
            let block = block?;
            count_marker(&mut self.facts, &block);
            match role {
                Role::User => self.user_block(index, &block, is_reminder)?,
                Role::Assistant => self.assistant_block(&block),
                _ => {}
            }
        }
        Ok(())
    }

    fn user_block(
        &mut self,
        index: usize,
        block: &Block<'_>,
        is_reminder: &dyn Fn(&str) -> bool,
    ) -> Result<(), ScanError> {
        match block.kind.as_ref() {
            "text" => {
                let text = block.text();
                if is_reminder(&text) {
                    self.facts.reminders.push(index);
                } else {
                    self.form.text(&text);
                }
            }
            "tool_result" => self.tool_result(block)?,
            kind => {
                self.form.part("block", kind);
                block.entries().for_each(|(key, value)| self.form.part(key, value));
            }
        }
        Ok(())
    }

    fn tool_result(&mut self, block: &Block<'_>) -> Result<(), ScanError> {
        let id = block.string("tool_use_id").into_owned();
        self.form.part("result", &id);
        self.facts.results.push(id);
        for inner in blocks(block.get("content")) {
            let inner = inner?;
            count_marker(&mut self.facts, &inner);
            if inner.kind == "text" {
                self.form.text(&inner.text());
            }
        }
        Ok(())
    }

    fn assistant_block(&mut self, block: &Block<'_>) {
        match block.kind.as_ref() {
            "text" => self.form.text(&block.text()),
            "tool_use" => {
                let key = super::call_key(block);
                self.form.part("call", &key);
                self.facts.calls.push(key);
            }
            "thinking" => self.facts.signed |= block.has("signature"),
            "redacted_thinking" => self.facts.signed = true,
            "compaction" => self.facts.compaction = true,
            "server_tool_use" | "mcp_tool_use" => {
                self.waiting.insert(block.string("id").into_owned());
            }
            _ => {
                self.waiting.remove(block.string("tool_use_id").as_ref());
            }
        }
    }

    /// A user message with results is a reply, whatever text stands behind them: no prompt.
    fn finish(mut self) -> ItemFacts {
        self.facts.link = self.form.digest();
        self.facts.server_pending = !self.waiting.is_empty();
        if self.facts.role.0 == Role::User {
            match self.facts.results.is_empty() {
                true => self.facts.prompt = self.facts.link,
                false => self.facts.role = RoleOr(Role::Tool),
            }
        }
        self.facts
    }
}
