use super::*;
use crate::context::{AnswerForm, Roster};
use crate::gateway::failure::Failure;
use futures_util::FutureExt;
use http_body_util::BodyExt as _;
use parking_lot::Mutex;
use std::sync::Arc;
use tokio::sync::mpsc;

const IDLE: Duration = Duration::from_secs(60);

type Chunk = Result<&'static str, Cut>;

/// A leg whose chunks the test sends.
struct Source(mpsc::UnboundedReceiver<Chunk>);

impl Body for Source {
    type Data = Bytes;
    type Error = Cut;

    fn poll_frame(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, Cut>>> {
        self.0.poll_recv(cx).map(|chunk| Some(chunk?.map(|text| Frame::data(Bytes::from_static(text.as_bytes())))))
    }
}

fn source(chunks: impl IntoIterator<Item = Chunk>) -> Source {
    let (sender, receiver) = mpsc::unbounded_channel();
    chunks.into_iter().for_each(|chunk| sender.send(chunk).unwrap());
    Source(receiver)
}

#[derive(Default)]
struct Log {
    asked: Vec<String>,
    heard: Vec<(String, bool)>,
    lost: Vec<bool>,
}

/// Goes on with the legs that it was given, after a while.
struct Script {
    legs: VecDeque<Source>,
    thinks: Duration,
    log: Arc<Mutex<Log>>,
}

impl Director for Script {
    type Body = Source;

    fn judge(&mut self, _: Call) -> BoxFuture<'static, Ruling> {
        std::future::ready(Ruling::Allow).boxed()
    }

    fn after(&mut self, leg: Ended) -> BoxFuture<'static, Next<Source>> {
        self.log.lock().asked.push(leg.answer.text);
        let (next, thinks) = (self.legs.pop_front(), self.thinks);
        async move {
            tokio::time::sleep(thinks).await;
            next.map_or(Next::End, Next::Leg)
        }
        .boxed()
    }

    fn heard(&mut self, answer: &Answer, spoken: bool) {
        self.log.lock().heard.push((answer.text.clone(), spoken));
    }

    fn lost(&mut self, _why: &str, spoken: bool) {
        self.log.lock().lost.push(spoken);
    }
}

const START: &str = "event: message_start\ndata: {\"type\":\"message_start\",\"message\":{\"id\":\"msg_1\",\"type\":\"message\",\"role\":\"assistant\",\"content\":[],\"stop_reason\":null,\"usage\":{\"input_tokens\":3,\"output_tokens\":1}}}\n\n";
const OPEN: &str = "event: content_block_start\ndata: {\"type\":\"content_block_start\",\"index\":0,\"content_block\":{\"type\":\"text\",\"text\":\"\"}}\n\n";
const TEXT: &str = "event: content_block_delta\ndata: {\"type\":\"content_block_delta\",\"index\":0,\"delta\":{\"type\":\"text_delta\",\"text\":\"hello\"}}\n\n";
const CLOSE: &str = "event: content_block_stop\ndata: {\"type\":\"content_block_stop\",\"index\":0}\n\n";
const END: &str = "event: message_delta\ndata: {\"type\":\"message_delta\",\"delta\":{\"stop_reason\":\"end_turn\",\"stop_sequence\":null},\"usage\":{\"output_tokens\":5}}\n\n";
const STOP: &str = "event: message_stop\ndata: {\"type\":\"message_stop\"}\n\n";
const WHOLE: [Chunk; 6] = [Ok(START), Ok(OPEN), Ok(TEXT), Ok(CLOSE), Ok(END), Ok(STOP)];

fn body(first: Source, legs: Vec<Source>, thinks: Duration) -> (LegsBody<Script>, Arc<Mutex<Log>>) {
    let log = Arc::new(Mutex::new(Log::default()));
    let script = Script { legs: legs.into(), thinks, log: Arc::clone(&log) };
    let wire = Wire { dialect: DialectId::Anthropic, form: AnswerForm::Sse, idle_timeout: IDLE, binding: None };
    (LegsBody::new(first, wire, script), log)
}

