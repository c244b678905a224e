//! `hooks`: one runner each, unique names, and scripts that are really there.
use super::claude_code::Keeping;
use super::{Base, first_use, model_context};
use crate::config::reader::{At, Reader};
use crate::config::resolved::{EventKind, Hook, Run};
use crate::config::value::Include;
use crate::config::written as from;
use std::path::{Path, PathBuf};

/// A name stands in log lines, metrics and URLs; beyond this it is a sentence.
const MAX_NAME_CHARS: usize = 128;

/// Any of the three execute bits (POSIX).
const EXECUTABLE: u32 = 0o111;

/// Resolves the list; a hook without exactly one runner is left out.
pub(super) fn resolve(written: Vec<from::Hook>, base: &Base, keeping: &Keeping, reader: &mut Reader<'_>) -> Vec<Hook> {
    let names: Vec<_> = written.iter().map(|hook| &hook.name).collect();
    for (name, first) in first_use(&names) {
        reader.refuse_at(name, format!("`{}` is already the name in line {}, write another", name.value, first.line));
    }
    for hook in &written {
        check(hook, reader);
    }
    written.into_iter().filter_map(|hook| convert(hook, base, keeping, reader)).collect()
}

fn check(hook: &from::Hook, reader: &mut Reader<'_>) {
    for name in std::iter::once(&hook.name).chain(&hook.slot) {
        let printable = !name.value.is_empty() && !name.value.chars().any(char::is_control);
        if !printable || name.value.chars().count() > MAX_NAME_CHARS {
            reader.refuse_at(name, format!("write 1 to {MAX_NAME_CHARS} printable characters"));
        }
    }
    let from::Run { text, file, edits, model_context, claude_code, knowledge, .. } = &hook.run.value;
    let says_itself = model_context.is_some() || claude_code.is_some() || knowledge.is_some();
    if hook.on.value.0.is_empty() && !says_itself && !reader.has_refused(&hook.on.key) {
        reader.refuse_at(&hook.on, "missing, write an event such as session.start or prompt.submit");
    }
    let elsewhere = hook.on.value.0.iter().find(|on| **on != EventKind::ModelContext);
    if let Some(event) = elsewhere.filter(|_| edits.is_some()) {
        reader.refuse_at(&hook.on, format!("edits don't run on {}, write model.context", event.name()));
    }
    if let Some(event) = elsewhere.filter(|_| model_context.is_some()) {
        reader.refuse_at(&hook.on, format!("model_context does not run on {}, leave `on` out", event.name()));
    }
    let without_prompt = hook.on.value.0.iter().find(|on| **on != EventKind::PromptSubmit);
    if let Some(event) = without_prompt.filter(|_| knowledge.is_some()) {
        reader.refuse_at(&hook.on, format!("knowledge does not run on {}, leave `on` out", event.name()));
    }
    if hook.on.value.0.contains(&EventKind::ModelContext) && (text.is_some() || file.is_some()) {
        reader.refuse_at(&hook.on, "a text is no edit, write run.edits with system.append on model.context");
    }
    let decides = |kind: &&EventKind| matches!(**kind, EventKind::SessionStopping | EventKind::ToolCall);
    if let Some(event) = hook.on.value.0.iter().find(decides).filter(|_| text.is_some() || file.is_some()) {
        reader.refuse_at(&hook.on, format!("a text can't decide on {}, write a command, worker or http", event.name()));
    }
}

fn convert(hook: from::Hook, base: &Base, keeping: &Keeping, reader: &mut Reader<'_>) -> Option<Hook> {
    let run = runner(&hook.run, base, keeping, reader)?;
    let on = match &run {
        Run::ClaudeCode(scripts) => scripts.events(&hook.on.value.0),
        Run::ModelContext(_) => vec![EventKind::ModelContext],
        Run::Knowledge { .. } => vec![EventKind::PromptSubmit],
        _ => hook.on.value.0,
    };
    Some(Hook {
        slot: hook.slot.map_or_else(|| hook.name.value.clone(), |slot| slot.value),
        name: hook.name.value,
        on,
        run,
        when: hook.when.map(|expression| expression.0),
        timeout: hook.timeout,
        on_error: hook.on_error,
        mode: hook.mode,
        include_request: hook.include.contains(&Include::Request),
    })
}

/// The words for what a hook does.
const RUNNERS: &str = "text, file, command, worker, http, edits, model_context, claude_code and knowledge";

/// Processes of one worker: more than a large machine has cores is a mistake.
const MAX_WORKERS: usize = 64;

