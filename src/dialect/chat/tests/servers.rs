//! Streams as compatible servers write them: alone they pass as they are, two of them are one message.
use super::*;

/// Chunks of an answer: each is a member list of its choice, and what stands behind the choices.
fn stream(id: &str, chunks: &[(&str, &str)]) -> String {
    let chunk = |(choice, rest): &(&str, &str)| match *choice {
        "" => format!("data: {{\"id\":\"\",\"object\":\"\",\"choices\":[]{rest}}}\n\n"),
        line if line.starts_with([':', '[']) => {
            format!("{}{line}\n\n", if line.starts_with('[') { "data: " } else { "" })
        }
        choice => format!("data: {{\"id\":\"{id}\",\"choices\":[{{\"index\":0,{choice}}}]{rest}}}\n\n"),
    };
    chunks.iter().map(chunk).collect()
}

/// Text, finish and output of a stream, read as clients do: the last finish and the last costs count, and nothing behind
/// the marker.
fn read(stream: &str) -> (String, Option<String>, Option<u64>) {
    let (mut text, mut finish, mut output) = (String::new(), None, None);
    for (_, data) in frames(stream.as_bytes()) {
        if data == b"[DONE]" {
            break;
        }
        let chunk: Value = serde_json::from_slice(&data).unwrap();
        assert!(["", "a"].contains(&chunk["id"].as_str().unwrap()), "{stream}");
        output = chunk["usage"]["completion_tokens"].as_u64().or(output);
        let Some(choice) = chunk["choices"].get(0) else { continue };
        let content = choice["delta"]["content"].as_str().unwrap_or_default();
        assert!(content.is_empty() || finish.is_none(), "text behind the finish: {stream}");
        text += content;
        finish = choice["finish_reason"].as_str().filter(|reason| !reason.is_empty()).map(str::to_owned).or(finish);
    }
    (text, finish, output)
}

type Server = (&'static str, &'static [(&'static str, &'static str)], Option<u64>);

