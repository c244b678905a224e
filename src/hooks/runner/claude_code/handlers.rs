//! One handler, ready to run: a process or a POST, within its time.
use super::said::{Said, first_line};
use crate::config::Secret;
use crate::config::claude_code::{Action, ClaudeCode, ClaudeEvent, Handler};
use crate::hooks::HookFailure;
use crate::hooks::runner::Invocation;
use crate::hooks::runner::capture::{Capture, Excess};
use crate::hooks::runner::http::{client, failed, read};
use crate::hooks::runner::program::Program;
use http::header::{CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue};
use reqwest::{Client, Method, Request, Url};
use std::collections::BTreeMap;
use std::os::unix::process::ExitStatusExt;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::Semaphore;

/// What is kept of stderr, in bytes: it is the reason of a refusal, up to [`super::said::MAX_TEXT_CHARS`] of four each.
const STDERR_LIMIT: usize = 4 * super::said::MAX_TEXT_CHARS;

/// The project's folder, for every process and in arguments that no shell reads.
const PROJECT_DIR: &str = "CLAUDE_PROJECT_DIR";

/// One handler, ready to run.
#[derive(Debug)]
pub(super) struct Ready {
    /// As written.
    pub(super) handler: Handler,
    work: Work,
}

enum Work {
    Process {
        program: Program,
        /// Places for processes, shared by the pipeline's hooks.
        processes: Arc<Semaphore>,
    },
    Post {
        url: Url,
        headers: HeaderMap,
        client: Client,
    },
}

/// Neither headers nor the query of an address print.
impl std::fmt::Debug for Work {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Process { program, .. } => program.fmt(f),
            Self::Post { url, .. } => f.debug_struct("Post").field("host", &url.host_str()).finish_non_exhaustive(),
        }
    }
}

impl Ready {
    /// Makes `handler` ready.
    ///
    /// # Errors
    /// Why it can't work at all.
    pub(super) fn new(handler: &Handler, scripts: &ClaudeCode, processes: &Arc<Semaphore>) -> Result<Self, String> {
        let process = |argv: &[String]| {
            let mut env = scripts.env.clone();
            env.insert(PROJECT_DIR.to_owned(), scripts.project_dir.to_string_lossy().into_owned());
            let program = Program::new(argv, &scripts.cwd, &env, &scripts.env_pass).ok_or("no program")?;
            Ok::<_, String>(Work::Process { program, processes: processes.clone() })
        };
        let work = match &handler.action {
            Action::Shell { shell, line } => {
                let shell = shell.iter().map(|&word| word.to_owned());
                process(&shell.chain([line.clone()]).collect::<Vec<_>>())?
            }
            Action::Program { program, arguments } => {
                let folder = scripts.project_dir.to_string_lossy();
                let words = std::iter::once(program).chain(arguments);
                process(&words.map(|word| word.replace(&format!("${{{PROJECT_DIR}}}"), &folder)).collect::<Vec<_>>())?
            }
            Action::Http { url, headers, allowed } => Work::Post {
                url: Url::parse(&url.to_string()).map_err(|error| error.to_string())?,
                headers: filled(headers, allowed, &scripts.env)?,
                client: client()?,
            },
        };
        Ok(Self { handler: handler.clone(), work })
    }

    /// Runs it on `input`.
    ///
    /// # Errors
    /// Why it counts as failed, for the log.
    pub(super) async fn run(
        &self,
        event: ClaudeEvent,
        call: &Invocation<'_>,
        input: &[u8],
        time: Duration,
    ) -> Result<Said, String> {
        let run = async {
            match &self.work {
                Work::Process { program, processes } => {
                    let _place = processes.acquire().await.map_err(|error| error.to_string())?;
                    of_process(event, program, call, input).await
                }
                Work::Post { url, headers, client } => {
                    let mut request = Request::new(Method::POST, url.clone());
                    request.headers_mut().clone_from(headers);
                    *request.body_mut() = Some(input.to_vec().into());
                    of_post(event, client, request, call).await
                }
            }
        };
        tokio::time::timeout(time, run).await.unwrap_or_else(|_| Err(HookFailure::TimedOut(time).to_string()))
    }
}

async fn of_process(
    event: ClaudeEvent,
    program: &Program,
    call: &Invocation<'_>,
    input: &[u8],
) -> Result<Said, String> {
    let mut stderr = Capture::new(None, STDERR_LIMIT, Excess::Drop);
    let ended = program.run(call, input, &mut stderr).await.map_err(|failure| failure.to_string())?;
    let Some(code) = ended.status.code() else {
        return Err(HookFailure::Signal(ended.status.signal().unwrap_or_default()).to_string());
    };
    let said = Said::read(event, code, &ended.stdout, stderr.bytes());
    if code == 0 && !stderr.bytes().is_empty() {
        tracing::debug!(hook = call.hook, stderr = first_line(stderr.bytes()), "a script wrote to stderr");
    }
    said
}

async fn of_post(event: ClaudeEvent, client: &Client, request: Request, call: &Invocation<'_>) -> Result<Said, String> {
    let response = client.execute(request).await.map_err(|error| failed(error).to_string())?;
    if !response.status().is_success() {
        return Err(HookFailure::Status(response.status().as_u16()).to_string());
    }
    let body = read(response, call.output_limit).await.map_err(|failure| failure.to_string())?;
    Said::of_body(event, &body)
}

/// Headers with `$NAME` and `${NAME}` replaced where `allowed` has them, and by nothing elsewhere.
fn filled(
    headers: &[(HeaderName, Secret)],
    allowed: &[String],
    env: &BTreeMap<String, String>,
) -> Result<HeaderMap, String> {
    let mut map = HeaderMap::new();
    map.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    let value = |name: &str| {
        let value = env.get(name).cloned().or_else(|| std::env::var(name).ok());
        value.filter(|_| allowed.iter().any(|one| one == name)).unwrap_or_default()
    };
    for (name, Secret(text)) in headers {
        let mut header = HeaderValue::from_str(&expand(text, value))
            .map_err(|_| format!("header {name}: a control character in its value"))?;
        header.set_sensitive(true);
        map.insert(name, header);
    }
    Ok(map)
}

fn expand(text: &str, value: impl Fn(&str) -> String) -> String {
    let is_name = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let mut expanded = String::new();
    let mut rest = text;
    while let Some((before, behind)) = rest.split_once('$') {
        expanded.push_str(before);
        let braced = behind.strip_prefix('{').and_then(|inside| inside.split_once('}'));
        let (name, after) = match braced {
            Some((name, after)) if name.chars().all(is_name) => (name, after),
            _ => behind.split_at(behind.find(|c| !is_name(c)).unwrap_or(behind.len())),
        };
        match name {
            "" => expanded.push('$'),
            name => expanded.push_str(&value(name)),
        }
        rest = after;
    }
    expanded + rest
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_allowed_variables_are_filled_in() {
        let value = |name: &str| if name == "KEY" { "k".to_owned() } else { String::new() };
        for (text, expected) in [
            ("Bearer $KEY", "Bearer k"),
            ("Bearer ${KEY}!", "Bearer k!"),
            ("$OTHER-x", "-x"),
            ("$", "$"),
            ("a$ b", "a$ b"),
            ("${KEY", "${KEY"),
            ("plain", "plain"),
        ] {
            assert_eq!(expand(text, value), expected, "{text}");
        }
    }
}
