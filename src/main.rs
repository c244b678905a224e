//! Arguments and exit codes; everything else is in the library.
fn main() {}
