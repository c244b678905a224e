//! What a person gets to read for every key: empty, minimal, full, bad, misspelled.
use super::*;
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::time::Duration;

fn env(name: &str) -> Option<String> {
    match name {
        "KEY" | "ANTHROPIC_API_KEY" => Some("sk-secret".into()),
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

/// All names of keys in a schema; the arguments of edits are none of the configuration's.
fn key_names(schema: &Value, names: &mut BTreeSet<String>) {
    if let Some(properties) = schema.get("properties").and_then(Value::as_object) {
        names.extend(properties.keys().cloned());
    }
    match schema {
        Value::Object(members) => {
            members.iter().filter(|(name, _)| *name != "edits").for_each(|(_, value)| key_names(value, names));
        }
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
    // Examples are indented by two, prose is not.
    let uncomment = |line: &str| line.strip_prefix("#  ").map_or(line.to_owned(), |example| format!("  {example}"));
    let text = shipped().lines().map(uncomment).collect::<Vec<_>>().join("\n");
    let text = ["upstreams", "entries", "hooks"]
        .iter()
        .fold(text, |text, list| text.replace(&format!("{list}: []"), &format!("{list}:")));
    let loaded = config(&text);
    assert_eq!((loaded.upstreams.len(), loaded.hooks.len()), (4, 10));
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
lifecycle: { max_injected_context_chars: 0, request_deadline: 500ms, max_requests_per_turn: 50 }
injection: { layout: stable, retain: history, wrap: false }
limits: { request_body: 1MiB, buffered_bytes: 2MB, hook_output: 512, held_response: 1KiB, outcome_text: 1KB, concurrent_requests: 1 }
continuation: { max_per_turn: 0 }
knowledge: { dir: /var/knowledge, approve_token: "${KEY}", max_context_chars: 10 }
bus: { maildir: /spool }
telemetry: { overhead_header: true, otlp: { endpoint: "http://collector:4318", headers: { authorization: "${KEY}" }, sample: 0.25, timeout: 1s } }
audit: { file: /var/log/audit.jsonl, max_size: 1MiB, keep: 2, bodies: true }
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
    insta::assert_json_snapshot!(masked(&config), @r#"
    {
      "listen": "127.0.0.1:1",
      "tls": null,
      "trust": {
        "proxy_protocol": []
      },
      "admin": {
        "listen": "127.0.0.1:2",
        "token": null
      },
      "upstreams": [
        {
          "name": "local",
          "dialect": "openai",
          "base_url": "http://127.0.0.1:11434/",
          "prefix": "/local",
          "headers": {
            "x-org": "***"
          },
          "api_key": "***",
          "connect_timeout": "1s",
          "idle_timeout": "1m",
          "cached": false
        },
        {
          "name": "gemini",
          "dialect": "gemini",
          "base_url": "https://proxy.example/gemini",
          "prefix": null,
          "headers": {},
          "api_key": null,
          "connect_timeout": "10s",
          "idle_timeout": "10m",
          "cached": true
        },
        {
          "name": "anthropic",
          "dialect": "anthropic",
          "base_url": "https://api.anthropic.com/",
          "prefix": null,
          "headers": {},
          "api_key": null,
          "connect_timeout": "10s",
          "idle_timeout": "10m",
          "cached": true
        },
        {
          "name": "openai",
          "dialect": "openai",
          "base_url": "https://api.openai.com/",
          "prefix": null,
          "headers": {},
          "api_key": null,
          "connect_timeout": "10s",
          "idle_timeout": "10m",
          "cached": true
        }
      ],
      "keys": {
        "required": true,
        "file": null,
        "entries": [],
        "limits": {
          "requests_per_minute": 0,
          "concurrent_requests": 0,
          "tokens_per_minute": 0
        },
        "tenants": {}
      },
      "models": {
        "aliases": {
          "4": "5.10",
          "fast": "claude-haiku-4-5"
        }
      },
      "sessions": {
        "id": [
          "x-my-session",
          {
            "body": "/metadata/user_id",
            "match": "session_(.+)"
          },
          {
            "body": "/user",
            "match": null
          }
        ],
        "agent": [],
        "parent": [
          "x-hookgate-parent",
          "x-claude-code-parent-agent-id",
          "x-codex-parent-thread-id",
          "x-parent-session-id"
        ],
        "project": [
          "x-hookgate-project"
        ],
        "without_id": "none",
        "isolation": "none",
        "idle_end": "1h",
        "retain": "1d",
        "side_requests": [
          "model.family == \"claude\" && size(tools) == 0"
        ]
      },
      "store": {
        "kind": "memory"
      },
      "lifecycle": {
        "max_injected_context_chars": 0,
        "request_deadline": "500ms",
        "max_requests_per_turn": 50
      },
      "injection": {
        "layout": "stable",
        "retain": "history",
        "wrap": false
      },
      "limits": {
        "request_body": "1MiB",
        "buffered_bytes": "2MB",
        "hook_output": "512",
        "held_response": "1KiB",
        "outcome_text": "1KB",
        "concurrent_requests": 1,
        "request_head": "64KiB",
        "head_timeout": "20s",
        "body_timeout": "1m"
      },
      "continuation": {
        "max_per_turn": 0
      },
      "policies": {
        "on_opaque": "pass"
      },
      "knowledge": {
        "dir": "/var/knowledge",
        "approve_token": "***",
        "max_context_chars": 10
      },
      "bus": {
        "maildir": "/spool"
      },
      "telemetry": {
        "overhead_header": true,
        "otlp": {
          "endpoint": "http://collector:4318/",
          "headers": {
            "authorization": "***"
          },
          "sample": 0.25,
          "timeout": "1s"
        }
      },
      "audit": {
        "file": "/var/log/audit.jsonl",
        "max_size": "1MiB",
        "keep": 2,
        "bodies": true
      },
      "inspect": {
        "requests_per_session": 20,
        "bodies": false
      },
      "hooks": [
        {
          "name": "full",
          "on": [
            "session.start",
            "session.stop"
          ],
          "run": {
            "command": [
              "/bin/sh",
              "-c",
              "kill -9 $$"
            ],
            "cwd": "/",
            "env": {
              "PROJECT": "***"
            },
            "env_pass": [
              "GH_TOKEN"
            ]
          },
          "slot": "project",
          "when": "session.agent == \"main\"",
          "timeout": "7s",
          "on_error": "block",
          "mode": "audit",
          "include": [
            "request"
          ]
        },
        {
          "name": "json",
          "on": [
            "prompt.submit"
          ],
          "run": {
            "text": "JSON is YAML, {even} this"
          },
          "slot": "json",
          "when": null,
          "timeout": null,
          "on_error": "skip",
          "mode": "enforce",
          "include": []
        }
      ],
      "profiles": []
    }
    "#);
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
    ]), @r"
    listn: 127.0.0.1:1
        1:1: listn: unknown key, did you mean `listen`?
    admin: { tokn: x }
        1:10: admin.tokn: unknown key, did you mean `token`?
    sessions: { isolaton: none }
        1:13: sessions.isolaton: unknown key, did you mean `isolation`?
    limits: { request_bodies: 1MiB }
        1:11: limits.request_bodies: unknown key, did you mean `request_body`?
    lifecycle: { max_injected_context_char: 1 }
        1:14: lifecycle.max_injected_context_char: unknown key, did you mean `max_injected_context_chars`?
    injection: { wraped: true }
        1:14: injection.wraped: unknown key, did you mean `wrap`?
    store: { folder: ./x }
        1:10: store.folder: unknown key, write one of kind, path, url, on_store_error
    hooks: [{ nam: a, on: prompt.submit, run: { text: x } }]
        1:9: hooks[0].name: missing, write a text
        1:11: hooks[0].nam: unknown key, did you mean `name`?
    hooks: [{ name: a, on: prompt.submit, run: { comand: [sh] } }]
        1:46: hooks[0].run.comand: unknown key, did you mean `command`?
    upstreams: [{ name: a, dialect: openai, url: 'http://h' }]
        1:13: upstreams[0].base_url: missing, write an http or https URL without credentials and query such as https://api.example.com
        1:41: upstreams[0].url: unknown key, write one of name, dialect, base_url, prefix, headers, api_key, connect_timeout, idle_timeout, cached
    zzz: 1
        1:1: zzz: unknown key, write one of listen, tls, trust, admin, upstreams, keys, models, sessions, store, lifecycle, injection, limits, continuation, policies, knowledge, bus, telemetry, audit, inspect, hooks, profiles
    ");
}

#[test]
fn what_is_not_available_yet_says_so() {
    insta::assert_snapshot!(table(&[
        "hooks: [{ name: a, on: model.context, run: { text: x } }]",
        "hooks: [{ name: a, on: prompt.submit, run: { edits: [{ op: tools.remove, names: [Bash] }] } }]",
    ]), @r"
    hooks: [{ name: a, on: model.context, run: { text: x } }]
        1:24: hooks[0].on: a text is no edit, write run.edits with system.append on model.context
    hooks: [{ name: a, on: prompt.submit, run: { edits: [{ op: tools.remove, names: [Bash] }] } }]
        1:24: hooks[0].on: edits don't run on prompt.submit, write model.context
    ");
}

#[test]
fn a_shared_store_has_a_url_that_never_shows_its_password() {
    insta::assert_snapshot!(table(&[
        "store: { kind: redis, url: 'redis://:pw@h:6379/1' }",
        "store: { kind: redis }",
        "store: { kind: redis, url: 'http://h' }",
        "store: { kind: redis, url: 'redis://h', on_store_error: block }",
        "store: { kind: etcd }",
    ]), @r"
    store: { kind: redis, url: 'redis://:pw@h:6379/1' }
        ok
    store: { kind: redis }
        1:16: store.kind: redis needs `url`, such as redis://127.0.0.1:6379
    store: { kind: redis, url: 'http://h' }
        1:28: store.url: not valid here, write a URL such as redis://:PASSWORD@host:6379/0, rediss:// for TLS, redis+cluster://host,host for a cluster
    store: { kind: redis, url: 'redis://h', on_store_error: block }
        1:57: store.on_store_error: unknown value, write one of pass, refuse
    store: { kind: etcd }
        1:16: store.kind: unknown value, write one of sled, memory, redis
    ");
    let config =
        parse("store: { kind: redis, url: 'redis+cluster://u:pw@a,b:1' }", Source::BuiltIn, &env).unwrap().config;
    let expected = json!({"kind": "redis", "url": "redis+cluster://u:***@a,b:1", "on_store_error": "pass"});
    assert_eq!(masked(&config)["store"], expected);
    assert!(!format!("{config:?}").contains("pw"));
}

#[test]
fn knowledge_has_a_reviewer_of_its_own_and_runs_on_prompts() {
    insta::assert_snapshot!(table(&[
        "{ admin: { token: a }, knowledge: { approve_token: a } }",
        "{ admin: { token: a }, knowledge: { approve_token: b } }",
        "knowledge: { dir: '', approve_token: '' }",
        "hooks: [{ name: a, run: { knowledge: {} } }]",
        "hooks: [{ name: a, on: prompt.submit, run: { knowledge: { max_entries: 1 } } }]",
        "hooks: [{ name: a, on: session.start, run: { knowledge: {} } }]",
        "hooks: [{ name: a, run: { knowledge: { max_entries: 0 } } }]",
        "hooks: [{ name: a, run: { knowledge: {}, file: x } }]",
    ]), @r"
    { admin: { token: a }, knowledge: { approve_token: a } }
        1:52: knowledge.approve_token: the same as admin.token, so that who may propose may approve; write another
    { admin: { token: a }, knowledge: { approve_token: b } }
        ok
    knowledge: { dir: '', approve_token: '' }
        ok
    hooks: [{ name: a, run: { knowledge: {} } }]
        ok
    hooks: [{ name: a, on: prompt.submit, run: { knowledge: { max_entries: 1 } } }]
        ok
    hooks: [{ name: a, on: session.start, run: { knowledge: {} } }]
        1:24: hooks[0].on: knowledge does not run on session.start, leave `on` out
    hooks: [{ name: a, run: { knowledge: { max_entries: 0 } } }]
        1:38: hooks[0].run.knowledge: max_entries: 0 picks nothing, write at least 1 or leave the hook out
    hooks: [{ name: a, run: { knowledge: {}, file: x } }]
        1:25: hooks[0].run: more than one runner, write one of text, file, command, worker, http, edits, model_context, claude_code and knowledge
    ");
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
    ]), @r"
    listen: 8787
        1:9: listen: not valid here, write an address and a port such as 127.0.0.1:8787, or unix:/path
    listen: [a]
        1:9: listen: a list where a single value belongs, write an address and a port such as 127.0.0.1:8787, or unix:/path
    admin: yes
        1:8: admin: a single value where a map belongs, write `key: value` lines
    admin: { listen: '127.0.0.1:8787' }
        1:18: admin.listen: the same address as `listen`, write another port
    sessions: { idle_end: 30 }
        1:23: sessions.idle_end: not valid here, write a duration such as 500ms, 5s, 10m or 30d
    sessions: { id: x-session }
        1:17: sessions.id: a single value where a list belongs, write a list such as [a, b]
    sessions: { id: ['not a header'] }
        1:18: sessions.id[0]: not valid here, write a header's name or { body: /json/pointer, match: 'regex with one group' }
    sessions: { id: [{ body: user }] }
        1:26: sessions.id[0].body: not valid here, write a JSON pointer such as /metadata/user_id
    sessions: { id: [{ body: /user, match: 'no group' }] }
        1:40: sessions.id[0].match: 0 groups, write a regular expression with one group such as 'session_(.+)'; (?:...) does not count
    sessions: { id: [{ body: /user, match: '(' }] }
        1:40: sessions.id[0].match: not a regular expression: unclosed group
    sessions: { without_id: chian }
        1:25: sessions.without_id: unknown value, did you mean `chain`?
    sessions: { side_requests: ['model.family =='] }
        1:29: sessions.side_requests[0]: not a condition: Syntax error: mismatched input '<EOF>' at its line 1 column 16
    lifecycle: { max_injected_context_chars: -1 }
        1:42: lifecycle.max_injected_context_chars: not valid here, write a whole number
    lifecycle: { request_deadline: 0s }
        1:32: lifecycle.request_deadline: not valid here, write a duration such as 500ms, 5s, 10m or 30d
    injection: { wrap: maybe }
        1:20: injection.wrap: not valid here, write true or false
    limits: { request_body: 64 mib }
        1:25: limits.request_body: not valid here, write a size such as 64MiB, 10MB or 512
    limits: { concurrent_requests: 0 }
        1:32: limits.concurrent_requests: 0 lets no request through, write at least 1
    models: { aliases: [fast] }
        1:20: models.aliases: a list where a map belongs, write a map such as { name: value }
    profiles: [missing.yaml]
        1:12: profiles[0]: /nowhere/missing.yaml: No such file or directory (os error 2)
    admin: { token: '${UNSET}' }
        1:17: admin.token: the variable UNSET is not set, set it or write ${UNSET:-default}
    hooks: { name: a }
        1:8: hooks: a map where a list belongs, write a list such as [a, b]
    ");
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
    ]), @r#"
    upstreams: [{}]
        1:13: upstreams[0].name: missing, write a text
        1:13: upstreams[0].dialect: missing, write anthropic, openai or gemini
        1:13: upstreams[0].base_url: missing, write an http or https URL without credentials and query such as https://api.example.com
    upstreams: [{ name: a, dialect: claude, base_url: 'http://h' }]
        1:33: upstreams[0].dialect: unknown value, write one of anthropic, openai, gemini
    upstreams: [{ name: a, dialect: openai, base_url: 'ftp://h' }]
        1:51: upstreams[0].base_url: not valid here, write an http or https URL without credentials and query such as https://api.example.com
    upstreams: [{ name: a, dialect: openai, base_url: 'http://h/?a=b' }]
        1:51: upstreams[0].base_url: not valid here, write an http or https URL without credentials and query such as https://api.example.com
    upstreams: [{ name: a, dialect: openai, base_url: 'http://user:pass@h' }]
        1:51: upstreams[0].base_url: not valid here, write an http or https URL without credentials and query such as https://api.example.com
    upstreams: [{ name: a/b, dialect: openai, base_url: 'http://h' }]
        1:21: upstreams[0].name: a name is part of a path, write letters, digits, dashes and dots
    upstreams: [{ name: v1, dialect: openai, base_url: 'http://h' }]
        1:21: upstreams[0].name: /v1 is the beginning of well-known paths, write another name
    upstreams: [{ name: a, dialect: openai, base_url: 'http://h', prefix: local }]
        1:71: upstreams[0].prefix: not valid here, write a path such as /local, without a slash at its end
    upstreams: [{ name: a, dialect: openai, base_url: 'http://h', prefix: /a/.. }]
        1:71: upstreams[0].prefix: not valid here, write a path such as /local, without a slash at its end
    upstreams: [{ name: a, dialect: openai, base_url: 'http://h', prefix: /v1/x }]
        1:71: upstreams[0].prefix: /v1 is the beginning of well-known paths, write another
    upstreams: [{ name: a, dialect: openai, base_url: 'http://h', prefix: /anthropic }]
        1:71: upstreams[0].prefix: /anthropic already leads to the upstream of that name, write another
    upstreams: [{ name: a, dialect: openai, base_url: 'http://h', prefix: /a }]
        ok
    upstreams: [{ name: a, dialect: openai, base_url: 'http://h', headers: { 'a b': x, host: y, ok: "\n" } }]
        1:74: upstreams[0].headers.a b: not a header's name, write letters, digits and dashes
        1:84: upstreams[0].headers.host: set by the gateway itself, leave it out
        1:97: upstreams[0].headers.ok: a control character in a header's value, leave it out
    upstreams:
    - { name: a, dialect: openai, base_url: 'http://h' }
    - { name: a, dialect: gemini, base_url: 'http://h' }
        3:11: upstreams[1].name: `a` is already the name in line 2, write another
    upstreams:
    - { name: a, dialect: openai, base_url: 'http://h', prefix: /p }
    - { name: b, dialect: gemini, base_url: 'http://h', prefix: /p }
        3:61: upstreams[1].prefix: already the prefix in line 2, write another
    "#);
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
        "hooks: [{ name: a, on: session.stopping, run: { text: x } }]",
        "hooks: [{ name: a, on: [prompt.submit, session.stopping], run: { file: /etc/passwd } }]",
        "hooks: [{ name: a, on: prompt.submit, run: { command: sh } }]",
        "hooks: [{ name: a, on: prompt.submit, run: { command: [] } }]",
        "hooks: [{ name: a, run: { model_context: {} } }]",
        "hooks: [{ name: a, on: prompt.submit, run: { model_context: { default: { system: x, system_file: y } } } }]",
        "hooks: [{ name: a, run: { model_context: { families: { gtp: { system: x } }, default: { match: 'm' } } } }]",
        "hooks: [{ name: a, on: prompt.submit, run: { worker: [sh], workers: 0 } }]",
        "hooks: [{ name: a, on: prompt.submit, run: { command: [sh], workers: 2 } }]",
        "hooks: [{ name: a, on: prompt.submit, run: { command: [sh], worker: [sh] } }]",
        "hooks: [{ name: a, on: prompt.submit, run: { http: { url: 'h:1' } } }]",
        "hooks: [{ name: a, on: prompt.submit, run: { text: x }, when: 'a &&' }]",
        "hooks: [{ name: a, on: prompt.submit, run: { text: x }, when: 'event = event' }]",
        "hooks: [{ name: a, on: model.context, run: { edits: [{ op: system.apend, text: x }] } }]",
        "hooks: [{ name: a, on: prompt.submit, run: { text: x }, timeout: 5 }]",
        "hooks: [{ name: a, on: prompt.submit, run: { text: x }, on_error: ignore }]",
        "hooks: [{ name: a, on: prompt.submit, run: { text: x }, include: [turn] }]",
        "hooks:\n- { name: a, on: prompt.submit, run: { text: x } }\n- { name: a, on: session.stop, run: { text: x } }",
    ]), @r"
    hooks: [{}]
        1:9: hooks[0].name: missing, write a text
        1:9: hooks[0].run: missing, write a map of its keys
    hooks: [{ name: a, on: [], run: { text: x } }]
        1:24: hooks[0].on: missing, write an event such as session.start or prompt.submit
    hooks: [{ name: '', on: prompt.submit, run: { text: x } }]
        1:17: hooks[0].name: write 1 to 128 printable characters
    hooks: [{ name: a, on: prompt.submited, run: { text: x } }]
        1:24: hooks[0].on: unknown event, did you mean `prompt.submit`?
    hooks: [{ name: a, on: prompt.submit, run: {} }]
        1:44: hooks[0].run: does nothing, write one of text, file, command, worker, http, edits, model_context, claude_code and knowledge
    hooks: [{ name: a, on: prompt.submit, run: { text: x, file: y } }]
        1:44: hooks[0].run: more than one runner, write one of text, file, command, worker, http, edits, model_context, claude_code and knowledge
    hooks: [{ name: a, on: prompt.submit, run: { text: x, cwd: . } }]
        1:44: hooks[0].run: cwd, env and env_pass belong to a command or worker, leave them out
    hooks: [{ name: a, on: session.stopping, run: { text: x } }]
        1:24: hooks[0].on: a text can't decide on session.stopping, write a command, worker or http
    hooks: [{ name: a, on: [prompt.submit, session.stopping], run: { file: /etc/passwd } }]
        1:24: hooks[0].on: a text can't decide on session.stopping, write a command, worker or http
    hooks: [{ name: a, on: prompt.submit, run: { command: sh } }]
        1:55: hooks[0].run.command: a single value where a list belongs, write a list such as [a, b]
    hooks: [{ name: a, on: prompt.submit, run: { command: [] } }]
        1:55: hooks[0].run.command: no program, write a list such as [./hook.sh, --option]
    hooks: [{ name: a, run: { model_context: {} } }]
        1:42: hooks[0].run.model_context: no model is meant, write families or default
    hooks: [{ name: a, on: prompt.submit, run: { model_context: { default: { system: x, system_file: y } } } }]
        1:24: hooks[0].on: model_context does not run on prompt.submit, leave `on` out
        1:98: hooks[0].run.model_context.default.system_file: written beside system, keep one of them
    hooks: [{ name: a, run: { model_context: { families: { gtp: { system: x } }, default: { match: 'm' } } } }]
        1:61: hooks[0].run.model_context.families.gtp: `gtp` is no family of models (claude, gpt, gemini, qwen, llama, mistral, deepseek, grok, other), write match
        1:87: hooks[0].run.model_context.default: the default is for every other model, leave match out
    hooks: [{ name: a, on: prompt.submit, run: { worker: [sh], workers: 0 } }]
        1:69: hooks[0].run.workers: write a number from 1 to 64
    hooks: [{ name: a, on: prompt.submit, run: { command: [sh], workers: 2 } }]
        1:70: hooks[0].run.workers: belongs to a worker, leave it out
    hooks: [{ name: a, on: prompt.submit, run: { command: [sh], worker: [sh] } }]
        1:44: hooks[0].run: more than one runner, write one of text, file, command, worker, http, edits, model_context, claude_code and knowledge
    hooks: [{ name: a, on: prompt.submit, run: { http: { url: 'h:1' } } }]
        1:59: hooks[0].run.http.url: not valid here, write an http or https URL without credentials such as http://127.0.0.1:9000/hook
    hooks: [{ name: a, on: prompt.submit, run: { text: x }, when: 'a &&' }]
        1:63: hooks[0].when: not a condition: Syntax error: mismatched input '<EOF>' at its line 1 column 5
    hooks: [{ name: a, on: prompt.submit, run: { text: x }, when: 'event = event' }]
        1:63: hooks[0].when: not a condition: Syntax error: token recognition error at: '= ' at its line 1 column 7; equal is written ==
    hooks: [{ name: a, on: model.context, run: { edits: [{ op: system.apend, text: x }] } }]
        1:54: hooks[0].run.edits[0]: unknown operation, did you mean `system.append`?
    hooks: [{ name: a, on: prompt.submit, run: { text: x }, timeout: 5 }]
        1:66: hooks[0].timeout: not valid here, write a duration such as 500ms, 5s, 10m or 30d
    hooks: [{ name: a, on: prompt.submit, run: { text: x }, on_error: ignore }]
        1:67: hooks[0].on_error: unknown value, write one of skip, block
    hooks: [{ name: a, on: prompt.submit, run: { text: x }, include: [turn] }]
        1:67: hooks[0].include[0]: unknown value, write one of request
    hooks:
    - { name: a, on: prompt.submit, run: { text: x } }
    - { name: a, on: session.stop, run: { text: x } }
        3:11: hooks[1].name: `a` is already the name in line 2, write another
    ");
}

