use super::*;
use crate::config::Limits;
use axum::body::Body;
use futures_util::stream;
use http::HeaderValue;
use http::header::{CONTENT_ENCODING, CONTENT_LENGTH};
use proptest::prelude::*;
use std::time::Duration;

const LIMIT: usize = 1 << 20;
const PAUSE: Duration = Duration::from_secs(60);
const BUDGET: usize = 4 << 20;

fn budget() -> Budget {
    Budget::new(&Limits {
        request_body: LIMIT,
        buffered_bytes: BUDGET,
        hook_output: 0,
        held_response: 0,
        outcome_text: 0,
        concurrent_requests: 1,
        request_head: 0,
        head_timeout: std::time::Duration::ZERO,
        body_timeout: std::time::Duration::ZERO,
    })
}

fn chunked(chunks: Vec<Vec<u8>>) -> Body {
    Body::from_stream(stream::iter(chunks.into_iter().map(Ok::<_, std::io::Error>)))
}

async fn read_with(encoding: &str, body: Body, budget: &Budget) -> Result<ReadBody, ReadError> {
    let mut headers = HeaderMap::new();
    if !encoding.is_empty() {
        headers.insert(CONTENT_ENCODING, HeaderValue::from_str(encoding).unwrap());
    }
    let body = ClientBody::new(&headers, body, LIMIT as u64, PAUSE)?;
    read(&headers, body, budget).await
}

fn encode(coding: &str, text: &[u8]) -> Vec<u8> {
    use flate2::Compression;
    use flate2::write::{DeflateEncoder, GzEncoder, ZlibEncoder};
    fn all<W>(mut writer: W, text: &[u8], finish: impl FnOnce(W) -> Vec<u8>) -> Vec<u8>
    where
        W: std::io::Write,
    {
        writer.write_all(text).unwrap();
        finish(writer)
    }
    let level = Compression::default();
    match coding {
        "gzip" => all(GzEncoder::new(vec![], level), text, |w| w.finish().unwrap()),
        "deflate" => all(ZlibEncoder::new(vec![], level), text, |w| w.finish().unwrap()),
        "raw-deflate" => all(DeflateEncoder::new(vec![], level), text, |w| w.finish().unwrap()),
        "br" => all(brotli::CompressorWriter::new(vec![], 4096, 5, 22), text, brotli::CompressorWriter::into_inner),
        "zstd" => zstd::encode_all(text, 3).unwrap(),
        other => panic!("{other}"),
    }
}

#[tokio::test]
async fn a_body_in_any_pieces_is_read_whole() {
    for chunks in [vec![], vec![b"abc".to_vec()], vec![b"a".to_vec(), vec![], b"bc".to_vec(), b"d".to_vec()]] {
        let whole = chunks.concat();
        let read = read_with("", chunked(chunks), &budget()).await.unwrap();
        assert_eq!(read.sent, whole);
        assert_eq!(read.plain, whole);
    }
}

#[tokio::test]
async fn encodings_are_taken_off_and_what_was_sent_is_kept() {
    let text = br#"{"model":"m"}"#.repeat(9000);
    for (encoding, layers) in [
        ("gzip", vec!["gzip"]),
        ("X-GZIP", vec!["gzip"]),
        ("deflate", vec!["deflate"]),
        ("deflate", vec!["raw-deflate"]),
        ("br", vec!["br"]),
        ("zstd", vec!["zstd"]),
        ("identity", vec![]),
        ("gzip, zstd", vec!["gzip", "zstd"]),
        ("deflate , br,identity", vec!["deflate", "br"]),
    ] {
        let sent = layers.iter().fold(text.clone(), |text, coding| encode(coding, &text));
        let read = read_with(encoding, Body::from(sent.clone()), &budget()).await.unwrap();
        assert_eq!(read.plain, text, "{encoding}");
        assert_eq!(read.sent, sent);
    }
}

#[tokio::test]
async fn an_unknown_encoding_is_named() {
    for encoding in ["compress", "gzip, exi", "gzip,gzip,gzip,gzip"] {
        let error = read_with(encoding, Body::from("x"), &budget()).await.unwrap_err();
        assert!(matches!(error, ReadError::Encoding(_)), "{error}");
    }
}

#[tokio::test]
async fn broken_and_cut_encodings_are_invalid() {
    let text = b"text".repeat(1000);
    for coding in ["gzip", "deflate", "br", "zstd"] {
        let whole = encode(coding, &text);
        let cut = whole[..whole.len() / 2].to_vec();
        for body in [b"plain text".to_vec(), cut] {
            let error = read_with(coding, Body::from(body), &budget()).await.unwrap_err();
            assert!(matches!(error, ReadError::Invalid(_)), "{coding}: {error}");
        }
    }
}

#[tokio::test]
async fn the_limit_holds_for_announced_for_sent_and_for_decoded_bytes() {
    let mut headers = HeaderMap::new();
    headers.insert(CONTENT_LENGTH, HeaderValue::from(LIMIT + 1));
    assert!(ClientBody::new(&headers, Body::empty(), LIMIT as u64, PAUSE).is_err());

    let pieces = chunked(vec![vec![b'x'; LIMIT], b"x".to_vec()]);
    assert!(matches!(read_with("", pieces, &budget()).await, Err(ReadError::TooLarge(_))));

    for coding in ["gzip", "deflate", "br", "zstd"] {
        let bomb = encode(coding, &vec![0; 4 * LIMIT]);
        let error = read_with(coding, Body::from(bomb), &budget()).await.unwrap_err();
        assert!(matches!(error, ReadError::TooLarge(_)), "{coding}: {error}");
    }
    let exact = read_with("gzip", Body::from(encode("gzip", &vec![0; LIMIT])), &budget()).await.unwrap();
    assert_eq!(exact.plain.len(), LIMIT);
}

#[tokio::test]
async fn the_budget_is_shared_and_given_back() {
    let budget = budget();
    let body = || Body::from(vec![b'x'; LIMIT]);
    let mut held = vec![];
    for _ in 0..BUDGET / LIMIT {
        held.push(read_with("", body(), &budget).await.unwrap());
    }
    assert!(matches!(read_with("", Body::from("x"), &budget).await, Err(ReadError::OverBudget)));
    held.pop();
    let zipped = || Body::from(encode("gzip", &vec![0; LIMIT]));
    let refused = read_with("gzip", zipped(), &budget).await;
    assert!(matches!(refused, Err(ReadError::OverBudget)), "decoded bytes count beside the sent ones");
    held.pop();
    assert!(read_with("gzip", zipped(), &budget).await.is_ok());
}

#[tokio::test(start_paused = true)]
async fn a_body_that_stalls_is_given_up() {
    let never = stream::iter([Ok::<_, std::io::Error>("half")]);
    let body = Body::from_stream(futures_util::StreamExt::chain(never, stream::pending()));
    assert!(matches!(read_with("", body, &budget()).await, Err(ReadError::TooSlow(_))));
}

proptest! {
    #[test]
    fn hostile_bytes_are_read_or_refused(
        coding in proptest::sample::select(vec!["gzip", "deflate", "br", "zstd", "gzip, br"]),
        start in proptest::sample::select(vec![&b""[..], b"\x1f\x8b\x08", b"\x78\x9c", b"\x28\xb5\x2f\xfd", b"\x1b"]),
        noise: Vec<u8>,
    ) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
        let read = runtime.block_on(read_with(coding, Body::from([start, &noise].concat()), &budget()));
        prop_assert!(read.map_or(0, |body| body.plain.len()) <= LIMIT);
    }
}
