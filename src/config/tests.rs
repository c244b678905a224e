//! What a person gets to read for every key: empty, minimal, full, bad, misspelled.
use super::*;
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::time::Duration;

fn env(name: &str) -> Option<String> {
    match name {
        "KEY" => Some("sk-secret".into()),
        "PATH" => Some("/usr/bin:/bin".into()),
        _ => None,
    }
}

fn read(text: &str) -> Result<Loaded, Problems> {
    parse(text, Source::File("/nowhere/hookgate.yaml".into()), &env)
}

fn config(text: &str) -> Config {
    read(text).unwrap_or_else(|problems| panic!("{problems}")).config
}

/// The problems, or `ok`; the file's name cut off.
fn problems(text: &str) -> String {
    let listing = match read(text) {
        Ok(loaded) if loaded.warnings.is_empty() => return "ok".into(),
        Ok(loaded) => loaded.warnings.to_string(),
        Err(problems) => problems.to_string(),
    };
    listing.replace("/nowhere/hookgate.yaml:", "")
}

/// Every input with its problems.
fn table(inputs: &[&str]) -> String {
    inputs.iter().map(|text| format!("{text}\n    {}\n", problems(text).replace('\n', "\n    "))).collect()
}

fn shipped() -> String {
    std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/config/hookgate.yaml")).unwrap()
}

/// All names of keys in a schema.
fn key_names(schema: &Value, names: &mut BTreeSet<String>) {
    if let Some(properties) = schema.get("properties").and_then(Value::as_object) {
        names.extend(properties.keys().cloned());
    }
    match schema {
        Value::Object(members) => members.values().for_each(|value| key_names(value, names)),
        Value::Array(list) => list.iter().for_each(|value| key_names(value, names)),
        _ => {}
    }
}

#[test]
fn an_empty_file_means_the_defaults() {
    for text in ["", "# comment only\n", "{}", "hooks:\n", "admin: null\nlimits: {}\n"] {
        assert_eq!(parse(text, Source::BuiltIn, &env).unwrap().config, Config::default(), "{text:?}");
    }
}

#[test]
fn the_shipped_file_equals_the_defaults() {
    assert_eq!(parse(&shipped(), Source::BuiltIn, &env).unwrap().config, Config::default());
}

#[test]
fn the_shipped_file_names_every_key() {
    let mut names = BTreeSet::new();
    key_names(&schema(), &mut names);
    let text = shipped();
    let missing: Vec<_> = names.iter().filter(|name| !text.contains(&format!("{name}:"))).collect();
    assert!(missing.is_empty(), "{missing:?}");
}

#[test]
fn the_examples_in_the_shipped_file_are_valid() {
    let uncommented = shipped().replace("upstreams: []\n#", "upstreams:\n#").replace("hooks: []\n#", "hooks:\n#");
    let example: Vec<_> = uncommented.lines().map(|line| line.strip_prefix("# ").unwrap_or(line)).collect();
    let example = example.join("\n").replace("\n#  ", "\n  ");
    let prose = example.lines().filter(|line| line.starts_with(|c: char| c.is_ascii_lowercase() || c == ' '));
    let text = prose.filter(|line| line.contains(": ") || line.ends_with(':')).collect::<Vec<_>>().join("\n");
    let loaded = config(&text);
    assert_eq!((loaded.upstreams.len(), loaded.hooks.len()), (4, 4));
}

#[test]
fn masked_defaults_are_a_configuration_that_means_the_same() {
    let config = Config::default();
    let again = parse(&masked(&config).to_string(), Source::BuiltIn, &env).unwrap_or_else(|p| panic!("{p}"));
    assert_eq!(again.config, config);
}

#[test]
fn no_secret_is_printed() {
    let config = config(
        "admin: { token: s3cret-a }
upstreams: [{ name: x, dialect: openai, base_url: 'http://h', api_key: s3cret-b, headers: { x-key: s3cret-c } }]
hooks:
  - { name: h, on: prompt.submit, run: { http: { url: 'http://h/?key=s3cret-d', headers: { authorization: s3cret-e } } } }
  - { name: c, on: prompt.submit, run: { command: [sh], env: { TOKEN: s3cret-f } } }
",
    );
    assert!(!masked(&config).to_string().contains("s3cret"), "{}", masked(&config));
    assert!(!format!("{:?}", (&config.admin, &config.upstreams)).contains("s3cret"));
}

