//! The four dialects, as an agent writes and reads them and as a provider answers.
use crate::support::provider::{answer, event_stream};
use crate::support::{Recorded, Step};
use serde_json::{Value, json};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Speech {
    Anthropic,
    Chat,
    Responses,
    Gemini,
}

pub const ALL: [Speech; 4] = [Speech::Anthropic, Speech::Chat, Speech::Responses, Speech::Gemini];

/// All dialects, streamed and not.
pub fn every_form() -> impl Iterator<Item = (Speech, bool)> {
    ALL.into_iter().flat_map(|speech| [(speech, true), (speech, false)])
}

/// One step of a history.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Item {
    User(String),
    Model { text: String, calls: Vec<String> },
    Result { call: String, text: String },
}

impl Item {
    pub fn user(text: &str) -> Self {
        Self::User(text.into())
    }

    pub fn model(text: &str) -> Self {
        Self::Model { text: text.into(), calls: vec![] }
    }

    pub fn result(call: &str, text: &str) -> Self {
        Self::Result { call: call.into(), text: text.into() }
    }
}

/// How an answer ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Finish {
    Stop,
    Length,
    Refusal,
}

/// What a provider says.
#[derive(Debug, Clone)]
pub struct Words {
    pub text: String,
    pub calls: Vec<String>,
    pub finish: Finish,
}

impl Words {
    pub fn text(text: impl Into<String>) -> Self {
        Self { text: text.into(), calls: vec![], finish: Finish::Stop }
    }

    pub fn call(text: &str, call: impl Into<String>) -> Self {
        Self { calls: vec![call.into()], ..Self::text(text) }
    }

    pub fn ended(text: &str, finish: Finish) -> Self {
        Self { finish, ..Self::text(text) }
    }
}

/// What a client reads from an answer.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Heard {
    pub text: String,
    pub calls: Vec<String>,
    pub finish: Option<String>,
}

impl Heard {
    pub fn item(self) -> Item {
        Item::Model { text: self.text, calls: self.calls }
    }
}

/// What a model sees of a request: its instructions, and each item's role and texts. Calls and results are `<call id>` and
/// `<result id>`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Seen {
    pub system: Vec<String>,
    pub items: Vec<(String, Vec<String>)>,
}

impl Seen {
    /// All texts of one item, joined.
    pub fn item(&self, index: usize) -> String {
        self.items[index].1.join("\n")
    }

    pub fn roles(&self) -> Vec<&str> {
        self.items.iter().map(|(role, _)| role.as_str()).collect()
    }
}

const MODEL: &str = "test-model";

impl Speech {
    /// The dialect of a request that a provider received.
    pub fn of(request: &Recorded) -> Self {
        match request.target() {
            target if target.contains("/messages") => Self::Anthropic,
            target if target.contains("/chat/completions") => Self::Chat,
            target if target.contains("/responses") => Self::Responses,
            _ => Self::Gemini,
        }
    }

