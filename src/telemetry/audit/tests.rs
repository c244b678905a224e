use super::*;
use serde_json::Value;
use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

fn settings(file: &Path, max_size: u64, keep: usize) -> Settings {
    Settings { file: file.to_owned(), max_size, keep, bodies: false }
}

fn lines(file: &Path) -> Vec<Value> {
    fs::read_to_string(file).unwrap().lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

#[tokio::test]
async fn a_line_says_who_what_and_digests_and_bodies_only_when_asked() {
    let folder = tempfile::tempdir().unwrap();
    for bodies in [false, true] {
        let file = folder.path().join(format!("deep/{bodies}.jsonl"));
        let audit = Audit::open(&Settings { bodies, ..settings(&file, 1 << 20, 1) }).unwrap();
        let change = audit.change([&b"s3"[..], b"cret"], [&b"mask"[..]]);
        let who = Who { tenant: "t", session: "s", agent: "a" };
        audit.write(&Line {
            who,
            event: "request",
            hook: Some("h"),
            action: "changed",
            what: &["x"],
            change: Some(change),
            ..Line::default()
        });
        audit.flush().await;
        let [line] = &lines(&file)[..] else { panic!("one line") };
        assert_eq!((&line["session"], &line["hook"], &line["what"][0]), (&"s".into(), &"h".into(), &"x".into()));
        assert_eq!(line["before"], format!("blake3:{}", blake3::hash(b"s3cret").to_hex()));
        assert_eq!(line["after"], format!("blake3:{}", blake3::hash(b"mask").to_hex()));
        assert_eq!(line["body_before"].as_str(), bodies.then_some("s3cret"));
        assert!(line["at"].as_str().unwrap().ends_with('Z'), "{line}");
        assert_eq!(fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o600);
    }
}

#[tokio::test]
async fn full_files_make_way_and_the_oldest_goes() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("audit.jsonl");
    let audit = Audit::open(&settings(&file, 300, 2)).unwrap();
    for number in 0..40 {
        audit.write(&Line { event: "e", action: "said", request_id: Some(&number.to_string()), ..Line::default() });
    }
    audit.flush().await;
    let mut names: Vec<_> =
        fs::read_dir(folder.path()).unwrap().map(|f| f.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    assert_eq!(names, ["audit.jsonl", "audit.jsonl.1", "audit.jsonl.2"]);
    let mut last = 40;
    for name in names {
        let path = folder.path().join(name);
        assert!(fs::metadata(&path).unwrap().len() <= 300);
        for line in lines(&path).iter().rev() {
            last -= 1;
            assert_eq!(line["request_id"], last.to_string(), "whole lines, in order, none left out");
        }
    }
}

#[tokio::test]
async fn a_file_that_somebody_took_away_is_begun_anew() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("audit.jsonl");
    for keep in [0, 2] {
        let audit = Audit::open(&settings(&file, 300, keep)).unwrap();
        let say = |number: usize| {
            audit.write(&Line { event: "e", action: "said", request_id: Some(&number.to_string()), ..Line::default() });
        };
        say(0);
        audit.flush().await;
        fs::remove_file(&file).unwrap();
        (1..9).for_each(say);
        audit.flush().await;
        assert_eq!(lines(&file).last().unwrap()["request_id"], "8", "keep {keep}");
    }
}

#[test]
fn what_has_no_room_is_dropped_and_counted_and_nobody_waits() {
    let recorder = metrics_exporter_prometheus::PrometheusBuilder::new().build_recorder();
    let dropped = metrics::with_local_recorder(&recorder, || {
        // Nobody takes anything out of this queue.
        let (queue, _lines) = sync_channel(1);
        let log = Log {
            queue,
            waiting: Arc::default(),
            bodies: false,
            written: counter!(names::AUDIT_LINES),
            full: counter!(names::AUDIT_DROPPED, "reason" => "full"),
            said: AtomicU64::new(0),
        };
        let audit = Audit(Some(Arc::new(log)));
        let line = Line { event: "e", action: "said", ..Line::default() };
        (0..5).for_each(|_| audit.write(&line));
        recorder.handle().render()
    });
    assert!(dropped.contains("hookgate_audit_dropped_total{reason=\"full\"} 4"), "{dropped}");
    assert!(dropped.contains("hookgate_audit_lines_total 1"), "{dropped}");
}

#[tokio::test]
async fn nothing_is_written_where_nothing_is_asked_for() {
    let audit = Audit::default();
    assert!(!audit.is_on());
    audit.write(&Line::default());
    audit.flush().await;
}
