//! A provider that does exactly what a test says, on raw TCP.
use super::wire::{Framing, Head, read_chunk, read_fields, read_head};
use parking_lot::Mutex;
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use tokio::io::{AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::tcp::OwnedReadHalf;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio::task::JoinHandle;

/// A request as it arrived.
#[derive(Debug, Clone)]
pub struct Recorded {
    pub head: Head,
    pub body: Vec<u8>,
    pub trailers: Vec<(String, String)>,
}

impl Recorded {
    /// The request target.
    pub fn target(&self) -> &str {
        self.head.line.split(' ').nth(1).unwrap_or_default()
    }
}

/// What an answer does next.
#[derive(Debug, Clone)]
pub enum Step {
    /// Writes raw bytes in one go.
    Write(Vec<u8>),
    /// Waits until the test opens the gate.
    Wait(Gate),
    /// Waits until the other side has closed, then counts it.
    WaitForClose,
    /// Closes in order.
    Close,
    /// Closes with a reset.
    Reset,
}

impl Step {
    /// A raw piece of text.
    pub fn text(text: impl Into<String>) -> Self {
        Self::Write(text.into().into_bytes())
    }

    /// One chunk of a chunked body.
    pub fn chunk(data: impl AsRef<[u8]>) -> Self {
        let data = data.as_ref();
        Self::Write([format!("{:x}\r\n", data.len()).as_bytes(), data, b"\r\n"].concat())
    }

    /// The end of a chunked body.
    pub fn last_chunk() -> Self {
        Self::text("0\r\n\r\n")
    }
}

/// The head of an event stream in chunks.
pub fn event_stream() -> Step {
    Step::text(
        "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream; charset=utf-8\r\ntransfer-encoding: chunked\r\n\r\n",
    )
}

/// A whole answer with a length.
pub fn answer(status: &str, headers: &str, body: impl AsRef<[u8]>) -> Vec<Step> {
    let body = body.as_ref();
    let head = format!("HTTP/1.1 {status}\r\n{headers}content-length: {}\r\n\r\n", body.len());
    vec![Step::Write([head.as_bytes(), body].concat())]
}

/// Opened once by a test, seen by everybody who waits.
#[derive(Debug, Clone)]
pub struct Gate(watch::Sender<bool>);

impl Gate {
    pub fn new() -> Self {
        Self(watch::Sender::new(false))
    }

    pub fn open(&self) {
        self.0.send_replace(true);
    }

    pub async fn opened(&self) {
        let _ = self.0.subscribe().wait_for(|open| *open).await;
    }
}

type Script = dyn Fn(&Recorded, usize) -> Vec<Step> + Send + Sync;

/// The provider; stops when it is dropped.
pub struct Provider {
    addr: SocketAddr,
    state: Arc<State>,
    accepting: JoinHandle<()>,
}

struct State {
    script: Box<Script>,
    requests: Mutex<Vec<Recorded>>,
    connections: Mutex<usize>,
    closed: watch::Sender<usize>,
}

impl Drop for Provider {
    fn drop(&mut self) {
        self.accepting.abort();
    }
}

impl Provider {
    /// Answers each request with the steps that `script` makes of it and its number, counted from 0.
    pub async fn start(script: impl Fn(&Recorded, usize) -> Vec<Step> + Send + Sync + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let addr = listener.local_addr().unwrap();
        let state = Arc::new(State {
            script: Box::new(script),
            requests: Mutex::default(),
            connections: Mutex::default(),
            closed: watch::Sender::new(0),
        });
        let accepting = tokio::spawn(accept(listener, Arc::clone(&state)));
        Self { addr, state, accepting }
    }

    /// Answers everything alike.
    pub async fn always(steps: Vec<Step>) -> Self {
        Self::start(move |_, _| steps.clone()).await
    }

    pub fn addr(&self) -> SocketAddr {
        self.addr
    }

    /// The requests so far.
    pub fn requests(&self) -> Vec<Recorded> {
        self.state.requests.lock().clone()
    }

    /// The only request.
    pub fn request(&self) -> Recorded {
        let requests = self.requests();
        assert_eq!(requests.len(), 1, "one request");
        requests[0].clone()
    }

    /// How many connections were opened.
    pub fn connections(&self) -> usize {
        *self.state.connections.lock()
    }

    /// Waits until `count` [`Step::WaitForClose`] have seen the other side close.
    pub async fn closed(&self, count: usize) {
        let _ = self.state.closed.subscribe().wait_for(|closed| *closed >= count).await;
    }
}

async fn accept(listener: TcpListener, state: Arc<State>) {
    while let Ok((stream, _)) = listener.accept().await {
        *state.connections.lock() += 1;
        let state = Arc::clone(&state);
        tokio::spawn(async move {
            // A gateway that goes away in the middle is what some tests are about.
            let _ = converse(stream, &state).await;
        });
    }
}

async fn converse(stream: TcpStream, state: &State) -> io::Result<()> {
    stream.set_nodelay(true)?;
    let (read, mut write) = stream.into_split();
    let mut reader = BufReader::new(read);
    while let Some(request) = read_request(&mut reader).await? {
        let number = {
            let mut requests = state.requests.lock();
            requests.push(request.clone());
            requests.len() - 1
        };
        for step in (state.script)(&request, number) {
            match step {
                Step::Write(bytes) => write.write_all(&bytes).await?,
                Step::Wait(gate) => gate.opened().await,
                Step::WaitForClose => {
                    // Zero bytes or a reset: either way nobody is there any more.
                    let _ = reader.read_u8().await;
                    state.closed.send_modify(|closed| *closed += 1);
                }
                Step::Close => return Ok(()),
                Step::Reset => return reader.into_inner().reunite(write).map_err(io::Error::other)?.set_zero_linger(),
            }
        }
    }
    Ok(())
}

async fn read_request(reader: &mut BufReader<OwnedReadHalf>) -> io::Result<Option<Recorded>> {
    let Some(head) = read_head(reader).await? else { return Ok(None) };
    let mut body = vec![];
    let mut trailers = vec![];
    match framing(&head) {
        Framing::Length(length) => {
            body.resize(length, 0);
            reader.read_exact(&mut body).await?;
        }
        Framing::Chunked => {
            while let Some(chunk) = read_chunk(reader).await? {
                body.extend(chunk);
            }
            trailers = read_fields(reader).await?;
        }
        Framing::None | Framing::UntilClose => {}
    }
    Ok(Some(Recorded { head, body, trailers }))
}

fn framing(head: &Head) -> Framing {
    if head.get("transfer-encoding").is_some() {
        Framing::Chunked
    } else {
        head.get("content-length").map_or(Framing::None, |length| Framing::Length(length.parse().unwrap()))
    }
}
