//! Whatever dies in whatever phase of a turn that a hook continues: once stays once (I3), what the model saw stays seen
//! (I6), no end is made up (I7), and the session goes on.
use crate::process::Process;
use crate::speech::{ALL, Item, Speech, Words, every_form};
use crate::stage::{Agent, Play, Stage};
use crate::support::{Answer, Client, Gate, Recorded, Step, soon};
use futures_util::future::join_all;
use serde_json::{Value, json};
use std::collections::HashSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

const TEXT: &str = "run the tests";

const HOOKS: &str = "
hooks:
  - { name: check, on: session.stopping, run: { http: { url: 'HOOKS' } } }
  - { name: stop, on: session.stop, run: { http: { url: 'HOOKS' } } }
  - { name: fail, on: session.fail, run: { http: { url: 'HOOKS' } } }
";

/// [`HOOKS`] that are not waited for long.
const HASTY: &str = "
hooks:
  - { name: check, on: session.stopping, timeout: 2s, run: { http: { url: 'HOOKS' } } }
  - { name: stop, on: session.stop, timeout: 2s, run: { http: { url: 'HOOKS' } } }
  - { name: fail, on: session.fail, run: { http: { url: 'HOOKS' } } }
";

/// Where the turn stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Phase {
    /// The first leg's head is there, and none of its words.
    FirstBegins,
    FirstSpeaks,
    HookThinks,
    /// The next leg's head is not there.
    NextAwaited,
    NextBegins,
    NextSpeaks,
    /// The end of the second leg is held.
    HookThinksAgain,
    /// The client has the end.
    Delivered,
    StopHookRuns,
}

use Phase::{
    Delivered, FirstBegins, FirstSpeaks, HookThinks, HookThinksAgain, NextAwaited, NextBegins, NextSpeaks, StopHookRuns,
};

const PHASES: [Phase; 9] = [
    FirstBegins,
    FirstSpeaks,
    HookThinks,
    NextAwaited,
    NextBegins,
    NextSpeaks,
    HookThinksAgain,
    Delivered,
    StopHookRuns,
];

impl Phase {
    /// The provider's request that is being answered.
    fn leg(self) -> Option<usize> {
        match self {
            FirstBegins | FirstSpeaks => Some(0),
            NextAwaited | NextBegins | NextSpeaks => Some(1),
            HookThinks | HookThinksAgain | Delivered | StopHookRuns => None,
        }
    }

    /// The phase that an event is told in.
    fn of(event: &Value) -> Option<Self> {
        match (event["event"].as_str().unwrap(), answers_in(event["turn"]["text"].as_str().unwrap_or_default())) {
            ("session.stopping", 1) => Some(HookThinks),
            ("session.stopping", _) => Some(HookThinksAgain),
            ("session.stop", _) => Some(StopHookRuns),
            _ => None,
        }
    }

    /// An answer, cut in two where this phase stands.
    fn cut(self, mut steps: Vec<Step>) -> (Vec<Step>, Vec<Step>) {
        let words = if let [Step::Write(whole)] = &steps[..] {
            let head = whole.windows(4).position(|four| four == b"\r\n\r\n").unwrap() + 4;
            let middle = (head + whole.len()) / 2;
            steps =
                [&whole[..head], &whole[head..middle], &whole[middle..]].map(|part| Step::Write(part.into())).into();
            1
        } else {
            let speaks = |step: &Step| matches!(step, Step::Write(b) if String::from_utf8_lossy(b).contains("ANSWER"));
            steps.iter().position(speaks).unwrap()
        };
        let rest = steps.split_off(match self {
            NextAwaited => 0,
            // An opened block or item counts as a word.
            FirstBegins | NextBegins => words.min(2),
            _ => words + 1,
        });
        (steps, rest)
    }
}

/// How many answers stand in a text.
fn answers_in(text: &str) -> usize {
    text.matches("ANSWER").count()
}

/// What becomes of the turn in the phase where it stands still.
#[derive(Debug, Clone)]
enum Fault {
    /// It waits for a gate.
    Wait(Gate),
    /// The provider resets the connection.
    Reset,
    /// The provider ends its answer as if all were said.
    End,
    /// The provider says nothing more.
    Silence,
    /// The hook hangs up.
    Crash,
}

/// A turn that is continued once, with a fault in one phase; after that everything works.
fn turn(phase: Phase, fault: Fault) -> Play {
    let (at_provider, at_hook, is_over) = (fault.clone(), fault, Arc::new(AtomicBool::new(false)));
    Play {
        hooks: HOOKS,
        says: Box::new(move |request: &Recorded, n| {
            let speech = Speech::of(request);
            let stream = speech.asks_stream(request);
            let steps = speech.answers(stream, n, &Words::text(format!("ANSWER{n}")));
            if phase.leg() != Some(n) {
                return steps;
            }
            let (mut steps, rest) = phase.cut(steps);
            match &at_provider {
                Fault::Wait(gate) => steps.extend(std::iter::once(Step::Wait(gate.clone())).chain(rest)),
                Fault::Reset | Fault::Crash => steps.push(Step::Reset),
                Fault::End if stream && phase != NextAwaited => steps.push(Step::last_chunk()),
                Fault::End => steps.push(Step::Close),
                Fault::Silence => steps.push(Step::WaitForClose),
            }
            steps
        }),
        answers: Box::new(move |event| {
            let here = Phase::of(event);
            let reply = if here == Some(HookThinks) { json!({"continue": true, "message": TEXT}) } else { json!({}) };
            match &at_hook {
                Fault::Wait(gate) if here == Some(phase) && !is_over.swap(true, Ordering::SeqCst) => {
                    (Some(gate.clone()), reply)
                }
                Fault::Crash if here == Some(phase) && !is_over.swap(true, Ordering::SeqCst) => (None, Value::Null),
                _ => (None, reply),
            }
        }),
        ..Play::default()
    }
}

