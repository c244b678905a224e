//! Generation parameters: neutral names to the members of a native body.
use super::EditError;
use super::fields::Fields;
use super::format::Format;
use super::members::Changes;
use crate::context::edit::{ParamName, Params};
use crate::json::{ScanError, raw};
use serde_json::Value;

/// The keys on the way to a member.
pub(in crate::dialect) type Path = &'static [&'static str];

/// Where a dialect has its parameters.
pub(in crate::dialect) trait ParamPlaces {
    /// The member that holds it.
    ///
    /// # Errors
    /// [`EditError::Unknown`] where the dialect has none.
    fn path(&self, name: ParamName) -> Result<Path, EditError>;

    /// Members that say the same in another way: they go when the parameter is set or removed.
    fn rivals(&self, _name: ParamName) -> &'static [Path] {
        &[]
    }

    /// Sets the answer's shape; its rivals are gone.
    ///
    /// # Errors
    /// [`EditError::Unknown`] for a shape that the dialect does not know.
    fn format(&self, format: &Format, changes: &mut Changes<'_>) -> Result<(), EditError>;
}

/// How values meet those that are there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::dialect) enum Mode {
    /// They take their place.
    Set,
    /// They bound them. What is absent stays absent, but for the answer's length.
    Clamp,
}

/// The changes that set or clamp these parameters. Native members of `params` go before neutral names.
///
/// # Errors
/// [`EditError::Unknown`] for what the dialect does not have, [`EditError::Scan`] for an ambiguous body.
pub(in crate::dialect) fn change<'p>(
    body: &Fields<'_>,
    params: &'p Params,
    mode: Mode,
    places: &dyn ParamPlaces,
    dialect: &'static str,
) -> Result<Changes<'p>, EditError> {
    let mut changes = Changes::default();
    for (name, wanted) in values(params) {
        let path = places.path(name)?;
        let Some(value) = settled(mode, name == ParamName::MaxTokens, body.follow(path)?, &wanted) else { continue };
        remove_all(places.rivals(name), &mut changes);
        match name {
            ParamName::ResponseFormat => places.format(&Format::read(&wanted, dialect)?, &mut changes)?,
            _ => changes.set(path, value),
        }
    }
    for (key, wanted) in &params.native {
        if let Some(value) = settled(mode, false, body.text(key), wanted) {
            changes.set(&[key.as_str()], value);
        }
    }
    Ok(changes)
}

/// The changes that take these parameters out.
///
/// # Errors
/// [`EditError::Unknown`]
pub(in crate::dialect) fn remove(names: &[ParamName], places: &dyn ParamPlaces) -> Result<Changes<'static>, EditError> {
    let mut changes = Changes::default();
    for name in names {
        changes.remove(places.path(*name)?);
        remove_all(places.rivals(*name), &mut changes);
    }
    Ok(changes)
}

fn remove_all(paths: &'static [Path], changes: &mut Changes<'_>) {
    paths.iter().for_each(|path| changes.remove(path));
}

/// The parameters that are given, as JSON values.
fn values(params: &Params) -> Vec<(ParamName, Value)> {
    let values = [
        (ParamName::MaxTokens, params.max_tokens.map(Value::from)),
        (ParamName::Temperature, params.temperature.map(Value::from)),
        (ParamName::TopP, params.top_p.map(Value::from)),
        (ParamName::Stop, params.stop.clone().map(Value::from)),
        (ParamName::ReasoningEffort, params.reasoning_effort.clone().map(Value::from)),
        (ParamName::ResponseFormat, params.response_format.clone()),
    ];
    values.into_iter().filter_map(|(name, value)| Some((name, value?))).collect()
}

/// The value that a parameter gets; `None` where it stays as it is. `always` is for what is bounded even where it is absent.
fn settled(mode: Mode, always: bool, present: Option<&str>, wanted: &Value) -> Option<Value> {
    match (mode, present) {
        (Mode::Set, _) => Some(wanted.clone()),
        (Mode::Clamp, None) => always.then(|| wanted.clone()),
        (Mode::Clamp, Some(present)) => match (wanted.as_f64(), number(present)) {
            (Some(bound), Some(present)) => (present > bound).then(|| wanted.clone()),
            _ => Some(wanted.clone()),
        },
    }
}

/// The number that a value is. A string may hold one: protocol buffers take numbers in quotes.
pub(in crate::dialect) fn number(raw: &str) -> Option<f64> {
    let text = raw::string(raw);
    text.as_deref().unwrap_or(raw).trim().parse().ok().filter(|number: &f64| !number.is_nan())
}

/// The number that a member holds.
///
/// # Errors
/// [`ScanError::DuplicateKey`] in an object on the way.
pub(in crate::dialect) fn number_at(body: &Fields<'_>, path: &[&str]) -> Result<Option<f64>, ScanError> {
    Ok(body.follow(path)?.and_then(number))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_bound_lowers_and_never_raises() {
        let cases = [
            (Some("200"), json!(100), Some(json!(100))),
            (Some("50"), json!(100), None),
            (Some("1e3"), json!(100), Some(json!(100))),
            (Some("1e999"), json!(100), Some(json!(100))),
            (Some(r#""200""#), json!(100), Some(json!(100))),
            (Some(r#""NaN""#), json!(100), Some(json!(100))),
            (Some("true"), json!(100), Some(json!(100))),
            (None, json!(100), None),
            (Some(r#""high""#), json!("low"), Some(json!("low"))),
        ];
        for (present, bound, expected) in cases {
            assert_eq!(settled(Mode::Clamp, false, present, &bound), expected, "{present:?}");
        }
        assert_eq!(settled(Mode::Clamp, true, None, &json!(100)), Some(json!(100)), "an absent limit is no limit");
    }
}
