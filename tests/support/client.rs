//! A client that sends raw bytes and shows what came back and how it ended.
use super::soon;
use super::wire::{Framing, Head, read_chunk, read_fields, read_head};
use std::io;
use std::net::SocketAddr;
use tokio::io::{AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::TcpStream;

/// One connection.
pub struct Client {
    stream: BufReader<TcpStream>,
    addr: SocketAddr,
}

/// A whole answer, or what there was of it.
#[derive(Debug, Clone)]
pub struct Answer {
    pub head: Head,
    pub body: Vec<u8>,
    pub trailers: Vec<(String, String)>,
    /// Whether it ended as its framing says; false when the connection broke off.
    pub whole: bool,
}

impl Answer {
    pub fn status(&self) -> u16 {
        status(&self.head)
    }

    pub fn text(&self) -> String {
        String::from_utf8_lossy(&self.body).into_owned()
    }
}

fn status(head: &Head) -> u16 {
    head.line.split(' ').nth(1).and_then(|status| status.parse().ok()).expect("a status line")
}

impl Client {
    pub async fn connect(addr: SocketAddr) -> Self {
        let stream = TcpStream::connect(addr).await.unwrap();
        stream.set_nodelay(true).unwrap();
        Self { stream: BufReader::new(stream), addr }
    }

    pub async fn send(&mut self, bytes: impl AsRef<[u8]>) {
        self.stream.get_mut().write_all(bytes.as_ref()).await.unwrap();
    }

    /// Sends, but does not mind when the other side does not want it any more.
    pub async fn try_send(&mut self, bytes: impl AsRef<[u8]>) -> io::Result<()> {
        self.stream.get_mut().write_all(bytes.as_ref()).await
    }

    /// Sends a request with a length; `headers` are whole lines.
    pub async fn request(&mut self, method: &str, target: &str, headers: &str, body: impl AsRef<[u8]>) -> Answer {
        let body = body.as_ref();
        let length = if body.is_empty() { String::new() } else { format!("content-length: {}\r\n", body.len()) };
        let host = self.addr;
        let head = format!("{method} {target} HTTP/1.1\r\nhost: {host}\r\n{headers}{length}\r\n");
        self.send([head.as_bytes(), body].concat()).await;
        self.answer(method).await
    }

    /// The status of the next head, interim ones included.
    pub async fn interim(&mut self) -> u16 {
        status(&soon(read_head(&mut self.stream)).await.unwrap().expect("an answer"))
    }

    /// The head of the next answer that is not an interim one.
    pub async fn head(&mut self) -> Head {
        soon(async {
            loop {
                let head = read_head(&mut self.stream).await.unwrap().expect("an answer");
                if status(&head) >= 200 {
                    return head;
                }
            }
        })
        .await
    }

    /// The next answer to its end.
    pub async fn answer(&mut self, method: &str) -> Answer {
        let head = self.head().await;
        let mut answer = Answer { head, body: vec![], trailers: vec![], whole: false };
        answer.whole = soon(self.body(method, &mut answer)).await.is_ok();
        answer
    }

    async fn body(&mut self, method: &str, answer: &mut Answer) -> io::Result<()> {
        match framing(method, &answer.head) {
            Framing::None => {}
            Framing::Length(length) => {
                while answer.body.len() < length {
                    let left = (length - answer.body.len()) as u64;
                    if (&mut self.stream).take(left).read_buf(&mut answer.body).await? == 0 {
                        return Err(io::ErrorKind::UnexpectedEof.into());
                    }
                }
            }
            Framing::Chunked => {
                while let Some(chunk) = read_chunk(&mut self.stream).await? {
                    answer.body.extend(chunk);
                }
                answer.trailers = read_fields(&mut self.stream).await?;
            }
            Framing::UntilClose => {
                self.stream.read_to_end(&mut answer.body).await?;
            }
        }
        Ok(())
    }

    /// The next chunk of a chunked body, as it was framed.
    pub async fn chunk(&mut self) -> io::Result<Option<Vec<u8>>> {
        soon(read_chunk(&mut self.stream)).await
    }

    /// Whether the connection is closed or reset by now.
    pub async fn is_closed(&mut self) -> bool {
        soon(self.stream.read_u8()).await.is_err()
    }
}

fn framing(method: &str, head: &Head) -> Framing {
    if method == "HEAD" || matches!(status(head), 204 | 304) {
        Framing::None
    } else if head.get("transfer-encoding").is_some() {
        Framing::Chunked
    } else {
        head.get("content-length").map_or(Framing::UntilClose, |length| Framing::Length(length.parse().unwrap()))
    }
}