/// Reads chunks until one holds `needle`.
async fn read_until(client: &mut Client, needle: &str) {
    client.head().await;
    let mut text = String::new();
    while !text.contains(needle) {
        let chunk = client.chunk().await.unwrap().expect("more of the stream");
        text.push_str(&String::from_utf8_lossy(&chunk));
    }
}

/// Waits until the turn stands in `phase`; the answer, where the client has it by then.
async fn reach(phase: Phase, stage: &Stage, client: &mut Client, stream: bool) -> Option<Answer> {
    match phase {
        FirstBegins => stage.wait_requests(1).await,
        FirstSpeaks | NextSpeaks if stream => {
            let words = if phase == FirstSpeaks { "ANSWER0" } else { "ANSWER1" };
            soon(read_until(client, words)).await;
        }
        FirstSpeaks => stage.wait_requests(1).await,
        NextAwaited | NextBegins | NextSpeaks => stage.wait_requests(2).await,
        HookThinks => _ = stage.wait_events("session.stopping", 1).await,
        HookThinksAgain => _ = stage.wait_events("session.stopping", 2).await,
        Delivered => return Some(client.answer("POST").await),
        StopHookRuns => {
            let answer = client.answer("POST").await;
            stage.wait_events("session.stop", 1).await;
            return Some(answer);
        }
    }
    None
}

fn keep(agent: &mut Agent<'_>, answer: &Answer, what: &str) {
    assert!(answer.status() == 200 && answer.whole, "{what}: {}", answer.text());
    let heard = agent.speech.heard(agent.stream, &answer.body);
    assert!(heard.finish.is_some(), "{what}: {}", answer.text());
    agent.history.push(heard.item());
}

/// Role and text of every item that the model sees.
fn seen(speech: Speech, body: &Value) -> Vec<String> {
    let seen = speech.seen(body);
    (0..seen.items.len()).map(|at| format!("{}: {}", seen.items[at].0, seen.item(at).trim())).collect()
}

/// What the last request shows of every answer that the client has is what the model saw when it gave it (I6).
fn holds_all_that_was_seen(agent: &Agent<'_>, what: &str) {
    let bodies = agent.stage.bodies();
    let last = seen(agent.speech, bodies.last().unwrap());
    let known = format!("{:?}", agent.history);
    for (n, body) in bodies.iter().enumerate().filter(|(n, _)| known.contains(&format!("ANSWER{n}"))) {
        let before = seen(agent.speech, body);
        assert!(last.len() > before.len() || n + 1 == bodies.len(), "{what}: {last:#?}");
        assert_eq!(last[..before.len()], before, "{what}: before answer {n}");
    }
}

/// Events of a kind, each counted once: what a kill interrupted may run again under its id.
fn told(stage: &Stage, kind: &str) -> usize {
    let events = stage.events(kind);
    events.iter().map(|event| event["event_id"].to_string()).collect::<HashSet<_>>().len()
}

/// The turn's answer, if the client got none by a retry, and another turn behind it.
async fn go_on(agent: &mut Agent<'_>, what: &str) {
    if matches!(agent.history.last(), Some(Item::User(_))) {
        let again = agent.ask().await;
        keep(agent, &again, what);
    }
    agent.stage.wait_events("session.stop", 1).await;
    assert_eq!(told(agent.stage, "session.stop"), 1, "{what}");
    agent.history.push(Item::user("thanks"));
    let answer = agent.ask().await;
    keep(agent, &answer, what);
    holds_all_that_was_seen(agent, what);
    agent.stage.wait_events("session.stop", 2).await;
}

fn reasons(stage: &Stage) -> Vec<Value> {
    stage.events("session.fail").iter().map(|event| event["reason"].clone()).collect()
}

/// Plays a turn with a fault in all dialects at once, streamed and not: most of it is waiting.
async fn in_every_form<Fut: Future<Output = ()>>(play: impl Fn(Speech, bool) -> Fut) {
    join_all(every_form().map(|(speech, stream)| play(speech, stream))).await;
}

