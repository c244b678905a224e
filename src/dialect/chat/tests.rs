use super::Chat;
use crate::context::answer::Ending;
use crate::context::{AnswerForm, Finish, Place, Role, Step, Usage};
use crate::dialect::openai::testing::{self, MapCache, Wire, doc, frames, sample, texts};
use crate::dialect::{Dialect, ItemFacts, LowerError, NoCache, Reading, Reply, ViewError, WireError};
use crate::json::ScanError;
use proptest::prelude::*;
use serde_json::{Value, json};

const CHAT: Wire = Wire { dialect: &Chat, path: "/v1/chat/completions" };

const CALL: &str = r#"{"role":"assistant","content":"a","tool_calls":[{"id":"c","type":"function","function":{"name":"f","arguments":"{}"}}]}"#;

/// The first three are instructions.
const POOL: [&str; 8] = [
    r#"{"role":"system","content":"s"}"#,
    r#"{"role":"system","content":""}"#,
    r#"{"role":"system","content":[{"type":"text","text":"s"}]}"#,
    r#"{"role":"user","content":"u"}"#,
    r#"{"role":"user","content":[]}"#,
    r#"{"role":"user","content":"<reminder>"}"#,
    CALL,
    r#"{"role":"tool","tool_call_id":"c","content":[{"type":"text","text":"r"}]}"#,
];

