//! Whose request it is: agents, conversations under one key, forks, clients without an id, ids in the URL, tenants (I8).
use crate::speech::{Item, Speech, Words, every_form};
use crate::stage::{Play, Stage, session};
use crate::support::provider::answer;
use serde_json::json;

const HISTORY: &str = "injection: { layout: stable, retain: history }";

#[tokio::test]
async fn sub_agents_have_sessions_of_their_own() {
    for (speech, stream) in every_form() {
        let stage = Stage::usual().await;
        let sub = session("s1") + "x-hookgate-agent: a1\r\nx-hookgate-parent: main\r\n";
        stage.agent(speech, stream).prompt("one").await;
        stage.agent(speech, stream).headers(&sub).prompt("task").await;
        stage.wait_events("session.stop", 2).await;
        let starts = stage.events("session.start");
        let who: Vec<_> =
            starts.iter().map(|e| (e["session"]["agent"].clone(), e["session"]["parent"].clone())).collect();
        assert_eq!(who, [(json!("main"), json!(null)), (json!("a1"), json!("main"))], "{speech:?}");
        assert_eq!(stage.events("session.stop")[1]["session"]["turn"], 1);
    }
}

/// Answers a call to every prompt, then text.
fn one_step_per_prompt() -> Play {
    Play {
        says: Box::new(|r, n| {
            let seen = Speech::of(r).seen(&serde_json::from_slice(&r.body).unwrap());
            let is_result = seen.items.last().unwrap().1[0].starts_with("<result");
            let prompt = seen.items[0].1[0].lines().next().unwrap();
            let words = match is_result {
                false => Words::call("", format!("call_{prompt}")),
                true => Words::text(format!("done {prompt}")),
            };
            Speech::of(r).answer(r, n, &words)
        }),
        ..Play::default()
    }
}

#[tokio::test]
async fn conversations_under_one_key_do_not_mix() {
    for (speech, stream) in every_form() {
        let stage = Stage::play(one_step_per_prompt()).await;
        let (mut a, mut b) = (stage.agent(speech, stream), stage.agent(speech, stream));
        a.prompt("alpha").await;
        b.prompt("beta").await;
        a.result("call_alpha", "x").await;
        b.result("call_beta", "y").await;
        let stops = stage.wait_events("session.stop", 2).await;
        let mut texts: Vec<_> = stops
            .iter()
            .map(|e| (e["prompt"]["text"].as_str().unwrap(), e["turn"]["text"].as_str().unwrap()))
            .collect();
        texts.sort_unstable();
        assert_eq!(texts, [("alpha", "done alpha"), ("beta", "done beta")], "{speech:?}");
        assert_eq!(stage.runs()[..3], [1, 2, 2], "{speech:?}");
        let bodies: Vec<String> = stage.bodies().iter().map(ToString::to_string).collect();
        for (body, own, other) in [(2, "EPH(alpha)", "EPH(beta)"), (3, "EPH(beta)", "EPH(alpha)")] {
            assert_eq!(bodies[body].matches(own).count(), 1, "{speech:?} {}", bodies[body]);
            assert!(!bodies[body].contains(other) && bodies[body].contains("SYS"), "{speech:?} {}", bodies[body]);
        }
    }
}

#[tokio::test]
async fn i6_a_fork_keeps_the_texts_that_still_have_their_place() {
    for (speech, stream) in every_form() {
        let stage = Stage::set(HISTORY).await;
        let mut agent = stage.agent(speech, stream);
        agent.prompt("one").await;
        agent.prompt("two").await;
        let first = speech.seen(&stage.bodies()[1]);
        agent.history.truncate(2);
        agent.prompt("three").await;
        let body = stage.last_body();
        let seen = speech.seen(&body);
        assert_eq!((&seen.system, &seen.items[..2]), (&first.system, &first.items[..2]), "{speech:?}");
        assert!(seen.item(2).contains("EPH(three)"), "{speech:?} {body}");
        assert!(!body.to_string().contains("EPH(two)"), "{speech:?} {body}");
        agent.prompt("four").await;
        let next = speech.seen(&stage.last_body());
        assert_eq!(next.items[..3], seen.items[..3], "{speech:?}");
        assert_eq!(stage.runs()[..2], [1, 4], "{speech:?}");
    }
}

