//! What the network and servers do to a stream (B07, B08) does not change what the hooks are told, nor what the client gets.
use crate::speech::{ALL, Item, Speech, Words};
use crate::stage::{Play, Stage, session};
use crate::support::provider::event_stream;
use crate::support::{Gate, Recorded, Step};
use serde_json::Value;

const TEXT: &str = "a\u{5317}\u{1f30d}z";

/// Only what the end of a turn brings about.
const ENDS: &str = "
hooks:
  - { name: stop, on: session.stop, run: { http: { url: 'HOOKS' } } }
  - { name: fail, on: session.fail, run: { http: { url: 'HOOKS' } } }
";

fn stream_of(speech: Speech) -> Vec<u8> {
    speech.frames(0, &Words::text(TEXT)).concat()
}

/// Two pieces, cut where the request's session says.
fn cut_in_two(request: &Recorded, _: usize) -> Vec<Step> {
    let bytes = stream_of(Speech::of(request));
    let at: usize = request.head.get("x-cut").unwrap().parse().unwrap();
    vec![event_stream(), Step::chunk(&bytes[..at]), Step::chunk(&bytes[at..]), Step::last_chunk()]
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn b07_a_cut_anywhere_changes_nothing() {
    for speech in ALL {
        let mut stage = Stage::play(Play { hooks: ENDS, says: Box::new(cut_in_two), ..Play::default() }).await;
        let bytes = stream_of(speech);
        for at in 1..bytes.len() {
            let headers = session(&format!("cut-{at}")) + &format!("x-cut: {at}\r\n");
            let mut agent = stage.agent(speech, true).headers(headers);
            let answer = agent.prompt("one").await;
            assert!(answer.whole && answer.body == bytes, "{speech:?} cut at {at}");
        }
        stage.stop().await;
        assert_eq!(stage.events("session.fail"), Vec::<Value>::new(), "{speech:?}");
        let stops = stage.events("session.stop");
        assert_eq!((stops.len(), stage.runs()[3]), (bytes.len() - 1, 0), "{speech:?}");
        for event in stops {
            assert_eq!(event["turn"]["text"], TEXT, "{speech:?} {}", event["session"]["id"]);
            assert_eq!(event["turn"]["usage"]["output"], 5, "{speech:?} {}", event["session"]["id"]);
        }
    }
}

/// Ways to write the same events.
fn spellings(bytes: &[u8]) -> Vec<(&'static str, Vec<u8>)> {
    let text = String::from_utf8(bytes.to_vec()).unwrap();
    let bare = text.trim_end();
    let spelled = |text: String| text.into_bytes();
    vec![
        ("last frame without end", spelled(bare.to_owned())),
        ("one line feed", spelled(format!("{bare}\n"))),
        ("carriage return and line feed at the end", spelled(format!("{bare}\r\n"))),
        ("carriage return at the end", spelled(format!("{bare}\r"))),
        ("crlf", spelled(text.replace('\n', "\r\n"))),
        ("cr", spelled(text.replace('\n', "\r"))),
        ("no space", spelled(text.replace("data: ", "data:").replace("event: ", "event:"))),
        ("comments and pings", spelled(format!(": hello\n\n{}", text.replace("\n\n", "\n\n: ka\n\n")))),
        ("two data lines", spelled(text.replace("data: {", "data: {\ndata: "))),
        ("byte order mark", [&b"\xef\xbb\xbf"[..], bytes].concat()),
    ]
}

#[tokio::test]
async fn b08_every_spelling_of_a_stream_is_understood() {
    for speech in ALL {
        for (n, (name, bytes)) in spellings(&stream_of(speech)).into_iter().enumerate() {
            let sent = bytes.clone();
            let mut stage = Stage::play(Play {
                says: Box::new(move |_, _| vec![event_stream(), Step::chunk(&sent), Step::last_chunk()]),
                ..Play::default()
            })
            .await;
            let mut agent = stage.agent(speech, true).headers(session(&format!("spelling-{n}")));
            agent.history.push(Item::user("one"));
            let answer = agent.ask().await;
            assert!(answer.whole && answer.body == bytes, "{speech:?} {name}");
            stage.stop().await;
            assert_eq!(stage.runs()[..4], [1, 1, 1, 0], "{speech:?} {name}");
            let turn = &stage.events("session.stop")[0]["turn"];
            assert_eq!((&turn["text"], &turn["usage"]["output"]), (&TEXT.into(), &5.into()), "{speech:?} {name}");
        }
    }
}

#[tokio::test]
async fn chat_without_done_and_usage_behind_the_finish_are_whole() {
    let frames = Speech::Chat.frames(0, &Words::text("done"));
    for last in [frames.len() - 2, frames.len() - 1, frames.len()] {
        let bytes = frames[..last].concat();
        let mut stage = Stage::play(Play {
            says: Box::new(move |_, _| vec![event_stream(), Step::chunk(&bytes), Step::last_chunk()]),
            ..Play::default()
        })
        .await;
        stage.agent(Speech::Chat, true).prompt("one").await;
        stage.stop().await;
        let turn = &stage.events("session.stop")[0]["turn"];
        assert_eq!(turn["usage"]["output"], if last == frames.len() - 2 { 0 } else { 5 });
    }
}

#[tokio::test]
async fn a_stream_request_answered_with_one_body_is_understood() {
    for speech in ALL {
        let mut stage = Stage::play(Play {
            says: Box::new(|r, n| Speech::of(r).answers(false, n, &Words::text("done"))),
            ..Play::default()
        })
        .await;
        let mut agent = stage.agent(speech, true);
        agent.history.push(Item::user("one"));
        agent.ask().await;
        stage.stop().await;
        assert_eq!(stage.events("session.stop")[0]["turn"]["text"], "done", "{speech:?}");
    }
}

#[tokio::test]
async fn an_end_that_comes_behind_the_last_frame_is_an_end() {
    for speech in ALL {
        let gate = Gate::new();
        let end = gate.clone();
        let mut stage = Stage::play(Play {
            hooks: ENDS,
            says: Box::new(move |r, n| {
                let whole = Speech::of(r).frames(n, &Words::text("done")).concat();
                vec![event_stream(), Step::chunk(whole), Step::Wait(end.clone()), Step::last_chunk()]
            }),
            ..Play::default()
        })
        .await;
        let mut agent = stage.agent(speech, true);
        agent.history.push(Item::user("one"));
        let mut client = agent.begin().await;
        client.head().await;
        let mut left = speech.frames(0, &Words::text("done")).concat().len();
        while left > 0 {
            left -= client.chunk().await.unwrap().unwrap().len();
        }
        gate.open();
        assert_eq!(client.chunk().await.unwrap(), None);
        drop(client);
        stage.stop().await;
        assert_eq!(stage.runs()[2..4], [1, 0], "{speech:?}");
    }
}
