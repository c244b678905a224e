//! What a condition demands before anything else: the comparisons that it begins with, as in `session.agent == "qa" && …`.
//!
//! A configuration may hold a thousand rules of which a handful concern a request. Comparing a text with a text takes
//! nanoseconds; the interpreter is asked only where all of them hold. CEL evaluates `&&` from the left and takes false for
//! its value as soon as the left side is false, so that the answer is the same. Only facts that every event has are
//! compared here: what may be undefined is an error of the hook, and the interpreter's to find.
use crate::hooks::contract::Event;
use cel::common::ast::operators::{EQUALS, IN, LOGICAL_AND, NOT_EQUALS};
use cel::common::ast::{Expr, IdedExpr, LiteralValue};

/// The comparisons that a condition begins with.
#[derive(Debug)]
pub(super) struct Guards {
    list: Vec<Guard>,
    /// The condition is nothing else.
    whole: bool,
}

#[derive(Debug)]
struct Guard {
    fact: Fact,
    /// The texts that it is compared with.
    texts: Vec<String>,
    /// Whether it has to be one of them, or none.
    among: bool,
}

/// A text that every event has.
#[derive(Debug, Clone, Copy)]
enum Fact {
    Event,
    Session,
    Agent,
    Requested,
    Resolved,
    Family,
    Dialect,
    Upstream,
}

impl Guards {
    /// Those of a compiled condition.
    pub(super) fn of(condition: &IdedExpr) -> Self {
        let mut list = Vec::new();
        let whole = collect(condition, &mut list);
        Self { list, whole }
    }

    /// Whether the condition holds; `None` where the interpreter has to say.
    pub(super) fn decide(&self, event: &Event) -> Option<bool> {
        let passes = self.list.iter().all(|guard| {
            let fact = guard.fact.of(event);
            guard.texts.iter().any(|text| text == fact) == guard.among
        });
        (self.whole || !passes).then_some(passes)
    }
}

/// Takes comparisons from the left; `false` at the first term that is none.
fn collect(tree: &IdedExpr, guards: &mut Vec<Guard>) -> bool {
    let Expr::Call(call) = &tree.expr else { return false };
    let [left, right] = call.args.as_slice() else { return false };
    if call.func_name == LOGICAL_AND {
        return collect(left, guards) && collect(right, guards);
    }
    let compared = match call.func_name.as_str() {
        EQUALS | NOT_EQUALS => Fact::named(left).zip(text(right)).or_else(|| Fact::named(right).zip(text(left))),
        IN => Fact::named(left).zip(texts(right)),
        _ => None,
    };
    let Some((fact, texts)) = compared else { return false };
    guards.push(Guard { fact, texts, among: call.func_name != NOT_EQUALS });
    true
}

/// The text that an expression is.
fn text(tree: &IdedExpr) -> Option<Vec<String>> {
    match &tree.expr {
        Expr::Literal(LiteralValue::String(text)) => Some(vec![text.inner().to_owned()]),
        _ => None,
    }
}

/// The texts that a list holds.
fn texts(tree: &IdedExpr) -> Option<Vec<String>> {
    match &tree.expr {
        Expr::List(list) if list.optional_indices.is_empty() => {
            let texts = list.elements.iter().map(text).collect::<Option<Vec<_>>>()?;
            Some(texts.concat())
        }
        _ => None,
    }
}

impl Fact {
    /// The fact that an expression names.
    fn named(tree: &IdedExpr) -> Option<Self> {
        let select = match &tree.expr {
            Expr::Ident(name) => return (name == "event").then_some(Self::Event),
            Expr::Select(select) if !select.test => select,
            _ => return None,
        };
        let Expr::Ident(of) = &select.operand.expr else { return None };
        Some(match (of.as_str(), select.field.as_str()) {
            ("session", "id") => Self::Session,
            ("session", "agent") => Self::Agent,
            ("model", "requested") => Self::Requested,
            ("model", "resolved") => Self::Resolved,
            ("model", "family") => Self::Family,
            ("model", "dialect") => Self::Dialect,
            ("model", "upstream") => Self::Upstream,
            _ => return None,
        })
    }

    fn of(self, event: &Event) -> &str {
        match self {
            Self::Event => event.event,
            Self::Session => &event.session.id,
            Self::Agent => &event.session.agent,
            Self::Requested => &event.model.requested,
            Self::Resolved => &event.model.resolved,
            Self::Family => event.model.family,
            Self::Dialect => event.model.dialect,
            Self::Upstream => &event.model.upstream,
        }
    }
}
