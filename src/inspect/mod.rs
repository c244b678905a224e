//! What the gateway shows of its work: the last requests of each session, and everything as it happens.
//!
//! ```text
//! request    what is kept of one request            table      the last requests of each session, bounded: pure
//! recording  writes it while the request goes on    recorder   Recorder: the table, and who watches
//! texts      what is kept of texts                  news       one thing that happened, as programs read it
//! bodies     bodies before and after, if wanted     breaks     what hooks cost of providers' caches
//! ```
//!
//! `inspect.bodies: false` keeps what hooks place and change, which is the operator's own text, and numbers of the rest;
//! nothing that a client or a model said. All of it lives in memory, and a request never waits for who looks at it.
mod bodies;
mod breaks;
mod news;
mod recorder;
mod recording;
mod request;
mod table;
#[cfg(test)]
mod testing;
mod texts;

pub use bodies::Bodies;
pub use breaks::Break;
pub use news::{Happened, News};
pub use recorder::{Recorder, Watching};
pub use recording::{Opening, Recording};
pub use request::{Budget, Cache, Continuation, HookRun, Input, Made, Request, Said, Standing, State, Written};
pub use texts::{Clip, clip};