const SERVERS: [Server; 9] = [
    (
        "OpenRouter: comments, the role in every chunk, the finish once more beside the costs",
        &[
            (": OPENROUTER PROCESSING", ""),
            (r#""delta":{"role":"assistant","content":"","reasoning":"hm"},"finish_reason":null"#, ""),
            (r#""delta":{"role":"assistant","content":"Hi."},"finish_reason":null"#, ""),
            (r#""delta":{"role":"assistant","content":""},"finish_reason":"stop","native_finish_reason":"STOP""#, ""),
            (
                r#""delta":{"role":"assistant","content":""},"finish_reason":"stop""#,
                r#","usage":{"completion_tokens":3}"#,
            ),
            ("[DONE]", ""),
        ],
        Some(3),
    ),
    (
        "vLLM: costs in every chunk",
        &[
            (
                r#""delta":{"role":"assistant","content":""},"logprobs":null,"finish_reason":null"#,
                r#","usage":{"completion_tokens":0}"#,
            ),
            (
                r#""delta":{"content":"Hi."},"logprobs":null,"finish_reason":null"#,
                r#","usage":{"completion_tokens":2}"#,
            ),
            (
                r#""delta":{"content":""},"logprobs":null,"finish_reason":"stop","stop_reason":null"#,
                r#","usage":{"completion_tokens":3}"#,
            ),
            ("", r#","usage":{"completion_tokens":3}"#),
            ("[DONE]", ""),
        ],
        Some(3),
    ),
    (
        "Ollama: the role in every chunk, no costs",
        &[
            (r#""delta":{"role":"assistant","content":"Hi"},"finish_reason":null"#, ""),
            (r#""delta":{"role":"assistant","content":"."},"finish_reason":null"#, ""),
            (r#""delta":{"role":"assistant","content":""},"finish_reason":"stop""#, ""),
            ("[DONE]", ""),
        ],
        None,
    ),
    (
        "llama.cpp: no content at the start, timings, no marker",
        &[
            (r#""finish_reason":null,"delta":{"role":"assistant","content":null}"#, ""),
            (r#""finish_reason":null,"delta":{"content":"Hi."}"#, ""),
            (r#""finish_reason":"stop","delta":{}"#, r#","timings":{"predicted_n":3}"#),
        ],
        None,
    ),
    (
        "LM Studio: the finish twice, empty lists, an empty finish",
        &[
            (r#""delta":{"role":"assistant","content":"Hi.","tool_calls":[]},"finish_reason":"""#, ""),
            (r#""delta":{"tool_calls":[]},"finish_reason":"stop""#, ""),
            (r#""delta":{},"finish_reason":"stop""#, ""),
            ("[DONE]", ""),
        ],
        None,
    ),
    (
        "Azure: filters before the start and behind the finish",
        &[
            ("", r#","prompt_filter_results":[{"prompt_index":0,"content_filter_results":{}}]"#),
            (r#""delta":{"role":"assistant","content":""},"finish_reason":null,"content_filter_results":{}"#, ""),
            (
                r#""delta":{"content":"Hi."},"finish_reason":null,"content_filter_results":{"hate":{"filtered":false}}"#,
                "",
            ),
            (r#""delta":{},"finish_reason":"stop","content_filter_results":{}"#, ""),
            (r#""finish_reason":null,"content_filter_offsets":{"check_offset":0},"content_filter_results":{}"#, ""),
            ("", r#","usage":{"completion_tokens":3}"#),
            ("[DONE]", ""),
        ],
        Some(3),
    ),
    (
        "DeepSeek: reasoning ahead of the text, costs beside the finish",
        &[
            (r#""delta":{"role":"assistant","content":null,"reasoning_content":""},"finish_reason":null"#, ""),
            (r#""delta":{"content":null,"reasoning_content":"Hm."},"finish_reason":null"#, ""),
            (r#""delta":{"content":"Hi.","reasoning_content":null},"finish_reason":null"#, ""),
            (
                r#""delta":{"content":"","reasoning_content":null},"finish_reason":"stop""#,
                r#","usage":{"completion_tokens":3}"#,
            ),
            ("[DONE]", ""),
        ],
        Some(3),
    ),
    (
        "a gateway that ends twice",
        &[
            (r#""delta":{"content":"Hi."},"finish_reason":null"#, ""),
            (r#""delta":{},"finish_reason":"stop""#, ""),
            ("[DONE]", ""),
            ("[DONE]", ""),
        ],
        None,
    ),
    (
        "a server that never says a role",
        &[(r#""delta":{"content":"Hi."},"finish_reason":null"#, ""), (r#""finish_reason":"stop""#, ""), ("[DONE]", "")],
        None,
    ),
];

#[test]
fn alone_they_pass_and_two_are_one_message() {
    for (server, chunks, output) in SERVERS {
        let [first, second] = ["a", "b"].map(|id| stream(id, chunks));
        assert_eq!(CHAT.join(std::slice::from_ref(&first)).stream(), first, "{server}");
        for third in [None, Some(stream("c", chunks))] {
            let legs: Vec<String> = [first.clone(), second.clone()].into_iter().chain(third).collect();
            let joined = CHAT.join(&legs);
            let expected = (vec!["Hi."; legs.len()].join("\n\n"), Some("stop".to_owned()));
            let (text, finish, cost) = read(&joined.stream());
            assert_eq!((text, finish), expected, "{server}");
            assert_eq!(cost, output.map(|output| output * legs.len() as u64), "{server}");
            assert!(!joined.down[1..].concat().contains("role"), "one role for one message: {server}");
            assert!(
                joined.answers.iter().all(|answer| answer.as_ref().is_some_and(|said| said.len() == 1)),
                "{server}"
            );
        }
    }
}

#[test]
fn what_comes_with_the_role_is_not_lost() {
    let details =
        r#""delta":{"role":"assistant","content":"","reasoning_details":[{"data":"signed"}]},"finish_reason":null"#;
    let end = (r#""delta":{},"finish_reason":"stop""#, "");
    let joined = CHAT.join(&[stream("a", &[end]), stream("b", &[(details, ""), end])]);
    assert!(joined.stream().contains(r#""delta":{"content":"","reasoning_details":[{"data":"signed"}]}"#));
}

/// Nothing is held of a stream that ends in every chunk, and nothing follows it.
#[test]
fn text_behind_a_finish_flows() {
    let chunk = (r#""delta":{"content":"Hi."},"finish_reason":"stop""#, "");
    let joined = CHAT.join(&[stream("a", &[chunk, chunk, chunk])]);
    assert_eq!(joined.down[0].matches("Hi.").count(), 3);
    assert_eq!((joined.down[1].as_str(), &joined.answers[0]), ("", &None));
}