/// Everything that goes down, and how it ends.
async fn drain(mut body: LegsBody<Script>) -> (String, Option<Cut>) {
    let mut text = String::new();
    while let Some(frame) = body.frame().await {
        match frame {
            Ok(frame) => text.push_str(std::str::from_utf8(frame.data_ref().unwrap()).unwrap()),
            Err(cut) => return (text, Some(cut)),
        }
    }
    (text, None)
}

#[tokio::test(start_paused = true)]
async fn a_single_leg_passes_byte_for_byte() {
    let (body, log) = body(source(WHOLE), vec![], Duration::ZERO);
    let (text, cut) = drain(body).await;
    assert_eq!((text, cut), (WHOLE.map(Result::unwrap).concat(), None));
    assert_eq!(log.lock().asked, ["hello"]);
}

#[tokio::test(start_paused = true)]
async fn the_client_is_kept_alive_while_a_hook_thinks_and_the_next_leg_is_awaited() {
    let (sender, receiver) = mpsc::unbounded_channel();
    let (body, _) = body(source(WHOLE), vec![Source(receiver)], Duration::from_secs(60));
    let begun = tokio::time::Instant::now();
    tokio::spawn(async move {
        tokio::time::sleep(Duration::from_secs(100)).await;
        WHOLE.into_iter().for_each(|chunk| sender.send(chunk).unwrap());
    });
    let (text, cut) = drain(body).await;
    assert_eq!(cut, None);
    let pings = text.matches("event: ping").count();
    assert!(pings >= usize::try_from(begun.elapsed().as_secs() / 10).unwrap(), "{pings} in {:?}", begun.elapsed());
    assert_eq!(text.matches("event: message_stop").count(), 1);
}

#[tokio::test(start_paused = true)]
async fn an_upstream_that_is_silent_in_a_leg_is_not_waited_for_for_ever() {
    let (keep, receiver) = mpsc::unbounded_channel();
    let (body, log) = body(source(WHOLE), vec![Source(receiver)], Duration::ZERO);
    let (text, cut) = drain(body).await;
    drop(keep);
    assert_eq!(cut, None, "it said nothing: the first answer was complete");
    assert!(text.ends_with(STOP), "{text}");
    assert_eq!(log.lock().lost, [false]);
}

#[tokio::test(start_paused = true)]
async fn a_leg_cut_in_the_middle_of_its_words_breaks_the_message_off() {
    for end in [None, Some(Err(Cut::Broken))] {
        let leg = [Ok(START), Ok(OPEN), Ok(TEXT)].into_iter().chain(end);
        let (body, log) = body(source(WHOLE), vec![source(leg)], Duration::ZERO);
        let (text, cut) = drain(body).await;
        assert!(cut.is_some() && !text.contains("message_stop"), "{text}");
        assert_eq!(log.lock().lost, [true]);
    }
}

#[tokio::test(start_paused = true)]
async fn bytes_before_a_cut_are_not_lost() {
    let (body, log) = body(source([Ok(START), Ok(OPEN), Ok("event: content_bl"), Err(Cut::Broken)]), vec![], IDLE);
    let (text, cut) = drain(body).await;
    assert_eq!((text, cut), ([START, OPEN, "event: content_bl"].concat(), Some(Cut::Broken)));
    assert!(log.lock().asked.is_empty());
}

#[tokio::test(start_paused = true)]
async fn a_connection_lost_behind_the_marker_changes_nothing() {
    let (body, log) = body(source(WHOLE.into_iter().chain([Err(Cut::Broken)])), vec![], Duration::ZERO);
    let (text, _) = drain(body).await;
    assert!(text.ends_with(STOP));
    assert_eq!(log.lock().asked, ["hello"]);
}

