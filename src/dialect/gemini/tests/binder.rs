use crate::context::{AnswerForm, Binding, Call, Ruling};
use crate::dialect::binder_testing::{
    Bound, asking, bind, calls_in, never, only, what_is_allowed_passes_byte_for_byte,
    what_is_refused_does_not_reach_the_client,
};
use crate::dialect::gemini::Gemini;
use crate::dialect::leg_testing::{pieces, samples};
use crate::dialect::{BindError, Dialect as _};
use proptest::prelude::*;
use serde_json::{Value, json};

/// A chunk of these parts.
fn chunk(parts: &str) -> String {
    format!(r#"{{"candidates":[{{"content":{{"parts":[{parts}],"role":"model"}},"index":0}}],"responseId":"r"}}"#)
}

/// A last chunk of these parts.
fn last(parts: &str) -> String {
    chunk(parts).replace(r#""index":0"#, r#""finishReason":"STOP","index":0"#)
}

fn call(name: &str, args: &str) -> String {
    format!(r#"{{"functionCall":{{"name":"{name}","args":{args}}}}}"#)
}

fn text(text: &str) -> String {
    format!(r#"{{"text":"{text}"}}"#)
}

fn sse(chunks: &[String]) -> String {
    chunks.iter().map(|chunk| format!("data: {chunk}\n\n")).collect()
}

fn array(chunks: &[String]) -> String {
    format!("[{}\n]\n", chunks.join("\n,\n"))
}

/// Binds chunks in all forms; what goes down says the same in all of them.
fn chunks(
    chunks: &[String],
    binding: &Binding,
    notice: Option<&str>,
    decide: impl Fn(&Call) -> Ruling,
) -> (Vec<String>, Bound) {
    let bound = bind(&Gemini, AnswerForm::Sse, sse(chunks).as_bytes(), binding.clone(), notice, &decide).unwrap();
    let listed =
        bind(&Gemini, AnswerForm::JsonArray, array(chunks).as_bytes(), binding.clone(), notice, &decide).unwrap();
    let events: Vec<String> = bound
        .text
        .split_terminator("\n\n")
        .map(|event| event.strip_prefix("data: ").unwrap_or_else(|| panic!("{event}")).to_owned())
        .collect();
    assert_eq!(listed.text, array(&events));
    if let [single] = chunks {
        let body = bind(&Gemini, AnswerForm::Json, single.as_bytes(), binding.clone(), notice, &decide).unwrap();
        assert_eq!([body.text], events.as_slice());
    }
    (events, bound)
}

fn no(name: &'static str) -> impl Fn(&Call) -> Ruling {
    move |call| if call.name == name { Ruling::Refuse("no".to_owned()) } else { Ruling::Allow }
}

#[test]
fn recorded_streams_hold_to_the_law() {
    what_is_allowed_passes_byte_for_byte(&Gemini);
    what_is_refused_does_not_reach_the_client(&Gemini);
}

#[test]
fn recorded_streams_hold_to_the_law_as_arrays_too() {
    let mut called = 0;
    for (file, bytes, _) in samples(&Gemini).into_iter().filter(|(file, ..)| file.ends_with(".sse")) {
        let events: Vec<String> = pieces(AnswerForm::Sse, &bytes)
            .into_iter()
            .filter_map(|piece| Some(String::from_utf8(piece.data?).unwrap()))
            .filter(|data| data.starts_with('{'))
            .collect();
        let stream = array(&events);
        let bind = |binding, decide: &dyn Fn(&Call) -> Ruling| {
            bind(&Gemini, AnswerForm::JsonArray, stream.as_bytes(), binding, None, decide).unwrap()
        };
        assert_eq!(bind(asking(), &|_| Ruling::Allow).text, stream, "{file}");
        let bare = bind(only(&[]), &never);
        assert_eq!(calls_in(&Gemini, AnswerForm::JsonArray, &bare.text), [], "{file}");
        let left: Vec<Value> = serde_json::from_str(&bare.text).unwrap();
        assert_eq!(left.len(), events.len(), "{file}");
        called += usize::from(bare.emptied);
    }
    assert!(called > 2);
}

#[test]
fn beside_an_allowed_call_a_refused_one_is_left_out_with_its_part() {
    let signed = r#"{"functionCall":{"name":"bash","args":{"x":1},"id":"f"},"thoughtSignature":"S"}"#;
    let edit = call("edit", "{}");
    let come = [
        chunk(&[&text("a"), signed].join(", ")),
        chunk(&call("bash", "{}")),
        chunk(&[&call("bash", "{}"), &edit, &call("bash", "null")].map(String::as_str).join(" ,")),
        last(&[text("b"), call("bash", "{}")].join(",")),
    ];
    let expected = [chunk(&text("a")), chunk(&text("")), chunk(&edit), last(&text("b"))];
    for (events, bound) in [chunks(&come, &only(&["edit"]), None, never), chunks(&come, &asking(), None, no("bash"))] {
        assert_eq!(events, expected);
        assert!(!bound.emptied);
        let calls: Vec<_> =
            bound.calls.iter().map(|r| (r.call.id.as_str(), r.call.input.get(), r.is_shown())).collect();
        assert_eq!(
            calls,
            [
                ("f", r#"{"x":1}"#, false),
                ("", "{}", false),
                ("", "{}", false),
                ("", "{}", true),
                ("", "{}", false),
                ("", "{}", false)
            ]
        );
    }
}

#[test]
fn an_answer_of_nothing_but_refused_calls_ended_by_itself() {
    let usage = r#"{"usageMetadata":{"totalTokenCount":7}}"#.to_owned();
    let come = [chunk(&text("a")), last(&call("bash", "{}")), usage.clone()];
    let (events, bound) = chunks(&come, &only(&[]), Some("It is \"not\" there."), never);
    assert!(bound.emptied);
    assert_eq!(bound.before_end, sse(&come[..1]), "its end waits");
    assert_eq!(events, [chunk(&text("a")), last(&text(r#"It is \"not\" there."#)), usage]);
}

#[test]
fn a_notice_is_a_part_of_the_end() {
    let end = |content: &str| format!(r#"{{"candidates":[{{{content}"finishReason":"STOP"}}]}}"#);
    let told = r#"{"text":"no"}"#;
    let cases = [
        (last(&[text("b"), call("bash", "{}")].join(",")), last(&format!("{},{told}", text("b")))),
        (last(""), last(told)),
        (end(r#""content":{},"#), end(&format!(r#""content":{{"parts":[{told}]}},"#))),
        (end(r#""content":{"role":"model"},"#), end(&format!(r#""content":{{"role":"model","parts":[{told}]}},"#))),
        (
            end(""),
            format!(r#"{{"candidates":[{{"finishReason":"STOP","content":{{"parts":[{told}],"role":"model"}}}}]}}"#),
        ),
    ];
    for (come, expected) in cases {
        let (events, bound) = chunks(&[chunk(&call("bash", "{}")), come], &only(&[]), Some("no"), never);
        assert!(bound.emptied);
        assert_eq!(events, [chunk(&text("")), expected]);
    }
    let (events, _) = chunks(&[chunk(&call("bash", "{}")), last("")], &only(&[]), None, never);
    assert_eq!(events, [chunk(&text("")), last("")]);
}

#[test]
fn a_call_with_another_input_keeps_its_place_and_its_signature() {
    let come = r#"{ "thoughtSignature": "S", "functionCall": {"id": "f", "args": {"c": "rm"}, "name": "bash"} }"#;
    let replace = |call: &Call| match call.name.as_str() {
        "bash" => Ruling::Replace(r#"{"c":"ls"}"#.to_owned()),
        _ => Ruling::Allow,
    };
    let edit = call("edit", "{}");
    let (events, bound) = chunks(&[last(&format!("{come},{edit}"))], &asking(), None, replace);
    let made = r#"{ "thoughtSignature": "S", "functionCall": {"id":"f","args":{"c":"ls"},"name":"bash"} }"#;
    assert_eq!(events, [last(&format!("{made},{edit}"))]);
    assert_eq!(bound.calls[0].call.input.get(), r#"{"c": "rm"}"#);
    let bare = r#"{"functionCall":{"name":"bash"}}"#;
    assert_eq!(chunks(&[last(bare)], &asking(), None, replace).0, [last(&call("bash", r#"{"c":"ls"}"#))]);
}

/// The pieces of a call to `name`, as Vertex sends them.
fn pieces_of(name: &str) -> [String; 3] {
    let part = |inner: String| chunk(&format!(r#"{{"functionCall":{{{inner}}}}}"#));
    [
        part(format!(r#""name":"{name}","id":"f","willContinue":true"#)),
        part(r#""partial_args":[{"json_path":"$.body","string_value":"Dear ","will_continue":true}],"will_continue":true"#.into()),
        part(String::new()),
    ]
}

#[test]
fn a_call_in_pieces_is_one_call() {
    let edit = chunk(&call("edit", "{}"));
    let come = [&pieces_of("bash")[..], &[edit.clone(), last(&text(""))]].concat();
    let blank = chunk(&text(""));
    for (events, bound) in [chunks(&come, &only(&["edit"]), None, never), chunks(&come, &asking(), None, no("bash"))] {
        assert_eq!(events, [blank.clone(), blank.clone(), blank.clone(), edit.clone(), last(&text(""))]);
        assert_eq!((bound.calls[0].call.id.as_str(), bound.calls[0].call.input.get()), ("f", r#"{"body":"Dear "}"#));
        assert!(bound.calls[1].is_shown());
    }
    for (events, bound) in
        [chunks(&come, &only(&["edit", "bash"]), None, never), chunks(&come, &asking(), None, |_: &Call| Ruling::Allow)]
    {
        assert_eq!(events, come);
        assert_eq!(bound.calls[0].call.input.get(), r#"{"body":"Dear "}"#);
    }
    let replace = |call: &Call| if call.name == "bash" { Ruling::Replace("{\"b\":1}".into()) } else { Ruling::Allow };
    let (events, _) = chunks(&come, &asking(), None, replace);
    let whole = chunk(r#"{"functionCall":{"name":"bash","id":"f","args":{"b":1}}}"#);
    assert_eq!(events, [whole, blank.clone(), blank, edit, last(&text(""))]);
}

#[test]
fn a_call_that_was_cut_off_is_none() {
    let come = [&[chunk(&text("a"))], &pieces_of("bash")[..2]].concat();
    for binding in [asking(), only(&[])] {
        let (events, bound) = chunks(&come, &binding, None, never);
        assert_eq!(events, [chunk(&text("a")), chunk(&text("")), chunk(&text(""))]);
        assert!(bound.calls.is_empty() && !bound.emptied);
    }
}

#[test]
fn nothing_but_what_follows_an_asked_call_waits_for_it() {
    let ping = "\n";
    let leg = format!("{}{ping}{ping}", sse(&[chunk(&text("a")), pieces_of("bash")[0].clone()]));
    let mut bound =
        crate::dialect::BoundLeg::new(Gemini.binder(AnswerForm::Sse, std::sync::Arc::new(asking())), 1 << 20);
    let mut out = String::new();
    for piece in pieces(AnswerForm::Sse, leg.as_bytes()) {
        bound.piece(&piece.piece(), &mut |piece| out.push_str(std::str::from_utf8(&piece.raw).unwrap())).unwrap();
    }
    assert_eq!(out, format!("{}{ping}{ping}", sse(&[chunk(&text("a"))])));
    assert!(bound.waiting().is_none());
}

#[test]
fn every_candidate_is_bound_and_one_shown_call_is_enough() {
    let of =
        |index: u64, parts: &str, end: &str| format!(r#"{{"content":{{"parts":[{parts}]}}{end},"index":{index}}}"#);
    let of_both = |a: String, b: String| format!(r#"{{"candidates":[{a},{b}]}}"#);
    let stop = r#","finishReason":"STOP""#;
    let (bash, edit, none) = (call("bash", "{}"), call("edit", "{}"), text(""));
    let together = [of_both(of(0, &bash, stop), of(1, &edit, stop))];
    let (events, bound) = chunks(&together, &only(&["edit"]), Some("no"), never);
    assert_eq!(events, [of_both(of(0, &none, stop), of(1, &edit, stop))]);
    assert!(!bound.emptied);
    let (events, bound) = chunks(&together, &only(&[]), Some("no"), never);
    assert_eq!(events, [of_both(of(0, &text("no"), stop), of(1, &none, stop))]);
    assert!(bound.emptied);
    let one = |of: String| format!(r#"{{"candidates":[{of}]}}"#);
    let apart = [one(of(0, &bash, stop)), one(of(1, &text("hi"), "")), one(of(1, &edit, stop))];
    let (events, bound) = chunks(&apart, &only(&["edit"]), Some("no"), never);
    assert_eq!(events, [one(of(0, &none, stop)), apart[1].clone(), apart[2].clone()]);
    assert!(!bound.emptied, "an end that others followed was none");
}

#[test]
fn no_spelling_gets_a_forbidden_call_through() {
    let part = |part: &str| chunk(part);
    let left_out = [
        part(r#"{"function_call":{"name":"bash","args":{}}}"#),
        part(r#"{"f\u0075nctionCall":{"n\u0061me":"b\u0061sh"}}"#),
        part(r#"{"functionCall":{"args":{"name":"edit"},"name":"bash"}}"#),
        part(r#"{"thought":true,"functionCall":{"name":"bash"}}"#),
        part(r#"{"text":"hi","functionCall":{"name":"bash"}}"#),
        part(r#"{"functionCall":{"name":"bash","willContinue":null,"partialArgs":null}}"#),
        format!(r#"{{"candidates":[{{"index":3,"content":{{"parts":[{}]}}}}]}}"#, call("bash", "{}")),
    ];
    for come in &left_out {
        let (events, bound) = chunks(std::slice::from_ref(come), &only(&["edit"]), None, never);
        assert!(!events[0].contains("bash") && bound.emptied, "{come}: {events:?}");
    }
    let pieces = pieces_of("edit");
    let refused = [
        part(r#"{"functionCall":{"name":"edit"},"functionCall":{"name":"bash"}}"#),
        part(r#"{"functionCall":{"name":"edit"},"function_call":{"name":"bash"}}"#),
        part(r#"{"functionCall":{"name":"edit","name":"bash"}}"#),
        part(r#"{"functionCall":{"name":"edit","n\u0061me":"bash"}}"#),
        part(r#"{"functionCall":[{"name":"bash"}]}"#),
        part(r#"{"functionCall":"bash"}"#),
        part(r#"{"functionCall":{"name":["bash"]}}"#),
        part(r#"{"functionCall":{"args":{}}}"#),
        part(r#"{"functionCall":{"name":""}}"#),
        part(r#"{"functioncall":{"name":"bash"}}"#),
        part(r#"{"functionCall":{"Name":"bash"}}"#),
        part(r#"{"functionCall":{"name":"edit","willContinue":"true"}}"#),
        part(r#"{"functionCall":{"name":"edit","partialArgs":{}}}"#),
        part(r#"[{"functionCall":{"name":"bash"}}]"#),
        part("7"),
        r#"{"candidates":{"content":{"parts":[]}}}"#.to_owned(),
        r#"{"candidates":[{"content":[{"parts":[]}]}]}"#.to_owned(),
        r#"{"candidates":[{"content":{"parts":{"functionCall":{"name":"bash"}}}}]}"#.to_owned(),
        r#"{"candidates":[],"candid\u0061tes":[]}"#.to_owned(),
        r#"{"candidates":[{"index":"0"}]}"#.to_owned(),
        r#"{"candidates":[{},{"index":0}]}"#.to_owned(),
        format!("[{}]", chunk(&call("bash", "{}"))),
        format!("\u{feff}{}", chunk(&call("bash", "{}"))),
        format!("{{}} {}", chunk(&call("bash", "{}"))),
        r#"{"candidates":["#.to_owned(),
        format!("{}\n\ndata: {}", pieces[0], chunk(&call("bash", "{}"))),
        format!("{{}}\nnote: {}", chunk(&call("bash", "{}"))),
    ];
    for come in refused {
        let bound =
            bind(&Gemini, AnswerForm::Sse, sse(std::slice::from_ref(&come)).as_bytes(), only(&["edit"]), None, never);
        assert!(bound.is_err(), "{come}: {bound:?}");
    }
    let asked =
        format!(r#"{},{}"#, r#"{"functionCall":{"name":"bash","willContinue":true}}"#, call("bash", r#"{"c":1}"#));
    assert!(bind(&Gemini, AnswerForm::Json, chunk(&asked).as_bytes(), asking(), None, never).is_err());
    let renamed = sse(&[pieces[0].clone(), chunk(&call("bash", "{}"))]);
    let error = bind(&Gemini, AnswerForm::Sse, renamed.as_bytes(), only(&["edit"]), None, never).unwrap_err();
    assert_eq!(error, BindError::Renamed);
}

#[test]
fn a_chunk_in_several_lines_goes_down_in_one() {
    let come = format!("data: {{\"a\":1,\ndata: \"b\":\"{}\"}}\n\n", "x");
    let bound = bind(&Gemini, AnswerForm::Sse, come.as_bytes(), only(&[]), None, never).unwrap();
    assert_eq!(bound.text, "data: {\"a\":1, \"b\":\"x\"}\n\n");
}

#[test]
fn what_is_no_answer_passes() {
    let error = r#"{"error":{"code":503,"message":"x","status":"UNAVAILABLE"}}"#;
    let bodies =
        [error.to_owned(), format!("[{error}]"), "<html>no</html>".to_owned(), String::new(), "[DONE]".to_owned()];
    for body in bodies {
        let bound = bind(&Gemini, AnswerForm::Json, body.as_bytes(), only(&[]), None, never).unwrap();
        assert_eq!(bound.text, body);
    }
    let server = chunk(
        r#"{"toolCall":{"id":"t","toolType":"X","args":{}}},{"toolResponse":{"id":"t"}},{"executableCode":{"language":"PYTHON","code":"1"}}"#,
    );
    assert_eq!(chunks(std::slice::from_ref(&server), &only(&[]), None, never).0, [server]);
}

#[test]
fn the_calls_of_an_answer_are_its_parts_with_calls() {
    let signed = r#"{"functionCall":{"name":"a","args":{"k":1.0}},"thoughtSignature":"S"}"#;
    let snake = r#"{"function_call":{"name":"b"}}"#;
    let content = format!(r#"{{"role":"model","parts":[{{"text":"x"}},{signed},{{"toolCall":{{}}}},{snake}]}}"#);
    assert_eq!(Gemini.native_calls(&[content]), [signed, snake]);
    assert_eq!(Gemini.native_calls(&["{}".to_owned(), "7".to_owned()]), Vec::<String>::new());
}

/// The names of all calls that any reader could find, wherever they are.
fn named(value: &Value, found: &mut Vec<String>) {
    match value {
        Value::Array(list) => list.iter().for_each(|inner| named(inner, found)),
        Value::Object(members) => {
            for (key, inner) in members {
                if key.replace('_', "").eq_ignore_ascii_case("functioncall") {
                    found.push(inner.to_string());
                }
                named(inner, found);
            }
        }
        _ => {}
    }
}

fn any_part() -> impl Strategy<Value = String> {
    let key = prop::sample::select(vec!["functionCall", "function_call", "functioncall", "f\\u0075nctionCall"]);
    let name =
        prop::sample::select(vec!["\"bad\"", "\"good\"", "\"b\\u0061d\"", "\"ask\"", "\"\"", "null", "7", "[\"bad\"]"]);
    let member = prop_oneof![
        name.prop_map(|name| format!(r#""name":{name}"#)),
        Just(r#""name":"bad""#.to_owned()),
        Just(r#""name":"good""#.to_owned()),
        any::<bool>().prop_map(|flag| format!(r#""willContinue":{flag}"#)),
        Just(r#""will_continue":true"#.to_owned()),
        Just(r#""args":{"x":1}"#.to_owned()),
        Just(r#""partialArgs":[{"jsonPath":"$.a","stringValue":"v"}]"#.to_owned()),
    ];
    let members = prop::collection::vec(member, 0..4).prop_map(|members| members.join(","));
    prop_oneof![
        3 => (key, members).prop_map(|(key, members)| format!(r#"{{"{key}":{{{members}}}}}"#)),
        1 => Just(text("t")),
        1 => Just(r#"{"thought":true,"text":"h","thoughtSignature":"S"}"#.to_owned()),
        1 => Just("7".to_owned()),
    ]
}

fn any_chunk() -> impl Strategy<Value = String> {
    let parts = prop::collection::vec(any_part(), 0..4).prop_map(|parts| parts.join(","));
    let candidate = (parts, 0..2_u8, any::<bool>()).prop_map(|(parts, index, ends)| {
        let end = if ends { r#","finishReason":"STOP""# } else { "" };
        format!(r#"{{"content":{{"parts":[{parts}]}}{end},"index":{index}}}"#)
    });
    prop_oneof![
        6 => prop::collection::vec(candidate, 0..3).prop_map(|all| format!(r#"{{"candidates":[{}]}}"#, all.join(","))),
        1 => Just(r#"{"usageMetadata":{"totalTokenCount":1}}"#.to_owned()),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1024))]

    /// What goes down is legal, has every chunk, and none of what is refused; whether a name is on a list or asked for.
    #[test]
    fn a_refused_name_never_goes_down(come in prop::collection::vec(any_chunk(), 0..5), asks in any::<bool>()) {
        let decide = |call: &Call| match call.name.as_str() {
            "bad" => Ruling::Refuse("no".to_owned()),
            "ask" => Ruling::Replace("{\"r\":1}".to_owned()),
            _ => Ruling::Allow,
        };
        for (form, stream) in [(AnswerForm::Sse, sse(&come)), (AnswerForm::JsonArray, array(&come))] {
            let binding = if asks { asking() } else { only(&["good", "ask"]) };
            let Ok(bound) = bind(&Gemini, form, stream.as_bytes(), binding, Some("told"), decide) else { continue };
            let calls = calls_in(&Gemini, form, &bound.text);
            prop_assert!(calls.iter().all(|(name, _)| name != "bad"), "{}", bound.text);
            let mut count = 0;
            for piece in pieces(form, bound.text.as_bytes()) {
                let Some(data) = piece.data else { continue };
                let mut found = vec![];
                named(&serde_json::from_slice(&data).unwrap(), &mut found);
                prop_assert!(found.iter().all(|call| !call.contains("bad")), "{}", bound.text);
                count += 1;
            }
            prop_assert_eq!(count, come.len());
            prop_assert_eq!(bound.emptied, !bound.calls.is_empty() && !bound.calls.iter().any(|ruled| ruled.is_shown()));
            let is_harmless = !["bad", "b\\u0061d", "ask"].iter().any(|name| stream.contains(name));
            if bound.calls.iter().all(|ruled| ruled.ruling == Ruling::Allow) && is_harmless {
                prop_assert!(asks || bound.text == stream, "{}\n{}", stream, bound.text);
            }
        }
    }

    #[test]
    fn anything_at_all_comes_to_an_end(come in prop::collection::vec("[\\[\\]{}\":,a-z\\\\ \n]{0,24}", 0..6)) {
        for (form, stream) in [(AnswerForm::Sse, sse(&come)), (AnswerForm::JsonArray, array(&come)), (AnswerForm::Json, come.concat())] {
            let _ = bind(&Gemini, form, stream.as_bytes(), asking(), Some("n"), |_| Ruling::Allow);
        }
    }

    #[test]
    fn any_value_in_the_place_of_a_call_does_no_harm(value in crate::dialect::testing::any_json()) {
        let come = json!({"candidates": [{"content": {"parts": [{"functionCall": value}]}, "finishReason": "STOP"}]}).to_string();
        if let Ok(bound) = bind(&Gemini, AnswerForm::Json, come.as_bytes(), only(&[]), None, never) {
            let mut found = vec![];
            named(&serde_json::from_str(&bound.text).unwrap(), &mut found);
            prop_assert!(value.is_null() || found.is_empty(), "{}", bound.text);
        }
    }
}
