use super::*;

fn scan(text: &str) -> Result<(), ScanError> {
    let mut scanner = Scanner::new(text);
    scanner.value(0)?;
    scanner.end()
}

#[test]
fn syntax_follows_rfc_8259() {
    let legal = [
        "0",
        "-0",
        "10",
        "1.50",
        "1e9",
        "-1.0E+22",
        "1e-0",
        "true",
        "false",
        "null",
        "\"\"",
        "[]",
        "{}",
        " [ ] ",
        "{ }",
        "[1 , 2]",
        "{\"a\" : [ { } , null ] }",
        r#""\"\\\/\b\f\n\r\t\u00Ff""#,
        r#""\ud800""#,
        "\"\u{7f}\u{e9}\u{1f680}\"",
        "\n\r\t 1 \n\r\t ",
    ];
    for text in legal {
        assert_eq!(scan(text), Ok(()), "{text}");
    }
    let broken = [
        "",
        " ",
        "-",
        "01",
        "1.",
        ".5",
        "1e",
        "1e+",
        "+1",
        "1 2",
        "0x1",
        "tru",
        "nul",
        "True",
        "NaN",
        "[1,]",
        "[,1]",
        "[1 2]",
        "[",
        "]",
        "{",
        "{\"a\"}",
        "{\"a\":}",
        "{\"a\":1,}",
        "{a:1}",
        "{1:2}",
        "{\"a\":1 \"b\":2}",
        "[1}",
        "{\"a\":1]",
        "\"",
        "\"a",
        r#""\""#,
        r#""\x""#,
        r#""\u12G4""#,
        r#""\u123""#,
        "\"\n\"",
        "\"\u{0}\"",
        "'a'",
        "\u{a0}1",
        "\u{feff}1",
        "1//c",
        "{} {}",
    ];
    for text in broken {
        assert!(matches!(scan(text), Err(ScanError::NotJson { .. })), "{text}");
    }
}

#[test]
fn an_error_names_the_byte() {
    assert_eq!(scan(r#"{"a": x}"#), Err(ScanError::NotJson { at: 6, what: "expected a value" }));
    assert_eq!(scan("[1] 2"), Err(ScanError::NotJson { at: 4, what: "trailing characters" }));
}

#[test]
fn nesting_is_bounded() {
    let nested = |depth: usize| format!("{}{}", "[".repeat(depth), "]".repeat(depth));
    assert_eq!(scan(&nested(MAX_DEPTH)), Ok(()));
    assert_eq!(scan(&nested(MAX_DEPTH + 1)), Err(ScanError::TooDeep));
    assert_eq!(scan(&"[".repeat(1 << 20)), Err(ScanError::TooDeep));
    assert_eq!(scan(&r#"{"a":["#.repeat(1 << 18)), Err(ScanError::TooDeep));
    assert_eq!(Scanner::new("[[]]").value(MAX_DEPTH - 1), Err(ScanError::TooDeep));
}
