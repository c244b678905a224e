//! What a hook refused reaches the provider neither at once nor as part of a later request's history.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test fails by a panic")]

mod support;

use hookgate::app::Running;
use hookgate::config::{Source, parse};
use hookgate::context::AnswerForm;
use hookgate::dialect::{self, DialectId, Reply};
use serde_json::{Value, json};
use support::provider::answer;
use support::{Client, Provider, Recorded};

const REFUSED: &str = "the-refused-words";

fn target(dialect: DialectId) -> &'static str {
    match dialect {
        DialectId::Anthropic => "/v1/messages",
        DialectId::Chat => "/v1/chat/completions",
        DialectId::Responses => "/v1/responses",
        DialectId::Gemini => "/v1beta/models/m:generateContent",
    }
}

/// A request; the texts are the user's and the model's in turn.
fn body(dialect: DialectId, history: &[String]) -> String {
    let model = if dialect == DialectId::Gemini { "model" } else { "assistant" };
    let roles = ["user", model].into_iter().cycle();
    let messages: Vec<Value> = match dialect {
        DialectId::Gemini => roles.zip(history).map(|(r, t)| json!({"role": r, "parts": [{"text": t}]})).collect(),
        _ => roles.zip(history).map(|(r, t)| json!({"role": r, "content": t})).collect(),
    };
    match dialect {
        DialectId::Anthropic => json!({"model": "m", "max_tokens": 9, "messages": messages}),
        DialectId::Chat => json!({"model": "m", "messages": messages}),
        DialectId::Responses => json!({"model": "m", "input": messages}),
        DialectId::Gemini => json!({"contents": messages}),
    }
    .to_string()
}

async fn scripted(dialect: DialectId) -> Provider {
    let reply = Reply { text: "said".into(), model: "m".into(), id: "r1".into(), created: 0 };
    let body = dialect::of(dialect).reply(&reply, AnswerForm::Json);
    Provider::always(answer("200 OK", "content-type: application/json\r\n", body)).await
}

async fn gateway(provider: &Provider, folder: &tempfile::TempDir, hook: &str) -> Running {
    let upstream = |name| format!("{{ name: {name}, dialect: {name}, base_url: 'http://{}' }}", provider.addr());
    let upstreams = ["anthropic", "openai", "gemini"].map(upstream).join(", ");
    let yaml = format!(
        "listen: 127.0.0.1:0\nadmin: {{ listen: 127.0.0.1:0 }}\nstore: {{ kind: memory }}\nupstreams: [{upstreams}]\n{hook}"
    );
    let file = folder.path().join("hookgate.yaml");
    let config = parse(&yaml, Source::File(file), &|_| None).unwrap_or_else(|problems| panic!("{problems}")).config;
    support::gateway_with(config).await
}

/// Says `text` at the end of `history`, which then holds it and the answer.
async fn say(gateway: &Running, dialect: DialectId, history: &mut Vec<String>, text: &str) {
    history.push(text.to_owned());
    let headers = "content-type: application/json\r\nx-hookgate-session: s1\r\n";
    let mut client = Client::connect(gateway.addr()).await;
    let got = client.request("POST", target(dialect), headers, body(dialect, history)).await;
    assert_eq!(got.status(), 200, "{}", got.text());
    let mut reader = dialect::of(dialect).reader(AnswerForm::Json);
    reader.body(&got.body);
    history.push(reader.finish().text);
}

fn text(request: &Recorded) -> String {
    String::from_utf8(request.body.clone()).unwrap()
}

/// Fails, and so refuses, until the file `open` is there.
const AT_START: &str = "
hooks:
  - { name: gate, on: session.start, on_error: block, run: { command: [test, -e, open] } }
";

const AT_PROMPT: &str = r#"
hooks:
  - name: gate
    on: prompt.submit
    when: prompt.text == "the-refused-words"
    run: { command: [echo, '{"block":{"reason":"The gate is shut."}}'] }
"#;

#[tokio::test]
async fn a_refused_prompt_is_left_out_of_later_requests() {
    for dialect in DialectId::ALL {
        for hook in [AT_START, AT_PROMPT] {
            let folder = tempfile::tempdir().unwrap();
            let provider = scripted(dialect).await;
            let gateway = gateway(&provider, &folder, hook).await;
            let mut history = vec![];
            say(&gateway, dialect, &mut history, REFUSED).await;
            assert!(history[1].contains("gate"), "{history:?}");
            assert!(provider.requests().is_empty());
            std::fs::write(folder.path().join("open"), "").unwrap();
            say(&gateway, dialect, &mut history, "more").await;
            let received = text(&provider.request());
            assert!(
                received.contains("more") && !received.contains(REFUSED) && !received.contains("shut"),
                "{received}"
            );
        }
    }
}

#[tokio::test]
async fn a_prompt_refused_at_the_start_may_be_asked_again() {
    for dialect in DialectId::ALL {
        let folder = tempfile::tempdir().unwrap();
        let provider = scripted(dialect).await;
        let gateway = gateway(&provider, &folder, AT_START).await;
        say(&gateway, dialect, &mut vec![], REFUSED).await;
        assert!(provider.requests().is_empty());
        std::fs::write(folder.path().join("open"), "").unwrap();
        let mut history = vec![];
        say(&gateway, dialect, &mut history, REFUSED).await;
        assert_eq!(history[1], "said");
        say(&gateway, dialect, &mut history, "more").await;
        let requests = provider.requests();
        assert!(text(&requests[1]).contains(REFUSED), "its answer is the model's now");
    }
}
