//! From the text of a settings file to its groups, and everything that is wrong with it at once.
use super::event::NEVER;
use super::place::Spot;
use super::{Action, ClaudeEvent, Group, Handler, Matcher, Rule};
use crate::config::problem::{Place, Severity};
use crate::config::resolved::Secret;
use http::{HeaderName, HeaderValue, Uri};
use std::collections::BTreeMap;
use std::time::Duration;

/// A longer timeout is written in milliseconds, as Gemini CLI has it: nobody waits an hour for a hook.
const LONGEST_TIMEOUT: f64 = 3600.0;

/// Shells by Claude Code's names; without one, the system's.
const SHELLS: [(&str, &[&str]); 2] =
    [("bash", &["bash", "-c"]), ("powershell", &["pwsh", "-NoProfile", "-NonInteractive", "-Command"])];

/// The shell of a line that names none.
const SHELL: &[&str] = &["sh", "-c"];

/// What a settings file says about hooks.
#[derive(Debug, Default)]
pub(in crate::config) struct Settings {
    /// In order.
    pub(in crate::config) groups: Vec<Group>,
    /// `disableAllHooks`.
    pub(in crate::config) disabled: bool,
    /// What is wrong with it.
    pub(in crate::config) findings: Vec<Finding>,
}

/// One thing that is wrong.
#[derive(Debug, PartialEq, Eq)]
pub(in crate::config) struct Finding {
    /// Where in the settings file.
    pub(in crate::config) place: Place,
    /// What is wrong, behind the path of its key.
    pub(in crate::config) what: String,
    /// How wrong.
    pub(in crate::config) severity: Severity,
}

impl Settings {
    /// Reads a file's text.
    pub(in crate::config) fn parse(text: &str) -> Self {
        let mut parser = Parser::default();
        let text = text.strip_prefix('\u{feff}').unwrap_or(text);
        match serde_json::from_str::<serde::de::IgnoredAny>(text) {
            Ok(_) => parser.file(Spot::whole(text)),
            Err(error) => {
                let place = Place { line: error.line().max(1), column: error.column().max(1) };
                parser.settings.findings.push(Finding { place, what: fault(&error), severity: Severity::Fatal });
            }
        }
        parser.settings
    }
}

#[derive(Default)]
struct Parser {
    settings: Settings,
    /// What has no effect here, by why.
    idle: BTreeMap<Idle, Vec<String>>,
}

/// Why something has no effect.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Idle {
    Never,
    Unknown,
    Type,
    Rule,
}

impl Parser {
    fn find(&mut self, spot: Spot<'_>, path: &str, what: &str, severity: Severity) {
        let what = if path.is_empty() { what.to_owned() } else { format!("{path}: {what}") };
        self.settings.findings.push(Finding { place: spot.place(), what, severity });
    }

    fn refuse(&mut self, spot: Spot<'_>, path: &str, what: &str) {
        self.find(spot, path, what, Severity::Fatal);
    }

    fn idle(&mut self, why: Idle, name: impl Into<String>) {
        let (names, name) = (self.idle.entry(why).or_default(), name.into());
        if !names.contains(&name) {
            names.push(name);
        }
    }

    fn file(&mut self, root: Spot<'_>) {
        if root.members().is_none() {
            return self.refuse(root, "", "not a JSON object without repeated keys");
        }
        self.settings.disabled = root.get("disableAllHooks").and_then(Spot::value).unwrap_or_default();
        let Some(hooks) = root.get("hooks") else { return };
        let Some(events) = hooks.members() else {
            return self.refuse(hooks, "hooks", "write an object of events, each once");
        };
        for (name, groups) in events {
            self.event(&name, groups);
        }
        self.say_idle(hooks);
    }

    fn event(&mut self, name: &str, groups: Spot<'_>) {
        let path = format!("hooks.{name}");
        let Some(groups) = groups.elements() else {
            return self.refuse(groups, &path, "write a list such as [{\"matcher\": \"\", \"hooks\": [...]}]");
        };
        let Some(event) = ClaudeEvent::of(name) else {
            let why = match name {
                _ if NEVER.contains(&name) => Idle::Never,
                _ => Idle::Unknown,
            };
            return if groups.is_empty() {
            } else {
                self.idle(why, name)
            };
        };
        for (index, group) in groups.into_iter().enumerate() {
            self.group(event, &format!("{path}[{index}]"), group);
        }
    }

