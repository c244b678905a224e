//! OpenAI Chat Completions.
use super::{Part, Role, Seen, Wire, joined, say, string, texts};
use crate::line::{Answer, Line, Said, Style};
use serde_json::{Value, json};

pub struct Chat;

fn assistant(answer: &Answer) -> Value {
    let mut message = json!({"role": "assistant", "content": answer.texts.concat()});
    if !answer.calls.is_empty() {
        let call = |id: &String| json!({"id": id, "type": "function", "function": {"name": "look", "arguments": "{}"}});
        message["tool_calls"] = answer.calls.iter().map(call).collect();
    }
    message
}

fn messages(said: &Said, style: Style) -> Vec<Value> {
    match said {
        Said::User(prompt) if style.blocks => {
            vec![json!({"role": "user", "content": [{"type": "text", "text": prompt}]})]
        }
        Said::User(prompt) => vec![json!({"role": "user", "content": prompt})],
        Said::Results(ids) => {
            let result = |id: &String| json!({"role": "tool", "tool_call_id": id, "content": format!("out of {id}")});
            ids.iter().map(result).collect()
        }
        Said::Copy(copy) => copy.clone(),
        Said::Answer(answer) => vec![assistant(answer)],
    }
}

fn seen(message: &Value) -> Seen {
    match message["role"].as_str().unwrap() {
        "assistant" => {
            let mut seen = Seen::of(Role::Model);
            texts(&message["content"]).iter().for_each(|text| say(&mut seen, text));
            let calls = message["tool_calls"].as_array().into_iter().flatten();
            seen.parts.extend(calls.map(|call| Part::Call(string(&call["id"]))));
            seen
        }
        "tool" => {
            let result = Part::Result(string(&message["tool_call_id"]), vec![texts(&message["content"]).join("\n\n")]);
            Seen { role: Role::User, parts: vec![result] }
        }
        // A string and a list of parts are one text: what is added to either is joined by a blank line here.
        role => {
            let role = if role == "system" { Role::System } else { Role::User };
            Seen { role, parts: vec![Part::Text(texts(&message["content"]).join("\n\n"))] }
        }
    }
}

impl Wire for Chat {
    fn path(&self) -> &'static str {
        "/v1/chat/completions"
    }

    fn body(&self, line: &Line, style: Style) -> Value {
        let system = line.system.map(|system| json!({"role": "system", "content": system}));
        let history = line.history.iter().flat_map(|said| messages(said, style));
        let messages: Vec<Value> = system.into_iter().chain(history).collect();
        json!({"model": "gpt-6", "messages": messages,
            "tools": [{"type": "function", "function": {"name": line.tool, "parameters": {"type": "object"}}}]})
    }

    fn answer(&self, answer: &Answer) -> Value {
        let finish = if answer.calls.is_empty() { "stop" } else { "tool_calls" };
        json!({"id": format!("chatcmpl-{}", answer.number), "object": "chat.completion",
            "choices": [{"index": 0, "message": assistant(answer), "finish_reason": finish}]})
    }

    fn copy(&self, got: &Value, style: Style) -> Vec<Value> {
        let mut message = got["choices"][0]["message"].clone();
        if let Some(text) = message["content"].as_str() {
            let text = if style.merged { text.trim() } else { text };
            message["content"] = match (text.is_empty(), style.blocks) {
                (true, _) => Value::Null,
                (false, true) => json!([{"type": "text", "text": text}]),
                (false, false) => json!(text),
            };
        }
        let says_something = !message["content"].is_null() || message["tool_calls"].is_array();
        says_something.then_some(message).into_iter().collect()
    }

    fn normal(&self, body: &Value) -> Vec<Seen> {
        let mut messages: Vec<Seen> = body["messages"].as_array().unwrap().iter().map(seen).collect();
        if messages[0].role != Role::System {
            messages.insert(0, Seen { role: Role::System, parts: vec![Part::Text(String::new())] });
        }
        joined(messages)
    }
}
