use super::batch::{BATCH, LARGE};
use super::*;
use http_body_util::BodyExt as _;
use parking_lot::Mutex;
use proptest::prelude::*;
use std::collections::VecDeque;
use std::io;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::mpsc;
use tokio::time::Instant;

const IDLE: Duration = Duration::from_secs(60);

/// An upstream body whose frames are there at once, or come when the test sends them.
enum Source {
    Ready(VecDeque<Result<Frame<Bytes>, io::Error>>),
    Sent(mpsc::UnboundedReceiver<Result<Frame<Bytes>, io::Error>>),
}

impl Body for Source {
    type Data = Bytes;
    type Error = io::Error;

    fn poll_frame(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, io::Error>>> {
        match &mut *self {
            Self::Ready(frames) => Poll::Ready(frames.pop_front()),
            Self::Sent(frames) => frames.poll_recv(cx),
        }
    }
}

fn data(bytes: &[u8]) -> Result<Frame<Bytes>, io::Error> {
    Ok(Frame::data(Bytes::copy_from_slice(bytes)))
}

fn broken() -> Result<Frame<Bytes>, io::Error> {
    Err(io::ErrorKind::ConnectionReset.into())
}

#[derive(Default)]
struct Seen {
    bytes: Vec<u8>,
    ends: Vec<End>,
}

struct Watcher {
    seen: Arc<Mutex<Seen>>,
    whole: bool,
    terminal: &'static [u8],
    event: Option<&'static [u8]>,
}

impl Tap for Watcher {
    fn data(&mut self, bytes: &[u8]) {
        self.seen.lock().bytes.extend_from_slice(bytes);
    }
    fn is_whole(&mut self) -> bool {
        self.whole
    }
    fn is_terminal(&mut self) -> bool {
        self.seen.lock().bytes.ends_with(self.terminal)
    }
    fn cut(&mut self, _why: Cut) -> Option<Bytes> {
        self.event.map(Bytes::from_static)
    }
    fn end(&mut self, how: End) {
        self.seen.lock().ends.push(how);
    }
}

fn watched(source: Source, whole: bool, event: Option<&'static [u8]>) -> (RelayBody<Source>, Arc<Mutex<Seen>>) {
    let seen = Arc::new(Mutex::new(Seen::default()));
    let tap = Watcher { seen: Arc::clone(&seen), whole, terminal: b"[DONE]", event };
    (RelayBody::new(source, Some(IDLE), Some(Box::new(tap))), seen)
}

/// All data frames, and whether the body ended in order.
async fn drain(mut body: RelayBody<Source>) -> (Vec<Bytes>, bool) {
    let mut frames = vec![];
    while let Some(frame) = body.frame().await {
        match frame {
            Ok(frame) => frames.extend(frame.into_data().ok()),
            Err(_) => return (frames, false),
        }
    }
    (frames, true)
}

#[tokio::test]
async fn what_is_ready_together_goes_down_together() {
    let events = (0..50).map(|n| data(format!("data: {n}\n\n").as_bytes())).collect();
    let (body, seen) = watched(Source::Ready(events), true, None);
    let (frames, whole) = drain(body).await;
    assert!(whole);
    assert_eq!(frames.len(), 1);
    assert_eq!(frames.concat(), seen.lock().bytes);
    assert_eq!(seen.lock().ends, [End::Complete]);
}

#[tokio::test]
async fn a_large_chunk_is_not_copied_and_keeps_its_place() {
    let large = Bytes::from(vec![b'x'; LARGE]);
    let frames = [data(b"a"), data(b"b"), Ok(Frame::data(large.clone())), data(b"c")];
    let (frames, _) = drain(RelayBody::new(Source::Ready(frames.into()), Some(IDLE), None)).await;
    assert_eq!(frames, [Bytes::from_static(b"ab"), large.clone(), Bytes::from_static(b"c")]);
    assert_eq!(frames[1].as_ptr(), large.as_ptr());
}

#[tokio::test]
async fn paced_chunks_are_neither_merged_nor_held() {
    let (sender, receiver) = mpsc::unbounded_channel();
    let mut body = RelayBody::new(Source::Sent(receiver), Some(IDLE), None);
    for n in 0..20_u8 {
        sender.send(data(&[n])).unwrap();
        let frame = body.frame().await.unwrap().unwrap();
        assert_eq!(frame.into_data().unwrap().as_ref(), [n]);
    }
}

#[tokio::test]
async fn a_cut_ends_with_the_taps_event_or_breaks_off() {
    for (event, whole_end) in [(None, false), (Some(&b""[..]), false), (Some(&b"event: error\n\n"[..]), true)] {
        let (body, seen) = watched(Source::Ready([data(b"half"), broken()].into()), true, event);
        let (frames, whole) = drain(body).await;
        assert_eq!(whole, whole_end);
        assert_eq!(frames.concat(), [b"half", event.unwrap_or_default()].concat(), "what came before the cut arrives");
        assert_eq!(seen.lock().ends, [End::Cut(Cut::Broken)]);
    }
}

#[tokio::test]
async fn a_connection_lost_behind_the_terminal_marker_is_no_cut() {
    let (body, seen) = watched(Source::Ready([data(b"data: [DONE]"), broken()].into()), true, Some(b"event: error"));
    let (frames, whole) = drain(body).await;
    assert!(whole);
    assert_eq!(frames.concat(), b"data: [DONE]");
    assert_eq!(seen.lock().ends, [End::Complete]);
}

#[tokio::test]
async fn an_orderly_end_of_half_an_answer_is_a_cut() {
    let (body, seen) = watched(Source::Ready([data(b"half")].into()), false, None);
    assert!(!drain(body).await.1);
    assert_eq!(seen.lock().ends, [End::Cut(Cut::Unfinished)]);
}

#[tokio::test]
async fn trailers_pass() {
    let mut trailers = HeaderMap::new();
    trailers.insert("x-sum", http::HeaderValue::from_static("1"));
    let frames = [data(b"a"), Ok(Frame::trailers(trailers.clone()))];
    let body = RelayBody::new(Source::Ready(frames.into()), Some(IDLE), None);
    let collected = body.collect().await.unwrap();
    assert_eq!(collected.trailers(), Some(&trailers));
    assert_eq!(collected.to_bytes(), "a");
}

#[tokio::test(start_paused = true)]
async fn silence_of_the_upstream_is_a_cut_and_each_byte_starts_the_time_anew() {
    let (sender, receiver) = mpsc::unbounded_channel();
    let (mut body, seen) = watched(Source::Sent(receiver), true, None);
    for _ in 0..3 {
        tokio::time::sleep(IDLE * 2).await; // the client does not read: not the upstream's silence
        assert!(tokio::time::timeout(IDLE / 2, body.frame()).await.is_err());
        sender.send(data(b"x")).unwrap();
        body.frame().await.unwrap().unwrap();
    }
    let started = Instant::now();
    assert!(body.frame().await.unwrap().is_err());
    assert_eq!(started.elapsed().as_secs(), IDLE.as_secs());
    assert_eq!(seen.lock().ends, [End::Cut(Cut::Idle)]);
}

#[tokio::test]
async fn a_dropped_body_tells_the_tap_once_that_the_client_left() {
    let (body, seen) = watched(Source::Ready([data(b"x")].into()), true, None);
    drop(body);
    assert_eq!(seen.lock().ends, [End::ClientGone]);
}

/// Holds everything until it is told to let go.
struct Gate(Arc<Mutex<bool>>);

impl Tap for Gate {
    fn data(&mut self, _bytes: &[u8]) {}
    fn poll_release(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        if *self.0.lock() {
            return Poll::Ready(());
        }
        cx.waker().wake_by_ref();
        Poll::Pending
    }
    fn end(&mut self, _how: End) {}
}

#[tokio::test]
async fn nothing_goes_down_before_the_tap_releases_it() {
    let open = Arc::new(Mutex::new(false));
    let source = Source::Ready([data(b"x")].into());
    let mut body = RelayBody::new(source, Some(IDLE), Some(Box::new(Gate(Arc::clone(&open)))));
    assert!(futures_util::poll!(body.frame()).is_pending());
    assert!(futures_util::poll!(body.frame()).is_pending());
    *open.lock() = true;
    assert_eq!(body.frame().await.unwrap().unwrap().into_data().unwrap(), "x");
}

proptest! {
    #[test]
    fn every_byte_goes_down_in_order(sizes in proptest::collection::vec(0..2 * LARGE, 0..20), cut: bool) {
        let chunks: Vec<Vec<u8>> =
            sizes.iter().enumerate().map(|(n, size)| vec![u8::try_from(n).unwrap(); *size]).collect();
        let mut frames: VecDeque<_> = chunks.iter().map(|chunk| data(chunk)).collect();
        if cut {
            frames.push_back(broken());
        }
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
        let (frames, whole) = runtime.block_on(drain(RelayBody::new(Source::Ready(frames), Some(IDLE), None)));
        prop_assert_eq!(frames.concat(), chunks.concat());
        prop_assert_eq!(whole, !cut);
        prop_assert!(frames.iter().all(|frame| !frame.is_empty() && frame.len() < BATCH + 2 * LARGE));
    }
}
