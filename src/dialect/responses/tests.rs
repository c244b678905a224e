use super::Responses;
use crate::context::answer::Ending;
use crate::context::{Answer, AnswerForm, Delta, Finish, Operation, Place, Role, Step, Usage};
use crate::dialect::openai::testing::{self, MapCache, Wire, doc, frames, sample, texts};
use crate::dialect::{Dialect, LowerError, NoCache, Reading, Reply, ViewError, WireError};
use crate::json::ScanError;
use proptest::prelude::*;
use serde_json::{Value, json};

const RESPONSES: Wire = Wire { dialect: &Responses, path: "/v1/responses" };

const CALL: &str = r#"{"type":"function_call","call_id":"c1","name":"f","arguments":"{}"}"#;
const OUTPUT: &str = r#"{"type":"function_call_output","call_id":"c1","output":"r"}"#;
const USER: &str = r#"{"role":"user","content":"u"}"#;
const ANSWER: &str = r#"{"type":"message","role":"assistant","content":[{"type":"output_text","text":"a"}]}"#;
const REMINDER: &str = r#"{"role":"user","content":[{"type":"input_text","text":"<reminder> env"}]}"#;
const DEVELOPER: &str = r#"{"type":"message","role":"developer","content":[{"type":"input_text","text":"d"}]}"#;
const TOOLS: &str = r#"{"type":"additional_tools","role":"developer","tools":[{"type":"function","name":"f"}]}"#;
const REASONING: &str = r#"{"type":"reasoning","id":"rs_1","summary":[],"encrypted_content":"gAAA"}"#;

const POOL: [&str; 10] = [
    CALL,
    OUTPUT,
    USER,
    ANSWER,
    REMINDER,
    DEVELOPER,
    TOOLS,
    REASONING,
    r#"{"role":"developer","content":""}"#,
    r#"{"type":"computer_call_output","call_id":"c1","output":{"type":"computer_screenshot","image_url":"d"}}"#,
];

