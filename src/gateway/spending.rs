//! What answers cost a tenant whose tokens are limited: read from each leg as the upstream sends it, whoever else looks at
//! the answer.
use super::allowance::Allowance;
use super::answer_head;
use super::keys::Holder;
use super::turn::watch::{Watch, actual_form};
use crate::context::{AnswerForm, Operation};
use crate::dialect::{self, DialectId, Endpoint};
use http::response::Parts;

/// Whom the answers to one request are counted for.
#[derive(Debug, Clone)]
pub struct Payer {
    allowance: Allowance,
    dialect: DialectId,
    form: AnswerForm,
}

impl Payer {
    /// `None` where nobody counts: no key, no limit, or an answer that reports no tokens.
    pub fn of(holder: Option<&Holder>, endpoint: Option<&Endpoint>) -> Option<Self> {
        let allowance = holder.map(|holder| &holder.allowance).filter(|allowance| allowance.counts_tokens())?;
        let endpoint = endpoint.filter(|endpoint| endpoint.operation == Operation::Generate)?;
        // Where the path does not say the form, the answer's own head does.
        let form = endpoint.form.unwrap_or(AnswerForm::Json);
        Some(Self { allowance: allowance.clone(), dialect: endpoint.dialect, form })
    }

    /// Counts the answer that begins with this head.
    pub fn open(&self, head: &Parts) -> Option<Spending> {
        let form = actual_form(self.form, &head.headers);
        let encoding = answer_head::encoding(&head.headers).and_then(|value| value.to_str().ok());
        let watch = Watch::new(dialect::of(self.dialect), form, encoding)?;
        Some(Spending { watch, allowance: self.allowance.clone() })
    }
}

/// Counts one answer.
pub struct Spending {
    watch: Watch,
    allowance: Allowance,
}

impl Spending {
    /// The next bytes as they came.
    pub fn data(&mut self, bytes: &[u8]) {
        self.watch.push(bytes);
    }

    /// No more bytes come, at its end or before.
    pub fn settle(mut self) {
        if let Some(answer) = self.watch.finish() {
            self.allowance.spend(answer.usage.input.saturating_add(answer.usage.output));
        }
    }
}
