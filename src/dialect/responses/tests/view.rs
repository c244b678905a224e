use super::*;

#[test]
fn endpoint_is_known_by_the_end_of_a_post_path() {
    let operation = |path: &str| Responses.endpoint(&http::Method::POST, path, None).map(|e| e.operation);
    assert_eq!(operation("/v1/responses"), Some(Operation::Generate));
    assert_eq!(operation("/x/openai/v1/responses"), Some(Operation::Generate));
    assert_eq!(operation("/v1/responses/input_tokens"), Some(Operation::Count));
    for path in ["/v1/responses/compact", "/v1/responses/resp_1", "/v1/responses/resp_1/cancel", "/v1/batches"] {
        assert_eq!(operation(path), None, "{path}");
    }
    assert!(Responses.endpoint(&http::Method::GET, "/v1/responses", None).is_none());
}

#[test]
fn view_reads_what_the_request_asks_for() {
    let view = RESPONSES.view(
        r#"{"model":"m","stream":true,"max_output_tokens":9,"reasoning":{"effort":"low"},"text":{"format":{"type":"json_schema"}},
        "tools":[{"type":"web_search"}],"instructions":"I","previous_response_id":"resp_1",
        "input":[{"role":"user","content":[{"type":"input_text","text":"hi","prompt_cache_breakpoint":{"mode":"explicit"}}]}]}"#,
    );
    assert_eq!((view.form, view.max_tokens, view.choices), (AnswerForm::Sse, Some(9), 1));
    assert!(view.asks_reasoning && view.structured && view.has_tools && !view.is_first());
    assert_eq!((view.markers, view.system.len()), (1, 1));
    assert_eq!(view.delta, Some(Delta::PreviousResponse("resp_1".to_owned())));
    for conversation in [r#""conv_1""#, r#"{"id":"conv_1"}"#] {
        let view = RESPONSES.view(&format!(r#"{{"conversation":{conversation},"input":"x"}}"#));
        assert_eq!(view.delta, Some(Delta::Conversation("conv_1".to_owned())));
    }
}

#[test]
fn codex_opening_is_read_as_instructions_reminder_and_prompt() {
    let view = RESPONSES.view(&body(&[TOOLS, DEVELOPER, DEVELOPER, REMINDER, USER]));
    assert_eq!((view.system.len(), view.has_tools, view.step), (2, true, Step::Prompt { item: 4 }));
    assert!(view.is_first());
    assert!(view.items[3].facts.link.is_none() && view.items[3].facts.prompt.is_none());
    assert_eq!(view.items[3].role(), Role::User);
    assert!(!RESPONSES.view(&body(&[DEVELOPER, USER])).has_tools);
}

#[test]
fn step_is_told_by_what_follows_the_models_last_item() {
    let trigger = r#"{"type":"compaction_trigger"}"#;
    let approval = r#"{"type":"mcp_approval_response","approval_request_id":"m1","approve":true}"#;
    let request = r#"{"type":"mcp_approval_request","id":"m1","name":"x","arguments":"{}","server_label":"s"}"#;
    let agent = r#"{"type":"agent_message","author":"/root","content":[{"type":"encrypted_content","encrypted_content":"zz"}]}"#;
    let cases: [(&[&str], Step); 14] = [
        (&[], Step::Empty),
        (&[DEVELOPER, REMINDER], Step::Empty),
        (&[USER], Step::Prompt { item: 0 }),
        (&[USER, REMINDER], Step::Prompt { item: 0 }),
        (&[USER, trigger], Step::Prompt { item: 0 }),
        (&[USER, CALL, OUTPUT], Step::Tool { item: 2 }),
        (&[OUTPUT], Step::Tool { item: 0 }),
        (&[USER, CALL, OUTPUT, USER], Step::Tool { item: 2 }),
        (&[USER, CALL, USER, OUTPUT], Step::Tool { item: 3 }),
        (&[USER, request, approval], Step::Tool { item: 2 }),
        (&[USER, ANSWER], Step::Resume),
        (&[USER, ANSWER, REMINDER], Step::Resume),
        (&[USER, ANSWER, DEVELOPER, USER], Step::Prompt { item: 3 }),
        (&[DEVELOPER, REMINDER, agent], Step::Prompt { item: 2 }),
    ];
    for (items, step) in cases {
        assert_eq!(RESPONSES.step(&body(items)), step, "{items:?}");
    }
    assert_eq!(RESPONSES.step(r#"{"input":"hi"}"#), Step::Prompt { item: 0 });
    assert_eq!(RESPONSES.step(r#"{"prompt":{"id":"p"}}"#), Step::Empty);
}

#[test]
fn the_models_items_form_one() {
    let search = r#"{"type":"web_search_call","id":"ws","status":"completed"}"#;
    let view = RESPONSES.view(&body(&[USER, REASONING, search, ANSWER, CALL, OUTPUT, ANSWER]));
    let elements: Vec<_> = view.items.iter().map(|i| i.elements.clone()).collect();
    assert_eq!(elements, [0..1, 1..5, 5..6, 6..7]);
    let facts = &view.items[1].facts;
    assert!(facts.signed);
    assert_eq!(facts.calls, ["c1"]);
    assert_eq!(view.items[2].facts.results, ["c1"]);
    assert_eq!(view.last_signed(), Some(1));
    let without = RESPONSES.view(&body(&[USER, ANSWER, CALL, OUTPUT, ANSWER]));
    assert_eq!(without.items[1].facts.link, facts.link, "reasoning and hosted tools leave no trace");
}

#[test]
fn results_of_hosted_tools_belong_to_the_answer() {
    let call = r#"{"type":"shell_call","call_id":"s1","action":{},"environment":{"type":"container_reference","container_id":"x"}}"#;
    let output = r#"{"type":"shell_call_output","call_id":"s1","output":[]}"#;
    let view = RESPONSES.view(&body(&[USER, call, output, ANSWER, USER]));
    assert_eq!((view.items.len(), view.step), (3, Step::Prompt { item: 2 }));
    let local = call.replace("container_reference", "local");
    let view = RESPONSES.view(&body(&[USER, &local, output]));
    assert_eq!(view.step, Step::Tool { item: 2 });
}

#[test]
fn compaction_is_marked_and_leaves_a_trace() {
    let compaction = r#"{"type":"compaction","id":"cmp_1","encrypted_content":"zz"}"#;
    let view = RESPONSES.view(&body(&[DEVELOPER, compaction, USER]));
    assert!(view.items[1].facts.compaction && view.items[1].facts.link.is_some());
    assert!(!view.is_first());
    let beside = RESPONSES.view(&body(&[USER, compaction, ANSWER]));
    let plain = RESPONSES.view(&body(&[USER, ANSWER]));
    assert_eq!(beside.items[1].facts.link, plain.items[1].facts.link);
}

#[test]
fn a_string_and_a_single_text_are_the_same_prompt() {
    let link = |body: &str| RESPONSES.view(body).items[0].facts.prompt;
    let string = link(r#"{"input":"u"}"#);
    assert!(string.is_some());
    assert_eq!(string, link(&body(&[USER])));
    assert_eq!(
        string,
        link(&body(&[r#"{"type":"message","id":"x","role":"user","content":[{"type":"input_text","text":"u\n"}]}"#]))
    );
    assert_eq!(
        string,
        link(&body(&[
            r#"{"role":"user","content":[{"type":"input_text","text":"<reminder>"},{"type":"input_text","text":"u"}]}"#
        ]))
    );
    let image = |marker: &str| {
        link(&body(&[&format!(
            r#"{{"role":"user","content":[{{"type":"input_image","image_url":"data:x"{marker}}}]}}"#
        )]))
    };
    assert!(image("").is_some());
    assert_eq!(image(""), image(r#","prompt_cache_breakpoint":{"mode":"explicit"}"#));
}

#[test]
fn duplicate_keys_are_refused_wherever_they_are_read() {
    let cases = [
        body(&[r#"{"type":"message","role":"user","role":"developer","content":"x"}"#]),
        body(&[r#"{"type":"function_call_output","call_id":"a","output":"x","output":"y"}"#]),
        body(&[r#"{"type":"custom_x","a":1,"a":2}"#]),
        body(&[ANSWER, r#"{"type":"reasoning","summary":[],"summary":[]}"#]),
        r#"{"reasoning":{"effort":"low","effort":"none"},"input":"x"}"#.to_owned(),
        r#"{"text":{"format":{"type":"text","type":"json_object"}},"input":"x"}"#.to_owned(),
        r#"{"conversation":{"id":"a","id":"b"},"input":"x"}"#.to_owned(),
    ];
    for case in cases {
        let cache = MapCache::default();
        for _ in 0..2 {
            let error = RESPONSES.try_view(&doc(&case), &cache).unwrap_err();
            assert!(matches!(error, ViewError::Scan(ScanError::DuplicateKey { .. })), "{case}: {error:?}");
        }
    }
    for case in [r#"{"input":1}"#, r#"{"input":["x"]}"#] {
        let error = RESPONSES.try_view(&doc(case), &NoCache).unwrap_err();
        assert_eq!(error, ViewError::Shape { member: "input" }, "{case}");
    }
}

#[test]
fn hooks_see_the_request_in_neutral_words() {
    let custom = r#"{"type":"custom_tool_call","call_id":"c2","name":"g","input":"free \"text\""}"#;
    let namespace = r#"{"type":"additional_tools","tools":[{"type":"namespace","name":"ns","tools":[{"type":"custom","name":"g","description":"D"}]}]}"#;
    let body = format!(
        r#"{{"input":[{DEVELOPER},{namespace},{REMINDER},{USER},{REASONING},{ANSWER},{CALL},{custom},{OUTPUT}],"tools":[{{"type":"function","name":"f","parameters":{{}}}},{{"type":"web_search"}}],"max_output_tokens":5,"reasoning":{{"effort":"low"}}}}"#
    );
    let doc = doc(&body);
    let view = RESPONSES.try_view(&doc, &NoCache).unwrap();
    let reading = Reading { is_reminder: &|t| t.starts_with(testing::REMINDER), cache: &NoCache };
    assert_eq!(Responses.prompt_text(&doc, &view, 2, &reading), "");
    assert_eq!(Responses.prompt_text(&doc, &view, 3, &reading), "u");
    let (text, calls) = Responses.said(&doc, &view, 4);
    assert_eq!((text.as_str(), calls[1].input.get()), ("a", r#""free \"text\"""#));
    let neutral = serde_json::to_value(Responses.neutral(&doc, &view)).unwrap();
    let expected = json!({
        "kind": "",
        "system": ["d"],
        "messages": [
            {"role": "user", "text": "<reminder> env", "tool_calls": [], "tool_results": []},
            {"role": "user", "text": "u", "tool_calls": [], "tool_results": []},
            {"role": "assistant", "text": "a", "tool_calls": [
                {"id": "c1", "name": "f", "input": {}}, {"id": "c2", "name": "g", "input": "free \"text\""},
            ], "tool_results": []},
            {"role": "tool", "text": "", "tool_calls": [], "tool_results": [{"id": "c1", "text": "r", "is_error": false}]},
        ],
        "tools": [
            {"name": "f", "description": "", "input_schema": {}},
            {"name": "web_search", "description": "", "input_schema": null},
            {"name": "g", "description": "D", "input_schema": null},
        ],
        "tool_choice": null,
        "params": {"max_tokens": 5, "temperature": null, "top_p": null, "stop": null, "reasoning_effort": "low", "response_format": null},
    });
    assert_eq!(neutral, expected);
}
