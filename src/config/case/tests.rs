//! What a person gets to read for a file of cases.
use super::*;

fn problems(text: &str) -> String {
    match parse(text, Path::new("cases.yaml")) {
        Ok(cases) => format!("{} ok", cases.len()),
        Err(problems) => Problems::new("", problems).to_string(),
    }
}

#[test]
fn a_file_is_a_case_a_list_or_a_map_with_a_list() {
    for (text, expected) in [
        ("name: a\nrequest: {}\n", "1 ok"),
        ("- { name: a, request: {} }\n- { name: b, turns: [{ request: {} }, { request: {} }] }\n", "2 ok"),
        ("config: c.yaml\ncases:\n  - { name: a, request: {} }\n", "1 ok"),
    ] {
        assert_eq!(problems(text), expected, "{text}");
    }
}

#[test]
fn every_problem_has_its_place() {
    let text = "cases:
  - name: a
    reqest: {}
    expect: { tool: [x] }
  - name: b
    request: {}
    turns: [{ request: {} }]
  - name: c
    request: gone.json
    response: { sse: x, body: {} }
    expect: { body: [{ at: /a }], hooks: { h: run }, requests: many }
";
    insta::assert_snapshot!(problems(text), @r"
    :3:5: cases[0].reqest: unknown key, did you mean `request`?
    :4:15: cases[0].expect.tool: unknown key, did you mean `tools`?
    :5:5: cases[1]: both request and turns, write one of them
    :9:14: cases[2].request: gone.json: No such file or directory (os error 2)
    :10:15: cases[2].response: write exactly one of text, body, sse and file
    :11:22: cases[2].expect.body[0]: write exactly one of equals, contains and absent
    :11:47: cases[2].expect.hooks.h: unknown value, did you mean `ran`?
    :11:64: cases[2].expect.requests: not valid here, write a whole number
    ");
}

#[test]
fn a_dollar_is_a_dollar() {
    let text = "name: a\nrequest: { messages: [{ role: user, content: 'echo ${HOME}' }], n: 1, s: '1' }\n";
    let cases = parse(text, Path::new("cases.yaml")).unwrap();
    assert_eq!(cases[0].turns[0].body, r#"{"messages":[{"role":"user","content":"echo ${HOME}"}],"n":1,"s":"1"}"#);
}

#[test]
fn a_case_speaks_for_its_turns() {
    let text = "
name: a
path: /v1/messages
headers: { x-a: '1', x-b: '1' }
config: c.yaml
turns:
  - { request: {}, headers: { x-b: '2' } }
  - { request: {}, path: /v1/responses, response: [one, { status: 529 }] }
";
    let case = &parse(text, Path::new("folder/cases.yaml")).unwrap()[0];
    assert_eq!(case.config.as_deref(), Some(Path::new("folder/c.yaml")));
    let [first, second] = &case.turns[..] else { panic!("{case:?}") };
    assert_eq!((first.headers["x-a"].to_str().unwrap(), first.headers["x-b"].to_str().unwrap()), ("1", "2"));
    assert_eq!((first.path.as_deref(), second.path.as_deref()), (Some("/v1/messages"), Some("/v1/responses")));
    assert_eq!(second.answers[0].said, Said::Words("one".into()));
    assert_eq!(second.answers[1].status.as_u16(), 529);
}
