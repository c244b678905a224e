//! What the documentation shows works: the demo, the examples, the configurations, commands and links in README and docs.
#![allow(clippy::unwrap_used)] // clippy's leave for tests ends at the functions that they share

use hookgate::telemetry::names::{ALL, Kind, Metric};
use serde_json::Value;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};

fn hookgate(arguments: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_hookgate"));
    command.args(arguments).env_remove("NO_COLOR").env("ANTHROPIC_API_KEY", "sk-ant-test").output().unwrap()
}

fn stdout(output: &Output) -> String {
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout.clone()).unwrap()
}

fn package(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(path)
}

fn example(name: &str) -> PathBuf {
    package("config/examples").join(name)
}

/// README and the pages that go on from it.
fn pages() -> Vec<(PathBuf, String)> {
    let docs = std::fs::read_dir(package("docs")).unwrap().map(|page| page.unwrap().path());
    let pages = docs.filter(|page| page.extension().is_some_and(|ending| ending == "md"));
    let read = |page: PathBuf| {
        let text = std::fs::read_to_string(&page).unwrap();
        (page, text)
    };
    pages.chain([package("README.md")]).map(read).collect()
}

/// The blocks of code in a language.
fn blocks<'a>(text: &'a str, language: &str) -> Vec<&'a str> {
    let fence = format!("```{language}\n");
    text.split(&fence).skip(1).filter_map(|rest| rest.split("```").next()).collect::<Vec<_>>()
}

/// The texts that hooks added to a request, frames left out.
fn added(request: &Value) -> Vec<&str> {
    let lines = request["added"].as_array().unwrap().iter().map(|line| line.as_str().unwrap());
    lines.filter(|line| !line.starts_with('<')).collect()
}

#[test]
fn the_demo_shows_the_hooks_at_work_in_every_dialect() {
    let seen: Value = serde_json::from_str(&stdout(&hookgate(&["demo", "--dialect", "all", "--json"]))).unwrap();
    let dialects: Vec<_> = seen.as_array().unwrap().iter().map(|run| run["dialect"].as_str().unwrap()).collect();
    assert_eq!(dialects, ["anthropic", "chat", "responses", "gemini"]);
    for run in seen.as_array().unwrap() {
        let [first, second] = run["turns"].as_array().unwrap().as_slice() else { panic!("two turns: {run:#}") };
        // A tool step carries what its prompt was given, and no hook ran for it.
        for request in first["requests"].as_array().unwrap() {
            assert_eq!(added(request), ["Open tasks: 5", "Changed files: parser.rs"], "{request:#}");
        }
        assert_eq!(first["requests"].as_array().unwrap().len(), 2);
        assert_eq!(first["stop"]["turn"]["text"], "No: parser::empty_input fails, the other 41 pass.");
        assert_eq!(first["stored"]["tasks"], "Open tasks: 4");
        // What the stop hook stored replaces what the start hook gave, behind all that the model has seen.
        let expected = ["Open tasks: 5", "Open tasks: 4", "Changed files: parser.rs"];
        assert_eq!(added(&second["requests"][0]), expected, "{second:#}");
        assert_eq!(second["stored"]["tasks"], "Open tasks: 3");
    }
}

#[test]
fn layout_system_shows_only_the_newest_text() {
    let shown = stdout(&hookgate(&["demo", "--dialect", "chat", "--layout", "system"]));
    let (_, second) = shown.split_once("## Turn 2, request 1").unwrap();
    let (_, received) = second.split_once("The provider received").unwrap();
    let (received, _) = received.split_once("The model answered").unwrap();
    assert!(received.contains("Open tasks: 4") && !received.contains("Open tasks: 5"), "{received}");
    assert!(!shown.contains('\x1b'), "colours are for terminals");
}

#[test]
fn every_example_is_a_valid_configuration() {
    let folders = std::fs::read_dir(package("config/examples")).unwrap();
    let files: Vec<_> = folders.map(|folder| folder.unwrap().path().join("hookgate.yaml")).collect();
    assert!(files.len() >= 3);
    for file in files {
        let file = file.to_str().unwrap();
        assert_eq!(stdout(&hookgate(&["check", "--config", file])), format!("{file}: ok\n"));
    }
}

