use super::joiner::{Script, read};
use super::*;
use crate::context::{Binding, Call, Roster, Ruling};
use crate::dialect::BindError;
use crate::dialect::binder_testing::{
    Bound, asking, bind, deny, never, only, what_is_allowed_passes_byte_for_byte,
    what_is_refused_does_not_reach_the_client, what_waits_counts_once,
};
use std::collections::HashSet;

const ADDED: &str = "response.output_item.added";

fn call_item(id: &str, name: &str, arguments: &str) -> Value {
    json!({"id": format!("fc_{id}"), "type": "function_call", "call_id": id, "name": name, "arguments": arguments, "status": "completed"})
}

/// The events of a call.
fn call(script: Script, id: &str, name: &str, arguments: &[&str]) -> Script {
    let index = script.items.len();
    let all = arguments.concat();
    let place = |more: Value| {
        let mut fields = json!({"item_id": format!("fc_{id}"), "output_index": index});
        fields.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        fields
    };
    let mut script = script.event(ADDED, json!({"output_index": index, "item": call_item(id, name, "")}));
    for part in arguments {
        script = script.event("response.function_call_arguments.delta", place(json!({"delta": part})));
    }
    let script = script.event("response.function_call_arguments.done", place(json!({"arguments": all})));
    script.done(index, call_item(id, name, &all))
}

fn begin() -> Script {
    Script::start("resp_a").reasoning("rs_0")
}

fn end(script: Script) -> String {
    script.end("resp_a", 10, 5)
}

fn try_stream(
    leg: &str,
    binding: Binding,
    notice: Option<&str>,
    decide: impl Fn(&Call) -> Ruling,
) -> Result<Bound, BindError> {
    bind(&Responses, AnswerForm::Sse, leg.as_bytes(), binding, notice, decide)
}

fn stream(leg: &str, binding: Binding, notice: Option<&str>, decide: impl Fn(&Call) -> Ruling) -> Bound {
    try_stream(leg, binding, notice, decide).unwrap()
}

#[test]
fn recorded_streams_hold_to_the_law() {
    what_is_allowed_passes_byte_for_byte(&Responses);
    what_is_refused_does_not_reach_the_client(&Responses);
}

