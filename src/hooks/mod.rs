//! Hooks: one contract (event in, outcome out), a pipeline, one file per runner.
//!
//! ```text
//! Event ─► Pipeline::fire ─► when? ─► runner ─► what it wrote ─► Outcome::parse ─► HookReport
//! ```
//!
//! A hook never breaks a session: whatever it does, [`Pipeline::fire`] comes back within the deadline with one report per
//! hook, in config order, and a failed hook has an empty outcome. What a failure means for the request is the caller's
//! decision ([`HookReport::blocks`]).

pub mod answer;
pub mod contract;
pub mod failure;
pub mod model;
pub mod pipeline;
mod proposals;
mod recorded;
pub mod report;
mod rules;
pub mod runner;
pub mod schema;
mod sending;
mod stopping;
mod variables;
pub mod when;
pub mod witness;

pub use crate::config::condition::ConditionError;
pub use answer::Parsed;
pub use contract::{Event, Outcome, event_id};
pub use failure::{HookFailure, HooksError};
pub use pipeline::{FireContext, Pipeline};
pub use report::{HookReport, Status};
pub use rules::Rules;
pub use stopping::Verdict;
pub use when::When;
pub use witness::{Sight, Witness};
