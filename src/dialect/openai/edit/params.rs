//! Generation parameters: neutral names to members of the body.
use super::format::Format;
use super::members::{Members, remove_in, set_in};
use super::{Body, Form};
use crate::context::edit::{ParamName, Params};
use crate::dialect::EditError;
use crate::json::{Doc, Kind, Member, ScanError, Splice, raw};
use serde_json::Value;

/// Where a parameter stands.
#[derive(Debug, Clone, Copy)]
pub(in crate::dialect) struct Param {
    /// Its neutral name.
    pub(in crate::dialect) name: ParamName,
    /// The members of the body that may hold it; the first is the one that is added. None where the API has no such
    /// parameter.
    pub(in crate::dialect) keys: &'static [&'static str],
    /// The member inside of that one, where it is an object.
    pub(in crate::dialect) inner: Option<&'static str>,
}

impl Param {
    /// Where it stands in this body: several where the client wrote it in more than one way.
    fn present<'d>(&self, doc: &'d Doc) -> Result<Vec<(&'d Member, &'d str)>, ScanError> {
        let mut found = Vec::new();
        for member in self.keys.iter().filter_map(|key| doc.get(key)) {
            let text = doc.text(member.value);
            let value = match self.inner {
                Some(inner) if member.kind == Kind::Object => {
                    let fields = raw::object(text)?;
                    let field = fields.iter().find(|field| field.key == inner);
                    field.and_then(|field| text.get(field.value.start..field.value.end))
                }
                Some(_) => None,
                None => Some(text),
            };
            found.extend(value.filter(|value| *value != "null").map(|value| (member, value)));
        }
        Ok(found)
    }
}

/// A parameter with the value that an edit names.
struct Wanted {
    param: Param,
    value: Value,
    /// The value as the body writes it.
    text: String,
}

fn wanted(form: &Form, params: &Params) -> Result<Vec<Wanted>, EditError> {
    let named = [
        (ParamName::MaxTokens, params.max_tokens.map(Value::from)),
        (ParamName::Temperature, params.temperature.map(Value::from)),
        (ParamName::TopP, params.top_p.map(Value::from)),
        (ParamName::Stop, params.stop.clone().map(Value::from)),
        (ParamName::ReasoningEffort, params.reasoning_effort.clone().map(Value::from)),
        (ParamName::ResponseFormat, params.response_format.clone()),
    ];
    let mut wanted = Vec::new();
    for (name, value) in named {
        let (Some(value), Some(param)) = (value, form.params.iter().find(|param| param.name == name)) else { continue };
        let text = match name {
            ParamName::ResponseFormat => {
                let what = "such response_format";
                let format = Format::read(&value).ok_or(EditError::Unknown { dialect: form.name, what })?;
                format.write(form.style)
            }
            _ => value.to_string(),
        };
        wanted.push(Wanted { param: *param, value, text });
    }
    Ok(wanted)
}

pub(super) fn set(body: &Body<'_>, params: &Params) -> Result<Splice, EditError> {
    let mut edit = Edit::of(body, params);
    for Wanted { param, text, .. } in wanted(body.form, params)? {
        if param.keys.is_empty() {
            return Err(EditError::Unknown { dialect: body.form.name, what: param.name.name() });
        }
        edit.put(param, &text)?;
    }
    Ok(edit.write())
}

/// Numbers get no higher than the bound, other values become the bound. What is absent stays so, except for the limit of
/// tokens: without one the provider's own holds, which is higher.
pub(super) fn clamp(body: &Body<'_>, params: &Params) -> Result<Splice, EditError> {
    let natives = |key: &str, value: &Value| {
        body.doc.get(key).is_some_and(|m| m.kind != Kind::Null && exceeds(body.doc.text(m.value), value))
    };
    let mut edit = Edit { body, members: Members::default(), splice: Splice::new() };
    for (key, value) in params.native.iter().filter(|(key, value)| natives(key, value)) {
        edit.members.set(key, value.to_string());
    }
    for Wanted { param, value, text } in wanted(body.form, params)? {
        let present = param.present(body.doc)?;
        let is_missing = present.is_empty() && param.name == ParamName::MaxTokens;
        if is_missing || present.iter().any(|(_, now)| exceeds(now, &value)) {
            edit.put(param, &text)?;
        }
    }
    Ok(edit.write())
}

/// Whether a value goes beyond a bound; one that can't be compared does.
fn exceeds(now: &str, bound: &Value) -> bool {
    match (now.parse::<f64>(), bound.as_f64()) {
        (Ok(now), Some(bound)) => now > bound,
        _ => now != bound.to_string(),
    }
}

pub(super) fn remove(body: &Body<'_>, names: &[ParamName]) -> Result<Splice, EditError> {
    let mut edit = Edit { body, members: Members::default(), splice: Splice::new() };
    for param in body.form.params.iter().filter(|param| names.contains(&param.name)) {
        for (member, _) in param.present(body.doc)? {
            let text = body.doc.text(member.value);
            match param.inner {
                Some(inner) if raw::object(text)?.len() > 1 => {
                    remove_in(&mut edit.splice, text, member.value.start, inner)?;
                }
                _ => edit.members.remove(&member.key),
            }
        }
    }
    Ok(edit.write())
}

struct Edit<'b> {
    body: &'b Body<'b>,
    members: Members,
    splice: Splice,
}

impl<'b> Edit<'b> {
    /// Native members come first, so that a neutral parameter does not go into one that is replaced whole.
    fn of(body: &'b Body<'b>, params: &Params) -> Self {
        let mut members = Members::default();
        for (key, value) in &params.native {
            members.set(key, value.to_string());
        }
        Self { body, members, splice: Splice::new() }
    }

    /// Writes a parameter wherever it stands, else where it belongs.
    fn put(&mut self, param: Param, text: &str) -> Result<(), ScanError> {
        let present: Vec<&str> =
            param.present(self.body.doc)?.into_iter().map(|(member, _)| member.key.as_str()).collect();
        let keys = if present.is_empty() { param.keys.get(..1).unwrap_or_default().to_vec() } else { present };
        for key in keys {
            let object = self.body.doc.get(key).filter(|member| member.kind == Kind::Object);
            match (param.inner, object) {
                _ if self.members.sets(key) => {}
                (Some(inner), Some(member)) => {
                    let raw = self.body.doc.text(member.value);
                    set_in(&mut self.splice, raw, member.value.start, inner, text)?;
                }
                (Some(inner), None) => self.members.set(key, format!("{{{}:{text}}}", raw::quote(inner))),
                (None, _) => self.members.set(key, text),
            }
        }
        Ok(())
    }

    fn write(mut self) -> Splice {
        self.members.write(&mut self.splice, self.body.doc);
        self.splice
    }
}