    pub fn target(self, stream: bool) -> &'static str {
        match self {
            Self::Anthropic => "/v1/messages?beta=true",
            Self::Chat => "/v1/chat/completions",
            Self::Responses => "/v1/responses",
            Self::Gemini if stream => "/v1beta/models/test-model:streamGenerateContent?alt=sse",
            Self::Gemini => "/v1beta/models/test-model:generateContent",
        }
    }

    /// A request with `You are normal.` as instructions, and these tools.
    pub fn body(self, history: &[Item], stream: bool, tools: &[&str]) -> Value {
        let tools: Vec<Value> = tools.iter().map(|name| self.tool(name)).collect();
        let items: Vec<Value> = history.iter().flat_map(|item| self.items(item)).collect();
        match self {
            Self::Anthropic => {
                json!({"model": MODEL, "max_tokens": 1024, "system": "You are normal.", "messages": items, "stream": stream,
                    "tools": tools})
            }
            Self::Chat => {
                let system = json!({"role": "system", "content": "You are normal."});
                let messages: Vec<Value> = std::iter::once(system).chain(items).collect();
                json!({"model": MODEL, "messages": messages, "stream": stream, "stream_options": {"include_usage": true},
                    "tools": tools})
            }
            Self::Responses => {
                json!({"model": MODEL, "instructions": "You are normal.", "input": items, "stream": stream, "store": false,
                    "tools": tools})
            }
            Self::Gemini => {
                json!({"systemInstruction": {"parts": [{"text": "You are normal."}]}, "contents": items,
                    "tools": [{"functionDeclarations": tools}]})
            }
        }
    }

    fn tool(self, name: &str) -> Value {
        match self {
            Self::Anthropic => json!({"name": name, "input_schema": {"type": "object"}}),
            Self::Chat => json!({"type": "function", "function": {"name": name, "parameters": {"type": "object"}}}),
            Self::Responses => json!({"type": "function", "name": name, "parameters": {"type": "object"}}),
            Self::Gemini => json!({"name": name, "parameters": {"type": "OBJECT"}}),
        }
    }

    fn items(self, item: &Item) -> Vec<Value> {
        match (self, item) {
            (Self::Anthropic | Self::Chat, Item::User(text)) => vec![json!({"role": "user", "content": text})],
            (Self::Responses, Item::User(text)) => {
                vec![json!({"type": "message", "role": "user", "content": [{"type": "input_text", "text": text}]})]
            }
            (Self::Gemini, Item::User(text)) => vec![json!({"role": "user", "parts": [{"text": text}]})],
            (Self::Anthropic, Item::Result { call, text }) => {
                vec![
                    json!({"role": "user", "content": [{"type": "tool_result", "tool_use_id": call, "content": text}]}),
                ]
            }
            (Self::Chat, Item::Result { call, text }) => {
                vec![json!({"role": "tool", "tool_call_id": call, "content": text})]
            }
            (Self::Responses, Item::Result { call, text }) => {
                vec![json!({"type": "function_call_output", "call_id": call, "output": text})]
            }
            (Self::Gemini, Item::Result { call, text }) => {
                let response = json!({"id": call, "name": tool_of(call), "response": {"output": text}});
                vec![json!({"role": "user", "parts": [{"functionResponse": response}]})]
            }
            (_, Item::Model { text, calls }) => self.model_items(text, calls),
        }
    }

    fn model_items(self, text: &str, calls: &[String]) -> Vec<Value> {
        let said = (!text.is_empty()).then_some(text);
        match self {
            Self::Anthropic => {
                let text = said.map(|t| json!({"type": "text", "text": t}));
                let uses =
                    calls.iter().map(|id| json!({"type": "tool_use", "id": id, "name": tool_of(id), "input": {}}));
                vec![json!({"role": "assistant", "content": text.into_iter().chain(uses).collect::<Vec<_>>()})]
            }
            Self::Chat => {
                let mut message = json!({"role": "assistant", "content": said});
                if !calls.is_empty() {
                    message["tool_calls"] = calls.iter().map(|id| chat_call(id)).collect();
                }
                vec![message]
            }
            Self::Responses => {
                let text = said.map(|t| response_message("msg_0", t));
                text.into_iter().chain(calls.iter().map(|id| response_call(id))).collect()
            }
            Self::Gemini => {
                let text = said.map(|t| json!({"text": t}));
                let calls = calls.iter().map(|id| json!({"functionCall": {"id": id, "name": tool_of(id), "args": {}}}));
                vec![json!({"role": "model", "parts": text.into_iter().chain(calls).collect::<Vec<_>>()})]
            }
        }
    }

    /// The provider's answer to its `n`th request, in the form that was asked for: 10 tokens in, 5 out, 3 cached.
    pub fn answer(self, request: &Recorded, n: usize, words: &Words) -> Vec<Step> {
        self.answers(self.asks_stream(request), n, words)
    }

    /// [`Speech::answer`], streamed or not.
    pub fn answers(self, stream: bool, n: usize, words: &Words) -> Vec<Step> {
        if !stream {
            return answer("200 OK", "content-type: application/json\r\n", self.whole(n, words).to_string());
        }
        let mut steps = vec![event_stream()];
        steps.extend(self.frames(n, words).iter().map(Step::chunk));
        steps.push(Step::last_chunk());
        steps
    }

    pub fn asks_stream(self, request: &Recorded) -> bool {
        let body: Value = serde_json::from_slice(&request.body).unwrap_or_default();
        match self {
            Self::Gemini => request.target().contains("stream"),
            _ => body["stream"] == true,
        }
    }

    fn native_finish(self, words: &Words) -> &'static str {
        match (self, words.finish, words.calls.is_empty()) {
            (Self::Anthropic, Finish::Stop, true) => "end_turn",
            (Self::Anthropic, Finish::Stop, false) => "tool_use",
            (Self::Anthropic, Finish::Length, _) => "max_tokens",
            (Self::Anthropic, Finish::Refusal, _) => "refusal",
            (Self::Chat, Finish::Stop, true) => "stop",
            (Self::Chat, Finish::Stop, false) => "tool_calls",
            (Self::Chat, Finish::Length, _) => "length",
            (Self::Chat, Finish::Refusal, _) => "content_filter",
            (Self::Responses, Finish::Stop, _) => "completed",
            (Self::Responses, Finish::Length, _) => "max_output_tokens",
            (Self::Responses, Finish::Refusal, _) => "content_filter",
            (Self::Gemini, Finish::Stop, _) => "STOP",
            (Self::Gemini, Finish::Length, _) => "MAX_TOKENS",
            (Self::Gemini, Finish::Refusal, _) => "SAFETY",
        }
    }

    fn whole(self, n: usize, words: &Words) -> Value {
        let finish = self.native_finish(words);
        match self {
            Self::Anthropic => {
                let said = self.model_items(&words.text, &words.calls).remove(0);
                json!({"id": format!("msg_{n}"), "type": "message", "role": "assistant", "model": MODEL,
                    "content": said["content"], "stop_reason": finish, "stop_sequence": null,
                    "usage": {"input_tokens": 10, "cache_read_input_tokens": 3, "output_tokens": 5}})
            }
            Self::Chat => json!({"id": format!("msg_{n}"), "object": "chat.completion", "created": 1, "model": MODEL,
                "choices": [{"index": 0, "message": self.model_items(&words.text, &words.calls).remove(0),
                    "finish_reason": finish}],
                "usage": chat_usage()}),
            Self::Responses => response(n, words, finish),
            Self::Gemini => json!({"candidates": [{"index": 0, "finishReason": finish,
                    "content": self.model_items(&words.text, &words.calls).remove(0)}],
                "usageMetadata": gemini_usage(), "modelVersion": MODEL, "responseId": format!("msg_{n}")}),
        }
    }

    /// The frames of a streamed answer.
    pub fn frames(self, n: usize, words: &Words) -> Vec<Vec<u8>> {
        let data = |value: Value| format!("data: {value}\n\n").into_bytes();
        let event =
            |value: Value| format!("event: {}\ndata: {value}\n\n", value["type"].as_str().unwrap()).into_bytes();
        match self {
            Self::Anthropic => anthropic_events(n, words, self.native_finish(words)).into_iter().map(event).collect(),
            Self::Chat => {
                let mut frames: Vec<Vec<u8>> =
                    chat_chunks(n, words, self.native_finish(words)).into_iter().map(data).collect();
                frames.push(b"data: [DONE]\n\n".to_vec());
                frames
            }
            Self::Responses => response_events(n, words, self.native_finish(words)).into_iter().map(event).collect(),
            Self::Gemini => {
                let mut last = self.whole(n, words);
                let mut first = last.clone();
                first["candidates"][0].as_object_mut().unwrap().remove("finishReason");
                first["candidates"][0]["content"]["parts"] = json!([{"text": words.text}]);
                if words.calls.is_empty() {
                    last["candidates"][0]["content"]["parts"] = json!([{"text": ""}]);
                } else if !words.text.is_empty() {
                    last["candidates"][0]["content"]["parts"].as_array_mut().unwrap().remove(0);
                }
                vec![data(first), data(last)]
            }
        }
    }

    /// What a client reads.
    pub fn heard(self, stream: bool, body: &[u8]) -> Heard {
        let text = std::str::from_utf8(body).unwrap();
        let mut heard = Heard::default();
        if !stream {
            self.read_whole(&serde_json::from_str(text).unwrap_or_else(|_| panic!("{text}")), &mut heard);
            return heard;
        }
        for line in text.lines().filter_map(|line| line.strip_prefix("data:")) {
            if line.trim() != "[DONE]" {
                self.read_event(&serde_json::from_str(line).unwrap(), &mut heard);
            }
        }
        heard
    }

    fn read_whole(self, body: &Value, heard: &mut Heard) {
        match self {
            Self::Anthropic => {
                read_blocks(&body["content"], heard);
                heard.finish = string(&body["stop_reason"]);
            }
            Self::Chat => {
                let choice = &body["choices"][0];
                heard.text.push_str(choice["message"]["content"].as_str().unwrap_or_default());
                heard.calls.extend(list(&choice["message"]["tool_calls"]).iter().filter_map(|c| string(&c["id"])));
                heard.finish = string(&choice["finish_reason"]);
            }
            Self::Responses => read_response(body, heard),
            Self::Gemini => self.read_event(body, heard),
        }
    }

    fn read_event(self, event: &Value, heard: &mut Heard) {
        match self {
            Self::Anthropic => match event["type"].as_str().unwrap() {
                "content_block_start" => read_blocks(&json!([event["content_block"]]), heard),
                "content_block_delta" => heard.text.push_str(event["delta"]["text"].as_str().unwrap_or_default()),
                "message_delta" => heard.finish = string(&event["delta"]["stop_reason"]),
                _ => {}
            },
            Self::Chat => {
                let Some(choice) = event["choices"].get(0) else { return };
                heard.text.push_str(choice["delta"]["content"].as_str().unwrap_or_default());
                heard.calls.extend(list(&choice["delta"]["tool_calls"]).iter().filter_map(|c| string(&c["id"])));
                heard.finish = string(&choice["finish_reason"]).or(heard.finish.take());
            }
            Self::Responses => {
                if let Some("response.completed" | "response.incomplete") = event["type"].as_str() {
                    read_response(&event["response"], heard);
                }
            }
            Self::Gemini => {
                let candidate = &event["candidates"][0];
                for part in list(&candidate["content"]["parts"]) {
                    heard.text.push_str(part["text"].as_str().unwrap_or_default());
                    heard.calls.extend(string(&part["functionCall"]["id"]));
                }
                heard.finish = string(&candidate["finishReason"]).or(heard.finish.take());
            }
        }
    }

    /// What the model sees.
    pub fn seen(self, body: &Value) -> Seen {
        let (system, items) = match self {
            Self::Anthropic => (texts(&body["system"]), list(&body["messages"])),
            Self::Responses => (texts(&body["instructions"]), list(&body["input"])),
            Self::Gemini => (texts(&body["systemInstruction"]["parts"]), list(&body["contents"])),
            Self::Chat => match list(&body["messages"]).split_first() {
                Some((first, rest)) if matches!(first["role"].as_str(), Some("system" | "developer")) => {
                    (texts(&first["content"]), rest)
                }
                _ => (vec![], list(&body["messages"])),
            },
        };
        let items = items.iter().map(|item| (role(item), item_texts(item))).collect();
        Seen { system, items }
    }
}

