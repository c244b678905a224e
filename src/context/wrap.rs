//! The frame around injected text: neutral, attributed, and impossible to close from inside.
//!
//! The model should know where a text comes from, and a text that a hook fetched from somewhere must not be able to end
//! its frame and speak as somebody else.

/// Why the text stands there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Standing {
    /// Placed for the first time.
    New,
    /// A newer version of what the same source said before.
    Replaces,
    /// The source took back what it said before.
    Withdrawn,
}

const OPEN: &str = "<context";
const CLOSE: &str = "</context";

/// `text` in its frame; `source` is the hook's or the slot's name.
pub fn wrap(source: &str, standing: Standing, text: &str) -> String {
    let source = attribute(source);
    let body = disarm(text, &[OPEN, CLOSE], "&lt;");
    match standing {
        Standing::New => format!("{OPEN} source=\"{source}\">\n{body}\n{CLOSE}>"),
        Standing::Replaces => format!("{OPEN} source=\"{source}\" replaces=\"earlier\">\n{body}\n{CLOSE}>"),
        Standing::Withdrawn => {
            format!("{OPEN} source=\"{source}\" replaces=\"earlier\">\n(no longer applies)\n{CLOSE}>")
        }
    }
}

/// `text` without a frame. An update still has to say what it replaces.
pub fn plain(source: &str, standing: Standing, text: &str) -> String {
    match standing {
        Standing::New => text.to_owned(),
        Standing::Replaces => format!("[{source}, replaces the earlier version]\n{text}"),
        Standing::Withdrawn => format!("[{source}: the earlier version no longer applies]"),
    }
}

/// Names come from the config; whatever they hold, they stay inside their quotes.
fn attribute(name: &str) -> String {
    name.replace('&', "&amp;").replace('"', "&quot;").replace(['<', '>'], "_")
}

/// Takes the meaning from tags of a frame's own name, whatever their case: `instead` stands for the first character of each.
/// `tags`: what they begin with, in lower case and with a character of one byte.
pub fn disarm(text: &str, tags: &[&str], instead: &str) -> String {
    let lower = text.to_ascii_lowercase();
    let mut out = String::with_capacity(text.len());
    let mut from = 0;
    // ASCII lower case keeps every byte position, so offsets of `lower` are offsets of `text`.
    for (at, _) in lower.match_indices(|c| tags.iter().any(|tag| tag.starts_with(c))) {
        if tags.iter().any(|tag| lower[at..].starts_with(tag)) {
            out.push_str(&text[from..at]);
            out.push_str(instead);
            from = at + 1;
        }
    }
    out.push_str(&text[from..]);
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_text_stands_in_an_attributed_frame() {
        insta::assert_snapshot!(wrap("notes", Standing::New, "Use tabs."), @r#"
        <context source="notes">
        Use tabs.
        </context>
        "#);
    }

    #[test]
    fn an_update_says_that_it_replaces() {
        assert!(wrap("n", Standing::Replaces, "x").starts_with("<context source=\"n\" replaces=\"earlier\">"));
        assert!(plain("n", Standing::Withdrawn, "").contains("no longer applies"));
    }

    #[test]
    fn a_name_stays_inside_its_quotes() {
        assert!(wrap("a\"><b>", Standing::New, "x").starts_with("<context source=\"a&quot;__b_\">"));
    }

    proptest! {
        #[test]
        fn content_cannot_close_its_frame(text in "(?i)(.|</context>|<context|</CONTEXT ){0,40}") {
            let wrapped = wrap("s", Standing::New, &text).to_ascii_lowercase();
            prop_assert_eq!(wrapped.matches(CLOSE).count(), 1);
            prop_assert_eq!(wrapped.matches(OPEN).count(), 1);
        }
    }
}
