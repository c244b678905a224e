//! What hooks change of a request, in neutral words (docs/policies.md). Dialects lower these to splices of their
//! native body; nothing else of it changes.
mod schema;

pub use schema::schema;

use regex::Regex;
use serde::{Deserialize, Deserializer, Serialize, Serializer, de::Error as _};
use serde_json::{Map, Value};

/// The operations' names.
pub const OPERATIONS: [&str; 20] = [
    "system.prepend",
    "system.append",
    "system.replace",
    "messages.append",
    "messages.redact",
    "messages.remove",
    "messages.replace",
    "tools.remove",
    "tools.keep",
    "tools.describe",
    "tools.replace",
    "tools.add",
    "tool_choice.set",
    "params.set",
    "params.clamp",
    "params.remove",
    "model.set",
    "headers.set",
    "headers.remove",
    "native",
];

/// One change.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "op", deny_unknown_fields)]
pub enum Edit {
    /// Text ahead of the client's instructions, but behind the blocks that the client needs first.
    #[serde(rename = "system.prepend")]
    SystemPrepend {
        /// The text.
        text: Text,
    },
    /// Text behind the client's instructions.
    #[serde(rename = "system.append")]
    SystemAppend {
        /// The text.
        text: Text,
    },
    /// Text in the place of the client's instructions.
    #[serde(rename = "system.replace")]
    SystemReplace {
        /// The text.
        text: Text,
        /// Only of blocks that this matches; of all where it is absent.
        #[serde(default, rename = "match")]
        matching: Option<Pattern>,
    },
    /// Text at the tail of the history, in the user's name; once per turn, replayed from the ledger afterwards.
    #[serde(rename = "messages.append")]
    MessagesAppend {
        /// Only the user's.
        #[serde(default)]
        role: UserRole,
        /// The text.
        text: Text,
    },
    /// What `pattern` matches in texts of user messages and tool results is written anew.
    #[serde(rename = "messages.redact")]
    MessagesRedact {
        /// What is replaced.
        pattern: Pattern,
        /// By this; `$1` is the first group.
        with: String,
    },
    /// These messages are left out, calls together with their results.
    #[serde(rename = "messages.remove")]
    MessagesRemove {
        /// Which.
        #[serde(rename = "match")]
        which: Selector,
    },
    /// The text of these messages is another one.
    #[serde(rename = "messages.replace")]
    MessagesReplace {
        /// Which.
        #[serde(rename = "match")]
        which: Selector,
        /// The text.
        text: Text,
    },
    /// The tools that these name are not there; the answer can't call them.
    #[serde(rename = "tools.remove")]
    ToolsRemove {
        /// Names.
        names: Globs,
    },
    /// Only the tools that these name are there.
    #[serde(rename = "tools.keep")]
    ToolsKeep {
        /// Names.
        names: Globs,
    },
    /// A tool describes itself otherwise.
    #[serde(rename = "tools.describe")]
    ToolsDescribe {
        /// Its name.
        name: String,
        /// The description.
        text: Text,
    },
    /// A tool is another one.
    #[serde(rename = "tools.replace")]
    ToolsReplace {
        /// The name of the one that is replaced.
        name: String,
        /// The other one.
        tool: Tool,
    },
    /// A further tool.
    #[serde(rename = "tools.add")]
    ToolsAdd {
        /// The tool.
        tool: Tool,
    },
    /// Which tools the model may or must call.
    #[serde(rename = "tool_choice.set")]
    ToolChoiceSet {
        /// `auto`, `none`, `required`, or a tool's name.
        choice: ToolChoice,
    },
    /// Generation parameters.
    #[serde(rename = "params.set")]
    ParamsSet(Params),
    /// Upper bounds of generation parameters.
    #[serde(rename = "params.clamp")]
    ParamsClamp(Params),
    /// Generation parameters that the request does without.
    #[serde(rename = "params.remove")]
    ParamsRemove {
        /// Neutral names.
        names: Vec<ParamName>,
    },
    /// Another model.
    #[serde(rename = "model.set")]
    ModelSet {
        /// Its name.
        name: Text,
    },
    /// A header of the request to the upstream.
    #[serde(rename = "headers.set")]
    HeadersSet {
        /// Its name.
        name: String,
        /// Its value.
        value: String,
    },
    /// Headers that the upstream does not get.
    #[serde(rename = "headers.remove")]
    HeadersRemove {
        /// Their names.
        names: Vec<String>,
    },
    /// A patch of the native body: for what the other edits do not name.
    #[serde(rename = "native")]
    Native {
        /// Only of bodies of this dialect.
        dialect: NativeDialect,
        /// RFC 6902.
        patch: Vec<PatchStep>,
    },
}