    fn group(&mut self, event: ClaudeEvent, path: &str, group: Spot<'_>) {
        let matcher = self.matcher(path, group);
        let Some(handlers) = group.get("hooks") else {
            return self.refuse(group, path, "no `hooks`, write a list of handlers");
        };
        let path = format!("{path}.hooks");
        let Some(handlers) = handlers.elements() else {
            return self.refuse(handlers, &path, "write a list of handlers");
        };
        let read = |(index, handler): (usize, Spot<'_>)| self.handler(event, &format!("{path}[{index}]"), handler);
        let handlers: Vec<Handler> = handlers.into_iter().enumerate().filter_map(read).collect();
        if let Some(matcher) = matcher.filter(|_| !handlers.is_empty()) {
            self.settings.groups.push(Group { event, matcher, handlers });
        }
    }

    fn matcher(&mut self, path: &str, group: Spot<'_>) -> Option<Matcher> {
        let Some(spot) = group.get("matcher") else { return Some(Matcher::all()) };
        let path = format!("{path}.matcher");
        let Some(text) = spot.value::<String>() else {
            self.refuse(spot, &path, "write a text such as \"Bash|Edit\"");
            return None;
        };
        Matcher::parse(&text).map_err(|why| self.refuse(spot, &path, &format!("not a regular expression: {why}"))).ok()
    }

    fn handler(&mut self, event: ClaudeEvent, path: &str, handler: Spot<'_>) -> Option<Handler> {
        let Some(kind) = handler.get("type").and_then(Spot::value::<String>) else {
            self.refuse(handler, path, "no `type`, write command or http");
            return None;
        };
        let action = match kind.as_str() {
            "command" => self.command(path, handler),
            // Claude Code has none there, either.
            "http" if event == ClaudeEvent::SessionStart => {
                self.idle(Idle::Type, "http on SessionStart");
                return None;
            }
            "http" => self.http(path, handler),
            _ => {
                self.idle(Idle::Type, format!("{kind} on {}", event.name()));
                return None;
            }
        };
        let timeout = self.timeout(path, handler);
        let flag = |name: &str| handler.get(name).and_then(Spot::value::<bool>).unwrap_or_default();
        let background = flag("async") || flag("asyncRewake");
        let rule = match handler.get("if") {
            Some(_) if !event.is_tool() => {
                self.idle(Idle::Rule, event.name());
                return None;
            }
            Some(rule) => self.rule(path, rule),
            None => None,
        };
        Some(Handler { action: action?, timeout, rule, background })
    }

    fn command(&mut self, path: &str, handler: Spot<'_>) -> Option<Action> {
        let line = handler.get("command").and_then(Spot::value::<String>).filter(|line| !line.trim().is_empty());
        let Some(line) = line else {
            self.refuse(handler, path, "no `command`, write a line for the shell");
            return None;
        };
        if let Some(args) = handler.get("args") {
            let Some(arguments) = args.value::<Vec<String>>() else {
                self.refuse(args, &format!("{path}.args"), "write a list of texts");
                return None;
            };
            return Some(Action::Program { program: line, arguments });
        }
        let Some(shell) = handler.get("shell") else { return Some(Action::Shell { shell: SHELL, line }) };
        let named = shell.value::<String>().and_then(|name| SHELLS.into_iter().find(|(known, _)| *known == name));
        match named {
            Some((_, shell)) => Some(Action::Shell { shell, line }),
            None => {
                self.refuse(shell, &format!("{path}.shell"), "write bash or powershell");
                None
            }
        }
    }

    fn http(&mut self, path: &str, handler: Spot<'_>) -> Option<Action> {
        let url = handler.get("url").and_then(Spot::value::<String>).and_then(|url| url.parse::<Uri>().ok());
        let is_url = |url: &Uri| matches!(url.scheme_str(), Some("http" | "https")) && url.authority().is_some();
        let Some(url) = url.filter(is_url) else {
            self.refuse(handler, path, "no `url`, write an http or https URL");
            return None;
        };
        let written = handler.get("headers").map(|headers| (headers, headers.value::<BTreeMap<String, String>>()));
        let mut headers = Vec::new();
        for (name, value) in match written {
            Some((_, Some(headers))) => headers,
            Some((spot, None)) => {
                self.refuse(spot, &format!("{path}.headers"), "write an object of texts");
                return None;
            }
            None => BTreeMap::new(),
        } {
            match (name.parse::<HeaderName>(), HeaderValue::from_str(&value)) {
                (Ok(name), Ok(_)) => headers.push((name, Secret(value))),
                _ => self.refuse(handler, &format!("{path}.headers"), &format!("{name:?} is no header")),
            }
        }
        let allowed = handler.get("allowedEnvVars").and_then(Spot::value).unwrap_or_default();
        Some(Action::Http { url, headers, allowed })
    }

    fn timeout(&mut self, path: &str, handler: Spot<'_>) -> Option<Duration> {
        let spot = handler.get("timeout")?;
        let path = format!("{path}.timeout");
        let seconds = spot.value::<f64>().filter(|seconds| *seconds > 0.0);
        let timeout = seconds.and_then(|seconds| Duration::try_from_secs_f64(seconds).ok());
        match seconds {
            None => self.refuse(spot, &path, "write a number of seconds above 0"),
            Some(seconds) if seconds > LONGEST_TIMEOUT => {
                self.find(spot, &path, "in seconds, not milliseconds: write at most 3600", Severity::Warning);
            }
            Some(_) => {}
        }
        timeout
    }

    /// A rule that can't be read is none: the hook that it would keep from running may be there to refuse.
    fn rule(&mut self, path: &str, spot: Spot<'_>) -> Option<Rule> {
        let rule = spot.value::<String>().and_then(|text| Rule::parse(&text));
        if rule.is_none() {
            let what = "not a rule such as Bash(git *); the handler runs on every call";
            self.find(spot, &format!("{path}.if"), what, Severity::Warning);
        }
        rule
    }

    fn say_idle(&mut self, hooks: Spot<'_>) {
        let phrase = |(why, names): (&Idle, &Vec<String>)| {
            let names = names.join(", ");
            match why {
                Idle::Never => format!("{names}: never fires behind a gateway"),
                Idle::Unknown => format!("{names}: not known"),
                Idle::Type => format!("{names}: handlers of this type don't run here"),
                Idle::Rule => format!("{names}: a handler with `if` never runs on this event"),
            }
        };
        let phrases: Vec<String> = self.idle.iter().map(phrase).collect();
        if !phrases.is_empty() {
            self.find(hooks, "hooks", &phrases.join("; "), Severity::Notice);
        }
    }
}

/// The parser's words without the place, which is told elsewhere.
fn fault(error: &serde_json::Error) -> String {
    let text = error.to_string();
    text.split(" at line ").next().unwrap_or_default().to_owned()
}
