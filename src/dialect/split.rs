//! Where the legs before the last end in the client's copy of an answer.
//!
//! The client knows one message; the model said several. Clients trim texts, join neighbouring ones, cut them into
//! blocks of their own and move them ahead of calls: what stays is the text without its white space.
use crate::json::raw;

/// What the border makes of one text of the copy.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Share {
    /// All of it is the legs'.
    Theirs,
    /// The last leg's part begins at this byte of the JSON string, behind its opening quote; no white space stands there.
    From(usize),
    /// All of it is the last leg's.
    Kept,
}

/// Finds the end of the legs' text in the copy, text by text.
#[derive(Debug)]
pub(super) struct Border {
    /// The legs' text without white space.
    theirs: String,
    /// How much of it was found.
    found: usize,
}

impl Border {
    /// The border behind these texts, the legs' in their order.
    pub(super) fn behind<S: AsRef<str>>(texts: impl IntoIterator<Item = S>) -> Self {
        let mut theirs = String::new();
        for text in texts {
            theirs.extend(text.as_ref().split_whitespace());
        }
        Self { theirs, found: 0 }
    }

    /// Walks over the next text of the copy, a JSON string with its quotes. `None`: the copy does not begin with the legs'
    /// text, and is to be left as it is.
    pub(super) fn walk(&mut self, quoted: &str) -> Option<Share> {
        if self.is_reached() {
            return Some(Share::Kept);
        }
        for (at, said) in raw::chars(quoted).filter(|(_, c)| !c.is_whitespace()) {
            match self.theirs.get(self.found..).and_then(|rest| rest.chars().next()) {
                None => return Some(Share::From(at)),
                Some(known) if known == said => self.found += known.len_utf8(),
                Some(_) => return None,
            }
        }
        Some(Share::Theirs)
    }

    /// Whether all of the legs' text was found.
    pub(super) fn is_reached(&self) -> bool {
        self.found == self.theirs.len()
    }
}

/// The JSON string that is left of `quoted` when it begins at `from`, a place that [`Share::From`] named.
pub(super) fn rest_of(quoted: &str, from: usize) -> String {
    format!("\"{}", quoted.get(from..).unwrap_or("\""))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// What is left of the copy; `None` where it is not the legs'.
    fn left(legs: &[&str], copy: &[&str]) -> Option<Vec<String>> {
        let mut border = Border::behind(legs);
        let mut left = vec![];
        for text in copy.iter().map(|text| raw::quote(text)) {
            match border.walk(&text)? {
                Share::Theirs => {}
                Share::Kept => left.push(text),
                Share::From(at) => left.push(rest_of(&text, at)),
            }
        }
        border.is_reached().then_some(left)
    }

    #[test]
    fn the_border_is_found_whatever_the_white_space_and_the_cuts() {
        type Case = (&'static [&'static str], &'static [&'static str], Option<&'static [&'static str]>);
        let cases: [Case; 9] = [
            (&["One."], &["One.", "Two."], Some(&[r#""Two.""#])),
            (&["One."], &["One.\n\nTwo."], Some(&[r#""Two.""#])),
            (&["One. ", " Two."], &["One. Two. Three."], Some(&[r#""Three.""#])),
            (&["One two."], &["On", "e t", "wo", ".", " Three. "], Some(&[r#"" Three. ""#])),
            (&["One."], &["One.", " "], Some(&[r#"" ""#])),
            (&["One."], &["  One. "], Some(&[])),
            (&[], &["Two."], Some(&[r#""Two.""#])),
            (&["One."], &["On"], None),
            (&["One."], &["Two."], None),
        ];
        for (legs, copy, expected) in cases {
            let expected = expected.map(|texts| texts.iter().map(|text| (*text).to_owned()).collect());
            assert_eq!(left(legs, copy), expected, "{legs:?} in {copy:?}");
        }
    }

    #[test]
    fn the_rest_keeps_the_clients_spelling() {
        let quoted = r#""\u0041\n\ud83c\udf0d caf\u00e9 \/ \ud800""#;
        let mut border = Border::behind(["A"]);
        let Some(Share::From(at)) = border.walk(quoted) else { panic!("no border") };
        assert_eq!(rest_of(quoted, at), r#""\ud83c\udf0d caf\u00e9 \/ \ud800""#);
    }

    proptest! {
        #[test]
        fn what_is_behind_the_border_is_the_last_legs(
            legs in prop::collection::vec("[a-zé\"\\\\ \n🌍]{0,8}", 0..4),
            last in "[a-zé\"\\\\🌍][a-zé\"\\\\ \n🌍]{0,8}",
            gap in "[ \n]{0,3}",
        ) {
            let legs: Vec<&str> = legs.iter().map(String::as_str).collect();
            let said = !legs.concat().trim().is_empty();
            let copy = format!("{}{gap}{last}", legs.join("\n\n"));
            let expected = if said { raw::quote(&last) } else { raw::quote(&copy) };
            prop_assert_eq!(left(&legs, &[&copy]), Some(vec![expected]));
        }

        #[test]
        fn no_text_is_too_strange(texts in prop::collection::vec("\\PC{0,20}", 0..4)) {
            let mut border = Border::behind(["ab \"c"]);
            for text in &texts {
                let _ = border.walk(text);
            }
        }
    }
}
