//! What is kept of one run of a hook.
use super::texts::Clip;
use crate::context::Edit;
use serde::Serialize;
use serde_json::Value;
use std::sync::Arc;
use utoipa::ToSchema;

/// One run of one hook for a request.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub struct HookRun {
    /// On which event.
    pub event: &'static str,
    /// Which hook.
    #[schema(value_type = String)]
    pub hook: Arc<str>,
    /// ok or failed; hooks that were not for this event are not here.
    pub result: &'static str,
    /// Why it failed.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>)]
    pub failure: Option<Box<str>>,
    /// How long it took, in microseconds.
    pub took_us: u64,
    /// It runs in mode audit: nothing of it counts.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub audit: bool,
    /// What it did, or in mode audit would have done: context, edits, block and so on.
    pub effects: Vec<&'static str>,
    /// Characters of the context that it gave.
    #[serde(skip_serializing_if = "is_zero")]
    pub context_chars: usize,
    /// What it changes, by operation.
    #[serde(skip_serializing_if = "Made::is_nothing")]
    #[schema(value_type = Vec<Object>)]
    pub edits: Made,
    /// Its words; only where one request is asked for.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub said: Vec<Said>,
}

impl HookRun {
    /// Without its words.
    #[must_use]
    pub fn bare(&self) -> Self {
        Self {
            event: self.event,
            hook: self.hook.clone(),
            result: self.result,
            failure: self.failure.clone(),
            took_us: self.took_us,
            audit: self.audit,
            effects: self.effects.clone(),
            context_chars: self.context_chars,
            edits: self.edits.named(),
            said: Vec::new(),
        }
    }

    pub(super) fn weight(&self) -> usize {
        let said = self.said.iter().map(|said| size_of::<Said>() + said.text.len()).sum::<usize>();
        size_of::<Self>() + self.edits.weight() + said + self.failure.as_ref().map_or(0, |text| text.len())
    }
}

/// Words of a hook.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, ToSchema)]
pub struct Said {
    /// context, block, respond, continue, tool.deny or tool.result.
    pub what: &'static str,
    /// The beginning of the text.
    #[schema(value_type = String)]
    pub text: Box<str>,
}

/// What a hook changes.
#[derive(Debug, Clone, Default)]
pub enum Made {
    /// Nothing.
    #[default]
    Nothing,
    /// What the configuration says, which is in memory anyway.
    Rule(Arc<[Edit]>),
    /// What a program said, as far as it is kept.
    Written(Vec<Written>),
}

/// One edit of a program.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Written {
    /// The operation.
    pub op: &'static str,
    /// Its arguments in JSON, or their beginning.
    #[serde(skip_serializing_if = "str::is_empty")]
    pub arguments: Box<str>,
}

impl Made {
    fn is_nothing(&self) -> bool {
        match self {
            Self::Nothing => true,
            Self::Rule(edits) => edits.is_empty(),
            Self::Written(edits) => edits.is_empty(),
        }
    }

    /// The operations without their arguments.
    fn named(&self) -> Self {
        let bare = |op: &'static str| Written { op, arguments: Box::default() };
        match self {
            Self::Nothing => Self::Nothing,
            Self::Rule(edits) => Self::Written(edits.iter().map(|edit| bare(edit.name())).collect()),
            Self::Written(edits) => Self::Written(edits.iter().map(|edit| bare(edit.op)).collect()),
        }
    }

    fn weight(&self) -> usize {
        match self {
            Self::Written(edits) => edits.iter().map(|edit| size_of::<Written>() + edit.arguments.len()).sum(),
            Self::Nothing | Self::Rule(_) => 0,
        }
    }
}

impl Written {
    /// Of an edit, as far as there is room.
    #[must_use]
    pub fn of(edit: &Edit, room: &mut Clip) -> Self {
        Self { op: edit.name(), arguments: room.take(&arguments(edit)) }
    }
}

/// The arguments of an edit in JSON. A header's value may be a key.
fn arguments(edit: &Edit) -> String {
    let mut shown = serde_json::to_value(edit).unwrap_or_default();
    if let Value::Object(members) = &mut shown {
        members.shift_remove("op");
        if let (Edit::HeadersSet { .. }, Some(value)) = (edit, members.get_mut("value")) {
            *value = "***".into();
        }
        if members.is_empty() {
            return String::new();
        }
    }
    shown.to_string()
}

impl Serialize for Made {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Nothing => serializer.collect_seq::<[Written; 0]>([]),
            Self::Rule(edits) => serializer
                .collect_seq(edits.iter().map(|edit| Written { op: edit.name(), arguments: arguments(edit).into() })),
            Self::Written(edits) => serializer.collect_seq(edits),
        }
    }
}

#[allow(clippy::trivially_copy_pass_by_ref, reason = "serde hands it over so")]
const fn is_zero(number: &usize) -> bool {
    *number == 0
}
