//! YAML to JSON values, for data files whose place in the text does not matter (client profiles).
use saphyr::{LoadableYamlNode, Scalar, Yaml};
use serde_json::Value;

/// Why a text can't be read.
#[derive(Debug, Clone, thiserror::Error)]
#[error("{0}")]
pub struct YamlError(String);

/// The one document of `text`; an empty text is `null`.
///
/// # Errors
/// [`YamlError`] when it is not YAML, has a key that is not a string, or more than one document.
pub fn value(text: &str) -> Result<Value, YamlError> {
    let documents = Yaml::load_from_str(text).map_err(|e| YamlError(e.to_string()))?;
    match documents.as_slice() {
        [] => Ok(Value::Null),
        [one] => convert(one),
        _ => Err(YamlError("more than one document".into())),
    }
}

fn convert(node: &Yaml<'_>) -> Result<Value, YamlError> {
    Ok(match node {
        Yaml::Value(Scalar::Null) => Value::Null,
        Yaml::Value(Scalar::Boolean(b)) => Value::from(*b),
        Yaml::Value(Scalar::Integer(i)) => Value::from(*i),
        Yaml::Value(Scalar::FloatingPoint(f)) => Value::from(f.into_inner()),
        Yaml::Value(Scalar::String(s)) => Value::from(s.as_ref()),
        Yaml::Sequence(list) => Value::Array(list.iter().map(convert).collect::<Result<_, _>>()?),
        Yaml::Mapping(map) => Value::Object(
            map.iter()
                .map(|(key, value)| match key {
                    Yaml::Value(Scalar::String(name)) => Ok((name.to_string(), convert(value)?)),
                    other => Err(YamlError(format!("a key is not a string: {other:?}"))),
                })
                .collect::<Result<_, _>>()?,
        ),
        other => return Err(YamlError(format!("unsupported node: {other:?}"))),
    })
}
