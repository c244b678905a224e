use crate::context::{AnswerForm, Binding, Call, Place, Restored, Ruling, Stands};
use crate::context::{Leg, LegReply, LegResult};
use crate::dialect::Dialect as _;
use crate::dialect::anthropic::Anthropic;
use crate::dialect::anthropic::tests::PATH;
use crate::dialect::binder_testing::{
    Bound, asking, bind, never, only, told, what_is_allowed_passes_byte_for_byte,
    what_is_refused_does_not_reach_the_client, what_waits_counts_once,
};
use crate::dialect::testing::lower;
use serde_json::{Value, json};

fn frame(event: &Value) -> String {
    format!("event: {}\ndata: {event}\n\n", event["type"].as_str().unwrap())
}

fn text(index: u64, text: &str) -> Vec<Value> {
    vec![
        json!({"type": "content_block_start", "index": index, "content_block": {"type": "text", "text": ""}}),
        json!({"type": "content_block_delta", "index": index, "delta": {"type": "text_delta", "text": text}}),
        json!({"type": "content_block_stop", "index": index}),
    ]
}

fn tool(index: u64, id: &str, name: &str, input: &[&str]) -> Vec<Value> {
    let block = json!({"type": "tool_use", "id": id, "name": name, "input": {}});
    let delta = |json: &&str| json!({"type": "content_block_delta", "index": index, "delta": {"type": "input_json_delta", "partial_json": json}});
    let start = json!({"type": "content_block_start", "index": index, "content_block": block});
    let stop = json!({"type": "content_block_stop", "index": index});
    std::iter::once(start).chain(input.iter().map(delta)).chain([stop]).collect()
}

fn message(content: &[Vec<Value>]) -> String {
    let start =
        json!({"type": "message_start", "message": {"id": "m", "type": "message", "usage": {"input_tokens": 1}}});
    let delta = json!({"type": "message_delta", "delta": {"stop_reason": "tool_use", "stop_sequence": null}, "usage": {"output_tokens": 9}});
    let events = std::iter::once(start).chain(content.concat()).chain([delta, json!({"type": "message_stop"})]);
    events.map(|event| frame(&event)).collect()
}

fn stream(leg: &str, binding: Binding, notice: Option<&str>, decide: impl Fn(&Call) -> Ruling) -> Bound {
    bind(&Anthropic, AnswerForm::Sse, leg.as_bytes(), binding, notice, decide).unwrap()
}

#[test]
fn recorded_streams_hold_to_the_law() {
    what_is_allowed_passes_byte_for_byte(&Anthropic);
    what_is_refused_does_not_reach_the_client(&Anthropic);
}

