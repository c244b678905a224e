//! Configuration: as written (YAML), checked with all problems at once, resolved.
//!
//! [`resolved`] is all that the rest of the house ever sees; it is plain data and has no side effects.

pub mod resolved;
pub mod yaml;

pub use resolved::*;
