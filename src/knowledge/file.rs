//! The form of an entry's file: Markdown behind front matter.
//!
//! ```text
//! ---
//! id: "01k3x5v9q2h7m4t8"
//! title: "Use uv"
//! kind: rule
//! status: approved
//! scope: all
//! ...
//! ---
//!
//! Use uv, not pip.
//! ```
//! Of a file that a person writes, `title` and the text are enough: its name is the id then, and it is an approved fact for
//! every session.
use super::entry::{Entry, Kind, Origin, Scope, Status, VERSION};
use super::id::is_id;
use crate::config::yaml;
use crate::session::record::Tenant;
use jiff::Timestamp;
use serde::Deserialize;
use serde_json::{Number, Value, json};
use std::fmt::Write as _;

/// The line around the front matter.
const FENCE: &str = "---";

/// The front matter. Further keys are the reader's own business.
#[derive(Deserialize)]
struct Matter {
    id: Option<String>,
    title: String,
    kind: Option<Kind>,
    status: Option<Status>,
    scope: Option<String>,
    project: Option<String>,
    session: Option<String>,
    tenant: Option<Tenant>,
    tier: Option<String>,
    confidence: Option<Number>,
    supersedes: Option<String>,
    superseded_by: Option<String>,
    approved_by: Option<String>,
    when: Option<Timestamp>,
    proposed: Option<Timestamp>,
    origin: Option<Origin>,
}

/// The file of an entry.
pub(super) fn written(entry: &Entry) -> String {
    let mut lines: Vec<(&str, Value)> = vec![
        ("id", entry.id.as_str().into()),
        ("title", entry.title.as_str().into()),
        ("kind", entry.kind.name().into()),
        ("status", entry.status.name().into()),
    ];
    match &entry.scope {
        Scope::Session { session } => lines.extend([("scope", "session".into()), ("session", session.as_str().into())]),
        Scope::Project { project } => lines.extend([("scope", "project".into()), ("project", project.as_str().into())]),
        Scope::All => lines.push(("scope", "all".into())),
    }
    lines.extend([
        ("tenant", json!(entry.tenant)),
        ("tier", json!(entry.tier)),
        ("confidence", json!(entry.confidence)),
        ("supersedes", json!(entry.supersedes)),
        ("superseded_by", json!(entry.superseded_by)),
        ("approved_by", json!(entry.decided_by)),
        ("when", json!(entry.decided_at)),
        ("proposed", json!(entry.proposed_at)),
    ]);
    if entry.origin != Origin::default() {
        lines.push(("origin", json!(entry.origin)));
    }
    let mut text = format!("{FENCE}\n");
    for (key, value) in lines.into_iter().filter(|(_, value)| !value.is_null()) {
        // JSON is YAML. Writing to a string can't fail.
        let _ = writeln!(text, "{key}: {value}");
    }
    format!("{text}{FENCE}\n\n{}\n", entry.body)
}

/// The entry of a file; `name`: the file's, without its ending; `since`: when it was changed.
///
/// # Errors
/// What is wrong with it.
pub(super) fn read(text: &str, name: &str, since: Timestamp) -> Result<Entry, String> {
    let (matter, body) = split(text).ok_or("has no front matter between two lines of ---")?;
    let matter = yaml::value(matter).map_err(|error| error.to_string())?;
    let matter: Matter = serde_json::from_value(matter).map_err(|error| format!("front matter: {error}"))?;
    let id = matter.id.unwrap_or_else(|| name.to_owned());
    if !is_id(&id) {
        return Err(format!("id {id:?}: write letters, digits, - and _"));
    }
    let status = matter.status.unwrap_or(Status::Approved);
    if !status.is_filed() {
        return Err(format!("status {}: write approved or superseded, or delete the file", status.name()));
    }
    let scope = match (matter.scope.as_deref(), matter.project, matter.session) {
        (Some("all") | None, None, None) => Scope::All,
        (Some("project") | None, Some(project), None) => Scope::Project { project },
        (Some("session") | None, None, Some(session)) => Scope::Session { session },
        _ => return Err("scope: write all, project with a project, or session with a session".into()),
    };
    let entry = Entry {
        v: VERSION,
        id,
        tenant: matter.tenant,
        title: matter.title,
        body: body.to_owned(),
        kind: matter.kind.unwrap_or(Kind::Fact),
        tier: matter.tier,
        confidence: matter.confidence,
        scope,
        status,
        supersedes: matter.supersedes,
        superseded_by: matter.superseded_by,
        origin: matter.origin.unwrap_or_default(),
        proposed_at: matter.proposed.or(matter.when).unwrap_or(since),
        decided_by: matter.approved_by,
        decided_at: matter.when,
    };
    entry.checked().map_err(|error| error.to_string())
}

