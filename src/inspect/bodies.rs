//! Bodies before and after, where `inspect.bodies` wants them.
use serde::Serialize;
use similar::TextDiff;
use std::sync::Arc;
use std::time::Duration;
use utoipa::ToSchema;

/// Largest body that is kept, in bytes: an agent's usual request of 200,000 tokens.
pub(super) const MAX_BODY: usize = 1024 * 1024;
/// Lines of what is the same around a difference.
const RADIUS: usize = 3;
/// What comparing may take; a coarser difference is shown then.
const PATIENCE: Duration = Duration::from_millis(500);

/// A request's body as it came and as it went up.
#[derive(Debug, Clone)]
pub(super) struct Kept {
    pub(super) before: Arc<[u8]>,
    pub(super) after: Arc<[u8]>,
}

/// A request's body as it came and as it went up.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub struct Bodies {
    /// As it came.
    pub before: String,
    /// As it went up.
    pub after: String,
    /// The unified difference of both, one member or element a line; empty where they are the same.
    pub diff: String,
}

impl Kept {
    /// Takes a while.
    pub(super) fn compared(&self) -> Bodies {
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        let (before, after) = (pretty(&self.before), pretty(&self.after));
        let diff = TextDiff::configure().timeout(PATIENCE).diff_lines(&before, &after);
        let diff = if before == after {
            String::new()
        } else {
            diff.unified_diff().context_radius(RADIUS).header("from the client", "to the model").to_string()
        };
        Bodies { before: text(&self.before), after: text(&self.after), diff }
    }
}

/// One member a line, and a text's lines each for itself: a difference inside of a long prompt is then a few lines.
fn pretty(body: &[u8]) -> String {
    let pretty = serde_json::from_slice::<&serde_json::value::RawValue>(body)
        .and_then(|_| serde_json::from_slice::<serde_json::Value>(body))
        .and_then(|value| serde_json::to_string_pretty(&value));
    let mut text = pretty.unwrap_or_else(|_| String::from_utf8_lossy(body).into_owned()).replace("\\n", "\\n\n");
    text.push('\n');
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_difference_is_of_lines_and_of_a_texts_lines() {
        let kept =
            |before: &str, after: &str| Kept { before: before.as_bytes().into(), after: after.as_bytes().into() };
        let compared = kept(r#"{"a":1,"t":"x\ny"}"#, r#"{"a":1,"t":"x\nz"}"#).compared();
        assert!(compared.diff.contains("-y\"") && compared.diff.contains("+z\""), "{}", compared.diff);
        assert!(!compared.diff.contains("-  \"t\": \"x"), "{}", compared.diff);
        assert_eq!(kept(r#"{"a": 1}"#, r#"{"a":1}"#).compared().diff, "");
    }
}