fn body(messages: &str) -> String {
    format!(r#"{{"model":"m","messages":[{messages}]}}"#)
}

fn end(item: usize, list: &[&str]) -> Place {
    Place::ItemEnd { item, texts: texts(list) }
}

fn front(after: usize, list: &[&str]) -> Place {
    Place::SystemFront { after, texts: texts(list) }
}

fn back(list: &[&str]) -> Place {
    Place::SystemEnd { texts: texts(list) }
}

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
fn placements_keep_the_clients_type_and_place() {
    let cases: &[(&str, &[Place], &str)] = &[
        // Instructions: a string stays one, a list gets parts.
        (
            r#"{"role":"system","content":"c\n"},{"role":"user","content":"u"}"#,
            &[front(0, &["p", "e"]), back(&["z\"q"])],
            r#"{"role":"system","content":"p\n\ne\n\nc\n\n\nz\"q"},{"role":"user","content":"u"}"#,
        ),
        (
            r#"{"role":"developer","content":[{"type":"text","text":"c"}]}"#,
            &[front(0, &["p"]), back(&["z"])],
            r#"{"role":"developer","content":[{"type":"text","text":"p"},{"type":"text","text":"c"},{"type":"text","text":"z"}]}"#,
        ),
        (
            r#"{"role":"system","content":[{"type":"text","text":"c"},{"type":"text","text":"d"}]}"#,
            &[front(1, &["p"])],
            r#"{"role":"system","content":[{"type":"text","text":"c"},{"type":"text","text":"p"},{"type":"text","text":"d"}]}"#,
        ),
        (
            r#"{"role":"system","content":"a"},{"role":"system","content":"b"},{"role":"user","content":"u"}"#,
            &[front(0, &["p"]), back(&["z"])],
            r#"{"role":"system","content":"p\n\na"},{"role":"system","content":"b\n\nz"},{"role":"user","content":"u"}"#,
        ),
        (r#"{"role":"system","content":""}"#, &[back(&["z"])], r#"{"role":"system","content":"z"}"#),
        (
            r#"{"role":"system","content":[]}"#,
            &[back(&["z"])],
            r#"{"role":"system","content":[{"type":"text","text":"z"}]}"#,
        ),
        // Absent: one new message at the start, also when a later one is there.
        (
            r#"{"role":"user","content":"u"},{"role":"system","content":"tail"}"#,
            &[front(0, &["p"]), back(&["z"])],
            r#"{"role":"system","content":"p\n\nz"},{"role":"user","content":"u"},{"role":"system","content":"tail"}"#,
        ),
        // User and tool messages.
        (r#"{"role":"user","content":"u"}"#, &[end(0, &["x", "y"])], r#"{"role":"user","content":"u\n\nx\n\ny"}"#),
        (
            r#"{"role":"user","content":[{"type":"image_url","image_url":{"url":"d"}}]}"#,
            &[end(0, &["x"])],
            r#"{"role":"user","content":[{"type":"image_url","image_url":{"url":"d"}},{"type":"text","text":"x"}]}"#,
        ),
        (
            r#"{"role":"user","content":"u"},{"role":"assistant","tool_calls":[{"id":"c","function":{"name":"f","arguments":"{}"}}]},{"role":"tool","tool_call_id":"c","content":"r"}"#,
            &[end(2, &["x"])],
            r#"{"role":"user","content":"u"},{"role":"assistant","tool_calls":[{"id":"c","function":{"name":"f","arguments":"{}"}}]},{"role":"tool","tool_call_id":"c","content":"r\n\nx"}"#,
        ),
        // Blank text changes nothing.
        (r#"{"role":"user","content":"u"}"#, &[end(0, &["", " \n"]), back(&[""])], r#"{"role":"user","content":"u"}"#),
    ];
    for (messages, places, expected) in cases {
        assert_eq!(CHAT.lowered(&body(messages), places), body(expected), "{messages}");
    }
}

#[test]
fn omitted_messages_go_with_their_commas() {
    let (a, b, c) = (
        r#"{"role":"user","content":"a"}"#,
        r#"{"role":"assistant","content":"b"}"#,
        r#"{"role":"user","content":"c"}"#,
    );
    let omit = |items| [Place::Omit { items }, back(&["z"])];
    let all = format!("{a} , {b},\n{c}");
    let system = r#"{"role":"system","content":"z"}"#;
    assert_eq!(CHAT.lowered(&body(&all), &omit(0..2)), body(&format!("{system},{c}")));
    assert_eq!(CHAT.lowered(&body(&all), &omit(1..3)), body(&format!("{system},{a}")));
    assert_eq!(CHAT.lowered(&body(&all), &omit(1..2)), body(&format!("{system},{a} , {c}")));
    assert_eq!(CHAT.lowered(&body(&all), &omit(0..3)), body(system));
}

#[test]
fn instructions_and_reminders_stay_when_their_neighbours_are_omitted() {
    let kept = r#"{"role":"system","content":"s"},{"role":"user","content":"<reminder> r"}"#;
    let messages = format!(r#"{kept},{{"role":"user","content":"p"}},{{"role":"assistant","content":"a"}}"#);
    assert_eq!(CHAT.lowered(&body(&messages), &[Place::Omit { items: 0..4 }]), body(kept));
}

#[test]
fn items_without_a_place_are_refused() {
    let doc = doc(&body(r#"{"role":"user","content":"u"},{"role":"assistant","content":"a"},{"role":"user"}"#));
    let view = CHAT.try_view(&doc, &NoCache).unwrap();
    let lower = |places: &[Place]| Chat.lower(&doc, &view, places).err();
    assert_eq!(lower(&[end(1, &["x"])]), Some(LowerError::NoPlace { item: 1 }));
    assert_eq!(lower(&[end(2, &["x"])]), Some(LowerError::NoPlace { item: 2 }));
    assert_eq!(lower(&[end(9, &["x"])]), Some(LowerError::NoPlace { item: 9 }));
    assert_eq!(lower(&[Place::Omit { items: 0..1 }, end(0, &["x"])]), Some(LowerError::NoPlace { item: 0 }));
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

#[test]
fn samples_are_read_as_the_manifest_says() {
    for (name, entry) in testing::manifest("chat") {
        testing::assert_verdict(&name, &entry, &CHAT.streamed(&sample(&name)));
    }
}

#[test]
fn every_prefix_of_a_stream_is_cut_or_whole() {
    for (name, entry) in testing::manifest("chat") {
        let stream = sample(&name);
        for cut in 0..stream.len() {
            let answer = CHAT.streamed(&stream[..cut]);
            let ended = String::from_utf8_lossy(&stream[..cut]).contains(r#""finish_reason":""#);
            assert!(ended || !answer.is_finished(), "{name} cut at {cut}");
            let _ = entry;
        }
    }
}

#[test]
fn answers_of_compatible_servers_are_understood() {
    let chunk = |choice: &str| format!("data: {{\"choices\":[{choice}]}}\n\n");
    // `stop` although tools were called; no index; arguments as an object.
    let answer = CHAT.streamed(
        (chunk(r#"{"delta":{"tool_calls":[{"id":"a","function":{"name":"f","arguments":{"x":1}}}]}}"#)
            + &chunk(r#"{"delta":{"tool_calls":[{"id":"b","function":{"name":"g","arguments":"{}"}}]}}"#)
            + &chunk(r#"{"delta":{},"finish_reason":"stop"}"#))
            .as_bytes(),
    );
    assert_eq!(answer.finish, Finish::ToolCalls);
    let calls: Vec<_> = answer.calls.iter().map(|c| (c.id.as_str(), c.name.as_str(), c.input.get())).collect();
    assert_eq!(calls, [("a", "f", r#"{"x":1}"#), ("b", "g", "{}")]);
    // Every call with the same index, told apart by id; content as parts.
    let answer = CHAT.streamed(
        (chunk(r#"{"delta":{"content":[{"type":"thinking","thinking":[]},{"type":"text","text":"hi"}],"tool_calls":[{"index":0,"id":"a","function":{"name":"f","arguments":"{}"}},{"index":0,"id":"b","function":{"name":"g","arguments":"{}"}}]}}"#)
            + &chunk(r#"{"delta":{},"finish_reason":"eos"}"#))
        .as_bytes(),
    );
    assert_eq!((answer.text.as_str(), answer.calls.len(), answer.finish), ("hi", 2, Finish::Error));
}

#[test]
fn whole_bodies_are_read_like_streams() {
    let answer = CHAT.whole(
        r#"{"id":"x","choices":[{"index":0,"message":{"role":"assistant","content":"hi","tool_calls":null},"finish_reason":"stop"}],
        "usage":{"prompt_tokens":10,"completion_tokens":3,"prompt_tokens_details":{"cached_tokens":4}}}"#,
    );
    assert!(answer.is_finished());
    assert_eq!(answer.usage, Usage { input: 6, cached_input: 4, output: 3 });
    assert_eq!((answer.id.as_deref(), answer.text.as_str()), (Some("x"), "hi"));
    let many = CHAT.whole(r#"{"choices":[{"index":0,"message":{"content":"a"},"finish_reason":"stop"},{"index":1,"message":{"content":"b"},"finish_reason":"stop"}]}"#);
    assert!(many.many);
    for (body, ending, error) in [
        (r#"{"error":{"message":"no","type":"t"}}"#, Ending::Failed, Some("no")),
        (r#"{"error":"plain"}"#, Ending::Failed, Some("plain")),
        (r#"{"choices":[]}"#, Ending::Failed, Some("no choices")),
        ("<html>", Ending::Failed, Some("not JSON")),
        (r#"{"choices":[{"mess"#, Ending::Cut, None),
    ] {
        let answer = CHAT.whole(body);
        assert_eq!((answer.ending, answer.error.as_deref(), answer.finish), (ending, error, Finish::Error), "{body}");
    }
}

fn reply() -> Reply {
    Reply { text: "blocked: \"no\"\n北".to_owned(), model: "m".to_owned(), id: "abc".to_owned(), created: 7 }
}

#[test]
fn replies_are_complete_answers() {
    let streamed = CHAT.streamed(&Chat.reply(&reply(), AnswerForm::Sse));
    let whole = CHAT.whole(std::str::from_utf8(&Chat.reply(&reply(), AnswerForm::Json)).unwrap());
    for answer in [&streamed, &whole] {
        assert!(answer.is_finished());
        assert_eq!(answer.text, reply().text);
        assert_eq!(answer.id.as_deref(), Some("chatcmpl-abc"));
    }
    insta::assert_snapshot!(String::from_utf8_lossy(&Chat.reply(&reply(), AnswerForm::Sse)), @r#"
    data: {"id":"chatcmpl-abc","object":"chat.completion.chunk","created":7,"model":"m","choices":[{"index":0,"delta":{"role":"assistant","content":"","refusal":null},"logprobs":null,"finish_reason":null}]}

    data: {"id":"chatcmpl-abc","object":"chat.completion.chunk","created":7,"model":"m","choices":[{"index":0,"delta":{"content":"blocked: \"no\"\n北"},"logprobs":null,"finish_reason":null}]}

    data: {"id":"chatcmpl-abc","object":"chat.completion.chunk","created":7,"model":"m","choices":[{"index":0,"delta":{},"logprobs":null,"finish_reason":"stop"}]}

    data: [DONE]
    "#);
}

#[test]
fn errors_have_the_shape_that_sdks_parse() {
    let error =
        WireError { status: 502, code: "upstream_unreachable", message: "down".to_owned(), request_id: "r".to_owned() };
    let object = json!({"message": "down", "type": "server_error", "param": null, "code": "upstream_unreachable"});
    let body: Value = serde_json::from_slice(&Chat.error(&error, AnswerForm::Json)).unwrap();
    assert_eq!(body, json!({"error": object}));
    let stream = Chat.stream_error(&error, AnswerForm::Sse, true);
    assert!(stream.starts_with(b"\n\n"));
    assert!(!stream.windows(6).any(|w| w == b"[DONE]"));
    let (_, data) = frames(&stream).remove(0);
    assert_eq!(serde_json::from_slice::<Value>(&data).unwrap(), json!({"error": object}));
    assert_eq!(CHAT.streamed(&stream).ending, Ending::Failed);
}

/// An answer as a stream, cut into pieces at `cuts`.
fn stream_of(text: &str, calls: &[(String, String)]) -> String {
    let frame = |choice: Value| format!("data: {}\n\n", json!({"id": "x", "choices": [choice]}));
    let mut stream = String::new();
    for word in text.split_inclusive(' ') {
        stream += &frame(json!({"index": 0, "delta": {"content": word}, "finish_reason": null}));
    }
    for (index, (id, arguments)) in calls.iter().enumerate() {
        let half = arguments.char_indices().nth(arguments.chars().count() / 2).map_or(0, |(at, _)| at);
        let begin = json!({"index": index, "id": id, "type": "function", "function": {"name": "f", "arguments": ""}});
        stream += &frame(json!({"index": 0, "delta": {"tool_calls": [begin]}, "finish_reason": null}));
        for piece in [&arguments[..half], &arguments[half..]] {
            let piece = json!({"index": index, "function": {"arguments": piece}});
            stream += &frame(json!({"index": 0, "delta": {"tool_calls": [piece]}, "finish_reason": null}));
        }
    }
    stream
        + &frame(
            json!({"index": 0, "delta": {}, "finish_reason": if calls.is_empty() { "stop" } else { "tool_calls" }}),
        )
}

proptest! {
    /// Whatever a client does to an answer that leaves its words and calls, it is still known as the same.
    #[test]
    fn an_answer_that_comes_back_has_the_readers_link(
        text in "[a-z \\n\"é北]{0,40}",
        ids in proptest::collection::vec("[a-z0-9_]{1,8}", 0..3),
        arguments in prop_oneof![Just("{\"a\": 1}".to_owned()), Just("{bad".to_owned()), Just(String::new())],
        cut in 0usize..40,
    ) {
        let calls: Vec<_> = ids.iter().enumerate().map(|(n, id)| (format!("{id}{n}"), arguments.clone())).collect();
        let answer = CHAT.streamed(stream_of(&text, &calls).as_bytes());
        prop_assert_eq!(&answer.text, &text);
        let (head, tail) = text.split_at(text.char_indices().nth(cut).map_or(text.len(), |(at, _)| at));
        let sent: Vec<Value> = calls.iter().map(|(id, arguments)| json!({"id": id, "type": "function", "function": {"name": "f", "arguments": arguments}})).collect();
        let variants = [
            json!({"role": "assistant", "content": text, "tool_calls": sent}),
            json!({"tool_calls": sent, "content": format!(" {text}\n"), "role": "assistant"}),
            json!({"role": "assistant", "content": [{"type": "text", "text": head}, {"type": "text", "text": ""}, {"type": "text", "text": tail}], "tool_calls": sent, "reasoning_content": "hm"}),
        ];
        for message in variants {
            let view = CHAT.view(&body(&message.to_string()));
            prop_assert_eq!(view.items[0].facts.link, answer.link());
        }
        let split = format!("{},{}", json!({"role": "assistant", "content": head}), json!({"role": "assistant", "content": tail, "tool_calls": sent}));
        let view = CHAT.view(&body(&split));
        prop_assert_eq!(view.items.len(), 1);
        prop_assert_eq!(view.items[0].facts.link, answer.link());
    }

    /// Any placements on any history: JSON comes out, what the model wrote is in it byte for byte, and no second
    /// system message appears (case B35).
    #[test]
    fn every_placement_leaves_a_legal_body(
        picks in proptest::collection::vec(0usize..POOL.len(), 0..7),
        places in proptest::collection::vec(testing::any_place(), 0..5),
    ) {
        let messages: Vec<_> = picks.iter().map(|pick| POOL[*pick]).collect();
        let body = body(&messages.join(" , "));
        if let Some(lowered) = CHAT.lowered_or_refused(&body, &places) {
            let kept = !places.iter().any(|p| matches!(p, Place::Omit { .. }));
            prop_assert!(!kept || !messages.contains(&CALL) || lowered.contains(CALL));
            let leads = picks.first().is_some_and(|pick| *pick < 3);
            let systems = |text: &str| text.matches("\"role\":\"system\"").count();
            prop_assert!(systems(&lowered) <= systems(&body) + usize::from(!leads));
        }
    }

    /// Hostile bytes never panic.
    #[test]
    fn any_bytes_are_survived(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
        CHAT.streamed(&bytes);
        CHAT.whole(&String::from_utf8_lossy(&bytes));
    }
}
