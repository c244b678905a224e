//! What was approved, in every dialect and without any hook, from a session's start on.
use crate::speech::{ALL, Item, Speech};
use crate::stage::{Play, Stage, session};
use std::path::PathBuf;

/// A gateway without hooks, and the folder of its knowledge.
async fn learned(files: &[(&str, &str)]) -> (Stage, PathBuf) {
    let play = Play { hooks: "hooks: []", settings: "knowledge: { dir: ./knowledge }", ..Play::default() };
    let mut stage = Stage::without_gateway(play).await;
    let folder = stage.write_config().with_file_name("knowledge");
    std::fs::create_dir(&folder).unwrap();
    for (name, title) in files {
        write(&folder, name, title);
    }
    stage.start().await;
    (stage, folder)
}

fn write(folder: &std::path::Path, name: &str, title: &str) {
    std::fs::write(folder.join(format!("{name}.md")), format!("---\ntitle: {title}\n---\nBecause.\n")).unwrap();
}

#[tokio::test]
async fn knowledge_stands_in_every_request_of_a_session_in_every_dialect() {
    for speech in ALL {
        for stream in [false, true] {
            let (stage, _folder) = learned(&[("a", "LEARNED")]).await;
            let mut agent = stage.agent(speech, stream);
            agent.prompt("one").await;
            agent.result("call_0_0", "found").await;
            agent.prompt("two").await;
            let bodies: Vec<String> = stage.bodies().iter().map(ToString::to_string).collect();
            assert_eq!(bodies.len(), 3);
            for body in &bodies {
                assert_eq!(body.matches("fact: LEARNED\\nBecause.").count(), 1, "{speech:?} {stream} {body}");
            }
        }
    }
}

#[tokio::test]
async fn a_compacted_session_has_what_is_known_by_then() {
    let codex = |window: u32| {
        let id = session("s1");
        format!("{id}user-agent: codex_cli_rs/1\r\noriginator: codex_cli_rs\r\nx-codex-window-id: s1:{window}\r\n")
    };
    let (stage, folder) = learned(&[("a", "FIRST")]).await;
    let mut agent = stage.agent(Speech::Responses, true).headers(codex(0));
    agent.prompt("one").await;
    write(&folder, "b", "SECOND");
    std::fs::remove_file(folder.join("a.md")).unwrap();
    // Once a new session is told of it, it is known.
    crate::support::soon(async {
        let mut other = 0;
        loop {
            other += 1;
            let mut agent = stage.agent(Speech::Chat, false).headers(session(&format!("other{other}")));
            agent.prompt("hi").await;
            let body = stage.last_body().to_string();
            if body.contains("SECOND") && !body.contains("FIRST") {
                break;
            }
        }
    })
    .await;
    agent.prompt("two").await;
    let body = stage.last_body().to_string();
    assert!(body.contains("FIRST") && !body.contains("SECOND"), "a session keeps what it began with: {body}");

    agent.headers = codex(1);
    agent.history = ["one", "two", "Summary: x", "three"].map(Item::user).into();
    agent.send().await;
    let body = stage.last_body().to_string();
    assert!(body.contains("SECOND") && !body.contains("FIRST"), "{body}");
}
