//! `tools.remove` and `tools.keep`, with what the tool configuration says of those that are gone.
use super::carrier::{DECLARATIONS, Holder, SERVERS, holders, snake_case};
use super::{ALLOWED, MODE, allowed, body};
use crate::dialect::edit::{Changes, Fields, Sieve};
use crate::dialect::{EditError, blocks};
use crate::json::{Doc, Span, Splice, raw};
use std::collections::HashSet;

/// What the sieve leaves of one tool object.
#[derive(Debug, Default)]
struct Cut {
    /// Keys that are gone.
    keys: Vec<String>,
    /// Lists of which some elements are gone: the elements, and whether each is.
    lists: Vec<(Vec<Span>, Vec<bool>)>,
    /// Whether no key is left.
    is_empty: bool,
    /// Functions that are left.
    left: Vec<String>,
}

/// What the sieve changes.
pub(super) fn cut(doc: &Doc, sieve: Sieve<'_>) -> Result<Splice, EditError> {
    let mut splice = Splice::new();
    let holders = holders(doc)?;
    let cuts = holders.iter().map(|holder| cut_holder(doc, holder, sieve)).collect::<Result<Vec<_>, _>>()?;
    if cuts.iter().all(|cut| cut.keys.is_empty() && cut.lists.is_empty()) {
        return Ok(splice);
    }
    let mut changes = Changes::default();
    if cuts.iter().all(|cut| cut.is_empty) {
        changes.remove(&["tools"]);
    } else {
        for (Holder(fields), cut) in holders.iter().zip(&cuts).filter(|(_, cut)| !cut.is_empty) {
            take_out(fields, cut, &mut splice)?;
        }
        let spans: Vec<Span> = holders.iter().map(|Holder(fields)| fields.span).collect();
        blocks::remove(&mut splice, &spans, |index| cuts.get(index).is_some_and(|cut| cut.is_empty));
    }
    let left: HashSet<&str> = cuts.iter().flat_map(|cut| &cut.left).map(String::as_str).collect();
    configure(doc, &left, &mut changes, &mut splice)?;
    changes.apply(&body(doc)?, &mut splice)?;
    Ok(splice)
}

fn cut_holder(doc: &Doc, holder: &Holder<'_>, sieve: Sieve<'_>) -> Result<Cut, EditError> {
    let Holder(fields) = holder;
    let mut cut = Cut::default();
    let mut empty_lists = 0;
    for field in &fields.list {
        let key = field.key.as_ref();
        let by_key = [key.to_owned(), snake_case(key)];
        let is_list = matches!(key, DECLARATIONS | SERVERS);
        if !is_list {
            if !sieve.passes(by_key.iter().map(String::as_str)) {
                cut.keys.push(key.to_owned());
            }
            continue;
        }
        let elements = holder.named(doc, key)?;
        let mut gone = Vec::with_capacity(elements.len());
        for element in &elements {
            let name = element.string("name").unwrap_or_default();
            // Servers are also meant by the key of their list.
            let others = by_key.iter().map(String::as_str).filter(|_| key == SERVERS);
            gone.push(!sieve.passes(others.chain([name.as_ref()])));
            if key == DECLARATIONS && gone.last() == Some(&false) {
                cut.left.push(name.into_owned());
            }
        }
        if gone.is_empty() {
            empty_lists += 1;
        } else if gone.iter().all(|gone| *gone) {
            cut.keys.push(key.to_owned());
        } else if gone.contains(&true) {
            cut.lists.push((elements.iter().map(|element| element.span).collect(), gone));
        }
    }
    cut.is_empty = !cut.keys.is_empty() && cut.keys.len() + empty_lists == fields.list.len();
    Ok(cut)
}

fn take_out(fields: &Fields<'_>, cut: &Cut, splice: &mut Splice) -> Result<(), EditError> {
    let mut changes = Changes::default();
    cut.keys.iter().for_each(|key| changes.remove(&[key.as_str()]));
    changes.apply(fields, splice)?;
    for (elements, gone) in &cut.lists {
        blocks::remove(splice, elements, |index| gone.get(index).copied().unwrap_or(false));
    }
    Ok(())
}

/// Without functions there is no configuration of calling them; a list of allowed ones names only those that are left, and
/// where it would name none the model decides.
fn configure(doc: &Doc, left: &HashSet<&str>, changes: &mut Changes<'_>, splice: &mut Splice) -> Result<(), EditError> {
    let [config, calling, _] = ALLOWED;
    if left.is_empty() {
        changes.remove(&[config, calling]);
        return Ok(());
    }
    let names = allowed(doc)?;
    let is_gone = |span: &Span| !raw::string(doc.text(*span)).is_some_and(|name| left.contains(name.as_ref()));
    if !names.is_empty() && names.iter().all(is_gone) {
        changes.remove(&ALLOWED);
        changes.set(&MODE, r#""AUTO""#);
        return Ok(());
    }
    blocks::remove(splice, &names, |index| names.get(index).is_some_and(is_gone));
    Ok(())
}