/// The first prompt is said anew with other words: nothing is shared but the session.
#[tokio::test]
async fn another_first_prompt_is_another_conversation_of_the_same_session() {
    for (speech, stream) in every_form() {
        let stage = Stage::set(HISTORY).await;
        let mut agent = stage.agent(speech, stream);
        agent.prompt("one").await;
        agent.history.clear();
        agent.prompt("uno").await;
        let body = stage.last_body().to_string();
        assert!(body.contains("SYS") && body.contains("EPH(uno)") && !body.contains("EPH(one)"), "{speech:?} {body}");
        assert_eq!(stage.runs()[..2], [1, 2]);
    }
}

#[tokio::test]
async fn without_an_id_the_history_tells_the_session() {
    for (speech, stream) in every_form() {
        let stage = Stage::usual().await;
        let anonymous = "authorization: Bearer key\r\n";
        let mut agent = stage.agent(speech, stream).headers(anonymous);
        let first = agent.prompt("one").await.head.get("x-hookgate-session").unwrap().to_owned();
        stage.wait_events("session.stop", 1).await;
        let second = agent.prompt("two").await.head.get("x-hookgate-session").unwrap().to_owned();
        stage.wait_events("session.stop", 2).await;
        // The same first words after an answered turn are somebody's new session.
        let other = stage.agent(speech, stream).headers(anonymous).prompt("one").await;
        assert_eq!(first, second, "{speech:?}");
        assert_ne!(Some(first.as_str()), other.head.get("x-hookgate-session"), "{speech:?}");
        assert_eq!(stage.runs()[..2], [2, 3], "{speech:?}");
    }
}

#[tokio::test]
async fn without_an_id_and_without_guessing_constant_texts_still_stand() {
    for (speech, stream) in every_form() {
        let stage = Stage::play(Play {
            settings: "sessions: { without_id: none }",
            hooks: "
hooks:
  - { name: house, on: session.start, run: { text: CONSTANT } }
  - { name: prompt, on: prompt.submit, run: { http: { url: 'HOOKS' } } }
",
            ..Play::default()
        })
        .await;
        let mut agent = stage.agent(speech, stream).headers("authorization: Bearer key\r\n");
        let answer = agent.prompt("one").await;
        assert_eq!(answer.head.get("x-hookgate-session"), None);
        assert!(stage.last_body().to_string().contains("CONSTANT"), "{speech:?}");
        assert_eq!(stage.runs()[..2], [0, 0]);
    }
}

#[tokio::test]
async fn a_session_is_named_in_the_url_and_the_prefix_does_not_go_up() {
    for (speech, stream) in every_form() {
        let stage = Stage::usual().await;
        let body = speech.body(&[Item::user("one")], stream, &["look"]).to_string();
        let credential = "authorization: Bearer key\r\n";
        for (prefix, headers, session, who) in [
            ("/s/url%201", String::new(), "url 1", "main"),
            ("/s/url/a/qa", String::new(), "url", "qa"),
            ("/s/url", "x-hookgate-session: head\r\n".to_owned(), "head", "main"),
        ] {
            let target = format!("{prefix}{}", speech.target(stream));
            let answer = stage.post(&target, &(credential.to_owned() + &headers), &body).await;
            assert_eq!(answer.head.get("x-hookgate-session"), Some(session), "{speech:?}");
            assert_eq!(stage.provider.requests().pop().unwrap().target(), speech.target(stream));
            let event = stage.events("prompt.submit").pop().unwrap();
            assert_eq!((&event["session"]["id"], &event["session"]["agent"]), (&json!(session), &json!(who)));
        }
    }
}

fn credential(key: &str) -> String {
    format!("x-hookgate-session: s1\r\nauthorization: Bearer {key}\r\n")
}

