//! The command line as a person or a script meets it: exit codes, what goes to stdout, what goes to stderr.
#![allow(clippy::unwrap_used)] // clippy's leave for tests ends at the functions that they share

#[path = "support/command.rs"]
mod command;

use command::{hookgate, stdout};
use std::io::{Read as _, Write as _};
use std::net::TcpListener;
use std::process::Output;
use std::thread::JoinHandle;

fn stderr(output: &Output) -> String {
    String::from_utf8(output.stderr.clone()).unwrap()
}

/// Answers every connection with the next of `answers`; returns the requests.
fn admin(answers: Vec<&'static str>) -> (String, JoinHandle<Vec<String>>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let requests = std::thread::spawn(move || {
        let answer = |body: &str| {
            let (mut stream, _) = listener.accept().unwrap();
            let mut request = Vec::new();
            let mut byte = [0];
            while !request.ends_with(b"\r\n\r\n") && stream.read(&mut byte).unwrap() == 1 {
                request.push(byte[0]);
            }
            let status = if body.contains("\"error\"") { "404 Not Found" } else { "200 OK" };
            let length = body.len();
            write!(stream, "HTTP/1.1 {status}\r\ncontent-length: {length}\r\nconnection: close\r\n\r\n{body}").unwrap();
            String::from_utf8(request).unwrap()
        };
        answers.into_iter().map(answer).collect()
    });
    (url, requests)
}

#[test]
fn check_prints_every_problem_on_stdout_and_exits_with_1() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("bad.yaml"), "listn: x\nlimits: { hook_output: big }\n").unwrap();
    let output = hookgate(folder.path(), &["check", "--config", "bad.yaml"]);
    assert_eq!((output.status.code(), stderr(&output).as_str()), (Some(1), ""));
    insta::assert_snapshot!(stdout(&output), @r"
    bad.yaml:1:1: listn: unknown key, did you mean `listen`?
    bad.yaml:2:24: limits.hook_output: not valid here, write a size such as 64MiB, 10MB or 512
    ");
}

#[test]
fn check_looks_where_serve_looks() {
    let folder = tempfile::tempdir().unwrap();
    let output = hookgate(folder.path(), &["check"]);
    assert_eq!((output.status.code(), stdout(&output).as_str()), (Some(0), "built-in defaults: ok\n"));
    std::fs::create_dir(folder.path().join("config")).unwrap();
    std::fs::write(folder.path().join("config/hookgate.yaml"), "").unwrap();
    assert_eq!(stdout(&hookgate(folder.path(), &["check"])), "./config/hookgate.yaml: ok\n");
}

#[test]
fn check_fails_on_what_serve_only_warns_of() {
    let folder = tempfile::tempdir().unwrap();
    let hook = "hooks: [{ name: a, on: prompt.submit, run: { command: [./gone.sh] } }]";
    std::fs::write(folder.path().join("c.yaml"), hook).unwrap();
    let output = hookgate(folder.path(), &["check", "--config", "c.yaml", "--json"]);
    assert_eq!(output.status.code(), Some(1));
    let report: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(report["ok"], false);
    assert_eq!(report["problems"][0]["key"], "hooks[0].run.command");
    assert_eq!(report["problems"][0]["fatal"], false);
}

#[test]
fn schemas_are_json() {
    let folder = tempfile::tempdir().unwrap();
    for schema in ["event", "answer", "config"] {
        let output = hookgate(folder.path(), &["check", "--schema", schema]);
        assert_eq!(output.status.code(), Some(0));
        let schema: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
        assert_eq!(schema["type"], "object");
    }
    let output = hookgate(folder.path(), &["check", "--schema", "case"]);
    let schema: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(schema["type"], serde_json::json!(["object", "array"]));
}

#[test]
fn wrong_usage_exits_with_2() {
    let folder = tempfile::tempdir().unwrap();
    for arguments in [&["chekc"][..], &["check", "--schema", "x"], &["serve", "--port", "1"], &[]] {
        assert_eq!(hookgate(folder.path(), arguments).status.code(), Some(2), "{arguments:?}");
    }
}

