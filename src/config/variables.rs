//! `${VAR}` and `${VAR:-default}` in values; `$${` is a literal `${`.
//!
//! Replaced after parsing, so that a variable's content is always one value and never more YAML. A lone `$` is a `$`:
//! regular expressions and shell lines (`kill -9 $$`) need no escape.

/// What YAML reads as structure inside a flow collection, and what it is written as while YAML reads the text: Unicode
/// noncharacters, one for one, so that columns stay. `{ token: ${TOKEN:-} }` is not YAML otherwise.
const SHIELDED: [(char, char); 5] =
    [('{', '\u{fdd0}'), ('}', '\u{fdd1}'), ('[', '\u{fdd2}'), (']', '\u{fdd3}'), (',', '\u{fdd4}')];

/// `text` with the structure inside `${...}` shielded from the YAML parser.
pub(super) fn shield(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(start) = rest.find("${") {
        let (before, reference) = rest.split_at(start);
        out.push_str(before);
        let length = reference.lines().next().and_then(|line| line.find('}')).map_or(1, |end| end + 1);
        let (reference, after) = reference.split_at(length);
        out.extend(reference.chars().map(|c| swap(c, |(plain, shielded)| (*plain, *shielded))));
        rest = after;
    }
    out + rest
}

/// The inverse of [`shield`].
pub(super) fn unshield(text: &str) -> String {
    text.chars().map(|c| swap(c, |(plain, shielded)| (*shielded, *plain))).collect()
}

fn swap(c: char, direction: impl Fn(&(char, char)) -> (char, char)) -> char {
    SHIELDED.iter().map(direction).find(|(from, _)| *from == c).map_or(c, |(_, to)| to)
}

/// `text` with every reference replaced. As in a shell, `:-` also takes the place of an empty variable.
///
/// # Errors
/// What is wrong with the first reference that can't be replaced.
pub(super) fn expand(text: &str, env: &dyn Fn(&str) -> Option<String>) -> Result<String, String> {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(start) = rest.find("${") {
        let (before, reference) = (&rest[..start], &rest[start + 2..]);
        if let Some(escaped) = before.strip_suffix('$') {
            out.push_str(escaped);
            out.push_str("${");
            rest = reference;
            continue;
        }
        out.push_str(before);
        let Some((reference, after)) = reference.split_once('}') else {
            return Err("`${` without `}`, write `$${` for a literal `${`".into());
        };
        let (name, default) = match reference.split_once(":-") {
            Some((name, default)) => (name, Some(default)),
            None => (reference, None),
        };
        if !is_name(name) {
            return Err(format!("`{name}` is not a variable's name, write `$${{` for a literal `${{`"));
        }
        match (env(name).filter(|value| default.is_none() || !value.is_empty()), default) {
            (Some(value), _) => out.push_str(&value),
            (None, Some(default)) => out.push_str(default),
            (None, None) => {
                return Err(format!("the variable {name} is not set, set it or write ${{{name}:-default}}"));
            }
        }
        rest = after;
    }
    Ok(out + rest)
}

/// The name of an environment variable (POSIX).
fn is_name(name: &str) -> bool {
    !name.is_empty()
        && !name.starts_with(|c: char| c.is_ascii_digit())
        && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
}

#[cfg(test)]
mod tests {
    use super::*;

    fn env(name: &str) -> Option<String> {
        match name {
            "SET" => Some("value".into()),
            "EMPTY" => Some(String::new()),
            _ => None,
        }
    }

    #[test]
    fn references_are_replaced_and_lone_dollars_kept() {
        for (text, expected) in [
            ("plain", "plain"),
            ("${SET}", "value"),
            ("a ${SET} b ${SET}", "a value b value"),
            ("${MISSING:-d}", "d"),
            ("${MISSING:-}", ""),
            ("${EMPTY:-d}", "d"),
            ("${EMPTY}", ""),
            ("$SET $$ ^a$", "$SET $$ ^a$"),
            ("$${SET}", "${SET}"),
            ("${SET}}", "value}"),
        ] {
            assert_eq!(expand(text, &env).as_deref(), Ok(expected), "{text}");
        }
    }

    #[test]
    fn a_reference_that_cannot_be_replaced_says_why() {
        let errors = ["${MISSING}", "${SET", "${a b}"].map(|text| expand(text, &env).unwrap_err()).join("\n");
        insta::assert_snapshot!(errors, @r"
        the variable MISSING is not set, set it or write ${MISSING:-default}
        `${` without `}`, write `$${` for a literal `${`
        `a b` is not a variable's name, write `$${` for a literal `${`
        ");
    }

    #[test]
    fn a_variables_content_is_not_replaced_again() {
        assert_eq!(expand("${X}", &|_| Some("${SET}".into())).as_deref(), Ok("${SET}"));
    }

    proptest::proptest! {
        #[test]
        fn shielding_keeps_the_number_of_characters_and_can_be_undone(text in r"[${}\[\],:a-c\n-]{0,40}") {
            let shielded = shield(&text);
            proptest::prop_assert_eq!(shielded.chars().count(), text.chars().count());
            proptest::prop_assert_eq!(unshield(&shielded), text);
        }
    }
}
