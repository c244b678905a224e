use super::*;

#[test]
fn endpoint_is_known_by_the_end_of_a_post_path() {
    let get = |method: &http::Method, path: &str| Chat.endpoint(method, path, None);
    for path in ["/chat/completions", "/v1/chat/completions", "/local/v1/chat/completions/"] {
        assert!(get(&http::Method::POST, path).is_some(), "{path}");
    }
    for path in ["/v1/chat/completions/x", "/v1/xchat/completions", "/v1/batches", "/v1/models"] {
        assert!(get(&http::Method::POST, path).is_none(), "{path}");
    }
    assert!(get(&http::Method::GET, "/v1/chat/completions").is_none());
    let azure = get(&http::Method::POST, "/openai/deployments/d1/chat/completions").unwrap();
    assert_eq!(azure.model.as_deref(), Some("d1"));
}

#[test]
fn view_reads_what_the_request_asks_for() {
    let view = CHAT.view(
        r#"{"model":"m\u002d1","stream":true,"max_completion_tokens":9,"max_tokens":5,"n":2,"reasoning_effort":"low",
        "response_format":{"type":"json_schema","json_schema":{}},"tools":[{"type":"function","function":{"name":"a"}}],
        "messages":[{"role":"developer","content":[{"type":"text","text":"one"},{"type":"text","text":"two"}]},
        {"role":"system","content":"three"},
        {"role":"user","content":[{"type":"text","text":"hi","prompt_cache_breakpoint":{"mode":"explicit"}}]}]}"#,
    );
    assert_eq!(view.model.as_deref(), Some("m-1"));
    assert_eq!((view.form, view.max_tokens, view.choices), (AnswerForm::Sse, Some(9), 2));
    assert!(view.asks_reasoning && view.structured && view.has_tools && view.system_open);
    assert_eq!((view.markers, view.system.len(), view.step), (1, 3, Step::Prompt { item: 2 }));
    assert!(view.is_first());
    let roles: Vec<_> = view.items.iter().map(crate::context::Item::role).collect();
    assert_eq!(roles, [Role::System, Role::System, Role::User]);
    assert!(view.items[0].facts.link.is_none());
}

#[test]
fn plain_request_asks_for_nothing_special() {
    let view = CHAT.view(
        r#"{"messages":[{"role":"user","content":"hi"}],"reasoning_effort":"none","n":null,
        "response_format":{"type":"text"},"tools":[]}"#,
    );
    assert!(!view.asks_reasoning && !view.structured && !view.has_tools);
    assert_eq!((view.model, view.form, view.max_tokens, view.choices), (None, AnswerForm::Json, None, 1));
}

