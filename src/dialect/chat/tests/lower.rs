use super::*;

#[test]
fn placements_keep_the_clients_type_and_place() {
    let cases: &[(&str, &[Place], &str)] = &[
        // Instructions: a string stays one, a list gets parts.
        (
            r#"{"role":"system","content":"c\n"},{"role":"user","content":"u"}"#,
            &[front(0, &["p", "e"]), back(&["z\"q"])],
            r#"{"role":"system","content":"p\n\ne\n\nc\n\n\nz\"q"},{"role":"user","content":"u"}"#,
        ),
        (
            r#"{"role":"developer","content":[{"type":"text","text":"c"}]}"#,
            &[front(0, &["p"]), back(&["z"])],
            r#"{"role":"developer","content":[{"type":"text","text":"p"},{"type":"text","text":"c"},{"type":"text","text":"z"}]}"#,
        ),
        (
            r#"{"role":"system","content":[{"type":"text","text":"c"},{"type":"text","text":"d"}]}"#,
            &[front(1, &["p"])],
            r#"{"role":"system","content":[{"type":"text","text":"c"},{"type":"text","text":"p"},{"type":"text","text":"d"}]}"#,
        ),
        (
            r#"{"role":"system","content":"a"},{"role":"system","content":"b"},{"role":"user","content":"u"}"#,
            &[front(0, &["p"]), back(&["z"])],
            r#"{"role":"system","content":"p\n\na"},{"role":"system","content":"b\n\nz"},{"role":"user","content":"u"}"#,
        ),
        (r#"{"role":"system","content":""}"#, &[back(&["z"])], r#"{"role":"system","content":"z"}"#),
        (
            r#"{"role":"system","content":[]}"#,
            &[back(&["z"])],
            r#"{"role":"system","content":[{"type":"text","text":"z"}]}"#,
        ),
        (r#"{"role":"system","content":null}"#, &[back(&["z"])], r#"{"role":"system","content":"z"}"#),
        // Absent: one new message at the start, also when a later one is there.
        (
            r#"{"role":"user","content":"u"},{"role":"system","content":"tail"}"#,
            &[front(0, &["p"]), back(&["z"])],
            r#"{"role":"system","content":"p\n\nz"},{"role":"user","content":"u"},{"role":"system","content":"tail"}"#,
        ),
        // User and tool messages.
        (r#"{"role":"user","content":"u"}"#, &[end(0, &["x", "y"])], r#"{"role":"user","content":"u\n\nx\n\ny"}"#),
        (
            r#"{"role":"user","content":[{"type":"image_url","image_url":{"url":"d"}}]}"#,
            &[end(0, &["x"])],
            r#"{"role":"user","content":[{"type":"image_url","image_url":{"url":"d"}},{"type":"text","text":"x"}]}"#,
        ),
        (
            r#"{"role":"user","content":"u"},{"role":"assistant","tool_calls":[{"id":"c","function":{"name":"f","arguments":"{}"}}]},{"role":"tool","tool_call_id":"c","content":"r"}"#,
            &[end(2, &["x"])],
            r#"{"role":"user","content":"u"},{"role":"assistant","tool_calls":[{"id":"c","function":{"name":"f","arguments":"{}"}}]},{"role":"tool","tool_call_id":"c","content":"r\n\nx"}"#,
        ),
        // Blank text changes nothing.
        (r#"{"role":"user","content":"u"}"#, &[end(0, &["", " \n"]), back(&[""])], r#"{"role":"user","content":"u"}"#),
    ];
    for (messages, places, expected) in cases {
        assert_eq!(CHAT.lowered(&body(messages), places), body(expected), "{messages}");
    }
}

#[test]
fn omitted_messages_go_with_their_commas() {
    let (a, b, c) = (
        r#"{"role":"user","content":"a"}"#,
        r#"{"role":"assistant","content":"b"}"#,
        r#"{"role":"user","content":"c"}"#,
    );
    let omit = |items| [Place::Omit { items }, back(&["z"])];
    let all = format!("{a} , {b},\n{c}");
    let system = r#"{"role":"system","content":"z"}"#;
    assert_eq!(CHAT.lowered(&body(&all), &omit(0..2)), body(&format!("{system},{c}")));
    assert_eq!(CHAT.lowered(&body(&all), &omit(1..3)), body(&format!("{system},{a}")));
    assert_eq!(CHAT.lowered(&body(&all), &omit(1..2)), body(&format!("{system},{a},\n{c}")));
    assert_eq!(CHAT.lowered(&body(&all), &omit(0..3)), body(system));
}

#[test]
fn instructions_and_reminders_stay_when_their_neighbours_are_omitted() {
    let kept = r#"{"role":"system","content":"s"},{"role":"user","content":"<reminder> r"}"#;
    let messages = format!(r#"{kept},{{"role":"user","content":"p"}},{{"role":"assistant","content":"a"}}"#);
    assert_eq!(CHAT.lowered(&body(&messages), &[Place::Omit { items: 0..4 }]), body(kept));
}

#[test]
fn items_without_a_place_are_refused() {
    let doc = doc(&body(r#"{"role":"user","content":"u"},{"role":"assistant","content":"a"},{"role":"user"}"#));
    let view = CHAT.try_view(&doc, &NoCache).unwrap();
    let lower = |places: &[Place]| Chat.lower(&doc, &view, places).err();
    assert_eq!(lower(&[end(1, &["x"])]), Some(LowerError::NoPlace { item: 1 }));
    assert_eq!(lower(&[end(2, &["x"])]), Some(LowerError::NoPlace { item: 2 }));
    assert_eq!(lower(&[end(9, &["x"])]), Some(LowerError::NoPlace { item: 9 }));
    assert_eq!(lower(&[Place::Omit { items: 0..1 }, end(0, &["x"])]), Some(LowerError::NoPlace { item: 0 }));
}

proptest! {
    /// Any placements on any history: JSON comes out, what the model wrote is in it byte for byte, and no second
    /// system message appears (case B35).
    #[test]
    fn every_placement_leaves_a_legal_body(
        picks in proptest::collection::vec(0usize..POOL.len(), 0..7),
        places in proptest::collection::vec(testing::any_place(), 0..5),
    ) {
        let messages: Vec<_> = picks.iter().map(|pick| POOL[*pick]).collect();
        let body = body(&messages.join(" , "));
        if let Some(lowered) = CHAT.lowered_or_refused(&body, &places) {
            let kept = !places.iter().any(|p| matches!(p, Place::Omit { .. }));
            prop_assert!(!kept || !messages.contains(&CALL) || lowered.contains(CALL));
            let leads = picks.first().is_some_and(|pick| *pick < 3);
            let systems = |text: &str| text.matches("\"role\":\"system\"").count();
            prop_assert!(systems(&lowered) <= systems(&body) + usize::from(!leads));
        }
    }
}
