use crate::config::{KeyHash, Loaded, Problems, Source, TenantLimits, parse};

fn env(name: &str) -> Option<String> {
    (name == "UP").then(|| "sk-up".to_owned())
}

fn hash(key: &str) -> String {
    KeyHash::of(key.as_bytes()).to_string()
}

fn read(text: &str) -> Result<Loaded, Problems> {
    parse(text, Source::File("/nowhere/hookgate.yaml".into()), &env)
}

fn problems(text: &str) -> Vec<String> {
    let problems = read(text).map_or_else(|problems| problems, |loaded| loaded.warnings);
    problems.lines().map(|line| line.replace("/nowhere/hookgate.yaml:", "")).collect()
}

#[test]
fn a_key_has_a_tenant_of_its_own_unless_it_names_one() {
    let text = format!(
        "keys:
  entries:
    - {{ name: a, hash: '{}', credentials: {{ openai: '${{UP}}' }} }}
    - {{ name: b, hash: '{}', tenant: team }}
  limits: {{ requests_per_minute: 5 }}
  tenants: {{ team: {{ concurrent_requests: 2 }} }}",
        hash("a"),
        hash("b")
    );
    let keys = read(&text).unwrap().config.keys;
    assert!(keys.required && keys.are_used());
    assert_eq!([&keys.entries[0].tenant, &keys.entries[1].tenant], ["a", "team"]);
    assert_eq!(keys.entries[0].credentials["openai"].0, "sk-up");
    let limits = |requests_per_minute, concurrent_requests| TenantLimits {
        requests_per_minute,
        concurrent_requests,
        tokens_per_minute: 0,
    };
    assert_eq!((keys.limits_of("a"), keys.limits_of("team")), (&limits(5, 0), &limits(0, 2)));
}

#[test]
fn what_is_wrong_with_a_key_is_said_where_it_stands() {
    let (a, b) = (hash("a"), hash("b"));
    let table = [
        (
            format!("keys: {{ entries: [{{ name: a, hash: '{a}' }}, {{ name: a, hash: '{b}' }}] }}"),
            "`a` is already the name in line 1, write another",
        ),
        (
            format!("keys: {{ entries: [{{ name: a, hash: '{a}' }}, {{ name: b, hash: '{a}' }}] }}"),
            "already the key in line 1, make one for each client",
        ),
        (
            "keys: { entries: [{ name: a, hash: hgk_123 }] }".into(),
            "not valid here, write a hash as `hookgate keys new` prints it: sha256: and 64 hex digits",
        ),
        (
            format!("keys: {{ entries: [{{ name: a, hash: '{a}', tenant: t_1 }}] }}"),
            "can't be a tenant, write letters, digits, dashes and dots; not `local`, and not t_ at its beginning",
        ),
        (
            format!("keys: {{ entries: [{{ name: a, hash: '{a}', credentials: {{ opnai: x }} }}] }}"),
            "unknown upstream, did you mean `openai`?",
        ),
        (
            format!(
                "keys: {{ entries: [{{ name: a, hash: '{a}', credentials: {{ openai: '${{UP:-}}${{NOT:-}}' }} }}] }}"
            ),
            "",
        ),
        (
            format!("keys: {{ entries: [{{ name: a, hash: '{a}', credentials: {{ openai: '${{NOT:-}}' }} }}] }}"),
            "empty, or not what a header can carry, write the provider's key",
        ),
        ("keys: { tenants: { team: {} } }".into(), "no key has the tenant `team`, give it to one or leave this out"),
        ("keys: { file: ./none.yaml }".into(), "/nowhere/none.yaml: No such file or directory (os error 2)"),
    ];
    for (text, what) in table {
        let problems = problems(&text);
        let said: Vec<_> = problems.iter().map(|line| line.splitn(4, ':').nth(3).unwrap_or_default().trim()).collect();
        assert_eq!(said, if what.is_empty() { vec![] } else { vec![what] }, "{text}");
    }
}

#[test]
fn keys_of_a_file_are_read_with_it_and_their_problems_name_it() {
    let folder = tempfile::tempdir().unwrap();
    let [config, keys] = ["hookgate.yaml", "keys.yaml"].map(|name| folder.path().join(name));
    std::fs::write(&config, "keys: { file: keys.yaml }").unwrap();
    let load = || crate::config::load(Some(&config), &env);

    std::fs::write(&keys, format!("- {{ name: a, hash: '{}', credentials: {{ gemini: '${{UP}}' }} }}", hash("a")))
        .unwrap();
    let loaded = load().unwrap();
    assert_eq!(loaded.config.keys.entries[0].credentials["gemini"].0, "sk-up");
    assert!(loaded.files.paths().any(|path| path == keys), "a change of it is a reload");

    std::fs::write(&keys, "- { name: a }").unwrap();
    let problems = load().unwrap_err().to_string();
    assert!(
        problems.contains("hookgate.yaml:1:15: keys.file: keys.yaml:1:3: [0].hash: missing, write a hash"),
        "{problems}"
    );

    std::fs::write(&keys, "").unwrap();
    let loaded = load().unwrap();
    assert!(loaded.config.keys.entries.is_empty() && loaded.config.keys.are_used(), "nobody comes in");
}

#[test]
fn with_keys_an_upstreams_key_may_be_lent_beyond_this_machine() {
    let text = |keys: &str| {
        format!(
            "{{ listen: '0.0.0.0:1', upstreams: [{{ name: a, dialect: openai, base_url: 'http://h', api_key: k }}], keys: {keys} }}"
        )
    };
    let entries = format!("entries: [{{ name: a, hash: '{}' }}]", hash("a"));
    assert_eq!(problems(&text(&format!("{{ {entries} }}"))), Vec::<String>::new());
    for keys in ["{}", &format!("{{ required: false, {entries} }}")] {
        assert!(problems(&text(keys))[0].ends_with("give clients `keys` or listen on 127.0.0.1"), "{keys}");
    }
}
