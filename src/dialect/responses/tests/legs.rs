use super::*;
use crate::context::{Leg, LegReply, LegResult};
use crate::dialect::openai::testing::leg;

const REASONED: &str = r#"{"id":"rs_1","type":"reasoning","summary":[],"encrypted_content":"gAAA"}"#;

fn said(id: &str, text: &str) -> String {
    json!({"id": id, "type": "message", "role": "assistant", "status": "completed", "content": [{"type": "output_text", "text": text, "annotations": []}]}).to_string()
}

fn told(text: &str) -> String {
    json!({"type": "message", "role": "user", "content": [{"type": "input_text", "text": text}]}).to_string()
}

fn split(item: usize, legs: &[Leg]) -> Place {
    Place::Split { item, legs: legs.into() }
}

#[test]
fn the_next_leg_has_what_the_provider_does_not_know() {
    let one = leg(&[REASONED.to_owned(), said("msg_1", "One.")], "go on");
    let (message, reply) = (said("msg_1", "One."), told("go on"));
    let all = format!("{REASONED},{message},{reply}");
    let bare = |item: &str, id: &str| item.replacen(&format!(r#""id":"{id}","#), "", 1);
    let unstored = format!("{},{},{reply}", bare(REASONED, "rs_1"), bare(&message, "msg_1"));
    let cases = [
        (r#"{"input":[ 1.0 ]}"#.replace("1.0", USER), format!(r#"{{"input":[ {USER},{all} ]}}"#)),
        (
            r#"{"input":"h\u0069"}"#.to_owned(),
            format!(r#"{{"input":[{{"type":"message","role":"user","content":"h\u0069"}},{all}]}}"#),
        ),
        (r#"{"prompt":{"id":"p"}}"#.to_owned(), format!(r#"{{"prompt":{{"id":"p"}},"input":[{all}]}}"#)),
        (r#"{"input":[]}"#.to_owned(), format!(r#"{{"input":[{all}]}}"#)),
        (r#"{"store":false,"input":[]}"#.to_owned(), format!(r#"{{"store":false,"input":[{unstored}]}}"#)),
        (
            r#"{"previous_response_id":"r0","input":"u","store":true}"#.to_owned(),
            format!(r#"{{"previous_response_id":"resp_leg","input":[{reply}],"store":true}}"#),
        ),
        (
            r#"{"previous_response_id":"r0","input":[],"store":false}"#.to_owned(),
            format!(r#"{{"previous_response_id":"r0","input":[{unstored}],"store":false}}"#),
        ),
        (
            r#"{"conversation":{"id":"c"},"input":"u"}"#.to_owned(),
            format!(r#"{{"conversation":{{"id":"c"}},"input":[{reply}]}}"#),
        ),
    ];
    for (body, expected) in cases {
        assert_eq!(RESPONSES.extended(&body, &one), expected, "{body}");
    }
    let reasoning = r#"{"id":"rs_2","type":"reasoning","summary":[],"encrypted_content":null}"#;
    let silent = leg(&[reasoning.to_owned()], "go on");
    assert_eq!(
        RESPONSES.extended(r#"{"store":false,"input":[]}"#, &silent),
        format!(r#"{{"store":false,"input":[{reply}]}}"#)
    );
    // A chain that goes on behind a response needs its id.
    let delta = doc(r#"{"previous_response_id":"r0","input":"u"}"#);
    let view = RESPONSES.try_view(&delta, &NoCache).unwrap();
    assert!(Responses.extend(&delta, &view, &Leg { id: None, ..one }).is_err());
}

#[test]
fn results_have_the_type_of_their_call() {
    let custom = r#"{"type":"custom_tool_call","call_id":"c2","name":"g","input":"x"}"#;
    let result = |id: &str, call: &str| LegResult {
        id: id.to_owned(),
        name: "f".to_owned(),
        kind: Responses.result_kind(call).unwrap(),
        text: "no".to_owned(),
        is_error: true,
    };
    let reply = LegReply::Results(vec![result("c1", CALL), result("c2", custom)]);
    let leg = Leg { id: None, answer: vec![CALL.to_owned(), custom.to_owned()], reply };
    let outputs = [
        r#"{"type":"function_call_output","call_id":"c1","output":"no"}"#,
        r#"{"type":"custom_tool_call_output","call_id":"c2","output":"no"}"#,
    ];
    assert_eq!(RESPONSES.extended(&body(&[USER]), &leg), body(&[USER, CALL, custom, outputs[0], outputs[1]]));
}

#[test]
fn a_delta_goes_on_behind_the_last_leg() {
    let behind = [Place::GoesOnBehind { id: "resp_\"2".to_owned() }];
    assert_eq!(
        RESPONSES.lowered(r#"{"previous_response_id":"resp_1","input":"u"}"#, &behind),
        r#"{"previous_response_id":"resp_\"2","input":"u"}"#
    );
    for body in [r#"{"input":"u"}"#, r#"{"previous_response_id":null,"input":"u"}"#] {
        assert_eq!(RESPONSES.lowered(body, &behind), body);
    }
}

#[test]
fn a_joined_answer_is_taken_apart_whatever_the_client_made_of_it() {
    let one = said("msg_1", "One.");
    let legs = [leg(&[REASONED.to_owned(), one.clone()], "go on"), leg(&[said("msg_2", "Two.")], "and on")];
    let (two, on, and_on) = (said("msg_2", "Two."), told("go on"), told("and on"));
    let apart = [REASONED, &one, &on, &two, &and_on];
    let three = said("msg_3", "Three.");
    let own = r#"{"type":"reasoning","id":"rs_3","summary":[],"encrypted_content":"gCCC"}"#;
    let anonymous = r#"{"type":"reasoning","summary":[],"encrypted_content":"gAAA"}"#;
    let merged = r#"{"role":"assistant","content":"One.\n\nTwo.\n\nThree."}"#;
    let parts = r#"{"role":"assistant","content":[{"type":"output_text","text":"One. Two."},{"type":"output_text","text":"Three."}]}"#;
    let cases: &[(&[&str], &[&str])] = &[
        (&[REASONED, &one, &two, own, &three, CALL], &[own, &three, CALL]),
        // Without ids; text ahead of calls.
        (&[anonymous, merged, CALL], &[r#"{"role":"assistant","content":"Three."}"#, CALL]),
        (&[parts, own], &[r#"{"role":"assistant","content":[{"type":"output_text","text":"Three."}]}"#, own]),
        (&[&one, &two], &[]),
    ];
    for (copy, rest) in cases {
        let list = |items: &[&[&str]]| body(&[&[USER], items.concat().as_slice(), &[USER]].concat());
        assert_eq!(RESPONSES.lowered(&list(&[copy]), &[split(1, &legs)]), list(&[&apart, rest]), "{copy:?}");
    }
    for copy in [ANSWER, REASONED] {
        let body = body(&[USER, copy, USER]);
        assert_eq!(RESPONSES.lowered(&body, &[split(1, &legs)]), body);
    }
}

#[test]
fn splits_go_with_all_other_placements() {
    let one = said("m", "One.");
    let legs = [leg(std::slice::from_ref(&one), "go on")];
    let on = told("go on");
    let joined = r#"{"role":"assistant","content":"One. Two."}"#;
    let two = r#"{"role":"assistant","content":"Two."}"#;
    let request = body(&[DEVELOPER, USER, joined, USER, ANSWER, USER, joined, CALL, OUTPUT]);
    let places = [back(&["s"]), split(2, &legs), Place::Omit { items: 3..5 }, split(6, &legs), end(7, &["z"])];
    let developer = r#"{"type":"message","role":"developer","content":[{"type":"input_text","text":"d"},{"type":"input_text","text":"s"}]}"#;
    let output = r#"{"type":"function_call_output","call_id":"c1","output":"r\n\nz"}"#;
    assert_eq!(
        RESPONSES.lowered(&request, &places),
        body(&[developer, USER, &one, &on, two, USER, &one, &on, two, CALL, output])
    );
}

proptest! {
    /// What goes up behind an answer stands there, byte for byte, in every later request (invariant I6).
    #[test]
    fn a_leg_is_sent_the_same_way_now_and_later(
        texts in proptest::collection::vec("[a-z\"\\\\é\n ]{0,6}[a-z]", 1..4),
        last in "[a-z][a-z\" \n]{0,9}",
        stored in any::<bool>(),
        shape in 0usize..4,
    ) {
        let reasoning = |n: usize| json!({"type": "reasoning", "id": format!("rs_{n}"), "summary": [], "encrypted_content": format!("g{n}")}).to_string();
        let legs: Vec<Leg> = texts.iter().enumerate()
            .map(|(n, text)| leg(&[reasoning(n), said(&format!("msg_{n}"), text)], &format!("go on {n}")))
            .collect();
        let request = |items: &[&str]| format!(r#"{{"store":{stored},"input":[{}]}}"#, items.join(","));
        let mut extended = request(&[USER]);
        for leg in &legs {
            extended = RESPONSES.extended(&extended, leg);
        }
        let all: Vec<&str> = texts.iter().map(String::as_str).chain([last.as_str()]).collect();
        let items = |with_reasoning: bool| -> Vec<String> {
            let items = all.iter().enumerate().flat_map(|(n, text)| {
                with_reasoning.then(|| reasoning(n)).into_iter().chain([said(&format!("msg_{n}"), text.trim())])
            });
            items.collect()
        };
        let copy = match shape {
            0 => items(true),
            1 => items(false),
            2 => vec![json!({"role": "assistant", "content": all.join("\n\n")}).to_string()],
            _ => vec![reasoning(0), json!({"role": "assistant", "content": [{"type": "output_text", "text": all.concat()}]}).to_string()],
        };
        let copy: Vec<&str> = [USER].into_iter().chain(copy.iter().map(String::as_str)).chain([USER]).collect();
        let later = RESPONSES.lowered(&request(&copy), &[split(1, &legs)]);
        prop_assert!(later.starts_with(extended.strip_suffix("]}").unwrap()), "{} {}", later, extended);
        let rest = &later[extended.len() - 2..];
        prop_assert_eq!(rest.matches("\"reasoning\"").count(), usize::from(shape == 0));
        prop_assert!(rest.contains(&format!("\"{}", crate::json::raw::escape(last.trim()))), "{}", rest);
    }
}
