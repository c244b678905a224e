//! Answers that are not what was asked for pass as they came (B31), and nothing untrue is said of them (I7).
use crate::speech::{Item, every_form};
use crate::stage::{Play, Stage};
use crate::support::Step;
use crate::support::provider::{answer, event_stream};

/// Name, steps, body, and whether the turn counts as failed.
fn odd_answers() -> Vec<(&'static str, Vec<Step>, &'static str)> {
    let page = "<!doctype html><html><body>Sign in</body></html>";
    let error = r#"{"error":{"code":500,"message":"x","status":"INTERNAL"}}"#;
    vec![
        ("a page with 200", answer("200 OK", "content-type: text/html\r\n", page), page),
        ("a page without a type", answer("200 OK", "", page), page),
        ("text with 200", answer("200 OK", "content-type: text/plain\r\n", "busy"), "busy"),
        ("an error with 200", answer("200 OK", "content-type: application/json\r\n", error), error),
        ("nothing with 200", answer("200 OK", "content-type: application/json\r\n", ""), ""),
        ("no content", vec![Step::text("HTTP/1.1 204 No Content\r\n\r\n")], ""),
        ("a redirect", answer("302 Found", "location: /login\r\n", ""), ""),
        ("a page with 503", answer("503 Service Unavailable", "content-type: text/html\r\n", page), page),
    ]
}

#[tokio::test]
async fn b31_what_is_no_answer_passes_and_is_no_stop() {
    for (speech, stream) in every_form() {
        for (name, steps, body) in odd_answers() {
            let mut stage = Stage::play(Play { says: Box::new(move |_, _| steps.clone()), ..Play::default() }).await;
            let mut agent = stage.agent(speech, stream);
            agent.history.push(Item::user("one"));
            let answer = agent.ask().await;
            assert!(answer.whole && answer.text() == body, "{speech:?} stream={stream} {name}: {answer:?}");
            stage.stop().await;
            assert_eq!(stage.runs()[2..4], [0, 1], "{speech:?} stream={stream} {name}");
        }
    }
}

#[tokio::test]
async fn an_event_stream_of_nothing_but_comments_is_cut() {
    for speech in crate::speech::ALL {
        let mut stage = Stage::play(Play {
            says: Box::new(|_, _| vec![event_stream(), Step::chunk(": ka\n\n"), Step::last_chunk()]),
            ..Play::default()
        })
        .await;
        let mut agent = stage.agent(speech, true);
        agent.history.push(Item::user("one"));
        let answer = agent.ask().await;
        assert!(answer.text().starts_with(": ka\n\n"), "{speech:?}");
        assert!(answer.text().contains("error") || !answer.whole, "{speech:?}: a clean end would look like success");
        stage.stop().await;
        assert_eq!(stage.events("session.fail")[0]["reason"], "cut", "{speech:?}");
    }
}
