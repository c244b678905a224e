//! Black-box tests of the lifecycle: what hooks are told, when, how often, and what the model and the client see of it.
//! Everything runs on free ports against a scripted provider and a scripted hook server.
#![allow(unreachable_pub, dead_code, reason = "modules of one test binary, and support that is shared between several")]
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test fails by a panic")]

#[path = "../support/mod.rs"]
mod support;

mod process;
mod speech;
mod stage;

mod audited;
mod blocked;
mod budget;
mod bus;
mod claude_code;
mod continued;
mod crowded;
mod deltas;
mod encodings;
mod endings;
mod ends;
mod faults;
mod figures;
mod identity;
mod knowledge;
mod models;
mod odd_answers;
mod once;
mod placement;
mod policies;
mod results;
mod side;
mod stop;
mod streams;
mod system;
mod tool_steps;
mod tools;
mod traces;
mod workers;
