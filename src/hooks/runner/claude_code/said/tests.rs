use super::*;

/// What a handler said, in few words.
fn heard(event: ClaudeEvent, code: i32, stdout: &str, stderr: &str) -> String {
    match Said::read(event, code, stdout.as_bytes(), stderr.as_bytes()) {
        Err(why) => format!("failed: {why}"),
        Ok(said) => {
            let mut words = Vec::new();
            words.extend(said.block.map(|reason| format!("block {reason:?}")));
            words.extend(said.halt.map(|reason| format!("halt {reason:?}")));
            words.extend(said.permission.map(|(permission, reason)| format!("{permission:?} {reason:?}")));
            words.extend(said.input.map(|input| format!("input {}", Value::from(input))));
            words.extend(said.result.map(|result| format!("result {result:?}")));
            words.extend(said.mcp_result.map(|result| format!("mcp {result:?}")));
            words.extend((!said.context.is_empty()).then(|| format!("context {:?}", said.context)));
            words.extend((!said.notes.is_empty()).then(|| format!("notes {:?}", said.notes)));
            if words.is_empty() { "nothing".to_owned() } else { words.join(", ") }
        }
    }
}

fn table(event: ClaudeEvent, rows: &[(i32, &str, &str)]) -> String {
    let row = |(code, stdout, stderr): &(i32, &str, &str)| {
        format!("{code} {stdout:?} {stderr:?}\n    {}", heard(event, *code, stdout, stderr))
    };
    rows.iter().map(row).collect::<Vec<_>>().join("\n")
}

#[test]
fn text_is_context_on_start_and_prompt_only() {
    for (event, expected) in [
        (ClaudeEvent::SessionStart, "context [\"[1] hi\"]"),
        (ClaudeEvent::UserPromptSubmit, "context [\"[1] hi\"]"),
        (ClaudeEvent::PreToolUse, "nothing"),
        (ClaudeEvent::PostToolUse, "nothing"),
        (ClaudeEvent::PostToolUseFailure, "nothing"),
        (ClaudeEvent::PostToolBatch, "nothing"),
        (ClaudeEvent::Stop, "nothing"),
        (ClaudeEvent::SubagentStart, "nothing"),
        (ClaudeEvent::SubagentStop, "nothing"),
        (ClaudeEvent::StopFailure, "nothing"),
        (ClaudeEvent::SessionEnd, "nothing"),
    ] {
        assert_eq!(heard(event, 0, "\n [1] hi\n", ""), expected, "{}", event.name());
    }
}

