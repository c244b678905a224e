//! Events for the tests of this room, and what they look at processes with.
use super::Invocation;
use crate::config::EventKind;
use crate::context::{Finish, Usage};
use crate::hooks::contract::{Event, ModelInfo, PromptInfo, SessionInfo, ToolInfo, TurnInfo, VERSION};
use nix::errno::Errno;
use nix::sys::signal::kill;
use nix::unistd::Pid;
use serde_json::value::RawValue;
use std::collections::BTreeMap;
use std::path::Path;
use std::time::{Duration, Instant};

/// A limit that no ordinary test reaches: the default of `limits.hook_output`.
pub(in crate::hooks) const OUTPUT_LIMIT: usize = 1 << 20;

/// Long enough for a loaded machine.
pub(in crate::hooks) const TIME: Duration = Duration::from_secs(60);

/// A turn that ends with this text.
pub(in crate::hooks) fn turn(text: &str) -> TurnInfo {
    TurnInfo {
        id: "turn_1".into(),
        message_id: Some("msg_1".into()),
        text: text.into(),
        last_from: 0,
        tool_calls: Vec::new(),
        finish_reason: Finish::Stop,
        native_finish_reason: Some("end_turn".into()),
        usage: Usage::default(),
        legs: 1,
        continuing: false,
        attempt: 1,
        error: None,
    }
}

/// A call of `name`, as a model wrote its `input`.
pub(in crate::hooks) fn call_of(name: &str, input: &str) -> ToolInfo {
    ToolInfo {
        id: "toolu_1".into(),
        name: name.into(),
        input: RawValue::from_string(input.into()).expect("JSON"),
        result: None,
        is_error: false,
    }
}

/// A prompt of session `s1`.
pub(in crate::hooks) fn event() -> Event {
    Event {
        v: VERSION,
        event: EventKind::PromptSubmit.name(),
        event_id: "01".into(),
        hook: String::new(),
        session: SessionInfo {
            id: "s1".into(),
            agent: "main".into(),
            parent: None,
            project: None,
            tenant: "t_1".into(),
            turn: 3,
            source: "startup".into(),
            started_at: "2026-01-02T03:04:05Z".into(),
            new: false,
        },
        model: ModelInfo {
            requested: "fast".into(),
            resolved: "claude-haiku-4-5".into(),
            family: "claude",
            dialect: "anthropic",
            upstream: "anthropic".into(),
        },
        persistent: BTreeMap::new(),
        prompt: Some(PromptInfo { text: "what now?".into() }),
        request: None,
        roster: None,
        batch: None,
        tool: None,
        turn: None,
        reason: None,
        trace: Default::default(),
    }
}

/// The event for a hook called `probe`.
pub(in crate::hooks) fn invocation(event: &Event) -> Invocation<'_> {
    Invocation {
        kind: EventKind::PromptSubmit,
        event,
        hook: "probe",
        include_request: false,
        output_limit: OUTPUT_LIMIT,
        time: TIME,
    }
}

/// Long enough for a loaded machine, short enough to tell a hang.
pub(super) const PATIENCE: Duration = Duration::from_secs(20);

/// Whether a process is there and not a zombie.
pub(super) fn is_alive(pid: i32) -> bool {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    let state = stat.rsplit(") ").next().and_then(|rest| rest.chars().next());
    kill(Pid::from_raw(pid), None) != Err(Errno::ESRCH) && !matches!(state, None | Some('Z' | 'X'))
}

/// This process's children that have ended and were not waited for.
pub(super) fn zombies() -> usize {
    let own = std::process::id().to_string();
    let processes = std::fs::read_dir("/proc").expect("/proc").flatten();
    let stats = processes.filter_map(|process| std::fs::read_to_string(process.path().join("stat")).ok());
    let fields = stats.filter_map(|stat| stat.rsplit_once(") ").map(|(_, rest)| rest.to_owned()));
    fields.filter(|rest| rest.starts_with('Z') && rest.split(' ').nth(1) == Some(&own)).count()
}

/// Waits until `condition` holds, yielding to the runtime; it has to within [`PATIENCE`].
pub(super) async fn eventually(what: &str, condition: impl Fn() -> bool) {
    let until = Instant::now() + PATIENCE;
    while !condition() {
        assert!(Instant::now() < until, "{what}");
        tokio::time::sleep(Duration::from_millis(2)).await;
    }
}

/// The number that a script writes to `path` as soon as it is there.
pub(super) async fn pid_in(path: &Path) -> i32 {
    let read = || std::fs::read_to_string(path).ok().and_then(|text| text.trim().parse().ok());
    eventually("the script writes its child's id", || read().is_some()).await;
    read().expect("a number")
}
