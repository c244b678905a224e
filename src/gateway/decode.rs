//! Request bodies with a content-encoding (Codex with a ChatGPT login sends zstd).
use super::admission::Share;
use super::client_body::TooLarge;
use super::read::ReadError;
use bytes::Bytes;
use flate2::read::{DeflateDecoder, MultiGzDecoder, ZlibDecoder};
use http::HeaderMap;
use http::header::CONTENT_ENCODING;
use std::io::{self, Read};

/// Codings on top of each other. One is what clients send; two is a misunderstanding; more is an attack on memory.
const MAX_CODINGS: usize = 3;

/// Output is taken from the budget in steps of this size, so that a bomb is noticed early.
const STEP: usize = 64 << 10;

/// Largest zstd window, as a power of two: 8 MiB, the most that a sender may ask for (RFC 9659).
const ZSTD_WINDOW_LOG: u32 = 23;

/// Input buffer of the brotli decoder.
const BROTLI_BUFFER: usize = 4096;

/// Low four bits of the first byte of a zlib stream (RFC 1950): the deflate method.
const ZLIB_METHOD: u8 = 8;

/// One content coding.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Coding {
    Gzip,
    Deflate,
    Brotli,
    Zstd,
}

/// The codings of a body, in the order in which they were applied.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Codings(Vec<Coding>);

impl Codings {
    /// What `content-encoding` lists (RFC 9110 section 8.4); `Err` is the one that is not known.
    pub(super) fn of(headers: &HeaderMap) -> Result<Self, String> {
        let mut codings = vec![];
        for value in headers.get_all(CONTENT_ENCODING) {
            let list = value.to_str().map_err(|_| "not ASCII".to_owned())?;
            for name in list.split(',').map(str::trim).filter(|name| !name.is_empty()) {
                match name.to_ascii_lowercase().as_str() {
                    "gzip" | "x-gzip" => codings.push(Coding::Gzip),
                    "deflate" => codings.push(Coding::Deflate),
                    "br" => codings.push(Coding::Brotli),
                    "zstd" => codings.push(Coding::Zstd),
                    "identity" => {}
                    _ => return Err(name.to_owned()),
                }
            }
        }
        if codings.len() > MAX_CODINGS { Err(format!("{} codings", codings.len())) } else { Ok(Self(codings)) }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

/// Takes the codings off; the last one that was applied first. Layers are read through each other, so that only the
/// outermost text is held.
pub(super) fn decode(body: &Bytes, codings: &Codings, limit: u64, share: &mut Share) -> Result<Bytes, ReadError> {
    let mut reader: Box<dyn Read + '_> = Box::new(body.as_ref());
    let mut first = body.first().copied();
    for coding in codings.0.iter().rev() {
        reader = layer(*coding, reader, first.take()).map_err(broken)?;
    }
    let mut plain = Vec::new();
    loop {
        let before = plain.len();
        (&mut reader).take(STEP as u64).read_to_end(&mut plain).map_err(broken)?;
        let read = plain.len() - before;
        if plain.len() as u64 > limit {
            return Err(TooLarge { limit }.into());
        }
        if read == 0 {
            return Ok(plain.into());
        }
        if !share.grow(read) {
            return Err(ReadError::OverBudget);
        }
    }
}

/// `first`: the first byte of the input, where it is known: `deflate` means zlib, but some senders leave its header out.
fn layer<'a>(coding: Coding, input: Box<dyn Read + 'a>, first: Option<u8>) -> io::Result<Box<dyn Read + 'a>> {
    Ok(match coding {
        Coding::Gzip => Box::new(MultiGzDecoder::new(input)),
        Coding::Deflate if first.is_some_and(|byte| byte & 0x0f != ZLIB_METHOD) => Box::new(DeflateDecoder::new(input)),
        Coding::Deflate => Box::new(ZlibDecoder::new(input)),
        Coding::Brotli => Box::new(brotli::Decompressor::new(input, BROTLI_BUFFER)),
        Coding::Zstd => {
            let mut decoder = zstd::stream::read::Decoder::new(input)?;
            decoder.window_log_max(ZSTD_WINDOW_LOG)?;
            Box::new(decoder)
        }
    })
}

fn broken(error: io::Error) -> ReadError {
    ReadError::Invalid(format!("its content-encoding is broken: {error}"))
}
