//! What the metrics say of what happened. The recorder is the process's, so that figures are compared with those before.
use crate::speech::{Finish, Item, Speech, Words};
use crate::stage::{Play, Stage, says_answer_n, session};
use crate::support::provider::event_stream;
use crate::support::{Recorded, Step, soon};
use hookgate::bus::{Kind, Origin, Written};
use hookgate::session::record::{SessionKey, Tenant};
use hookgate::telemetry::metrics::install;
use hookgate::telemetry::names::{self, ALL};
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::time::Instant;

/// The sum of all series of `name` whose labels hold these words.
fn figure(name: &str, labels: &[&str]) -> f64 {
    let text = install().render();
    let mine = text.lines().filter_map(|line| {
        let rest = line.strip_prefix(name).filter(|rest| rest.starts_with(['{', ' ']))?;
        let (series, value) = rest.rsplit_once(' ')?;
        labels.iter().all(|label| series.contains(label)).then(|| value.parse::<f64>().unwrap())
    });
    mine.sum()
}

/// Waits until a figure is at least this.
async fn reaches(name: &str, labels: &[&str], least: f64) {
    soon(async {
        while figure(name, labels) < least {
            tokio::task::yield_now().await;
        }
    })
    .await;
}

fn count(name: &str) -> String {
    format!("{name}_count")
}

#[tokio::test]
async fn a_turn_is_counted_with_its_times_its_tokens_and_its_session() {
    let figures = |of: &[(&str, &str)]| of.iter().map(|(name, label)| figure(name, &[label])).collect::<Vec<_>>();
    let (requests, overhead, store) =
        (count(names::REQUEST_SECONDS), count(names::OVERHEAD_SECONDS), count(names::STORE_SECONDS));
    let (upstream, hook) = (count(names::UPSTREAM_SECONDS), count(names::HOOK_SECONDS));
    let grown = [
        (names::REQUESTS, "dialect=\"chat\""),
        (&*requests, "dialect=\"chat\""),
        (&*overhead, "dialect=\"chat\""),
        (&*upstream, "upstream=\"openai\""),
        (names::TURNS, "outcome=\"completed\""),
        (names::TOKENS, "kind=\"output\",model="),
        (names::INJECTED_CHARS, ""),
        (names::HOOK_RUNS, "hook=\"prompt\",event=\"prompt.submit\",result=\"ok\""),
        (&*hook, "hook=\"stop\",event=\"session.stop\""),
        (names::SESSIONS_STARTED, "source=\"startup\""),
        (&*store, "op=\"compare_and_set\""),
        (names::PREFIX_CLIENT_BYTES, ""),
        (names::PREFIX_KEPT_BYTES, ""),
    ];
    let mut stage = Stage::usual().await;
    let before = figures(&grown);
    let mut agent = stage.agent(Speech::Chat, true);
    agent.prompt("one").await;
    agent.prompt("two").await;
    stage.stop().await;
    for ((before, after), (name, label)) in before.iter().zip(figures(&grown)).zip(grown) {
        assert!(after > *before, "{name} {label}: {before} {after}\n{}", install().render());
    }
    assert_eq!(figure(names::CONFIG_VERSION, &[]).fract(), 0.0);
    assert!(figure(names::CONFIG_LOADED, &[]) > 1e9);
    for gauge in [names::IN_FLIGHT, names::BUFFERED_BYTES] {
        assert!(install().render().contains(&format!("\n{gauge} ")), "{gauge}");
    }
}

#[tokio::test]
async fn what_a_scrape_shows_has_its_help_and_is_in_the_catalogue() {
    let stage = Stage::usual().await;
    stage.agent(Speech::Gemini, false).prompt("one").await;
    let text = install().render();
    let known: BTreeSet<&str> = ALL.iter().map(|metric| metric.name).collect();
    let shown: BTreeSet<&str> =
        text.lines().filter_map(|line| line.strip_prefix("# TYPE ")?.split(' ').next()).collect();
    assert!(shown.len() > 10, "{text}");
    for name in shown.iter().filter(|name| name.starts_with("hookgate_")) {
        assert!(known.contains(name), "{name} is in no catalogue");
        let metric = ALL.iter().find(|metric| metric.name == *name).unwrap();
        assert!(text.contains(&format!("# HELP {name} {}\n", metric.help)), "{name}");
    }
}