impl Edit {
    /// Its operation, one of [`OPERATIONS`].
    pub const fn name(&self) -> &'static str {
        match self {
            Self::SystemPrepend { .. } => "system.prepend",
            Self::SystemAppend { .. } => "system.append",
            Self::SystemReplace { .. } => "system.replace",
            Self::MessagesAppend { .. } => "messages.append",
            Self::MessagesRedact { .. } => "messages.redact",
            Self::MessagesRemove { .. } => "messages.remove",
            Self::MessagesReplace { .. } => "messages.replace",
            Self::ToolsRemove { .. } => "tools.remove",
            Self::ToolsKeep { .. } => "tools.keep",
            Self::ToolsDescribe { .. } => "tools.describe",
            Self::ToolsReplace { .. } => "tools.replace",
            Self::ToolsAdd { .. } => "tools.add",
            Self::ToolChoiceSet { .. } => "tool_choice.set",
            Self::ParamsSet(_) => "params.set",
            Self::ParamsClamp(_) => "params.clamp",
            Self::ParamsRemove { .. } => "params.remove",
            Self::ModelSet { .. } => "model.set",
            Self::HeadersSet { .. } => "headers.set",
            Self::HeadersRemove { .. } => "headers.remove",
            Self::Native { .. } => "native",
        }
    }
}

/// A text that is not blank: no provider takes an empty one.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Text(pub String);

impl<'de> Deserialize<'de> for Text {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        if text.trim().is_empty() { Err(D::Error::custom("a blank text")) } else { Ok(Self(text)) }
    }
}

/// The only role in whose name text is added.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum UserRole {
    /// The user.
    #[default]
    User,
}

/// A regular expression that compiles.
#[derive(Debug, Clone)]
pub struct Pattern(pub Regex);

impl PartialEq for Pattern {
    fn eq(&self, other: &Self) -> bool {
        self.0.as_str() == other.0.as_str()
    }
}

impl<'de> Deserialize<'de> for Pattern {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        Regex::new(&text).map(Self).map_err(D::Error::custom)
    }
}

impl Eq for Pattern {}

impl Serialize for Pattern {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.0.as_str())
    }
}

/// Names with `*` for any characters and `?` for one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Globs(Vec<Glob>);

#[derive(Debug, Clone, PartialEq, Eq)]
struct Glob {
    written: String,
    pattern: Pattern,
}

impl Serialize for Globs {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(self.0.iter().map(|glob| &glob.written))
    }
}

impl Globs {
    /// From names with wildcards.
    ///
    /// # Errors
    /// When one is too long for a pattern.
    pub fn new(names: impl IntoIterator<Item = String>) -> Result<Self, regex::Error> {
        names.into_iter().map(Glob::new).collect::<Result<_, _>>().map(Self)
    }

    /// Exactly these names: what would be a wildcard is a character like any other.
    ///
    /// # Errors
    /// When one is too long for a pattern.
    pub fn exactly(names: impl IntoIterator<Item = String>) -> Result<Self, regex::Error> {
        let exact = |written: String| {
            let pattern = Regex::new(&format!("^(?:{})$", regex::escape(&written))).map(Pattern)?;
            Ok(Glob { written, pattern })
        };
        names.into_iter().map(exact).collect::<Result<_, _>>().map(Self)
    }

    /// The names of all of `lists`.
    pub fn joined<'a>(lists: impl IntoIterator<Item = &'a Self>) -> Self {
        Self(lists.into_iter().flat_map(|list| list.0.iter().cloned()).collect())
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Whether one of them is this name.
    pub fn matches(&self, name: &str) -> bool {
        self.0.iter().any(|glob| glob.pattern.0.is_match(name))
    }
}

impl<'de> Deserialize<'de> for Globs {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        #[serde(untagged)]
        enum OneOrMany {
            One(String),
            Many(Vec<String>),
        }
        let globs = match OneOrMany::deserialize(deserializer)? {
            OneOrMany::One(glob) => vec![glob],
            OneOrMany::Many(globs) => globs,
        };
        Self::new(globs).map_err(D::Error::custom)
    }
}

