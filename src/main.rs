//! Arguments and exit codes; everything else is in the library.
use std::process::ExitCode;

fn main() -> ExitCode {
    hookgate::cli::run()
}
