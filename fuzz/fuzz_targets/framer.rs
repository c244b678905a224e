//! What is seen of a stream does not depend on how it was cut.
#![no_main]
use hookgate::json::ArrayFramer;
use hookgate::sse::Framer;
use libfuzzer_sys::fuzz_target;

fn frames<'a>(chunks: impl Iterator<Item = &'a [u8]>) -> Vec<(Option<Vec<u8>>, Vec<u8>)> {
    let mut framer = Framer::new();
    let mut seen = Vec::new();
    for chunk in chunks {
        framer.push(chunk, |frame| seen.push((frame.event.map(<[u8]>::to_vec), frame.data.into_owned())));
    }
    framer.finish(|frame| seen.push((frame.event.map(<[u8]>::to_vec), frame.data.into_owned())));
    seen
}

fn elements<'a>(chunks: impl Iterator<Item = &'a [u8]>) -> Vec<Vec<u8>> {
    let mut framer = ArrayFramer::new();
    let mut seen = Vec::new();
    for chunk in chunks {
        framer.push(chunk, |element| seen.push(element.to_vec()));
    }
    framer.finish(|element| seen.push(element.to_vec()));
    seen
}

fuzz_target!(|input: (u8, &[u8])| {
    let (size, stream) = input;
    let size = usize::from(size) + 1;
    let whole = || std::iter::once(stream);
    assert_eq!(frames(stream.chunks(size)), frames(whole()));
    assert_eq!(elements(stream.chunks(size)), elements(whole()));
});