#[test]
fn the_configurations_of_containers_are_valid() {
    let manifests = std::fs::read_to_string(package("docker/kubernetes.yaml")).unwrap();
    let (_, map) = manifests.split_once("  hookgate.yaml: |\n").unwrap();
    let indented = map.lines().map_while(|line| line.strip_prefix("    "));
    let folder = tempfile::tempdir().unwrap();
    let in_cluster = folder.path().join("hookgate.yaml");
    std::fs::write(&in_cluster, indented.collect::<Vec<_>>().join("\n")).unwrap();
    for file in [package("docker/hookgate.yaml"), package("docker/redis.yaml"), in_cluster] {
        let mut check = Command::new(env!("CARGO_BIN_EXE_hookgate"));
        check.args(["check", "--config"]).arg(&file);
        let output = check.env("HOOKGATE_ADMIN_TOKEN", "t").env("REDIS_URL", "redis://redis:6379").output().unwrap();
        assert_eq!(stdout(&output), format!("{}: ok\n", file.display()));
    }
}

#[test]
fn every_configuration_in_the_documentation_is_valid() {
    let pages = pages();
    let blocks: Vec<_> = pages.iter().flat_map(|(_, text)| blocks(text, "yaml")).collect();
    assert!(!blocks.is_empty());
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("hookgate.yaml");
    // What they name.
    std::fs::create_dir(folder.path().join(".claude")).unwrap();
    std::fs::write(folder.path().join(".claude/settings.json"), "{}").unwrap();
    let made = rcgen::generate_simple_self_signed(["localhost".to_owned()]).unwrap();
    std::fs::write(folder.path().join("cert.pem"), made.cert.pem()).unwrap();
    std::fs::write(folder.path().join("key.pem"), made.signing_key.serialize_pem()).unwrap();
    for block in blocks {
        std::fs::write(&file, block).unwrap();
        let output = hookgate(&["check", "--config", file.to_str().unwrap()]);
        assert!(output.status.success(), "{block}\n{}", String::from_utf8_lossy(&output.stdout));
    }
}

/// A heading's name in links, as GitHub makes it.
fn anchor(heading: &str) -> String {
    let kept = heading.chars().filter(|c| c.is_alphanumeric() || matches!(c, ' ' | '-' | '_'));
    kept.collect::<String>().to_lowercase().replace(' ', "-")
}

#[test]
fn every_link_in_the_documentation_leads_somewhere() {
    let link = regex::Regex::new(r"\]\(([^)\s]+)\)").unwrap();
    for (page, text) in pages() {
        for target in link.captures_iter(&text).map(|found| found.get(1).unwrap().as_str()) {
            if target.contains("://") {
                continue;
            }
            let (path, heading) = target.split_once('#').unwrap_or((target, ""));
            let file = if path.is_empty() { page.clone() } else { page.parent().unwrap().join(path) };
            assert!(file.exists(), "{}: {target}", page.display());
            if !heading.is_empty() {
                let text = std::fs::read_to_string(&file).unwrap();
                let mut headings = text.lines().filter(|line| line.starts_with('#'));
                let found = headings.any(|line| anchor(line.trim_start_matches('#').trim()) == heading);
                assert!(found, "{}: {target}", page.display());
            }
        }
    }
}

#[test]
fn every_command_in_the_documentation_is_one() {
    let folder = tempfile::tempdir().unwrap();
    std::os::unix::fs::symlink(env!("CARGO_BIN_EXE_hookgate"), folder.path().join("hookgate")).unwrap();
    let path = format!("{}:{}", folder.path().display(), std::env::var("PATH").unwrap());
    let pages = pages();
    let commands = pages.iter().flat_map(|(_, text)| blocks(text, "sh")).flat_map(str::lines);
    let mut tried = 0;
    for command in commands.filter(|line| line.starts_with("hookgate ")) {
        // Asked for help a command does nothing, but for refusing what it does not know.
        let (command, _) = command.split_once(" #").unwrap_or((command, ""));
        let mut shell = Command::new("sh");
        // What stands behind `--` is another program's.
        let (command, _) = command.split_once(" -- ").unwrap_or((command, ""));
        shell.args(["-c", &format!("{command} --help")]).env("PATH", &path).current_dir(folder.path());
        let output = shell.output().unwrap();
        assert!(output.status.success(), "{command}\n{}", String::from_utf8_lossy(&output.stderr));
        tried += 1;
    }
    assert!(tried > 3);
}

#[test]
fn every_metric_stands_in_the_documentation_as_it_is() {
    let page = std::fs::read_to_string(package("docs/operations.md")).unwrap();
    for Metric { name, kind, labels, help } in ALL {
        let labels = if labels.is_empty() { String::new() } else { format!("{{{}}}", labels.join(",")) };
        let kind = format!("{kind:?}").to_lowercase();
        let line = format!("| `{name}{labels}` | {kind} | {help} |");
        assert!(page.contains(&line), "{line}");
    }
}

