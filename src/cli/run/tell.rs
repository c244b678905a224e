//! How a command is told where the gateway is: variables, and arguments ahead of its own.
use super::agents::{Agent, Session, Told};
use super::earlier::{CLAUDE_VARIABLE, Known, PI};
use super::opencode;
use super::route::Gateway;
use crate::config::Env;
use serde_json::{Map, Value, json};
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs;
use std::io;
use std::net::SocketAddr;
use std::path::Path;

/// The header that names a session (config/hookgate.yaml).
pub(super) const SESSION_HEADER: &str = "x-hookgate-session";
/// Headers of Claude Code's, one a line.
const CLAUDE_HEADERS: &str = "ANTHROPIC_CUSTOM_HEADERS";
/// The file that pi loads.
const PI_FILE: &str = "pi-hookgate.mjs";
/// What pi does instead of working, when its first argument says so.
const PI_COMMANDS: [&str; 6] = ["install", "remove", "uninstall", "update", "list", "config"];

/// Proxies that clients would go through, in both spellings that are read.
const PROXIES: [&str; 6] = ["HTTP_PROXY", "http_proxy", "HTTPS_PROXY", "https_proxy", "ALL_PROXY", "all_proxy"];
/// Where they go without one.
const NO_PROXIES: [&str; 2] = ["NO_PROXY", "no_proxy"];
/// The gateway's host.
const LOOPBACK: &str = "127.0.0.1";

/// The session of a run.
#[derive(Debug, Clone)]
pub(super) struct RunSession {
    /// Its id.
    pub(super) id: String,
    /// Whether the user has named it.
    pub(super) is_named: bool,
}

/// What a command is started with besides its own.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Given {
    /// Variables.
    pub(super) variables: BTreeMap<String, String>,
    /// Ahead of the agent's own arguments.
    pub(super) arguments: Vec<OsString>,
}

/// What `agent` is given, so that it goes to the gateway at `addr`; `first` is the first of its own arguments. Generated files go to `folder`.
///
/// # Errors
/// When a file can't be written.
pub(super) fn tell(
    (agent, first): (&Agent, Option<&OsString>),
    known: &Known,
    addr: SocketAddr,
    session: &RunSession,
    folder: &Path,
    env: Env<'_>,
) -> io::Result<Given> {
    let in_url = agent.session == Session::Url;
    let gateway = Gateway::new(addr, in_url.then_some(session.id.as_str()));
    let header = session.is_named.then_some(session.id.as_str());
    let mut given = Given::default();
    for told in agent.told {
        match told {
            Told::Variable(name, provider, version) => {
                given.set(name, gateway.base_url(*provider, version, &known.urls));
            }
            Told::ClaudeSettings => given.claude(&gateway, known, header, env),
            Told::CodexOption => {
                let url = gateway.base_url(crate::config::Provider::OpenAi, "/v1", &known.urls);
                let key = known.codex_provider.as_ref().map_or_else(
                    || "openai_base_url".to_owned(),
                    |name| format!("model_providers.{}.base_url", toml_key(name)),
                );
                given.arguments.extend(["-c".into(), format!("{key}={}", json!(url)).into()]);
            }
            Told::OpencodeContent if known.opencode.is_empty() => {}
            Told::OpencodeContent => {
                let content = opencode::content(&gateway, known, header, env(opencode::CONTENT));
                given.set(opencode::CONTENT, content.to_string());
            }
            Told::PiExtension if first.is_some_and(|word| PI_COMMANDS.iter().any(|command| word == command)) => {}
            Told::PiExtension => {
                let file = folder.join(PI_FILE);
                fs::write(&file, pi(&gateway, known, header))?;
                given.arguments.extend(["--extension".into(), file.into()]);
            }
        }
    }
    given.go_direct(env);
    Ok(given)
}

impl Given {
    fn set(&mut self, name: &str, value: impl Into<String>) {
        self.variables.insert(name.to_owned(), value.into());
    }

    fn claude(&mut self, gateway: &Gateway, known: &Known, header: Option<&str>, env: Env<'_>) {
        if known.claude_settings {
            let url = gateway.base_url(crate::config::Provider::Anthropic, "", &known.urls);
            let settings = json!({"env": {CLAUDE_VARIABLE: url}});
            self.arguments.extend(["--settings".into(), settings.to_string().into()]);
        }
        if let Some(id) = header {
            let before = env(CLAUDE_HEADERS).filter(|headers| !headers.is_empty()).map(|headers| headers + "\n");
            self.set(CLAUDE_HEADERS, format!("{}{SESSION_HEADER}: {id}", before.unwrap_or_default()));
        }
    }

    /// A proxy from the environment is not for the way to this machine.
    fn go_direct(&mut self, env: Env<'_>) {
        let said = |name: &&str| env(name).is_some_and(|value| !value.is_empty());
        if !PROXIES.iter().any(said) {
            return;
        }
        let before = NO_PROXIES.iter().find_map(|name| env(name)).unwrap_or_default();
        let entries = before.split(',').map(str::trim).filter(|entry| !entry.is_empty());
        if entries.clone().any(|entry| entry == LOOPBACK || entry == "*") {
            return;
        }
        let all = entries.chain([LOOPBACK]).collect::<Vec<_>>().join(",");
        for name in NO_PROXIES {
            self.set(name, all.clone());
        }
    }
}

/// A key as TOML has it: bare where that is one.
fn toml_key(name: &str) -> String {
    let is_bare = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-');
    if !name.is_empty() && name.chars().all(is_bare) { name.to_owned() } else { json!(name).to_string() }
}

