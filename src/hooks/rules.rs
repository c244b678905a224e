//! Conditions that stand outside of hooks: `sessions.side_requests`.
use super::contract::Event;
use super::variables::Variables;
use super::{ConditionError, When};
use crate::config::EventKind;
use http::HeaderMap;

/// Expressions of which one is enough.
#[derive(Debug, Default)]
pub struct Rules {
    rules: Vec<When>,
}

impl Rules {
    /// Compiles the expressions.
    ///
    /// # Errors
    /// The first that does not compile.
    pub fn compile(expressions: &[String]) -> Result<Self, ConditionError> {
        let rules = expressions.iter().map(|expression| When::compile(expression)).collect::<Result<_, _>>()?;
        Ok(Self { rules })
    }

    /// Whether there is none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.rules.is_empty()
    }

    /// Whether [`Event::request`] must be there.
    #[must_use]
    pub fn needs_request(&self) -> bool {
        self.rules.iter().any(When::needs_request)
    }

    /// Whether one of them holds. One that can't be evaluated does not, and the log says why.
    pub async fn any(&self, event: &Event, headers: &HeaderMap) -> bool {
        let variables = Variables::new(EventKind::PromptSubmit, event, headers);
        for (position, rule) in self.rules.iter().enumerate() {
            match rule.holds(&variables).await {
                Ok(true) => return true,
                Ok(false) => {}
                Err(error) => tracing::warn!(position, %error, "a side_requests expression can't be evaluated"),
            }
        }
        false
    }
}
