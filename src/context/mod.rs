//! The neutral view of a request and of an answer, and where hooks' text is placed. Pure: no IO, no clock, no tasks.
//!
//! Dialects produce [`view::RequestView`] and [`answer::Answer`] and lower [`place::Place`]s to splices of their native
//! body. Everything between is dialect-neutral: *neutral edits, native bodies*.

pub mod answer;
pub mod binding;
pub mod budget;
pub mod digest;
pub mod edit;
pub mod leg;
pub mod place;
pub mod placement;
pub mod view;
pub mod wrap;

pub use answer::{Answer, Call, Finish, Usage};
pub use binding::{Binding, Glance, Restored, Roster, Ruling, Stands};
pub use digest::Digest;
pub use edit::Edit;
pub use leg::{Leg, LegReply, LegResult};
pub use place::Place;
pub use view::{AnswerForm, Delta, Item, ItemFacts, Operation, RequestView, Role, Step};