/// What the hooks say tells whose session it is.
fn tenants_memory() -> Play {
    Play {
        answers: Box::new(|event| {
            let answer = match event["event"].as_str().unwrap() {
                "session.start" => {
                    json!({"context": format!("MEMORY-OF {}", event["session"]["tenant"].as_str().unwrap())})
                }
                _ => json!({}),
            };
            (None, answer)
        }),
        says: Box::new(|r, n| match r.head.get("authorization") {
            Some("Bearer bad") => answer("401 Unauthorized", "content-type: application/json\r\n", "{}"),
            _ => crate::stage::says_answer_n(r, n),
        }),
        ..Play::default()
    }
}

#[tokio::test]
async fn i8_another_credential_sees_nothing_of_a_session() {
    for (speech, stream) in every_form() {
        let stage = Stage::play(tenants_memory()).await;
        stage.agent(speech, stream).headers(credential("mine")).prompt("one").await;
        stage.agent(speech, stream).headers(credential("other")).prompt("one").await;
        let tenants: Vec<_> = stage.events("session.start").iter().map(|e| e["session"]["tenant"].clone()).collect();
        assert_eq!(tenants.len(), 2, "{speech:?}");
        assert_ne!(tenants[0], tenants[1]);
        let second = stage.last_body().to_string();
        assert!(!second.contains(tenants[0].as_str().unwrap()), "{speech:?} {second}");
        // A made-up history of the same length does not reach it either.
        let mut thief = stage.agent(speech, stream).headers(credential("thief"));
        thief.history = vec![Item::user("one"), Item::model("something else")];
        thief.prompt("two").await;
        let third = stage.last_body().to_string();
        assert!(
            !third.contains(tenants[0].as_str().unwrap()) && !third.contains(tenants[1].as_str().unwrap()),
            "{third}"
        );
    }
}

#[tokio::test]
async fn i8_a_rotated_credential_reaches_the_session_whose_history_it_extends() {
    for (speech, stream) in every_form() {
        let stage = Stage::play(tenants_memory()).await;
        let mut agent = stage.agent(speech, stream).headers(credential("old"));
        agent.prompt("one").await;
        agent.prompt("two").await;
        let tenant = stage.events("session.start")[0]["session"]["tenant"].clone();
        // Refused by the upstream: not bound.
        agent.history.push(Item::user("three"));
        let bad = stage.agent(speech, stream).headers(credential("bad"));
        let bad = crate::stage::Agent { history: agent.history.clone(), ..bad };
        assert_eq!(bad.ask().await.status(), 401);
        agent.history.pop();
        agent.headers = credential("new");
        agent.prompt("three").await;
        agent.prompt("four").await;
        assert_eq!(stage.runs()[0], 1, "{speech:?} {:?}", stage.events("session.start"));
        assert!(stage.last_body().to_string().contains(tenant.as_str().unwrap()), "{speech:?}");
        let turns = stage.events("prompt.submit");
        assert!(turns.iter().all(|e| e["session"]["tenant"] == tenant), "{speech:?}");
        // The bound one may begin a new conversation there, the refused one may not.
        stage.agent(speech, stream).headers(credential("new")).prompt("anew").await;
        assert_eq!(stage.runs()[0], 1, "{speech:?}");
        assert!(stage.last_body().to_string().contains(tenant.as_str().unwrap()), "{speech:?}");
        let mut bad = stage.agent(speech, stream).headers(credential("bad"));
        bad.history.push(Item::user("anew"));
        bad.ask().await;
        assert!(!stage.last_body().to_string().contains(tenant.as_str().unwrap()), "{speech:?}");
    }
}

#[tokio::test]
async fn with_isolation_none_everybody_shares_a_session() {
    let stage = Stage::set("sessions: { isolation: none }").await;
    for key in ["mine", "other"] {
        stage.agent(Speech::Chat, true).headers(credential(key)).prompt(key).await;
    }
    assert_eq!(stage.runs()[..2], [1, 2]);
}