fn runner(run: &At<from::Run>, base: &Base, keeping: &Keeping, reader: &mut Reader<'_>) -> Option<Run> {
    let from::Run {
        text,
        file,
        command,
        worker,
        workers,
        cwd,
        env,
        env_pass,
        http,
        edits,
        model_context,
        claude_code,
        knowledge,
    } = &run.value;
    if command.is_none() && worker.is_none() && (cwd.is_some() || !env.is_empty() || !env_pass.is_empty()) {
        reader.refuse_at(run, "cwd, env and env_pass belong to a command or worker, leave them out");
    }
    if let Some(workers) = workers.as_ref().filter(|_| worker.is_none()) {
        reader.refuse_at(workers, "belongs to a worker, leave it out");
    }
    let processes = [command.is_some(), worker.is_some(), claude_code.is_some()];
    let others = [text.is_some(), file.is_some(), http.is_some(), edits.is_some()];
    let built_in = [model_context.is_some(), knowledge.is_some()];
    let written = processes.into_iter().chain(others).chain(built_in);
    match written.filter(|is| *is).count() {
        0 if reader.has_refused(&run.key) => return None,
        0 => reader.refuse_at(run, format!("does nothing, write one of {RUNNERS}")),
        1 => return only(&run.value, base, keeping, reader),
        _ => reader.refuse_at(run, format!("more than one runner, write one of {RUNNERS}")),
    }
    None
}

/// The runner of a `run` that has one.
fn only(run: &from::Run, base: &Base, keeping: &Keeping, reader: &mut Reader<'_>) -> Option<Run> {
    if let Some(text) = &run.text {
        return Some(Run::Text(text.clone()));
    }
    if let Some(edits) = &run.edits {
        return Some(Run::Edits(edits.value.iter().map(|written| written.0.clone()).collect()));
    }
    if let Some(scripts) = &run.claude_code {
        return Some(Run::ClaudeCode(Box::new(super::claude_code::resolve(scripts, base, keeping, reader))));
    }
    if let Some(post) = &run.http {
        return Some(Run::Http { url: post.url.0.clone(), headers: post.headers.0.clone() });
    }
    if let Some(file) = &run.file {
        let path = base.join(&file.value);
        if !path.is_file() {
            reader.warn_at(file, format!("no such file {}, create it or write another path", path.display()));
        }
        return Some(Run::File(path));
    }
    if let Some(written) = &run.model_context {
        return model_context::resolve(written, base, reader);
    }
    if let Some(pick) = &run.knowledge {
        let max_entries = pick.value.max_entries.0;
        if max_entries == 0 {
            reader.refuse_at(pick, "max_entries: 0 picks nothing, write at least 1 or leave the hook out");
        }
        return Some(Run::Knowledge { max_entries });
    }
    process(run, base, reader)
}

fn process(run: &from::Run, base: &Base, reader: &mut Reader<'_>) -> Option<Run> {
    let argv = program(run.command.as_ref().or(run.worker.as_ref())?, base, reader)?;
    let cwd = base.join(run.cwd.as_ref().map_or(".", |cwd| cwd.value.as_str()));
    if let Some(written) = run.cwd.as_ref().filter(|_| !cwd.is_dir()) {
        reader.warn_at(written, format!("no such folder {}, create it or write another path", cwd.display()));
    }
    let (env, env_pass) = (run.env.clone(), run.env_pass.clone());
    if run.command.is_some() {
        return Some(Run::Command { argv, cwd, env, env_pass });
    }
    let workers = run.workers.as_ref().map_or(1, |workers| workers.value.0);
    if let Some(written) = run.workers.as_ref().filter(|_| !(1..=MAX_WORKERS).contains(&workers)) {
        reader.refuse_at(written, format!("write a number from 1 to {MAX_WORKERS}"));
    }
    Some(Run::Worker { argv, cwd, env, env_pass, workers })
}

/// A program with a slash is a path, and starts at the configuration's folder; a bare name is looked for in `PATH`.
fn program(argv: &At<Vec<String>>, base: &Base, reader: &mut Reader<'_>) -> Option<Vec<String>> {
    let Some((program, arguments)) = argv.value.split_first().filter(|(program, _)| !program.is_empty()) else {
        reader.refuse_at(argv, "no program, write a list such as [./hook.sh, --option]");
        return None;
    };
    if !program.contains('/') {
        if find_in_path(program, reader.env("PATH")).is_none() {
            reader.warn_at(argv, format!("no `{program}` in PATH, install it or write a path such as ./{program}"));
        }
        return Some(argv.value.clone());
    }
    let path = base.join(program);
    if !path.is_file() {
        reader.warn_at(argv, format!("no such file {}, create it or write another path", path.display()));
    } else if !is_executable(&path) {
        reader.warn_at(argv, format!("not executable, run `chmod +x {}`", path.display()));
    }
    Some(std::iter::once(path.to_string_lossy().into_owned()).chain(arguments.iter().cloned()).collect())
}

pub(super) fn find_in_path(program: &str, path: Option<String>) -> Option<PathBuf> {
    let path = path?;
    std::env::split_paths(&path).map(|folder| folder.join(program)).find(|candidate| is_executable(candidate))
}

pub(super) fn is_executable(path: &Path) -> bool {
    use std::os::unix::fs::PermissionsExt as _;
    std::fs::metadata(path).is_ok_and(|meta| meta.is_file() && meta.permissions().mode() & EXECUTABLE != 0)
}
