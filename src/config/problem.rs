//! What is wrong with a configuration, and where: all of it at once, one line each.
use std::fmt;

/// A place in a text; line and column count from 1, columns in characters.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Place {
    /// The line.
    pub line: usize,
    /// The column.
    pub column: usize,
}

impl Place {
    /// Where every text begins.
    pub const START: Self = Self { line: 1, column: 1 };
}

/// What a problem does to `serve` and `check`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Severity {
    /// The configuration can't be used.
    Fatal,
    /// Something outside the file is not in order yet (a hook's script is missing). A hook never breaks a session, so the
    /// gateway starts and the hook fails when it runs; `check` fails.
    Warning,
    /// Nothing is wrong, but something written has no effect here. Both say so, and go on.
    Notice,
}

/// One thing that is wrong.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Problem {
    /// Where.
    pub place: Place,
    /// The key's path, such as `hooks[1].timeout`; empty when it concerns the whole file.
    pub key: String,
    /// What is wrong and what to write instead.
    pub what: String,
    /// What it does.
    pub severity: Severity,
}

/// The problems of one file in the order of its lines. Prints one line each: `file:line:col: key: what`.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub struct Problems {
    /// The file's name as it was given.
    pub file: String,
    /// At least one.
    pub list: Vec<Problem>,
}

impl Problems {
    /// Problems of `file`, sorted by place.
    pub fn new(file: impl Into<String>, mut list: Vec<Problem>) -> Self {
        list.sort_by_key(|p| p.place);
        Self { file: file.into(), list }
    }

    /// One fatal problem of a whole file.
    pub fn whole(file: impl fmt::Display, what: impl Into<String>) -> Self {
        let problem = Problem { place: Place::START, key: String::new(), what: what.into(), severity: Severity::Fatal };
        Self::new(file.to_string(), vec![problem])
    }

    /// One line each: `file:line:col: key: what`.
    pub fn lines(&self) -> impl Iterator<Item = String> {
        self.list.iter().map(|Problem { place, key, what, severity }| {
            let colon = if key.is_empty() { "" } else { ": " };
            let notice = if *severity == Severity::Notice { "notice: " } else { "" };
            format!("{}:{}:{}: {key}{colon}{notice}{what}", self.file, place.line, place.column)
        })
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.list.is_empty()
    }

    /// Whether nothing is wrong: at most notices.
    pub fn is_fine(&self) -> bool {
        self.list.iter().all(|p| p.severity == Severity::Notice)
    }

    /// Whether one of them is fatal.
    pub fn is_fatal(&self) -> bool {
        self.list.iter().any(|p| p.severity == Severity::Fatal)
    }
}

impl fmt::Display for Problems {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, line) in self.lines().enumerate() {
            let newline = if index == 0 { "" } else { "\n" };
            write!(f, "{newline}{line}")?;
        }
        Ok(())
    }
}
