use super::*;

#[test]
fn samples_are_read_as_the_manifest_says() {
    for (name, entry) in testing::manifest("responses") {
        testing::assert_verdict(&name, &entry, &RESPONSES.streamed(&sample(&name)));
    }
}

#[test]
fn no_prefix_of_a_stream_is_taken_for_the_whole() {
    for (name, _) in testing::manifest("responses") {
        let stream = sample(&name);
        let last =
            frames(&stream).into_iter().rev().find(|(_, data)| data != b"[DONE]").map_or(0, |(_, data)| data.len());
        // Somewhere in the last frame its data is complete: a frame without its blank line counts.
        for cut in 0..stream.len().saturating_sub(last + 20) {
            assert!(!RESPONSES.streamed(&stream[..cut]).is_finished(), "{name} cut at {cut}");
        }
    }
}

/// A response body with this output.
fn whole(output: &[&str], rest: &str) -> Answer {
    RESPONSES.whole(&format!(r#"{{"id":"resp_1","status":"completed","output":[{}]{rest}}}"#, output.join(",")))
}

#[test]
fn a_turn_is_over_when_nothing_is_left_to_the_client() {
    let item = |kind: &str, rest: &str| format!(r#"{{"type":"{kind}","call_id":"c","id":"i","name":"n"{rest}}}"#);
    let note =
        r#"{"type":"message","role":"assistant","phase":"commentary","content":[{"type":"output_text","text":"n"}]}"#;
    let cases = [
        (vec![ANSWER.to_owned()], Finish::Stop),
        (vec![ANSWER.to_owned(), item("function_call", "")], Finish::ToolCalls),
        (vec![item("function_call", r#","async":true"#), ANSWER.to_owned()], Finish::Stop),
        (vec![item("custom_tool_call", "")], Finish::ToolCalls),
        (vec![item("computer_call", "")], Finish::ToolCalls),
        (vec![item("local_shell_call", "")], Finish::ToolCalls),
        (vec![item("apply_patch_call", "")], Finish::ToolCalls),
        (vec![item("shell_call", "")], Finish::ToolCalls),
        (vec![item("shell_call", r#","environment":{"type":"container_reference"}"#), ANSWER.to_owned()], Finish::Stop),
        (vec![item("shell_call", ""), item("shell_call_output", r#","output":[]"#), ANSWER.to_owned()], Finish::Stop),
        (vec![item("tool_search_call", r#","execution":"client""#)], Finish::ToolCalls),
        (vec![item("tool_search_call", r#","execution":"server""#), ANSWER.to_owned()], Finish::Stop),
        (vec![item("mcp_call", ""), item("code_interpreter_call", ""), ANSWER.to_owned()], Finish::Stop),
        (vec![item("mcp_approval_request", "")], Finish::Pause),
        (vec![note.to_owned()], Finish::Pause),
        (vec![note.to_owned(), ANSWER.to_owned()], Finish::Stop),
    ];
    for (output, finish) in cases {
        let output: Vec<_> = output.iter().map(String::as_str).collect();
        assert_eq!(whole(&output, "").finish, finish, "{output:?}");
    }
}

#[test]
fn every_status_has_its_meaning() {
    let incomplete =
        |reason: &str| format!(r#"{{"status":"incomplete","incomplete_details":{{"reason":"{reason}"}},"output":[]}}"#);
    let cases = [
        (incomplete("max_output_tokens"), Ending::Complete, Finish::Length),
        (incomplete("max_messages"), Ending::Complete, Finish::Length),
        (incomplete("content_filter"), Ending::Complete, Finish::Refusal),
        (incomplete("steered"), Ending::Complete, Finish::Pause),
        (incomplete("new"), Ending::Complete, Finish::Error),
        (r#"{"status":"queued"}"#.to_owned(), Ending::Complete, Finish::Pause),
        (r#"{"status":"in_progress"}"#.to_owned(), Ending::Complete, Finish::Pause),
        (
            r#"{"status":"failed","error":{"code":"server_error","message":"no"}}"#.to_owned(),
            Ending::Failed,
            Finish::Error,
        ),
        (r#"{"status":"cancelled"}"#.to_owned(), Ending::Failed, Finish::Error),
        (r#"{"error":{"message":"no"}}"#.to_owned(), Ending::Failed, Finish::Error),
        ("<html>".to_owned(), Ending::Failed, Finish::Error),
        (r#"{"status":"comp"#.to_owned(), Ending::Cut, Finish::Error),
    ];
    for (body, ending, finish) in cases {
        let answer = RESPONSES.whole(&body);
        assert_eq!((answer.ending, answer.finish), (ending, finish), "{body}");
    }
    let answer = whole(
        &[REASONING, ANSWER],
        r#","usage":{"input_tokens":10,"input_tokens_details":{"cached_tokens":4},"output_tokens":3}"#,
    );
    assert!(answer.signed);
    assert_eq!(answer.usage, Usage { input: 6, cached_input: 4, output: 3 });
    assert_eq!((answer.id.as_deref(), answer.native_finish.as_deref()), (Some("resp_1"), Some("completed")));
}

fn reply() -> Reply {
    Reply { text: "blocked: \"no\"\n北".to_owned(), model: "m".to_owned(), id: "abc".to_owned(), created: 7 }
}

#[test]
fn replies_are_complete_answers() {
    let stream = Responses.reply(&reply(), AnswerForm::Sse);
    let streamed = RESPONSES.streamed(&stream);
    let whole = RESPONSES.whole(std::str::from_utf8(&Responses.reply(&reply(), AnswerForm::Json)).unwrap());
    for answer in [&streamed, &whole] {
        assert!(answer.is_finished());
        assert_eq!((answer.text.as_str(), answer.id.as_deref()), (reply().text.as_str(), Some("resp_abc")));
    }
    // What the Python SDK's helper enforces: numbers without gaps, one id, every event named like its type.
    for (number, (event, data)) in frames(&stream).into_iter().enumerate() {
        let data: Value = serde_json::from_slice(&data).unwrap();
        assert_eq!(data["sequence_number"], number);
        assert_eq!(data["type"], String::from_utf8(event.unwrap()).unwrap());
        assert!(data["response"].is_null() || data["response"]["id"] == "resp_abc");
    }
    let order: Vec<_> =
        frames(&stream).into_iter().map(|(event, _)| String::from_utf8(event.unwrap()).unwrap()).collect();
    insta::assert_snapshot!(order.join("\n"), @"
    response.created
    response.in_progress
    response.output_item.added
    response.content_part.added
    response.output_text.delta
    response.output_text.done
    response.content_part.done
    response.output_item.done
    response.completed
    ");
}

#[test]
fn a_refusal_in_words_is_told_from_an_answer() {
    for (name, entry) in testing::manifest("responses") {
        assert_eq!(RESPONSES.streamed(&sample(&name)).refused, entry["turn"] == "finished-refusal", "{name}");
    }
    assert!(RESPONSES.whole(r#"{"status":"completed","output":[{"type":"message","role":"assistant","content":[{"type":"refusal","refusal":"no"}]}]}"#).refused);
}

#[test]
fn stream_errors_have_both_known_shapes() {
    let error = WireError {
        status: 504,
        code: "upstream_idle",
        message: "idle".to_owned(),
        request_id: "r".to_owned(),
        said: None,
    };
    let stream = Responses.stream_error(&error, AnswerForm::Sse, true);
    assert!(stream.starts_with(b"\n\n"));
    let (event, data) = frames(&stream).remove(0);
    let data: Value = serde_json::from_slice(&data).unwrap();
    assert_eq!(event.as_deref(), Some(b"error".as_slice()));
    assert_eq!((&data["code"], &data["message"]), (&json!("upstream_idle"), &json!("idle")));
    assert_eq!(
        data["error"],
        json!({"message": "idle", "type": "server_error", "param": null, "code": "upstream_idle"})
    );
    assert!(data["sequence_number"].is_u64());
    let answer = RESPONSES.streamed(&stream);
    assert_eq!((answer.ending, answer.error.as_deref()), (Ending::Failed, Some("idle")));
    assert_eq!(Responses.keep_alive(AnswerForm::Sse), ": keep-alive\n\n");
}

/// Output items as a stream.
fn stream_of(items: &[Value]) -> String {
    let mut stream = String::new();
    for (index, item) in items.iter().enumerate() {
        for delta in item["content"][0]["text"].as_str().unwrap_or_default().split_inclusive(' ') {
            let data = json!({"type": "response.output_text.delta", "output_index": index, "content_index": 0, "delta": delta});
            stream += &format!("data: {data}\n\n");
        }
        stream +=
            &format!("data: {}\n\n", json!({"type": "response.output_item.done", "output_index": index, "item": item}));
    }
    stream
        + &format!(
            "data: {}\n\n",
            json!({"type": "response.completed", "response": {"id": "r", "status": "completed", "output": items}})
        )
}

proptest! {
    /// Whatever a client does to an answer that leaves its words and calls, it is still known as the same.
    #[test]
    fn an_answer_that_comes_back_has_the_readers_link(
        first in "[a-z \\n\"é北]{0,30}",
        second in "[a-z ]{0,30}",
        arguments in prop_oneof![Just("{\"a\": 1}"), Just("{bad"), Just("")],
        calls in 0usize..3,
    ) {
        let message = |text: &str| json!({"id": "msg_1", "type": "message", "role": "assistant", "status": "completed", "content": [{"type": "output_text", "text": text, "annotations": [], "logprobs": []}]});
        let call = |n: usize| json!({"id": format!("fc_{n}"), "type": "function_call", "call_id": format!("call_{n}"), "name": "f", "arguments": arguments, "status": "completed"});
        let reasoning = json!({"type": "reasoning", "id": "rs", "summary": [], "encrypted_content": "zz"});
        let mut items = vec![reasoning.clone(), message(&first), message(&second)];
        items.extend((0..calls).map(call));
        let answer = RESPONSES.streamed(stream_of(&items).as_bytes());
        prop_assert_eq!(answer.calls.len(), calls);
        // As it came; without ids and reasoning (opencode); merged into one message with a string behind the calls.
        let bare: Vec<Value> = items[1..].iter().cloned().map(|mut item| {
            item.as_object_mut().unwrap().shift_remove("id");
            item
        }).collect();
        let mut merged: Vec<Value> = (0..calls).map(call).collect();
        merged.push(json!({"role": "assistant", "content": format!("{first}\n{second}")}));
        for variant in [items, bare, merged] {
            let view = RESPONSES.view(&json!({"input": variant}).to_string());
            prop_assert_eq!(view.items.len(), 1);
            prop_assert_eq!(view.items[0].facts.link, answer.link());
        }
    }

    /// Hostile bytes never panic.
    #[test]
    fn any_bytes_are_survived(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
        RESPONSES.streamed(&bytes);
        RESPONSES.whole(&String::from_utf8_lossy(&bytes));
    }
}