fn list(value: &Value) -> &[Value] {
    value.as_array().map(Vec::as_slice).unwrap_or_default()
}

fn string(value: &Value) -> Option<String> {
    value.as_str().map(str::to_owned)
}

fn role(item: &Value) -> String {
    string(&item["role"]).or_else(|| string(&item["type"])).unwrap_or_default()
}

fn item_texts(item: &Value) -> Vec<String> {
    let call = string(&item["call_id"]);
    match (item["type"].as_str(), call) {
        (Some("function_call"), Some(call)) => return vec![format!("<call {call}>")],
        (Some("function_call_output"), Some(call)) => {
            return std::iter::once(format!("<result {call}>")).chain(texts(&item["output"])).collect();
        }
        _ => {}
    }
    let result = item["tool_call_id"].as_str().map(|id| format!("<result {id}>"));
    let body = if item["parts"].is_array() { &item["parts"] } else { &item["content"] };
    let calls = list(&item["tool_calls"]).iter().filter_map(|c| string(&c["id"])).map(|id| format!("<call {id}>"));
    result.into_iter().chain(texts(body)).chain(calls).collect()
}

fn texts(content: &Value) -> Vec<String> {
    if let Some(text) = content.as_str() {
        return vec![text.to_owned()];
    }
    list(content).iter().flat_map(block_texts).collect()
}