impl Glob {
    /// `s` lets the wildcards match line breaks: a name with one must not slip by.
    fn new(written: String) -> Result<Self, regex::Error> {
        let body = regex::escape(&written).replace(r"\*", ".*").replace(r"\?", ".");
        let pattern = Regex::new(&format!("(?s)^(?:{body})$")).map(Pattern)?;
        Ok(Self { written, pattern })
    }
}

/// Which messages; all that is said must hold.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, try_from = "RawSelector")]
pub struct Selector {
    /// Who speaks.
    pub role: Option<MessageRole>,
    /// What its text matches.
    pub regex: Option<Pattern>,
    /// Its place from the end, 0 being the last.
    pub index: Option<usize>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawSelector {
    role: Option<MessageRole>,
    regex: Option<Pattern>,
    index: Option<usize>,
}

impl TryFrom<RawSelector> for Selector {
    type Error = &'static str;

    fn try_from(RawSelector { role, regex, index }: RawSelector) -> Result<Self, Self::Error> {
        if role.is_none() && regex.is_none() && index.is_none() {
            return Err("match says nothing: write role, regex or index");
        }
        Ok(Self { role, regex, index })
    }
}

/// Who speaks in a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum MessageRole {
    /// Instructions in the history.
    System,
    /// The user.
    User,
    /// The model.
    Assistant,
    /// Tool results.
    Tool,
}

/// A tool definition in neutral words.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Tool {
    /// Its name.
    pub name: String,
    /// What it says of itself.
    #[serde(default)]
    pub description: String,
    /// JSON schema of its input.
    #[serde(default = "any_object")]
    pub input_schema: Value,
}

fn any_object() -> Value {
    serde_json::json!({"type": "object"})
}

/// What `tool_choice.set` says.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "String", into = "String")]
pub enum ToolChoice {
    /// The model decides.
    Auto,
    /// It calls none.
    None,
    /// It calls one.
    Required,
    /// It calls this one.
    Named(String),
}

impl From<String> for ToolChoice {
    fn from(text: String) -> Self {
        match text.as_str() {
            "auto" => Self::Auto,
            "none" => Self::None,
            "required" => Self::Required,
            _ => Self::Named(text),
        }
    }
}

impl From<ToolChoice> for String {
    fn from(choice: ToolChoice) -> Self {
        match choice {
            ToolChoice::Auto => "auto".to_owned(),
            ToolChoice::None => "none".to_owned(),
            ToolChoice::Required => "required".to_owned(),
            ToolChoice::Named(name) => name,
        }
    }
}

/// A generation parameter that all dialects know in some spelling.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ParamName {
    /// Most tokens of the answer.
    MaxTokens,
    /// Randomness.
    Temperature,
    /// Nucleus sampling.
    TopP,
    /// Texts that end the answer.
    Stop,
    /// How much the model reasons.
    ReasoningEffort,
    /// JSON shape of the answer.
    ResponseFormat,
}

impl ParamName {
    /// All of them.
    pub const ALL: [Self; 6] =
        [Self::MaxTokens, Self::Temperature, Self::TopP, Self::Stop, Self::ReasoningEffort, Self::ResponseFormat];

    /// The neutral name.
    pub const fn name(self) -> &'static str {
        match self {
            Self::MaxTokens => "max_tokens",
            Self::Temperature => "temperature",
            Self::TopP => "top_p",
            Self::Stop => "stop",
            Self::ReasoningEffort => "reasoning_effort",
            Self::ResponseFormat => "response_format",
        }
    }
}

/// Values of generation parameters.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Params {
    /// [`ParamName::MaxTokens`]
    #[serde(default)]
    pub max_tokens: Option<u64>,
    /// [`ParamName::Temperature`]
    #[serde(default)]
    pub temperature: Option<f64>,
    /// [`ParamName::TopP`]
    #[serde(default)]
    pub top_p: Option<f64>,
    /// [`ParamName::Stop`]
    #[serde(default)]
    pub stop: Option<Vec<String>>,
    /// [`ParamName::ReasoningEffort`]
    #[serde(default)]
    pub reasoning_effort: Option<String>,
    /// [`ParamName::ResponseFormat`]
    #[serde(default)]
    pub response_format: Option<Value>,
    /// Members of the native body, for one dialect.
    #[serde(default)]
    pub native: Map<String, Value>,
}

/// JSON has no number that differs from itself.
impl Eq for Params {}

