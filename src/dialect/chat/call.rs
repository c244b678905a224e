//! A call while it is streamed: what it is called, and how the client gets it.
use crate::context::{Binding, Call, Glance, Ruling};
use crate::dialect::binder::BindError;
use crate::dialect::openai::element::{Input, ToolCall};
use crate::dialect::rewrite::Rewrite;
use crate::json::{Kind, ScanError, raw};

/// How a call carries what it is called with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Form {
    Function,
    Custom,
    /// The old `function_call`, which stands alone.
    Old,
}

impl Form {
    /// The members that hold the call, and its input in there.
    fn members(self) -> (&'static str, &'static str) {
        match self {
            Self::Custom => ("custom", "input"),
            Self::Function | Self::Old => ("function", "arguments"),
        }
    }
}

/// A call whose pieces are still coming.
#[derive(Debug, Default)]
pub(super) struct OpenCall {
    pub(super) index: Option<u64>,
    pub(super) id: String,
    pub(super) form: Option<Form>,
    /// The first part of its name. SDKs put parts together, some clients take the first.
    pub(super) first: String,
    /// All parts, but those that only say the first one again.
    pub(super) whole: String,
    /// All parts that clients see.
    pub(super) every: String,
    pub(super) input: String,
    /// What its name says; `None` while it has none.
    pub(super) verdict: Option<Glance>,
    pub(super) ruling: Option<Ruling>,
    /// The index that the client knows it by.
    pub(super) shown: Option<u64>,
    /// It was written anew, in one piece.
    pub(super) written: bool,
}

impl OpenCall {
    /// Takes a part of the name; says whether the client must not see it.
    pub(super) fn name(&mut self, part: &str, binding: &Binding) -> Result<bool, BindError> {
        if part.is_empty() {
            return Ok(false);
        }
        if self.first.is_empty() {
            [&mut self.first, &mut self.whole, &mut self.every].into_iter().for_each(|name| name.push_str(part));
            self.verdict = Some(binding.glance(part));
            return Ok(false);
        }
        let again = part == self.first;
        match self.verdict {
            Some(Glance::Pass) if !again => return Err(BindError::Renamed),
            Some(Glance::Pass) if binding.glance(&format!("{}{part}", self.every)) == Glance::Refuse => {
                return Ok(true);
            }
            _ => {}
        }
        self.every.push_str(part);
        if !again {
            self.whole.push_str(part);
        }
        Ok(false)
    }

    pub(super) fn judge(&self, binding: &Binding) -> Glance {
        match self.verdict {
            Some(Glance::Ask) => binding.glance(&self.whole),
            Some(verdict) => verdict,
            None => binding.glance(""),
        }
    }

    pub(super) fn is_shown(&self) -> bool {
        match &self.ruling {
            Some(ruling) => !matches!(ruling, Ruling::Refuse(_)),
            None => self.verdict == Some(Glance::Pass),
        }
    }

    pub(super) fn is_refused(&self) -> bool {
        matches!(self.ruling, Some(Ruling::Refuse(_))) || self.verdict == Some(Glance::Refuse)
    }

    pub(super) fn call(&self) -> Call {
        let input = match self.form {
            Some(Form::Custom) => Input::Text(self.input.as_str().into()),
            _ => Input::Arguments(self.input.as_str().into()),
        };
        ToolCall { id: self.id.as_str().into(), name: self.whole.as_str().into(), input, asynchronous: false }.call()
    }

    /// The input, a JSON string, of a call that is written anew: with another input, or because its name came in parts
    /// that clients put together in several ways.
    pub(super) fn new_input(&self) -> Option<String> {
        match &self.ruling {
            Some(Ruling::Replace(input)) => Some(replacement(input, self.form == Some(Form::Custom))),
            Some(Ruling::Allow) if self.verdict == Some(Glance::Ask) && self.every != self.first => {
                Some(raw::quote(&self.input))
            }
            _ => None,
        }
    }

    /// The whole call, in the shape of its first piece.
    pub(super) fn whole(&self, element: &str, input: &str, index: Option<u64>) -> Result<String, ScanError> {
        let (key, member) = self.form.unwrap_or(Form::Function).members();
        let mut edited = Rewrite::of(element)?;
        let called = edited.get(key).map(str::to_owned);
        let is_old = self.form == Some(Form::Old);
        let mut called = if is_old { Rewrite::of(element)? } else { Rewrite::of_any(called.as_deref()) };
        called.set("name", raw::quote(&self.whole));
        called.set(member, input);
        let called = called.finish();
        if is_old {
            return Ok(called);
        }
        if let Some(index) = index {
            edited.set("index", index.to_string());
        }
        if !self.id.is_empty() {
            edited.set("id", raw::quote(&self.id));
        }
        edited.set("type", format!("\"{key}\""));
        edited.set(key, called);
        Ok(edited.finish())
    }

    /// Takes the name out of a piece.
    pub(super) fn unname(&self, element: &mut Rewrite<'_>) -> Result<(), ScanError> {
        let (key, _) = self.form.unwrap_or(Form::Function).members();
        if self.form == Some(Form::Old) {
            element.retain(|key| key != "name");
        } else if let Some(called) = element.get(key).map(str::to_owned) {
            let mut called = Rewrite::of(&called)?;
            called.retain(|key| key != "name");
            element.set(key, called.finish());
        }
        Ok(())
    }
}

/// Another input as a call carries it, a JSON string: arguments are JSON in a string, a free text is a string.
pub(super) fn replacement(input: &str, is_free: bool) -> String {
    match raw::kind(input) {
        Some(Kind::String) if is_free => input.to_owned(),
        _ => raw::quote(input),
    }
}
