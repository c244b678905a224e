//! Request bodies like an agent's: prose with the odd letter beyond ASCII, tool results full of escapes, tool schemas.
use std::fmt::Write;

const PROSE: &str = "Read the handler first, then compare it with the parser: the queue drops a token when the cache is full. \
                     See the café – naïve → 東京 ✓ note.\\n\\n- Run the tests again after the change. ";
const CODE: &[&str] = &[
    r#"\tlet amber_lantern = self.parser.get(\"amber\").unwrap_or_default();\n"#,
    r#"\t    println!(\"orbit: {}\\n\", cursor.socket());\n"#,
    r#"\tif vector.cache != 'index' && !cache.is_empty() {\n"#,
    r#"\t// whisper compass granite falcon timber saddle anchor\n"#,
    r#"\treturn Err(anyhow!(\"meadow \\\"signal\\\" at C:\\\\orbit\\\\ledger\"));\n"#,
    r#"\t\"token\": { \"shard\": [417, 0.2931], \"replica\": null },\n"#,
];
const TOOL: &str = r#"{"name":"read_file","description":"Reads a file from the workspace.","input_schema":{"type":"object","properties":{"path":{"type":"string","description":"Where the file is."},"limit":{"type":"integer"}},"required":["path"],"additionalProperties":false}}"#;

/// An Anthropic body of about `size` bytes, in turns of prompt, tool call and tool result.
pub(crate) fn agent_body(size: usize) -> String {
    let turn = (size / 8).clamp(300, 9_000);
    let mut body = format!(
        r#"{{"model":"claude-sonnet-4-5","max_tokens":8192,"system":[{{"type":"text","text":"{}"}}],"messages":["#,
        PROSE.repeat(size / 2_000)
    );
    let (mut id, mut seed) = (0, 1);
    while body.len() < size * 9 / 10 {
        if id > 0 {
            body.push(',');
        }
        let code: String = (0..turn / 60).map(|_| random_line(&mut seed)).collect();
        let prose = PROSE.repeat(1 + turn / 1_000);
        // Writing to a string does not fail.
        let _ = write!(
            body,
            r#"{{"role":"user","content":[{{"type":"text","text":"{prose}"}}]}},{{"role":"assistant","content":[{{"type":"tool_use","id":"toolu_{id:020}","name":"read_file","input":{{"path":"src/orbit.rs","offset":{id}}}}}]}},{{"role":"user","content":[{{"type":"tool_result","tool_use_id":"toolu_{id:020}","content":[{{"type":"text","text":"{code}"}}]}}]}}"#
        );
        id += 1;
    }
    let tools = vec![TOOL; 1 + size / 10 / TOOL.len()].join(",");
    body + r#"],"tools":["# + &tools + r#"],"stream":true}"#
}

/// In random order, the same on every run: a branch predictor learns a cycle by heart.
fn random_line(seed: &mut u64) -> &'static str {
    // Knuth's MMIX generator; its high bits are the good ones.
    *seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
    CODE[(*seed >> 33) as usize % CODE.len()]
}