fn body(items: &[&str]) -> String {
    format!(r#"{{"model":"m","input":[{}]}}"#, items.join(","))
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
fn instructions_go_where_the_client_has_them() {
    let cases: &[(&str, &[Place], &str)] = &[
        (
            r#"{"instructions":"c","input":"u"}"#,
            &[front(0, &["p"]), back(&["z"])],
            r#"{"instructions":"p\n\nc\n\nz","input":"u"}"#,
        ),
        (r#"{"instructions":"c","input":"u"}"#, &[front(1, &["p"])], r#"{"instructions":"c\n\np","input":"u"}"#),
        (r#"{"instructions":"","input":"u"}"#, &[back(&["z"])], r#"{"instructions":"z","input":"u"}"#),
        (r#"{"instructions":null,"input":"u"}"#, &[back(&["z"])], r#"{"instructions":"z","input":"u"}"#),
        (r#"{"input":"u"}"#, &[front(0, &["p"]), back(&["z"])], r#"{"instructions":"p\n\nz","input":"u"}"#),
        (
            r#"{"previous_response_id":"r","input":[{"role":"developer","content":"d"}]}"#,
            &[back(&["z"])],
            r#"{"instructions":"z","previous_response_id":"r","input":[{"role":"developer","content":"d"}]}"#,
        ),
        (
            r#"{"input":[{"role":"developer","content":"d"},{"role":"user","content":"u"}]}"#,
            &[front(0, &["p"]), back(&["z"])],
            r#"{"input":[{"role":"developer","content":[{"type":"input_text","text":"p"},{"type":"input_text","text":"d"},{"type":"input_text","text":"z"}]},{"role":"user","content":"u"}]}"#,
        ),
        (
            r#"{"input":[{"type":"additional_tools","tools":[]},{"role":"developer","content":[{"type":"input_text","text":"a"}]},{"role":"developer","content":[{"type":"input_text","text":"b"}]}]}"#,
            &[front(0, &["p"]), back(&["z"])],
            r#"{"input":[{"type":"additional_tools","tools":[]},{"role":"developer","content":[{"type":"input_text","text":"p"},{"type":"input_text","text":"a"}]},{"role":"developer","content":[{"type":"input_text","text":"b"},{"type":"input_text","text":"z"}]}]}"#,
        ),
        (
            r#"{"input":[{"role":"developer","content":""}]}"#,
            &[back(&["z"])],
            r#"{"input":[{"role":"developer","content":[{"type":"input_text","text":"z"}]}]}"#,
        ),
    ];
    for (body, places, expected) in cases {
        assert_eq!(RESPONSES.lowered(body, places), *expected, "{body}");
    }
    let doc = doc(r#"{"instructions":[1],"input":"u"}"#);
    let view = RESPONSES.try_view(&doc, &NoCache).unwrap();
    assert!(!view.system_open);
    assert_eq!(Responses.lower(&doc, &view, &[back(&["z"])]).err(), Some(LowerError::NoSystem));
}

#[test]
fn text_goes_behind_prompts_and_into_results() {
    let shell = r#"{"type":"local_shell_call_output","id":"c1","output":"{\"stdout\":\"x\"}"}"#;
    let message = r#"{"type":"message","role":"user","content":[{"type":"input_text","text":"x"}]}"#;
    let trigger = r#"{"type":"compaction_trigger"}"#;
    let agent = r#"{"type":"agent_message","content":"hi"}"#;
    let cases: &[(&[&str], Place, &[&str])] = &[
        (
            &[USER],
            end(0, &["x", ""]),
            &[r#"{"role":"user","content":[{"type":"input_text","text":"u"},{"type":"input_text","text":"x"}]}"#],
        ),
        (
            &[r#"{"role":"user","content":[{"type":"input_image","image_url":"d"}]}"#],
            end(0, &["x"]),
            &[r#"{"role":"user","content":[{"type":"input_image","image_url":"d"},{"type":"input_text","text":"x"}]}"#],
        ),
        (
            &[USER, CALL, OUTPUT],
            end(2, &["x"]),
            &[USER, CALL, r#"{"type":"function_call_output","call_id":"c1","output":"r\n\nx"}"#],
        ),
        (
            &[CALL, r#"{"type":"function_call_output","call_id":"c1","output":[{"type":"input_text","text":"r"}]}"#],
            end(1, &["x"]),
            &[
                CALL,
                r#"{"type":"function_call_output","call_id":"c1","output":[{"type":"input_text","text":"r"},{"type":"input_text","text":"x"}]}"#,
            ],
        ),
        // A structured result has no place: behind all results, ahead of a trigger, which must be last.
        (&[USER, shell, OUTPUT, trigger], end(1, &["x"]), &[USER, shell, OUTPUT, message, trigger]),
        (&[CALL, agent, OUTPUT], end(1, &["x"]), &[CALL, agent, OUTPUT, message]),
        (&[agent], end(0, &[" "]), &[agent]),
    ];
    for (items, place, expected) in cases {
        assert_eq!(RESPONSES.lowered(&body(items), std::slice::from_ref(place)), body(expected), "{items:?}");
    }
    assert_eq!(
        RESPONSES.lowered(r#"{"input":"u"}"#, &[end(0, &["x"])]),
        r#"{"input":[{"type":"message","role":"user","content":[{"type":"input_text","text":"u"},{"type":"input_text","text":"x"}]}]}"#
    );
    assert_eq!(
        RESPONSES.lowered(r#"{"input":""}"#, &[end(0, &["x"])]),
        r#"{"input":[{"type":"message","role":"user","content":[{"type":"input_text","text":"x"}]}]}"#
    );
    assert_eq!(RESPONSES.lowered(r#"{"input":"u"}"#, &[end(0, &[""])]), r#"{"input":"u"}"#);
}

#[test]
fn omitted_items_go_and_instructions_stay() {
    let omit = |items| [Place::Omit { items }];
    assert_eq!(RESPONSES.lowered(&body(&[DEVELOPER, USER, ANSWER, USER]), &omit(1..3)), body(&[DEVELOPER, USER]));
    assert_eq!(
        RESPONSES.lowered(&body(&[DEVELOPER, REMINDER, USER, ANSWER]), &omit(0..4)),
        body(&[DEVELOPER, REMINDER])
    );
    assert_eq!(RESPONSES.lowered(&body(&[USER, ANSWER]), &omit(0..2)), body(&[]));
    assert_eq!(RESPONSES.lowered(r#"{"input":"u"}"#, &omit(0..1)), r#"{"input":[]}"#);
}

#[test]
fn the_models_items_take_no_text() {
    let doc = doc(&body(&[USER, REASONING, ANSWER, TOOLS]));
    let view = RESPONSES.try_view(&doc, &NoCache).unwrap();
    for item in [1, 2, 9] {
        assert_eq!(Responses.lower(&doc, &view, &[end(item, &["x"])]).err(), Some(LowerError::NoPlace { item }));
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
fn stream_errors_have_both_known_shapes() {
    let error =
        WireError { status: 504, code: "upstream_idle", message: "idle".to_owned(), request_id: "r".to_owned() };
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

    /// Any placements on any history: JSON comes out, and what the model wrote is in it byte for byte.
    #[test]
    fn every_placement_leaves_a_legal_body(
        picks in proptest::collection::vec(0usize..POOL.len(), 0..7),
        places in proptest::collection::vec(testing::any_place(), 0..5),
        instructions in prop_oneof![Just(""), Just(r#""instructions":"I","#), Just(r#""instructions":null,"#)],
    ) {
        let items: Vec<_> = picks.iter().map(|pick| POOL[*pick]).collect();
        let body = format!("{{{instructions}\"input\":[{}]}}", items.join(" , "));
        if let Some(lowered) = RESPONSES.lowered_or_refused(&body, &places)
            && !places.iter().any(|p| matches!(p, Place::Omit { .. }))
        {
            for item in items.iter().filter(|i| [CALL, ANSWER, REASONING, TOOLS].contains(i)) {
                prop_assert!(lowered.contains(*item));
            }
        }
    }

    /// Hostile bytes never panic.
    #[test]
    fn any_bytes_are_survived(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
        RESPONSES.streamed(&bytes);
        RESPONSES.whole(&String::from_utf8_lossy(&bytes));
    }
}
