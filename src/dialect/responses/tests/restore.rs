use super::*;
use crate::context::{Leg, LegReply, LegResult, Restored, Stands};

fn told(id: &str) -> LegResult {
    told_of("function_call", id)
}

fn told_of(kind: &str, id: &str) -> LegResult {
    LegResult {
        id: id.to_owned(),
        name: "bash".to_owned(),
        kind: kind.to_owned(),
        text: "no".to_owned(),
        is_error: true,
    }
}

fn tool(id: &str) -> String {
    format!(r#"{{"type":"function_call","call_id":"{id}","name":"bash","arguments":"{{}}"}}"#)
}

fn hidden(id: &str, stands: Stands) -> Restored {
    Restored { native: tool(id), stands, result: Some(told(id)) }
}

fn before(id: &str) -> Stands {
    Stands::Before(id.to_owned())
}

fn restore(item: usize, calls: &[Restored]) -> Place {
    Place::Restore { item, calls: calls.to_vec().into() }
}

fn output(id: &str, text: &str) -> String {
    format!(r#"{{"type":"function_call_output","call_id":"{id}","output":"{text}"}}"#)
}

fn thought(id: &str) -> String {
    format!(r#"{{"type":"reasoning","id":"rs_{id}","summary":[]}}"#)
}

fn request(items: &[&str]) -> String {
    format!(r#"{{"model":"m","input":[{}]}}"#, items.join(","))
}

#[test]
fn hidden_calls_stand_in_later_requests_as_the_model_made_them() {
    let body =
        request(&[USER, &thought("1"), &tool("u"), &tool("w"), &output("u", "done"), &output("w", "done"), USER]);
    let instead = Restored {
        native: tool("w").replace("{}", r#"{\"y\":1}"#),
        stands: Stands::Instead("w".to_owned()),
        result: None,
    };
    let calls = [hidden("t", before("u")), hidden("v", before("w")), instead.clone(), hidden("x", Stands::Last)];
    let expected = request(&[
        USER,
        &thought("1"),
        &tool("t"),
        &tool("u"),
        &tool("v"),
        &instead.native,
        &tool("x"),
        &output("t", "no"),
        &output("u", "done"),
        &output("v", "no"),
        &output("w", "done"),
        &output("x", "no"),
        USER,
    ]);
    assert_eq!(RESPONSES.lowered(&body, &[restore(1, &calls)]), expected);
}

#[test]
fn a_hidden_call_stands_right_behind_its_own_reasoning() {
    let results = [output("u", "done"), output("t", "no")];
    for (copy, stands, expected) in [
        (
            vec![thought("1"), thought("2"), tool("u")],
            before("u"),
            vec![thought("1"), tool("t"), thought("2"), tool("u")],
        ),
        (
            vec![thought("1"), tool("u"), thought("2")],
            Stands::Last,
            vec![thought("1"), tool("u"), thought("2"), tool("t")],
        ),
        (vec![tool("u"), ANSWER.to_owned()], Stands::Last, vec![tool("u"), tool("t"), ANSWER.to_owned()]),
    ] {
        let [done, no] = &results;
        let around = |items: &[String], results: &[&String]| {
            let all: Vec<&str> = items.iter().chain(results.iter().copied()).map(String::as_str).collect();
            request(&[&[USER], all.as_slice()].concat())
        };
        let told = if stands == Stands::Last { [done, no] } else { [no, done] };
        let lowered = RESPONSES.lowered(&around(&copy, &[done]), &[restore(1, &[hidden("t", stands)])]);
        assert_eq!(lowered, around(&expected, &told));
    }
}

#[test]
fn each_kind_of_call_has_results_of_its_own() {
    for (native, result) in [
        (
            r#"{"type":"custom_tool_call","call_id":"t","name":"c","input":""}"#,
            r#"{"type":"custom_tool_call_output","call_id":"t","output":"no"}"#,
        ),
        (
            r#"{"type":"local_shell_call","call_id":"t","action":{}}"#,
            r#"{"type":"local_shell_call_output","id":"t","output":"no"}"#,
        ),
        (
            r#"{"type":"shell_call","call_id":"t","action":{}}"#,
            r#"{"type":"shell_call_output","call_id":"t","output":[{"stdout":"","stderr":"no","outcome":{"type":"exit","exit_code":1}}]}"#,
        ),
        (
            r#"{"type":"apply_patch_call","call_id":"t","operation":{}}"#,
            r#"{"type":"apply_patch_call_output","call_id":"t","status":"failed","output":"no"}"#,
        ),
        (
            r#"{"type":"tool_search_call","call_id":"t","execution":"client","arguments":{}}"#,
            r#"{"type":"tool_search_output","call_id":"t","execution":"client","status":"completed","tools":[]}"#,
        ),
    ] {
        let body = request(&[USER, &tool("u"), &output("u", "done")]);
        let kind = Responses.result_kind(native).unwrap();
        let call = Restored { native: native.to_owned(), stands: Stands::Last, result: Some(told_of(&kind, "t")) };
        let expected = request(&[USER, &tool("u"), native, &output("u", "done"), result]);
        let lowered = RESPONSES.lowered(&body, &[restore(1, &[call])]);
        assert_eq!(lowered, expected);
        assert_eq!(RESPONSES.view(&lowered).items.len(), 4, "the result is one: {lowered}");
    }
}

#[test]
fn a_call_whose_result_is_no_text_has_none() {
    for kind in ["computer_call", "strange_call"] {
        let call = format!(r#"{{"type":"{kind}","call_id":"t","action":{{}}}}"#);
        assert_eq!(Responses.result_kind(&call), None);
    }
}

#[test]
fn a_call_of_an_answer_that_is_not_kept_has_no_id() {
    let body = request(&[USER, &tool("u"), &output("u", "done")]).replace("{\"model\"", "{\"store\":false,\"model\"");
    let call =
        Restored { native: tool("t").replace("{\"type\"", "{\"id\":\"fc_t\",\"type\""), ..hidden("t", Stands::Last) };
    assert!(RESPONSES.lowered(&body, &[restore(1, &[call])]).contains(&tool("t")));
}

#[test]
fn a_call_is_not_put_back_where_it_or_its_result_has_no_place() {
    for (items, stands) in [
        (vec![USER, CALL], Stands::Last),
        (vec![USER, CALL, DEVELOPER], Stands::Last),
        (vec![USER, CALL, OUTPUT], before("w")),
        (vec![USER, CALL, OUTPUT], Stands::Instead("w".to_owned())),
        (vec![USER, ANSWER, USER], Stands::Last),
    ] {
        let body = request(&items);
        assert_eq!(RESPONSES.lowered(&body, &[restore(1, &[hidden("t", stands)])]), body);
    }
}

#[test]
fn other_places_of_the_same_request_stay_what_they_are() {
    let body = request(&[USER, &tool("u"), &output("u", "done"), USER]);
    let calls = [hidden("t", before("u"))];
    let end = Place::ItemEnd { item: 2, texts: texts(&["and this"]) };
    let lowered = RESPONSES.lowered(&body, &[end, restore(1, &calls)]);
    let expected = [USER, &tool("t"), &tool("u"), &output("t", "no"), &output("u", "done\\n\\nand this"), USER];
    assert_eq!(lowered, request(&expected));
    let gone = [Place::Omit { items: 0..3 }, restore(1, &calls)];
    assert_eq!(RESPONSES.lowered(&body, &gone), request(&[USER]));
}

#[test]
fn an_answer_is_taken_apart_and_its_last_part_gets_its_calls_back() {
    let said = |text: &str| ANSWER.replace("\"a\"", &format!("\"{text}\""));
    let body = request(&[USER, &said("one"), &said("two"), &tool("u"), &output("u", "done")]);
    let answer = vec![said("one"), tool("t1")];
    let leg = Leg { id: None, answer, reply: LegReply::Results(vec![told("t1")]) };
    let split = Place::Split { item: 1, legs: vec![leg].into() };
    let expected = request(&[
        USER,
        &said("one"),
        &tool("t1"),
        &output("t1", "no"),
        &said("two"),
        &tool("t2"),
        &tool("u"),
        &output("t2", "no"),
        &output("u", "done"),
    ]);
    let calls = [hidden("t2", before("u"))];
    assert_eq!(RESPONSES.lowered(&body, &[split.clone(), restore(1, &calls)]), expected);
    let unknown = RESPONSES.lowered(&body, &[split.clone(), restore(1, &[hidden("t2", before("z"))])]);
    assert_eq!(unknown, RESPONSES.lowered(&body, &[split]));
}

#[test]
fn what_only_the_provider_has_is_answered_at_the_start_of_a_delta() {
    let owed = Place::Owed { results: vec![told("t")].into() };
    let no = output("t", "no");
    for (input, expected) in [
        (format!("[{OUTPUT}]"), format!("[{no},{OUTPUT}]")),
        (r#""go""#.to_owned(), format!(r#"[{no},{{"type":"message","role":"user","content":"go"}}]"#)),
        ("[]".to_owned(), format!("[{no}]")),
    ] {
        let body = |input: &str| format!(r#"{{"previous_response_id":"resp_1","input":{input}}}"#);
        assert_eq!(RESPONSES.lowered(&body(&input), std::slice::from_ref(&owed)), body(&expected));
    }
    let body = r#"{"conversation":"c"}"#;
    let custom = no.replace("function_call", "custom_tool_call");
    let expected = body.replace('}', &format!(r#","input":[{custom}]}}"#));
    let of_custom = Place::Owed { results: vec![told_of("custom_tool_call", "t")].into() };
    assert_eq!(RESPONSES.lowered(body, &[of_custom]), expected);
    let gone = [owed, Place::Omit { items: 0..1 }];
    let body = format!(r#"{{"previous_response_id":"resp_1","input":[{USER}]}}"#);
    assert_eq!(RESPONSES.lowered(&body, &gone), body.replace(USER, &no));
}
