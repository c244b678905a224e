//! Messages, held to the tools that they may call: blocks of refused calls are left out, the others counted without a gap.
use super::block::{Block, blocks};
use super::event::JoinedEvent;
use super::events::{Piece as Delta, string};
use super::view::content;
use crate::context::{Binding, Call, Glance, Ruling, binding};
use crate::dialect::binder::{BindError, Binder, Calls, Kept, Pass, Ruled};
use crate::dialect::body_binder::Bound;
use crate::dialect::object::{Object, slice};
use crate::dialect::rewrite::Rewrite;
use crate::dialect::{Piece, frame};
use crate::json::{Kind, raw};
use serde_json::value::RawValue;
use std::sync::Arc;

/// Says that the client has calls to answer. A message whose calls are all refused ended by itself instead; one that was
/// cut short stays that.
const WAITS: &str = r#""tool_use""#;
const ENDED: &str = r#""end_turn""#;

/// Whether the client makes the call that a block of this type is. The others are made by the provider.
fn is_call(kind: &str) -> bool {
    kind.ends_with("tool_use") && !matches!(kind, "server_tool_use" | "mcp_tool_use")
}

fn call(id: &str, name: &str, input: &str) -> Call {
    let input = RawValue::from_string(if input.trim().is_empty() { "{}".to_owned() } else { input.to_owned() });
    Call { id: id.to_owned(), name: name.to_owned(), input: input.unwrap_or_else(|_| RawValue::NULL.to_owned()) }
}

/// Calls of an answer as blocks.
pub(super) fn native_calls(answer: &[String]) -> Vec<String> {
    let mut calls = vec![];
    for content in answer.iter().filter_map(|message| content(message)) {
        for block in raw::array(content).unwrap_or_default().into_iter().map(|span| slice(content, span)) {
            if Block::parse(block).is_ok_and(|block| is_call(&block.kind)) {
                calls.push(block.to_owned());
            }
        }
    }
    calls
}

/// Binds a stream.
#[derive(Debug)]
pub(super) struct StreamBinder {
    calls: Calls,
    /// The call that is being streamed, if it does not pass.
    open: Option<OpenCall>,
    /// It is complete, and waits.
    waiting: Option<Call>,
    /// Blocks that have passed.
    passed: u64,
    /// The end, where it is kept back.
    end: Vec<Kept>,
    held: usize,
}

/// A call that is held, or swallowed.
#[derive(Debug)]
struct OpenCall {
    index: Option<u64>,
    id: String,
    name: String,
    /// As the block began with; streamed input replaces it.
    input: String,
    streamed: String,
    /// Its pieces; none where it is refused by its name.
    kept: Vec<Kept>,
    refused: bool,
}

impl StreamBinder {
    pub(super) fn new(binding: Arc<Binding>) -> Self {
        Self { calls: Calls::new(binding), open: None, waiting: None, passed: 0, end: vec![], held: 0 }
    }

    fn begin(&mut self, piece: &Piece<'_>, event: &JoinedEvent<'_>, pass: &mut Pass<'_>) -> Result<(), BindError> {
        let block = Block::parse(event.event.content_block.unwrap_or("{}")).map_err(BindError::unreadable)?;
        if !is_call(&block.kind) {
            return self.pass_block(piece, event, pass);
        }
        let (id, name) = (block.string("id"), block.string("name"));
        let glance = self.calls.binding().glance(&name);
        if glance == Glance::Pass {
            self.calls.push(call(&id, &name, ""), Ruling::Allow);
            return self.pass_block(piece, event, pass);
        }
        self.open = Some(OpenCall {
            index: event.event.index,
            id: id.into_owned(),
            name: name.into_owned(),
            input: block.get("input").unwrap_or_default().to_owned(),
            streamed: String::new(),
            kept: vec![],
            refused: glance == Glance::Refuse,
        });
        self.keep(piece);
        Ok(())
    }

    fn keep(&mut self, piece: &Piece<'_>) {
        if let Some(open) = self.open.as_mut().filter(|open| !open.refused) {
            self.held += piece.raw.len();
            open.kept.push(Kept::of(piece));
        }
    }

    fn delta(&mut self, piece: &Piece<'_>, event: &JoinedEvent<'_>) -> Result<(), BindError> {
        let delta = Delta::parse(event.event.delta.unwrap_or("{}")).map_err(BindError::unreadable)?;
        if let (Some(open), Some(json)) = (&mut self.open, delta.partial_json) {
            let json = string(json);
            if open.refused {
                self.held += json.len();
            }
            open.streamed.push_str(&json);
        }
        self.keep(piece);
        Ok(())
    }