#[tokio::test(start_paused = true)]
async fn a_leg_cut_at_every_byte_is_whole_broken_off_or_left_out() {
    let whole: String = WHOLE.map(Result::unwrap).concat();
    for at in 0..=whole.len() {
        let half: &'static str = whole[..at].to_owned().leak();
        let (body, log) = body(source(WHOLE), vec![source([Ok(half)])], Duration::ZERO);
        let (text, cut) = drain(body).await;
        let ends = text.matches("event: message_stop").count();
        let lost = log.lock().lost.clone();
        match (cut, lost.as_slice()) {
            (None, []) => assert!(ends == 1 && text.matches("hello").count() == 2, "{at}: {text}"),
            (None, [false]) => assert!(ends == 1 && text.matches("hello").count() == 1, "{at}: {text}"),
            (Some(_), [true]) => assert_eq!(ends, 0, "{at}: {text}"),
            other => panic!("{at}: {other:?} {text:?}"),
        }
    }
}

/// A leg with a delta that is longer than any frame may be.
fn with_a_long_piece() -> Vec<Chunk> {
    let filler: &'static str = "x".repeat(1 << 20).leak();
    let long = std::iter::repeat_n(Ok(filler), (crate::sse::MAX_FRAME >> 20) + 1);
    let begun = [Ok(START), Ok(OPEN), Ok("event: content_block_delta\ndata: {\"text\":\"")];
    begun.into_iter().chain(long).chain([Ok("\"}\n\n"), Ok(CLOSE), Ok(END), Ok(STOP)]).collect()
}

#[tokio::test(start_paused = true)]
async fn a_leg_of_which_a_piece_could_not_be_read_is_never_passed_off_as_whole() {
    let (body, log) = body(source(WHOLE), vec![source(with_a_long_piece())], Duration::ZERO);
    let (text, cut) = drain(body).await;
    assert!(cut.is_some() && !text.contains("message_stop"), "it broke off: {}", text.len());
    assert!(text.len() < 1 << 20, "nothing of it went down");
    assert_eq!(log.lock().lost, [true]);
}

#[tokio::test(start_paused = true)]
async fn a_first_leg_of_which_a_piece_could_not_be_read_passes_unasked() {
    let sent: usize = with_a_long_piece().into_iter().map(|chunk| chunk.unwrap().len()).sum();
    let (body, log) = body(source(with_a_long_piece()), vec![], Duration::ZERO);
    let (text, cut) = drain(body).await;
    assert_eq!((text.len(), cut), (sent, None));
    assert!(log.lock().asked.is_empty());
}

#[tokio::test(start_paused = true)]
async fn an_error_of_the_upstream_is_told_from_a_cut() {
    const ERROR: &str =
        "event: error\ndata: {\"error\":{\"type\":\"overloaded_error\",\"message\":\"x\"},\"type\":\"error\"}\n\n";
    let said = ERROR.split_once("data: ").map(|(_, data)| Failure::said(data.as_bytes()));
    let leg = source([Ok(START), Ok(OPEN), Ok(TEXT), Ok(ERROR)]);
    let (body, _) = body(source(WHOLE), vec![leg], Duration::ZERO);
    assert_eq!(drain(body).await.1, said.map(|said| Cut::Failed(said.into())));
}

/// One JSON body in chunks of 1 MiB, longer than any that is held.
fn long_json() -> Vec<Chunk> {
    let filler: &'static str = " ".repeat(1 << 20).leak();
    std::iter::once(Ok("{")).chain(std::iter::repeat_n(Ok(filler), 33)).chain([Ok("}")]).collect()
}

#[tokio::test(start_paused = true)]
async fn a_body_too_long_to_be_held_is_never_put_ahead_of_the_one_before() {
    const FIRST: &str = "{\"id\":\"msg_1\",\"type\":\"message\",\"role\":\"assistant\",\"content\":[{\"type\":\"text\",\"text\":\"hello\"}],\"stop_reason\":\"end_turn\",\"usage\":{\"input_tokens\":3,\"output_tokens\":5}}";
    let log = Arc::new(Mutex::new(Log::default()));
    let script = Script { legs: vec![source(long_json())].into(), thinks: Duration::ZERO, log: Arc::clone(&log) };
    let wire = Wire { dialect: DialectId::Anthropic, form: AnswerForm::Json, idle_timeout: IDLE, binding: None };
    let (text, cut) = drain(LegsBody::new(source([Ok(FIRST)]), wire, script)).await;
    assert_eq!((text.as_str(), cut), (FIRST, None));
    assert_eq!(log.lock().lost, [false]);
}

