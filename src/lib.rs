//! hookgate: a reverse proxy between AI agents and provider APIs.
//!
//! The map of the house. A room imports only rooms further down this list; `app` alone sees them all.
//!
//! | room | what it is for |
//! |---|---|
//! | [`cli`] | one file per command |
//! | [`app`] | puts the rooms together, starts and drains |
//! | [`admin`] | the admin listener: health, metrics, sessions |
//! | [`live`] | the configuration in effect, what is made of it, and how another takes its place |
//! | [`gateway`] | the edge: the phases of a request, one file per phase, and the response path |
//! | [`hooks`] | contract, pipeline, one file per runner |
//! | [`knowledge`] | what was learned: proposed, reviewed, approved, offered again |
//! | [`bus`] | messages into running sessions: mailboxes, the spool |
//! | [`inspect`] | what is shown of the work: the last requests, and everything as it happens |
//! | [`session`] | whose request it is: key, conversation, turn, ledger, profiles; `store/` below it |
//! | [`upstream`] | the way up |
//! | [`dialect`] | Anthropic Messages, OpenAI Chat and Responses, Gemini: pure |
//! | [`context`] | the neutral view of a request and an answer, budget, placement: pure |
//! | [`trust`] | what a cloned repository may make the gateway run: what its user has seen |
//! | [`config`] | as written, checked, resolved; policy tests as written |
//! | [`telemetry`] | logs, metrics, traces, the audit log, redaction |
//! | [`json`], [`sse`] | scan and splice, framing on bytes: pure |
//!
//! `json`, `sse`, `context` and `dialect` do no IO and start no tasks.
pub mod admin;
pub mod app;
pub mod bus;
pub mod cli;
pub mod config;
pub mod context;
pub mod dialect;
pub mod gateway;
pub mod hooks;
pub mod inspect;
pub mod json;
pub mod knowledge;
pub mod live;
pub mod session;
pub mod sse;
pub mod telemetry;
pub mod trust;
pub mod upstream;
