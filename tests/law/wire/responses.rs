//! OpenAI Responses.
use super::{Part, Role, Seen, Wire, joined, kept, say, string, texts};
use crate::line::{Answer, Line, Said, Style};
use serde_json::{Value, json};

pub struct Responses;

fn output(answer: &Answer, ids: bool) -> Vec<Value> {
    let number = answer.number;
    let mut items = vec![];
    if answer.signed {
        items.push(json!({"type": "reasoning", "summary": [], "encrypted_content": format!("sig{number}")}));
    }
    let parts: Vec<_> = answer.texts.iter().map(|text| json!({"type": "output_text", "text": text})).collect();
    let mut message = json!({"type": "message", "role": "assistant", "content": parts});
    if ids {
        message["id"] = json!(format!("msg_{number}"));
    }
    items.push(message);
    let call = |id: &String| json!({"type": "function_call", "call_id": id, "name": "look", "arguments": "{}"});
    items.extend(answer.calls.iter().map(call));
    items
}

fn items(said: &Said, style: Style) -> Vec<Value> {
    match said {
        Said::User(prompt) if style.blocks => {
            vec![json!({"type": "message", "role": "user", "content": [{"type": "input_text", "text": prompt}]})]
        }
        Said::User(prompt) => vec![json!({"role": "user", "content": prompt})],
        Said::Results(ids) => {
            let result =
                |id: &String| json!({"type": "function_call_output", "call_id": id, "output": format!("out of {id}")});
            ids.iter().map(result).collect()
        }
        Said::Copy(copy) => copy.clone(),
        Said::Answer(answer) => output(answer, style.ids),
    }
}

fn seen(item: &Value) -> Seen {
    let of = |role, part| Seen { role, parts: vec![part] };
    match (item["type"].as_str().unwrap_or("message"), item["role"].as_str()) {
        ("message", Some("assistant")) => {
            let mut seen = Seen::of(Role::Model);
            texts(&item["content"]).iter().for_each(|text| say(&mut seen, text));
            seen
        }
        ("message", Some("user")) => {
            Seen { role: Role::User, parts: texts(&item["content"]).into_iter().map(Part::Text).collect() }
        }
        ("reasoning", _) => of(Role::Model, Part::Signed(string(&item["encrypted_content"]))),
        ("function_call", _) => of(Role::Model, Part::Call(string(&item["call_id"]))),
        ("function_call_output", _) => {
            let text = texts(&item["output"]).join("\n\n");
            of(Role::User, Part::Result(string(&item["call_id"]), vec![text]))
        }
        other => panic!("{other:?}"),
    }
}

impl Wire for Responses {
    fn path(&self) -> &'static str {
        "/v1/responses"
    }

    fn body(&self, line: &Line, style: Style) -> Value {
        let input: Vec<Value> = line.history.iter().flat_map(|said| items(said, style)).collect();
        let mut body = json!({"model": "gpt-6", "store": false, "input": input,
            "tools": [{"type": "function", "name": line.tool, "parameters": {"type": "object"}}]});
        if let Some(system) = line.system {
            body["instructions"] = json!(system);
        }
        if line.signed {
            body["reasoning"] = json!({"effort": "medium"});
        }
        body
    }

    fn answer(&self, answer: &Answer) -> Value {
        json!({"id": format!("resp_{}", answer.number), "object": "response", "status": "completed",
            "output": output(answer, true), "usage": {"input_tokens": 1, "output_tokens": 1}})
    }

    fn copy(&self, got: &Value, style: Style) -> Vec<Value> {
        let mut items = got["output"].as_array().unwrap().clone();
        for item in &mut items {
            if item["type"] == "message" {
                let content = kept(item["content"].as_array().unwrap(), style, |_| true, |_| false);
                item["content"] = json!(content);
            }
            if !style.ids {
                item.as_object_mut().unwrap().remove("id");
            }
        }
        items.retain(|item| item["type"] != "message" || item["content"] != json!([]));
        items
    }

    fn normal(&self, body: &Value) -> Vec<Seen> {
        let system = Seen { role: Role::System, parts: vec![Part::Text(string(&body["instructions"]))] };
        let items = body["input"].as_array().unwrap().iter().map(seen);
        joined(std::iter::once(system).chain(items).collect())
    }
}
