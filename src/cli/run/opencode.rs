//! opencode's configuration, merged over all of its files.
use super::earlier::Known;
use super::route::Gateway;
use super::tell::SESSION_HEADER;
use crate::cli::user;
use crate::config::{Env, Provider};
use serde_json::{Map, Value, json};
use std::ffi::OsString;
use std::path::{Path, PathBuf};

/// The variable.
pub(super) const CONTENT: &str = "OPENCODE_CONFIG_CONTENT";
/// A file that the user names.
const FILE: &str = "OPENCODE_CONFIG";
/// Configuration files, in the user's folder and in each of a project.
const FILES: [&str; 5] =
    ["opencode.json", "opencode.jsonc", "config.json", ".opencode/opencode.json", ".opencode/opencode.jsonc"];

/// A provider of opencode's.
pub(super) struct Row {
    /// Its name there.
    pub(super) name: &'static str,
    pub(super) provider: Provider,
    /// What its base URL ends with.
    pub(super) version: &'static str,
    /// Variables with its key.
    keys: &'static [&'static str],
}

/// Those that the gateway serves.
pub(super) const PROVIDERS: [Row; 3] = [
    Row { name: "anthropic", provider: Provider::Anthropic, version: "/v1", keys: &["ANTHROPIC_API_KEY"] },
    Row { name: "openai", provider: Provider::OpenAi, version: "/v1", keys: &["OPENAI_API_KEY"] },
    Row {
        name: "google",
        provider: Provider::Gemini,
        version: "/v1beta",
        keys: &["GOOGLE_GENERATIVE_AI_API_KEY", "GEMINI_API_KEY", "GOOGLE_API_KEY"],
    },
];

/// The providers that the user has: a provider that is configured shows up among opencode's models, with a key or without. One
/// that is named anywhere counts: better one too many than one that passes by the gateway.
pub(super) fn used(arguments: &[OsString], folders: &[&Path], env: Env<'_>) -> Vec<&'static str> {
    let home = user::home(env);
    let folder = |variable: &str, usual: &str| {
        env(variable).map(PathBuf::from).or_else(|| Some(home.as_ref()?.join(usual))).map(|base| base.join("opencode"))
    };
    let own = folder("XDG_CONFIG_HOME", ".config");
    let logins = folder("XDG_DATA_HOME", ".local/share").map(|folder| folder.join("auth.json"));
    let configured = own.iter().map(PathBuf::as_path).chain(folders.iter().copied());
    let configured = configured.flat_map(|folder| FILES.map(|name| folder.join(name)));
    let files = configured.chain(logins).chain(env(FILE).map(PathBuf::from));
    let texts: Vec<String> = files.filter_map(|file| std::fs::read_to_string(file).ok()).chain(env(CONTENT)).collect();
    let is_used = |one: &&Row| {
        let (quoted, model) = (format!("\"{}\"", one.name), format!("{}/", one.name));
        one.keys.iter().any(|key| env(key).is_some_and(|key| !key.is_empty()))
            || texts.iter().any(|text| text.contains(&quoted) || text.contains(&model))
            || arguments.iter().any(|word| word.to_string_lossy().contains(&model))
    };
    PROVIDERS.iter().filter(is_used).map(|one| one.name).collect()
}

/// The configuration: over what the user has in the variable, if that can be read.
pub(super) fn content(gateway: &Gateway, known: &Known, header: Option<&str>, before: Option<String>) -> Value {
    let mut content = before.and_then(|text| serde_json::from_str(&text).ok()).unwrap_or_else(|| json!({}));
    let provider = |one: &Row| {
        let mut options = json!({"baseURL": gateway.base_url(one.provider, one.version, &known.urls)});
        if let Some(id) = header {
            options["headers"] = json!({SESSION_HEADER: id});
        }
        (one.name.to_owned(), json!({"options": options}))
    };
    let used = PROVIDERS.iter().filter(|one| known.opencode.contains(&one.name));
    merge(&mut content, json!({"provider": used.map(provider).collect::<Map<_, _>>()}));
    content
}

fn merge(below: &mut Value, above: Value) {
    match (below, above) {
        (Value::Object(below), Value::Object(above)) => {
            for (key, value) in above {
                merge(below.entry(key).or_insert(Value::Null), value);
            }
        }
        (below, above) => *below = above,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    #[test]
    fn only_providers_that_the_user_has_are_configured() {
        let home = tempfile::tempdir().unwrap();
        for folder in [".local/share/opencode", ".config/opencode", "project"] {
            fs::create_dir_all(home.path().join(folder)).unwrap();
        }
        let project = home.path().join("project");
        let used = |arguments: &[&str], variables: &[(&str, &str)]| {
            let env = |name: &str| match name {
                "HOME" => Some(home.path().display().to_string()),
                _ => variables.iter().find(|(known, _)| *known == name).map(|(_, value)| value.to_string()),
            };
            let arguments: Vec<_> = arguments.iter().map(OsString::from).collect();
            used(&arguments, &[&project], &env)
        };
        assert_eq!(used(&[], &[]), [""; 0]);
        assert_eq!(used(&[], &[("OPENAI_API_KEY", "k"), ("GEMINI_API_KEY", "")]), ["openai"]);
        assert_eq!(used(&["-m", "google/gemini"], &[]), ["google"]);
        fs::write(home.path().join(".local/share/opencode/auth.json"), r#"{"anthropic": {"type": "oauth"}}"#).unwrap();
        assert_eq!(used(&[], &[]), ["anthropic"]);
        fs::write(project.join("opencode.jsonc"), "{ // a comment\n\"model\": \"openai/gpt\" }").unwrap();
        assert_eq!(used(&[], &[]), ["anthropic", "openai"]);
    }
}
