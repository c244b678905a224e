//! What a reviewer writes on the command line, and its names in the API.
use clap::{Args, Subcommand, ValueEnum};
use serde_json::{Map, Value};

#[derive(Debug, Subcommand)]
pub(super) enum Command {
    /// All proposals, oldest first
    #[command(after_help = "Example:\n  hookgate proposals list --status pending --json")]
    List {
        /// Only these
        #[arg(long, value_enum)]
        status: Option<Status>,
        /// Only of this tenant
        #[arg(long)]
        tenant: Option<String>,
    },
    /// One proposal with its body, and where it came from
    #[command(after_help = "Example:\n  hookgate proposals show 01kbxw5x9q7m2a4c")]
    Show(Which),
    /// Propose something
    #[command(after_help = "Example:\n  hookgate proposals add 'Use uv' --body 'Use uv, not pip.' --kind rule")]
    Add {
        /// A line
        title: String,
        /// What is to be remembered; - takes it from stdin
        #[arg(long)]
        body: String,
        #[command(flatten)]
        members: Members,
        /// The session that it comes from, which says whose it is
        #[arg(long)]
        session: Option<String>,
        /// Whose it is; without it and without a session it is for every tenant
        #[arg(long)]
        tenant: Option<String>,
    },
    /// Approve a proposal: models may see it from now on
    #[command(after_help = "Example:\n  hookgate proposals approve 01kbxw5x9q7m2a4c --by ann")]
    Approve {
        #[command(flatten)]
        which: Which,
        /// Who approves it
        #[arg(long)]
        by: Option<String>,
        /// The approved one whose place it takes
        #[arg(long, value_name = "ID")]
        supersedes: Option<String>,
    },
    /// Reject a proposal, or take back what was approved
    #[command(after_help = "Example:\n  hookgate proposals reject 01kbxw5x9q7m2a4c")]
    Reject {
        #[command(flatten)]
        which: Which,
        /// Who rejects it
        #[arg(long)]
        by: Option<String>,
    },
    /// Change a pending proposal
    #[command(after_help = "Example:\n  hookgate proposals edit 01kbxw5x9q7m2a4c --title 'Use uv, never pip'")]
    Edit {
        #[command(flatten)]
        which: Which,
        /// A line
        #[arg(long)]
        title: Option<String>,
        /// What is to be remembered; - takes it from stdin
        #[arg(long)]
        body: Option<String>,
        #[command(flatten)]
        members: Members,
    },
}

#[derive(Debug, Args)]
pub(super) struct Which {
    /// The proposal's id
    pub(super) id: String,
}

#[derive(Debug, Args)]
pub(super) struct Members {
    /// What it is; without it a fact
    #[arg(long, value_enum)]
    kind: Option<Kind>,
    /// How much you make of it
    #[arg(long)]
    tier: Option<String>,
    /// How sure you are, from 0 to 1
    #[arg(long)]
    confidence: Option<f64>,
    /// The sessions that it is for; without it all of the tenant
    #[arg(long, value_enum)]
    scope: Option<Scope>,
    /// With scope project: which
    #[arg(long)]
    project: Option<String>,
    /// The approved one whose place it takes once it is approved
    #[arg(long, value_name = "ID")]
    supersedes: Option<String>,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
pub(super) enum Status {
    Pending,
    Approved,
    Rejected,
    Superseded,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
pub(super) enum Kind {
    Rule,
    Decision,
    Fact,
    Task,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
pub(super) enum Scope {
    Session,
    Project,
    All,
}

/// The word that a value is chosen by.
pub(super) fn word(choice: impl ValueEnum) -> String {
    choice.to_possible_value().map(|value| value.get_name().to_owned()).unwrap_or_default()
}

/// The members that are there.
pub(super) fn members(all: impl IntoIterator<Item = (&'static str, Option<Value>)>) -> Value {
    all.into_iter().filter_map(|(name, value)| Some((name.to_owned(), value?))).collect::<Map<_, _>>().into()
}

pub(super) fn text(value: &Option<String>) -> Option<Value> {
    value.clone().map(Value::from)
}

impl Members {
    /// With their names in the API.
    pub(super) fn all(&self) -> Vec<(&'static str, Option<Value>)> {
        vec![
            ("kind", self.kind.map(|kind| word(kind).into())),
            ("tier", text(&self.tier)),
            ("confidence", self.confidence.map(Value::from)),
            ("scope", self.scope.map(|scope| word(scope).into())),
            ("project", text(&self.project)),
            ("supersedes", text(&self.supersedes)),
        ]
    }
}

impl Command {
    /// Whether it takes the token of reviews.
    pub(super) const fn reviews(&self) -> bool {
        matches!(self, Self::Approve { .. } | Self::Reject { .. } | Self::Edit { .. })
    }
}
