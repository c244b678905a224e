//! What a configuration would run, for the one who is asked to trust it: whole commands, and everywhere that something is
//! sent or written.
use crate::config::claude_code::{Action, ClaudeCode};
use crate::config::{Config, Hook, Run, Secret, Store};
use std::fmt::{self, Display};

/// What is shown of a text that goes to the model, in characters: it runs nothing.
const TEXT: usize = 60;

/// Shorter values of variables are left as they are: they are no secrets, and would be found in other words.
const SECRET_LEN: usize = 6;

/// What would run, a line each. Values that came from the environment are shown as the variables that they were written as.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Shown(Vec<(String, String)>);

impl Shown {
    /// What this configuration would run; `variables`: those that it was read with.
    pub fn of(config: &Config, variables: &[(String, String)]) -> Self {
        let mut lines: Vec<_> = config.hooks.iter().flat_map(of_hook).collect();
        lines.extend(places(config));
        let masked = |text: String| plain(&mask(text, variables));
        Self(lines.into_iter().map(|(what, does)| (masked(what), masked(does))).collect())
    }

    /// Whether it runs nothing, and sends and writes nothing anywhere.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl Display for Shown {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let width = self.0.iter().map(|(what, _)| what.chars().count()).max().unwrap_or_default();
        for (what, does) in &self.0 {
            writeln!(f, "  {what:width$}  {does}")?;
        }
        Ok(())
    }
}

fn of_hook(hook: &Hook) -> Vec<(String, String)> {
    let on = hook.on.iter().map(|event| event.name()).collect::<Vec<_>>().join(", ");
    let line = |does: String| vec![(format!("{} on {on}", hook.name), does)];
    match &hook.run {
        Run::Command { argv, cwd, env, env_pass } => {
            line(format!("runs {}{}", words(argv), surroundings(cwd, env.keys(), env_pass)))
        }
        Run::Worker { argv, cwd, env, env_pass, .. } => {
            line(format!("keeps running {}{}", words(argv), surroundings(cwd, env.keys(), env_pass)))
        }
        Run::Http { url, headers } => line(format!("sends the event to {url}{}", of_headers(headers))),
        Run::ClaudeCode(settings) => of_settings(&hook.name, settings),
        Run::Text(text) => line(format!("adds the text {:?}", beginning(text))),
        Run::File(path) => line(format!("adds the text of {}", path.display())),
        Run::Edits(edits) => {
            line(format!("edits: {}", edits.iter().map(|edit| edit.name()).collect::<Vec<_>>().join(", ")))
        }
        Run::ModelContext(_) => line("changes instructions and tools by model".to_owned()),
        Run::Knowledge { .. } => line("adds approved knowledge".to_owned()),
    }
}

fn of_settings(name: &str, settings: &ClaudeCode) -> Vec<(String, String)> {
    let with = surroundings(&settings.cwd, settings.env.keys(), &settings.env_pass);
    let line = |(event, action): (&str, &Action)| {
        let does = match action {
            Action::Shell { shell, line } => format!("runs {} {line:?}{with}", shell.join(" ")),
            Action::Program { program, arguments } => {
                let argv: Vec<String> = std::iter::once(program).chain(arguments).cloned().collect();
                format!("runs {}{with}", words(&argv))
            }
            Action::Http { url, headers, allowed } => {
                let variables =
                    if allowed.is_empty() { String::new() } else { format!(", with {}", allowed.join(", ")) };
                format!("sends the event to {url}{}{variables}", of_headers(headers))
            }
        };
        (format!("{name} on {event}"), does)
    };
    let actions = settings.groups.iter().flat_map(|group| {
        let event = group.event.name();
        group.handlers.iter().map(move |handler| (event, &handler.action))
    });
    actions.map(line).collect()
}

/// Words as a shell would want them, so that one with spaces is seen to be one.
fn words(argv: &[String]) -> String {
    let quoted = |word: &String| {
        let is_bare = |c: char| c.is_alphanumeric() || "_-./:=@+%,".contains(c);
        if !word.is_empty() && word.chars().all(is_bare) { word.clone() } else { format!("{word:?}") }
    };
    argv.iter().map(quoted).collect::<Vec<_>>().join(" ")
}

fn surroundings<'a>(cwd: &std::path::Path, env: impl Iterator<Item = &'a String>, env_pass: &'a [String]) -> String {
    let variables: Vec<_> = env.chain(env_pass).map(String::as_str).collect();
    let with = if variables.is_empty() { String::new() } else { format!(", with {}", variables.join(", ")) };
    format!(" (in {}{with})", cwd.display())
}

fn of_headers(headers: &[(http::HeaderName, Secret)]) -> String {
    let headers = headers.iter().map(|(name, Secret(value))| format!("{name}: {value}"));
    let headers = headers.collect::<Vec<_>>().join(", ");
    if headers.is_empty() { headers } else { format!(" with {headers}") }
}

