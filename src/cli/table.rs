//! Lists of the admin API for people.
use serde_json::Value;

/// One line for each of `records`, with the members that `columns` name.
pub(super) fn table<const N: usize>(columns: &[&str; N], records: &[Value]) -> String {
    let header = columns.map(|name| name.to_uppercase().replace('_', " ")).to_vec();
    let rows = records.iter().map(|record| columns.map(|name| cell(record.get(name))).to_vec());
    let rows: Vec<Vec<String>> = std::iter::once(header).chain(rows).collect();
    let width = |column: usize| rows.iter().filter_map(|row| row.get(column)).map(|c| c.chars().count()).max();
    let widths: Vec<usize> = (0..N).map(|column| width(column).unwrap_or_default()).collect();
    let line = |row: &Vec<String>| {
        let cells = row.iter().zip(&widths).map(|(cell, width)| format!("{cell:width$}"));
        cells.collect::<Vec<_>>().join("  ").trim_end().to_owned()
    };
    rows.iter().map(line).collect::<Vec<_>>().join("\n")
}

/// A character that can't act on the terminal: what agents and clients wrote is only to be read.
fn visible(c: char) -> char {
    if c.is_control() && !matches!(c, '\n' | '\t') { char::REPLACEMENT_CHARACTER } else { c }
}

/// A member as a person reads it.
pub(super) fn cell(value: Option<&Value>) -> String {
    match value {
        Some(Value::String(text)) => text.chars().map(visible).collect(),
        None | Some(Value::Null) => "-".into(),
        Some(other) => other.to_string(),
    }
}
