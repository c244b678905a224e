//! Arguments, exit codes and the allocator; everything else is in the library.
use std::process::ExitCode;
use tikv_jemallocator::Jemalloc;

#[global_allocator]
static ALLOCATOR: Jemalloc = Jemalloc;

fn main() -> ExitCode {
    hookgate::cli::run()
}
