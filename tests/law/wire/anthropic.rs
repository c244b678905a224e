//! Anthropic Messages.
use super::{Part, Role, Seen, Wire, joined, kept, say, string, texts};
use crate::line::{Answer, Line, Said, Style};
use serde_json::{Value, json};

pub struct Anthropic;

/// Most cache markers of one request.
const BREAKPOINTS: usize = 4;

fn message(said: &Said, style: Style, marked: bool) -> Value {
    let text = |text: &str| json!({"type": "text", "text": text});
    match said {
        Said::User(prompt) if style.blocks || marked => {
            let mut block = text(prompt);
            if marked {
                block["cache_control"] = json!({"type": "ephemeral"});
            }
            json!({"role": "user", "content": [block]})
        }
        Said::User(prompt) => json!({"role": "user", "content": prompt}),
        Said::Results(ids) => {
            let result =
                |id: &String| json!({"type": "tool_result", "tool_use_id": id, "content": format!("out of {id}")});
            json!({"role": "user", "content": ids.iter().map(result).collect::<Vec<_>>()})
        }
        Said::Copy(copy) => copy[0].clone(),
        Said::Answer(answer) => {
            let calls =
                answer.calls.iter().map(|id| json!({"type": "tool_use", "id": id, "name": "look", "input": {}}));
            let [first, second] = &answer.texts;
            let mut content = vec![];
            if answer.signed {
                content.push(json!({"type": "thinking", "thinking": "", "signature": format!("sig{}", answer.number)}));
            }
            match style.merged {
                true => content.push(text(&format!("{first}{second}"))),
                false => content.push(text(first)),
            }
            if style.calls_last && !style.merged {
                content.push(text(second));
            }
            content.extend(calls);
            if !style.calls_last && !style.merged {
                content.push(text(second));
            }
            json!({"role": "assistant", "content": content})
        }
    }
}

fn seen(message: &Value) -> Seen {
    let role = if message["role"] == "assistant" { Role::Model } else { Role::User };
    let mut seen = Seen::of(role);
    let single = [json!({"type": "text", "text": message["content"]})];
    for block in message["content"].as_array().map_or(&single[..], Vec::as_slice) {
        match (role, block["type"].as_str().unwrap()) {
            (Role::Model, "text") => say(&mut seen, block["text"].as_str().unwrap()),
            (_, "text") => seen.parts.push(Part::Text(string(&block["text"]))),
            (_, "thinking") => seen.parts.push(Part::Signed(string(&block["signature"]))),
            (_, "tool_use") => seen.parts.push(Part::Call(string(&block["id"]))),
            (_, "tool_result") => {
                seen.parts.push(Part::Result(string(&block["tool_use_id"]), texts(&block["content"])));
            }
            other => panic!("{other:?}"),
        }
    }
    seen
}

impl Wire for Anthropic {
    fn path(&self) -> &'static str {
        "/v1/messages?beta=true"
    }

    fn body(&self, line: &Line, style: Style) -> Value {
        let last = line.history.len() - 1;
        let messages: Vec<Value> = (line.history.iter().enumerate())
            .map(|(index, said)| message(said, style, style.marker && index == last))
            .collect();
        let mut body = json!({"model": "claude-opus-5-5", "max_tokens": 4096, "messages": messages,
            "tools": [{"name": line.tool, "input_schema": {"type": "object"}}]});
        if let Some(system) = line.system {
            body["system"] = json!([{"type": "text", "text": system}]);
        }
        if line.signed {
            body["thinking"] = json!({"type": "adaptive"});
        }
        body
    }

    fn answer(&self, answer: &Answer) -> Value {
        let style = Style { blocks: true, marker: false, calls_last: false, merged: false, ids: true };
        let stop = if answer.calls.is_empty() { "end_turn" } else { "tool_use" };
        let mut content = message(&Said::Answer(answer.clone()), style, false)["content"].take();
        // Models do say nothing at times; clients drop it, since the API would refuse it.
        content.as_array_mut().unwrap().push(json!({"type": "text", "text": ""}));
        json!({"id": format!("msg_{}", answer.number), "type": "message", "role": "assistant", "content": content,
            "stop_reason": stop, "usage": {"input_tokens": 1, "output_tokens": 1}})
    }

    fn copy(&self, got: &Value, style: Style) -> Vec<Value> {
        let is_text = |block: &Value| block["type"] == "text";
        let content = kept(got["content"].as_array().unwrap(), style, is_text, |block| block["type"] == "tool_use");
        let content = match &content[..] {
            [] => return vec![],
            [one] if !style.blocks && is_text(one) => one["text"].clone(),
            _ => json!(content),
        };
        vec![json!({"role": "assistant", "content": content})]
    }

    fn normal(&self, body: &Value) -> Vec<Seen> {
        let mut system = Seen::of(Role::System);
        system.parts.push(Part::Text(texts(&body["system"]).join("\n\n")));
        let messages = body["messages"].as_array().unwrap().iter().map(seen);
        joined(std::iter::once(system).chain(messages).collect())
    }

    fn refuses(&self, body: &Value) -> Option<String> {
        let text = body.to_string();
        let markers = text.matches("cache_control").count();
        let roles: Vec<_> = body["messages"].as_array().unwrap().iter().map(|m| string(&m["role"])).collect();
        let alternate = roles.windows(2).all(|pair| pair[0] != pair[1]) && roles[0] == "user";
        let empty = text.contains(r#""text":"""#);
        (markers > BREAKPOINTS || !alternate || empty)
            .then(|| format!("{markers} markers, roles {roles:?}, empty: {empty}"))
    }
}