fn pi(gateway: &Gateway, known: &Known, header: Option<&str>) -> String {
    let provider = |(name, provider, version): &(&str, _, &str)| {
        let mut own = json!({"baseUrl": gateway.base_url(*provider, version, &known.urls)});
        if let Some(id) = header {
            own["headers"] = json!({SESSION_HEADER: id});
        }
        ((*name).to_owned(), own)
    };
    let providers: Map<_, _> = PI.iter().map(provider).collect();
    format!(
        "// Written by `hookgate run`.\nexport default (pi) => {{\n  for (const [name, own] of Object.entries({})) pi.registerProvider(name, own);\n}};\n",
        Value::Object(providers)
    )
}

#[cfg(test)]
mod tests {
    use super::super::agents::of;
    use super::*;

    fn given(command: &[&str], known: &Known, is_named: bool, variables: &[(&str, &str)]) -> Given {
        let folder = tempfile::tempdir().unwrap();
        let session = RunSession { id: "s1".into(), is_named };
        let env = |name: &str| variables.iter().find(|(of, _)| *of == name).map(|(_, value)| value.to_string());
        tell((of(command).0, None), known, ([127, 0, 0, 1], 9).into(), &session, folder.path(), &env).unwrap()
    }

    #[test]
    fn every_agent_is_told_in_its_own_way() {
        for (command, variables, arguments) in [
            ("claude", &[("ANTHROPIC_BASE_URL", "http://127.0.0.1:9")][..], ""),
            ("codex", &[], r#"-c openai_base_url="http://127.0.0.1:9/v1""#),
            ("gemini", &[("GOOGLE_GEMINI_BASE_URL", "http://127.0.0.1:9/s/s1")], ""),
            (
                "qwen",
                &[
                    ("ANTHROPIC_BASE_URL", "http://127.0.0.1:9/s/s1"),
                    ("GOOGLE_GEMINI_BASE_URL", "http://127.0.0.1:9/s/s1"),
                    ("OPENAI_BASE_URL", "http://127.0.0.1:9/s/s1/v1"),
                ],
                "",
            ),
            (
                "aider",
                &[("ANTHROPIC_API_BASE", "http://127.0.0.1:9/s/s1"), ("OPENAI_API_BASE", "http://127.0.0.1:9/s/s1/v1")],
                "",
            ),
            ("cline", &[], ""),
        ] {
            let given = given(&[command], &Known::default(), false, &[]);
            let expected = variables.iter().map(|(name, value)| (name.to_string(), value.to_string()));
            assert_eq!(given.variables, expected.collect(), "{command}");
            let words: Vec<_> = given.arguments.iter().map(|word| word.to_string_lossy()).collect();
            assert_eq!(words.join(" "), arguments, "{command}");
        }
    }

    #[test]
    fn opencode_keeps_what_its_user_has_in_the_variable() {
        let before = r#"{"model": "m", "provider": {"openai": {"options": {"apiKey": "k"}}}}"#;
        let known = Known { opencode: vec!["openai", "google"], ..Known::default() };
        let given = given(&["opencode"], &known, true, &[("OPENCODE_CONFIG_CONTENT", before)]);
        let content: Value = serde_json::from_str(&given.variables["OPENCODE_CONFIG_CONTENT"]).unwrap();
        assert_eq!(content["model"], "m");
        let headers = json!({"x-hookgate-session": "s1"});
        let openai = json!({"apiKey": "k", "baseURL": "http://127.0.0.1:9/v1", "headers": headers});
        assert_eq!(content["provider"]["openai"]["options"], openai);
        assert_eq!(content["provider"].get("anthropic"), None);
        assert_eq!(content["provider"]["google"]["options"]["baseURL"], "http://127.0.0.1:9/v1beta");
    }

    #[test]
    fn codex_goes_by_the_provider_that_its_user_chose() {
        for (name, key) in [("mine", "model_providers.mine"), ("my own", "model_providers.\"my own\"")] {
            let known = Known { codex_provider: Some(name.into()), ..Known::default() };
            let arguments = given(&["codex"], &known, false, &[]).arguments;
            assert_eq!(arguments[1], OsString::from(format!("{key}.base_url=\"http://127.0.0.1:9/v1\"")));
        }
    }

    #[test]
    fn claude_code_is_told_by_an_option_where_a_file_would_win() {
        let known = Known { claude_settings: true, ..Known::default() };
        let given = given(&["claude"], &known, true, &[("ANTHROPIC_CUSTOM_HEADERS", "a: b")]);
        assert_eq!(given.arguments[0], "--settings");
        assert_eq!(given.arguments[1], r#"{"env":{"ANTHROPIC_BASE_URL":"http://127.0.0.1:9"}}"#);
        assert_eq!(given.variables["ANTHROPIC_CUSTOM_HEADERS"], "a: b\nx-hookgate-session: s1");
    }

    #[test]
    fn a_proxy_is_not_for_the_way_to_the_gateway() {
        for (variables, expected) in [
            (&[("HTTPS_PROXY", "http://p")][..], Some("127.0.0.1")),
            (&[("http_proxy", "http://p"), ("no_proxy", "a.test, b")], Some("a.test,b,127.0.0.1")),
            (&[("HTTPS_PROXY", "http://p"), ("NO_PROXY", "127.0.0.1")], None),
            (&[("HTTPS_PROXY", "http://p"), ("NO_PROXY", "*")], None),
            (&[("HTTPS_PROXY", "")], None),
        ] {
            let given = given(&["gemini"], &Known::default(), false, variables);
            for name in NO_PROXIES {
                assert_eq!(given.variables.get(name).map(String::as_str), expected, "{variables:?}");
            }
        }
    }
}
