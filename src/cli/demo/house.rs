//! A folder with a configuration and its hooks, and a gateway's state beside them; gone when it is dropped.
use super::DemoError;
use crate::config::{self, Config, Source};
use serde_json::Value;
use std::fs;
use std::net::SocketAddr;
use tempfile::TempDir;

/// The hooks as a configuration names them.
pub(super) const HOOKS: &str = include_str!("hooks/hooks.yaml");

/// Their scripts.
const SCRIPTS: [(&str, &str); 3] = [
    ("start.sh", include_str!("hooks/start.sh")),
    ("prompt.sh", include_str!("hooks/prompt.sh")),
    ("stop.sh", include_str!("hooks/stop.sh")),
];

/// Where `stop.sh` keeps the events that it got.
const STOPS: &str = "stops.jsonl";

/// The folder.
pub(super) struct House {
    folder: TempDir,
}

impl House {
    pub(super) fn build() -> Result<Self, DemoError> {
        let folder = tempfile::Builder::new().prefix("hookgate-demo-").tempdir()?;
        for (name, text) in SCRIPTS {
            fs::write(folder.path().join(name), text)?;
        }
        Ok(Self { folder })
    }

    /// The configuration: free ports, a store in the folder, every upstream at `provider`.
    pub(super) fn config(&self, provider: SocketAddr, layout: &str) -> Result<Config, DemoError> {
        let text = format!(
            "listen: 127.0.0.1:0
admin: {{ listen: 127.0.0.1:0 }}
upstreams:
  - {{ name: anthropic, dialect: anthropic, base_url: 'http://{provider}' }}
  - {{ name: openai, dialect: openai, base_url: 'http://{provider}' }}
  - {{ name: gemini, dialect: gemini, base_url: 'http://{provider}' }}
store: {{ kind: sled, path: ./data }}
injection: {{ layout: {layout} }}
{HOOKS}"
        );
        let file = self.folder.path().join("hookgate.yaml");
        Ok(config::parse(&text, Source::File(file), &|_| None)?.config)
    }

    /// The events that the stop hook got.
    pub(super) fn stops(&self) -> Result<Vec<Value>, DemoError> {
        let text = fs::read_to_string(self.folder.path().join(STOPS))?;
        Ok(text.lines().map(serde_json::from_str).collect::<Result<_, _>>()?)
    }
}