/// A leg that ends with trailers.
struct Trailed(Option<Bytes>, Option<HeaderMap>);

impl Body for Trailed {
    type Data = Bytes;
    type Error = Cut;

    fn poll_frame(mut self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, Cut>>> {
        let data = self.0.take().map(Frame::data);
        Poll::Ready(data.or_else(|| self.1.take().map(Frame::trailers)).map(Ok))
    }
}

/// Lets everything end.
struct Content;

impl Director for Content {
    type Body = Trailed;

    fn judge(&mut self, _: Call) -> BoxFuture<'static, Ruling> {
        std::future::ready(Ruling::Allow).boxed()
    }

    fn after(&mut self, _: Ended) -> BoxFuture<'static, Next<Trailed>> {
        std::future::ready(Next::End).boxed()
    }

    fn heard(&mut self, _: &Answer, _: bool) {}

    fn lost(&mut self, _: &str, _: bool) {}
}

#[tokio::test]
async fn trailers_of_a_single_leg_stay() {
    let trailers: HeaderMap = [(http::header::ETAG, http::HeaderValue::from_static("x"))].into_iter().collect();
    let whole: Bytes = WHOLE.map(Result::unwrap).concat().into();
    let wire = Wire { dialect: DialectId::Anthropic, form: AnswerForm::Sse, idle_timeout: IDLE, binding: None };
    let body = LegsBody::new(Trailed(Some(whole.clone()), Some(trailers.clone())), wire, Content);
    let all = body.collect().await.unwrap();
    assert_eq!(all.trailers(), Some(&trailers));
    assert_eq!(all.to_bytes(), whole);
}

#[tokio::test(start_paused = true)]
async fn while_a_refused_call_comes_the_client_is_kept_alive() {
    const CALL: &str = "event: content_block_start\ndata: {\"type\":\"content_block_start\",\"index\":0,\"content_block\":{\"type\":\"tool_use\",\"id\":\"t\",\"name\":\"bash\",\"input\":{}}}\n\n";
    const INPUT: &str = "event: content_block_delta\ndata: {\"type\":\"content_block_delta\",\"index\":0,\"delta\":{\"type\":\"input_json_delta\",\"partial_json\":\"{}\"}}\n\n";
    const PING: &str = "event: ping\ndata: {\"type\":\"ping\"}\n\n";
    let to = Binding { tools: Roster::Only(std::iter::once("look".to_owned()).collect()), asks: false };
    let binding = Some(Bound { to: to.into(), limit: 1 << 20 });
    let wire = Wire { dialect: DialectId::Anthropic, form: AnswerForm::Sse, idle_timeout: IDLE, binding };
    let (sender, receiver) = mpsc::unbounded_channel();
    let script = Script { legs: VecDeque::new(), thinks: Duration::ZERO, log: Arc::default() };
    let mut body = LegsBody::new(Source(receiver), wire, script);
    let mut next = async || body.frame().await.unwrap().unwrap().into_data().unwrap();
    sender.send(Ok(START)).unwrap();
    assert_eq!(next().await, START);
    sender.send(Ok(CALL)).unwrap();
    let begun = tokio::time::Instant::now();
    assert_eq!(next().await, PING);
    assert_eq!(begun.elapsed(), KEEP_ALIVE);
    // What is left out is no word for the client.
    sender.send(Ok(INPUT)).unwrap();
    assert_eq!(next().await, PING);
    // A ping of the upstream's own passes.
    sender.send(Ok(PING)).unwrap();
    assert_eq!((next().await, begun.elapsed()), (PING.into(), 2 * KEEP_ALIVE));
}
