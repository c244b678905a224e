//! `run: { edits: [...] }`: rules without code.
use super::{Invocation, Output, Runner};
use crate::context::Edit;
use crate::hooks::HookFailure;
use futures_util::future::{BoxFuture, ready};
use std::sync::Arc;

/// The same edits at every run.
#[derive(Debug)]
pub(super) struct Edits(pub(super) Arc<[Edit]>);

impl Runner for Edits {
    fn run<'a>(&'a self, _: &'a Invocation<'a>) -> BoxFuture<'a, Result<Output, HookFailure>> {
        Box::pin(ready(Ok(Output::Edits(self.0.clone()))))
    }

    fn acts(&self) -> bool {
        false
    }
}
