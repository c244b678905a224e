//! The built binary, run to its end.
use std::path::Path;
use std::process::{Command, Output};

/// Runs hookgate in `folder` with an environment of its own.
pub(crate) fn hookgate(folder: &Path, arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_hookgate"))
        .args(arguments)
        .current_dir(folder)
        .env_clear()
        .env("PATH", "/usr/bin:/bin")
        .output()
        .unwrap()
}

pub(crate) fn stdout(output: &Output) -> String {
    String::from_utf8(output.stdout.clone()).unwrap()
}
