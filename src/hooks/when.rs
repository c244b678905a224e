//! `when`: a condition in CEL (the Common Expression Language), compiled at load and evaluated per event.
//!
//! CEL has no loops but the comprehensions over what is there, so an evaluation ends; nested ones over a client's long
//! history could still take long. Therefore an expression is at most [`MAX_LENGTH`] bytes, nests as deep as the parser
//! allows (96 levels), and an evaluation that reads a variable after [`MAX_EVALUATION`] is an error: every round of an
//! outer comprehension over a variable reads that variable for the inner one. Regular expressions run in linear time.
//!
//! The interpreter can panic on a tree that its parser does not make; the pipeline counts a panic as this hook's failure.
use super::HookFailure;
use super::variables::{Variable, Variables};
use cel::common::ast::{EntryExpr, Expr, IdedExpr};
use cel::common::value::CowVal;
use cel::context::VariableResolver;
use cel::{Context, Env, ExecutionError, Program, Value};
use std::collections::BTreeSet;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, LazyLock};
use std::time::{Duration, Instant};

/// Longest expression, in bytes: conditions are a line or two, and the parser needs time for a longer text.
pub const MAX_LENGTH: usize = 4096;

/// How long one evaluation may take: a thousand times what an ordinary condition needs.
const MAX_EVALUATION: Duration = Duration::from_millis(100);

/// `tool` belongs to the tool events, which no hook can listen to yet.
const LATER: &str = "tool";

/// Names that are types or namespaces of the language, not variables.
const LANGUAGE_NAMES: [&str; 15] = [
    "bool",
    "bytes",
    "double",
    "duration",
    "dyn",
    "google",
    "int",
    "list",
    "map",
    "null_type",
    "optional",
    "string",
    "timestamp",
    "type",
    "uint",
];

/// The standard functions. Building them takes longer than evaluating with them.
static ENVIRONMENT: LazyLock<Arc<Env>> = LazyLock::new(|| Arc::new(Env::stdlib()));

/// Why an expression does not compile.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{line}:{column}: {message}")]
pub struct WhenError {
    /// Line in the expression, from 1.
    pub line: usize,
    /// Column in that line, from 1.
    pub column: usize,
    /// What is wrong.
    pub message: String,
}

/// A compiled condition.
#[derive(Debug)]
pub struct When {
    program: Program,
    needs: Vec<Variable>,
}

impl When {
    /// Compiles `expression`. A variable that no event defines is an error here, since it would be one at every event.
    ///
    /// # Errors
    /// The first problem, with its place in the expression.
    pub fn compile(expression: &str) -> Result<Self, WhenError> {
        let at_start = |message: String| WhenError { line: 1, column: 1, message };
        if expression.len() > MAX_LENGTH {
            return Err(at_start(format!("longer than {MAX_LENGTH} bytes")));
        }
        // The generated parser has panicked on odd input before; a config must not end the process.
        let compiled = std::panic::catch_unwind(|| ENVIRONMENT.compile(expression))
            .map_err(|_| at_start("not an expression".into()))?;
        let program = compiled.map_err(|errors| {
            errors.errors.first().map_or_else(
                || at_start("not an expression".into()),
                |e| WhenError { line: position(e.pos.0), column: position(e.pos.1), message: e.msg.clone() },
            )
        })?;
        let mut free = BTreeSet::new();
        free_names(program.expression(), &mut Vec::new(), &mut free);
        let needs = free.iter().filter_map(|&(name, id)| variable(name, id, &program).transpose());
        let needs = needs.collect::<Result<_, _>>()?;
        Ok(Self { program, needs })
    }

    /// Whether evaluating takes the neutral request.
    #[must_use]
    pub fn needs_request(&self) -> bool {
        self.needs.iter().any(|variable| variable.needs_request())
    }

    /// Whether the condition holds.
    ///
    /// # Errors
    /// [`HookFailure::When`] when something in it is undefined, or its value is not a bool.
    pub(super) async fn holds(&self, variables: &Variables<'_>) -> Result<bool, HookFailure> {
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

/// The parser counts from 1 and uses 0 or less for "nowhere".
fn position(place: isize) -> usize {
    usize::try_from(place).unwrap_or_default().max(1)
}

/// The variable called `name`; none for a name of the language.
fn variable(name: &str, id: u64, program: &Program) -> Result<Option<Variable>, WhenError> {
    if let Some(variable) = Variable::ALL.into_iter().find(|variable| variable.name() == name) {
        return Ok(Some(variable));
    }
    if LANGUAGE_NAMES.contains(&name) {
        return Ok(None);
    }
    let message = if name == LATER {
        format!("`{LATER}` is not available yet: there are no tool events")
    } else {
        let known = Variable::ALL.map(Variable::name).join(", ");
        format!("unknown variable `{name}`; known are {known}")
    };
    let source = program.source_info();
    let offset = source.offset_for(id).map_or(0, |(start, _)| start as usize);
    let before: Vec<&str> = source.source.get(..offset).unwrap_or_default().split('\n').collect();
    let column = before.last().map_or(0, |line| line.chars().count()) + 1;
    Err(WhenError { line: before.len(), column, message })
}

/// Adds the names in `tree` that no comprehension around them binds, each with the id of its node.
fn free_names<'e>(tree: &'e IdedExpr, bound: &mut Vec<&'e str>, free: &mut BTreeSet<(&'e str, u64)>) {
    match &tree.expr {
        Expr::Ident(name) => {
            let name = name.trim_start_matches('.');
            if !bound.contains(&name) {
                free.insert((name, tree.id));
            }
        }
        Expr::Comprehension(comprehension) => {
            free_names(&comprehension.iter_range, bound, free);
            free_names(&comprehension.accu_init, bound, free);
            let outside = bound.len();
            bound.extend([comprehension.iter_var.as_str(), comprehension.accu_var.as_str()]);
            bound.extend(comprehension.iter_var2.as_deref());
            for inside in [&comprehension.loop_cond, &comprehension.loop_step, &comprehension.result] {
                free_names(inside, bound, free);
            }
            bound.truncate(outside);
        }
        Expr::Call(call) => {
            call.target.iter().for_each(|target| free_names(target, bound, free));
            call.args.iter().for_each(|argument| free_names(argument, bound, free));
        }
        Expr::Select(select) => free_names(&select.operand, bound, free),
        Expr::List(list) => list.elements.iter().for_each(|element| free_names(element, bound, free)),
        Expr::Map(map) => map.entries.iter().for_each(|entry| free_names_of_entry(&entry.expr, bound, free)),
        Expr::Struct(strct) => strct.entries.iter().for_each(|entry| free_names_of_entry(&entry.expr, bound, free)),
        Expr::Literal(_) | Expr::Unspecified => {}
    }
}

fn free_names_of_entry<'e>(entry: &'e EntryExpr, bound: &mut Vec<&'e str>, free: &mut BTreeSet<(&'e str, u64)>) {
    match entry {
        EntryExpr::StructField(field) => free_names(&field.value, bound, free),
        EntryExpr::MapEntry(entry) => {
            free_names(&entry.key, bound, free);
            free_names(&entry.value, bound, free);
        }
    }
}

#[cfg(test)]
mod tests;