fn block_texts(block: &Value) -> Vec<String> {
    if let Some(text) = block["text"].as_str() {
        return vec![text.to_owned()];
    }
    if let Some(id) = block["tool_use_id"].as_str() {
        return std::iter::once(format!("<result {id}>")).chain(texts(&block["content"])).collect();
    }
    if let Some(id) = block["functionResponse"]["id"].as_str() {
        return vec![format!("<result {id}>")];
    }
    let call = block["id"].as_str().or_else(|| block["functionCall"]["id"].as_str());
    call.map(|id| vec![format!("<call {id}>")]).unwrap_or_default()
}

fn read_blocks(content: &Value, heard: &mut Heard) {
    for block in list(content) {
        heard.text.push_str(block["text"].as_str().unwrap_or_default());
        heard.calls.extend(string(&block["id"]));
    }
}

fn read_response(response: &Value, heard: &mut Heard) {
    for item in list(&response["output"]) {
        heard.calls.extend(string(&item["call_id"]));
        for part in list(&item["content"]) {
            heard.text.push_str(part["text"].as_str().unwrap_or_default());
        }
    }
    heard.finish = string(&response["status"]);
}

/// The tool that a call is to: what stands before a dot in its id, else `look`.
pub fn tool_of(call: &str) -> &str {
    call.split_once('.').map_or("look", |(tool, _)| tool)
}