    fn complete(&mut self, piece: &Piece<'_>) {
        self.keep(piece);
        let Some(open) = &self.open else { return };
        let input = if open.streamed.trim().is_empty() { &open.input } else { &open.streamed };
        let call = call(&open.id, &open.name, input);
        if open.refused {
            let why = binding::not_there(&call.name);
            self.calls.push(call, Ruling::Refuse(why));
            self.open = None;
            self.held = 0;
        } else {
            self.waiting = Some(call);
        }
    }

    /// Passes a piece of a block under the index that it has for the client.
    fn pass_block(&mut self, piece: &Piece<'_>, event: &JoinedEvent<'_>, pass: &mut Pass<'_>) -> Result<(), BindError> {
        let refused = self.calls.refused() as u64;
        if event.kind == "content_block_start" {
            // Blocks that do not come in order can't be counted anew.
            if refused > 0 && event.event.index != Some(self.passed + refused) {
                return Err(BindError::Unreadable("blocks out of order".to_owned()));
            }
            self.passed += 1;
        }
        let index = event.event.index.filter(|_| refused > 0);
        let Some(index) = index else {
            pass(piece.clone());
            return Ok(());
        };
        let mut data = Rewrite::of(event.raw).map_err(BindError::unreadable)?;
        data.set("index", index.saturating_sub(refused).to_string());
        pass_with(piece, &data.finish(), pass);
        Ok(())
    }

    fn release(&mut self, open: &OpenCall, pass: &mut Pass<'_>) -> Result<(), BindError> {
        for kept in &open.kept {
            let piece = kept.piece();
            let event = read(&piece)?;
            match event {
                Some(event) => self.pass_block(&piece, &event, pass)?,
                None => pass(piece),
            }
        }
        Ok(())
    }

