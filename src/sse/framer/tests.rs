use super::*;
use proptest::prelude::*;
use std::path::Path;

type Event = (Option<Vec<u8>>, Vec<u8>);

/// What is seen when the stream arrives in these chunks; every chunk is a buffer of its own, as from a socket.
fn frames<'a>(chunks: impl IntoIterator<Item = &'a [u8]>) -> Vec<Event> {
    let mut framer = Framer::new();
    let mut seen = Vec::new();
    let mut see = |frame: Frame<'_>| seen.push((frame.event.map(<[u8]>::to_vec), frame.data.into_owned()));
    for chunk in chunks {
        framer.push(chunk, &mut see);
    }
    framer.finish(&mut see);
    seen
}

/// The specification, read literally, on a whole stream.
fn model(stream: &[u8]) -> Vec<Event> {
    let stream = stream.strip_prefix(BYTE_ORDER_MARK).unwrap_or(stream);
    let text = String::from_utf8(stream.to_vec()).unwrap().replace("\r\n", "\n").replace('\r', "\n");
    let mut events = Vec::new();
    for block in text.split("\n\n") {
        let mut event = String::new();
        let mut data: Vec<&str> = Vec::new();
        for line in block.split('\n') {
            let (name, value) = line.split_once(':').unwrap_or((line, ""));
            let value = value.strip_prefix(' ').unwrap_or(value);
            match name {
                "event" => event = value.to_owned(),
                "data" => data.push(value),
                _ => {}
            }
        }
        if !data.is_empty() {
            events.push(((!event.is_empty()).then(|| event.into_bytes()), data.join("\n").into_bytes()));
        }
    }
    events
}

fn assert_same_at_every_cut(name: &str, stream: &[u8]) {
    let whole = frames([stream]);
    for cut in 0..=stream.len() {
        let (left, right) = stream.split_at(cut);
        assert_eq!(frames([left, right]), whole, "{name} cut at {cut}");
    }
    assert_eq!(frames(stream.chunks(1)), whole, "{name} byte by byte");
}

#[test]
fn the_wire_samples_are_framed_alike_at_every_cut() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/wire-samples");
    let mut samples = 0;
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_some_and(|extension| extension == "sse") {
            let name = path.file_name().unwrap().to_string_lossy().into_owned();
            let stream = std::fs::read(&path).unwrap();
            assert_same_at_every_cut(&name, &stream);
            if name != "gemini-error-mid-raw.sse" {
                assert_eq!(frames([&stream[..]]), model(&stream), "{name}");
            }
            samples += 1;
        }
    }
    assert!(samples > 100, "only {samples} samples");
}

/// Case B08: how the last event ends, and every kind of line end.
#[test]
fn the_last_event_counts_however_it_ends() {
    for end in ["", "\n", "\r\n", "\r", "\n\n", "\r\n\r\n", "\r\r"] {
        let stream = format!("event: message_stop{}data:{{}}{end}", if end.contains('\r') { "\r\n" } else { "\n" });
        assert_eq!(frames([stream.as_bytes()]), [(Some(b"message_stop".to_vec()), b"{}".to_vec())], "{end:?}");
        assert_same_at_every_cut(&stream, stream.as_bytes());
    }
}

#[test]
fn a_cut_between_cr_and_lf_is_one_line_end() {
    let stream = b"data: a\r\ndata: b\r\n\r\ndata: c\r\n\r\n";
    assert_eq!(frames(stream.chunks(1)), [(None, b"a\nb".to_vec()), (None, b"c".to_vec())]);
}

#[test]
fn a_frame_is_reported_with_its_last_byte() {
    let mut framer = Framer::new();
    let mut seen = 0;
    framer.push(b"data: a\n", |_| seen += 1);
    assert!(!framer.is_between_frames());
    framer.push(b"\n", |_| seen += 1);
    assert!(framer.is_between_frames());
    framer.push(b"data: b\r\n\r", |_| seen += 1);
    assert!(framer.is_between_frames());
    framer.push(b"\n", |_| seen += 1);
    assert!(framer.is_between_frames());
    assert_eq!(seen, 2);
}

#[test]
fn a_byte_order_mark_counts_only_at_the_start() {
    let stream = "\u{feff}data: a\n\n\u{feff}data: b\n\n";
    assert_eq!(frames([stream.as_bytes()]), [(None, b"a".to_vec())]);
    assert_same_at_every_cut("bom", stream.as_bytes());
}

#[test]
fn a_bare_error_tail_is_one_frame() {
    let stream = b"data: {}\n\n{\r\n  \"error\": {}\r\n}\r\n\r\n";
    assert_eq!(frames([&stream[..]]), [(None, b"{}".to_vec()), (None, b"{\r\n  \"error\": {}\r\n}".to_vec())]);
    assert_same_at_every_cut("bare tail", stream);
}

#[test]
fn a_frame_beyond_the_limit_is_dropped_and_the_stream_goes_on() {
    let mut framer = Framer::new();
    let mut seen = Vec::new();
    let filler = vec![b'x'; MAX_FRAME / 4];
    framer.push(b"data: ", |_| {});
    for _ in 0..5 {
        framer.push(&filler, |_| seen.push(0));
    }
    assert!(framer.overflowed());
    assert!(!framer.is_between_frames());
    framer.push(b"\n\ndata: after\n\n", |frame| seen.push(frame.data.len()));
    assert_eq!(seen, [5]);
    assert!(framer.is_between_frames());
}

fn stream() -> impl Strategy<Value = String> {
    let line = prop_oneof![
        r"(data|event|id|retry|)(:| :|: |)[ :a-zé🚀\\]{0,8}",
        Just(String::new()),
        Just("data: {\"type\":\"ping\"}".to_owned()),
    ];
    let end = prop_oneof![Just("\n"), Just("\r\n"), Just("\r")];
    let bom = prop_oneof![4 => Just(""), 1 => Just("\u{feff}")];
    (bom, proptest::collection::vec((line, end), 0..16), any::<bool>()).prop_map(|(bom, lines, ended)| {
        let mut text = bom.to_owned();
        for (line, end) in &lines {
            // A lone CR before an LF would be read as one line end with it.
            let end = if *end == "\r" && line.is_empty() { "\n" } else { end };
            text.push_str(line);
            text.push_str(end);
        }
        if ended { text + "\n\n" } else { text }
    })
}

proptest! {
    #[test]
    fn random_streams_are_framed_as_specified(stream in stream()) {
        prop_assert_eq!(frames([stream.as_bytes()]), model(stream.as_bytes()));
    }

    #[test]
    fn frames_do_not_depend_on_the_cuts(stream in stream(), sizes in proptest::collection::vec(0_usize..9, 1..8)) {
        let mut rest = stream.as_bytes();
        let mut chunks = Vec::new();
        for size in sizes.iter().cycle().take(stream.len() + 8) {
            let (chunk, behind) = rest.split_at((*size).min(rest.len()));
            chunks.push(chunk);
            rest = behind;
        }
        chunks.push(rest);
        prop_assert_eq!(frames(chunks), frames([stream.as_bytes()]));
    }

    #[test]
    fn any_bytes_are_survived(chunks in proptest::collection::vec(proptest::collection::vec(any::<u8>(), 0..8), 0..8)) {
        let whole = chunks.concat();
        prop_assert_eq!(frames(chunks.iter().map(Vec::as_slice)), frames([&whole[..]]));
    }
}
