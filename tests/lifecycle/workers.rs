//! `run.worker`: one process that answers the events of many requests.
use crate::speech::{ALL, Speech, every_form};
use crate::stage::{Play, Stage, session};
use std::path::Path;

/// A hook on these events that runs this script in `sh`.
fn worker(on: &str, script: &str, more: &str) -> Play {
    let script = script.replace('\'', "''");
    let yaml = format!("hooks:\n  - {{ name: probe, on: {on}, {more} run: {{ worker: [sh, -c, '{script}'] }} }}\n");
    Play { hooks: yaml.leak(), ..Play::default() }
}

fn is_alive(pid: &str) -> bool {
    Path::new("/proc").join(pid.trim()).exists()
}

#[tokio::test]
async fn one_process_answers_in_every_dialect_and_ends_with_the_gateway() {
    let script =
        r#"while read -r line; do echo "{\"edits\":[{\"op\":\"system.append\",\"text\":\"WORKER-$$-\"}]}"; done"#;
    let mut stage = Stage::play(worker("model.context", script, "")).await;
    for (speech, stream) in every_form() {
        stage.agent(speech, stream).prompt("hello").await;
    }
    let pid = |body: &serde_json::Value| {
        let body = body.to_string();
        let (_, rest) = body.split_once("WORKER-").unwrap_or_else(|| panic!("{body}"));
        rest.split('-').next().unwrap().to_owned()
    };
    let mut pids: Vec<String> = stage.bodies().iter().map(pid).collect();
    pids.dedup();
    let [pid] = &pids[..] else { panic!("{pids:?}") };
    assert!(is_alive(pid));
    stage.stop().await;
    assert!(!is_alive(pid), "it ends with the gateway");
}

#[tokio::test]
async fn plain_lines_are_context_and_empty_ones_change_nothing() {
    let script = r#"read -r line; echo PLAIN; while read -r line; do echo; done"#;
    for speech in ALL {
        let stage = Stage::play(worker("prompt.submit", script, "")).await;
        let mut agent = stage.agent(speech, true);
        agent.prompt("one").await;
        assert!(stage.last_body().to_string().contains("PLAIN"), "{speech:?}");
        let mut other = stage.agent(speech, true).headers(session("s2"));
        other.prompt("two").await;
        assert!(!stage.last_body().to_string().contains("PLAIN"), "{speech:?}");
    }
}

#[tokio::test]
async fn a_worker_that_dies_or_talks_nonsense_breaks_no_request() {
    for script in
        ["exit 1", "read -r line; exit 3", "while read -r line; do echo '{oops'; done", "yes", "cat >/dev/null"]
    {
        let stage = Stage::play(worker("prompt.submit", script, "timeout: 200ms,")).await;
        let mut agent = stage.agent(Speech::Anthropic, true);
        for prompt in ["one", "two"] {
            agent.prompt(prompt).await;
        }
        assert_eq!(stage.provider.requests().len(), 2, "{script}");
    }
}

#[tokio::test]
async fn a_worker_that_must_answer_refuses_what_it_can_not_answer() {
    let stage = Stage::play(worker("prompt.submit", "exit 1", "on_error: block,")).await;
    let answer = stage.agent(Speech::Chat, false).prompt("one").await;
    assert!(answer.text().contains("probe"), "{}", answer.text());
    assert!(stage.provider.requests().is_empty());
}