    /// The block with another input: its start without one, all of the input at once, its end.
    fn replace(&mut self, open: &OpenCall, input: &str, pass: &mut Pass<'_>) -> Result<(), BindError> {
        let [first, .., last] = open.kept.as_slice() else { return Ok(()) };
        let index = self.passed;
        let start = first.piece();
        if let Some(event) = read(&start)? {
            let mut block = Rewrite::of_any(event.event.content_block);
            block.set("input", "{}");
            let mut data = Rewrite::of(event.raw).map_err(BindError::unreadable)?;
            data.set("content_block", block.finish());
            data.set("index", index.to_string());
            pass_with(&start, &data.finish(), pass);
        }
        let delta = format!(r#"{{"type":"input_json_delta","partial_json":{}}}"#, raw::quote(input));
        pass_event("content_block_delta", &format!(r#""index":{index},"delta":{delta}"#), pass);
        let stop = last.piece();
        if let Some(event) = read(&stop)? {
            self.pass_block(&stop, &event, pass)?;
        }
        self.passed = index + 1;
        Ok(())
    }
}

/// The event of a piece; `None` where it says nothing, or holds no object, as the marker of some servers: no client can
/// take that for a call.
fn read<'p>(piece: &'p Piece<'_>) -> Result<Option<JoinedEvent<'p>>, BindError> {
    let Some(data) = piece.data.filter(|data| data.contains(&b'{')) else { return Ok(None) };
    JoinedEvent::read(piece, data).map(Some).map_err(BindError::unreadable)
}

fn pass_with(piece: &Piece<'_>, data: &str, pass: &mut Pass<'_>) {
    pass(Piece { raw: frame::with_data(piece, data), event: piece.event, data: Some(data.as_bytes()) });
}

fn pass_event(kind: &str, members: &str, pass: &mut Pass<'_>) {
    let data = format!(r#"{{"type":"{kind}",{members}}}"#);
    let raw = frame::event(Some(kind), &data);
    pass(Piece { raw: raw.into(), event: Some(kind.as_bytes()), data: Some(data.as_bytes()) });
}

impl Binder for StreamBinder {
    fn piece(&mut self, piece: &Piece<'_>, pass: &mut Pass<'_>) -> Result<(), BindError> {
        let Some(event) = read(piece)? else {
            pass(piece.clone());
            return Ok(());
        };
        let ends = event.is_final_delta() || event.kind == "message_stop";
        if ends && self.open.is_some() {
            return Err(BindError::Unreadable("a call that does not end".to_owned()));
        }
        if !self.end.is_empty() || (ends && self.is_emptied()) {
            self.held += piece.raw.len();
            self.end.push(Kept::of(piece));
            return Ok(());
        }
        let is_open = self.open.as_ref().is_some_and(|open| open.index == event.event.index);
        match event.kind.as_ref() {
            "content_block_delta" if is_open => self.delta(piece, &event),
            "content_block_stop" if is_open => {
                self.complete(piece);
                Ok(())
            }
            _ if event.speaks() && self.open.is_some() => Err(BindError::Unreadable("blocks in parallel".to_owned())),
            "content_block_start" => self.begin(piece, &event, pass),
            // Readers begin with the content that stands there.
            "message_start" if !BoundMessage::calls(event.event.message.unwrap_or("{}"))?.is_empty() => {
                Err(BindError::Unreadable("a call ahead of the content".to_owned()))
            }
            _ if event.speaks() => self.pass_block(piece, &event, pass),
            _ => {
                pass(piece.clone());
                Ok(())
            }
        }
    }

    /// A call that was cut off is none.
    fn finish(&mut self, _pass: &mut Pass<'_>) -> Result<(), BindError> {
        self.open = None;
        Ok(())
    }

    fn waiting(&self) -> Option<&Call> {
        self.waiting.as_ref()
    }

    fn rule(&mut self, ruling: Ruling, pass: &mut Pass<'_>) -> Result<(), BindError> {
        let (Some(call), Some(open)) = (self.waiting.take(), self.open.take()) else { return Ok(()) };
        self.held = 0;
        match &ruling {
            Ruling::Allow => self.release(&open, pass)?,
            Ruling::Replace(input) => self.replace(&open, input, pass)?,
            Ruling::Refuse(_) => {}
        }
        self.calls.push(call, ruling);
        Ok(())
    }

    fn calls(&self) -> &[Ruled] {
        self.calls.all()
    }

    fn close(&mut self, notice: Option<&str>, pass: &mut Pass<'_>) -> Result<(), BindError> {
        if let Some(text) = notice {
            let index = self.passed;
            self.passed += 1;
            let block = r#"{"type":"text","text":""}"#;
            pass_event("content_block_start", &format!(r#""index":{index},"content_block":{block}"#), pass);
            let delta = format!(r#"{{"type":"text_delta","text":{}}}"#, raw::quote(text));
            pass_event("content_block_delta", &format!(r#""index":{index},"delta":{delta}"#), pass);
            pass_event("content_block_stop", &format!(r#""index":{index}"#), pass);
        }
        for kept in std::mem::take(&mut self.end) {
            let piece = kept.piece();
            match read(&piece)? {
                Some(event) if event.is_final_delta() => {
                    let mut delta = Rewrite::of_any(event.event.delta);
                    if delta.get("stop_reason") == Some(WAITS) {
                        delta.set("stop_reason", ENDED);
                    }
                    let mut data = Rewrite::of(event.raw).map_err(BindError::unreadable)?;
                    data.set("delta", delta.finish());
                    pass_with(&piece, &data.finish(), pass);
                }
                _ => pass(piece),
            }
        }
        Ok(())
    }

    fn held(&self) -> usize {
        self.held
    }
}

/// Whole messages.
pub(super) struct BoundMessage;

impl Bound for BoundMessage {
    fn calls(body: &str) -> Result<Vec<Call>, BindError> {
        if raw::kind(body.trim()) != Some(Kind::Object) {
            return Ok(vec![]);
        }
        let message = Object::parse(body).map_err(BindError::unreadable)?;
        let mut calls = vec![];
        for block in blocks(message.get("content")) {
            let block = block.map_err(BindError::unreadable)?;
            if is_call(&block.kind) {
                calls.push(call(&block.string("id"), &block.string("name"), block.get("input").unwrap_or_default()));
            }
        }
        Ok(calls)
    }

    fn edited(body: &str, calls: &[Ruled], notice: Option<&str>) -> Result<String, BindError> {
        let mut message = Rewrite::of(body).map_err(BindError::unreadable)?;
        let content = message.get("content").unwrap_or("[]");
        let (mut kept, mut calls) = (vec![], calls.iter());
        let mut is_emptied = true;
        for span in raw::array(content).unwrap_or_default() {
            let block = slice(content, span);
            if !Block::parse(block).is_ok_and(|block| is_call(&block.kind)) {
                kept.push(block.to_owned());
                continue;
            }
            let ruled = calls.next().ok_or_else(|| BindError::Unreadable("a call too many".to_owned()))?;
            is_emptied &= !ruled.is_shown();
            match &ruled.ruling {
                Ruling::Allow => kept.push(block.to_owned()),
                Ruling::Refuse(_) => {}
                Ruling::Replace(input) => {
                    let mut block = Rewrite::of(block).map_err(BindError::unreadable)?;
                    block.set("input", input.as_str());
                    kept.push(block.finish());
                }
            }
        }
        kept.extend(notice.map(|text| format!(r#"{{"type":"text","text":{}}}"#, raw::quote(text))));
        let content = format!("[{}]", kept.join(","));
        message.set("content", content);
        if is_emptied && message.get("stop_reason") == Some(WAITS) {
            message.set("stop_reason", ENDED);
        }
        Ok(message.finish())
    }
}