#[test]
fn dashboards_show_metrics_that_there_are_by_labels_that_they_have() {
    let word = regex::Regex::new(r"hookgate_[a-z_]+").unwrap();
    let by = regex::Regex::new(r"by \(([a-z_, ]*)\) \((?:rate|increase)\((hookgate_[a-z_]+)").unwrap();
    let files = std::fs::read_dir(package("docker/grafana")).unwrap().map(|file| file.unwrap().path());
    let boards: Vec<PathBuf> = files.filter(|file| file.extension().is_some_and(|kind| kind == "json")).collect();
    assert!(!boards.is_empty());
    let metric = |series: &str| {
        let known = |metric: &&Metric| {
            let rest = series.strip_prefix(metric.name);
            let parts: &[&str] = if metric.kind == Kind::Histogram { &["_bucket", "_sum", "_count"] } else { &[""] };
            rest.is_some_and(|rest| parts.contains(&rest))
        };
        ALL.iter().find(known)
    };
    for board in boards {
        let board: Value = serde_json::from_str(&std::fs::read_to_string(board).unwrap()).unwrap();
        let text = board.to_string();
        for series in word.find_iter(&text) {
            assert!(metric(series.as_str()).is_some(), "{}", series.as_str());
        }
        for captures in by.captures_iter(&text) {
            let metric = metric(&captures[2]).unwrap();
            for label in captures[1].split(", ").filter(|label| *label != "le" && !label.is_empty()) {
                assert!(metric.labels.contains(&label), "{} has no {label}", metric.name);
            }
        }
    }
}

#[test]
fn the_notes_example_hands_on_what_a_turn_ended_with() {
    let folder = tempfile::tempdir().unwrap();
    let hook = |event: &str| {
        let mut child = Command::new("python3")
            .arg(example("notes/notes.py"))
            .current_dir(folder.path())
            .env("NOTES_FILE", "notes.txt")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        child.stdin.take().unwrap().write_all(event.as_bytes()).unwrap();
        stdout(&child.wait_with_output().unwrap())
    };
    assert_eq!(hook(r#"{"event":"session.start"}"#), "");
    hook(r#"{"event":"session.stop","turn":{"text":"The parser is fixed.\nDetails."}}"#);
    let answer: Value = serde_json::from_str(&hook(r#"{"event":"session.start"}"#)).unwrap();
    assert_eq!(answer["context"], "Noted so far:\nThe parser is fixed.");
}

#[test]
fn the_tests_example_continues_while_the_command_fails() {
    let answer = |script: &str| {
        let mut command = Command::new("python3");
        command.arg(example("tests-pass/tests.py")).args(["sh", "-c", script]).stdin(Stdio::null());
        stdout(&command.output().unwrap())
    };
    assert_eq!(answer("echo fine"), "");
    let failed: Value = serde_json::from_str(&answer("echo 1 of 42 fails >&2; exit 3")).unwrap();
    assert_eq!(failed["continue"], true);
    let message = failed["message"].as_str().unwrap();
    assert!(message.contains("exit status 3") && message.contains("1 of 42 fails"), "{message}");
}

/// The service of the retrieval example; ends with the test.
struct Service(Child);

impl Drop for Service {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[test]
fn the_retrieval_example_finds_the_paragraph() {
    let mut command = Command::new("python3");
    command.arg(example("retrieval-over-http/retrieve.py")).arg(example("retrieval-over-http/handbook.md")).arg("0");
    let mut service = Service(command.stdout(Stdio::piped()).spawn().unwrap());
    let mut line = String::new();
    BufReader::new(service.0.stdout.take().unwrap()).read_line(&mut line).unwrap();
    let port: u16 = line.trim().rsplit(' ').next().unwrap().parse().unwrap();
    let ask = |prompt: &str| {
        let event = serde_json::json!({ "event": "prompt.submit", "prompt": { "text": prompt } }).to_string();
        let mut stream = TcpStream::connect(("127.0.0.1", port)).unwrap();
        write!(stream, "POST /hook HTTP/1.0\r\ncontent-length: {}\r\n\r\n{event}", event.len()).unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        serde_json::from_str::<Value>(answer.split("\r\n\r\n").nth(1).unwrap()).unwrap()
    };
    let found = ask("Who has to look at a database migration?");
    assert!(found["context"].as_str().unwrap().starts_with("A database migration needs two people"), "{found}");
    assert_eq!(ask("Hello"), serde_json::json!({}));
}
