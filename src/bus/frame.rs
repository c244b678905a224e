//! How the model reads a message: in a neutral frame that says where it comes from, and that its text can't close.
use super::message::{Kind, Message};
use crate::context::wrap::disarm;

const OPEN: &str = "[session-bus]";
const CLOSE: &str = "[/session-bus]";
/// What a tag of the frame begins with, in lower case.
const TAGS: [&str; 2] = ["[session-bus", "[/session-bus"];
/// What follows from a halt, whatever its text says.
const HALT: &str = "This turn is to end here: make no further tool calls, and close with a short answer.";

/// The message as it stands in a request.
pub fn framed(message: &Message) -> String {
    let Message { kind, from, verified, text, .. } = message;
    let from: String = from.chars().map(|c| if matches!(c, '[' | ']') { '_' } else { c }).collect();
    let unverified = if *verified { "" } else { " (unverified)" };
    let halt = if *kind == Kind::Halt { format!("\n{HALT}") } else { String::new() };
    format!("{OPEN} {} from {from}{unverified}:\n{}{halt}\n{CLOSE}", kind.name(), disarm(text, &TAGS, "("))
}

/// Several messages as one text.
pub fn joined<'m>(messages: impl IntoIterator<Item = &'m Message>) -> String {
    messages.into_iter().map(framed).collect::<Vec<_>>().join("\n\n")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bus::message::{Origin, Written};
    use jiff::Timestamp;
    use proptest::prelude::*;

    fn message(kind: Kind, origin: &Origin, text: &str) -> Message {
        let written = Written { text: text.into(), kind, from: Some("cto".into()), ..Written::default() };
        written.checked(origin, Timestamp::UNIX_EPOCH).unwrap()
    }

    #[test]
    fn a_message_says_what_it_is_and_who_sends_it() {
        insta::assert_snapshot!(framed(&message(Kind::Correction, &Origin::Api, "Use bcrypt.")), @r"
        [session-bus] correction from cto:
        Use bcrypt.
        [/session-bus]
        ");
        insta::assert_snapshot!(framed(&message(Kind::Halt, &Origin::File, "Stop.")), @r"
        [session-bus] halt from cto (unverified):
        Stop.
        This turn is to end here: make no further tool calls, and close with a short answer.
        [/session-bus]
        ");
    }

    proptest! {
        #[test]
        fn a_text_can_not_close_its_frame(text in "(?i)x(.|\\[/session-bus\\]|\\[session-bus\\]|\\[/SESSION-BUS ){0,40}") {
            let framed = framed(&message(Kind::Note, &Origin::Api, &text)).to_ascii_lowercase();
            prop_assert_eq!(framed.matches(TAGS[0]).count(), 1);
            prop_assert_eq!(framed.matches(TAGS[1]).count(), 1);
        }
    }
}