#[tokio::test]
async fn text_that_does_not_fit_is_counted_by_its_hook() {
    let hooks = "hooks:\n  - { name: wordy, on: prompt.submit, run: { text: 0123456789 } }\n  - { name: late, on: prompt.submit, run: { text: abc } }\n";
    let settings = "lifecycle: { max_injected_context_chars: 4 }";
    let stage = Stage::play(Play { hooks, settings, ..Play::default() }).await;
    stage.agent(Speech::Anthropic, true).prompt("one").await;
    assert_eq!(figure(names::TRUNCATED_CHARS, &["hook=\"wordy\""]), 6.0);
    assert_eq!(figure(names::TRUNCATED_CHARS, &["hook=\"late\""]), 3.0);
}

#[tokio::test]
async fn a_hook_that_breaks_a_prefix_is_named() {
    let hooks = "hooks:\n  - { name: fleeting, on: prompt.submit, run: { http: { url: 'HOOKS' } } }\n";
    let settings = "injection: { layout: stable, retain: turn }";
    let stage = Stage::play(Play { hooks, settings, ..Play::default() }).await;
    let mut agent = stage.agent(Speech::Chat, true);
    agent.prompt("one").await;
    agent.prompt("two").await;
    assert_eq!(figure(names::CACHE_BREAKS, &["hook=\"fleeting\""]), 1.0);
}

#[tokio::test]
async fn turns_that_go_on_and_calls_that_are_refused_are_counted() {
    let before = (figure(names::CONTINUATIONS, &["continued"]), figure(names::TOOL_CALLS, &["denied"]));
    let refused = figure(names::REFUSED_CALLS, &["answered"]);
    let hooks = "hooks:
  - { name: again, on: session.stopping, run: { http: { url: 'HOOKS' } } }
  - { name: judge, on: tool.call, run: { http: { url: 'HOOKS' } } }
";
    let answers = |event: &Value| match event["event"].as_str() {
        Some("tool.call") => json!({"tool": {"deny": "no"}}),
        _ if event["turn"]["attempt"] == 1 => json!({"continue": true, "message": "go on"}),
        _ => json!({}),
    };
    let says = |request: &Recorded, n: usize| match n {
        0 => Speech::of(request).answer(request, n, &Words::call("", "call_1")),
        _ => says_answer_n(request, n),
    };
    let stage = Stage::play(Play {
        hooks,
        says: Box::new(says),
        answers: Box::new(move |e| (None, answers(e))),
        ..Play::default()
    })
    .await;
    stage.agent(Speech::Anthropic, true).prompt("one").await;
    assert!(figure(names::TOOL_CALLS, &["denied"]) > before.1);
    assert!(figure(names::REFUSED_CALLS, &["answered"]) > refused);
    stage.agent(Speech::Anthropic, true).headers(session("s2")).prompt("two").await;
    assert!(figure(names::CONTINUATIONS, &["continued"]) > before.0);
}

#[tokio::test]
async fn answers_that_break_off_and_clients_that_leave_are_counted() {
    let (cut, gone) = (figure(names::STREAMS_CUT, &[]), figure(names::CLIENT_GONE, &[]));
    let failed = figure(names::TURNS, &["outcome=\"failed\""]);
    let says = |_: &Recorded, n: usize| match n {
        0 => vec![event_stream(), Step::chunk(": hello\n\n"), Step::Close],
        _ => vec![event_stream(), Step::chunk(": hello\n\n"), Step::WaitForClose],
    };
    let stage = Stage::play(Play { says: Box::new(says), ..Play::default() }).await;
    let mut agent = stage.agent(Speech::Anthropic, true);
    agent.history.push(Item::user("one"));
    agent.ask().await;
    reaches(names::STREAMS_CUT, &[], cut + 1.0).await;
    let mut client = agent.begin().await;
    client.head().await;
    drop(client);
    reaches(names::CLIENT_GONE, &[], gone + 1.0).await;
    assert!(figure(names::TURNS, &["outcome=\"failed\""]) > failed);
}