/// What stands between the fences, and behind them.
fn split(text: &str) -> Option<(&str, &str)> {
    let text = text.trim_start_matches('\u{feff}');
    let first = text.split_inclusive('\n').next().filter(|line| line.trim_end() == FENCE)?;
    let mut at = first.len();
    for line in text.get(at..)?.split_inclusive('\n') {
        if line.trim_end() == FENCE {
            return Some((text.get(first.len()..at)?, text.get(at + line.len()..)?));
        }
        at += line.len();
    }
    None
}

#[cfg(test)]
mod tests {
    use super::super::entry::tests::entry;
    use super::*;

    fn at(second: i64) -> Timestamp {
        Timestamp::from_second(second).unwrap()
    }

    #[test]
    fn an_entry_reads_back_as_it_was_written() {
        let full = Entry {
            title: "Quotes \" and: colons # too".into(),
            body: "Several\n\n---\n\n- lines\n".trim().into(),
            tier: Some("core".into()),
            confidence: Number::from_f64(0.75),
            scope: Scope::Project { project: "/home/me/app".into() },
            status: Status::Superseded,
            supersedes: Some("k0".into()),
            superseded_by: Some("k2".into()),
            origin: Origin {
                session: Some("s1".into()),
                turn: Some(3),
                hook: Some("learn".into()),
                ..Origin::default()
            },
            decided_by: Some("ann".into()),
            decided_at: Some(at(9)),
            ..entry("k1", "", "")
        };
        for entry in [full, entry("k1", "Use uv", "Not pip.")] {
            assert_eq!(read(&written(&entry), "other", at(0)), Ok(entry));
        }
        insta::assert_snapshot!(written(&entry("k1", "Use uv", "Not pip.")), @r#"
        ---
        id: "k1"
        title: "Use uv"
        kind: "rule"
        status: "approved"
        scope: "all"
        tenant: "t_1"
        proposed: "1970-01-01T00:00:01Z"
        ---

        Not pip.
        "#);
    }

    #[test]
    fn a_title_and_a_text_are_enough() {
        let read = read("---\r\ntitle: Use uv\r\n---\r\nNot pip.\r\n", "use-uv", at(7)).unwrap();
        let mut expected =
            Entry { tenant: None, kind: Kind::Fact, proposed_at: at(7), ..entry("use-uv", "Use uv", "Not pip.") };
        expected.status = Status::Approved;
        assert_eq!(read, expected);
    }

    #[test]
    fn a_broken_file_says_what_is_wrong() {
        for (text, words) in [
            ("Use uv.", "has no front matter"),
            ("---\ntitle: x\n", "has no front matter"),
            ("---\ntitle: [\n---\nb", "line"),
            ("---\nkind: rule\n---\nb", "missing field `title`"),
            ("---\ntitle: x\n---\n \n", "body: is empty"),
            ("---\ntitle: x\nkind: law\n---\nb", "unknown variant `law`"),
            ("---\ntitle: x\nstatus: pending\n---\nb", "status pending: write approved or superseded"),
            ("---\ntitle: x\nscope: team\n---\nb", "scope: write all"),
            ("---\ntitle: x\nid: ../x\n---\nb", "id \"../x\""),
            ("---\ntitle: x\nwhen: yesterday\n---\nb", "front matter"),
        ] {
            let error = read(text, "name", at(0)).unwrap_err();
            assert!(error.contains(words), "{text}: {error}");
        }
    }
}
