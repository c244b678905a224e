use super::*;
use crate::context::{Binding, Call, Roster, Ruling};
use crate::dialect::BindError;
use crate::dialect::binder_testing::{
    Bound, asking, bind, deny, never, only, what_is_allowed_passes_byte_for_byte,
    what_is_refused_does_not_reach_the_client, what_waits_counts_once,
};
use std::collections::{BTreeMap, HashSet};

fn chunk(choices: &Value) -> String {
    format!("data: {{\"id\":\"a\",\"model\":\"m\",\"choices\":{choices}}}\n\n")
}

fn delta(delta: &Value) -> String {
    chunk(&json!([{"index": 0, "delta": delta, "finish_reason": null}]))
}

fn end(reason: &str) -> String {
    chunk(&json!([{"index": 0, "delta": {}, "finish_reason": reason}])) + "data: [DONE]\n\n"
}

/// The start of a call.
fn start(index: u64, id: &str, name: &str) -> Value {
    json!({"index": index, "id": id, "type": "function", "function": {"name": name, "arguments": ""}})
}

fn more(index: u64, arguments: &str) -> Value {
    json!({"index": index, "function": {"arguments": arguments}})
}

fn call(index: u64, id: &str, name: &str, arguments: &[&str]) -> String {
    let calls = arguments.iter().map(|arguments| more(index, arguments));
    std::iter::once(start(index, id, name)).chain(calls).map(|call| delta(&json!({"tool_calls": [call]}))).collect()
}

fn text(text: &str) -> String {
    delta(&json!({"content": text}))
}

fn try_stream(
    leg: &str,
    binding: Binding,
    notice: Option<&str>,
    decide: impl Fn(&Call) -> Ruling,
) -> Result<Bound, BindError> {
    bind(&Chat, AnswerForm::Sse, leg.as_bytes(), binding, notice, decide)
}

fn stream(leg: &str, binding: Binding, notice: Option<&str>, decide: impl Fn(&Call) -> Ruling) -> Bound {
    try_stream(leg, binding, notice, decide).unwrap()
}

#[test]
fn recorded_streams_hold_to_the_law() {
    what_is_allowed_passes_byte_for_byte(&Chat);
    what_is_refused_does_not_reach_the_client(&Chat);
}

