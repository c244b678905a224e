use super::*;

#[test]
fn samples_are_read_as_the_manifest_says() {
    for (name, entry) in testing::manifest("chat") {
        testing::assert_verdict(&name, &entry, &CHAT.streamed(&sample(&name)));
    }
}

#[test]
fn a_refusal_in_words_is_told_from_an_answer() {
    for (name, entry) in testing::manifest("chat") {
        assert_eq!(CHAT.streamed(&sample(&name)).refused, entry["turn"] == "finished-refusal", "{name}");
    }
    assert!(
        CHAT.whole(
            r#"{"choices":[{"message":{"role":"assistant","content":null,"refusal":"no"},"finish_reason":"stop"}]}"#
        )
        .refused
    );
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
    let error = WireError {
        status: 502,
        code: "upstream_unreachable",
        message: "down".to_owned(),
        request_id: "r".to_owned(),
        said: None,
    };
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

    /// Hostile bytes never panic.
    #[test]
    fn any_bytes_are_survived(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
        CHAT.streamed(&bytes);
        CHAT.whole(&String::from_utf8_lossy(&bytes));
    }
}
