//! Hooks as they are written.
use crate::config::claude_code::OnAsk;
use crate::config::collection::{InOrder, OneOrMany};
use crate::config::edits;
use crate::config::reader::At;
use crate::config::resolved::{EventKind, Mode, OnError, SystemPlace};
use crate::config::section::section;
use crate::config::value::{Count, Expression, Headers, Include, Url};
use crate::context::edit::Globs;
use std::collections::BTreeMap;
use std::time::Duration;

section! {
    /// One hook.
    struct Hook {
        /// Its name, unique.
        name: At<String>,
        /// The events that it runs on; with claude_code, its settings say which.
        on: At<OneOrMany<EventKind>> = "[]",
        /// What it does.
        run: At<Run>,
        /// The persistent slot that it owns; without one its name. Two hooks may share one.
        slot: Option<At<String>> = "null",
        /// A CEL expression; the hook runs when it is true.
        when: Option<Expression> = "null",
        /// How long it may take; without one 5s, on prompt.submit 15s, on session.stopping 120s, with claude_code what its settings say.
        timeout: Option<Duration> = "null",
        /// When it fails: go on without it, or block the prompt. On session.stopping the turn ends either way.
        on_error: OnError = "skip",
        /// audit: it runs and is recorded, changes nothing and never blocks.
        mode: Mode = "enforce",
        /// What is added to its event.
        include: Vec<Include> = "[]",
    }

    /// What a hook does: exactly one of text, file, command, worker, http, edits, model_context, claude_code and knowledge.
    struct Run {
        /// A constant text.
        text: Option<String> = "null",
        /// A file, read at every run.
        file: Option<At<String>> = "null",
        /// A program and its arguments; it gets the event on stdin.
        command: Option<At<Vec<String>>> = "null",
        /// A program that stays running: a line of JSON on stdin for each event, a line on stdout for each answer.
        worker: Option<At<Vec<String>>> = "null",
        /// How many processes of the worker take turns.
        workers: Option<At<Count>> = "null",
        /// The program's working directory; without one the folder of the configuration.
        cwd: Option<At<String>> = "null",
        /// The program's own environment variables.
        env: BTreeMap<String, String> = "{}",
        /// Names of variables passed on from the gateway's environment.
        env_pass: Vec<String> = "[]",
        /// A URL that the event is posted to.
        http: Option<Post> = "null",
        /// What is changed in every request, without code.
        edits: Option<At<Vec<edits::Written>>> = "null",
        /// A system prompt and a set of edit tools for each family of models.
        model_context: Option<At<ModelContext>> = "null",
        /// Hook scripts written for Claude Code, unchanged.
        claude_code: Option<ClaudeCode> = "null",
        /// Approved knowledge that matches the prompt.
        knowledge: Option<At<KnowledgePick>> = "null",
    }

    /// Approved knowledge that matches the prompt.
    struct KnowledgePick {
        /// How many entries at most.
        max_entries: Count = "3",
    }

    /// Hook scripts written for Claude Code: what their settings say, and where they run.
    struct ClaudeCode {
        /// Settings files of Claude Code.
        settings: OneOrMany<At<String>>,
        /// The project's folder, ${CLAUDE_PROJECT_DIR} for the scripts.
        project_dir: At<String> = ".",
        /// Where scripts run, and what they are told to be the agent's folder; without one the project's.
        cwd: Option<At<String>> = "null",
        /// What sub-agents are called.
        agent_type: String = "unknown",
        /// What becomes of a tool call that a script answers with ask or defer.
        on_ask: OnAsk = "deny",
        /// The scripts' own environment variables.
        env: BTreeMap<String, String> = "{}",
        /// Names of variables passed on from the gateway's environment.
        env_pass: Vec<String> = "[]",
    }

    /// What each model is told, and which tools it edits files with. Nothing of it is kept: it follows the model from request
    /// to request.
    struct ModelContext {
        /// By a family's name (claude, gpt, gemini, qwen, llama, mistral, deepseek, grok, other), or any name with `match`. The
        /// first whose `match` fits counts, then the one that has the family's name.
        families: InOrder<At<Family>> = "{}",
        /// For every other model.
        default: Option<At<Family>> = "null",
        /// All tools that edit files: those that are not the model's are removed. Without it the tools of all families.
        edit_tools: Option<Globs> = "null",
        /// On which side of the agent's own instructions the system prompt goes: append or prepend.
        place: SystemPlace = "append",
    }

    /// Models of one kind.
    struct Family {
        /// Names of models as requested or resolved, with * and ?.
        r#match: Option<Globs> = "null",
        /// What the model is told, beside the agent's own instructions.
        system: Option<String> = "null",
        /// The same from a file, read at every run.
        system_file: Option<At<String>> = "null",
        /// The edit tools that it works with; the others are removed where the agent has one of these.
        tools: Globs = "[]",
    }

    /// A POST.
    struct Post {
        /// Where to.
        url: Url,
        /// With these headers.
        headers: Headers = "{}",
    }
}