#[test]
fn a_call_that_waits_counts_once() {
    let part = "a".repeat(4096);
    let input = [&[r#"{"x":""#], [part.as_str(); 16].as_slice(), &[r#""}"#]].concat();
    what_waits_counts_once(&Anthropic, &message(&[tool(0, "t", "bash", &input)]));
}

/// What can't be read is not passed: a client might find a call in it.
#[test]
fn a_stream_in_which_a_call_could_be_missed_does_not_go_down() {
    let call = || tool(0, "t", "bash", &["{}"]);
    let (begin, end) = (message(&[]), |events: &[Value]| events.iter().map(frame).collect::<String>());
    let begun = |content: &str| {
        let block = format!(r#"{{"type":"message_start","message":{{"id":"m","content":[{content}],"usage":{{}}}}}}"#);
        format!("event: message_start\ndata: {block}\n\n")
    };
    let delta = json!({"type": "message_delta", "delta": {"stop_reason": "tool_use"}, "usage": {}});
    let stop = json!({"type": "message_stop"});
    for (stream, passes) in [
        (begun(""), true),
        (begun(r#"{"type":"text","text":"hi"}"#), true),
        (begun(r#"{"type":"tool_use","id":"t","name":"bash","input":{}}"#), false),
        (end(&call()), true),
        // The message ends, and the call has not.
        (end(&call()[..2]) + &frame(&delta), false),
        (end(&call()[..1]) + &frame(&stop), false),
        // Another block begins, and the call has not ended.
        (end(&call()[..1]) + &end(&text(1, "hi")), false),
        (end(&call()) + &end(&text(1, "hi")), true),
        // Behind a refused call the indexes have a gap.
        (end(&call()) + &end(&text(2, "hi")), false),
        (begin, true),
    ] {
        for binding in [only(&["look"]), asking()] {
            let deny = |_: &Call| Ruling::Refuse("no".to_owned());
            let bound = bind(&Anthropic, AnswerForm::Sse, stream.as_bytes(), binding, None, deny);
            assert_eq!(bound.is_ok(), passes, "{stream}");
        }
    }
}

#[test]
fn beside_an_allowed_call_a_refused_one_is_left_out_and_the_others_count_on() {
    let leg = message(&[
        text(0, "let me"),
        tool(1, "t_b", "bash", &["{\"x\"", ":1}"]),
        tool(2, "t_e", "edit", &["{\"y\":2}"]),
        tool(3, "t_c", "bash", &[]),
        tool(4, "t_f", "edit", &["{}"]),
    ]);
    let expected =
        message(&[text(0, "let me"), tool(1, "t_e", "edit", &["{\"y\":2}"]), tool(2, "t_f", "edit", &["{}"])]);
    let by_name = stream(&leg, only(&["edit"]), None, never);
    let deny = |call: &Call| if call.name == "bash" { Ruling::Refuse("no".into()) } else { Ruling::Allow };
    let by_hook = stream(&leg, asking(), None, deny);
    for bound in [by_name, by_hook] {
        assert_eq!(bound.text, expected);
        assert!(!bound.emptied);
        let calls: Vec<_> =
            bound.calls.iter().map(|r| (r.call.id.as_str(), r.call.input.get(), r.is_shown())).collect();
        assert_eq!((calls[0], calls[2]), (("t_b", "{\"x\":1}", false), ("t_c", "{}", false)));
        assert!(calls[1].2 && calls[3].2);
    }
}

#[test]
fn an_answer_of_nothing_but_refused_calls_ended_by_itself() {
    let leg = message(&[text(0, "let me"), tool(1, "t", "bash", &["{}"])]);
    let bound = stream(&leg, only(&[]), Some("It is not there."), never);
    assert!(bound.emptied);
    let begin = message(&[text(0, "let me")]).split("event: message_delta").next().unwrap().to_owned();
    assert_eq!(bound.before_end, begin, "its end waits");
    let expected = message(&[text(0, "let me"), text(1, "It is not there.")]);
    assert_eq!(bound.text, expected.replace(r#""stop_reason":"tool_use""#, r#""stop_reason":"end_turn""#));
}

#[test]
fn a_call_with_another_input_keeps_its_id_and_its_place() {
    let leg = message(&[text(0, "a"), tool(1, "t", "bash", &["{\"c\":", "\"rm\"}"]), tool(2, "u", "edit", &["{}"])]);
    let replace = |call: &Call| match call.name.as_str() {
        "bash" => Ruling::Replace(r#"{"c":"ls"}"#.to_owned()),
        _ => Ruling::Allow,
    };
    let bound = stream(&leg, asking(), None, replace);
    assert_eq!(
        bound.text,
        message(&[text(0, "a"), tool(1, "t", "bash", &["{\"c\":\"ls\"}"]), tool(2, "u", "edit", &["{}"])])
    );
    assert_eq!(bound.calls[0].call.input.get(), "{\"c\":\"rm\"}");
}

#[test]
fn nothing_but_the_call_is_held_while_it_comes() {
    let parts = [
        message(&[]).split("event: message_delta").next().unwrap().to_owned(),
        tool(0, "t", "bash", &["{}"])[..2].iter().map(frame).collect(),
        "event: ping\ndata: {\"type\": \"ping\"}\n\n: ka\n\n".to_owned(),
    ];
    let bound = stream(&parts.concat(), asking(), None, never);
    assert_eq!(bound.text, format!("{}{}", parts[0], parts[2]), "a call that was cut off is none");
    assert!(bound.calls.is_empty());
}

#[test]
fn a_stream_that_can_not_be_followed_does_not_go_on() {
    let mut leg = tool(0, "t", "bash", &["{}"])[..1].to_vec();
    leg.extend(text(1, "beside it"));
    let leg: String = leg.iter().map(frame).collect();
    for broken in
        [leg.as_str(), "event: content_block_start\ndata: {\"type\":\n\n", "data: {\"type\":1,\"type\":2}\n\n"]
    {
        let bound = bind(&Anthropic, AnswerForm::Sse, broken.as_bytes(), only(&[]), None, never);
        assert!(bound.is_err(), "{broken}: {bound:?}");
    }
}

#[test]
fn a_whole_body_is_bound_as_a_stream_is() {
    let body = r#"{"id":"m","type":"message", "content":[{"type":"text","text":"a"},{"type":"tool_use","id":"t","name":"bash","input":{"c":"rm"}},{"type":"tool_use","id":"u","name":"edit","input":{}}],"stop_reason":"tool_use","usage":{"output_tokens":1.0}}"#;
    let json = |binding, notice, decide: &dyn Fn(&Call) -> Ruling| {
        bind(&Anthropic, AnswerForm::Json, body.as_bytes(), binding, notice, decide).unwrap().text
    };
    assert_eq!(json(only(&["bash", "edit"]), None, &never), body);
    insta::assert_snapshot!(json(only(&["edit"]), None, &never), @r#"{"id":"m","type":"message","content":[{"type":"text","text":"a"},{"type":"tool_use","id":"u","name":"edit","input":{}}],"stop_reason":"tool_use","usage":{"output_tokens":1.0}}"#);
    insta::assert_snapshot!(json(only(&[]), Some("no"), &never), @r#"{"id":"m","type":"message","content":[{"type":"text","text":"a"},{"type":"text","text":"no"}],"stop_reason":"end_turn","usage":{"output_tokens":1.0}}"#);
    let replace = |call: &Call| if call.name == "bash" { Ruling::Replace("{\"c\":1}".into()) } else { Ruling::Allow };
    insta::assert_snapshot!(json(asking(), None, &replace), @r#"{"id":"m","type":"message","content":[{"type":"text","text":"a"},{"type":"tool_use","id":"t","name":"bash","input":{"c":1}},{"type":"tool_use","id":"u","name":"edit","input":{}}],"stop_reason":"tool_use","usage":{"output_tokens":1.0}}"#);
    let error = br#"{"type":"error","error":{"type":"overloaded_error","message":"x"}}"#;
    let passed = bind(&Anthropic, AnswerForm::Json, error, only(&[]), None, never).unwrap();
    assert_eq!(passed.text.as_bytes(), error);
}

fn restored(native: &str, stands: Stands, result: Option<LegResult>) -> Restored {
    Restored { native: native.to_owned(), stands, result }
}

#[test]
fn hidden_calls_stand_in_later_requests_as_the_model_made_them() {
    let body = r#"{"messages":[{"role":"user","content":"go"},{"role":"assistant","content":[{"type":"text","text":"a"},{"type":"tool_use","id":"u","name":"edit","input":{"y":2},"cache_control":{"type":"ephemeral"}}]},{"role":"user","content":[{"type":"tool_result","tool_use_id":"u","content":"done"},{"type":"text","text":"and now"}]}]}"#;
    let native = r#"{"type":"tool_use","id":"t","name":"bash","input":{"x":1}}"#;
    let calls = [
        restored(native, Stands::Before("u".to_owned()), told("t")),
        restored(
            r#"{"type":"tool_use","id":"u","name":"edit","input":{"y":1}}"#,
            Stands::Instead("u".to_owned()),
            None,
        ),
        restored(&native.replace("\"t\"", "\"v\""), Stands::Last, told("v")),
    ];
    let lowered = lower(PATH, body, &[Place::Restore { item: 1, calls: calls.to_vec().into() }]).unwrap();
    insta::assert_snapshot!(lowered, @r#"{"messages":[{"role":"user","content":"go"},{"role":"assistant","content":[{"type":"text","text":"a"},{"type":"tool_use","id":"t","name":"bash","input":{"x":1}},{"type":"tool_use","id":"u","name":"edit","input":{"y":1},"cache_control":{"type":"ephemeral"}},{"type":"tool_use","id":"v","name":"bash","input":{"x":1}}]},{"role":"user","content":[{"type":"tool_result","tool_use_id":"t","content":"no","is_error":true},{"type":"tool_result","tool_use_id":"v","content":"no","is_error":true},{"type":"tool_result","tool_use_id":"u","content":"done"},{"type":"text","text":"and now"}]}]}"#);
}

#[test]
fn a_call_is_not_put_back_where_its_result_has_no_place() {
    let body = r#"{"messages":[{"role":"user","content":"go"},{"role":"assistant","content":[{"type":"tool_use","id":"u","name":"edit","input":{}}]}]}"#;
    let call = restored("{}", Stands::Last, told("t"));
    assert_eq!(lower(PATH, body, &[Place::Restore { item: 1, calls: vec![call].into() }]).unwrap(), body);
}

#[test]
fn a_result_does_not_stand_without_its_call() {
    let body = r#"{"messages":[{"role":"user","content":"go"},{"role":"assistant","content":[{"type":"tool_use","id":"u","name":"edit","input":{}}]},{"role":"user","content":[{"type":"tool_result","tool_use_id":"u","content":"done"}]}]}"#;
    let call = restored("{}", Stands::Before("other".to_owned()), told("t"));
    assert_eq!(lower(PATH, body, &[Place::Restore { item: 1, calls: vec![call].into() }]).unwrap(), body);
}

#[test]
fn an_answer_is_taken_apart_and_its_last_part_gets_its_calls_back() {
    let body = r#"{"messages":[{"role":"user","content":"go"},{"role":"assistant","content":[{"type":"text","text":"one"},{"type":"text","text":"two"},{"type":"tool_use","id":"u","name":"edit","input":{}}]},{"role":"user","content":[{"type":"tool_result","tool_use_id":"u","content":"done"}]}]}"#;
    let first = r#"{"role":"assistant","content":[{"type":"text","text":"one"},{"type":"tool_use","id":"t1","name":"bash","input":{}}]}"#;
    let leg =
        Leg { id: None, answer: vec![first.to_owned()], reply: LegReply::Results(told("t1").into_iter().collect()) };
    let call = restored(
        r#"{"type":"tool_use","id":"t2","name":"bash","input":{}}"#,
        Stands::Before("u".to_owned()),
        told("t2"),
    );
    let places =
        [Place::Split { item: 1, legs: vec![leg].into() }, Place::Restore { item: 1, calls: vec![call].into() }];
    insta::assert_snapshot!(lower(PATH, body, &places).unwrap(), @r#"{"messages":[{"role":"user","content":"go"},{"role":"assistant","content":[{"type":"text","text":"one"},{"type":"tool_use","id":"t1","name":"bash","input":{}}]},{"role":"user","content":[{"type":"tool_result","tool_use_id":"t1","content":"no","is_error":true}]},{"role":"assistant","content":[{"type":"text","text":"two"},{"type":"tool_use","id":"t2","name":"bash","input":{}},{"type":"tool_use","id":"u","name":"edit","input":{}}]},{"role":"user","content":[{"type":"tool_result","tool_use_id":"t2","content":"no","is_error":true},{"type":"tool_result","tool_use_id":"u","content":"done"}]}]}"#);
}

#[test]
fn the_calls_of_an_answer_are_its_tool_use_blocks() {
    let message = r#"{"role":"assistant","content":[{"type":"server_tool_use","id":"s","name":"web_search","input":{}},{"type":"tool_use","id":"t","name":"a","input":{}},{"type":"text","text":"x"},{"type":"tool_use","id":"u","name":"b","input":{"k":1.0}}]}"#;
    assert_eq!(
        Anthropic.native_calls(&[message.to_owned()]),
        [
            r#"{"type":"tool_use","id":"t","name":"a","input":{}}"#,
            r#"{"type":"tool_use","id":"u","name":"b","input":{"k":1.0}}"#
        ]
    );
}
