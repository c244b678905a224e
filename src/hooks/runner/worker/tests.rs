use super::super::testing::{OUTPUT_LIMIT, PATIENCE, event, eventually, invocation, is_alive, pid_in, zombies};
use super::*;
use crate::hooks::Event;
use crate::hooks::contract::PromptInfo;
use futures_util::future::join_all;
use std::time::{Duration, Instant};

/// What the tests' scripts begin with: the id of the event in `$line`, as `$id`.
const ID: &str = r#"id() { id=${line#*\"event_id\":\"}; id=${id%%\"*}; }; "#;

/// Too short for any answer that has to be waited for.
const MOMENT: Duration = Duration::from_millis(30);

fn worker_in(folder: &Path, script: &str, workers: usize) -> Worker {
    let argv = ["sh".to_owned(), "-c".to_owned(), format!("{ID}{script}")];
    Worker::new("probe", &argv, folder, &BTreeMap::new(), &[], workers).expect("a worker")
}

fn worker(script: &str) -> Worker {
    worker_in(Path::new("/"), script, 1)
}

fn numbered(id: &str) -> Event {
    Event { event_id: id.to_owned(), ..event() }
}

async fn ask_within(worker: &Worker, event: &Event, limit: usize) -> Result<String, HookFailure> {
    let call = Invocation { output_limit: limit, ..invocation(event) };
    match tokio::time::timeout(PATIENCE, worker.run(&call)).await.expect("no hang")? {
        Output::Written(line) => Ok(String::from_utf8_lossy(&line).into_owned()),
        other => panic!("a worker writes: {other:?}"),
    }
}

async fn ask(worker: &Worker, id: &str) -> Result<String, HookFailure> {
    ask_within(worker, &numbered(id), OUTPUT_LIMIT).await
}

/// Asks and does not wait for the answer.
async fn give_up(worker: &Worker, id: &str) {
    let event = numbered(id);
    let call = invocation(&event);
    assert!(tokio::time::timeout(MOMENT, worker.run(&call)).await.is_err(), "{id} is not answered");
}

/// Asks until the worker runs again.
async fn ask_again(worker: &Worker, id: &str) -> String {
    let until = Instant::now() + PATIENCE;
    loop {
        match ask(worker, id).await {
            Ok(line) => return line,
            // One that is about to end may be given an event still.
            Err(HookFailure::WorkerDown | HookFailure::WorkerEnded(_)) => assert!(Instant::now() < until, "it is down"),
            Err(failure) => panic!("{failure}"),
        }
        tokio::time::sleep(Duration::from_millis(2)).await;
    }
}

#[tokio::test]
async fn one_process_answers_every_event_with_its_own_line() {
    let worker = worker("while read -r line; do id; echo \"$id of $$\"; done");
    let first = ask(&worker, "a").await.expect("an answer");
    let process = first.strip_prefix("a of ").expect("its own");
    for id in ["b", "c"] {
        assert_eq!(ask(&worker, id).await, Ok(format!("{id} of {process}")));
    }
}

#[tokio::test]
async fn the_event_is_one_line_and_the_answer_too() {
    let worker = worker("exec cat");
    let line = ask(&worker, "a").await.expect("an answer");
    let event: serde_json::Value = serde_json::from_str(&line).expect("JSON");
    assert_eq!((&event["event_id"], &event["hook"], &event["v"]), (&"a".into(), &"probe".into(), &1.into()));
    assert!(!line.contains('\n'));
}

#[tokio::test]
async fn events_in_flight_at_once_are_answered_each_with_its_own() {
    let worker = worker("exec cat");
    let ids: Vec<String> = (0..500).map(|n| n.to_string()).collect();
    let answers = join_all(ids.iter().map(|id| ask(&worker, id))).await;
    for (id, answer) in ids.iter().zip(answers) {
        assert!(answer.expect("an answer").contains(&format!("\"event_id\":\"{id}\"")), "{id}");
    }
}

