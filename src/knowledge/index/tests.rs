use super::*;
use std::collections::BTreeSet;

/// Notes as agents leave them: id, title, body.
const NOTES: [(&str, &str, &str); 24] = [
    ("uv", "Use uv for Python packages", "Install with uv add, never pip. The lock file is uv.lock."),
    (
        "deploy",
        "Deploy with make release",
        "Production is deployed from main by make release; never push images by hand.",
    ),
    (
        "nextest",
        "Run tests with cargo nextest",
        "cargo nextest run --offline; the doc tests run with cargo test --doc.",
    ),
    (
        "migrations",
        "Database migrations go through sqlx",
        "Write a migration with sqlx migrate add, and run it against the staging database first.",
    ),
    (
        "auth",
        "Access tokens expire after 15 minutes",
        "The refresh token is in an http-only cookie. Clients retry once after a 401.",
    ),
    (
        "flaky",
        "test_payment_timeout is flaky",
        "It waits for a fixed second. Rerun it before looking for a bug in payments.",
    ),
    ("style", "Comments say why", "No comment narrates what the code does or its history."),
    ("api", "API errors have a code", "Every error body is {error: {code, message}}; clients switch on the code."),
    ("redis", "Redis is only a cache", "Nothing may be lost when Redis is emptied; sessions live in Postgres."),
    (
        "i18n",
        "Strings are translated in Crowdin",
        "New texts go into en.json only; translators do the other languages.",
    ),
    ("ci", "CI has two cores", "Do not raise the number of parallel jobs; the build runs out of memory."),
    (
        "stripe",
        "Stripe webhooks are signed",
        "Check the signature before the body is parsed. The test secret is in 1Password.",
    ),
    (
        "feature",
        "Feature flags live in LaunchDarkly",
        "A flag is removed two weeks after its rollout reached everyone.",
    ),
    ("logs", "Logs must not hold personal data", "E-mail addresses and names are redacted by the logger's filter."),
    ("css", "Styles use Tailwind", "No new CSS files; colours come from the theme in tailwind.config.ts."),
    ("node", "Node 22 is required", "The version is pinned in .nvmrc; older ones fail in the bundler."),
    ("backup", "Backups run at 03:00 UTC", "Do not schedule heavy jobs between three and four in the night."),
    ("review", "Two reviewers for billing", "Changes under billing/ need two approvals, one of them from finance."),
    (
        "graphql",
        "The GraphQL schema is generated",
        "Edit the Rust types and run cargo xtask schema; never schema.graphql itself.",
    ),
    ("timezones", "Times are stored in UTC", "Convert to the user's time zone in the browser only."),
    (
        "docker",
        "Images are built from scratch",
        "Binaries are static musl builds; the image holds the binary and certificates.",
    ),
    ("search", "Search is in OpenSearch", "Reindex with bin/reindex; it takes forty minutes and does not block reads."),
    ("branch", "Branches are named after their ticket", "For example ABC-123-short-title; the bot links them."),
    ("mobile", "The mobile app is frozen", "No changes to ios/ and android/ before the rewrite lands in March."),
];

