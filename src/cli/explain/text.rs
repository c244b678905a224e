//! What a dry run found, for people.
use super::report::{Change, Report};
use crate::cli::rehearsal::runs::{HookRun, RunResult};
use std::fmt::Write as _;

/// The report, line by line.
pub(super) fn of(report: &Report) -> String {
    let mut page = String::new();
    head(&mut page, report);
    hooks(&mut page, report);
    placed(&mut page, report);
    changes(&mut page, report);
    prefix(&mut page, report);
    end(&mut page, report);
    page.trim_end().to_owned()
}

/// Writing to a string can't fail.
macro_rules! line {
    ($page:expr, $($words:tt)*) => { let _ = writeln!($page, $($words)*); };
}

fn head(page: &mut String, report: &Report) {
    let assumed = report.assumed_because.map(|why| format!(" (assumed, because {why})")).unwrap_or_default();
    line!(page, "POST {}{assumed}", report.path);
    let upstream = report.upstream.as_deref().unwrap_or("none: it does not go up");
    line!(page, "dialect {}, upstream {upstream}", report.dialect.unwrap_or("none that hookgate reads"));
    match (report.kind, &report.profile) {
        (Some(kind), Some(profile)) => {
            line!(page, "a request of kind {kind}, client profile {profile}, session not seen before");
        }
        _ => {
            line!(page, "no hook looks into this request");
        }
    }
}

fn hooks(page: &mut String, report: &Report) {
    if !report.hooks.is_empty() {
        line!(page, "\nhooks, in their order:");
    }
    let width = report.hooks.iter().map(|run| run.hook.chars().count()).max().unwrap_or_default();
    for run in &report.hooks {
        line!(page, "  {:16}  {:width$}  {:7}  {}", run.event, run.hook, run.result.word(), said(run));
        run.warnings.iter().for_each(|warning| {
            line!(page, "  {:16}  {:width$}  warning: {warning}", "", "");
        });
    }
    for hook in &report.not_asked {
        let why = if hook.runs_after_the_answer { "runs only behind an answer" } else { "no such event here" };
        line!(page, "not asked: {} on {}: {why}", hook.hook, hook.on.join(", "));
    }
}

/// What a run did, in a few words.
fn said(run: &HookRun) -> String {
    if let Some(reason) = &run.reason {
        let would = if run.effects.is_empty() { "" } else { "; would have blocked" };
        return format!("{reason}{would}");
    }
    if run.result == RunResult::Skipped {
        return "its `when` is false".to_owned();
    }
    let mut words: Vec<String> =
        run.effects.iter().filter(|effect| **effect != "edits").map(|e| (*e).to_owned()).collect();
    if !run.context.is_empty() {
        let chars: usize = run.context.iter().map(|text| text.chars().count()).sum();
        words.retain(|word| word != "context");
        words.push(format!("context of {chars} chars"));
    }
    if !run.edits.is_empty() {
        let changed = match run.changed_body {
            Some(false) => " (the body stays as it was)",
            Some(true) | None => "",
        };
        words.push(format!("{}{changed}", run.edits.join(", ")));
    }
    let would = if run.result == RunResult::Audited { "would have: " } else { "" };
    match words.is_empty() {
        true => format!("said nothing, {} ms", run.milliseconds),
        false => format!("{would}{}, {} ms", words.join(", "), run.milliseconds),
    }
}

fn placed(page: &mut String, report: &Report) {
    if !report.texts.is_empty() {
        line!(page, "\ntexts that stand in it:");
    }
    for text in &report.texts {
        line!(page, "  {}, {} of {}:", text.place, text.kind, text.source);
        text.text.lines().for_each(|text| {
            line!(page, "    | {text}");
        });
    }
    if let Some(budget) = &report.budget {
        line!(page, "\nbudget: {} of {} chars", budget.used, budget.limit);
        for (hooks, what) in [(&budget.truncated, "truncated"), (&budget.left_out, "left out")] {
            if !hooks.is_empty() {
                line!(page, "  {what}: {}", hooks.join(", "));
            }
        }
    }
}

fn changes(page: &mut String, report: &Report) {
    if let Some(Change { client, up }) = &report.tools {
        let missing = |from: &[String], of: &[String]| {
            let names: Vec<&str> = from.iter().filter(|name| !of.contains(name)).map(String::as_str).collect();
            if names.is_empty() { String::new() } else { names.join(", ") }
        };
        line!(page, "tools: {} before, {} after", client.len(), up.len());
        for (names, what) in [(missing(client, up), "removed"), (missing(up, client), "added")] {
            if !names.is_empty() {
                line!(page, "  {what}: {names}");
            }
        }
    }
    if let Some(Change { client, up }) = &report.model {
        let name = |model: &Option<String>| model.clone().unwrap_or_else(|| "none".to_owned());
        match client == up {
            true => line_of(page, &format!("model: {}", name(client))),
            false => line_of(page, &format!("model: {} asked for, {} goes up", name(client), name(up))),
        }
    }
    for header in &report.headers {
        let show = |value: &Option<String>| value.clone().unwrap_or_else(|| "absent".to_owned());
        line!(page, "header {}: {} before, {} after", header.name, show(&header.client), show(&header.up));
    }
}

fn line_of(page: &mut String, words: &str) {
    line!(page, "{words}");
}

fn prefix(page: &mut String, report: &Report) {
    let Some(prefix) = &report.prefix else { return };
    let end = if prefix.is_marked { "up to its last cache marker" } else { "in all" };
    line!(
        page,
        "prefix: of the {} bytes of text that the client sends {end}, {} ({} %) stay in front",
        prefix.bytes,
        prefix.kept,
        prefix.percent()
    );
    if let Some(place) = &prefix.departs_in {
        line!(
            page,
            "  what goes up is another text from {place} on; what is the same in every request is cached again"
        );
    }
}

fn end(page: &mut String, report: &Report) {
    if let Some(code) = &report.error {
        line!(page, "\nthe gateway refuses the request: {code}");
    }
    if let Some(text) = &report.answered {
        line!(page, "\nthe gateway answers itself, nothing goes up:\n    | {}", text.replace('\n', "\n    | "));
    }
    if report.upstream.is_some() {
        match report.diff.is_empty() {
            true => line_of(page, "\nthe body goes up byte for byte"),
            false => line_of(page, &format!("\n{}", report.diff)),
        }
    }
}