async fn client_leaves(phase: Phase, speech: Speech, stream: bool) {
    let what = format!("{phase:?} {speech:?} stream={stream}");
    let gate = Gate::new();
    let stage = Stage::play(turn(phase, Fault::Wait(gate.clone()))).await;
    let mut agent = stage.agent(speech, stream);
    agent.history.push(Item::user("fix it"));
    let mut client = agent.begin().await;
    let answer = reach(phase, &stage, &mut client, stream).await;
    drop(client);
    match &answer {
        Some(answer) => keep(&mut agent, answer, &what),
        None => {
            stage.wait_events("session.fail", 1).await;
            assert_eq!(stage.events("session.stop").len(), 0, "{what}");
        }
    }
    gate.open();
    go_on(&mut agent, &what).await;
    let expected = if answer.is_none() { vec![json!("client_gone")] } else { vec![] };
    assert_eq!(reasons(&stage), expected, "{what}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_client_that_leaves_in_any_phase_tries_again_and_goes_on() {
    for phase in PHASES {
        in_every_form(|speech, stream| client_leaves(phase, speech, stream)).await;
    }
}

async fn provider_fails(phase: Phase, fault: Fault, reason: &str, speech: Speech, stream: bool) {
    let what = format!("{phase:?} {fault:?} {speech:?} stream={stream}");
    let upstream = if reason == "upstream_idle" { ", idle_timeout: 1s" } else { "" };
    let stage = Stage::play(Play { upstream, ..turn(phase, fault) }).await;
    let mut agent = stage.agent(speech, stream);
    agent.history.push(Item::user("fix it"));
    let answer = agent.ask().await;
    // A later leg is one only when it has spoken; what is not streamed speaks when it is whole.
    let is_cut = phase.leg() == Some(0) || (phase == NextSpeaks && stream);
    if is_cut {
        let ends = stream && speech.heard(stream, &answer.body).finish.is_some();
        let is_error = !answer.whole || answer.status() >= 500;
        assert!(!ends && (stream || is_error), "{what}: a made-up end {}", answer.text());
        stage.wait_events("session.fail", 1).await;
        assert_eq!(stage.events("session.stop").len(), 0, "{what}");
    } else {
        keep(&mut agent, &answer, &what);
        assert_eq!(answers_in(&format!("{:?}", agent.history)), 1, "{what}: {}", answer.text());
    }
    go_on(&mut agent, &what).await;
    assert_eq!(reasons(&stage), if is_cut { vec![json!(reason)] } else { vec![] }, "{what}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_provider_that_fails_in_any_phase_cuts_the_turn_or_ends_it_with_what_was_complete() {
    let faults = [(Fault::Reset, "cut"), (Fault::End, "cut"), (Fault::Silence, "upstream_idle")];
    for phase in PHASES.into_iter().filter(|phase| phase.leg().is_some()) {
        for (fault, reason) in &faults {
            in_every_form(|speech, stream| provider_fails(phase, fault.clone(), reason, speech, stream)).await;
        }
    }
}

async fn hook_fails(phase: Phase, hangs: bool, speech: Speech, stream: bool) {
    let what = format!("{phase:?} hangs={hangs} {speech:?} stream={stream}");
    let gate = Gate::new();
    let fault = if hangs { Fault::Wait(gate.clone()) } else { Fault::Crash };
    let stage = Stage::play(Play { hooks: HASTY, ..turn(phase, fault) }).await;
    let mut agent = stage.agent(speech, stream);
    let answer = agent.prompt("fix it").await;
    let said = answers_in(&speech.heard(stream, &answer.body).text);
    assert_eq!(said, if phase == HookThinks { 1 } else { 2 }, "{what}: {}", answer.text());
    go_on(&mut agent, &what).await;
    assert_eq!(reasons(&stage), Vec::<Value>::new(), "{what}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_hook_that_fails_in_any_phase_lets_the_turn_end_and_the_session_go_on() {
    for phase in [HookThinks, HookThinksAgain, StopHookRuns] {
        for hangs in [false, true] {
            in_every_form(|speech, stream| hook_fails(phase, hangs, speech, stream)).await;
        }
    }
}

/// Kills the gateway in this phase; the client tries again at the next one.
async fn killed(phase: Phase, speech: Speech, stream: bool) {
    let what = format!("{phase:?} {speech:?} stream={stream}");
    let gate = Gate::new();
    let play = Play { settings: "store: { kind: sled, path: ./data }", ..turn(phase, Fault::Wait(gate.clone())) };
    let mut stage = Stage::without_gateway(play).await;
    let process = Process::start(&stage);
    let mut history = vec![Item::user("fix it")];
    {
        let mut agent = stage.agent(speech, stream);
        agent.history.clone_from(&history);
        let mut client = process.begin(&agent).await;
        if let Some(answer) = reach(phase, &stage, &mut client, stream).await {
            keep(&mut agent, &answer, &what);
        }
        process.kill();
        history.clone_from(&agent.history);
    }
    gate.open();
    stage.start().await;
    let mut agent = stage.agent(speech, stream);
    agent.history = history;
    go_on(&mut agent, &what).await;
    assert_eq!(reasons(&stage), Vec::<Value>::new(), "{what}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn i9_a_kill_in_any_phase_leaves_a_session_that_goes_on() {
    for phase in PHASES {
        killed(phase, Speech::Anthropic, true).await;
    }
    for speech in ALL {
        killed(HookThinksAgain, speech, false).await;
        killed(Delivered, speech, true).await;
    }
}
