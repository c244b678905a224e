//! Once means once (I3, B03), whatever clients do: steps, retries, races, restarts, the same words again.
use crate::speech::{Item, Speech, Words, every_form};
use crate::stage::{A_WHILE, Agent, Play, Stage, session, usual};
use crate::support::{Gate, Recorded, Step};

/// Three tool steps for each prompt, then text.
fn three_steps_per_prompt(request: &Recorded, n: usize) -> Vec<Step> {
    let speech = Speech::of(request);
    let seen = speech.seen(&serde_json::from_slice(&request.body).unwrap());
    let steps = seen.items.iter().rev().take_while(|(_, texts)| texts.iter().any(|t| t.starts_with('<'))).count();
    // Responses writes text, call and result as three items.
    let words = if steps < 6 && n % 4 < 3 { Words::call("", format!("call_{n}")) } else { Words::text("done") };
    speech.answer(request, n, &words)
}

fn count(text: &str, what: &str) -> usize {
    text.matches(what).count()
}

#[tokio::test]
async fn b03_prompt_submit_runs_per_prompt_not_per_request() {
    for (speech, stream) in every_form() {
        let stage = Stage::play(Play { says: Box::new(three_steps_per_prompt), ..Play::default() }).await;
        let mut agent = stage.agent(speech, stream);
        agent.prompt("one").await;
        for step in 0..3 {
            agent.result(&format!("call_{step}"), "found").await;
        }
        stage.wait_events("session.stop", 1).await;
        agent.prompt("two").await;
        let bodies: Vec<String> = stage.bodies().iter().map(ToString::to_string).collect();
        for body in &bodies[..4] {
            assert_eq!((count(body, "SYS"), count(body, "EPH(one)")), (1, 1), "{speech:?} {body}");
        }
        let counts = ["SYS", "EPH(one)", "EPH(two)"].map(|what| count(&bodies[4], what));
        assert_eq!(counts, [1, 0, 1], "{speech:?} {}", bodies[4]);
        assert_eq!(stage.runs()[..3], [1, 2, 1], "{speech:?} stream={stream}");
    }
}