#[test]
fn a_prompts_handler_blocks_with_2_or_by_json() {
    insta::assert_snapshot!(table(ClaudeEvent::UserPromptSubmit, &[
        (0, "", ""),
        (0, "  \n", "a word"),
        (0, "\"quoted\"", ""),
        (0, "[\"list\"]", ""),
        (0, "\u{feff}{\"decision\": \"block\", \"reason\": \"bom\"}", ""),
        (0, r#"{"decision": "block", "reason": "no secrets"}"#, ""),
        (0, r#"{"decision": "block"}"#, ""),
        (0, r#"{"decision": null, "reason": "x"}"#, ""),
        (0, r#"{"decision": "deny"}"#, ""),
        (0, r#"{"continue": false, "stopReason": "stop here"}"#, ""),
        (0, r#"{"continue": false}"#, ""),
        (0, r#"{"suppressOutput": true, "systemMessage": "hello user", "anything": 1}"#, ""),
        (0, r#"{"hookSpecificOutput": {"hookEventName": "UserPromptSubmit", "additionalContext": "more", "sessionTitle": "t"}}"#, ""),
        (0, r#"{"hookSpecificOutput": {"hookEventName": "Stop", "additionalContext": "more"}}"#, ""),
        (0, r#"{"hookSpecificOutput": {"additionalContext": "more"}}"#, ""),
        (0, r#"{"hookSpecificOutput": {"hookEventName": "UserPromptSubmit", "additionalContext": 1}}"#, ""),
        (0, "{\"decision\": \"block\"", ""),
        (0, "{} trailing", ""),
        (1, "text", "first\nsecond"),
        (1, "", ""),
        (1, r#"{"decision": "block", "reason": "json decides"}"#, "ignored"),
        (1, r#"{"decision": 1}"#, ""),
        (127, "", "sh: 1: nope: not found"),
        (2, "", "no"),
        (2, "", " \n"),
        (2, r#"{"decision": "approve"}"#, "still no"),
        (2, r#"{"decision": "block", "reason": "said in json"}"#, ""),
        (2, r#"{"decision": 1}"#, "invalid json, stderr counts"),
        (2, "{", "broken json, stderr counts"),
    ]), @r#"
    0 "" ""
        nothing
    0 "  \n" "a word"
        nothing
    0 "\"quoted\"" ""
        context ["\"quoted\""]
    0 "[\"list\"]" ""
        context ["[\"list\"]"]
    0 "\u{feff}{\"decision\": \"block\", \"reason\": \"bom\"}" ""
        block "bom"
    0 "{\"decision\": \"block\", \"reason\": \"no secrets\"}" ""
        block "no secrets"
    0 "{\"decision\": \"block\"}" ""
        block "A hook refused this and gave no reason."
    0 "{\"decision\": null, \"reason\": \"x\"}" ""
        nothing
    0 "{\"decision\": \"deny\"}" ""
        failed: its JSON is no answer, at line 1 column 19
    0 "{\"continue\": false, \"stopReason\": \"stop here\"}" ""
        halt "stop here"
    0 "{\"continue\": false}" ""
        halt "A hook refused this and gave no reason."
    0 "{\"suppressOutput\": true, \"systemMessage\": \"hello user\", \"anything\": 1}" ""
        notes ["it says to the user: hello user"]
    0 "{\"hookSpecificOutput\": {\"hookEventName\": \"UserPromptSubmit\", \"additionalContext\": \"more\", \"sessionTitle\": \"t\"}}" ""
        context ["more"], notes ["`sessionTitle` has no effect behind a gateway"]
    0 "{\"hookSpecificOutput\": {\"hookEventName\": \"Stop\", \"additionalContext\": \"more\"}}" ""
        failed: its hookEventName is not UserPromptSubmit
    0 "{\"hookSpecificOutput\": {\"additionalContext\": \"more\"}}" ""
        failed: its hookSpecificOutput is none, at line 1 column 29 of it
    0 "{\"hookSpecificOutput\": {\"hookEventName\": \"UserPromptSubmit\", \"additionalContext\": 1}}" ""
        failed: its hookSpecificOutput is none, at line 1 column 60 of it
    0 "{\"decision\": \"block\"" ""
        failed: its JSON is broken at line 1 column 20
    0 "{} trailing" ""
        failed: its JSON is broken at line 1 column 4
    1 "text" "first\nsecond"
        failed: exit status 1: first
    1 "" ""
        failed: exit status 1
    1 "{\"decision\": \"block\", \"reason\": \"json decides\"}" "ignored"
        block "json decides"
    1 "{\"decision\": 1}" ""
        failed: exit status 1: its JSON is no answer, at line 1 column 14
    127 "" "sh: 1: nope: not found"
        failed: exit status 127: sh: 1: nope: not found
    2 "" "no"
        block "no"
    2 "" " \n"
        block "A hook refused this and gave no reason."
    2 "{\"decision\": \"approve\"}" "still no"
        block "still no"
    2 "{\"decision\": \"block\", \"reason\": \"said in json\"}" ""
        block "said in json"
    2 "{\"decision\": 1}" "invalid json, stderr counts"
        block "invalid json, stderr counts"
    2 "{" "broken json, stderr counts"
        block "broken json, stderr counts"
    "#);
}

#[test]
fn a_calls_handler_permits_denies_and_changes() {
    insta::assert_snapshot!(table(ClaudeEvent::PreToolUse, &[
        (0, r#"{"hookSpecificOutput": {"hookEventName": "PreToolUse", "permissionDecision": "allow"}}"#, ""),
        (0, r#"{"hookSpecificOutput": {"hookEventName": "PreToolUse", "permissionDecision": "deny", "permissionDecisionReason": "use rg"}}"#, ""),
        (0, r#"{"hookSpecificOutput": {"hookEventName": "PreToolUse", "permissionDecision": "ask"}}"#, ""),
        (0, r#"{"hookSpecificOutput": {"hookEventName": "PreToolUse", "permissionDecision": "defer"}}"#, ""),
        (0, r#"{"hookSpecificOutput": {"hookEventName": "PreToolUse", "permissionDecision": "maybe"}}"#, ""),
        (0, r#"{"hookSpecificOutput": {"hookEventName": "PreToolUse", "updatedInput": {"command": "ls"}, "additionalContext": "c"}}"#, ""),
        (0, r#"{"hookSpecificOutput": {"hookEventName": "PreToolUse", "updatedInput": "ls"}}"#, ""),
        (0, r#"{"decision": "approve", "reason": "old"}"#, ""),
        (0, r#"{"decision": "block", "reason": "old"}"#, ""),
        (0, r#"{"decision": "block", "reason": "old", "hookSpecificOutput": {"hookEventName": "PreToolUse", "permissionDecision": "allow"}}"#, ""),
        (2, r#"{"hookSpecificOutput": {"hookEventName": "PreToolUse", "permissionDecision": "allow", "permissionDecisionReason": "fine"}}"#, "no rm"),
        (2, r#"{"hookSpecificOutput": {"hookEventName": "PreToolUse", "permissionDecision": "deny", "permissionDecisionReason": "why"}}"#, ""),
        (2, "", ""),
        (1, "", "oops"),
    ]), @r#"
    0 "{\"hookSpecificOutput\": {\"hookEventName\": \"PreToolUse\", \"permissionDecision\": \"allow\"}}" ""
        Allow None
    0 "{\"hookSpecificOutput\": {\"hookEventName\": \"PreToolUse\", \"permissionDecision\": \"deny\", \"permissionDecisionReason\": \"use rg\"}}" ""
        Deny Some("use rg")
    0 "{\"hookSpecificOutput\": {\"hookEventName\": \"PreToolUse\", \"permissionDecision\": \"ask\"}}" ""
        Ask None
    0 "{\"hookSpecificOutput\": {\"hookEventName\": \"PreToolUse\", \"permissionDecision\": \"defer\"}}" ""
        Defer None
    0 "{\"hookSpecificOutput\": {\"hookEventName\": \"PreToolUse\", \"permissionDecision\": \"maybe\"}}" ""
        failed: its hookSpecificOutput is none, at line 1 column 61 of it
    0 "{\"hookSpecificOutput\": {\"hookEventName\": \"PreToolUse\", \"updatedInput\": {\"command\": \"ls\"}, \"additionalContext\": \"c\"}}" ""
        input {"command":"ls"}, context ["c"]
    0 "{\"hookSpecificOutput\": {\"hookEventName\": \"PreToolUse\", \"updatedInput\": \"ls\"}}" ""
        failed: its hookSpecificOutput is none, at line 1 column 52 of it
    0 "{\"decision\": \"approve\", \"reason\": \"old\"}" ""
        Allow Some("old")
    0 "{\"decision\": \"block\", \"reason\": \"old\"}" ""
        Deny Some("old")
    0 "{\"decision\": \"block\", \"reason\": \"old\", \"hookSpecificOutput\": {\"hookEventName\": \"PreToolUse\", \"permissionDecision\": \"allow\"}}" ""
        Allow None
    2 "{\"hookSpecificOutput\": {\"hookEventName\": \"PreToolUse\", \"permissionDecision\": \"allow\", \"permissionDecisionReason\": \"fine\"}}" "no rm"
        Deny Some("no rm")
    2 "{\"hookSpecificOutput\": {\"hookEventName\": \"PreToolUse\", \"permissionDecision\": \"deny\", \"permissionDecisionReason\": \"why\"}}" ""
        Deny Some("why")
    2 "" ""
        Deny None
    1 "" "oops"
        failed: exit status 1: oops
    "#);
}

#[test]
fn a_results_handler_adds_and_replaces() {
    insta::assert_snapshot!(table(ClaudeEvent::PostToolUse, &[
        (0, r#"{"decision": "block", "reason": "lint"}"#, ""),
        (0, r#"{"decision": "block"}"#, ""),
        (0, r#"{"hookSpecificOutput": {"hookEventName": "PostToolUse", "additionalContext": "c", "updatedToolOutput": "short"}}"#, ""),
        (0, r#"{"hookSpecificOutput": {"hookEventName": "PostToolUse", "updatedMCPToolOutput": [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}]}}"#, ""),
        (0, r#"{"hookSpecificOutput": {"hookEventName": "PostToolUse", "updatedToolOutput": {"stdout": "x"}}}"#, ""),
        (2, "", "lint says no"),
        (2, r#"{"decision": "block", "reason": "both"}"#, "count"),
    ]), @r#"
    0 "{\"decision\": \"block\", \"reason\": \"lint\"}" ""
        context ["lint"]
    0 "{\"decision\": \"block\"}" ""
        nothing
    0 "{\"hookSpecificOutput\": {\"hookEventName\": \"PostToolUse\", \"additionalContext\": \"c\", \"updatedToolOutput\": \"short\"}}" ""
        result "short", context ["c"]
    0 "{\"hookSpecificOutput\": {\"hookEventName\": \"PostToolUse\", \"updatedMCPToolOutput\": [{\"type\": \"text\", \"text\": \"a\"}, {\"type\": \"text\", \"text\": \"b\"}]}}" ""
        mcp "a\nb"
    0 "{\"hookSpecificOutput\": {\"hookEventName\": \"PostToolUse\", \"updatedToolOutput\": {\"stdout\": \"x\"}}}" ""
        result "{\"stdout\":\"x\"}"
    2 "" "lint says no"
        context ["lint says no"]
    2 "{\"decision\": \"block\", \"reason\": \"both\"}" "count"
        context ["both", "count"]
    "#);
}

#[test]
fn a_steps_handler_adds_and_stops_the_turn() {
    insta::assert_snapshot!(table(ClaudeEvent::PostToolBatch, &[
        (0, r#"{"hookSpecificOutput": {"hookEventName": "PostToolBatch", "additionalContext": "c"}}"#, ""),
        (0, r#"{"decision": "block", "reason": "enough"}"#, ""),
        (0, r#"{"decision": "block"}"#, ""),
        (0, r#"{"continue": false, "stopReason": "enough"}"#, ""),
        (2, "", "enough"),
    ]), @r#"
    0 "{\"hookSpecificOutput\": {\"hookEventName\": \"PostToolBatch\", \"additionalContext\": \"c\"}}" ""
        context ["c"]
    0 "{\"decision\": \"block\", \"reason\": \"enough\"}" ""
        block "enough"
    0 "{\"decision\": \"block\"}" ""
        block "A hook refused this and gave no reason."
    0 "{\"continue\": false, \"stopReason\": \"enough\"}" ""
        halt "enough"
    2 "" "enough"
        block "enough"
    "#);
}

#[test]
fn a_stops_handler_sends_back_to_work() {
    insta::assert_snapshot!(table(ClaudeEvent::Stop, &[
        (0, r#"{"decision": "block", "reason": "run tests"}"#, ""),
        (0, r#"{"decision": "block"}"#, ""),
        (0, r#"{"decision": "approve"}"#, ""),
        (0, r#"{"hookSpecificOutput": {"hookEventName": "Stop", "additionalContext": "one more thing"}}"#, ""),
        (0, r#"{"continue": false, "stopReason": "enough", "decision": "block", "reason": "x"}"#, ""),
        (2, "", "run tests\nall of them\n"),
        (2, "", ""),
    ]), @r#"
    0 "{\"decision\": \"block\", \"reason\": \"run tests\"}" ""
        block "run tests"
    0 "{\"decision\": \"block\"}" ""
        notes ["`decision: block` has no reason; nothing continues"]
    0 "{\"decision\": \"approve\"}" ""
        nothing
    0 "{\"hookSpecificOutput\": {\"hookEventName\": \"Stop\", \"additionalContext\": \"one more thing\"}}" ""
        context ["one more thing"]
    0 "{\"continue\": false, \"stopReason\": \"enough\", \"decision\": \"block\", \"reason\": \"x\"}" ""
        block "x", halt "enough"
    2 "" "run tests\nall of them\n"
        block "run tests\nall of them"
    2 "" ""
        block "A hook refused this and gave no reason."
    "#);
}

#[test]
fn where_nothing_can_be_refused_2_is_a_note_or_a_failure() {
    for (event, expected) in [
        (ClaudeEvent::SessionStart, "notes [\"exit status 2: no\"]"),
        (ClaudeEvent::SubagentStart, "notes [\"exit status 2: no\"]"),
        (ClaudeEvent::StopFailure, "failed: exit status 2: no"),
        (ClaudeEvent::SessionEnd, "failed: exit status 2: no"),
    ] {
        assert_eq!(
            heard(event, 2, r#"{"decision": "block", "reason": "x"}"#, "no")
                .replace("notes [\"`decision` has no effect on SessionStart\", ", "notes [")
                .replace("notes [\"`decision` has no effect on SubagentStart\", ", "notes ["),
            expected,
            "{}",
            event.name()
        );
    }
}

#[test]
fn every_text_is_cut_at_the_cap() {
    let long = "ä".repeat(MAX_TEXT_CHARS + 1);
    let length = |text: &Option<String>| text.as_ref().map(|text| text.chars().count());
    let said = Said::read(ClaudeEvent::UserPromptSubmit, 2, long.as_bytes(), long.as_bytes()).unwrap();
    assert_eq!(length(&said.block), Some(MAX_TEXT_CHARS));
    let said = Said::read(ClaudeEvent::SessionStart, 0, long.as_bytes(), b"").unwrap();
    assert_eq!(said.context[0].chars().count(), MAX_TEXT_CHARS);
    assert_eq!(said.notes, ["a text was cut at 10000 characters"]);
    let whole = Said::read(ClaudeEvent::SessionStart, 0, "ä".repeat(MAX_TEXT_CHARS).as_bytes(), b"").unwrap();
    assert!(whole.notes.is_empty());
}

#[test]
fn an_http_answer_is_an_object_or_nothing() {
    let of = |body: &str| Said::of_body(ClaudeEvent::Stop, body.as_bytes());
    assert_eq!(of(" \n"), Ok(Said::default()));
    assert_eq!(of("{}"), Ok(Said::default()));
    assert!(of("text").is_err() && of("[]").is_err() && of("{").is_err());
    assert_eq!(of(r#"{"decision":"block","reason":"x"}"#).unwrap().block.as_deref(), Some("x"));
}

#[test]
fn no_word_of_the_output_is_in_a_failure() {
    for text in [
        "{\"reason\": s3cret}",
        "{\"continue\": \"s3cret\"}",
        "{\"hookSpecificOutput\": {\"hookEventName\": \"s3cret\"}}",
    ] {
        let why = Said::read(ClaudeEvent::Stop, 0, text.as_bytes(), b"").unwrap_err();
        assert!(!why.contains("s3cret"), "{why}");
    }
}