/// Prompts, and the notes that a colleague would mention.
const PROMPTS: [(&str, &[&str]); 34] = [
    ("Add the requests package to the Python service", &["uv"]),
    ("How do I install a new python dependency?", &["uv"]),
    ("Please deploy the fix to production", &["deploy"]),
    ("Run the unit tests and tell me what fails", &["nextest"]),
    ("I need a new column in the users table, write the database migration", &["migrations"]),
    ("Users are logged out every 15 minutes, why do the tokens expire?", &["auth"]),
    ("test_payment_timeout failed in the pipeline, fix it", &["flaky"]),
    ("Add comments to parser.rs", &["style"]),
    ("Return a proper error from the API when the order is missing", &["api"]),
    ("Can I keep the shopping cart in redis?", &["redis"]),
    ("Translate the new strings into German", &["i18n"]),
    ("Speed up CI by running more parallel jobs", &["ci"]),
    ("Write the handler for the Stripe webhook", &["stripe"]),
    ("Put the new checkout behind a feature flag", &["feature"]),
    ("Log the e-mail address of the user when the login fails", &["logs"]),
    ("Make the button blue with a new css class", &["css"]),
    ("The bundler crashes with node 18", &["node"]),
    ("Schedule the heavy report job at 3 in the night", &["backup"]),
    ("Change how invoices are rounded in billing", &["review"]),
    ("Add a field to the GraphQL schema", &["graphql"]),
    ("Show the order times in the user's time zone", &["timezones"]),
    ("Remove the old flag for dark mode", &["feature"]),
    ("The search index is out of date after the import", &["search"]),
    ("Create a branch for ABC-99 and push it", &["branch"]),
    ("Fix the crash on android when the camera opens", &["mobile"]),
    ("Why is the docker image so large?", &["docker"]),
    ("Fix the typo in the readme", &[]),
    ("Rename the function parse_line to read_line", &[]),
    ("Write a haiku about the sea", &[]),
    ("The build is slow on my machine, what can I do about memory?", &["ci"]),
    ("Explain how the borrow checker works", &[]),
    ("Say hello", &[]),
    ("What is the capital of France?", &[]),
    ("Thanks, that looks great. Please continue.", &[]),
];

/// As a hook picks by default.
const PICKED: usize = 3;

fn index() -> Index {
    let mut index = Index::default();
    NOTES.iter().for_each(|(id, title, body)| index.put(id, title, body));
    index
}

/// Right, picked, wanted; and what went wrong.
fn measured(index: &Index) -> ([usize; 3], Vec<String>) {
    let mut sums = [0; 3];
    let mut wrong = Vec::new();
    for (prompt, wanted) in PROMPTS {
        let picked: BTreeSet<_> = index.matches(prompt).into_iter().take(PICKED).map(|(id, _)| id).collect();
        let wanted: BTreeSet<_> = wanted.iter().copied().collect();
        let right = picked.intersection(&wanted).count();
        sums = [sums[0] + right, sums[1] + picked.len(), sums[2] + wanted.len()];
        if picked != wanted {
            wrong.push(format!("{prompt}: {picked:?} for {wanted:?}"));
        }
    }
    (sums, wrong)
}

#[test]
fn what_is_picked_is_what_a_colleague_would_mention() {
    let ([right, picked, wanted], wrong) = measured(&index());
    let share = |part: usize, whole: usize| part * 100 / whole;
    let (precision, recall) = (share(right, picked), share(right, wanted));
    println!("precision {precision} %, recall {recall} % of {wanted}; {wrong:#?}");
    assert!(precision >= 90 && recall >= 90, "precision {precision} %, recall {recall} %: {wrong:#?}");
}

#[test]
fn what_is_removed_or_replaced_is_not_found() {
    let mut index = index();
    let found =
        |index: &Index, query| index.matches(query).into_iter().map(|(id, _)| id.to_owned()).collect::<Vec<_>>();
    assert_eq!(found(&index, "stripe"), ["stripe"]);
    index.put("stripe", "Paddle webhooks", "They replaced it.");
    assert_eq!(found(&index, "stripe"), Vec::<String>::new());
    assert_eq!(found(&index, "paddle"), ["stripe"]);
    NOTES.iter().for_each(|(id, ..)| index.remove(id));
    assert!(index.postings.is_empty() && index.numbers.is_empty());
    index.put("again", "Stripe", "A free number is used again.");
    assert_eq!(index.texts.len(), NOTES.len());
    assert_eq!(found(&index, "stripe"), ["again"]);
}

#[test]
fn an_empty_index_and_an_empty_prompt_match_nothing() {
    assert!(Index::default().matches("anything").is_empty());
    assert!(index().matches("").is_empty());
    assert!(index().matches("the of and !?").is_empty());
}