#[tokio::test]
async fn a_retry_is_sent_as_the_first_was() {
    for (speech, stream) in every_form() {
        let stage = Stage::usual().await;
        let mut agent = stage.agent(speech, stream);
        agent.history.push(Item::user("one"));
        agent.ask().await;
        stage.wait_events("session.stop", 1).await;
        agent.ask().await;
        let requests = stage.provider.requests();
        assert_eq!(requests[0].body, requests[1].body);
        // A regeneration: the prompt is not submitted again, but the turn ends once more.
        stage.wait_events("session.stop", 2).await;
        assert_eq!(stage.runs()[..3], [1, 1, 2], "{speech:?}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn i3_concurrent_first_requests_open_one_session_and_one_turn() {
    for (speech, stream) in every_form() {
        let stage = Stage::usual().await;
        let mut agent = stage.agent(speech, stream);
        agent.history.push(Item::user("one"));
        let answers = futures_util::future::join_all((0..20).map(|_| agent.ask())).await;
        assert!(answers.iter().all(|answer| answer.status() == 200));
        let requests = stage.provider.requests();
        assert_eq!(requests.len(), 20);
        assert!(requests.iter().all(|request| request.body == requests[0].body), "{speech:?}");
        assert_eq!(stage.runs()[..2], [1, 1], "{speech:?} stream={stream}");
    }
}

#[tokio::test]
async fn the_same_words_again_are_a_new_prompt() {
    for (speech, stream) in every_form() {
        let stage = Stage::usual().await;
        let mut agent = stage.agent(speech, stream);
        for turn in 1..=3 {
            agent.prompt("continue").await;
            stage.wait_events("session.stop", turn).await;
        }
        let turns: Vec<_> = stage.events("prompt.submit").iter().map(|e| e["session"]["turn"].clone()).collect();
        assert_eq!(turns, [1, 2, 3], "{speech:?}");
        let ids: std::collections::HashSet<_> =
            stage.events("session.stop").iter().map(|e| e["turn"]["id"].to_string()).collect();
        assert_eq!(ids.len(), 3);
    }
}

#[tokio::test]
async fn i3_a_restart_in_between_repeats_nothing() {
    for (speech, stream) in every_form() {
        let mut stage = Stage::play(Play {
            settings: "store: { kind: sled, path: ./data }",
            says: Box::new(|r, n| {
                let words = if n == 0 { Words::call("looking", "call_0") } else { Words::text("done") };
                Speech::of(r).answer(r, n, &words)
            }),
            ..Play::default()
        })
        .await;
        let mut agent = stage.agent(speech, stream);
        agent.prompt("one").await;
        let history = agent.history.clone();
        stage.restart().await;
        let mut agent = stage.agent(speech, stream);
        agent.history = history;
        agent.result("call_0", "found").await;
        stage.wait_events("session.stop", 1).await;
        let history = agent.history.clone();
        stage.restart().await;
        let mut agent = stage.agent(speech, stream);
        agent.history = history;
        agent.prompt("two").await;
        let counts: Vec<_> = stage
            .bodies()
            .iter()
            .map(|body| ["SYS", "EPH(one)", "EPH(two)"].map(|what| count(&body.to_string(), what)))
            .collect();
        assert_eq!(counts, [[1, 1, 0], [1, 1, 0], [1, 0, 1]], "{speech:?}");
        stage.stop().await;
        assert_eq!(stage.runs(), [1, 2, 2, 0, 0], "{speech:?} stream={stream}");
        assert_eq!(stage.events("session.stop")[0]["turn"]["text"], "lookingdone");
    }
}

#[tokio::test]
async fn sessions_are_apart() {
    let stage = Stage::usual().await;
    for id in ["a", "b"] {
        stage.agent(Speech::Anthropic, true).headers(session(id)).prompt("one").await;
    }
    assert_eq!(stage.runs()[..2], [2, 2]);
}

#[tokio::test]
async fn a_prefilled_answer_does_not_hide_its_prompt() {
    for (speech, stream) in every_form() {
        let stage = Stage::usual().await;
        let mut agent = stage.agent(speech, stream);
        agent.history = vec![Item::user("one"), Item::model("{")];
        agent.ask().await;
        let seen = speech.seen(&stage.last_body());
        assert_eq!(seen.items.len(), 2, "{speech:?}");
        assert!(seen.item(0).contains("EPH(one)") && seen.item(1) == "{", "{speech:?} {seen:?}");
        let stop = stage.wait_events("session.stop", 1).await.remove(0);
        assert_eq!(stop["turn"]["text"], "{ANSWER0", "{speech:?}");
        agent.ask().await;
        assert_eq!(stage.runs()[..2], [1, 1], "{speech:?}");
    }
}

/// The client gives up while the hook runs; its retry joins what was begun.
#[tokio::test]
async fn a_retry_joins_the_hook_run_of_a_client_that_left() {
    for (speech, stream) in every_form() {
        let gate = Gate::new();
        let held = gate.clone();
        let stage = Stage::play(Play {
            answers: Box::new(move |event| {
                let gate = (event["event"] == "prompt.submit").then(|| held.clone());
                (gate, usual(event))
            }),
            ..Play::default()
        })
        .await;
        let mut agent = stage.agent(speech, stream);
        agent.history.push(Item::user("one"));
        let client = agent.begin().await;
        stage.wait_events("prompt.submit", 1).await;
        drop(client);
        let retry = agent.send();
        tokio::pin!(retry);
        assert!(tokio::time::timeout(A_WHILE, &mut retry).await.is_err());
        gate.open();
        retry.await;
        assert_eq!(stage.runs()[..2], [1, 1], "{speech:?}");
        assert!(stage.last_body().to_string().contains("EPH(one)"));
    }
}

/// Two tabs go on with one history at the same time.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn concurrent_prompts_behind_one_history_are_turns_of_their_own() {
    for (speech, stream) in every_form() {
        let stage = Stage::set("injection: { layout: stable, retain: history }").await;
        let mut agent = stage.agent(speech, stream);
        agent.prompt("one").await;
        stage.wait_events("session.stop", 1).await;
        let tabs = (0..8).map(|n| {
            let history = [agent.history.clone(), vec![Item::user(&format!("tab {n}"))]].concat();
            Agent { history, ..stage.agent(speech, stream) }
        });
        let mut tabs: Vec<_> = tabs.collect();
        futures_util::future::join_all(tabs.iter_mut().map(|tab| tab.send())).await;
        for request in &stage.provider.requests()[1..] {
            let body = String::from_utf8(request.body.clone()).unwrap();
            let seen = speech.seen(&serde_json::from_str(&body).unwrap());
            let prompt = seen.item(2).lines().next().unwrap().to_owned();
            assert!(body.contains("EPH(one)") && body.contains(&format!("EPH({prompt})")), "{speech:?} {body}");
            assert_eq!(body.matches("EPH(tab").count(), 1, "{speech:?} {body}");
        }
        let stops = stage.wait_events("session.stop", 9).await;
        for stop in &stops[1..] {
            assert!(stop["prompt"]["text"].as_str().unwrap().starts_with("tab"), "{speech:?} {stop}");
        }
        let ids: std::collections::HashSet<String> = stops.iter().map(|stop| stop["turn"]["id"].to_string()).collect();
        let turns: std::collections::BTreeSet<u64> =
            stops.iter().map(|stop| stop["session"]["turn"].as_u64().unwrap()).collect();
        assert_eq!((ids.len(), turns.len()), (9, 9), "{speech:?} {turns:?}");
    }
}

/// Gemini's calls may have no id: they are told by what they say.
#[tokio::test]
async fn calls_without_an_id_are_steps_of_their_turn() {
    let stage = Stage::usual().await;
    let call = r#"{"role":"model","parts":[{"functionCall":{"name":"look","args":{"a":1}}}]}"#;
    let result = r#"{"role":"user","parts":[{"functionResponse":{"name":"look","response":{"o":1}}}]}"#;
    let prompt = r#"{"role":"user","parts":[{"text":"one"}]}"#;
    for contents in
        [prompt.to_owned(), format!("{prompt},{call},{result}"), format!("{prompt},{call},{result},{call},{result}")]
    {
        let target = Speech::Gemini.target(true);
        stage.post(target, &session("s1"), format!(r#"{{"contents":[{contents}]}}"#)).await;
    }
    assert_eq!(stage.runs()[..2], [1, 1]);
    for body in stage.bodies() {
        let seen = Speech::Gemini.seen(&body);
        assert!(seen.item(0).contains("EPH(one)") && body.to_string().matches("EPH").count() == 1, "{body}");
    }
}