#[test]
fn step_is_told_by_the_last_message_that_counts() {
    let call = r#"{"role":"assistant","content":null,"tool_calls":[{"id":"c","type":"function","function":{"name":"f","arguments":"{}"}}]}"#;
    let result = r#"{"role":"tool","tool_call_id":"c","content":"r"}"#;
    let user = r#"{"role":"user","content":"u"}"#;
    let reminder = r#"{"role":"user","content":"<reminder> date"}"#;
    let system = r#"{"role":"system","content":"s"}"#;
    let cases: [(&[&str], Step); 10] = [
        (&[], Step::Empty),
        (&[system], Step::Empty),
        (&[user], Step::Prompt { item: 0 }),
        (&[system, user, system], Step::Prompt { item: 1 }),
        (&[user, call, result], Step::Tool { item: 2 }),
        (&[user, call, result, reminder], Step::Tool { item: 2 }),
        (&[user, call, result, user], Step::Prompt { item: 3 }),
        (&[user, r#"{"role":"assistant","content":"a"}"#], Step::Resume),
        (&[user, r#"{"role":"assistant","content":"a"}"#, reminder], Step::Resume),
        (
            &[
                user,
                r#"{"role":"assistant","function_call":{"name":"f","arguments":"{}"}}"#,
                r#"{"role":"function","name":"f","content":"r"}"#,
            ],
            Step::Tool { item: 2 },
        ),
    ];
    for (messages, step) in cases {
        assert_eq!(CHAT.step(&body(&messages.join(","))), step, "{messages:?}");
    }
}

#[test]
fn neighbouring_assistant_messages_form_one_item() {
    let view = CHAT.view(&body(
        r#"{"role":"user","content":"u"},{"role":"assistant","content":"a "},{"role":"assistant","content":"b"},{"role":"user","content":"v"}"#,
    ));
    assert_eq!(view.items.len(), 3);
    assert_eq!(view.items[1].elements, 1..3);
    let merged = CHAT.view(&body(r#"{"role":"user","content":"u"},{"role":"assistant","content":"ab"}"#));
    assert_eq!(view.items[1].facts.link, merged.items[1].facts.link);
}

#[test]
fn duplicate_keys_are_refused_wherever_they_are_read() {
    let cases = [
        r#"{"role":"user","role":"system","content":"x"}"#,
        r#"{"role":"user","content":[{"type":"text","text":"a","te\u0078t":"b"}]}"#,
        r#"{"role":"assistant","tool_calls":[{"id":"a","id":"b","function":{"name":"f"}}]}"#,
        r#"{"role":"assistant","tool_calls":[{"id":"a","function":{"name":"f","name":"g"}}]}"#,
    ];
    for case in cases {
        let doc = doc(&body(case));
        // Twice with one cache: what was refused must not come back from it as known.
        let cache = MapCache::default();
        for _ in 0..2 {
            let error = CHAT.try_view(&doc, &cache).unwrap_err();
            assert!(matches!(error, ViewError::Scan(ScanError::DuplicateKey { .. })), "{case}: {error:?}");
        }
    }
}

#[test]
fn foreign_shapes_are_relayed() {
    for case in [r#"{"messages":"x"}"#, r#"{}"#, r#"{"messages":[1]}"#] {
        let error = CHAT.try_view(&doc(case), &NoCache).unwrap_err();
        assert_eq!(error, ViewError::Shape { member: "messages" }, "{case}");
    }
}

#[test]
fn cached_facts_are_the_same_as_fresh_ones() {
    let body = doc(&body(
        r#"{"role":"user","content":"u"},{"role":"assistant","content":"a"},{"role":"assistant","content":"b"}"#,
    ));
    let cache = MapCache::default();
    let facts = |cache: &dyn crate::dialect::FactsCache| -> Vec<ItemFacts> {
        CHAT.try_view(&body, cache).unwrap().items.iter().map(|i| (*i.facts).clone()).collect()
    };
    let fresh = facts(&NoCache);
    assert_eq!(facts(&cache), fresh);
    assert_eq!(facts(&cache), fresh);
}

#[test]
fn hooks_see_the_request_in_neutral_words() {
    let doc = doc(
        r#"{"messages":[{"role":"system","content":"S"},{"role":"user","content":[{"type":"text","text":"<reminder> d"},{"type":"text","text":"q1"},{"type":"text","text":"q2"}]},
        {"role":"assistant","content":"let me","tool_calls":[{"id":"c","type":"function","function":{"name":"f","arguments":"{\"a\":1}"}},{"id":"d","type":"function","function":{"name":"g","arguments":"{bad"}}]},
        {"role":"tool","tool_call_id":"c","content":"r"}],
        "tools":[{"type":"function","function":{"name":"f","description":"D","parameters":{"type":"object"}}},{"type":"custom","custom":{"name":"g"}}],
        "tool_choice":"auto","max_tokens":5,"temperature":0.5}"#,
    );
    let view = CHAT.try_view(&doc, &NoCache).unwrap();
    let reading = Reading { is_reminder: &|t| t.starts_with(testing::REMINDER), cache: &NoCache };
    assert_eq!(Chat.prompt_text(&doc, &view, 1, &reading), "q1\nq2");
    let (text, calls) = Chat.said(&doc, &view, 2);
    assert_eq!((text.as_str(), calls[0].input.get(), calls[1].input.get()), ("let me", r#"{"a":1}"#, "null"));
    let neutral = serde_json::to_value(Chat.neutral(&doc, &view)).unwrap();
    let expected = json!({
        "kind": "",
        "system": ["S"],
        "messages": [
            {"role": "user", "text": "<reminder> d\nq1\nq2", "tool_calls": [], "tool_results": []},
            {"role": "assistant", "text": "let me", "tool_calls": [
                {"id": "c", "name": "f", "input": {"a": 1}}, {"id": "d", "name": "g", "input": null},
            ], "tool_results": []},
            {"role": "tool", "text": "", "tool_calls": [], "tool_results": [{"id": "c", "text": "r", "is_error": false}]},
        ],
        "tools": [
            {"name": "f", "description": "D", "input_schema": {"type": "object"}},
            {"name": "g", "description": "", "input_schema": null},
        ],
        "tool_choice": "auto",
        "params": {"max_tokens": 5, "temperature": 0.5, "top_p": null, "stop": null, "reasoning_effort": null, "response_format": null},
    });
    assert_eq!(neutral, expected);
}
