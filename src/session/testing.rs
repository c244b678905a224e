//! Histories for tests, without a wire format.
use crate::context::view::RoleOr;
use crate::context::{AnswerForm, Digest, Item, ItemFacts, Operation, RequestView, Role, Step};
use crate::json::Span;

/// A digest by a name.
pub(super) fn digest(name: &str) -> Digest {
    Digest::of(&[name.as_bytes()])
}

fn item(role: Role, link: Digest, more: impl FnOnce(&mut ItemFacts)) -> ItemFacts {
    let mut facts = ItemFacts { role: RoleOr(role), link: Some(link), ..ItemFacts::default() };
    more(&mut facts);
    facts
}

/// The user's words.
pub(super) fn prompt(words: &str) -> ItemFacts {
    item(Role::User, digest(words), |facts| facts.prompt = facts.link)
}

/// The model's words and calls.
pub(super) fn reply(words: &str, calls: &[&str]) -> ItemFacts {
    let link = digest(&format!("{words} {calls:?}"));
    item(Role::Assistant, link, |facts| facts.calls = calls.iter().map(|call| (*call).to_owned()).collect())
}

/// The model's words, bound to what stands before them.
pub(super) fn signed(words: &str) -> ItemFacts {
    ItemFacts { signed: true, ..reply(words, &[]) }
}

/// Results of calls.
pub(super) fn result(calls: &[&str]) -> ItemFacts {
    let link = digest(&format!("results of {calls:?}"));
    item(Role::Tool, link, |facts| facts.results = calls.iter().map(|call| (*call).to_owned()).collect())
}

/// Something that leaves no trace.
pub(super) fn instructions() -> ItemFacts {
    ItemFacts { role: RoleOr(Role::System), ..ItemFacts::default() }
}

/// A request with this history.
pub(super) fn view(history: Vec<ItemFacts>) -> RequestView {
    let step = match history.iter().enumerate().next_back() {
        Some((item, facts)) if facts.prompt.is_some() => Step::Prompt { item },
        Some((item, facts)) if facts.role.0 == Role::Tool => Step::Tool { item },
        Some(_) => Step::Resume,
        None => Step::Empty,
    };
    let items = history.into_iter().enumerate();
    RequestView {
        operation: Operation::Generate,
        model: None,
        form: AnswerForm::Json,
        system: vec![],
        system_open: true,
        items: items
            .map(|(at, facts)| Item { span: Span::new(at, at + 1), elements: at..at + 1, facts: facts.into() })
            .collect(),
        step,
        has_tools: false,
        max_tokens: None,
        asks_reasoning: false,
        structured: false,
        markers: 0,
        delta: None,
        protected: 0,
        choices: 1,
    }
}
