//! Where instructions go: forms of `system` (B12), blocks that a client needs first (B11), signed reasoning (B13), and one
//! system message at the front (B35).
use crate::speech::{Item, Speech, every_form};
use crate::stage::{Play, Stage, session};
use serde_json::{Value, json};

const STABLE: &str = "injection: { layout: stable }";
const SYSTEM: &str = "injection: { layout: system }";

async fn anthropic_up(stage: &Stage, headers: &str, body: &str) -> Value {
    let answer = stage.post("/v1/messages?beta=true", headers, body).await;
    assert_eq!(answer.status(), 200, "{}", answer.text());
    stage.last_body()
}

#[tokio::test]
async fn b12_text_is_added_in_the_type_that_the_client_used() {
    for settings in [STABLE, SYSTEM] {
        let stage = Stage::set(settings).await;
        let forms = [
            ("\"system\":\"S\",", Some("string")),
            ("", None),
            ("\"system\":null,", None),
            ("\"system\":[],", Some("array")),
            ("\"system\":\"\",", Some("string")),
            (
                "\"system\":[{\"type\":\"text\",\"text\":\"A\"},{\"type\":\"text\",\"text\":\"B\",\"cache_control\":{\"type\":\"ephemeral\"}}],",
                Some("array"),
            ),
        ];
        for (n, (system, kind)) in forms.into_iter().enumerate() {
            let body =
                format!(r#"{{"model":"m","max_tokens":9,{system}"messages":[{{"role":"user","content":"x"}}]}}"#);
            let up = anthropic_up(&stage, &session(&format!("form-{n}")), &body).await;
            let system = &up["system"];
            assert!(system.to_string().contains("SYS"), "{settings} {body} {up}");
            match kind {
                Some("string") => assert!(system.is_string(), "{up}"),
                Some(_) => assert!(system.is_array(), "{up}"),
                None => {}
            }
            let blocks = Speech::Anthropic.seen(&up).system;
            assert!(blocks.iter().all(|text| !text.trim().is_empty()), "{up}");
            if n == 5 {
                let kept: Vec<&Value> =
                    system.as_array().unwrap().iter().filter(|b| b["text"] == "A" || b["text"] == "B").collect();
                assert_eq!(
                    kept,
                    [
                        &json!({"type": "text", "text": "A"}),
                        &json!({"type": "text", "text": "B", "cache_control": {"type": "ephemeral"}})
                    ]
                );
            }
        }
    }
}

#[tokio::test]
async fn b12_blank_outputs_leave_the_body_as_it_is() {
    let blank = ["", "  \n", "{\"context\": \"\"}", "{\"context\": [\" \", \"\"]}", "{}"];
    for (speech, stream) in every_form() {
        for (n, output) in blank.into_iter().enumerate() {
            let hooks = format!(
                "\nhooks:\n  - {{ name: blank, on: [session.start, prompt.submit], run: {{ command: [printf, '%s', {}] }} }}\n",
                json!(output)
            );
            let stage = Stage::play(Play { hooks: Box::leak(hooks.into_boxed_str()), ..Play::default() }).await;
            let mut agent = stage.agent(speech, stream).headers(session(&format!("blank-{n}")));
            agent.history.push(Item::user("one"));
            agent.ask().await;
            assert_eq!(stage.provider.request().body, agent.body().into_bytes(), "{speech:?} {output:?}");
        }
    }
}

/// Taking out what was injected gives the client's bytes: numbers, order, escapes and white space stay.
#[tokio::test]
async fn b09_an_injection_changes_nothing_else() {
    let odd = [
        (
            Speech::Anthropic,
            r#"{"z":1.0,"temperature":0.70,"id":990000000262240065,"e":1e2, "model":"m","messages":[{"role":"user","content":"\u00e9 \/ café"}],"tools":[{"name":"t","input_schema":{"properties":{"b":{},"a":{}},"type":"object"}}],"max_tokens":64,"future":{"k":[1,2.50]}}"#,
        ),
        (
            Speech::Chat,
            r#"{"z":1.0, "id":990000000262240065,"messages":[ {"content":"\u00e9 \/ café","role":"user"} ],"model":"m","future":{"k":[1,2.50]}}"#,
        ),
        (
            Speech::Responses,
            r#"{"z":1.0, "input":"\u00e9 \/ café","model":"m","id":990000000262240065,"future":{"k":[1,2.50]}}"#,
        ),
        (
            Speech::Gemini,
            r#"{"z":1.0, "contents":[ {"parts":[{"text":"\u00e9 \/ café"}]} ],"generationConfig":{"temperature":0.70},"future":{"k":[1,2.50]}}"#,
        ),
    ];
    for (speech, body) in odd {
        for settings in [STABLE, SYSTEM] {
            let stage = Stage::set(settings).await;
            stage.post(speech.target(false), &session("s1"), body).await;
            let up = String::from_utf8(stage.provider.request().body).unwrap();
            assert!(up.contains("SYS") && up.contains("EPH"), "{up}");
            for kept in [r#""z":1.0,"#, "990000000262240065", r"\u00e9 \/ café", "[1,2.50]"] {
                assert!(kept == "990000000262240065" && !body.contains(kept) || up.contains(kept), "{kept} {up}");
            }
            assert!(is_subsequence(body.as_bytes(), up.as_bytes()), "{up}");
        }
    }
}

fn is_subsequence(part: &[u8], whole: &[u8]) -> bool {
    let mut rest = whole.iter();
    part.iter().all(|byte| rest.any(|other| other == byte))
}

const CLAUDE_SYSTEM: &str = r#"[{"type":"text","text":"x-anthropic-billing-header: cc_version=9; cch=ab;"},{"type":"text","text":"You are Claude Code, Anthropic's official CLI for Claude."},{"type":"text","text":"rules","cache_control":{"type":"ephemeral"}}]"#;

fn claude_body(messages: &str) -> String {
    format!(
        r#"{{"model":"m","max_tokens":99,"messages":{messages},"system":{CLAUDE_SYSTEM},"tools":[{{"name":"t","input_schema":{{"type":"object"}}}}]}}"#
    )
}

const FIRST: &str = r#"[{"role":"user","content":[{"type":"text","text":"<system-reminder>r</system-reminder>"},{"type":"text","text":"hello","cache_control":{"type":"ephemeral"}}]}]"#;

#[tokio::test]
async fn b11_attribution_and_identity_stay_first_and_untouched() {
    for settings in [STABLE, SYSTEM] {
        for client in ["x-claude-code-session-id: c1\r\n", "x-session-id: c1\r\n"] {
            let stage = Stage::set(settings).await;
            let headers = format!("{client}x-api-key: sk-ant-api03-x\r\n");
            let up = anthropic_up(&stage, &headers, &claude_body(FIRST)).await;
            let blocks = up["system"].as_array().unwrap();
            let original: Vec<Value> = serde_json::from_str(CLAUDE_SYSTEM).unwrap();
            assert!(blocks.len() > original.len(), "{up}");
            assert_eq!(blocks[..2], original[..2]);
            assert!(blocks.contains(&original[2]));
            assert!(up["system"].to_string().contains("SYS"));
            let raw = String::from_utf8(stage.provider.request().body).unwrap();
            assert!(raw.contains(r#"[{"type":"text","text":"x-anthropic-billing-header: cc_version=9; cch=ab;"},{"type":"text","text":"You are Claude Code, Anthropic's official CLI for Claude."}"#));
            assert_eq!(up["messages"][0]["content"][0]["text"], "<system-reminder>r</system-reminder>");
            assert_eq!(stage.events("prompt.submit")[0]["prompt"]["text"], "hello");
        }
    }
}

#[tokio::test]
async fn b11_with_an_oauth_token_the_first_user_message_takes_it() {
    for settings in [STABLE, SYSTEM] {
        for client in ["x-claude-code-session-id: c1\r\n", "x-session-id: c1\r\n"] {
            let stage = Stage::set(settings).await;
            let headers = format!("{client}authorization: Bearer sk-ant-oat01-XXXX\r\n");
            for round in 0..2 {
                let later = r#"{"role":"assistant","content":[{"type":"text","text":"ANSWER0"}]},{"role":"user","content":"more"}"#;
                let messages = match round {
                    0 => FIRST.to_owned(),
                    _ => format!("{},{later}]", FIRST.trim_end_matches(']')),
                };
                let up = anthropic_up(&stage, &headers, &claude_body(&messages)).await;
                let original: Value = serde_json::from_str(CLAUDE_SYSTEM).unwrap();
                assert_eq!(up["system"], original, "{settings}");
                let first = up["messages"][0].to_string();
                assert!(first.contains("SYS"), "{settings} {up}");
                assert_eq!(up.to_string().matches("SYS").count(), 1);
                stage.wait_events("session.stop", round + 1).await;
            }
        }
    }
}

/// A policy on Claude Code's system prompt.
fn policy(edits: &str) -> Play {
    let yaml = format!("hooks:\n  - {{ name: policy, on: model.context, run: {{ edits: {edits} }} }}\n");
    Play { hooks: yaml.leak(), ..Play::default() }
}

const ADDED: &str = "[{ op: system.prepend, text: FRONT }, { op: system.append, text: END }]";

#[tokio::test]
async fn b11_policies_keep_attribution_and_identity_first_and_untouched() {
    let original: Vec<Value> = serde_json::from_str(CLAUDE_SYSTEM).unwrap();
    for (edits, texts) in [
        (ADDED, vec!["FRONT", "rules", "END"]),
        ("[{ op: system.replace, text: OTHER }]", vec!["OTHER"]),
        ("[{ op: system.replace, match: '(?s).*', text: OTHER }]", vec!["OTHER"]),
    ] {
        let stage = Stage::play(policy(edits)).await;
        let headers = "x-claude-code-session-id: c1\r\nx-api-key: sk-ant-api03-x\r\n";
        let up = anthropic_up(&stage, headers, &claude_body(FIRST)).await;
        let blocks = up["system"].as_array().unwrap();
        assert_eq!(blocks[..2], original[..2], "{edits}");
        let behind: Vec<&str> = blocks[2..].iter().map(|block| block["text"].as_str().unwrap()).collect();
        assert_eq!(behind, texts, "{edits}");
    }
}

#[tokio::test]
async fn b11_with_an_oauth_token_policies_leave_the_system_array_alone() {
    let original: Value = serde_json::from_str(CLAUDE_SYSTEM).unwrap();
    let headers = "x-claude-code-session-id: c1\r\nauthorization: Bearer sk-ant-oat01-XXXX\r\n";
    let later = r#"{"role":"assistant","content":[{"type":"text","text":"ANSWER0"}]},{"role":"user","content":"more"}"#;
    let stage = Stage::play(policy(ADDED)).await;
    let mut first = Vec::new();
    for messages in [FIRST.to_owned(), format!("{},{later}]", FIRST.trim_end_matches(']'))] {
        let up = anthropic_up(&stage, headers, &claude_body(&messages)).await;
        assert_eq!(up["system"], original);
        assert_eq!(up.to_string().matches("FRONT").count(), 1);
        first.push(up["messages"][0].clone());
    }
    assert_eq!(first[0], first[1], "what the model saw stays");
    let said = first[0].to_string();
    assert!(said.find("hello").unwrap() < said.find("FRONT").unwrap() && said.contains("END"), "{said}");

    let stage = Stage::play(policy("[{ op: system.replace, text: OTHER }]")).await;
    let up = anthropic_up(&stage, headers, &claude_body(FIRST)).await;
    assert_eq!((&up["system"], up.to_string().contains("OTHER")), (&original, false));
}

#[tokio::test]
async fn b13_signed_reasoning_and_assistant_messages_stay_as_they_are() {
    let thinking = r#"{"role":"assistant","content":[{"type":"thinking","thinking":"","signature":"EqQB/+=="},{"type":"redacted_thinking","data":"zz"},{"type":"tool_use","id":"t1","name":"t","input":{"a" : 1.0}}]}"#;
    let reasoning =
        r#"{"type":"reasoning","id":"rs_1","summary":[],"encrypted_content":"gAAA+/==","future":{"k" : 1.50}}"#;
    let gemini = r#"{"role":"model","parts":[{"functionCall":{"id":"t1","name":"t","args":{"a" : 1.0}},"thoughtSignature":"c2ln+/=="}]}"#;
    let bodies = [
        (
            Speech::Anthropic,
            thinking,
            format!(
                r#"{{"model":"m","max_tokens":99,"system":"S","thinking":{{"type":"enabled","budget_tokens":9}},"messages":[{{"role":"user","content":"go"}},{thinking},{{"role":"user","content":[{{"type":"tool_result","tool_use_id":"t1","content":"r"}}]}}]}}"#
            ),
        ),
        (
            Speech::Responses,
            reasoning,
            format!(
                r#"{{"model":"m","instructions":"S","input":[{{"role":"user","content":"go"}},{reasoning},{{"type":"function_call","call_id":"t1","name":"t","arguments":"{{}}"}},{{"type":"function_call_output","call_id":"t1","output":"r"}}]}}"#
            ),
        ),
        (
            Speech::Gemini,
            gemini,
            format!(
                r#"{{"contents":[{{"role":"user","parts":[{{"text":"go"}}]}},{gemini},{{"role":"user","parts":[{{"functionResponse":{{"id":"t1","name":"t","response":{{}}}}}}]}}]}}"#
            ),
        ),
    ];
    for (speech, signed, body) in bodies {
        let stage = Stage::set("lifecycle: { max_injected_context_chars: 5 }").await;
        stage.post(speech.target(false), &session("s1"), &body).await;
        let up = String::from_utf8(stage.provider.request().body).unwrap();
        assert!(up.contains(signed), "{speech:?} {up}");
        let parsed: Value = serde_json::from_str(&up).unwrap();
        let seen = speech.seen(&parsed);
        assert_eq!(
            seen.system,
            speech.seen(&serde_json::from_str(&body).unwrap()).system,
            "nothing goes before a signature"
        );
        let last = seen.items.last().unwrap().1.join("\n");
        assert!(
            up.matches("SYS").count() == 1 && (last.contains("SYS") || speech == Speech::Gemini),
            "{speech:?} {up}"
        );
        assert_eq!(seen.items.len(), speech.seen(&serde_json::from_str(&body).unwrap()).items.len());
    }
}

#[tokio::test]
async fn b35_one_system_message_stands_at_the_front() {
    for settings in [STABLE, SYSTEM] {
        for lead in [r#"{"role":"system","content":"L"},"#, r#"{"role":"developer","content":"L"},"#, ""] {
            let stage = Stage::set(settings).await;
            let body = format!(r#"{{"model":"m","messages":[{lead}{{"role":"user","content":"one"}}]}}"#);
            stage.post("/v1/chat/completions", &session("s1"), &body).await;
            let up = stage.last_body();
            let roles: Vec<&str> =
                up["messages"].as_array().unwrap().iter().map(|m| m["role"].as_str().unwrap()).collect();
            let first = if lead.contains("developer") { "developer" } else { "system" };
            assert_eq!(roles, [first, "user"], "{settings} {up}");
            assert!(up["messages"][0].to_string().contains("SYS"), "{up}");
            if settings == STABLE {
                assert!(up["messages"][1].to_string().contains("EPH(one)"), "{up}");
            }
        }
    }
}

#[tokio::test]
async fn b01_text_goes_behind_tool_results_and_is_no_message_of_its_own() {
    for (speech, stream) in every_form() {
        for settings in [STABLE, SYSTEM] {
            let stage = Stage::set(settings).await;
            let mut agent = stage.agent(speech, stream);
            agent.history = vec![
                Item::user("run ls"),
                Item::Model { text: String::new(), calls: vec!["t1".into()] },
                Item::result("t1", "a.txt"),
            ];
            agent.ask().await;
            let sent = speech.seen(&serde_json::from_str(&agent.body()).unwrap());
            let seen = speech.seen(&stage.last_body());
            assert_eq!(seen.roles(), sent.roles(), "{speech:?}");
            assert!(seen.items[2].1[0].starts_with("<result"), "{speech:?} {seen:?}");
        }
    }
}

/// The user speaks while a tool runs.
#[tokio::test]
async fn b01_a_message_in_the_middle_of_a_turn_stays_behind_the_results() {
    let bodies = [
        (
            Speech::Anthropic,
            r#"{"model":"m","max_tokens":9,"messages":[{"role":"user","content":"run ls"},{"role":"assistant","content":[{"type":"tool_use","id":"t1","name":"t","input":{}}]},{"role":"user","content":[{"type":"tool_result","tool_use_id":"t1","content":"a.txt"},{"type":"text","text":"use -la"}]}]}"#,
        ),
        (
            Speech::Chat,
            r#"{"model":"m","messages":[{"role":"user","content":"run ls"},{"role":"assistant","content":null,"tool_calls":[{"id":"t1","type":"function","function":{"name":"t","arguments":"{}"}}]},{"role":"tool","tool_call_id":"t1","content":"a.txt"},{"role":"user","content":"use -la"}]}"#,
        ),
        (
            Speech::Responses,
            r#"{"model":"m","input":[{"role":"user","content":"run ls"},{"type":"function_call","call_id":"t1","name":"t","arguments":"{}"},{"type":"function_call_output","call_id":"t1","output":"a.txt"},{"role":"user","content":"use -la"}]}"#,
        ),
        (
            Speech::Gemini,
            r#"{"contents":[{"role":"user","parts":[{"text":"run ls"}]},{"role":"model","parts":[{"functionCall":{"id":"t1","name":"t","args":{}}}]},{"role":"user","parts":[{"functionResponse":{"id":"t1","name":"t","response":{"o":1}}},{"text":"use -la"}]}]}"#,
        ),
    ];
    for (speech, body) in bodies {
        for settings in [STABLE, SYSTEM] {
            let stage = Stage::set(settings).await;
            let first = speech.body(&[Item::user("run ls")], false, &["look"]).to_string();
            stage.post(speech.target(false), &session("s1"), &first).await;
            stage.post(speech.target(false), &session("s1"), body).await;
            let up = stage.last_body();
            let (sent, seen) = (speech.seen(&serde_json::from_str(body).unwrap()), speech.seen(&up));
            assert_eq!(sent.roles(), seen.roles(), "{speech:?} {up}");
            assert_eq!(up.to_string().matches("use -la").count() - up.to_string().matches("EPH(use -la)").count(), 1);
            let result =
                seen.items.iter().position(|(_, texts)| texts.iter().any(|t| t.starts_with("<result"))).unwrap();
            assert!(seen.items[result].1[0].starts_with("<result"), "{speech:?} {up}");
        }
    }
}