#[test]
fn a_call_that_waits_counts_once() {
    let part = "a".repeat(4096);
    let arguments = [&[r#"{"x":""#], [part.as_str(); 16].as_slice(), &[r#""}"#]].concat();
    what_waits_counts_once(&Chat, &(call(0, "c", "bash", &arguments) + &end("tool_calls")));
}

#[test]
fn beside_an_allowed_call_a_refused_one_is_left_out_and_the_others_count_on() {
    let leg = text("let me")
        + &call(0, "b", "bash", &["{\"x\"", ":1}"])
        + &call(1, "e", "edit", &["{\"y\":", "2}"])
        + &call(2, "c", "bash", &[])
        + &call(3, "f", "edit", &["{}"])
        + &end("tool_calls");
    let expected = text("let me")
        + &call(0, "e", "edit", &["{\"y\":", "2}"])
        + &call(1, "f", "edit", &["{}"])
        + &end("tool_calls");
    let by_name = stream(&leg, only(&["edit"]), None, never);
    let by_hook = stream(&leg, asking(), None, deny("bash"));
    for bound in [by_name, by_hook] {
        assert_eq!(bound.text, expected);
        assert!(!bound.emptied);
        let calls: Vec<_> =
            bound.calls.iter().map(|r| (r.call.id.as_str(), r.call.input.get(), r.is_shown())).collect();
        assert_eq!((calls[0], calls[2]), (("b", "{\"x\":1}", false), ("c", "null", false)));
        assert!(calls[1].2 && calls[3].2);
    }
}

#[test]
fn an_answer_of_nothing_but_refused_calls_ended_by_itself() {
    let usage = "data: {\"id\":\"a\",\"choices\":[],\"usage\":{\"prompt_tokens\":1}}\n\n";
    let finish = |reason: &str| end(reason).replace("data: [DONE]", &format!("{usage}data: [DONE]"));
    let leg = text("let me") + &call(0, "b", "bash", &["{}"]) + &finish("tool_calls");
    let bound = stream(&leg, only(&[]), Some("It is not there."), never);
    assert!(bound.emptied);
    assert_eq!(bound.before_end, text("let me"), "its end waits");
    let notice = text("\n\nIt is not there.");
    assert_eq!(bound.text, text("let me") + &notice + &finish("stop"));
    let silent = stream(&leg, asking(), None, deny("bash"));
    assert_eq!(silent.text, text("let me") + &finish("stop"));
}

#[test]
fn a_call_with_another_input_keeps_its_id_and_its_place() {
    let leg = call(0, "b", "bash", &["{\"c\":", "\"rm\"}"]) + &call(1, "e", "edit", &["{}"]) + &end("tool_calls");
    let replace = |call: &Call| match call.name.as_str() {
        "bash" => Ruling::Replace(r#"{"c":"ls"}"#.to_owned()),
        _ => Ruling::Allow,
    };
    let bound = stream(&leg, asking(), None, replace);
    let mut now = start(0, "b", "bash");
    now["function"]["arguments"] = json!(r#"{"c":"ls"}"#);
    let expected = delta(&json!({"tool_calls": [now]})) + &call(1, "e", "edit", &["{}"]) + &end("tool_calls");
    assert_eq!(bound.text, expected);
    assert_eq!(bound.calls[0].call.input.get(), "{\"c\":\"rm\"}");
}

#[test]
fn a_free_text_and_the_old_call_get_another_input_too() {
    let custom = String::from_utf8(sample("chat-custom-tool.sse")).unwrap();
    let bound = stream(&custom, asking(), None, |_| Ruling::Replace(r#""select 2""#.to_owned()));
    assert_eq!(naive(&bound.text)[&0].calls, [("run_sql".to_owned(), "select 2".to_owned())]);
    let old = String::from_utf8(sample("chat-function-call-legacy.sse")).unwrap();
    let bound = stream(&old, asking(), None, |_| Ruling::Replace(r#"{"a":2}"#.to_owned()));
    assert_eq!(naive(&bound.text)[&0].calls, [("old_fn".to_owned(), r#"{"a":2}"#.to_owned())]);
    let bound = stream(&old, only(&[]), None, never);
    assert!(bound.text.contains(r#""role":"assistant""#) && bound.text.contains(r#""finish_reason":"stop""#));
}

#[test]
fn what_stands_beside_a_call_in_one_chunk_passes_at_once() {
    let all = json!([{"index": 0, "delta": {"role": "assistant", "content": "look", "tool_calls": [
        start(0, "b", "bash"), start(1, "e", "edit"), more(0, "{}"), more(1, "{}")]}, "finish_reason": "tool_calls"}]);
    let leg = chunk(&all) + "data: [DONE]\n\n";
    let bound = stream(&leg, only(&["edit"]), None, never);
    let now = json!([start(0, "e", "edit"), more(0, "{}")]);
    assert_eq!(
        bound.text,
        delta(&json!({"role": "assistant", "content": "look", "tool_calls": now})) + &end("tool_calls")
    );
    let bound = stream(&leg, asking(), None, deny("edit"));
    let now = json!([start(0, "b", "bash"), more(0, "{}")]);
    let expected = delta(&json!({"role": "assistant", "content": "look"}))
        + &delta(&json!({"tool_calls": now}))
        + &end("tool_calls");
    assert_eq!(bound.text, expected);
    let emptied = stream(&leg, only(&[]), Some("no"), never);
    assert_eq!(emptied.before_end, delta(&json!({"role": "assistant", "content": "look"})));
    assert_eq!(emptied.text, emptied.before_end.clone() + &text("\n\nno") + &end("stop"));
}

#[test]
fn each_choice_is_bound_and_the_leg_is_emptied_where_none_calls() {
    let of = |index: u64, delta: Value, finish: Option<&str>| {
        chunk(&json!([{"index": index, "delta": delta, "finish_reason": finish}]))
    };
    let calls = |index, name| of(index, json!({"tool_calls": [start(0, "b", name)]}), None);
    let done = "data: [DONE]\n\n";
    let leg = calls(0, "bash")
        + &of(1, json!({"content": "hi"}), None)
        + &of(0, json!({}), Some("tool_calls"))
        + &of(1, json!({}), Some("stop"))
        + done;
    let bound = stream(&leg, only(&[]), Some("no"), never);
    assert!(bound.emptied);
    let expected = of(1, json!({"content": "hi"}), None)
        + &of(1, json!({}), Some("stop"))
        + &of(0, json!({"content": "no"}), None)
        + &of(0, json!({}), Some("stop"))
        + done;
    assert_eq!(bound.text, expected);
    let leg = calls(0, "bash") + &of(0, json!({}), Some("tool_calls")) + &calls(1, "edit") + done;
    let bound = stream(&leg, only(&["edit"]), Some("no"), never);
    assert!(!bound.emptied);
    assert_eq!(bound.text, of(0, json!({}), Some("stop")) + &calls(1, "edit") + done);
    let both = chunk(&json!([
        {"index": 0, "delta": {"tool_calls": [start(0, "b", "bash")]}, "finish_reason": "tool_calls"},
        {"index": 1, "delta": {"content": "x"}, "finish_reason": "stop"}]));
    let bound = stream(&(both + done), only(&[]), None, never);
    assert_eq!(naive(&bound.text)[&1].text, "x");
    assert!(bound.emptied && naive(&bound.text)[&0].calls.is_empty());
}

#[test]
fn servers_that_leave_the_index_out_or_repeat_it_are_followed() {
    let bare =
        |id: &str, name: &str| json!({"id": id, "type": "function", "function": {"name": name, "arguments": "{}"}});
    let leg = delta(&json!({"tool_calls": [bare("b", "bash"), bare("e", "edit")]})) + &end("stop");
    assert_eq!(
        stream(&leg, only(&["edit"]), None, never).text,
        delta(&json!({"tool_calls": [bare("e", "edit")]})) + &end("stop")
    );
    let leg = call(0, "b", "bash", &["{}"]) + &call(0, "e", "edit", &["{}"]) + &end("tool_calls");
    let bound = stream(&leg, only(&["edit"]), None, never);
    assert_eq!(bound.text, call(0, "e", "edit", &["{}"]) + &end("tool_calls"));
    // SDKs would add up two calls of one index.
    let leg = call(0, "1", "rm", &["{}"]) + &call(0, "2", "dir", &["{}"]) + &end("tool_calls");
    let bound = stream(&leg, only(&["rm", "dir"]), None, never);
    assert_eq!(bound.text, call(0, "1", "rm", &["{}"]) + &call(1, "2", "dir", &["{}"]) + &end("tool_calls"));
}

#[test]
fn a_name_in_parts_is_judged_as_clients_put_it_together() {
    let parts = |names: &[&str]| {
        let calls = names.iter().map(|name| {
            delta(&json!({"tool_calls": [{"index": 0, "id": "c", "function": {"name": name, "arguments": ""}}]}))
        });
        calls.collect::<String>() + &end("tool_calls")
    };
    let renamed = try_stream(&parts(&["rm", "dir"]), only(&["rm", "rmdir"]), None, never);
    assert_eq!(renamed.unwrap_err(), BindError::Renamed);
    let refused = stream(&parts(&["ba", "sh"]), only(&["bash"]), None, never);
    assert!(refused.emptied && refused.calls[0].call.name == "bash", "no client that takes the first part may call it");
    let asked = Binding { asks: true, ..only(&["rm"]) };
    assert!(stream(&parts(&["rm", "dir"]), asked, None, never).emptied);
    let asked = stream(&parts(&["get_", "weather"]), asking(), None, |call| {
        assert_eq!(call.name, "get_weather");
        Ruling::Allow
    });
    assert_eq!(naive(&asked.text)[&0].calls, [("get_weather".to_owned(), String::new())]);
    // A name that is said again is the same name, for every client.
    let again = stream(&parts(&["rm", "", "rm"]), only(&["rm"]), None, never);
    assert_eq!(naive(&again.text)[&0].calls, [("rm".to_owned(), String::new())]);
}

#[test]
fn a_call_that_gets_its_name_late_waits_for_it() {
    let first = delta(&json!({"tool_calls": [{"index": 0, "function": {"arguments": "{\"x\":"}}]}));
    let second =
        delta(&json!({"tool_calls": [{"index": 0, "id": "c", "function": {"name": "edit", "arguments": "1}"}}]}));
    let leg = format!("{first}{second}{}", end("tool_calls"));
    assert_eq!(stream(&leg, only(&["edit"]), None, never).text, leg);
    let refused = stream(&leg, only(&[]), None, never);
    assert!(refused.emptied);
    assert_eq!(refused.calls[0].call.input.get(), "{\"x\":1}");
}

#[test]
fn nothing_but_the_call_is_held_while_it_comes() {
    let leg = text("a") + &call(0, "b", "bash", &["{}"]) + ": ka\n\n" + &text("b");
    let bound = stream(&leg, asking(), None, never);
    assert_eq!(bound.text, text("a") + ": ka\n\n" + &text("b"), "a call that was cut off is none");
    assert!(bound.calls.is_empty());
}

#[test]
fn no_spelling_lets_a_call_through() {
    let call = r#"{"index":0,"id":"c","function":{"name":"bash","arguments":"{}"}}"#;
    let wrap = |choice: &str| format!("data: {{\"choices\":[{{\"index\":0,{choice}}}]}}\n\n");
    for (leg, is_error) in [
        (wrap(&format!(r#""delta":{{"tool_calls":[],"tool_calls":[{call}]}}"#)), true),
        (wrap(&format!(r#""delta":{{}},"delta":{{"tool_calls":[{call}]}}"#)), true),
        (wrap(&format!(r#""delta":{{"tool_c\u0061lls":[{call}]}}"#)), false),
        (wrap(&format!(r#""delta":{{"tool_calls":[{}]}}"#, call.replace("name", "n\\u0061me"))), false),
        (
            wrap(&format!(r#""delta":{{"tool_calls":[{}]}}"#, call.replace(r#""name":"#, r#""name":"edit","name":"#))),
            true,
        ),
        (wrap(&format!(r#""delta":{{"tool_calls":[{}]}}"#, call.replace("bash", "b\\u0061sh"))), false),
        (wrap(r#""delta":{"tool_calls":[{"function":{"name":"edit"},"custom":{"name":"bash"}}]}"#), true),
        (wrap(r#""delta":{"tool_calls":[{"function":{"name":["bash"]}}]}"#), true),
        (wrap(r#""delta":{"tool_calls":{"0":{"function":{"name":"bash"}}}}"#), true),
        (wrap(&format!(r#""message":{{"role":"assistant","tool_calls":[{call}]}}"#)), true),
        (wrap(&format!(r#""delta":{{}},"finish_reason":"stop","message":{{"tool_calls":[{call}]}}"#)), true),
        (format!("event: error\ndata: {{\"choices\":[{{\"delta\":{{\"tool_calls\":[{call}]}}}}]}}\n\n"), false),
        ("data: {\"choices\":\n\n".to_owned(), true),
    ] {
        let bound = try_stream(&leg, only(&["edit"]), None, never);
        assert_eq!(bound.is_err(), is_error, "{leg}: {bound:?}");
        if let Ok(bound) = bound {
            assert!(!bound.text.contains("sh\""), "{}", bound.text);
        }
    }
    let passing = "data: [DONE]\n\n: x\n\ndata: \"tool_calls\"\n\ndata: {\"error\":{\"message\":\"x\"}}\n\n";
    assert_eq!(stream(passing, only(&[]), None, never).text, passing);
}

#[test]
fn a_call_behind_the_end_is_refused_with_the_leg() {
    let end = end("stop");
    let end = end.split("data: [DONE]").next().unwrap();
    let leg = call(0, "b", "bash", &["{}"]) + end + &call(0, "c", "edit", &["{}"]);
    assert!(try_stream(&leg, only(&["edit"]), None, never).is_err());
}

#[test]
fn a_whole_body_is_bound_as_a_stream_is() {
    let tool =
        |id: &str, name: &str| json!({"id": id, "type": "function", "function": {"name": name, "arguments": "{}"}});
    let message = json!({"role": "assistant", "content": null, "tool_calls": [tool("b", "bash"), tool("e", "edit")]});
    let body = json!({"id": "a", "choices": [{"index": 0, "message": message, "finish_reason": "tool_calls"}], "usage": {"completion_tokens": 1.0}}).to_string();
    let json = |binding, notice, decide: &dyn Fn(&Call) -> Ruling| {
        bind(&Chat, AnswerForm::Json, body.as_bytes(), binding, notice, decide).unwrap().text
    };
    assert_eq!(json(only(&["bash", "edit"]), None, &never), body);
    insta::assert_snapshot!(json(only(&["edit"]), None, &never), @r#"{"id":"a","choices":[{"index":0,"message":{"role":"assistant","content":null,"tool_calls":[{"id":"e","type":"function","function":{"name":"edit","arguments":"{}"}}]},"finish_reason":"tool_calls"}],"usage":{"completion_tokens":1.0}}"#);
    insta::assert_snapshot!(json(only(&[]), Some("no"), &never), @r#"{"id":"a","choices":[{"index":0,"message":{"role":"assistant","content":"no"},"finish_reason":"stop"}],"usage":{"completion_tokens":1.0}}"#);
    let replace = |call: &Call| if call.name == "bash" { Ruling::Replace("{\"c\":1}".into()) } else { Ruling::Allow };
    insta::assert_snapshot!(json(asking(), None, &replace), @r#"{"id":"a","choices":[{"index":0,"message":{"role":"assistant","content":null,"tool_calls":[{"id":"b","type":"function","function":{"name":"bash","arguments":"{\"c\":1}"}},{"id":"e","type":"function","function":{"name":"edit","arguments":"{}"}}]},"finish_reason":"tool_calls"}],"usage":{"completion_tokens":1.0}}"#);
    let old = r#"{"choices":[{"message":{"content":"x","function_call":{"name":"bash","arguments":"{}"}},"finish_reason":"function_call"}]}"#;
    let bound = bind(&Chat, AnswerForm::Json, old.as_bytes(), only(&[]), Some("no"), never).unwrap();
    assert_eq!(bound.text, r#"{"choices":[{"message":{"content":"x\n\nno"},"finish_reason":"stop"}]}"#);
    let passing = r#"{"error":{"message":"x"}}"#;
    assert_eq!(bind(&Chat, AnswerForm::Json, passing.as_bytes(), only(&[]), None, never).unwrap().text, passing);
    for broken in [
        "<html>",
        r#"["tool_calls"]"#,
        r#"{"choices":[{"message":{"tool_calls":[{"function":{"name":"edit","name":"bash"}}]}}]}"#,
        r#"{"choices":[{"message":{"tool_calls":[{"function":{"name":"edit"},"custom":{"name":"bash"}}]}}]}"#,
        r#"{"choices":[{"delta":{"tool_calls":[{"function":{"name":"bash"}}]}}]}"#,
        r#"{"choices":["#,
    ] {
        let bound = bind(&Chat, AnswerForm::Json, broken.as_bytes(), only(&["edit"]), None, never);
        assert!(bound.is_err(), "{broken}: {bound:?}");
    }
}

#[test]
fn the_calls_of_an_answer_are_the_elements_of_its_messages() {
    let message = r#"{"role":"assistant","content":null,"tool_calls":[{"id":"a","function":{"name":"x","arguments":"{ }"}}, {"id":"b"}]}"#;
    assert_eq!(
        Chat.native_calls(&[message.to_owned(), r#"{"role":"assistant","content":"x"}"#.to_owned()]),
        [r#"{"id":"a","function":{"name":"x","arguments":"{ }"}}"#, r#"{"id":"b"}"#]
    );
}

/// What SDKs make of a choice: names and inputs of one index are added up.
#[derive(Debug, Default)]
struct Heard {
    text: String,
    calls: Vec<(String, String)>,
}

fn naive(stream: &str) -> BTreeMap<u64, Heard> {
    type Sums = (String, BTreeMap<u64, (String, String)>);
    let mut heard: BTreeMap<u64, Sums> = BTreeMap::new();
    for (_, data) in frames(stream.as_bytes()) {
        let Ok(chunk) = serde_json::from_slice::<Value>(&data) else { continue };
        for choice in chunk["choices"].as_array().into_iter().flatten() {
            let (text, calls) = heard.entry(choice["index"].as_u64().unwrap_or(0)).or_default();
            *text += choice["delta"]["content"].as_str().unwrap_or_default();
            let mut add = |index: u64, called: &Value| {
                let known = calls.entry(index).or_default();
                known.0 += called["name"].as_str().unwrap_or_default();
                known.1 += called["arguments"].as_str().or(called["input"].as_str()).unwrap_or_default();
            };
            for call in choice["delta"]["tool_calls"].as_array().into_iter().flatten() {
                let index = call["index"].as_u64().unwrap_or(0);
                add(index, &Value::Null);
                [&call["function"], &call["custom"]].into_iter().for_each(|called| add(index, called));
            }
            if choice["delta"]["function_call"].is_object() {
                add(u64::MAX, &choice["delta"]["function_call"]);
            }
        }
    }
    heard
        .into_iter()
        .map(|(index, (text, calls))| (index, Heard { text, calls: calls.into_values().collect() }))
        .collect()
}

fn any_call() -> impl Strategy<Value = Value> {
    let names = prop_oneof![Just(None), proptest::sample::select(vec!["a", "b", "ab", "ba", "aa", ""]).prop_map(Some)];
    let ids = prop_oneof![Just(None), proptest::sample::select(vec!["", "x", "y", "z"]).prop_map(Some)];
    let index = prop_oneof![Just(None), (0u64..3).prop_map(Some)];
    (index, ids, names, any::<bool>()).prop_map(|(index, id, name, custom)| {
        let mut call = json!({});
        index.into_iter().for_each(|index| call["index"] = json!(index));
        id.into_iter().for_each(|id| call["id"] = json!(id));
        let (key, input) = if custom && name == Some("b") { ("custom", "input") } else { ("function", "arguments") };
        call[key] = json!({input: "{}"});
        name.into_iter().for_each(|name| call[key]["name"] = json!(name));
        call
    })
}

fn any_chunk() -> impl Strategy<Value = String> {
    let finish = prop_oneof![4 => Just(None), 1 => proptest::sample::select(vec!["stop", "tool_calls"]).prop_map(Some)];
    let calls = proptest::collection::vec(any_call(), 0..4);
    let old = prop_oneof![5 => Just(None), 1 => proptest::sample::select(vec!["a", "b", ""]).prop_map(Some)];
    let choice = (0u64..2, calls, old, any::<bool>(), finish).prop_map(|(index, calls, old, text, finish)| {
        let mut delta = json!({});
        if !calls.is_empty() {
            delta["tool_calls"] = json!(calls);
        }
        old.into_iter().for_each(|name| delta["function_call"] = json!({"name": name, "arguments": ""}));
        if text {
            delta["content"] = json!("t");
        }
        json!({"index": index, "delta": delta, "finish_reason": finish})
    });
    prop_oneof![
        12 => proptest::collection::vec(choice, 1..3).prop_map(|choices| chunk(&json!(choices))),
        1 => Just("data: [DONE]\n\n".to_owned()),
        1 => Just("data: {\"choices\":[],\"usage\":{}}\n\n".to_owned()),
        1 => Just(": x\n\n".to_owned()),
    ]
}

/// The names that a client would call, however it reads.
fn names(stream: &str) -> Vec<String> {
    let mut names: Vec<String> = naive(stream).into_values().flat_map(|heard| heard.calls).map(|call| call.0).collect();
    names.extend(CHAT.streamed(stream.as_bytes()).calls.into_iter().map(|call| call.name));
    names.retain(|name| !name.is_empty());
    names
}

proptest! {
    #[test]
    fn no_order_of_pieces_lets_a_refused_name_through(
        leg in proptest::collection::vec(any_chunk(), 0..8),
        allowed in proptest::collection::hash_set(proptest::sample::select(vec!["a", "b", "ab", "aa"]), 0..3),
        all_but in any::<bool>(),
        asks in any::<bool>(),
    ) {
        let leg = leg.concat();
        let known: HashSet<String> = allowed.into_iter().map(str::to_owned).collect();
        let tools = if all_but {
            Roster::AllBut { removed: known, gone: vec![], kept: vec![] }
        } else {
            Roster::Only(known)
        };
        let decide = |call: &Call| match call.name.as_str() {
            "ab" => Ruling::Refuse("no".to_owned()),
            "aa" => Ruling::Replace("{}".to_owned()),
            _ => Ruling::Allow,
        };
        if let Ok(bound) = try_stream(&leg, Binding { tools: tools.clone(), asks }, Some("told"), decide) {
            for name in names(&bound.text) {
                prop_assert!(tools.has(&name), "{name} in\n{}\nof\n{leg}", bound.text);
                prop_assert!(!asks || name != "ab" , "{name} in\n{}\nof\n{leg}", bound.text);
            }
        }
    }

    #[test]
    fn hostile_pieces_are_survived(pieces in proptest::collection::vec(prop_oneof![
        "\\PC{0,40}".prop_map(|text| format!("data: {text}\n\n")),
        any_chunk(),
        r#"\{"choices":\[\{"delta":(\{|\[|null|"tool_calls"|:|\}|1){0,6}"#.prop_map(|text| format!("data: {text}\n\n")),
    ], 0..6)) {
        for binding in [only(&["a"]), asking()] {
            let _ = try_stream(&pieces.concat(), binding, Some("x"), |_| Ruling::Allow);
        }
        let body = pieces.concat();
        let _ = bind(&Chat, AnswerForm::Json, body.trim_start_matches("data: ").as_bytes(), only(&["a"]), Some("x"), |_| Ruling::Allow);
    }
}
