//! Random cases of a law, each played through a gateway.
use crate::world::Stage;
use proptest::prelude::*;
use proptest::test_runner::{Config as Cases, TestError, TestRunner};
use std::fmt::Debug;

/// Plays `cases` cases, or as many as `LAW_CASES` says; panics with the smallest that breaks the law.
pub fn law<C: Debug>(cases: u32, case: impl Strategy<Value = C>, play: impl AsyncFn(&C, &Stage) -> Result<(), String>) {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
    let stage = runtime.block_on(Stage::start());
    let cases = std::env::var("LAW_CASES").ok().and_then(|n| n.parse().ok()).unwrap_or(cases);
    let mut runner = TestRunner::new(Cases { cases, failure_persistence: None, ..Cases::default() });
    let result = runner.run(&case, |case| runtime.block_on(play(&case, &stage)).map_err(TestCaseError::fail));
    match result {
        Ok(()) => {}
        Err(TestError::Fail(why, case)) => panic!("{why}\n{case:#?}"),
        Err(other) => panic!("{other}"),
    }
}