#[tokio::test]
async fn an_answer_that_names_its_event_may_come_first() {
    let say = r#"echo "{\"event_id\":\"$second\"}"; echo "{\"event_id\":\"$first\"}""#;
    let worker = worker(&format!("while read -r line; do id; first=$id; read -r line; id; second=$id; {say}; done"));
    let (one, two) = tokio::join!(ask(&worker, "1"), ask(&worker, "2"));
    assert_eq!((one, two), (Ok(r#"{"event_id":"1"}"#.into()), Ok(r#"{"event_id":"2"}"#.into())));
}

#[tokio::test]
async fn processes_take_turns() {
    let worker = worker_in(Path::new("/"), "while read -r line; do echo $$; done", 2);
    let mut processes = Vec::new();
    eventually("both run", || worker.lanes().iter().all(Lane::is_up)).await;
    for id in ["1", "2", "3", "4"] {
        processes.push(ask(&worker, id).await.expect("an answer"));
    }
    assert_eq!(processes[..2], processes[2..]);
    assert_ne!(processes[0], processes[1]);
}

#[tokio::test]
async fn an_event_in_the_hands_of_a_process_that_dies_fails_and_the_next_ones_fail_at_once() {
    let worker = worker("read -r line; exit 3");
    assert_eq!(ask(&worker, "1").await, Err(HookFailure::WorkerEnded("ended with exit status 3".into())));
    let started = Instant::now();
    assert_eq!(ask(&worker, "2").await, Err(HookFailure::WorkerDown));
    assert!(started.elapsed() < Duration::from_secs(1));
}

#[tokio::test]
async fn what_died_is_started_again_and_what_it_had_written_counts() {
    let worker = worker("read -r line; id; echo $id; read -r line; id; echo $id; kill -9 $$");
    for id in ["1", "2", "3", "4", "5"] {
        assert_eq!(ask_again(&worker, id).await, id);
    }
}

#[tokio::test]
async fn a_program_that_is_not_there_is_tried_again() {
    let folder = tempfile::tempdir().expect("a folder");
    let program = folder.path().join("late.sh");
    let argv = [program.to_string_lossy().into_owned()];
    let worker = Worker::new("probe", &argv, folder.path(), &BTreeMap::new(), &[], 1).expect("a worker");
    assert_eq!(ask(&worker, "1").await, Err(HookFailure::WorkerDown));
    // A copy, since a script that is open for writing can't be run.
    std::fs::copy("/bin/cat", &program).expect("copied");
    assert!(ask_again(&worker, "2").await.contains("\"event_id\":\"2\""));
}

#[tokio::test]
async fn a_late_answer_is_not_the_next_ones() {
    let folder = tempfile::tempdir().expect("a folder");
    assert!(std::process::Command::new("mkfifo").arg(folder.path().join("gate")).status().expect("mkfifo").success());
    let worker =
        worker_in(folder.path(), "read -r line; cat gate; id; echo $id; while read -r line; do id; echo $id; done", 1);
    give_up(&worker, "1").await;
    let (next, ()) = tokio::join!(ask(&worker, "2"), async {
        tokio::fs::write(folder.path().join("gate"), "").await.expect("opened");
    });
    assert_eq!(next.as_deref(), Ok("2"));
}

#[tokio::test]
async fn a_process_that_hangs_is_ended_with_all_that_it_started() {
    let folder = tempfile::tempdir().expect("a folder");
    let worker =
        worker_in(folder.path(), "sleep 300 & echo $! > child; echo $$ > leader; trap '' TERM; wait; sleep 300", 1);
    let leader = pid_in(&folder.path().join("leader")).await;
    let child = pid_in(&folder.path().join("child")).await;
    for id in ["1", "2"] {
        give_up(&worker, id).await;
    }
    assert!(is_alive(leader), "one slow answer is no hang");
    give_up(&worker, "3").await;
    eventually("both are gone", || !is_alive(leader) && !is_alive(child)).await;
    eventually("another one runs", || worker.lanes().iter().all(Lane::is_up)).await;
}

#[tokio::test]
async fn a_line_over_the_limit_fails_and_the_process_is_started_anew() {
    let worker = worker("read -r line; head -c 10485760 /dev/zero; sleep 300");
    let failure = ask_within(&worker, &numbered("1"), 1000).await;
    assert_eq!(failure, Err(HookFailure::OutputOverLimit { limit: 1000 }));
    assert_eq!(ask(&worker, "2").await, Err(HookFailure::WorkerDown));
}

#[tokio::test]
async fn a_process_that_speaks_unasked_is_started_anew() {
    let folder = tempfile::tempdir().expect("a folder");
    for says in ["echo hello", "printf half", "yes", "echo"] {
        let pid = folder.path().join("pid");
        let worker = worker_in(folder.path(), &format!("echo $$ > pid; {says}; sleep 300"), 1);
        let first = pid_in(&pid).await;
        eventually(says, || !is_alive(first)).await;
        drop(worker);
        let _ = std::fs::remove_file(&pid);
    }
}

#[tokio::test]
async fn large_events_and_answers_pass_while_the_process_reads_and_writes() {
    let worker = worker("exec cat");
    let prompt = |size: usize| Event { prompt: Some(PromptInfo { text: "p".repeat(size) }), ..numbered("1") };
    for size in [1 << 20, 0, 3 << 20] {
        let line = ask_within(&worker, &prompt(size), 4 << 20).await.expect("an answer");
        assert!(line.len() > size && line.ends_with('}'));
    }
}

#[tokio::test]
async fn the_environment_is_clean() {
    let worker = worker("while read -r line; do env | tr '\\n' ' '; echo; done");
    let variables = ask(&worker, "1").await.expect("an answer");
    assert!(
        variables.contains("PATH=") && !variables.contains("CARGO") && !variables.contains("HOOKGATE"),
        "{variables}"
    );
}

#[tokio::test]
async fn closing_waits_until_nothing_is_left() {
    let folder = tempfile::tempdir().expect("a folder");
    let worker =
        worker_in(folder.path(), "sleep 300 & echo $! > child; echo $$ > leader; cat > events; echo bye > end", 2);
    let child = pid_in(&folder.path().join("child")).await;
    eventually("both run", || worker.lanes().iter().all(Lane::is_up)).await;
    tokio::time::timeout(PATIENCE, worker.close()).await.expect("closed");
    assert_eq!(std::fs::read_to_string(folder.path().join("end")).expect("it ended by itself"), "bye\n");
    eventually("its child is gone", || !is_alive(child)).await;
    eventually("all are waited for", || zombies() == 0).await;
}

#[tokio::test]
async fn a_dropped_worker_that_does_not_end_by_itself_is_ended() {
    let folder = tempfile::tempdir().expect("a folder");
    let script = "trap '' TERM HUP; sleep 300 & echo $! > child; echo $$ > leader; sleep 300; sleep 300";
    let worker = worker_in(folder.path(), script, 1);
    let leader = pid_in(&folder.path().join("leader")).await;
    let child = pid_in(&folder.path().join("child")).await;
    drop(worker);
    eventually("nothing is left", || !is_alive(leader) && !is_alive(child) && zombies() == 0).await;
}

/// `cargo test --lib a_worker_costs_less -- --ignored --nocapture` prints both.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "a measurement"]
async fn a_worker_costs_less_than_a_process_per_event() {
    /// Events that are measured; as many go before them.
    const EVENTS: usize = 1000;
    async fn median(runner: &dyn Runner) -> Duration {
        let event = event();
        let call = invocation(&event);
        let mut times = Vec::with_capacity(EVENTS);
        for _ in 0..2 * EVENTS {
            let started = Instant::now();
            runner.run(&call).await.expect("an answer");
            times.push(started.elapsed());
        }
        let mut measured = times.split_off(EVENTS);
        measured.sort_unstable();
        measured[EVENTS / 2]
    }
    let worker = median(&worker("while read -r line; do echo; done")).await;
    let argv: Vec<String> = ["sh", "-c", "read -r line; echo"].map(String::from).to_vec();
    let places = Arc::new(tokio::sync::Semaphore::new(1));
    let command = super::super::command::Command::new("probe", &argv, Path::new("/"), &BTreeMap::new(), &[], places);
    let command = median(&command.expect("a command")).await;
    println!("an empty hook in sh, p50: {worker:?} as a worker, {command:?} as a command");
}
