//! `matcher`: for which tools, sources, agents or errors a group is there.
use regress::Regex;

/// Longest name that a pattern is tried on, in bytes. Patterns backtrack as in JavaScript, and a model may call a tool by
/// a name of any length; what tools, sources and errors are really called is far shorter.
const MAX_NAME: usize = 256;

/// A matcher, by Claude Code's rules: `*`, nothing or blank is everything; letters, digits, `_`, `-`, spaces, `|` and `,`
/// alone make a list of names; all else is a regular expression of JavaScript, unanchored, and case counts.
#[derive(Debug, Clone)]
pub struct Matcher {
    text: String,
    kind: Kind,
}

#[derive(Debug, Clone)]
enum Kind {
    All,
    Names(Vec<String>),
    Pattern(Box<Regex>),
}

impl Matcher {
    /// Reads one.
    ///
    /// # Errors
    /// Why it is no regular expression.
    pub fn parse(text: &str) -> Result<Self, String> {
        let kind = if matches!(text, "" | "*") {
            Kind::All
        } else if text.bytes().all(|b| b.is_ascii_alphanumeric() || b"_ ,|-".contains(&b)) {
            let names = text.split(['|', ',']).map(str::trim).filter(|name| !name.is_empty());
            Kind::Names(names.map(str::to_owned).collect())
        } else {
            Kind::Pattern(Box::new(Regex::new(text).map_err(|error| error.to_string())?))
        };
        Ok(Self { text: text.to_owned(), kind })
    }

    /// Everything.
    #[must_use]
    pub fn all() -> Self {
        Self { text: String::new(), kind: Kind::All }
    }

    /// Whether a group is there for `name`.
    #[must_use]
    pub fn matches(&self, name: &str) -> bool {
        match &self.kind {
            Kind::All => true,
            Kind::Names(names) => names.iter().any(|one| one == name),
            Kind::Pattern(pattern) => pattern.find(&name[..name.floor_char_boundary(MAX_NAME)]).is_some(),
        }
    }
}

impl PartialEq for Matcher {
    fn eq(&self, other: &Self) -> bool {
        self.text == other.text
    }
}

impl Eq for Matcher {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_lists_and_patterns_match_by_claude_codes_rules() {
        for (matcher, name, expected) in [
            ("", "Bash", true),
            ("*", "Bash", true),
            ("Bash", "Bash", true),
            ("Bash", "bash", false),
            ("Bash", "BashOutput", false),
            ("Bash|Edit", "Edit", true),
            ("Bash, Edit", "Edit", true),
            ("Bash | Edit", "Edit", true),
            ("Bash,Edit", "Bash,Edit", false),
            ("my-agent", "my-agent", true),
            (" ", "Bash", false),
            ("mcp__memory__.*", "mcp__memory__create", true),
            ("mcp__memory", "mcp__memory__create", false),
            ("mcp__.*__write.*", "mcp__files__write_file", true),
            ("^Notebook", "NotebookEdit", true),
            ("Edit$", "NotebookEdit", true),
            ("Edit.", "NotebookEdit", false),
            ("^(?!mcp__).*", "Bash", true),
            ("^(?!mcp__).*", "mcp__a__b", false),
            (".*", "anything", true),
            ("(?<word>Ba)sh", "Bash", true),
            ("Bash*", "Bas", true),
        ] {
            let read = Matcher::parse(matcher).unwrap_or_else(|error| panic!("{matcher}: {error}"));
            assert_eq!(read.matches(name), expected, "{matcher:?} on {name:?}");
        }
        for matcher in ["(", "[a", "a{2,1}"] {
            assert!(Matcher::parse(matcher).is_err(), "{matcher}");
        }
    }
}
