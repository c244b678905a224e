//! What the gateway shows of its work: the last requests of each session, and everything as it happens.
//!
//! ```text
//! request    what is kept of one request            table      the last requests of each session, bounded: pure
//! run        and of each run of a hook for it       opening    what is known of it when it begins
//! recording  writes it while the request goes on    recorder   Recorder: the table, and who watches
//! texts      what is kept of texts                  news       one thing that happened, as programs read it
//! bodies     bodies before and after, if wanted     breaks     what hooks cost of providers' caches
//! ```
//!
//! `inspect.bodies: false` keeps what hooks place and change, which is the operator's own text, and numbers of the rest;
//! nothing else that a client or a model said but names of models and tools. All of it lives in memory, and a request never waits for who looks at it.
mod bodies;
mod breaks;
mod news;
mod opening;
mod recorder;
mod recording;
mod request;
mod run;
mod table;
#[cfg(test)]
mod testing;
mod texts;

pub use bodies::Bodies;
pub use breaks::Break;
pub use news::{Happened, News};
pub use opening::Opening;
pub use recorder::{Recorder, Watching};
pub use recording::Recording;
pub use request::{Budget, Cache, Continuation, Input, Request, Standing, State};
pub use run::{HookRun, Made, Said, Written};
pub use texts::{Clip, clip};
