//! Conditions in CEL (the Common Expression Language): compiled and checked with the configuration, evaluated by whoever
//! has the values.
//!
//! An expression is at most [`MAX_LENGTH`] bytes and nests as deep as the parser allows (96 levels). A variable that no
//! event defines is an error here, since it would be one at every event.
use cel::common::ast::{EntryExpr, Expr, IdedExpr};
use cel::{Env, Program};
use std::collections::BTreeSet;
use std::sync::{Arc, LazyLock};

/// Longest expression, in bytes: conditions are a line or two, and the parser needs time for a longer text.
pub const MAX_LENGTH: usize = 4096;

/// The variables that a condition may name (README, What a hook gets and says).
pub const VARIABLES: [&str; 10] =
    ["event", "session", "model", "prompt", "request", "tools", "tool", "turn", "headers", "now"];

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
pub static ENVIRONMENT: LazyLock<Arc<Env>> = LazyLock::new(|| Arc::new(Env::stdlib()));

/// Why an expression does not compile.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{line}:{column}: {message}")]
pub struct ConditionError {
    /// Line in the expression, from 1.
    pub line: usize,
    /// Column in that line, from 1.
    pub column: usize,
    /// What is wrong.
    pub message: String,
}

/// A compiled condition.
#[derive(Debug)]
pub struct Condition {
    /// Ready to run.
    pub program: Program,
    /// The [`VARIABLES`] that it names.
    pub names: BTreeSet<&'static str>,
}

impl Condition {
    /// Compiles `expression`.
    ///
    /// # Errors
    /// The first problem, with its place in the expression.
    pub fn compile(expression: &str) -> Result<Self, ConditionError> {
        let at_start = |message: String| ConditionError { line: 1, column: 1, message };
        if expression.len() > MAX_LENGTH {
            return Err(at_start(format!("longer than {MAX_LENGTH} bytes")));
        }
        // The generated parser has panicked on odd input before; a config must not end the process.
        let compiled = std::panic::catch_unwind(|| ENVIRONMENT.compile(expression))
            .map_err(|_| at_start("not an expression".into()))?;
        let program = compiled.map_err(|errors| {
            errors.errors.first().map_or_else(
                || at_start("not an expression".into()),
                |e| ConditionError { line: position(e.pos.0), column: position(e.pos.1), message: e.msg.clone() },
            )
        })?;
        let mut free = BTreeSet::new();
        free_names(program.expression(), &mut Vec::new(), &mut free);
        let names = free.iter().filter_map(|&(name, id)| variable(name, id, &program).transpose());
        let names = names.collect::<Result<_, _>>()?;
        Ok(Self { program, names })
    }
}

/// The parser counts from 1 and uses 0 or less for "nowhere".
fn position(place: isize) -> usize {
    usize::try_from(place).unwrap_or_default().max(1)
}

/// The variable called `name`; none for a name of the language.
fn variable(name: &str, id: u64, program: &Program) -> Result<Option<&'static str>, ConditionError> {
    if let Some(variable) = VARIABLES.into_iter().find(|variable| *variable == name) {
        return Ok(Some(variable));
    }
    if LANGUAGE_NAMES.contains(&name) {
        return Ok(None);
    }
    let known = VARIABLES.join(", ");
    let message = format!("unknown variable `{name}`; known are {known}");
    let source = program.source_info();
    let offset = source.offset_for(id).map_or(0, |(start, _)| start as usize);
    let before: Vec<&str> = source.source.get(..offset).unwrap_or_default().split('\n').collect();
    let column = before.last().map_or(0, |line| line.chars().count()) + 1;
    Err(ConditionError { line: before.len(), column, message })
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
