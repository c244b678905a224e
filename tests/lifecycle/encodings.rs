//! Compressed answers and requests (B16), and large ones (B18).
use crate::speech::{ALL, Item, Speech, Words, every_form};
use crate::stage::{Play, Stage, session};
use crate::support::provider::answer;
use crate::support::{Recorded, Step};
use serde_json::Value;
use std::io::Write;

const CODINGS: [&str; 4] = ["gzip", "deflate", "br", "zstd"];

fn encode(coding: &str, plain: &[u8]) -> Vec<u8> {
    match coding {
        "gzip" => {
            let mut encoder = flate2::write::GzEncoder::new(vec![], flate2::Compression::default());
            encoder.write_all(plain).unwrap();
            encoder.finish().unwrap()
        }
        "deflate" => {
            let mut encoder = flate2::write::ZlibEncoder::new(vec![], flate2::Compression::default());
            encoder.write_all(plain).unwrap();
            encoder.finish().unwrap()
        }
        "br" => {
            let mut out = vec![];
            brotli::BrotliCompress(&mut &plain[..], &mut out, &Default::default()).unwrap();
            out
        }
        "zstd" => zstd::encode_all(plain, 3).unwrap(),
        other => panic!("{other}"),
    }
}

/// The answer in the coding that the request accepts.
fn encoded(request: &Recorded, n: usize) -> Vec<Step> {
    let speech = Speech::of(request);
    let coding = request.head.get("accept-encoding").unwrap();
    let stream = speech.asks_stream(request);
    let plain = match stream {
        true => speech.frames(n, &Words::text("packed")).concat(),
        false => {
            let Step::Write(bytes) = speech.answers(false, n, &Words::text("packed")).remove(0) else { panic!() };
            let text = String::from_utf8(bytes).unwrap();
            text.split_once("\r\n\r\n").unwrap().1.as_bytes().to_vec()
        }
    };
    let kind = if stream { "text/event-stream" } else { "application/json" };
    answer("200 OK", &format!("content-type: {kind}\r\ncontent-encoding: {coding}\r\n"), encode(coding, &plain))
}

#[tokio::test]
async fn b16_compressed_answers_pass_and_are_understood() {
    let mut stage = Stage::play(Play { says: Box::new(encoded), ..Play::default() }).await;
    for (speech, stream) in every_form() {
        for coding in CODINGS {
            let id = format!("{speech:?}-{stream}-{coding}");
            let mut agent =
                stage.agent(speech, stream).headers(session(&id) + &format!("accept-encoding: {coding}\r\n"));
            agent.history.push(Item::user("one"));
            let answer = agent.ask().await;
            assert_eq!(answer.head.get("content-encoding"), Some(coding));
            let n = stage.provider.requests().len() - 1;
            let Step::Write(sent) = encoded(&stage.provider.requests()[n], n).remove(0) else { panic!() };
            assert!(answer.whole && sent.ends_with(&answer.body), "{id}");
        }
    }
    stage.stop().await;
    let stops = stage.events("session.stop");
    assert_eq!((stops.len(), stage.runs()[3]), (ALL.len() * 2 * CODINGS.len(), 0));
    assert!(stops.iter().all(|event| event["turn"]["text"] == "packed"));
}

#[tokio::test]
async fn b16_an_answer_in_an_unknown_coding_passes_and_says_nothing() {
    let mut stage = Stage::play(Play {
        says: Box::new(|_, _| answer("200 OK", "content-type: application/json\r\ncontent-encoding: x-odd\r\n", "?")),
        ..Play::default()
    })
    .await;
    let mut agent = stage.agent(Speech::Chat, false);
    agent.history.push(Item::user("one"));
    assert_eq!(agent.ask().await.body, b"?");
    stage.stop().await;
    assert_eq!(stage.runs()[..4], [1, 1, 0, 0]);
}

#[tokio::test]
async fn b16_compressed_requests_are_read_and_go_up_plain_when_changed() {
    for speech in ALL {
        for coding in CODINGS {
            let stage = Stage::usual().await;
            let mut agent = stage.agent(speech, false);
            agent.history.push(Item::user("one"));
            let plain = agent.body();
            let headers = session("s1") + &format!("content-encoding: {coding}\r\n");
            let answer = stage.post(speech.target(false), &headers, encode(coding, plain.as_bytes())).await;
            assert_eq!(answer.status(), 200);
            let request = stage.provider.request();
            assert_eq!(request.head.get("content-encoding"), None, "{speech:?} {coding}");
            let length = request.body.len().to_string();
            assert_eq!(request.head.get("content-length"), Some(length.as_str()));
            let body = String::from_utf8(request.body).unwrap();
            assert!(body.contains("SYS") && body.contains("EPH(one)"), "{body}");
        }
    }
}

