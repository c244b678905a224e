//! From cases as written to cases that can be run: files are read, defaults of the case reach its turns.
use super::written as from;
use super::{Answer, BodyPlace, Case, Expect, Holds, Said, Turn};
use crate::config::reader::{At, Reader};
use bytes::Bytes;
use http::{HeaderMap, HeaderName, HeaderValue, StatusCode};
use std::collections::BTreeMap;
use std::path::Path;

/// The ending of files with server-sent events.
const EVENTS: &str = "sse";

/// What a case says of its requests.
struct Common<'a> {
    path: Option<String>,
    headers: BTreeMap<String, String>,
    folder: &'a Path,
}

/// Resolves the cases; `config` is the file's own, `folder` its folder.
pub(super) fn resolve(
    config: Option<&At<String>>,
    cases: Vec<At<from::Case>>,
    folder: &Path,
    reader: &mut Reader<'_>,
) -> Vec<Case> {
    cases.into_iter().map(|case| resolve_case(config, case, folder, reader)).collect()
}

fn resolve_case(config: Option<&At<String>>, case: At<from::Case>, folder: &Path, reader: &mut Reader<'_>) -> Case {
    let at = At { value: (), place: case.place, key: case.key };
    let from::Case { name, config: own, http, path, headers, request, response, expect, turns } = case.value;
    let common = Common { path, headers, folder };
    let turns = match (request, turns.is_empty()) {
        (Some(request), true) => {
            let turn = from::Turn { path: None, headers: BTreeMap::new(), request, response, expect };
            vec![resolve_turn(turn, &at, &common, reader)]
        }
        (None, false) => turns
            .into_iter()
            .map(|turn| {
                let at = At { value: (), place: turn.place, key: turn.key };
                resolve_turn(turn.value, &at, &common, reader)
            })
            .collect(),
        (Some(_), false) => {
            reader.refuse_at(&at, "both request and turns, write one of them");
            Vec::new()
        }
        (None, true) => {
            reader.refuse_at(&at, "no request, write request or turns");
            Vec::new()
        }
    };
    let mut stubs = BTreeMap::new();
    for (hook, said) in http {
        let answers: Vec<Answer> = said.0.into_iter().filter_map(|said| answer(said, folder, reader)).collect();
        match answers.is_empty() {
            true => {
                reader.refuse_at(&at, format!("http.{hook} says nothing, write an answer such as {{ body: {{}} }}"))
            }
            false => _ = stubs.insert(hook, answers),
        }
    }
    let config = own.as_ref().or(config).map(|path| folder.join(&path.value));
    Case { name, place: at.place, config, http: stubs, turns }
}

fn resolve_turn(turn: from::Turn, at: &At<()>, common: &Common<'_>, reader: &mut Reader<'_>) -> Turn {
    let from::Turn { path, headers, request, response, expect } = turn;
    let written = common.headers.iter().chain(&headers);
    let headers = self::headers(written.map(|(name, value)| (name.as_str(), value.as_str())), at, reader);
    let body = match request {
        from::Body::Inline(body) => Bytes::from(body.to_string()),
        from::Body::File(path) => read(&path, common.folder, reader).unwrap_or_default(),
    };
    Turn {
        path: path.or_else(|| common.path.clone()),
        headers,
        body,
        answers: response.0.into_iter().filter_map(|said| answer(said, common.folder, reader)).collect(),
        expect: self::expect(expect, reader),
    }
}

fn answer(said: from::Said, folder: &Path, reader: &mut Reader<'_>) -> Option<Answer> {
    let written = match said {
        from::Said::Words(words) => {
            return Some(Answer { status: StatusCode::OK, headers: HeaderMap::new(), said: Said::Words(words) });
        }
        from::Said::Answer(answer) => *answer,
    };
    let at = At { value: (), place: written.place, key: written.key };
    let from::Answer { text, body, sse, file, status, headers } = written.value;
    let said = match (text, body, sse, file) {
        (Some(text), None, None, None) => Said::Words(text),
        (None, Some(body), None, None) => Said::Json(body.0.to_string().into()),
        (None, None, Some(events), None) => Said::Events(events.into()),
        (None, None, None, Some(file)) => {
            let bytes = read(&file, folder, reader)?;
            let is_stream = Path::new(&file.value).extension().is_some_and(|ending| ending == EVENTS);
            if is_stream { Said::Events(bytes) } else { Said::Json(bytes) }
        }
        (None, None, None, None) if status.value != u32::from(StatusCode::OK.as_u16()) => Said::Json(Bytes::from("{}")),
        _ => {
            reader.refuse_at(&at, "write exactly one of text, body, sse and file");
            return None;
        }
    };
    let code = u16::try_from(status.value).ok().and_then(|code| StatusCode::from_u16(code).ok());
    let Some(code) = code else {
        reader.refuse_at(&status, "not an HTTP status, write a number such as 529");
        return None;
    };
    let headers = self::headers(headers.iter().map(|(name, value)| (name.as_str(), value.as_str())), &at, reader);
    Some(Answer { status: code, headers, said })
}

fn expect(written: from::Expect, reader: &mut Reader<'_>) -> Expect {
    Expect {
        body: written.body.into_iter().filter_map(|place| body_place(place, reader)).collect(),
        contains: written.contains.0,
        lacks: written.lacks.0,
        unchanged: written.unchanged,
        tools: written.tools,
        model: written.model,
        headers: written.headers,
        requests: written.requests.map(|count| count.0),
        blocked: written.blocked,
        error: written.error,
        answer_contains: written.answer.contains.0,
        answer_lacks: written.answer.lacks.0,
        hooks: written.hooks.into_iter().map(|(hook, fates)| (hook, fates.0)).collect(),
        edits: written.edits,
        budget: written.budget.map(|count| count.0),
        slots: written.slots,
    }
}

fn body_place(place: At<from::Place>, reader: &mut Reader<'_>) -> Option<BodyPlace> {
    let at = At { value: (), place: place.place, key: place.key };
    let from::Place { at: pointer, equals, contains, absent, request } = place.value;
    let holds = match (equals, contains, absent) {
        (Some(value), None, false) => Holds::Equals(value.0),
        (None, Some(text), false) => Holds::Contains(text),
        (None, None, true) => Holds::Nothing,
        _ => {
            reader.refuse_at(&at, "write exactly one of equals, contains and absent");
            return None;
        }
    };
    let Some(request) = request.0.checked_sub(1) else {
        reader.refuse_at(&at, "request counts from 1");
        return None;
    };
    Some(BodyPlace { at: pointer.0, request, holds })
}

fn headers<'a>(written: impl Iterator<Item = (&'a str, &'a str)>, at: &At<()>, reader: &mut Reader<'_>) -> HeaderMap {
    let mut headers = HeaderMap::new();
    for (name, value) in written {
        match (name.parse::<HeaderName>(), HeaderValue::from_str(value)) {
            (Ok(name), Ok(value)) => _ = headers.insert(name, value),
            _ => reader.refuse_at(at, format!("the header {name:?} can't be sent, write another")),
        }
    }
    headers
}

fn read(path: &At<String>, folder: &Path, reader: &mut Reader<'_>) -> Option<Bytes> {
    let file = folder.join(&path.value);
    let read = std::fs::read(&file).map(Bytes::from);
    read.map_err(|error| reader.refuse_at(path, format!("{}: {error}", file.display()))).ok()
}
