//! The edges: who may come in with which key, how much of it, on which listener, and what is refused when it is too much.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test fails by a panic")]

#[path = "../support/mod.rs"]
mod support;

mod http2;
mod keys;
mod limits;
mod overload;
mod proxies;
mod refusal;
mod slow;
mod tls;
mod unix;
