//! `if`: a permission rule such as `Bash(git push *)` that a tool call must fit.
use serde_json::Value;

/// A rule on one tool's calls.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rule {
    tool: String,
    /// `None`: every call of the tool.
    content: Option<String>,
}

/// The argument that rules of a tool speak of.
const SUBJECTS: [(&str, &str); 9] = [
    ("Bash", "command"),
    ("Edit", "file_path"),
    ("MultiEdit", "file_path"),
    ("Write", "file_path"),
    ("Read", "file_path"),
    ("NotebookEdit", "notebook_path"),
    ("Glob", "pattern"),
    ("Grep", "pattern"),
    ("WebFetch", "url"),
];

impl Rule {
    /// Reads `Tool` or `Tool(content)`; `None` when it is neither.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let (tool, content) = match text.trim().split_once('(') {
            Some((tool, rest)) => (tool, Some(rest.strip_suffix(')')?)),
            None => (text.trim(), None),
        };
        let named = !tool.is_empty() && tool.bytes().all(|b| b.is_ascii_alphanumeric() || b"_-*".contains(&b));
        let content = content.filter(|content| !matches!(*content, "" | "*")).map(str::to_owned);
        named.then(|| Self { tool: tool.to_owned(), content })
    }

    /// Whether a call fits.
    #[must_use]
    pub fn applies(&self, tool: &str, input: &Value) -> bool {
        if !wildcard(&self.tool, tool) {
            return false;
        }
        let Some(content) = &self.content else { return true };
        let Some((name, member)) = SUBJECTS.iter().find(|(name, _)| *name == tool) else { return false };
        let Some(subject) = input.get(member).and_then(Value::as_str) else { return false };
        match (*name, content.strip_prefix("domain:")) {
            ("Bash", _) => command(content, subject),
            ("WebFetch", Some(domain)) => {
                subject.parse::<http::Uri>().ok().and_then(|url| url.host().map(|host| wildcard(domain, host)))
                    == Some(true)
            }
            _ => wildcard(content, subject),
        }
    }
}

/// Whether any of the commands of a shell line fits. A line that can't be taken apart by looking for operators fits: its
/// hook decides.
fn command(pattern: &str, line: &str) -> bool {
    match commands(line) {
        Some(commands) => commands.iter().any(|command| fits(pattern, without_assignments(command))),
        None => true,
    }
}

fn fits(pattern: &str, command: &str) -> bool {
    // The older form of a prefix: `npm run test:*`.
    if let Some(prefix) = pattern.strip_suffix(":*") {
        return command
            .strip_prefix(prefix)
            .is_some_and(|rest| rest.is_empty() || rest.starts_with(char::is_whitespace));
    }
    // `git *` is `git` alone, too.
    let bare = pattern.strip_suffix(" *").filter(|rest| !rest.contains('*'));
    bare == Some(command) || wildcard(pattern, command)
}

/// The commands of a line that is made of plain words, quotes and operators; `None` for one with substitutions or here
/// documents.
fn commands(line: &str) -> Option<Vec<&str>> {
    let (mut commands, mut begin, mut quote) = (Vec::new(), 0, None);
    let mut characters = line.char_indices().peekable();
    while let Some((at, character)) = characters.next() {
        match (quote, character) {
            (Some('\''), '\'') | (Some('"'), '"') => quote = None,
            (Some('\''), _) => {}
            (_, '\\') => {
                characters.next();
            }
            (_, '`') => return None,
            (_, '$') if matches!(characters.peek(), Some((_, '('))) => return None,
            (Some(_), _) => {}
            (None, '\'' | '"') => quote = Some(character),
            (None, '<') if matches!(characters.peek(), Some((_, '<' | '('))) => return None,
            (None, ';' | '|' | '&' | '\n' | '(' | ')') => {
                commands.push(line[begin..at].trim());
                begin = at + character.len_utf8();
            }
            _ => {}
        }
    }
    commands.push(line[begin..].trim());
    quote.is_none().then_some(commands)
}

/// `A=1 B=2 make` is `make`.
fn without_assignments(mut command: &str) -> &str {
    while let Some((first, rest)) = command.split_once(char::is_whitespace)
        && let Some((name, value)) = first.split_once('=')
        && !name.is_empty()
        && name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_')
        && !value.contains(['\'', '"'])
    {
        command = rest.trim_start();
    }
    command
}

/// `*` is any text; everything else is itself. In time linear in `text` for each `*`.
fn wildcard(pattern: &str, text: &str) -> bool {
    let mut pieces = pattern.split('*');
    let first = pieces.next().unwrap_or_default();
    let Some(mut rest) = text.strip_prefix(first) else { return false };
    let mut pieces: Vec<&str> = pieces.collect();
    let Some(last) = pieces.pop() else { return rest.is_empty() };
    for piece in pieces {
        let Some(at) = rest.find(piece) else { return false };
        rest = &rest[at + piece.len()..];
    }
    rest.ends_with(last)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_call_fits_its_rule() {
        for (rule, tool, input, expected) in [
            ("Bash", "Bash", json!({}), true),
            ("Bash(*)", "Bash", json!({"command": "ls"}), true),
            ("Bash", "Edit", json!({}), false),
            ("Bash(git *)", "Bash", json!({"command": "git push"}), true),
            ("Bash(git *)", "Bash", json!({"command": "git"}), true),
            ("Bash(git *)", "Bash", json!({"command": "gitk"}), false),
            ("Bash(git push:*)", "Bash", json!({"command": "git push origin"}), true),
            ("Bash(git push:*)", "Bash", json!({"command": "git pushed"}), false),
            ("Bash(rm *)", "Bash", json!({"command": "cd /x && rm -rf y"}), true),
            ("Bash(rm *)", "Bash", json!({"command": "echo 'a; rm b'"}), false),
            ("Bash(rm *)", "Bash", json!({"command": "FORCE=1 rm y"}), true),
            ("Bash(rm *)", "Bash", json!({"command": "ls | xargs true"}), false),
            ("Bash(rm *)", "Bash", json!({"command": "echo $(rm y)"}), true),
            ("Bash(rm *)", "Bash", json!({"command": "cat <<X\nrm\nX"}), true),
            ("Bash(rm *)", "Bash", json!({"command": "echo 'open"}), true),
            ("Bash(rm *)", "Bash", json!({}), false),
            ("Edit(*.ts)", "Edit", json!({"file_path": "/a/b.ts"}), true),
            ("Edit(*.ts)", "Edit", json!({"file_path": "/a/b.tsx"}), false),
            ("Edit(*.ts)", "Write", json!({"file_path": "/a/b.ts"}), false),
            ("Read(*/.env*)", "Read", json!({"file_path": "/a/.env.local"}), true),
            ("WebFetch(domain:*.example.com)", "WebFetch", json!({"url": "https://a.example.com/x"}), true),
            ("WebFetch(domain:example.com)", "WebFetch", json!({"url": "https://example.com.evil/x"}), false),
            ("mcp__files__*", "mcp__files__write", json!({}), true),
            ("mcp__files__*", "mcp__web__get", json!({}), false),
            ("mcp__files__write(x)", "mcp__files__write", json!({"path": "x"}), false),
        ] {
            let read = Rule::parse(rule).unwrap_or_else(|| panic!("{rule}"));
            assert_eq!(read.applies(tool, &input), expected, "{rule} on {tool} {input}");
        }
    }

    #[test]
    fn what_is_no_rule_is_refused() {
        for rule in ["", "Bash(git", "(x)", "Ba sh", "Bash)"] {
            assert_eq!(Rule::parse(rule), None, "{rule:?}");
        }
    }
}
