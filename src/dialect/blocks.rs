//! Edits on the arrays of a body (blocks, parts, messages) by the spans of their elements: commas come and go with them.
use crate::json::{Doc, Span, Splice, raw};

/// Puts `inner` before element `at` (behind the last one where there is none) and `back` behind the last element. All are JSON values.
pub(super) fn extend(
    splice: &mut Splice,
    array: Span,
    elements: &[Span],
    at: usize,
    inner: &[String],
    back: &[String],
) {
    let Some(last) = elements.last() else {
        splice.insert(array.end.saturating_sub(1), [inner, back].concat().join(","));
        return;
    };
    if !inner.is_empty() {
        let list = inner.join(",");
        match elements.get(at) {
            Some(element) => splice.insert(element.start, list + ","),
            None => splice.insert(last.end, format!(",{list}")),
        }
    }
    if !back.is_empty() {
        splice.insert(last.end, format!(",{}", back.join(",")));
    }
}

/// Index of the element behind the one that holds the text `after - 1` of `texts`: where something goes that stands
/// behind the first `after` texts.
pub(super) fn behind(elements: &[Span], texts: &[Span], after: usize) -> usize {
    let Some(last) = after.checked_sub(1).and_then(|index| texts.get(index).or(texts.last())) else { return 0 };
    let holds = |element: &Span| element.start <= last.start && last.end <= element.end;
    elements.iter().position(holds).map_or(elements.len(), |index| index + 1)
}

/// Turns the single value at `value` into an array with `front` before it and `back` behind it. `open` and `close` are put
/// around the value, whose own bytes stay.
pub(super) fn wrap(splice: &mut Splice, value: Span, (open, close): (&str, &str), front: &[String], back: &[String]) {
    let before: String = front.iter().map(|block| format!("{block},")).collect();
    let behind: String = back.iter().map(|block| format!(",{block}")).collect();
    splice.insert(value.start, format!("[{before}{open}"));
    splice.insert(value.end, format!("{close}{behind}]"));
}

/// Takes out the elements for which `gone` is true, together with their commas.
pub(super) fn remove(splice: &mut Splice, elements: &[Span], gone: impl Fn(usize) -> bool) {
    let mut kept: Option<Span> = None;
    let mut run: Option<Span> = None;
    for (index, element) in elements.iter().enumerate() {
        if gone(index) {
            run = Some(Span::new(run.map_or(element.start, |r| r.start), element.end));
            continue;
        }
        if let Some(run) = run.take() {
            splice.remove(match kept {
                Some(kept) => Span::new(kept.end, run.end),
                None => Span::new(run.start, element.start),
            });
        }
        kept = Some(*element);
    }
    if let Some(run) = run {
        splice.remove(Span::new(kept.map_or(run.start, |kept| kept.end), run.end));
    }
}

/// Takes out the members of an object for which `gone` is true; `start` is where its text begins.
pub(super) fn remove_members(
    splice: &mut Splice,
    start: usize,
    fields: &[raw::Field<'_>],
    gone: impl Fn(&str) -> bool,
) {
    let member = |field: &raw::Field<'_>| Span::new(field.key_span.start, field.value.end).offset(start);
    let members: Vec<Span> = fields.iter().map(member).collect();
    remove(splice, &members, |index| fields.get(index).is_some_and(|field| gone(&field.key)));
}

/// Adds a member at the end of the body's object.
pub(super) fn append_member(splice: &mut Splice, doc: &Doc, key: &str, value: &str) {
    match doc.members().last() {
        Some(last) => splice.insert(last.value.end, format!(",{}:{value}", raw::quote(key))),
        None => {
            let open = doc.bytes().iter().position(|byte| *byte == b'{').unwrap_or_default();
            splice.insert(open + 1, format!("{}:{value}", raw::quote(key)));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use bytes::Bytes;
    use proptest::prelude::*;

    fn elements(text: &str) -> Vec<Span> {
        raw::array(text).unwrap()
    }

    fn apply(splice: Splice, text: &str) -> String {
        let bytes = splice.apply(&Bytes::copy_from_slice(text.as_bytes())).unwrap().to_bytes();
        String::from_utf8(bytes.to_vec()).unwrap()
    }

    #[test]
    fn insertions_bring_their_commas() {
        let cases = [
            ("[]", 0, "[9,8]"),
            ("[ ]", 0, "[ 9,8]"),
            ("[1]", 0, "[9,1,8]"),
            ("[1, 2]", 1, "[1, 9,2,8]"),
            ("[1, 2]", 2, "[1, 2,9,8]"),
            ("[1, 2 ]", 7, "[1, 2,9,8 ]"),
        ];
        for (text, at, expected) in cases {
            let mut splice = Splice::new();
            let whole = Span::new(0, text.len());
            extend(&mut splice, whole, &elements(text), at, &["9".to_owned()], &["8".to_owned()]);
            assert_eq!(apply(splice, text), expected, "{text} at {at}");
        }
    }

    proptest! {
        #[test]
        fn what_is_removed_takes_its_comma_with_it(gone in prop::collection::vec(any::<bool>(), 1..9)) {
            let text = serde_json::to_string(&(0..gone.len()).collect::<Vec<_>>()).unwrap();
            let mut splice = Splice::new();
            remove(&mut splice, &elements(&text), |index| gone[index]);
            let left: Vec<usize> = (0..gone.len()).filter(|index| !gone[*index]).collect();
            prop_assert_eq!(apply(splice, &text), serde_json::to_string(&left).unwrap());
        }
    }
}