#[test]
fn serve_refuses_a_configuration_with_a_fatal_problem() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("bad.yaml"), "listen: 1").unwrap();
    let output = hookgate(folder.path(), &["serve", "--config", "bad.yaml"]);
    assert_eq!(output.status.code(), Some(1));
    assert!(stderr(&output).contains("bad.yaml:1:9: listen: "), "{}", stderr(&output));
}

#[test]
fn logs_are_plain_where_no_terminal_shows_them() {
    let folder = tempfile::tempdir().unwrap();
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let listen = format!("listen: {}\nstore: {{ kind: memory }}\n", taken.local_addr().unwrap());
    std::fs::write(folder.path().join("c.yaml"), listen).unwrap();
    let output = hookgate(folder.path(), &["serve", "--config", "c.yaml"]);
    assert_eq!(output.status.code(), Some(1));
    let logs = stderr(&output);
    assert!(logs.contains("configuration loaded config=c.yaml") && !logs.contains('\x1b'), "{logs}");
}

#[test]
fn sessions_list_follows_the_pages() {
    let (url, requests) = admin(vec![
        r#"{"items":[{"id":"s1","agent":"main","tenant":"t_1","turns":3,"last_active":"2026-01-02T03:04:05Z"}],"next":"c 1"}"#,
        r#"{"items":[{"id":"session-2","agent":"qa","tenant":"t_1","turns":1}],"next":null}"#,
    ]);
    let folder = tempfile::tempdir().unwrap();
    let output = hookgate(folder.path(), &["sessions", "list", "--admin", &url, "--token", "tok"]);
    insta::assert_snapshot!(stdout(&output), @r"
    ID         AGENT  TENANT  TURNS  LAST ACTIVE           LABEL
    s1         main   t_1     3      2026-01-02T03:04:05Z  -
    session-2  qa     t_1     1      -                     -
    ");
    let requests = requests.join().unwrap();
    assert!(
        requests[0].starts_with("GET /v1/sessions?limit=500 HTTP/1.1") && requests[0].contains("Bearer tok"),
        "{requests:?}"
    );
    assert!(requests[1].starts_with("GET /v1/sessions?limit=500&cursor=c+1 "), "{requests:?}");
}

#[test]
fn sessions_clear_empties_every_slot_and_encodes_what_it_names() {
    let (url, requests) =
        admin(vec![r#"{"id":"a/b","agent":"main","slots":{"x":{"text":"1"},"y z":{"text":"2"}}}"#, "{}", "{}"]);
    let folder = tempfile::tempdir().unwrap();
    let arguments = ["sessions", "clear", "a/b", "--tenant", "t_1", "--admin", &url, "--token", "tok"];
    assert_eq!(stdout(&hookgate(folder.path(), &arguments)), "cleared x, y z\n");
    let requests = requests.join().unwrap();
    let lines: Vec<_> = requests.iter().filter_map(|request| request.lines().next()).collect();
    assert_eq!(
        lines,
        [
            "GET /v1/sessions/a%2Fb/agents/main?tenant=t_1 HTTP/1.1",
            "DELETE /v1/sessions/a%2Fb/agents/main/context/x?tenant=t_1 HTTP/1.1",
            "DELETE /v1/sessions/a%2Fb/agents/main/context/y%20z?tenant=t_1 HTTP/1.1",
        ]
    );
}

#[test]
fn the_token_that_the_gateway_made_is_found() {
    let (url, requests) = admin(vec!["{}"]);
    let folder = tempfile::tempdir().unwrap();
    std::fs::create_dir(folder.path().join("data")).unwrap();
    std::fs::write(folder.path().join("data/admin.token"), "made-token\n").unwrap();
    let output = hookgate(folder.path(), &["sessions", "end", "s1", "--admin", &url]);
    assert_eq!(stdout(&output), "ended s1 main\n", "{}", stderr(&output));
    assert!(requests.join().unwrap()[0].contains("Bearer made-token"));
}

#[test]
fn a_refusal_of_the_admin_api_is_told_and_exits_with_1() {
    let (url, _requests) = admin(vec![r#"{"error":{"message":"no such session"}}"#]);
    let folder = tempfile::tempdir().unwrap();
    let output = hookgate(folder.path(), &["sessions", "show", "s9", "--admin", &url, "--token", "tok"]);
    assert_eq!(output.status.code(), Some(1));
    assert!(stderr(&output).contains("404 Not Found: no such session"), "{}", stderr(&output));
}
