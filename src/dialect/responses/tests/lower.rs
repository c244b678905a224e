use super::*;

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

proptest! {
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
}
