//! Requests that are no turn: counts (B20), the clients' own side requests (B21), compactions.
use crate::speech::{Item, Speech, Words};
use crate::stage::{Agent, Play, Stage, usual};
use crate::support::Client;
use crate::support::provider::answer;
use serde_json::{Value, json};

const CLAUDE: &str = "x-claude-code-session-id: c1\r\nx-api-key: k\r\nuser-agent: claude-cli/2.1.332\r\n";

#[tokio::test]
async fn b20_counting_is_none_of_the_hooks_business() {
    let mut stage = Stage::play(Play {
        says: Box::new(|_, n| match n % 2 {
            0 => answer("200 OK", "content-type: application/json\r\n", r#"{"input_tokens":11}"#),
            _ => answer("404 Not Found", "content-type: application/json\r\n", r#"{"type":"error"}"#),
        }),
        ..Play::default()
    })
    .await;
    let body = r#"{"model":"m","messages":[{"role":"user","content":"x"}]}"#;
    let gemini = r#"{"contents":[{"role":"user","parts":[{"text":"x"}]}]}"#;
    for (target, body) in [
        ("/v1/messages/count_tokens?beta=true", body),
        ("/v1/responses/input_tokens", r#"{"model":"m","input":"x"}"#),
        ("/v1beta/models/m:countTokens", gemini),
    ] {
        for (status, expected) in [(200, r#"{"input_tokens":11}"#), (404, r#"{"type":"error"}"#)] {
            let answer = stage.post(target, CLAUDE, body).await;
            assert_eq!((answer.status(), answer.text().as_str()), (status, expected), "{target}");
            assert_eq!(answer.head.get("x-hookgate-session"), None);
            assert_eq!(stage.provider.requests().pop().unwrap().body, body.as_bytes());
        }
    }
    stage.stop().await;
    assert_eq!(stage.runs(), [0; 5]);
}

/// A side request of a client: its dialect, its headers, its body.
fn side_requests() -> Vec<(&'static str, Speech, &'static str, Value)> {
    let chat = |system: &str, user: &str| json!({"model": "m", "stream": true, "messages": [{"role": "system", "content": system}, {"role": "user", "content": user}]});
    let claude = |system: &str, user: &str, max: u64| json!({"model": "claude-haiku-5-5", "max_tokens": max, "system": system, "messages": [{"role": "user", "content": user}]});
    let mut title = claude("You are Claude Code.", "hello", 512);
    title["output_config"] = json!({"format": {"type": "json_schema", "schema": {"type": "object"}}});
    let gemini = json!({"contents": [{"role": "user", "parts": [{"text": "rate"}]}],
        "generationConfig": {"responseMimeType": "application/json", "responseJsonSchema": {"type": "object"}}});
    let codex = json!({"model": "m", "stream": true, "input": [{"type": "message", "role": "user", "content": "hi"}]});
    vec![
        ("claude title by shape", Speech::Anthropic, CLAUDE, title),
        ("claude summary", Speech::Anthropic, CLAUDE, claude("Summarize this conversation in 5 words", "x", 32)),
        ("claude quota", Speech::Anthropic, CLAUDE, claude("", "quota", 1)),
        (
            "codex title",
            Speech::Responses,
            "session-id: c1\r\noriginator: codex_cli_rs\r\nx-codex-turn-metadata: {\"thread_source\":\"thread_title\"}\r\n",
            codex.clone(),
        ),
        (
            "codex prewarm",
            Speech::Responses,
            "session-id: c1\r\noriginator: codex_cli_rs\r\nx-codex-turn-metadata: {\"request_kind\":\"prewarm\"}\r\n",
            codex,
        ),
        (
            "opencode title",
            Speech::Chat,
            "x-session-id: ses_1\r\nx-session-affinity: ses_1\r\nuser-agent: opencode/1.18.33\r\n",
            chat("You are a title generator. You output ONLY a thread title.", "hello"),
        ),
        ("gemini router", Speech::Gemini, "user-agent: GeminiCLI/0.61.0/gemini-3 (linux)\r\n", gemini),
        (
            "qwen memory",
            Speech::Chat,
            "user-agent: QwenCode/0.24.4\r\n",
            chat("You are a memory extraction agent. Extract memories.", "hello"),
        ),
    ]
}

#[tokio::test]
async fn b21_side_requests_are_no_turns() {
    for (name, speech, headers, body) in side_requests() {
        let mut stage = Stage::usual().await;
        let body = body.to_string();
        let answer = stage.post(speech.target(body.contains("\"stream\":true")), headers, &body).await;
        assert_eq!(answer.status(), 200, "{name}");
        assert_eq!(stage.provider.request().body, body.as_bytes(), "{name}");
        stage.stop().await;
        assert_eq!(stage.runs(), [0; 5], "{name}");
    }
}

#[tokio::test]
async fn b21_probes_and_lists_pass_by() {
    let mut stage = Stage::play(Play { says: Box::new(|_, _| answer("200 OK", "", "")), ..Play::default() }).await;
    for (method, target) in [("HEAD", "/api/hello"), ("GET", "/v1/models"), ("GET", "/v1/files")] {
        Client::connect(stage.addr())
            .await
            .request(method, target, &format!("{CLAUDE}anthropic-version: 1\r\n"), "")
            .await;
    }
    stage.stop().await;
    assert_eq!(stage.runs(), [0; 5]);
}

/// A side request in the middle of a session leaves no trace in it.
#[tokio::test]
async fn b21_a_side_request_does_not_touch_the_turn_it_falls_into() {
    let stage = Stage::play(Play {
        says: Box::new(|r, n| {
            let words = if n == 0 { Words::call("looking ", "call_0") } else { Words::text("done") };
            Speech::of(r).answer(r, n, &words)
        }),
        ..Play::default()
    })
    .await;
    let mut agent = stage.agent(Speech::Anthropic, true).headers(CLAUDE);
    agent.prompt("one").await;
    let (_, _, headers, title) = side_requests().remove(0);
    stage.post("/v1/messages", headers, title.to_string()).await;
    agent.result("call_0", "found").await;
    let stop = stage.wait_events("session.stop", 1).await.remove(0);
    assert_eq!((&stop["turn"]["text"], &stop["session"]["turn"]), (&json!("looking done"), &json!(1)));
    assert_eq!(stage.runs()[..3], [1, 1, 1]);
    let bodies = stage.bodies();
    assert_eq!(bodies[2].to_string().matches("EPH(one)").count(), 1);
    assert_eq!(bodies[2]["system"], bodies[0]["system"]);
}

/// SYS1 at the first start, SYS2 at the next.
fn counted_starts() -> Play {
    let starts = std::sync::atomic::AtomicUsize::new(0);
    Play {
        answers: Box::new(move |event| {
            let answer = match event["event"] == "session.start" {
                true => {
                    json!({"context": format!("SYS{}", 1 + starts.fetch_add(1, std::sync::atomic::Ordering::Relaxed))})
                }
                false => usual(event),
            };
            (None, answer)
        }),
        settings: "injection: { layout: stable, retain: history }",
        ..Play::default()
    }
}

async fn two_turns(agent: &mut Agent<'_>) {
    for (n, prompt) in ["one", "two"].into_iter().enumerate() {
        agent.prompt(prompt).await;
        agent.stage.wait_events("session.stop", n + 1).await;
    }
}

#[tokio::test]
async fn a_compaction_of_claude_code_replays_and_the_next_request_begins_anew() {
    let stage = Stage::play(counted_starts()).await;
    let mut agent = stage.agent(Speech::Anthropic, true).headers(CLAUDE);
    two_turns(&mut agent).await;
    let mut compaction =
        Agent { history: agent.history.clone(), ..stage.agent(Speech::Anthropic, true).headers(CLAUDE) };
    let request =
        "CRITICAL: Respond with TEXT ONLY. Your task is to create a detailed summary of the conversation so far.";
    compaction.history.push(Item::user(request));
    compaction.ask().await;
    let up = stage.last_body();
    let (second, third) = (Speech::Anthropic.seen(&stage.bodies()[1]), Speech::Anthropic.seen(&up));
    assert_eq!(
        (&second.system, &second.items[..3]),
        (&third.system, &third.items[..3]),
        "what was placed stands again"
    );
    assert_eq!(third.items.last().unwrap().1, [request], "nothing new is placed");
    assert_eq!(stage.runs()[..3], [1, 2, 2]);

    let continued = "This session is being continued from a previous conversation that ran out of context. Summary: x";
    agent.history = vec![Item::user(continued)];
    agent.send().await;
    let up = stage.last_body().to_string();
    assert!(up.contains("SYS2") && !up.contains("SYS1") && !up.contains("EPH(one)"), "{up}");
    assert_eq!(stage.events("session.start")[1]["session"]["source"], "compact");
    agent.prompt("three").await;
    assert_eq!(stage.last_body().to_string().matches("SYS2").count(), 1);
    assert_eq!(stage.runs()[0], 2, "the continued history stays where it is");
}

fn codex(window: u32, kind: &str) -> String {
    format!(
        "session-id: c1\r\nthread-id: c1\r\noriginator: codex_cli_rs\r\nauthorization: Bearer k\r\n\
         x-codex-window-id: c1:{window}\r\nx-codex-turn-metadata: {{\"request_kind\":\"{kind}\"}}\r\n"
    )
}

#[tokio::test]
async fn a_compaction_of_codex_is_known_by_its_window() {
    let stage = Stage::play(counted_starts()).await;
    let mut agent = stage.agent(Speech::Responses, true).headers(codex(0, "turn"));
    two_turns(&mut agent).await;
    let mut compaction = Agent {
        history: agent.history.clone(),
        ..stage.agent(Speech::Responses, true).headers(codex(0, "compaction"))
    };
    compaction.history.push(Item::user("Write a handoff summary."));
    compaction.ask().await;
    assert_eq!(stage.runs()[..3], [1, 2, 2]);
    let up = stage.last_body().to_string();
    assert!(up.contains("SYS1") && up.contains("EPH(one)") && up.contains("EPH(two)"), "{up}");

    agent.headers = codex(1, "turn");
    agent.history = vec![Item::user("one"), Item::user("two"), Item::user("Summary: x"), Item::user("three")];
    agent.send().await;
    let up = stage.last_body().to_string();
    assert!(up.contains("SYS2") && !up.contains("SYS1"), "{up}");
    assert_eq!(stage.events("session.start")[1]["session"]["source"], "compact");
    agent.prompt("four").await;
    assert_eq!(stage.runs()[0], 2);
}

#[tokio::test]
async fn a_shorter_history_alone_is_no_compaction() {
    let stage = Stage::play(counted_starts()).await;
    let mut agent = stage.agent(Speech::Anthropic, true).headers(CLAUDE);
    two_turns(&mut agent).await;
    agent.history = vec![Item::user("something new")];
    agent.send().await;
    assert_eq!(stage.runs()[0], 1);
    assert!(stage.last_body().to_string().contains("SYS1"));
}

/// How each client's history begins behind a compaction.
#[tokio::test]
async fn compacted_histories_of_other_clients_begin_anew() {
    let openings = [
        (Speech::Chat, "x-session-id: ses_1\r\nuser-agent: opencode/1.18.33\r\n", "What did we do so far?"),
        (
            Speech::Gemini,
            "x-hookgate-session: g1\r\nuser-agent: GeminiCLI/0.61.0\r\n",
            "<state_snapshot>x</state_snapshot>",
        ),
        (
            Speech::Chat,
            "x-hookgate-session: q1\r\nuser-agent: QwenCode/0.24.4\r\n",
            "<state_snapshot>x</state_snapshot>",
        ),
    ];
    for (speech, headers, opening) in openings {
        let stage = Stage::play(counted_starts()).await;
        let mut agent = stage.agent(speech, true).headers(headers);
        two_turns(&mut agent).await;
        agent.history = vec![Item::user(opening), Item::model("ok"), Item::user("go on")];
        agent.send().await;
        let up = stage.last_body().to_string();
        assert!(up.contains("SYS2") && !up.contains("SYS1"), "{headers} {up}");
        let start = stage.events("session.start").remove(1);
        assert_eq!(start["session"]["source"], "compact", "{headers}");
        agent.prompt("more").await;
        assert_eq!(stage.runs()[0], 2, "{headers}");
    }
}

/// The provider compacts: an item of the history says so.
#[tokio::test]
async fn a_compaction_item_begins_anew_once() {
    let stage = Stage::play(counted_starts()).await;
    let headers = crate::stage::session("s1");
    let mut agent = stage.agent(Speech::Responses, true).headers(&headers);
    two_turns(&mut agent).await;
    let item = json!({"type": "compaction", "id": "cmp_1", "encrypted_content": "gAAA"});
    let three = json!({"type": "message", "role": "user", "content": "three"});
    let answer =
        json!({"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "ANSWER2"}]});
    let four = json!({"type": "message", "role": "user", "content": "four"});
    for input in [json!([item, three]), json!([item, three, answer, four])] {
        let body = json!({"model": "m", "instructions": "You are normal.", "input": input});
        stage.post("/v1/responses", &headers, body.to_string()).await;
        let up = stage.last_body();
        assert!(up.to_string().contains("SYS2") && !up.to_string().contains("SYS1"), "{up}");
        assert_eq!(up["input"][0], item);
    }
    assert_eq!(stage.runs()[0], 2);
}

/// Sub-agents by the headers of the clients themselves.
#[tokio::test]
async fn clients_name_their_sub_agents() {
    let claude = format!("{CLAUDE}x-claude-code-agent-id: a1\r\n");
    let codex_sub = "session-id: c1\r\nthread-id: t2\r\noriginator: codex_cli_rs\r\nx-codex-parent-thread-id: c1\r\n";
    for (speech, headers, agent, parent) in [
        (Speech::Anthropic, CLAUDE.to_owned(), "main", Value::Null),
        (Speech::Anthropic, claude, "a1", Value::Null),
        (Speech::Responses, codex(0, "turn"), "main", Value::Null),
        (Speech::Responses, codex_sub.to_owned(), "t2", json!("main")),
    ] {
        let stage = Stage::usual().await;
        stage.agent(speech, true).headers(headers).prompt("one").await;
        let event = stage.events("session.start").remove(0);
        assert_eq!(
            (&event["session"]["id"], &event["session"]["agent"], &event["session"]["parent"]),
            (&json!("c1"), &json!(agent), &parent)
        );
    }
}
