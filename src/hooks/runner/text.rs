//! `run: { text: ... }`: a constant.
use super::{Invocation, Output, Runner};
use crate::hooks::HookFailure;
use futures_util::future::{BoxFuture, ready};

/// A constant text.
#[derive(Debug)]
pub(super) struct Text(pub(super) String);

impl Runner for Text {
    fn run<'a>(&'a self, _: &'a Invocation<'a>) -> BoxFuture<'a, Result<Output, HookFailure>> {
        Box::pin(ready(Ok(Output::Text(self.0.clone()))))
    }

    fn acts(&self) -> bool {
        false
    }
}
