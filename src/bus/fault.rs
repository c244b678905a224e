//! Where a crash can be asked for, between every two steps of a delivery: `HOOKGATE_BUS_FAULT=STEP` ends the process
//! there, as `kill -9` would. Release builds have none of it.

/// The steps, in their order.
pub const STEPS: [&str; 6] = ["enqueue", "queued", "claimed", "recorded", "accepted", "delivered"];

/// Names the step that ends the process.
pub const VARIABLE: &str = "HOOKGATE_BUS_FAULT";

/// Ends the process here if that was asked for.
pub fn at(step: &str) {
    #[cfg(debug_assertions)]
    if chosen() == Some(step) {
        std::process::abort();
    }
    #[cfg(not(debug_assertions))]
    let _ = step;
}

#[cfg(debug_assertions)]
fn chosen() -> Option<&'static str> {
    static CHOSEN: std::sync::OnceLock<Option<String>> = std::sync::OnceLock::new();
    CHOSEN.get_or_init(|| std::env::var(VARIABLE).ok()).as_deref()
}
