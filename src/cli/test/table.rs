//! What became of all cases.
use super::Tried;
use super::run::Verdict;
use serde_json::{Value, json};

const HEADINGS: [&str; 3] = ["CASE", "RESULT", "PLACE"];

/// For people: a table, and below a case what was not as expected.
pub(super) fn text(tried: &[Tried]) -> String {
    let width = tried.iter().map(|tried| tried.case.name.chars().count()).max().unwrap_or_default();
    let width = width.max(HEADINGS[0].len());
    let row = |cells: [&str; 3]| format!("{:width$}  {:6}  {}", cells[0], cells[1], cells[2]);
    let mut lines = vec![row(HEADINGS)];
    for Tried { file, case, verdict } in tried {
        let result = if verdict.is_ok() { "ok" } else { "FAILED" };
        lines.push(row([&case.name, result, &format!("{file}:{}", case.place.line)]));
        match verdict {
            Verdict::Impossible(error) => lines.push(format!("  {}", error.to_string().replace('\n', "\n  "))),
            Verdict::Tried(failures) => {
                for failure in failures {
                    let turn = if case.turns.len() > 1 { format!("turn {}, ", failure.turn) } else { String::new() };
                    lines.push(format!("  {turn}{}", failure.what));
                    lines.push(format!("    expected: {}", failure.expected));
                    lines.push(format!("    came:     {}", failure.came));
                }
            }
        }
    }
    let failed = tried.iter().filter(|tried| !tried.verdict.is_ok()).count();
    lines.push(format!("{} cases, {failed} failed", tried.len()));
    lines.join("\n")
}

/// For scripts.
pub(super) fn json(tried: &[Tried]) -> Value {
    let case = |Tried { file, case, verdict }: &Tried| {
        let (failures, error) = match verdict {
            Verdict::Tried(failures) => (failures.as_slice(), None),
            Verdict::Impossible(error) => (&[][..], Some(error.to_string())),
        };
        let failures = failures.iter().map(|failure| {
            json!({
                "turn": failure.turn,
                "what": failure.what,
                "expected": failure.expected,
                "came": failure.came,
            })
        });
        json!({
            "file": file,
            "line": case.place.line,
            "case": case.name,
            "ok": verdict.is_ok(),
            "error": error,
            "failures": failures.collect::<Vec<_>>(),
        })
    };
    let failed = tried.iter().filter(|tried| !tried.verdict.is_ok()).count();
    json!({"ok": failed == 0, "failed": failed, "cases": tried.iter().map(case).collect::<Vec<_>>()})
}
