//! `max_injected_context_chars`: cut at a character, marked, persistent text first.
use crate::process::Process;
use crate::speech::{Item, Speech, every_form};
use crate::stage::{Play, Stage};
use serde_json::json;

const MARK: &str = "[… cut: ";

/// Ten characters for what two slots and two prompt hooks say; all of several bytes.
fn play(persistent: &'static str, settings: &'static str) -> Play {
    Play {
        hooks: "
hooks:
  - { name: start, on: session.start, run: { http: { url: 'HOOKS' } } }
  - { name: first, on: prompt.submit, run: { text: 🌍🌍🌍🌍🌍🌍 } }
  - { name: second, on: prompt.submit, run: { text: 京京京京京京 } }
  - { name: third, on: prompt.submit, run: { text: third } }
",
        settings,
        answers: Box::new(move |_| (None, json!({"context": persistent}))),
        ..Play::default()
    }
}

#[tokio::test]
async fn text_is_cut_at_a_character_and_what_follows_is_left_out() {
    for (speech, stream) in every_form() {
        for layout in [
            "lifecycle: { max_injected_context_chars: 10 }\ninjection: { layout: stable }",
            "lifecycle: { max_injected_context_chars: 10 }\ninjection: { layout: system }",
        ] {
            let stage = Stage::play(play("北北", layout)).await;
            stage.agent(speech, stream).prompt("one").await;
            let up = stage.last_body().to_string();
            let counts = ["北", "🌍", "京", "third"].map(|text| up.matches(text).count());
            assert_eq!(counts, [2, 6, 2, 0], "{speech:?} {layout} {up}");
            assert!(up.contains("[… cut: 2 of 6 characters]"), "{up}");
            assert_eq!(up.matches(MARK).count(), 1);
        }
    }
}

#[tokio::test]
async fn persistent_text_comes_first() {
    for (speech, stream) in every_form() {
        let settings = "lifecycle: { max_injected_context_chars: 10 }";
        let stage = Stage::play(play("北北北北北北北北北北北北", settings)).await;
        stage.agent(speech, stream).prompt("one").await;
        let up = stage.last_body().to_string();
        let counts = ["北", "🌍", "京", "third"].map(|text| up.matches(text).count());
        assert_eq!(counts, [10, 0, 0, 0], "{speech:?} {up}");
        assert!(up.contains("[… cut: 10 of 12 characters]"), "{up}");
    }
}

#[tokio::test]
async fn each_turn_has_its_own_budget() {
    for (speech, stream) in every_form() {
        let settings = "lifecycle: { max_injected_context_chars: 10 }\ninjection: { layout: stable, retain: history }";
        let stage = Stage::play(Play {
            hooks: "
hooks:
  - { name: prompt, on: prompt.submit, run: { http: { url: 'HOOKS' } } }
",
            settings,
            answers: Box::new(|event| {
                (None, json!({"context": format!("{}-56789X", event["prompt"]["text"].as_str().unwrap())}))
            }),
            ..Play::default()
        })
        .await;
        let mut agent = stage.agent(speech, stream);
        agent.prompt("one").await;
        agent.prompt("two").await;
        let up = stage.last_body().to_string();
        assert!(up.contains("one-56789X") && up.contains("two-56789X") && !up.contains(MARK), "{speech:?} {up}");
    }
}

#[tokio::test]
async fn the_log_names_every_hook_that_was_cut() {
    let stage = Stage::without_gateway(play("北北", "lifecycle: { max_injected_context_chars: 10 }")).await;
    let process = Process::start(&stage);
    let mut agent = stage.agent(Speech::Chat, true);
    agent.history.push(Item::user("one"));
    process.ask(&agent).await;
    for (hook, what) in [("second", "truncated"), ("third", "left out")] {
        process.logged(&["WARN", hook, what, "max_injected_context_chars"]).await;
    }
    assert!(!process.log().contains("\"first\""), "{}", process.log());
}
