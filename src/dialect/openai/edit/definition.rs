//! Tool definitions, and what is written like them: choices of a tool, and entries of a list of allowed ones.
use super::Style;
use crate::context::edit::Tool;
use crate::dialect::object::{Object, slice};
use crate::dialect::openai::element::is_marker;
use crate::json::{Kind, ScanError, Span, raw};
use serde_json::{Map, Value, json};
use std::borrow::Cow;

/// Members that hold what a definition says, named like its type.
const NESTED: [&str; 2] = ["function", "custom"];

/// Types that are no tool's name.
const NAMELESS: [&str; 4] = ["function", "custom", "namespace", "allowed_tools"];

/// A definition, a choice, or an entry of a list. Spans count from its first byte.
#[derive(Debug)]
pub(super) struct Definition<'a> {
    /// Its type; `function` where it says none.
    pub(super) kind: Cow<'a, str>,
    /// What it may be called with: servers may read a definition that says two things in either way, so it is both. Each
    /// has several spellings.
    pub(super) names: Vec<Vec<String>>,
    /// The object that holds name and description.
    pub(super) details: Span,
    /// The list of the tools that a namespace holds.
    pub(super) members: Option<Span>,
    /// Its cache markers, keys and values.
    pub(super) markers: Vec<(String, &'a str)>,
}

impl<'a> Definition<'a> {
    /// Reads a definition in the namespace `space`.
    ///
    /// # Errors
    /// [`ScanError`]: it is no object, or ambiguous.
    pub(super) fn read(raw: &'a str, space: Option<&str>) -> Result<Self, ScanError> {
        let object = Object::parse(raw)?;
        let whole = Span::new(0, raw.len());
        let mut definition = Self {
            kind: object.string("type").unwrap_or(Cow::Borrowed("function")),
            names: Vec::new(),
            details: whole,
            members: object.value_span("tools").filter(|list| raw::kind(slice(raw, *list)) == Some(Kind::Array)),
            markers: Vec::new(),
        };
        definition.take(&object, space);
        for span in NESTED.iter().filter_map(|key| object.value_span(key)) {
            let text = slice(raw, span);
            if raw::kind(text) == Some(Kind::Object) {
                definition.details = span;
                definition.take(&Object::parse(text)?, space);
            }
        }
        if !NAMELESS.contains(&definition.kind.as_ref()) {
            let mut names = built_in(&definition.kind);
            names.extend(object.string("server_label").map(Cow::into_owned));
            definition.names.push(names);
        }
        Ok(definition)
    }

    fn take(&mut self, object: &Object<'a>, space: Option<&str>) {
        self.names.extend(object.string("name").map(|name| spellings(&name, space)));
        let markers = object.entries().filter(|(key, value)| is_marker(key) && *value != "null");
        self.markers.extend(markers.map(|(key, value)| (key.to_owned(), value)));
    }

    /// All spellings of all its names.
    pub(super) fn all_names(&self) -> impl Iterator<Item = &str> {
        self.names.iter().flatten().map(String::as_str)
    }

    /// Whether it is called this.
    pub(super) fn is_named(&self, name: &str) -> bool {
        self.all_names().any(|own| own == name)
    }

    /// Whether it is a tool of the API's own, which the client only switches on.
    pub(super) fn is_built_in(&self) -> bool {
        !NAMELESS.contains(&self.kind.as_ref())
    }
}

/// A tool of a namespace is called by its own name or by both: `git.log`, and `mcp__git__log` as Codex joins them.
fn spellings(name: &str, space: Option<&str>) -> Vec<String> {
    let mut spellings = vec![name.to_owned()];
    if let Some(space) = space {
        spellings.push(format!("{space}.{name}"));
        spellings.push(format!("{}__{name}", space.strip_suffix("__").unwrap_or(space)));
    }
    spellings
}

/// The spellings of a tool of the API's own: `web_search_preview_2025_03_11` is `web_search`, too. A call of any computer
/// tool is one of `computer`.
fn built_in(kind: &str) -> Vec<String> {
    let undated = kind.trim_end_matches(|c: char| c == '_' || c.is_ascii_digit());
    let plain = undated.strip_suffix("_preview").unwrap_or(undated);
    let mut names: Vec<String> = [kind, undated, plain].map(str::to_owned).into();
    names.dedup();
    if plain == "computer_use" {
        names.push("computer".to_owned());
    }
    names
}

/// A tool as this API's bodies define it.
pub(super) fn define(tool: &Tool, style: Style) -> Map<String, Value> {
    let mut function = Map::new();
    if style == Style::Flat {
        function.insert("type".to_owned(), "function".into());
    }
    function.insert("name".to_owned(), tool.name.as_str().into());
    if !tool.description.is_empty() {
        function.insert("description".to_owned(), tool.description.as_str().into());
    }
    function.insert("parameters".to_owned(), tool.input_schema.clone());
    match style {
        Style::Nested => Map::from_iter([
            ("type".to_owned(), Value::from("function")),
            ("function".to_owned(), Value::Object(function)),
        ]),
        Style::Bare | Style::Flat => function,
    }
}

/// The choice of this tool, which has this type, as this API's bodies write it.
pub(super) fn choose(kind: &str, name: &str, style: Style) -> String {
    let is_own = NAMELESS.contains(&kind);
    match style {
        Style::Bare => json!({"name": name}),
        _ if kind == "mcp" => json!({"type": kind, "server_label": name}),
        _ if !is_own => json!({"type": kind}),
        Style::Nested => json!({"type": kind, kind: {"name": name}}),
        Style::Flat => json!({"type": kind, "name": name}),
    }
    .to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_definition_has_every_name_that_a_server_may_read() {
        type Names<'n> = &'n [&'n [&'n str]];
        let cases: &[(&str, Option<&str>, Names<'_>)] = &[
            (r#"{"type":"function","function":{"name":"f"}}"#, None, &[&["f"]]),
            (r#"{"function":{"na\u006de":"f"}}"#, None, &[&["f"]]),
            (r#"{"type":"custom","custom":{"name":"a"},"function":{"name":"b"}}"#, None, &[&["b"], &["a"]]),
            (r#"{"type":"web_search","name":"a"}"#, None, &[&["a"], &["web_search"]]),
            (
                r#"{"type":"web_search_preview_2025_03_11"}"#,
                None,
                &[&["web_search_preview_2025_03_11", "web_search_preview", "web_search"]],
            ),
            (r#"{"type":"computer_use_preview"}"#, None, &[&["computer_use_preview", "computer_use", "computer"]]),
            (r#"{"type":"mcp","server_label":"git"}"#, None, &[&["mcp", "git"]]),
            (r#"{"type":"function","name":"log"}"#, Some("mcp__git__"), &[&["log", "mcp__git__.log", "mcp__git__log"]]),
            (r#"{"type":"function"}"#, None, &[]),
        ];
        for (raw, space, names) in cases {
            assert_eq!(Definition::read(raw, *space).unwrap().names, *names, "{raw}");
        }
        for raw in [r#"{"name":"a","name":"b"}"#, r#"{"function":{"name":"a","n\u0061me":"b"}}"#, "7"] {
            assert!(Definition::read(raw, None).is_err(), "{raw}");
        }
    }
}
