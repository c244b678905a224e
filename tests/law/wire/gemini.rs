//! Gemini generateContent. Calls have no ids, as the public API has them.
use super::{Part, Role, Seen, Wire, joined, kept, say, string};
use crate::line::{Answer, Line, Said, Style};
use serde_json::{Value, json};

pub struct Gemini;

fn model(answer: &Answer, merged: bool) -> Value {
    let [first, second] = &answer.texts;
    let mut parts = match merged {
        true => vec![json!({"text": format!("{first}{second}")})],
        false => vec![json!({"text": first}), json!({"text": second})],
    };
    let call = |id: &String| json!({"functionCall": {"name": "look", "args": {"at": id}}});
    parts.extend(answer.calls.iter().map(call));
    if answer.signed {
        let last = parts.last_mut().unwrap();
        last["thoughtSignature"] = json!(format!("sig{}", answer.number));
    }
    json!({"role": "model", "parts": parts})
}

fn content(said: &Said, style: Style) -> Value {
    match said {
        Said::User(prompt) => json!({"role": "user", "parts": [{"text": prompt}]}),
        Said::Results(ids) => {
            let result = |id: &String| json!({"functionResponse": {"name": "look", "response": {"output": format!("out of {id}")}}});
            json!({"role": "user", "parts": ids.iter().map(result).collect::<Vec<_>>()})
        }
        Said::Copy(copy) => copy[0].clone(),
        Said::Answer(answer) => model(answer, style.merged),
    }
}

fn seen(content: &Value) -> Seen {
    let role = if content["role"] == "model" { Role::Model } else { Role::User };
    let mut seen = Seen::of(role);
    for part in content["parts"].as_array().unwrap() {
        if let Some(text) = part["text"].as_str() {
            match role {
                Role::Model => say(&mut seen, text),
                _ => seen.parts.push(Part::Text(text.to_owned())),
            }
        } else if part["functionCall"].is_object() {
            seen.parts.push(Part::Call("look".into()));
        } else {
            let result = &part["functionResponse"];
            seen.parts.push(Part::Result("look".into(), vec![string(&result["response"]["output"])]));
        }
        if part["thoughtSignature"].is_string() {
            seen.parts.push(Part::Signed(string(&part["thoughtSignature"])));
        }
    }
    seen
}

impl Wire for Gemini {
    fn path(&self) -> &'static str {
        "/v1beta/models/gemini-4-argon:generateContent"
    }

    fn body(&self, line: &Line, style: Style) -> Value {
        let contents: Vec<Value> = line.history.iter().map(|said| content(said, style)).collect();
        let mut body = json!({"contents": contents, "tools": [{"functionDeclarations": [{"name": line.tool}]}]});
        if let Some(system) = line.system {
            body["systemInstruction"] = json!({"parts": [{"text": system}]});
        }
        if line.signed {
            body["generationConfig"] = json!({"thinkingConfig": {"includeThoughts": true}});
        }
        body
    }

    fn answer(&self, answer: &Answer) -> Value {
        let mut content = model(answer, false);
        // The last chunk of a stream is often an empty text; clients drop it.
        content["parts"].as_array_mut().unwrap().push(json!({"text": ""}));
        json!({"candidates": [{"content": content, "finishReason": "STOP", "index": 0}],
            "responseId": format!("resp-{}", answer.number)})
    }

    fn copy(&self, got: &Value, style: Style) -> Vec<Value> {
        let is_text = |part: &Value| part["text"].is_string() && part["thoughtSignature"].is_null();
        let style = Style { calls_last: false, ..style };
        let parts = kept(got["candidates"][0]["content"]["parts"].as_array().unwrap(), style, is_text, |_| false);
        let content = json!({"role": "model", "parts": parts});
        if parts.is_empty() { vec![] } else { vec![content] }
    }

    fn normal(&self, body: &Value) -> Vec<Seen> {
        let parts = body["systemInstruction"]["parts"].as_array().into_iter().flatten();
        let texts: Vec<String> = parts.map(|part| string(&part["text"])).collect();
        let system = Seen { role: Role::System, parts: vec![Part::Text(texts.join("\n\n"))] };
        let contents = body["contents"].as_array().unwrap().iter().map(seen);
        joined(std::iter::once(system).chain(contents).collect())
    }

    fn refuses(&self, body: &Value) -> Option<String> {
        let roles: Vec<_> = body["contents"].as_array().unwrap().iter().map(|c| string(&c["role"])).collect();
        roles.windows(2).any(|pair| pair[0] == pair[1]).then(|| format!("{roles:?}"))
    }
}
