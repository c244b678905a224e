//! What a cloned repository may make hookgate run: nothing, until its user has seen and trusted it.
//!
//! ```text
//! covered   the files that decide what runs: the configuration, what it reads, the scripts that it names
//! tree      which of them lie in a working tree, and so came along with it
//! list      the digests that are trusted, in a file of the user's
//! keeper    asks the list at start, at each reload and before each run of a hook
//! shown     what would run, for the one who is asked
//! ```
//!
//! Trust is of a file's bytes at its path. Whatever decides what runs is a file, so that no mixture of trusted files can do
//! what nobody has seen.
mod covered;
mod keeper;
mod list;
mod shown;
mod tree;

pub use covered::{Covered, State, covered};
pub use keeper::Keeper;
pub use list::{ListError, TrustList};
pub use shown::{Shown, plain};
pub use tree::Tree;