/// For bodies of which dialect a native patch is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum NativeDialect {
    /// Anthropic Messages.
    Anthropic,
    /// OpenAI Chat Completions.
    Chat,
    /// OpenAI Responses.
    Responses,
    /// Gemini generateContent.
    Gemini,
}

impl NativeDialect {
    /// All of them.
    pub const ALL: [Self; 4] = [Self::Anthropic, Self::Chat, Self::Responses, Self::Gemini];
}

/// One operation of a JSON Patch (RFC 6902, section 4).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "op", rename_all = "snake_case")]
pub enum PatchStep {
    /// A further member or element.
    Add {
        /// Where (RFC 6901).
        path: String,
        /// What.
        value: Value,
    },
    /// Something is not there.
    Remove {
        /// Where.
        path: String,
    },
    /// Another value.
    Replace {
        /// Where.
        path: String,
        /// What.
        value: Value,
    },
    /// Something goes elsewhere.
    Move {
        /// From where.
        from: String,
        /// Where to.
        path: String,
    },
    /// Something stands elsewhere, too.
    Copy {
        /// From where.
        from: String,
        /// Where to.
        path: String,
    },
    /// The patch is for bodies that hold this.
    Test {
        /// Where.
        path: String,
        /// What.
        value: Value,
    },
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn read(value: Value) -> Result<Edit, String> {
        serde_json::from_value(value).map_err(|error| error.to_string())
    }

    #[test]
    fn every_operation_of_the_contract_is_read() {
        let edits = json!([
            {"op": "system.prepend", "text": "a"},
            {"op": "system.append", "text": "a"},
            {"op": "system.replace", "text": "a", "match": "^You are"},
            {"op": "messages.append", "role": "user", "text": "a"},
            {"op": "messages.redact", "pattern": "sk-[a-z]+", "with": "***"},
            {"op": "messages.remove", "match": {"role": "user", "index": 0}},
            {"op": "messages.replace", "match": {"regex": "x"}, "text": "a"},
            {"op": "tools.remove", "names": ["Bash", "shell*"]},
            {"op": "tools.keep", "names": "Read"},
            {"op": "tools.describe", "name": "Read", "text": "a"},
            {"op": "tools.replace", "name": "Read", "tool": {"name": "Read"}},
            {"op": "tools.add", "tool": {"name": "x", "description": "y", "input_schema": {"type": "object"}}},
            {"op": "tool_choice.set", "choice": "required"},
            {"op": "params.set", "temperature": 0.2, "native": {"seed": 1}},
            {"op": "params.clamp", "max_tokens": 100},
            {"op": "params.remove", "names": ["top_p"]},
            {"op": "model.set", "name": "m"},
            {"op": "headers.set", "name": "x-a", "value": "b"},
            {"op": "headers.remove", "names": ["x-a"]},
            {"op": "native", "dialect": "gemini", "patch": [{"op": "add", "path": "/labels", "value": {}}]},
        ]);
        for edit in edits.as_array().unwrap() {
            assert_eq!(read(edit.clone()).map(|edit| edit.name()).ok(), edit["op"].as_str(), "{edit}");
        }
        let named: Vec<&str> = edits.as_array().unwrap().iter().filter_map(|edit| edit["op"].as_str()).collect();
        assert_eq!(named, OPERATIONS);
    }

    #[test]
    fn what_can_not_be_meant_is_refused() {
        for edit in [
            json!({"op": "system.append"}),
            json!({"op": "system.append", "text": "  "}),
            json!({"op": "system.append", "text": "a", "where": "b"}),
            json!({"op": "no.such"}),
            json!({"op": "messages.append", "role": "assistant", "text": "a"}),
            json!({"op": "messages.redact", "pattern": "(", "with": ""}),
            json!({"op": "messages.remove", "match": {}}),
            json!({"op": "params.clamp", "max_tokens": -1}),
            json!({"op": "native", "dialect": "cobol", "patch": []}),
        ] {
            assert!(read(edit.clone()).is_err(), "{edit}");
        }
    }

    #[test]
    fn a_name_matches_as_a_whole() {
        let globs: Globs = serde_json::from_value(json!(["ba*", "mcp__?__x", "a.b"])).unwrap();
        let matched: Vec<&str> = ["bash", "ba", "bash\nx", "xbash", "mcp__1__x", "mcp__12__x", "a.b", "aXb"]
            .into_iter()
            .filter(|name| globs.matches(name))
            .collect();
        assert_eq!(matched, ["bash", "ba", "bash\nx", "mcp__1__x", "a.b"]);
    }
}