#[tokio::test]
async fn messages_proposals_and_ends_of_sessions_and_workers_are_counted() {
    let states = ["queued", "delivered"];
    let before = states.map(|state| figure(names::MESSAGES, &[state]));
    let (proposals, ended) = (figure(names::PROPOSALS, &["new"]), figure(names::SESSIONS_ENDED, &["idle"]));
    let hooks = "hooks:
  - { name: proposes, on: prompt.submit, run: { http: { url: 'HOOKS' } } }
  - { name: quitter, on: prompt.submit, run: { worker: [sh, -c, 'exit 1'] } }
";
    let answers = |event: &Value| {
        let title = format!("Use {}", event["prompt"]["text"]);
        (None, json!({"propose": [{"title": title, "body": "words", "kind": "rule"}]}))
    };
    let stage = Stage::play(Play {
        hooks,
        settings: "sessions: { idle_end: 1s }",
        answers: Box::new(answers),
        says: Box::new(|request, n| Speech::of(request).answer(request, n, &Words::ended("x", Finish::Stop))),
        ..Play::default()
    })
    .await;
    let mut agent = stage.agent(Speech::Responses, true);
    agent.prompt("one").await;
    let tenant: Tenant = stage.turns().bus().tenants("s1").await.unwrap().pop_first().unwrap();
    let written = Written { text: "hear me".into(), kind: Kind::Note, ..Written::default() };
    stage.turns().bus().send(&tenant, "s1", "main", written, &Origin::Api).await.unwrap();
    agent.prompt("two").await;
    for (state, before) in states.iter().zip(before) {
        reaches(names::MESSAGES, &[state], before + 1.0).await;
    }
    reaches(names::PROPOSALS, &["new"], proposals + 1.0).await;
    reaches(names::WORKER_ENDS, &["hook=\"quitter\""], 1.0).await;
    let key = SessionKey { tenant, id: "s1".into(), agent: "main".into() };
    assert!(stage.turns().sessions().records.get(&key).await.unwrap().is_some());
    reaches(names::SESSIONS_ENDED, &["idle"], ended + 1.0).await;
}

/// The figures say nothing of single sessions, so that a scrape costs the same with ten thousand of them.
#[tokio::test]
async fn sessions_do_not_grow_a_scrape() {
    const SESSIONS: usize = 10_000;
    let stage = Stage::set("sessions: { without_id: none }").await;
    stage.agent(Speech::Chat, false).prompt("hello").await;
    let lines = || install().render().lines().count();
    let before = lines();
    for number in 0..SESSIONS {
        let key = SessionKey { tenant: Tenant("t".into()), id: format!("scraped-{number}"), agent: "main".into() };
        let opening = hookgate::session::record::Opening {
            parent: None,
            project: None,
            client: "generic".into(),
            source: hookgate::session::record::Source::Startup,
            credential: None,
            now: jiff::Timestamp::now(),
        };
        stage.turns().sessions().records.open(&key, opening).await.unwrap();
    }
    stage.agent(Speech::Chat, false).headers(session("scraped-1")).prompt("hello").await;
    let began = Instant::now();
    let text = install().render();
    eprintln!("a scrape with {SESSIONS} sessions: {:?}, {} bytes", began.elapsed(), text.len());
    assert!(!text.contains("scraped-"), "no session is named");
    // Other tests of this process add series of their own.
    assert!(lines() < before + SESSIONS / 10, "{before} {}", lines());
}