#[tokio::test]
async fn b16_compressed_requests_that_nothing_is_added_to_go_up_as_they_came() {
    let stage = Stage::play(Play {
        hooks: "\nhooks:\n  - { name: stop, on: session.stop, run: { http: { url: 'HOOKS' } } }\n",
        ..Play::default()
    })
    .await;
    for coding in CODINGS {
        let mut agent = stage.agent(Speech::Responses, true);
        agent.history.push(Item::user(coding));
        let packed = encode(coding, agent.body().as_bytes());
        stage.post("/v1/responses", &(session(coding) + &format!("content-encoding: {coding}\r\n")), &packed).await;
        let request = stage.provider.requests().pop().unwrap();
        assert_eq!((request.body, request.head.get("content-encoding")), (packed, Some(coding)));
        stage.wait_events("session.stop", 1).await;
    }
}

#[tokio::test]
async fn b16_what_cannot_be_read_is_refused_and_never_goes_up() {
    let stage = Stage::set("limits: { request_body: 1MiB }").await;
    let bomb = zstd::encode_all(&vec![b' '; 64 << 20][..], 3).unwrap();
    let cut = &encode("gzip", b"{}")[..12];
    let cases: [(&str, &[u8], u16); 5] = [
        ("x-odd", b"{}", 415),
        ("gzip, x-odd", b"{}", 415),
        ("zstd", &bomb, 413),
        ("gzip", cut, 400),
        ("br", b"{}", 400),
    ];
    for speech in ALL {
        for (coding, body, status) in cases {
            let headers = session("s1") + &format!("content-encoding: {coding}\r\n");
            let answer = stage.post(speech.target(false), &headers, body).await;
            assert_eq!(answer.status(), status, "{speech:?} {coding} {}", answer.text());
            let error: Value = serde_json::from_slice(&answer.body).unwrap();
            assert!(error["error"].is_object(), "{error}");
        }
    }
    assert!(stage.provider.requests().is_empty());
}

#[tokio::test]
async fn b18_a_body_of_31_mib_differs_only_by_what_was_injected() {
    const SIZE: usize = 31 << 20;
    // A build without optimization reads this for many seconds.
    let stage = Stage::set("lifecycle: { request_deadline: 60s }").await;
    let image = "iVBORw0KGgo".repeat(SIZE / 11);
    let before = format!(
        r#"{{"model":"m","max_tokens":9,"system":"S","messages":[{{"role":"user","content":[{{"type":"image","source":{{"type":"base64","media_type":"image/png","data":"{image}"}}}},{{"type":"text","text":"what?"}}"#
    );
    let after = "]}]}";
    let answer = stage.post("/v1/messages", &session("s1"), format!("{before}{after}")).await;
    assert_eq!(answer.status(), 200);
    let up = String::from_utf8(stage.provider.request().body).unwrap();
    let system = "\"system\":\"S";
    let (head, rest) = up.split_once(system).unwrap();
    let (_injected, rest) = rest.split_once("\",\"messages\":").unwrap();
    let (kept_head, kept_rest) = before.split_once("\"system\":\"S\",\"messages\":").unwrap();
    assert_eq!(head, kept_head);
    assert!(rest.starts_with(kept_rest) && rest.ends_with(after));
    assert!(rest.len() - kept_rest.len() < 200, "one small block was added");
    assert_eq!(stage.events("prompt.submit")[0]["prompt"]["text"], "what?");
}

#[tokio::test]
async fn b18_beyond_the_limit_the_dialects_own_error_says_so() {
    let stage = Stage::set("limits: { request_body: 1MiB }").await;
    for speech in ALL {
        let mut agent = stage.agent(speech, false);
        agent.history.push(Item::user(&"x".repeat(2 << 20)));
        let answer = agent.ask().await;
        assert_eq!((answer.status(), answer.head.get("x-hookgate-error")), (413, Some("body_too_large")), "{speech:?}");
    }
    let anthropic: Value = {
        let mut agent = stage.agent(Speech::Anthropic, false);
        agent.history.push(Item::user(&"x".repeat(2 << 20)));
        serde_json::from_slice(&agent.ask().await.body).unwrap()
    };
    assert_eq!(anthropic["error"]["type"], "request_too_large");
}
