//! A user with a home and a cloned repository, agents that are one script by many names, and a provider.
use crate::support::provider::answer;
use crate::support::{PATIENCE, Provider, Recorded};
use hookgate::context::AnswerForm;
use hookgate::dialect::{self, DialectId, Reply};
use serde_json::Value;
use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::{Output, Stdio};
use tempfile::TempDir;
use tokio::process::{Child, Command};

/// Names under which the agent is there.
const AGENTS: [&str; 6] = ["claude", "codex", "opencode", "gemini", "aider", "program"];

pub struct Stage {
    folder: TempDir,
    pub provider: Provider,
}

/// What was seen of a run.
pub struct Ran {
    pub code: Option<i32>,
    pub stdout: String,
    pub stderr: String,
}

impl Ran {
    fn of(output: Output) -> Self {
        let text = |bytes| String::from_utf8(bytes).unwrap();
        Self { code: output.status.code(), stdout: text(output.stdout), stderr: text(output.stderr) }
    }

    /// It went as it should; else it says what happened.
    pub fn ok(&self) -> &Self {
        assert_eq!(self.code, Some(0), "{}{}", self.stdout, self.stderr);
        self
    }
}

impl Stage {
    pub async fn set() -> Self {
        let folder = tempfile::tempdir().unwrap();
        for made in ["home/.config/hookgate", "project/.git", "bin"] {
            fs::create_dir_all(folder.path().join(made)).unwrap();
        }
        let agent = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/run/agent.py");
        for name in AGENTS {
            symlink(&agent, folder.path().join("bin").join(name)).unwrap();
        }
        Self { folder, provider: Provider::start(|request, _| reply(request)).await }
    }

    pub fn home(&self) -> PathBuf {
        self.folder.path().join("home")
    }

    pub fn project(&self) -> PathBuf {
        self.folder.path().join("project").canonicalize().unwrap()
    }

    /// A file of the user's own configuration.
    pub fn own(&self, text: &str) {
        fs::write(self.home().join(".config/hookgate/hookgate.yaml"), text).unwrap();
    }

    /// A file of the repository; scripts can be run.
    pub fn clone(&self, name: &str, text: &str) {
        use std::os::unix::fs::PermissionsExt as _;
        let file = self.project().join(name);
        fs::create_dir_all(file.parent().unwrap()).unwrap();
        fs::write(&file, text).unwrap();
        fs::set_permissions(&file, fs::Permissions::from_mode(0o755)).unwrap();
    }

    pub fn command(&self, arguments: &[&str], variables: &[(&str, &str)]) -> Command {
        let url = format!("http://{}", self.provider.addr());
        let mut command = Command::new(env!("CARGO_BIN_EXE_hookgate"));
        command.args(arguments).current_dir(self.project()).env_clear().kill_on_drop(true);
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        command.env("PATH", format!("{}:/usr/bin:/bin", self.folder.path().join("bin").display()));
        command.env("HOME", self.home()).env("ANTHROPIC_API_KEY", "sk-fake");
        for name in ["ANTHROPIC_BASE_URL", "GOOGLE_GEMINI_BASE_URL"] {
            command.env(name, &url);
        }
        command.env("OPENAI_API_BASE", format!("{url}/v1")).envs(variables.iter().copied());
        command
    }

    pub async fn hookgate(&self, arguments: &[&str], variables: &[(&str, &str)]) -> Ran {
        let _ = fs::remove_file(self.project().join("seen.json"));
        let child = self.command(arguments, variables).spawn().unwrap();
        self.end(child).await
    }

    pub async fn end(&self, child: Child) -> Ran {
        let ended = tokio::time::timeout(PATIENCE, child.wait_with_output());
        Ran::of(ended.await.expect("the run ends").unwrap())
    }

    /// What the agent left; `None`: it was not started.
    pub fn seen(&self) -> Option<Value> {
        let text = fs::read_to_string(self.project().join("seen.json")).ok()?;
        Some(serde_json::from_str(&text).unwrap())
    }

    /// The bodies that the provider got.
    pub fn bodies(&self) -> Vec<String> {
        self.provider.requests().into_iter().map(|request| String::from_utf8(request.body).unwrap()).collect()
    }

    /// The log of the project's first run.
    pub fn log(&self) -> String {
        let runs = self.home().join(".local/state/hookgate/run");
        let project = fs::read_dir(runs).unwrap().next().unwrap().unwrap().path();
        fs::read_to_string(project.join("1/hookgate.log")).unwrap_or_default()
    }

    /// Waits until `condition` holds.
    pub async fn until(&self, what: &str, condition: impl Fn() -> bool) {
        let end = std::time::Instant::now() + PATIENCE;
        while !condition() {
            assert!(std::time::Instant::now() < end, "not in time: {what}");
            tokio::time::sleep(std::time::Duration::from_millis(10)).await;
        }
    }
}

fn reply(request: &Recorded) -> Vec<crate::support::Step> {
    let target = request.target();
    let dialect = match target {
        _ if target.contains("/messages") => DialectId::Anthropic,
        _ if target.contains("/chat/completions") => DialectId::Chat,
        _ => DialectId::Gemini,
    };
    let reply = Reply { text: "said".into(), model: "m".into(), id: "r1".into(), created: 0 };
    let body = dialect::of(dialect).reply(&reply, AnswerForm::Json);
    answer("200 OK", "content-type: application/json\r\n", body)
}