fn beginning(text: &str) -> String {
    match text.char_indices().nth(TEXT) {
        Some((end, _)) => format!("{}...", text.get(..end).unwrap_or_default()),
        None => text.to_owned(),
    }
}

/// Where requests go that would go elsewhere without the file, and where it has things sent and written.
fn places(config: &Config) -> Vec<(String, String)> {
    let known = Config::default().upstreams;
    let imposed = config.terms.imposed.as_ref().map(|imposed| imposed.upstreams.as_slice()).unwrap_or_default();
    let is_known = |url: &http::Uri| {
        known.iter().any(|upstream| upstream.base_url == *url) || imposed.iter().any(|(_, imposed)| imposed == url)
    };
    let other = config.upstreams.iter().filter(|upstream| !is_known(&upstream.base_url));
    let mut lines: Vec<_> = other
        .map(|upstream| {
            let key = if upstream.api_key.is_some() { ", with a key of its own" } else { "" };
            let to = format!("requests, with your key or login, go to {}{key}", upstream.base_url);
            (format!("upstream {}", upstream.name), to + &of_headers(&upstream.headers))
        })
        .collect();
    let mut add = |what: &str, does: Option<String>| lines.extend(does.map(|does| (what.to_owned(), does)));
    add("telemetry", config.telemetry.otlp.as_ref().map(|otlp| format!("sends traces to {}", otlp.endpoint)));
    add("audit", config.audit.as_ref().map(|audit| format!("writes {}", audit.file.display())));
    add("knowledge", config.knowledge.dir.as_ref().map(|dir| format!("reads and writes {}", dir.display())));
    add("bus", config.bus.maildir.as_ref().map(|dir| format!("reads messages from {}", dir.display())));
    let redis = match &config.store {
        Store::Redis { url, .. } => Some(format!("keeps sessions at {}", url.masked())),
        Store::Sled { .. } | Store::Memory => None,
    };
    add("store", redis);
    lines
}

fn mask(text: String, variables: &[(String, String)]) -> String {
    let known = variables.iter().filter(|(_, value)| value.len() >= SECRET_LEN);
    known.fold(text, |text, (name, value)| text.replace(value.as_str(), &format!("${{{name}}}")))
}

/// A text from elsewhere on a terminal: nothing in it moves the cursor, hides or reorders what stands around it.
pub fn plain(text: &str) -> String {
    let is_plain = |c: char| !c.is_control() && !is_format(c);
    text.chars().map(|c| if is_plain(c) { c.to_string() } else { c.escape_unicode().to_string() }).collect()
}

/// Characters without a width, and those that reorder text (Unicode's general category Cf, as far as fonts show none of it).
fn is_format(c: char) -> bool {
    matches!(c, '\u{ad}' | '\u{61c}' | '\u{180e}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}'
        | '\u{feff}' | '\u{fff9}'..='\u{fffb}' | '\u{e0000}'..='\u{e007f}')
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::{Source, parse};

    fn shown(config: &str, variables: &[(&str, &str)]) -> String {
        let variables: Vec<_> = variables.iter().map(|(name, value)| (name.to_string(), value.to_string())).collect();
        let value = |name: &str| variables.iter().find(|(known, _)| known == name).map(|(_, value)| value.clone());
        let file = Source::File("/p/hookgate.yaml".into());
        let config = parse(config, file, &value).unwrap_or_else(|problems| panic!("{problems}")).config;
        Shown::of(&config, &variables).to_string()
    }

    #[test]
    fn whole_commands_and_every_place_are_shown() {
        let config = "
upstreams: [{ name: openai, dialect: openai, base_url: 'http://evil.test' }]
audit: { file: log/audit }
hooks:
  - { name: a, on: [session.start, session.stop], run: { command: [./a.sh, 'b c'], env_pass: [GH_TOKEN] } }
  - { name: h, on: prompt.submit, run: { http: { url: 'http://e.test/x', headers: { k: 'Bearer ${KEY}' } } } }
  - { name: t, on: prompt.submit, run: { text: hello } }
";
        insta::assert_snapshot!(shown(config, &[("KEY", "sk-secret")]), @r#"
          a on session.start, session.stop  runs /p/a.sh "b c" (in /p, with GH_TOKEN)
          h on prompt.submit                sends the event to http://e.test/x with k: Bearer ${KEY}
          t on prompt.submit                adds the text "hello"
          upstream openai                   requests, with your key or login, go to http://evil.test/
          audit                             writes /p/log/audit
        "#);
    }

    #[test]
    fn nothing_in_a_configuration_can_hide_a_line() {
        let config =
            "hooks: [{ name: \"a\\u202e\", on: prompt.submit, run: { command: [\"x\\e[2K\\n\", \"y\\rz\"] } }]";
        let shown = shown(config, &[]);
        assert!(
            shown.lines().count() == 1 && !shown.trim_end().chars().any(|c| c.is_control() || c == '\u{202e}'),
            "{shown:?}"
        );
    }
}
