//! HTTP/1.1 messages read byte by byte, as plainly as possible: the tests compare bytes, so no HTTP library is between.
use std::io;
use tokio::io::{AsyncBufReadExt, AsyncRead, AsyncReadExt, BufReader};

/// A start line and header lines, in order, as received.
#[derive(Debug, Clone)]
pub struct Head {
    pub line: String,
    pub headers: Vec<(String, String)>,
}

impl Head {
    /// All values of a header, in order.
    pub fn all(&self, name: &str) -> Vec<&str> {
        self.headers.iter().filter(|(key, _)| key.eq_ignore_ascii_case(name)).map(|(_, value)| value.as_str()).collect()
    }

    /// The header's only value.
    pub fn get(&self, name: &str) -> Option<&str> {
        let all = self.all(name);
        assert!(all.len() < 2, "{name} is there {} times", all.len());
        all.first().copied()
    }
}

/// What the body of a message is made of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Framing {
    None,
    Length(usize),
    Chunked,
    UntilClose,
}

/// The next head; `None` at the end of the connection.
pub async fn read_head<R: AsyncRead + Unpin>(reader: &mut BufReader<R>) -> io::Result<Option<Head>> {
    let Some(line) = read_line(reader).await? else { return Ok(None) };
    let headers = read_fields(reader).await?;
    Ok(Some(Head { line, headers }))
}

/// Header or trailer lines up to the empty one.
pub async fn read_fields<R: AsyncRead + Unpin>(reader: &mut BufReader<R>) -> io::Result<Vec<(String, String)>> {
    let mut fields = vec![];
    while let Some(line) = read_line(reader).await? {
        if line.is_empty() {
            return Ok(fields);
        }
        let (name, value) = line.split_once(':').ok_or(io::ErrorKind::InvalidData)?;
        fields.push((name.to_owned(), value.trim().to_owned()));
    }
    Err(io::ErrorKind::UnexpectedEof.into())
}

async fn read_line<R: AsyncRead + Unpin>(reader: &mut BufReader<R>) -> io::Result<Option<String>> {
    let mut line = vec![];
    if reader.read_until(b'\n', &mut line).await? == 0 {
        return Ok(None);
    }
    // Latin-1: every byte is a character, nothing is lost.
    let text: String = line.iter().map(|byte| char::from(*byte)).collect();
    Ok(Some(text.trim_end_matches(['\r', '\n']).to_owned()))
}

/// One chunk of a chunked body; `None` behind the last one.
pub async fn read_chunk<R: AsyncRead + Unpin>(reader: &mut BufReader<R>) -> io::Result<Option<Vec<u8>>> {
    let line = read_line(reader).await?.ok_or(io::ErrorKind::UnexpectedEof)?;
    let size = usize::from_str_radix(line.split(';').next().unwrap_or_default(), 16)
        .map_err(|_| io::Error::from(io::ErrorKind::InvalidData))?;
    if size == 0 {
        return Ok(None);
    }
    let mut chunk = vec![0; size];
    reader.read_exact(&mut chunk).await?;
    read_line(reader).await?;
    Ok(Some(chunk))
}