#[test]
fn a_missing_script_or_file_is_a_warning_and_the_configuration_usable() {
    let text = "hooks:
- { name: a, on: prompt.submit, run: { command: [./does-not-exist-here.sh] } }
- { name: b, on: prompt.submit, run: { command: [no-such-program-anywhere] } }
- { name: c, on: prompt.submit, run: { file: NOTES.md } }
- { name: d, on: prompt.submit, run: { command: [sh], cwd: gone } }
";
    assert_eq!(config(text).hooks.len(), 4);
    insta::assert_snapshot!(problems(text), @r"
    2:49: hooks[0].run.command: no such file /nowhere/does-not-exist-here.sh, create it or write another path
    3:49: hooks[1].run.command: no `no-such-program-anywhere` in PATH, install it or write a path such as ./no-such-program-anywhere
    4:46: hooks[2].run.file: no such file /nowhere/NOTES.md, create it or write another path
    5:60: hooks[3].run.cwd: no such folder /nowhere/gone, create it or write another path
    ");
}

#[test]
fn a_script_that_is_not_executable_is_a_warning_until_it_is() {
    use std::os::unix::fs::PermissionsExt as _;
    let folder = tempfile::tempdir().unwrap();
    let script = folder.path().join("hook.sh");
    std::fs::write(&script, "#!/bin/sh\n").unwrap();
    let warnings = |mode| {
        std::fs::set_permissions(&script, std::fs::Permissions::from_mode(mode)).unwrap();
        let text = "hooks: [{ name: a, on: prompt.submit, run: { command: [./hook.sh] } }]";
        parse(text, Source::File(folder.path().join("hookgate.yaml")), &env).unwrap().warnings.list
    };
    let what: Vec<_> = warnings(0o644).into_iter().map(|problem| problem.what).collect();
    assert_eq!(what, [format!("not executable, run `chmod +x {}`", script.display())]);
    assert_eq!(warnings(0o755), []);
}

#[test]
fn what_only_one_user_may_have_is_refused_where_others_connect() {
    insta::assert_snapshot!(table(&[
        "{ listen: '0.0.0.0:1', sessions: { isolation: none } }",
        "{ listen: '0.0.0.0:1', upstreams: [{ name: a, dialect: openai, base_url: 'http://h', api_key: k }] }",
        "{ listen: '127.0.0.1:1', sessions: { isolation: none } }",
        "{ listen: '[::1]:1', sessions: { isolation: none } }",
    ]), @r"
    { listen: '0.0.0.0:1', sessions: { isolation: none } }
        1:47: sessions.isolation: none needs a loopback listener, write `isolation: credential` or listen on 127.0.0.1
    { listen: '0.0.0.0:1', upstreams: [{ name: a, dialect: openai, base_url: 'http://h', api_key: k }] }
        1:95: upstreams[0].api_key: would be lent to everyone who can connect, give clients `keys` or listen on 127.0.0.1
    { listen: '127.0.0.1:1', sessions: { isolation: none } }
        ok
    { listen: '[::1]:1', sessions: { isolation: none } }
        ok
    ");
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
    insta::assert_snapshot!(read(text).unwrap_err(), @r"
    /nowhere/hookgate.yaml:1:9: listen: not valid here, write an address and a port such as 127.0.0.1:8787, or unix:/path
    /nowhere/hookgate.yaml:2:1: limts: unknown key, did you mean `limits`?
    /nowhere/hookgate.yaml:4:14: sessions.isolation: unknown value, write one of credential, none
    /nowhere/hookgate.yaml:5:13: sessions.idle_end: not valid here, write a duration such as 500ms, 5s, 10m or 30d
    /nowhere/hookgate.yaml:8:25: hooks[0].on[1]: unknown event, did you mean `prompt.submit`?
    /nowhere/hookgate.yaml:10:14: hooks[0].timeout: not valid here, write a duration such as 500ms, 5s, 10m or 30d
    /nowhere/hookgate.yaml:11:50: hooks[1].run.command: no such file /nowhere/gone.sh, create it or write another path
    /nowhere/hookgate.yaml:12:13: hooks[2].name: `a` is already the name in line 7, write another
    ");
}

#[test]
fn broken_yaml_says_where() {
    insta::assert_snapshot!(table(&["a: [1, 2", "a: b: c", "listen: x\nlisten: y", "\ta: 1", "- a", "just text", "[a]: 1"]), @r"
    a: [1, 2
        2:1: not YAML: while parsing a flow sequence, expected ',' or ']'
    a: b: c
        1:5: not YAML: mapping values are not allowed in this context
    listen: x
    listen: y
        1:9: listen: not valid here, write an address and a port such as 127.0.0.1:8787, or unix:/path
        2:1: listen: written twice, keep one of them
    	a: 1
        1:2: a: unknown key, did you mean `audit`?
    - a
        1:1: a list where a map belongs, write `key: value` lines
    just text
        1:1: a single value where a map belongs, write `key: value` lines
    [a]: 1
        1:1: a list as a key, write a text and a colon
    ");
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
    insta::assert_debug_snapshot!(names, @r#"
    [
        (
            "corp",
            "https://corp/",
        ),
        (
            "openai",
            "https://o/",
        ),
        (
            "anthropic",
            "https://api.anthropic.com/",
        ),
        (
            "gemini",
            "https://generativelanguage.googleapis.com/",
        ),
    ]
    "#);
}

#[test]
fn a_file_that_is_named_must_exist() {
    let error = load(Some(Path::new("/nowhere/at-all.yaml")), &env).unwrap_err();
    insta::assert_snapshot!(error, @"/nowhere/at-all.yaml:1:1: cannot be read: No such file or directory (os error 2)");
}

#[test]
fn the_schema_has_types_defaults_and_documentation() {
    let schema = schema();
    insta::assert_json_snapshot!(schema["properties"]["injection"], @r#"
    {
      "type": "object",
      "description": "Where hooks' text goes.",
      "properties": {
        "layout": {
          "enum": [
            "auto",
            "system",
            "stable"
          ],
          "description": "system: rebuilt for every turn; stable: append-only, keeps prompt caches; auto: decided per conversation.",
          "default": "auto"
        },
        "retain": {
          "enum": [
            "auto",
            "turn",
            "history"
          ],
          "description": "Ephemeral text in layout stable: gone with its turn, or kept in the history.",
          "default": "auto"
        },
        "wrap": {
          "type": "boolean",
          "description": "Whether each text stands in an attributed wrapper that its content cannot close.",
          "default": true
        }
      },
      "additionalProperties": false
    }
    "#);
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

#[test]
fn what_a_running_gateway_can_not_change_is_refused_by_name() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("hookgate.yaml");
    let source = Source::File(file.clone());
    let running = parse("store: { path: a }", source.clone(), &env).unwrap().config;
    let problems = |text: &str| {
        std::fs::write(&file, text).unwrap();
        let refused = reload(&source, &env, &running).map(|_| "ok".to_owned());
        let said = refused.unwrap_or_else(|unusable| unusable.problems.to_string());
        said.replace(&folder.path().display().to_string(), "")
    };
    let listing: String = [
        "store: { path: ./a }\nmodels: { aliases: { a: b } }",
        "listen: 127.0.0.1:1\nadmin:\n  listen: 127.0.0.1:2\nstore: { path: b }",
        "store:\n  kind: memory",
        "{}",
        "listen: nowhere\nstore: { path: a }",
        "store: { path: a",
        "# nothing",
    ]
    .map(|text| format!("{text}\n    {}\n", problems(text).replace('\n', "\n    ")))
    .concat();
    insta::assert_snapshot!(listing, @r"
    store: { path: ./a }
    models: { aliases: { a: b } }
        ok
    listen: 127.0.0.1:1
    admin:
      listen: 127.0.0.1:2
    store: { path: b }
        /hookgate.yaml:1:9: listen: can't change while the gateway runs, restart the gateway or write 127.0.0.1:8787
        /hookgate.yaml:3:11: admin.listen: can't change while the gateway runs, restart the gateway or write 127.0.0.1:8788
        /hookgate.yaml:4:16: store.path: can't change while the gateway runs, restart the gateway or write /a
    store:
      kind: memory
        /hookgate.yaml:2:9: store.kind: can't change while the gateway runs, restart the gateway or write sled
    {}
        /hookgate.yaml:1:1: store.path: can't change while the gateway runs, restart the gateway or write /a
    listen: nowhere
    store: { path: a }
        /hookgate.yaml:1:9: listen: not valid here, write an address and a port such as 127.0.0.1:8787, or unix:/path
    store: { path: a
        /hookgate.yaml:2:1: not YAML: while parsing a flow mapping, did not find expected ',' or '}'
    # nothing
        /hookgate.yaml:1:1: store.path: can't change while the gateway runs, restart the gateway or write /a
    ");
}

#[test]
fn a_reload_remembers_every_file_that_it_read() {
    let folder = tempfile::tempdir().unwrap();
    let [file, profile] = ["hookgate.yaml", "mine.yaml"].map(|name| folder.path().join(name));
    let source = Source::File(file.clone());
    std::fs::write(&file, "profiles: [mine.yaml]").unwrap();
    std::fs::write(&profile, "name: [").unwrap();
    let unusable = reload(&source, &env, &Config::default()).unwrap_err();
    assert_eq!(unusable.files.paths().collect::<Vec<_>>(), [&file, &profile]);
    std::fs::write(&file, " \n").unwrap();
    let unusable = reload(&source, &env, &Config::default()).unwrap_err();
    assert!(unusable.problems.to_string().contains("hookgate.yaml:1:1: is empty"), "{}", unusable.problems);
    std::fs::remove_file(&file).unwrap();
    let unusable = reload(&source, &env, &Config::default()).unwrap_err();
    assert!(unusable.problems.to_string().contains("hookgate.yaml:1:1: cannot be read"), "{}", unusable.problems);
    let made = reload(&Source::Program, &env, &Config::default()).unwrap_err();
    assert_eq!(made.files, Files::default());
}