#[test]
fn everything_that_can_be_written() {
    let config = config(
        r#"
listen: 127.0.0.1:1
admin: { listen: 127.0.0.1:2, token: ${HOOKGATE_ADMIN_TOKEN:-} }
upstreams:
  - { name: local, dialect: openai, base_url: http://127.0.0.1:11434/, prefix: /local, headers: { X-Org: "${KEY}" },
      api_key: ${KEY}, connect_timeout: 1s, idle_timeout: 1m, cached: false }
  - { name: gemini, dialect: gemini, base_url: https://proxy.example/gemini }
models: { aliases: { fast: claude-haiku-4-5, "4": 5.10 } }
sessions:
  id: [x-my-session, { body: /metadata/user_id, match: 'session_(.+)' }, { body: /user }]
  agent: []
  without_id: none
  isolation: none
  idle_end: 1h
  retain: 1d
  side_requests: ['model.family == "claude" && size(tools) == 0']
store: { kind: memory }
lifecycle: { max_injected_context_chars: 0, request_deadline: 500ms, max_requests_per_turn: 0 }
injection: { layout: stable, retain: history, wrap: false }
limits: { request_body: 1MiB, buffered_bytes: 2MB, hook_output: 512, held_response: 1KiB, outcome_text: 1KB, concurrent_requests: 1 }
hooks:
  - name: full
    on: [session.start, session.stop]
    run: { command: [/bin/sh, -c, 'kill -9 $$'], cwd: /, env: { PROJECT: demo }, env_pass: [GH_TOKEN] }
    slot: project
    when: session.agent == "main"
    timeout: 7s
    on_error: block
    mode: audit
    include: [request]
  - {"name": "json", "on": "prompt.submit", "run": {"text": "JSON is YAML, {even} this"}}
"#,
    );
    insta::assert_json_snapshot!(masked(&config), @"");
    assert_eq!(config.upstreams[0].api_key, Some(Secret("sk-secret".into())));
    assert_eq!(config.admin.token, None);
    assert_eq!(config.hooks[0].timeout, Some(Duration::from_secs(7)));
}

#[test]
fn misspelled_keys_name_the_nearest() {
    insta::assert_snapshot!(table(&[
        "listn: 127.0.0.1:1",
        "admin: { tokn: x }",
        "sessions: { isolaton: none }",
        "limits: { request_bodies: 1MiB }",
        "lifecycle: { max_injected_context_char: 1 }",
        "injection: { wraped: true }",
        "store: { folder: ./x }",
        "hooks: [{ nam: a, on: prompt.submit, run: { text: x } }]",
        "hooks: [{ name: a, on: prompt.submit, run: { comand: [sh] } }]",
        "upstreams: [{ name: a, dialect: openai, url: 'http://h' }]",
        "zzz: 1",
    ]), @"");
}

#[test]
fn what_is_not_available_yet_says_so() {
    insta::assert_snapshot!(table(&[
        "continuation: { max_per_turn: 3 }",
        "bus: { maildir: x }",
        "store: { kind: redis, url: 'redis://h' }",
        "lifecycle: { max_requests_per_turn: 5 }",
        "hooks: [{ name: a, on: model.context, run: { text: x } }]",
        "hooks: [{ name: a, on: [prompt.submit, session.stopping], run: { text: x } }]",
        "hooks: [{ name: a, run: { claude_code: { settings: .claude/settings.json } } }]",
        "hooks: [{ name: a, on: prompt.submit, run: { edits: [{ op: tools.remove, names: [Bash] }] } }]",
    ]), @"");
}

#[test]
fn wrong_values_say_what_to_write() {
    insta::assert_snapshot!(table(&[
        "listen: 8787",
        "listen: [a]",
        "admin: yes",
        "admin: { listen: '127.0.0.1:8787' }",
        "sessions: { idle_end: 30 }",
        "sessions: { id: x-session }",
        "sessions: { id: ['not a header'] }",
        "sessions: { id: [{ body: user }] }",
        "sessions: { id: [{ body: /user, match: 'no group' }] }",
        "sessions: { id: [{ body: /user, match: '(' }] }",
        "sessions: { without_id: chian }",
        "sessions: { side_requests: ['model.family =='] }",
        "lifecycle: { max_injected_context_chars: -1 }",
        "lifecycle: { request_deadline: 0s }",
        "injection: { wrap: maybe }",
        "limits: { request_body: 64 mib }",
        "limits: { concurrent_requests: 0 }",
        "models: { aliases: [fast] }",
        "profiles: [missing.yaml]",
        "admin: { token: '${UNSET}' }",
        "hooks: { name: a }",
    ]), @"");
}

#[test]
fn upstreams_must_be_told_apart_and_reachable() {
    insta::assert_snapshot!(table(&[
        "upstreams: [{}]",
        "upstreams: [{ name: a, dialect: claude, base_url: 'http://h' }]",
        "upstreams: [{ name: a, dialect: openai, base_url: 'ftp://h' }]",
        "upstreams: [{ name: a, dialect: openai, base_url: 'http://h/?a=b' }]",
        "upstreams: [{ name: a, dialect: openai, base_url: 'http://user:pass@h' }]",
        "upstreams: [{ name: a/b, dialect: openai, base_url: 'http://h' }]",
        "upstreams: [{ name: v1, dialect: openai, base_url: 'http://h' }]",
        "upstreams: [{ name: a, dialect: openai, base_url: 'http://h', prefix: local }]",
        "upstreams: [{ name: a, dialect: openai, base_url: 'http://h', prefix: /a/.. }]",
        "upstreams: [{ name: a, dialect: openai, base_url: 'http://h', prefix: /v1/x }]",
        "upstreams: [{ name: a, dialect: openai, base_url: 'http://h', prefix: /anthropic }]",
        "upstreams: [{ name: a, dialect: openai, base_url: 'http://h', prefix: /a }]",
        "upstreams: [{ name: a, dialect: openai, base_url: 'http://h', headers: { 'a b': x, host: y, ok: \"\\n\" } }]",
        "upstreams:\n- { name: a, dialect: openai, base_url: 'http://h' }\n- { name: a, dialect: gemini, base_url: 'http://h' }",
        "upstreams:\n- { name: a, dialect: openai, base_url: 'http://h', prefix: /p }\n- { name: b, dialect: gemini, base_url: 'http://h', prefix: /p }",
    ]), @"");
}

#[test]
fn hooks_have_one_runner_a_name_and_events() {
    insta::assert_snapshot!(table(&[
        "hooks: [{}]",
        "hooks: [{ name: a, on: [], run: { text: x } }]",
        "hooks: [{ name: '', on: prompt.submit, run: { text: x } }]",
        "hooks: [{ name: a, on: prompt.submited, run: { text: x } }]",
        "hooks: [{ name: a, on: prompt.submit, run: {} }]",
        "hooks: [{ name: a, on: prompt.submit, run: { text: x, file: y } }]",
        "hooks: [{ name: a, on: prompt.submit, run: { text: x, cwd: . } }]",
        "hooks: [{ name: a, on: prompt.submit, run: { command: sh } }]",
        "hooks: [{ name: a, on: prompt.submit, run: { command: [] } }]",
        "hooks: [{ name: a, on: prompt.submit, run: { http: { url: 'h:1' } } }]",
        "hooks: [{ name: a, on: prompt.submit, run: { text: x }, when: 'a &&' }]",
        "hooks: [{ name: a, on: prompt.submit, run: { text: x }, timeout: 5 }]",
        "hooks: [{ name: a, on: prompt.submit, run: { text: x }, on_error: ignore }]",
        "hooks: [{ name: a, on: prompt.submit, run: { text: x }, include: [turn] }]",
        "hooks:\n- { name: a, on: prompt.submit, run: { text: x } }\n- { name: a, on: session.stop, run: { text: x } }",
    ]), @"");
}

#[test]
fn a_missing_script_or_file_is_a_warning_and_the_configuration_usable() {
    let text = "hooks:
- { name: a, on: prompt.submit, run: { command: [./does-not-exist-here.sh] } }
- { name: b, on: prompt.submit, run: { command: [no-such-program-anywhere] } }
- { name: c, on: prompt.submit, run: { file: NOTES.md } }
- { name: d, on: prompt.submit, run: { command: [/etc/hostname] } }
- { name: e, on: prompt.submit, run: { command: [sh], cwd: gone } }
";
    assert_eq!(config(text).hooks.len(), 5);
    insta::assert_snapshot!(problems(text), @"");
}

#[test]
fn what_only_one_user_may_have_is_refused_where_others_connect() {
    insta::assert_snapshot!(table(&[
        "{ listen: '0.0.0.0:1', sessions: { isolation: none } }",
        "{ listen: '0.0.0.0:1', upstreams: [{ name: a, dialect: openai, base_url: 'http://h', api_key: k }] }",
        "{ listen: '127.0.0.1:1', sessions: { isolation: none } }",
        "{ listen: '[::1]:1', sessions: { isolation: none } }",
    ]), @"");
}

#[test]
fn all_problems_come_at_once_in_the_order_of_the_file() {
    let text = "listen: nowhere
limts: {}
sessions:
  isolation: nobody
  idle_end: soon
hooks:
  - name: a
    on: [prompt.submit, prompt.sbmit]
    run: { text: x }
    timeout: fast
  - { name: b, on: session.stop, run: { command: [./gone.sh] } }
  - { name: a, on: session.stop, run: { text: x } }
";
    insta::assert_snapshot!(read(text).unwrap_err(), @"");
}

#[test]
fn broken_yaml_says_where() {
    insta::assert_snapshot!(table(&["a: [1, 2", "a: b: c", "listen: x\nlisten: y", "\ta: 1", "- a", "just text", "[a]: 1"]), @"");
}

#[test]
fn relative_paths_start_at_the_files_folder() {
    let text = "store: { path: data }\nhooks: [{ name: a, on: prompt.submit, run: { file: ./a.md } }]";
    let config = config(text);
    assert_eq!(config.store, Store::Sled { path: "/nowhere/data".into() });
    assert_eq!(config.hooks[0].run, Run::File("/nowhere/a.md".into()));
}

#[test]
fn written_upstreams_come_first_and_replace_built_in_ones_by_name() {
    let text = "upstreams:\n- { name: corp, dialect: anthropic, base_url: 'https://corp' }\n- { name: openai, dialect: openai, base_url: 'https://o' }";
    let upstreams = config(text).upstreams;
    let names: Vec<_> = upstreams.iter().map(|u| (u.name.as_str(), u.base_url.to_string())).collect();
    insta::assert_debug_snapshot!(names, @"");
}

#[test]
fn a_file_that_is_named_must_exist() {
    let error = load(Some(Path::new("/nowhere/at-all.yaml")), &env).unwrap_err();
    insta::assert_snapshot!(error, @"");
}

#[test]
fn the_schema_has_types_defaults_and_documentation() {
    let schema = schema();
    insta::assert_json_snapshot!(schema["properties"]["injection"], @"");
    assert_eq!(schema["properties"]["hooks"]["items"]["required"], json!(["name", "run"]));
}

proptest::proptest! {
    #[test]
    fn any_text_is_a_configuration_or_a_list_of_problems(text in "(listen|hooks|name|run|:|\n|  |- |\\{|\\}|\\[|\\]|,|\\$|x|'){0,40}") {
        if let Err(problems) = read(&text) {
            proptest::prop_assert!(!problems.is_empty());
        }
    }

    #[test]
    fn any_text_is_an_expression_or_a_problem(text in "[a-z0-9.()\\[\\]{}'\"&|=!<>?:+*/ -]{0,40}") {
        let quoted = text.replace('\'', "''");
        let _ = read(&format!("sessions: {{ side_requests: ['{quoted}'] }}"));
    }
}