fn chat_call(id: &str) -> Value {
    json!({"id": id, "type": "function", "function": {"name": tool_of(id), "arguments": "{}"}})
}

fn chat_usage() -> Value {
    json!({"prompt_tokens": 13, "completion_tokens": 5, "total_tokens": 18, "prompt_tokens_details": {"cached_tokens": 3}})
}

fn gemini_usage() -> Value {
    json!({"promptTokenCount": 13, "cachedContentTokenCount": 3, "candidatesTokenCount": 5, "totalTokenCount": 18})
}

fn anthropic_events(n: usize, words: &Words, finish: &str) -> Vec<Value> {
    let usage = json!({"input_tokens": 10, "cache_read_input_tokens": 3, "output_tokens": 1});
    let mut events = vec![json!({"type": "message_start", "message": {"id": format!("msg_{n}"), "type": "message",
        "role": "assistant", "model": MODEL, "content": [], "stop_reason": null, "usage": usage}})];
    let mut index = 0;
    let mut block = |start: Value, deltas: Vec<Value>| {
        events.push(json!({"type": "content_block_start", "index": index, "content_block": start}));
        events.extend(deltas.into_iter().map(|d| json!({"type": "content_block_delta", "index": index, "delta": d})));
        events.push(json!({"type": "content_block_stop", "index": index}));
        index += 1;
    };
    if !words.text.is_empty() {
        block(json!({"type": "text", "text": ""}), vec![json!({"type": "text_delta", "text": words.text})]);
    }
    for id in &words.calls {
        let delta = json!({"type": "input_json_delta", "partial_json": "{}"});
        block(json!({"type": "tool_use", "id": id, "name": tool_of(id), "input": {}}), vec![delta]);
    }
    events.push(json!({"type": "message_delta", "delta": {"stop_reason": finish, "stop_sequence": null},
        "usage": {"output_tokens": 5}}));
    events.push(json!({"type": "message_stop"}));
    events
}

