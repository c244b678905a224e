//! Hooks: one contract (event in, outcome out), a pipeline, one file per runner.

pub mod contract;
pub mod schema;

pub use contract::{Event, Outcome};