#[test]
fn a_call_that_waits_counts_once() {
    let part = "a".repeat(4096);
    let arguments = [&[r#"{"x":""#], [part.as_str(); 16].as_slice(), &[r#""}"#]].concat();
    what_waits_counts_once(&Responses, &end(call(begin(), "c", "bash", &arguments)));
}

#[test]
fn a_call_that_is_another_one_when_it_is_complete_does_not_go_down() {
    let (index, look) = (1, call_item("c", "look", ""));
    let event = |kind: &str, item: &Value| json!({"type": kind, "output_index": index, "item": item});
    for (complete, expected) in [
        (call_item("c", "look", "{}"), Ok(())),
        (call_item("c", "bash", "{}"), Err(BindError::Renamed)),
        (call_item("other", "look", "{}"), Err(BindError::Renamed)),
        (
            json!({"id": "fc_c", "type": "custom_tool_call", "call_id": "c", "name": "look", "input": "x"}),
            Err(BindError::Renamed),
        ),
        (json!({"id": "fc_c", "type": "message", "role": "assistant", "content": []}), Err(BindError::Renamed)),
    ] {
        let events = [event(ADDED, &look), event("response.output_item.done", &complete)];
        let text: String = events.iter().map(|event| format!("data: {event}\n\n")).collect();
        for binding in [only(&["look"]), asking()] {
            let bound = try_stream(&text, binding, None, |_| Ruling::Allow);
            assert_eq!(bound.map(drop), expected, "{complete}");
        }
    }
}

#[test]
fn a_kind_of_call_that_is_not_known_is_one_where_the_client_answers_it() {
    let item = |members: &str| format!(r#"{{"type":"strange_call","id":"x_1",{members}}}"#);
    for (members, name) in [
        (r#""call_id":"c""#, Some("strange")),
        (r#""call_id":"c","name":"bash""#, Some("bash")),
        (r#""call_id":"c","execution":"server""#, None),
        (r#""status":"completed""#, None),
    ] {
        let done = r#"{"type":"response.output_item.done","output_index":0,"item":"#;
        let text = format!("data: {done}{}}}\n\n", item(members));
        let called = |bound: &Bound| bound.calls.first().map(|ruled| ruled.call.name.clone());
        let asked = stream(&text, asking(), None, |_| Ruling::Refuse("no".to_owned()));
        assert_eq!((called(&asked).as_deref(), asked.text == text), (name, name.is_none()), "{members}");
        let bound = stream(&text, only(&["look"]), None, never);
        assert_eq!((called(&bound).as_deref(), bound.text.contains("x_1")), (name, name.is_none()), "{members}");
    }
}

#[test]
fn beside_an_allowed_call_a_refused_one_is_left_out_and_the_others_count_on() {
    let leg = call(call(begin(), "b", "bash", &["{\"x\"", ":1}"]), "e", "edit", &["{\"y\":", "2}"]);
    let leg = call(call(leg, "c", "bash", &[]).message("msg_4", "ok"), "f", "edit", &["{}"]);
    let leg = end(leg);
    let expected = call(begin(), "e", "edit", &["{\"y\":", "2}"]).message("msg_4", "ok");
    let expected = end(call(expected, "f", "edit", &["{}"]));
    let by_name = stream(&leg, only(&["edit"]), None, never);
    let by_hook = stream(&leg, asking(), None, deny("bash"));
    for bound in [by_name, by_hook] {
        assert_eq!(bound.text, expected);
        read(&bound.text, true);
        assert!(!bound.emptied);
        let calls: Vec<_> =
            bound.calls.iter().map(|r| (r.call.id.as_str(), r.call.input.get(), r.is_shown())).collect();
        assert_eq!((calls[0], calls[2]), (("b", "{\"x\":1}", false), ("c", "null", false)));
        assert!(calls[1].2 && calls[3].2);
    }
}

#[test]
fn an_answer_of_nothing_but_refused_calls_ended_by_itself() {
    let leg = end(call(begin().message("msg_1", "let me"), "b", "bash", &["{}"])) + "data: [DONE]\n\n";
    let bound = stream(&leg, only(&[]), Some("It is not there."), never);
    assert!(bound.emptied);
    let before = end(begin().message("msg_1", "let me"));
    assert_eq!(bound.before_end, before.split("event: response.completed").next().unwrap(), "its end waits");
    assert!(bound.text.ends_with("data: [DONE]\n\n"));
    let response = read(&bound.text, true);
    assert_eq!(response.text, "let meIt is not there.");
    let last = response.last.unwrap();
    assert_eq!((&last["status"], &last["output"]), (&json!("completed"), &Value::Array(response.items)));
    assert_eq!(last["output"][2]["id"], "msg_a_told");
    let silent = stream(&leg, asking(), None, deny("bash"));
    assert_eq!(silent.text, before + "data: [DONE]\n\n");
}

#[test]
fn a_call_with_another_input_keeps_its_id_and_its_place() {
    let leg = call(call(begin(), "b", "bash", &["{\"c\":", "\"rm\"}"]), "e", "edit", &["{}"]);
    let replace = |call: &Call| match call.name.as_str() {
        "bash" => Ruling::Replace(r#"{"c":"ls"}"#.to_owned()),
        _ => Ruling::Allow,
    };
    let bound = stream(&end(leg), asking(), None, replace);
    assert_eq!(bound.text, end(call(call(begin(), "b", "bash", &["{\"c\":\"ls\"}"]), "e", "edit", &["{}"])));
    assert_eq!(bound.calls[0].call.input.get(), "{\"c\":\"rm\"}");
}

#[test]
fn every_kind_of_call_gets_another_input_in_its_own_member() {
    let custom = String::from_utf8(sample("responses-custom-tool.sse")).unwrap();
    let bound = stream(&custom, asking(), None, |_| Ruling::Replace(r#""*** End""#.to_owned()));
    assert!(!bound.text.contains("Begin"), "{}", bound.text);
    assert_eq!(bound.text.matches("*** End").count(), 4, "{}", bound.text);
    for (item, old) in [
        (json!({"id": "i", "type": "local_shell_call", "call_id": "c", "action": {"command": ["rm"]}}), "rm"),
        (json!({"id": "i", "type": "shell_call", "call_id": "c", "action": {"commands": ["rm"]}}), "rm"),
        (json!({"id": "i", "type": "apply_patch_call", "call_id": "c", "operation": {"path": "rm"}}), "rm"),
        (json!({"id": "i", "type": "computer_call", "call_id": "c", "actions": [{"type": "rm"}]}), "rm"),
        (
            json!({"id": "i", "type": "tool_search_call", "call_id": "c", "execution": "client", "arguments": {"q": "rm"}}),
            "rm",
        ),
    ] {
        let script = begin().event(ADDED, json!({"output_index": 1, "item": item}));
        let script = script
            .event("response.shell_call_command.delta", json!({"output_index": 1, "command_index": 0, "delta": "rm"}));
        let leg = end(script.done(1, item.clone()));
        let bound = stream(&leg, asking(), None, |_| Ruling::Replace(r#"{"new":1}"#.to_owned()));
        assert!(!bound.text.contains(old), "{}", bound.text);
        assert_eq!(bound.text.matches(r#"{"new":1}"#).count(), 3, "{}", bound.text);
        read(&bound.text, true);
        assert_eq!(stream(&leg, asking(), None, |_| Ruling::Allow).text, leg);
        let gone = stream(&leg, only(&[]), None, never);
        assert!(gone.emptied && !gone.text.contains(old), "{}", gone.text);
    }
}

#[test]
fn calls_that_the_stream_did_not_bring_are_bound_in_the_last_event() {
    let mut script = begin();
    script.items.extend([call_item("b", "bash", "{}"), call_item("e", "edit", "{}")]);
    let leg = end(script);
    let mut expected = begin();
    expected.items.push(call_item("e", "edit", "{}"));
    assert_eq!(stream(&leg, only(&["edit"]), None, never).text, end(expected));
    let bound = stream(&leg, asking(), None, deny("bash"));
    assert_eq!(bound.calls.len(), 2);
    let emptied = stream(&leg, only(&[]), Some("no"), never);
    assert!(emptied.emptied);
    assert_eq!(read(&emptied.text, true).last.unwrap()["output"].as_array().unwrap().len(), 2);
}

#[test]
fn an_item_that_comes_complete_at_once_is_bound_too() {
    let script = begin().done(1, call_item("b", "bash", "{}")).done(2, call_item("e", "edit", "{}"));
    let leg = end(script);
    let expected = end(begin().done(1, call_item("e", "edit", "{}")));
    assert_eq!(stream(&leg, only(&["edit"]), None, never).text, expected);
    assert_eq!(stream(&leg, asking(), None, deny("bash")).text, expected);
}

#[test]
fn a_call_of_a_namespace_is_judged_by_both_its_names() {
    let mut item = call_item("b", "log", "{}");
    item["namespace"] = json!("git");
    let leg = end(begin().done(1, item));
    assert!(stream(&leg, only(&["log", "svn.log"]), None, never).emptied);
    assert_eq!(stream(&leg, only(&["log", "git.log"]), None, never).text, leg);
}

#[test]
fn nothing_but_the_call_is_held_while_it_comes() {
    let script = begin().event(ADDED, json!({"output_index": 1, "item": call_item("b", "bash", "")}));
    let script = script.event("keepalive", json!({}));
    let cut = script.stream() + ": ka\n\n";
    let bound = stream(&cut, asking(), None, never);
    assert_eq!(bound.text, begin().event("keepalive", json!({})).stream() + ": ka\n\n");
    assert!(bound.calls.is_empty(), "a call that was cut off is none");
}

#[test]
fn no_spelling_lets_a_call_through() {
    let bash = call_item("b", "bash", "{}").to_string();
    let edit = call_item("b", "edit", "{}").to_string();
    let event = |kind: &str, members: &str| format!("event: {kind}\ndata: {{\"type\":\"{kind}\",{members}}}\n\n");
    let done = |item: &str| event("response.output_item.done", &format!(r#""output_index":0,"item":{item}"#));
    let added = |item: &str| event(ADDED, &format!(r#""output_index":0,"item":{item}"#));
    let completed = |items: &str| {
        event("response.completed", &format!(r#""response":{{"id":"r","status":"completed","output":[{items}]}}"#))
    };
    for (leg, is_error) in [
        (done(&bash.replace("\"name\":", r#""name":"edit","n\u0061me":"#)), true),
        (done(&bash.replace("name", "n\\u0061me")), false),
        (done(&bash.replace("bash", "b\\u0061sh")), false),
        (done(&bash.replace(r#""bash""#, r#"["bash"]"#)), true),
        (added(&edit) + &done(&bash), true),
        (added(&edit) + &done(&edit.replace("\"call_id\":\"b\"", "\"call_id\":\"x\"")), true),
        (added(&edit) + &completed(&bash), true),
        (
            added(&edit)
                + &event(
                    "response.function_call_arguments.done",
                    r#""output_index":0,"item_id":"fc_b","name":"bash","arguments":"{}""#,
                ),
            true,
        ),
        (done(r#"{"id":"m","type":"message","content":[]}"#) + &done(&bash), true),
        (event("response.output_item.other", &format!(r#""output_index":0,"item":{bash}"#)), true),
        (event("response.in_progress", &format!(r#""response":{{"output":[{bash}]}}"#)), true),
        (event("response.other", &format!(r#""response":{{"output":[{bash}],"output":[]}}"#)), true),
        (
            format!(
                "event: ping\ndata: {{\"type\":\"response.output_item.done\",\"output_index\":0,\"item\":{bash}}}\n\n"
            ),
            true,
        ),
        (format!("event: response.output_item.done\ndata: {{\"output_index\":0,\"item\":{bash}}}\n\n"), false),
        (
            format!(
                "data: {{\"type\":\"response.output_item.done\",\"output_index\":0,\"item\":{edit},\"item\":{bash}}}\n\n"
            ),
            true,
        ),
        (completed(&bash) + &done(&edit), true),
        (format!("data: {{\"type\":\"{ADDED}\",\"item\":\n\n"), true),
    ] {
        let bound = try_stream(&leg, only(&["edit"]), None, never);
        assert_eq!(bound.is_err(), is_error, "{leg}: {bound:?}");
        if let Ok(bound) = bound {
            assert!(!bound.text.contains("sh\""), "{}", bound.text);
        }
    }
    let passing = "data: [DONE]\n\n: x\n\ndata: \"function_call\"\n\n";
    assert_eq!(stream(passing, only(&[]), None, never).text, passing);
}

#[test]
fn what_was_judged_is_what_the_client_gets() {
    let leg = end(call(begin(), "e", "edit", &["{}"]));
    let (stream_part, last) = leg.split_once("event: response.completed").unwrap();
    let other = format!(
        "{stream_part}event: response.completed{}",
        last.replace(r#""arguments":"{}""#, r#""arguments":"{\"x\":1}""#)
    );
    assert_eq!(try_stream(&other, asking(), None, |_| Ruling::Allow).unwrap_err(), BindError::Renamed);
}

#[test]
fn a_whole_body_is_bound_as_a_stream_is() {
    let items = [
        json!({"id": "rs", "type": "reasoning", "summary": []}),
        call_item("b", "bash", "{}"),
        call_item("e", "edit", "{}"),
    ];
    let body =
        json!({"id": "resp_a", "status": "completed", "output": items, "usage": {"output_tokens": 1.0}}).to_string();
    let json = |binding, notice, decide: &dyn Fn(&Call) -> Ruling| {
        bind(&Responses, AnswerForm::Json, body.as_bytes(), binding, notice, decide).unwrap().text
    };
    assert_eq!(json(only(&["bash", "edit"]), None, &never), body);
    insta::assert_snapshot!(json(only(&["edit"]), None, &never), @r#"{"id":"resp_a","status":"completed","output":[{"id":"rs","type":"reasoning","summary":[]},{"id":"fc_e","type":"function_call","call_id":"e","name":"edit","arguments":"{}","status":"completed"}],"usage":{"output_tokens":1.0}}"#);
    insta::assert_snapshot!(json(only(&[]), Some("no"), &never), @r#"{"id":"resp_a","status":"completed","output":[{"id":"rs","type":"reasoning","summary":[]},{"id":"msg_a_told","type":"message","role":"assistant","status":"completed","content":[{"type":"output_text","text":"no","annotations":[],"logprobs":[]}]}],"usage":{"output_tokens":1.0}}"#);
    let replace = |call: &Call| if call.name == "bash" { Ruling::Replace("{\"c\":1}".into()) } else { Ruling::Allow };
    insta::assert_snapshot!(json(asking(), None, &replace), @r#"{"id":"resp_a","status":"completed","output":[{"id":"rs","type":"reasoning","summary":[]},{"id":"fc_b","type":"function_call","call_id":"b","name":"bash","arguments":"{\"c\":1}","status":"completed"},{"id":"fc_e","type":"function_call","call_id":"e","name":"edit","arguments":"{}","status":"completed"}],"usage":{"output_tokens":1.0}}"#);
    let passing = r#"{"error":{"message":"x"}}"#;
    assert_eq!(bind(&Responses, AnswerForm::Json, passing.as_bytes(), only(&[]), None, never).unwrap().text, passing);
    for broken in [
        "<html>",
        r#"["function_call"]"#,
        r#"{"output":[{"type":"function_call","name":"edit","name":"bash"}]}"#,
        r#"{"output":[],"output":[{"type":"function_call","name":"bash"}]}"#,
        r#"{"output":["#,
    ] {
        let bound = bind(&Responses, AnswerForm::Json, broken.as_bytes(), only(&["edit"]), None, never);
        assert!(bound.is_err(), "{broken}: {bound:?}");
    }
}

#[test]
fn the_calls_of_an_answer_are_its_items() {
    let items = [
        r#"{"type":"reasoning","id":"r"}"#,
        r#"{"type":"function_call","call_id":"a","name":"x","arguments":"{ }"}"#,
        r#"{"type":"web_search_call","id":"w"}"#,
        r#"{"type":"custom_tool_call","call_id":"b","name":"y","input":"z"}"#,
    ];
    assert_eq!(Responses.native_calls(&items.map(str::to_owned)), [items[1], items[3]]);
}

/// All names of calls that a stream shows, wherever they stand.
fn names(stream: &str) -> Vec<String> {
    fn collect(value: &Value, names: &mut Vec<String>) {
        match value {
            Value::Object(members) => {
                let is_call = members.get("type").and_then(Value::as_str).is_some_and(|kind| kind.ends_with("_call"));
                if is_call && let Some(name) = members.get("name").and_then(Value::as_str) {
                    names.push(name.to_owned());
                }
                members.values().for_each(|value| collect(value, names));
            }
            Value::Array(list) => list.iter().for_each(|value| collect(value, names)),
            _ => {}
        }
    }
    let mut names: Vec<String> =
        RESPONSES.streamed(stream.as_bytes()).calls.into_iter().map(|call| call.name).collect();
    for (_, data) in frames(stream.as_bytes()) {
        if let Ok(data) = serde_json::from_slice::<Value>(&data) {
            collect(&data, &mut names);
        }
    }
    names
}

fn any_item() -> impl Strategy<Value = Value> {
    let names = proptest::sample::select(vec!["a", "b", "c", ""]);
    let ids = proptest::sample::select(vec!["x", "y", "z", ""]);
    let kinds =
        proptest::sample::select(vec!["function_call", "function_call", "custom_tool_call", "message", "reasoning"]);
    (kinds, ids, names, any::<bool>()).prop_map(|(kind, id, name, full)| {
        json!({"type": kind, "id": format!("i{id}"), "call_id": id, "name": name, "arguments": if full { "{}" } else { "" }, "input": "", "content": []})
    })
}

fn any_event() -> impl Strategy<Value = String> {
    let kinds = proptest::sample::select(vec![
        ADDED,
        ADDED,
        "response.output_item.done",
        "response.output_item.done",
        "response.function_call_arguments.delta",
        "response.function_call_arguments.done",
        "response.other",
        "response.completed",
        "response.in_progress",
        "",
    ]);
    let item = proptest::option::of(any_item());
    (kinds, 0u64..4, item, proptest::collection::vec(any_item(), 0..3), any::<u8>()).prop_map(
        |(kind, index, item, output, bits)| {
            let mut event = json!({"type": kind});
            if bits & 1 == 0 {
                event["output_index"] = json!(index);
            }
            if bits & 2 == 0 {
                event["sequence_number"] = json!(u64::from(bits));
            }
            if bits & 12 == 0 {
                event["item_id"] = json!("ix");
            }
            if kind.contains("item") || bits & 16 == 0 {
                item.into_iter().for_each(|item| event["item"] = item);
            }
            if matches!(kind, "response.completed" | "response.in_progress") || bits & 224 == 0 {
                event["response"] = json!({"id": "r", "status": "completed", "output": output});
            }
            format!("data: {event}\n\n")
        },
    )
}

/// A legal response with these calls and texts.
fn legal(items: &[Option<&str>]) -> String {
    let mut script = Script::start("resp_a");
    for (index, item) in items.iter().enumerate() {
        script = match item {
            Some(name) => call(script, &format!("c{index}"), name, &["{", "}"]),
            None => script.message(&format!("msg_{index}"), "t"),
        };
    }
    end(script)
}

proptest! {
    #[test]
    fn no_order_of_events_lets_a_refused_name_through(
        leg in proptest::collection::vec(any_event(), 0..8),
        all_but in any::<bool>(),
        asks in any::<bool>(),
    ) {
        let known: HashSet<String> = ["a", "c"].map(str::to_owned).into();
        let tools = if all_but { Roster::AllBut { removed: known, gone: vec![], kept: vec![] } } else { Roster::Only(known) };
        let decide = |call: &Call| match call.name.as_str() {
            "c" => Ruling::Refuse("no".to_owned()),
            _ => Ruling::Replace("{}".to_owned()),
        };
        let leg = leg.concat();
        if let Ok(bound) = try_stream(&leg, Binding { tools: tools.clone(), asks }, Some("told"), decide) {
            for name in names(&bound.text) {
                prop_assert!(tools.has(&name) && !(asks && name == "c"), "{name} in\n{}\nof\n{leg}", bound.text);
            }
        }
    }

    #[test]
    fn what_is_left_of_a_response_is_a_response(
        items in proptest::collection::vec(proptest::sample::select(vec![None, Some("a"), Some("b")]), 0..7),
        asks in any::<bool>(),
    ) {
        let binding = if asks { asking() } else { only(&["a"]) };
        let bound = stream(&legal(&items), binding, Some("told"), deny("b"));
        let response = read(&bound.text, true);
        prop_assert_eq!(response.last.unwrap()["output"].clone(), Value::Array(response.items));
        let left: Vec<Option<&str>> = items.iter().copied().filter(|item| *item != Some("b")).collect();
        prop_assert_eq!(bound.emptied, items.contains(&Some("b")) && !items.contains(&Some("a")));
        prop_assert_eq!(names(&bound.text).len(), 4 * left.iter().flatten().count());
    }

    #[test]
    fn hostile_pieces_are_survived(pieces in proptest::collection::vec(prop_oneof![
        "\\PC{0,40}".prop_map(|text| format!("data: {text}\n\n")),
        any_event(),
    ], 0..6)) {
        for binding in [only(&["a"]), asking()] {
            let _ = try_stream(&pieces.concat(), binding, Some("x"), |_| Ruling::Allow);
        }
        let body = pieces.concat();
        let _ = bind(&Responses, AnswerForm::Json, body.trim_start_matches("data: ").as_bytes(), only(&["a"]), Some("x"), |_| Ruling::Allow);
    }
}