fn chat_chunks(n: usize, words: &Words, finish: &str) -> Vec<Value> {
    let chunk = |delta: Value, finish: Option<&str>| {
        json!({"id": format!("msg_{n}"), "object": "chat.completion.chunk", "created": 1, "model": MODEL,
            "choices": [{"index": 0, "delta": delta, "finish_reason": finish}]})
    };
    let mut chunks = vec![chunk(json!({"role": "assistant", "content": words.text}), None)];
    for (index, id) in words.calls.iter().enumerate() {
        let mut call = chat_call(id);
        call["index"] = index.into();
        chunks.push(chunk(json!({"tool_calls": [call]}), None));
    }
    chunks.push(chunk(json!({}), Some(finish)));
    let mut usage = chunk(json!({}), None);
    usage["choices"] = json!([]);
    usage["usage"] = chat_usage();
    chunks.push(usage);
    chunks
}

fn response_message(id: &str, text: &str) -> Value {
    json!({"type": "message", "id": id, "role": "assistant", "status": "completed",
        "content": [{"type": "output_text", "text": text, "annotations": []}]})
}

fn response_call(id: &str) -> Value {
    json!({"type": "function_call", "id": format!("fc_{id}"), "call_id": id, "name": tool_of(id), "arguments": "{}",
        "status": "completed"})
}

fn response(n: usize, words: &Words, finish: &str) -> Value {
    let text = (!words.text.is_empty()).then(|| response_message(&format!("item_{n}"), &words.text));
    let output: Vec<Value> = text.into_iter().chain(words.calls.iter().map(|id| response_call(id))).collect();
    let (status, details) = match words.finish {
        Finish::Stop => ("completed", Value::Null),
        Finish::Length | Finish::Refusal => ("incomplete", json!({"reason": finish})),
    };
    json!({"id": format!("msg_{n}"), "object": "response", "created_at": 1, "model": MODEL, "status": status,
        "incomplete_details": details, "error": null, "output": output,
        "usage": {"input_tokens": 13, "input_tokens_details": {"cached_tokens": 3}, "output_tokens": 5}})
}

fn response_events(n: usize, words: &Words, finish: &str) -> Vec<Value> {
    let whole = response(n, words, finish);
    let mut begun = whole.clone();
    begun["status"] = "in_progress".into();
    begun["output"] = json!([]);
    let mut events = vec![json!({"type": "response.created", "response": begun})];
    for (index, item) in list(&whole["output"]).iter().enumerate() {
        events.push(json!({"type": "response.output_item.added", "output_index": index, "item": item}));
        if item["type"] == "message" {
            events.push(json!({"type": "response.output_text.delta", "item_id": item["id"], "output_index": index,
                "content_index": 0, "delta": words.text}));
        }
        events.push(json!({"type": "response.output_item.done", "output_index": index, "item": item}));
    }
    let last = if words.finish == Finish::Stop { "response.completed" } else { "response.incomplete" };
    events.push(json!({"type": last, "response": whole}));
    for (sequence, event) in events.iter_mut().enumerate() {
        event["sequence_number"] = sequence.into();
    }
    events
}
