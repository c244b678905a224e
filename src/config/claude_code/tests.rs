use super::parse::{Finding, Settings};
use super::*;

fn findings(text: &str) -> Vec<String> {
    let line =
        |Finding { place, what, severity }: Finding| format!("{}:{} {severity:?} {what}", place.line, place.column);
    Settings::parse(text).findings.into_iter().map(line).collect()
}

#[test]
fn groups_are_read_in_order_with_their_handlers() {
    let settings = Settings::parse(
        r#"{"model": "opus", "permissions": {"allow": ["Bash(ls)"]}, "hooks": {
            "PreToolUse": [{"matcher": "Bash", "hooks": [
                {"type": "command", "command": "a.sh", "timeout": 1.5, "if": "Bash(git *)", "statusMessage": "..."},
                {"type": "command", "command": "b", "args": ["x"], "async": true},
                {"type": "command", "command": "c", "shell": "bash"}]}],
            "Stop": [{"hooks": [{"type": "http", "url": "http://127.0.0.1:1/x", "headers": {"X-Key": "$KEY"}, "allowedEnvVars": ["KEY"]}]},
                     {"hooks": []}]}}"#,
    );
    assert!(settings.findings.is_empty() && !settings.disabled, "{:?}", settings.findings);
    let [pre, stop] = &settings.groups[..] else { panic!("{:?}", settings.groups) };
    assert_eq!((pre.event, stop.event), (ClaudeEvent::PreToolUse, ClaudeEvent::Stop));
    assert!(pre.matcher.matches("Bash") && !pre.matcher.matches("Edit"));
    assert_eq!(pre.handlers[0].timeout, Some(Duration::from_millis(1500)));
    assert_eq!(pre.handlers[0].rule, Rule::parse("Bash(git *)"));
    assert_eq!(pre.handlers[0].action, Action::Shell { shell: &["sh", "-c"], line: "a.sh".into() });
    assert!(pre.handlers[1].background);
    assert_eq!(pre.handlers[1].action, Action::Program { program: "b".into(), arguments: vec!["x".into()] });
    assert_eq!(pre.handlers[2].action, Action::Shell { shell: &["bash", "-c"], line: "c".into() });
    let Action::Http { headers, allowed, .. } = &stop.handlers[0].action else { panic!("{stop:?}") };
    assert_eq!((headers[0].0.as_str(), allowed.as_slice()), ("x-key", &["KEY".to_owned()][..]));
}

#[test]
fn everything_wrong_is_said_at_once_with_its_place() {
    insta::assert_snapshot!(findings(
        r#"{
  "hooks": {
    "Stop": {},
    "PreToolUse": [
      {"matcher": "(", "hooks": [{"type": "command", "command": "x"}]},
      {"hooks": [{"command": "x"}, {"type": "command"}, {"type": "command", "command": "x", "timeout": -1}]},
      {"hooks": [{"type": "command", "command": "x", "timeout": 120000}, {"type": "command", "command": "x", "if": "Bash("}]},
      {"hooks": [{"type": "http", "url": "ftp://x"}, {"type": "http", "url": "http://x", "headers": {"a b": "c"}}]},
      {"hooks": [{"type": "command", "command": "x", "shell": "fish"}]},
      {}
    ]
  }
}"#
    ).join("\n"), @r#"
    3:13 Fatal hooks.Stop: write a list such as [{"matcher": "", "hooks": [...]}]
    5:19 Fatal hooks.PreToolUse[0].matcher: not a regular expression: Unbalanced parenthesis
    6:18 Fatal hooks.PreToolUse[1].hooks[0]: no `type`, write command or http
    6:36 Fatal hooks.PreToolUse[1].hooks[1]: no `command`, write a line for the shell
    6:104 Fatal hooks.PreToolUse[1].hooks[2].timeout: write a number of seconds above 0
    7:65 Warning hooks.PreToolUse[2].hooks[0].timeout: in seconds, not milliseconds: write at most 3600
    7:116 Warning hooks.PreToolUse[2].hooks[1].if: not a rule such as Bash(git *); the handler runs on every call
    8:18 Fatal hooks.PreToolUse[3].hooks[0]: no `url`, write an http or https URL
    8:54 Fatal hooks.PreToolUse[3].hooks[1].headers: "a b" is no header
    9:63 Fatal hooks.PreToolUse[4].hooks[0].shell: write bash or powershell
    10:7 Fatal hooks.PreToolUse[5]: no `hooks`, write a list of handlers
    "#);
}

#[test]
fn what_has_no_effect_is_named_in_one_notice() {
    insta::assert_snapshot!(findings(
        r#"{"hooks": {"Notification": [{"hooks": [{"type": "command", "command": "true"}]}], "PreCompact": [{"hooks": []}],
            "Setup": [], "Whenever": [{"hooks": []}],
            "SessionStart": [{"hooks": [{"type": "http", "url": "http://x"}]}],
            "Stop": [{"hooks": [{"type": "prompt", "prompt": "done?"}, {"type": "agent", "prompt": "done?"},
                                {"type": "command", "command": "x", "if": "Bash"}]}]}}"#
    ).join("\n"), @"
    1:11 Notice hooks: Notification, PreCompact: never fires behind a gateway; Whenever: not known; http on SessionStart, prompt on Stop, agent on Stop: handlers of this type don't run here; Stop: a handler with `if` never runs on this event
    ");
}

#[test]
fn a_text_that_is_no_settings_file_is_refused() {
    insta::assert_snapshot!(["", "{", "[]", "{\"hooks\": []}", "{\"hooks\": {\"Stop\": [], \"Stop\": []}}"].map(|text| findings(text).join(" ")).join("\n"), @"
    1:1 Fatal EOF while parsing a value
    1:1 Fatal EOF while parsing an object
    1:1 Fatal not a JSON object without repeated keys
    1:11 Fatal hooks: write an object of events, each once
    1:11 Fatal hooks: write an object of events, each once
    ");
    for text in ["{}", "\u{feff}{\"hooks\": null}", "{\"disableAllHooks\": true}"] {
        assert!(findings(text).is_empty(), "{text}");
    }
    assert!(Settings::parse("{\"disableAllHooks\": true}").disabled);
}

#[test]
fn the_log_names_an_action_without_what_may_be_secret() {
    let http = Action::Http { url: "http://h/x?key=s3cret".parse().unwrap(), headers: vec![], allowed: vec![] };
    assert_eq!(http.shown(), "http://h/x");
    let long = Action::Shell { shell: &["sh", "-c"], line: "ö".repeat(200) };
    assert_eq!(long.shown().chars().count(), 123);
}
