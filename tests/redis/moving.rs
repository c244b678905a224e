//! State moves from one kind of store to another, and everything goes on there.
use crate::replica::{Pair, Replica, said};
use crate::support::soon;
use serde_json::{Value, json};
use std::path::Path;
use std::process::{Command, Output};

fn store(config: &Path, arguments: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_hookgate"));
    command.args(["store"]).args(arguments).arg("--config").arg(config).output().unwrap()
}

fn done(output: &Output) -> String {
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{said}{}", String::from_utf8_lossy(&output.stdout));
    String::from_utf8(output.stdout.clone()).unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn state_moves_between_redis_and_sled_and_sessions_go_on() {
    let Some(mut pair) = Pair::start("state_moves_between_redis_and_sled_and_sessions_go_on", "").await else { return };
    let mut history = vec![json!({"role": "user", "content": "p0"})];
    assert_eq!(pair.replicas[0].ask("s", &history).await.0, 200);
    let message = json!({"text": "MESSAGE"});
    assert!(pair.replicas[1].admin("POST", "/v1/sessions/s/agents/main/messages", &message).await.0 < 300);
    pair.replicas.iter_mut().for_each(Replica::kill);

    let folder = pair.config.parent().unwrap();
    let [sled, file, again] = ["sled.yaml", "state.jsonl", "again.jsonl"].map(|name| folder.join(name));
    let [file, again] = [&file, &again].map(|path| path.to_str().unwrap());
    let yaml = std::fs::read_to_string(&pair.config).unwrap();
    let lines = yaml.lines().map(|line| if line.starts_with("store:") { "store: { path: ./moved }" } else { line });
    std::fs::write(&sled, lines.collect::<Vec<_>>().join("\n")).unwrap();

    assert!(!store(&sled, &["export"]).status.success(), "there is nothing yet, and nothing is made");
    done(&store(&pair.config, &["export", "--out", file]));
    done(&store(&sled, &["import", file]));
    let refused = store(&sled, &["import", file]);
    assert!(String::from_utf8_lossy(&refused.stderr).contains("not empty"));
    assert!(done(&store(&sled, &["verify", file])).contains("exactly what was exported"));
    done(&store(&sled, &["export", "--out", again]));
    assert_eq!(std::fs::read(file).unwrap(), std::fs::read(again).unwrap());

    let moved = Replica::start(&sled);
    history.push(json!({"role": "assistant", "content": said("p0")}));
    history.push(json!({"role": "user", "content": "p1"}));
    assert_eq!(soon(moved.ask("s", &history)).await.0, 200);
    assert_eq!(pair.events("session.start", "s").len(), 1, "the session is known");
    let last = pair.seen.lock().bodies.last().unwrap().to_string();
    for text in ["BEGUN", "DONE(p0)", "EPH(p1)", "MESSAGE"] {
        assert!(last.contains(text), "{text} in {last}");
    }
    drop(moved);
    let report: Value = serde_json::from_str(&done(&store(&sled, &["verify", "--json"]))).unwrap();
    assert_eq!((&report["ok"], &report["counts"]["sessions"]), (&json!(true), &json!(1)), "{report}");
}
