//! Reads an answer while it passes: decodes a copy where it is compressed, frames it, feeds the dialect's reader.
use super::director::AnswerDirector;
use crate::context::{Answer, AnswerForm};
use crate::dialect::{AnswerReader, Dialect};
use crate::gateway::answer_head::{EVENT_STREAM, MAX_JSON, is_type};
use crate::gateway::guard::StreamGuard;
use crate::gateway::legs::Bound;
use crate::gateway::tap::Tap;
use crate::json::array_stream::ArrayFramer;
use crate::sse::Framer;
use http::HeaderMap;
use http::header::CONTENT_TYPE;
use std::io::Write;

/// Compressed bytes that are decoded at once: at the worst ratio of the codecs (about 1:1000) this is one MiB of output
/// before the next look.
const DECODE_STEP: usize = 1024;

/// The form in which the upstream really sends: some answer a stream request with one JSON body.
pub(in crate::gateway) fn actual_form(asked: AnswerForm, headers: &HeaderMap) -> AnswerForm {
    let is_json = || headers.get(CONTENT_TYPE).is_some_and(|v| v.to_str().is_ok_and(|text| text.contains("json")));
    match asked {
        _ if is_type(headers, EVENT_STREAM) => AnswerForm::Sse,
        AnswerForm::JsonArray => AnswerForm::JsonArray,
        _ if is_json() => AnswerForm::Json,
        form => form,
    }
}

/// What looks at an answer, and what may change or continue it.
pub struct Watched {
    /// Sees every byte that goes down.
    pub tap: Option<Box<dyn Tap>>,
    /// Holds its calls to the tools, and decides about further legs.
    pub legs: Option<Legs>,
}

/// How an answer goes down leg by leg.
pub struct Legs {
    /// Decides.
    pub director: AnswerDirector,
    /// The form in which the upstream answers.
    pub form: AnswerForm,
    /// What calls are held to.
    pub binding: Option<Bound>,
}

impl Watched {
    /// A guard alone: nobody listens to the answer.
    pub fn only(guard: Option<StreamGuard>) -> Self {
        Self { tap: guard.map(|guard| Box::new(guard) as Box<dyn Tap>), legs: None }
    }
}

/// Watches one answer.
pub(in crate::gateway) struct Watch {
    decoder: Option<Decoder>,
    source: Source,
    reader: Box<dyn AnswerReader>,
    /// Something was not seen: a frame or a body beyond its limit, or bytes that do not decode.
    blind: bool,
}

enum Source {
    Sse(Framer),
    Array(ArrayFramer),
    Body(Vec<u8>),
}

impl Watch {
    /// For an answer of this `form`; `encoding` is the response's content-encoding. `None` when the encoding is one that
    /// can't be decoded: nothing is then known of the answer.
    pub(in crate::gateway) fn new(dialect: &dyn Dialect, form: AnswerForm, encoding: Option<&str>) -> Option<Self> {
        let decoder = match encoding {
            None => None,
            Some(name) => Some(Decoder::new(name.trim())?),
        };
        let source = match form {
            AnswerForm::Sse => Source::Sse(Framer::new()),
            AnswerForm::JsonArray => Source::Array(ArrayFramer::new()),
            AnswerForm::Json => Source::Body(Vec::new()),
        };
        Some(Self { decoder, source, reader: dialect.reader(form), blind: false })
    }

    /// The next bytes as they came.
    pub(in crate::gateway) fn push(&mut self, chunk: &[u8]) {
        let Some(mut decoder) = self.decoder.take() else { return self.plain(chunk) };
        for step in chunk.chunks(DECODE_STEP) {
            match decoder.push(step) {
                Ok(plain) => self.plain(&plain),
                Err(_) => {
                    self.blind = true;
                    return;
                }
            }
        }
        self.decoder = Some(decoder);
    }

    fn plain(&mut self, bytes: &[u8]) {
        if self.blind {
            return;
        }
        let reader = &mut self.reader;
        match &mut self.source {
            Source::Sse(framer) => {
                framer.push(bytes, |frame| reader.event(frame.event, &frame.data));
                self.blind |= framer.overflowed();
            }
            Source::Array(framer) => {
                framer.push(bytes, |element| reader.event(None, element));
                self.blind |= framer.overflowed();
            }
            Source::Body(body) => match body.len() + bytes.len() > MAX_JSON {
                true => self.blind = true,
                false => body.extend_from_slice(bytes),
            },
        }
    }

    /// Whether all of the answer has been seen.
    pub(super) fn is_terminal(&self) -> bool {
        !self.blind && self.reader.is_terminal()
    }

    /// Whether nothing of it can follow.
    pub(super) fn is_closed(&self) -> bool {
        !self.blind && self.reader.is_closed()
    }

    /// The answer, when no more bytes come. `None` when something of it was not seen, so that nothing true can be said.
    pub(in crate::gateway) fn finish(&mut self) -> Option<Answer> {
        let reader = &mut self.reader;
        match &mut self.source {
            Source::Sse(framer) => framer.finish(|frame| reader.event(frame.event, &frame.data)),
            Source::Array(framer) => framer.finish(|element| reader.event(None, element)),
            Source::Body(body) => reader.body(&std::mem::take(body)),
        }
        (!self.blind).then(|| self.reader.finish())
    }
}

/// A streaming decoder for one content coding.
enum Decoder {
    Gzip(flate2::write::MultiGzDecoder<Vec<u8>>),
    Zlib(flate2::write::ZlibDecoder<Vec<u8>>),
    Brotli(Box<brotli::DecompressorWriter<Vec<u8>>>),
    Zstd(zstd::stream::write::Decoder<'static, Vec<u8>>),
}

/// Brotli's own buffer; output that is ready is written through at each flush.
const BROTLI_BUFFER: usize = 4096;

impl Decoder {
    fn new(name: &str) -> Option<Self> {
        match name.to_ascii_lowercase().as_str() {
            "gzip" | "x-gzip" => Some(Self::Gzip(flate2::write::MultiGzDecoder::new(Vec::new()))),
            "deflate" => Some(Self::Zlib(flate2::write::ZlibDecoder::new(Vec::new()))),
            "br" => Some(Self::Brotli(Box::new(brotli::DecompressorWriter::new(Vec::new(), BROTLI_BUFFER)))),
            "zstd" => zstd::stream::write::Decoder::new(Vec::new()).ok().map(Self::Zstd),
            _ => None,
        }
    }

    fn push(&mut self, bytes: &[u8]) -> std::io::Result<Vec<u8>> {
        fn through<W: Write>(writer: &mut W, bytes: &[u8]) -> std::io::Result<()> {
            writer.write_all(bytes)?;
            writer.flush()
        }
        Ok(std::mem::take(match self {
            Self::Gzip(d) => {
                through(d, bytes)?;
                d.get_mut()
            }
            Self::Zlib(d) => {
                through(d, bytes)?;
                d.get_mut()
            }
            Self::Brotli(d) => {
                through(d.as_mut(), bytes)?;
                d.get_mut()
            }
            Self::Zstd(d) => {
                through(d, bytes)?;
                d.get_mut()
            }
        }))
    }
}
