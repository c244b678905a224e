//! `when`: a condition in CEL (the Common Expression Language), compiled at load and evaluated per event.
//!
//! CEL has no loops but the comprehensions over what is there, so an evaluation ends; nested ones over a client's long
//! history could still take long. Therefore the length and depth of an expression are
//! bounded ([`crate::config::condition`]), and an evaluation that reads a variable after [`MAX_EVALUATION`] is an error: every round of an
//! outer comprehension over a variable reads that variable for the inner one. Regular expressions run in linear time.
//!
//! The interpreter can panic on a tree that its parser does not make; the pipeline counts a panic as this hook's failure.
mod guard;

use self::guard::Guards;
use super::HookFailure;
use super::contract::Event;
use super::variables::{Variable, Variables};
use crate::config::condition::{Condition, ConditionError, ENVIRONMENT};
use cel::common::value::CowVal;
use cel::context::VariableResolver;
use cel::{Context, ExecutionError, Program, Value};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// How long one evaluation may take: a thousand times what an ordinary condition needs.
const MAX_EVALUATION: Duration = Duration::from_millis(100);

/// A compiled condition.
#[derive(Debug)]
pub struct When {
    program: Program,
    needs: Vec<Variable>,
    guards: Guards,
}

impl When {
    /// Compiles `expression`.
    ///
    /// # Errors
    /// The first problem, with its place in the expression.
    pub fn compile(expression: &str) -> Result<Self, ConditionError> {
        let Condition { program, names } = Condition::compile(expression)?;
        let needs = Variable::ALL.into_iter().filter(|variable| names.contains(variable.name())).collect();
        Ok(Self { guards: Guards::of(program.expression()), program, needs })
    }

    /// Whether evaluating takes the neutral request.
    #[must_use]
    pub fn needs_request(&self) -> bool {
        self.needs.iter().any(|variable| variable.needs_request())
    }

    /// Whether evaluating takes the client's headers.
    #[must_use]
    pub fn needs_headers(&self) -> bool {
        self.needs.contains(&Variable::Headers)
    }

    /// `false` where the comparisons that the condition begins with say that it does not hold; costs next to nothing.
    #[must_use]
    pub(super) fn may_hold(&self, event: &Event) -> bool {
        self.guards.decide(event) != Some(false)
    }

    /// Whether the condition holds.
    ///
    /// # Errors
    /// [`HookFailure::When`] when something in it is undefined, or its value is not a bool.
    pub(super) async fn holds(&self, variables: &Variables<'_>) -> Result<bool, HookFailure> {
        if let Some(holds) = self.guards.decide(variables.event()) {
            return Ok(holds);
        }
        variables.prepare(&self.needs).await;
        let scope = Scope { variables, until: Instant::now() + MAX_EVALUATION, late: AtomicBool::new(false) };
        let mut context = Context::with_env(Arc::clone(&ENVIRONMENT));
        context.set_variable_resolver(&scope);
        match self.program.execute(&context) {
            Ok(Value::Bool(holds)) => Ok(holds),
            Ok(other) => Err(HookFailure::When(format!("the value is {}, not a bool", other.type_of()))),
            Err(_) if scope.late.load(Ordering::Relaxed) => {
                Err(HookFailure::When(format!("evaluating took longer than {MAX_EVALUATION:?}")))
            }
            Err(error) => Err(HookFailure::When(explain(&error))),
        }
    }
}

/// Hands out the variables until the time is over.
struct Scope<'a> {
    variables: &'a Variables<'a>,
    until: Instant,
    late: AtomicBool,
}

impl VariableResolver for Scope<'_> {
    fn resolve<'b>(&'b self, name: &str) -> Option<CowVal<'b, 'b>> {
        if Instant::now() > self.until {
            self.late.store(true, Ordering::Relaxed);
            return None;
        }
        self.variables.get(name).map(CowVal::Borrowed)
    }
}

/// The error in words that quote no value: values are what users wrote, and this goes to the log.
fn explain(error: &ExecutionError) -> String {
    match error {
        ExecutionError::NoSuchKey(name) => format!("`{name}` is undefined"),
        ExecutionError::UndeclaredReference(name) => format!("`{name}` is undefined"),
        ExecutionError::IndexOutOfBounds(_) => "an index is out of bounds".into(),
        ExecutionError::NoSuchOverload(_)
        | ExecutionError::UnexpectedType { .. }
        | ExecutionError::InvalidArgumentCount { .. }
        | ExecutionError::MissingArgumentOrTarget => error.to_string(),
        ExecutionError::FunctionError { function, .. } => format!("`{function}` failed"),
        ExecutionError::UnsupportedBinaryOperator(operator, ..) => format!("`{operator}` does not take these types"),
        ExecutionError::Overflow(operator, ..) => format!("`{operator}` overflows"),
        ExecutionError::DivisionByZero(_) | ExecutionError::RemainderByZero(_) => "division by zero".into(),
        _ => "it can't be evaluated on these values".into(),
    }
}

#[cfg(test)]
mod tests;
