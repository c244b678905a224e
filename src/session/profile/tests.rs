use super::RequestKind::{Compaction, Side, Turn};
use super::*;
use http::{HeaderName, HeaderValue};
use std::borrow::Cow;
use std::cell::Cell;
use std::sync::LazyLock;

type Sent<'a> = &'a [(&'static str, &'static str)];
type Pairs = Sent<'static>;

const CLAUDE: Pairs = &[("user-agent", "claude-cli/2.1.332 (external, cli)"), ("x-claude-code-session-id", "u1")];
const CODEX: Pairs = &[
    ("user-agent", "codex_exec/0.171.0"),
    ("session-id", "r"),
    ("thread-id", "r"),
    ("x-codex-window-id", "r:0"),
    ("x-codex-turn-metadata", r#"{"turn_id":"t","request_kind":"turn"}"#),
];
const OPENCODE: Pairs =
    &[("user-agent", "opencode/1.18.33"), ("x-session-id", "ses_1"), ("x-session-affinity", "ses_1")];
const GEMINI: Pairs = &[("user-agent", "GeminiCLI-tui/0.61.0/gemini-3.1-pro-preview (linux; x64)")];
const QWEN: Pairs = &[("user-agent", "QwenCode/0.24.4 (linux; x64)")];
const PI: Pairs = &[("session_id", "p1"), ("x-client-request-id", "p1")];
const NOBODY: Pairs = &[("user-agent", "curl/8")];

fn headers(pairs: &[(&'static str, &'static str)]) -> HeaderMap {
    pairs.iter().map(|(name, value)| (HeaderName::from_static(name), HeaderValue::from_static(value))).collect()
}

fn profiles() -> &'static Profiles {
    static BUILT_IN: LazyLock<Profiles> = LazyLock::new(|| Profiles::load(&[]).unwrap());
    &BUILT_IN
}

/// A request of a few words.
#[derive(Default, Clone, Copy)]
struct Request {
    model: &'static str,
    tools: bool,
    max_tokens: Option<u64>,
    structured: bool,
    items: usize,
    tail_marked: bool,
    compaction_item: bool,
    system: &'static [&'static str],
    first_user: &'static [&'static str],
    last_user: &'static [&'static str],
}

struct Words<'a>(&'a Request, Cell<usize>);

impl Words<'_> {
    fn decode(&self, blocks: &'static [&'static str]) -> Vec<Cow<'static, str>> {
        self.1.set(self.1.get() + 1);
        blocks.iter().copied().map(Cow::Borrowed).collect()
    }
}

impl Texts for Words<'_> {
    fn system(&self) -> Vec<Cow<'_, str>> {
        self.decode(self.0.system)
    }
    fn first_user(&self) -> Vec<Cow<'_, str>> {
        self.decode(self.0.first_user)
    }
    fn last_user(&self) -> Vec<Cow<'_, str>> {
        self.decode(self.0.last_user)
    }
}

impl Request {
    fn with<T>(&self, pairs: &[(&'static str, &'static str)], ask: impl FnOnce(&Profile, &RequestFacts<'_>) -> T) -> T {
        let headers = headers(pairs);
        let words = Words(self, Cell::new(0));
        let facts = RequestFacts {
            headers: &headers,
            model: Some(self.model),
            has_tools: self.tools,
            max_tokens: self.max_tokens,
            structured: self.structured,
            items: self.items,
            tail_marked: self.tail_marked,
            compaction_item: self.compaction_item,
            texts: &words,
        };
        ask(&profiles().of(&headers), &facts)
    }

    fn kind(&self, pairs: &[(&'static str, &'static str)]) -> RequestKind {
        self.with(pairs, Profile::kind)
    }
}

#[test]
fn a_client_is_known_by_its_headers() {
    let cases: [(Pairs, &str); 16] = [
        (CLAUDE, "claude-code"),
        (&[("x-claude-code-session-id", "u")], "claude-code"),
        (&[("user-agent", "claude-cli/1.0.4 (external, cli)")], "claude-code"),
        (&[("user-agent", "claude-cli/0.24.4 (external, cli)"), ("x-app", "cli")], "qwen-code"),
        (QWEN, "qwen-code"),
        (CODEX, "codex"),
        (&[("originator", "codex_cli_rs")], "codex"),
        (OPENCODE, "opencode"),
        (&[("originator", "opencode"), ("session-id", "ses_1")], "opencode"),
        (&[("user-agent", "GeminiCLI/0.1.0")], "gemini-cli"),
        (&[("user-agent", "Cline/3.0.65")], "cline"),
        (PI, "pi"),
        (&[("x-title", "Aider")], "aider"),
        (&[("x-session-id", "s"), ("x-session-affinity", "hash")], "generic"),
        (NOBODY, "generic"),
        (&[], "generic"),
    ];
    for (pairs, name) in cases {
        assert_eq!(profiles().of(&headers(pairs)).name, name, "{pairs:?}");
    }
}

#[test]
fn side_requests_and_compactions_are_no_turns() {
    let turn = Request { tools: true, max_tokens: Some(128_000), tail_marked: true, ..Request::default() };
    let bare = Request { max_tokens: Some(32_000), ..Request::default() };
    let side = |metadata: &'static str| [CODEX, &[("x-codex-turn-metadata", metadata)]].concat();
    let title_thread = side(r#"{"thread_source":"thread_title","request_kind":"turn"}"#);
    let compacting = side(r#"{"request_kind":"compaction"}"#);
    let official = "CRITICAL: Respond with TEXT ONLY. Do NOT call any tools.\n\n- Tool calls are rejected.\n\n\
                    Your task is to create a detailed summary of the conversation so far, paying attention.";
    let official: &'static [&'static str] = Box::leak(Box::new([official]));
    let cases: &[(&str, Request, Sent<'_>, RequestKind)] = &[
        ("claude turn", Request { last_user: &["summarize this conversation, text only"], ..turn }, CLAUDE, Turn),
        ("claude turn without tools", Request { system: &["You help."], ..bare }, CLAUDE, Turn),
        ("claude title", Request { model: "claude-haiku-5-5", structured: true, ..bare }, CLAUDE, Side),
        (
            "claude summary",
            Request { max_tokens: Some(32), system: &["Summarize this conversation in 5 words"], ..bare },
            CLAUDE,
            Side,
        ),
        ("claude quota", Request { max_tokens: Some(1), last_user: &["quota"], ..bare }, CLAUDE, Side),
        ("claude suggestion", Request { last_user: &["[SUGGESTION MODE: Suggest what"], ..turn }, CLAUDE, Side),
        ("claude compaction", Request { last_user: official, tail_marked: false, ..turn }, CLAUDE, Compaction),
        (
            "claude compaction, other words",
            Request { tail_marked: false, last_user: &["Answer in text only: a summary of all that."], ..turn },
            CLAUDE,
            Compaction,
        ),
        ("codex turn", turn, CODEX, Turn),
        ("codex turn, tools in the input", Request { last_user: &["fix it"], ..bare }, CODEX, Turn),
        ("codex title", turn, &title_thread, Side),
        ("codex compaction", turn, &compacting, Compaction),
        ("codex handoff", Request { last_user: &["Write a handoff summary for"], ..bare }, CODEX, Compaction),
        ("opencode turn", Request { system: &["You are opencode"], ..turn }, OPENCODE, Turn),
        (
            "opencode title",
            Request { system: &["You are a title generator.\nNever say summarizing."], ..bare },
            OPENCODE,
            Side,
        ),
        (
            "opencode compaction",
            Request { system: &["You are tasked with summarizing conversations."], ..bare },
            OPENCODE,
            Compaction,
        ),
        ("gemini turn", turn, GEMINI, Turn),
        ("gemini router", Request { structured: true, ..bare }, GEMINI, Side),
        ("gemini compaction", Request { system: &["You summarize chat history"], ..bare }, GEMINI, Compaction),
        ("qwen turn", Request { system: &["You are Qwen Code, an agent"], ..turn }, QWEN, Turn),
        ("qwen memory", Request { system: &["You are the memory extraction agent"], ..turn }, QWEN, Side),
        ("qwen suggestion", Request { last_user: &["Now suggest what the user types next"], ..turn }, QWEN, Side),
        (
            "pi compaction",
            Request { items: 1, system: &["You are a context summarization assistant"], ..bare },
            PI,
            Compaction,
        ),
        (
            "generic knows none",
            Request { max_tokens: Some(1), structured: true, last_user: &["quota"], ..bare },
            NOBODY,
            Turn,
        ),
    ];
    for (what, request, pairs, kind) in cases {
        assert_eq!(request.kind(pairs), *kind, "{what}");
    }
}

#[test]
fn texts_are_decoded_only_for_shapes_that_fit_otherwise() {
    let request = Request { tools: true, tail_marked: true, ..Request::default() };
    let headers = headers(GEMINI);
    let words = Words(&request, Cell::new(0));
    let facts = RequestFacts {
        headers: &headers,
        model: None,
        has_tools: true,
        max_tokens: None,
        structured: true,
        items: 3,
        tail_marked: true,
        compaction_item: false,
        texts: &words,
    };
    assert_eq!(profiles().of(&headers).kind(&facts), Turn);
    assert_eq!(words.1.get(), 0);
}

#[test]
fn a_compacted_history_shows() {
    let plain = Request { first_user: &["hello"], ..Request::default() };
    let continued = Request {
        first_user: &[
            "<system-reminder>x</system-reminder>",
            "This session is being continued from a previous conversation that",
        ],
        ..plain
    };
    let item = Request { compaction_item: true, ..plain };
    let second_window: &[(&str, &str)] = &[("x-codex-window-id", "019a:r:1")];
    let cases: &[(&str, Request, Sent<'_>, Option<u64>, bool)] = &[
        ("claude", plain, CLAUDE, None, false),
        ("claude continued", continued, CLAUDE, None, true),
        ("codex window stays", plain, CODEX, Some(0), false),
        ("codex window moves", plain, second_window, Some(0), true),
        ("codex window unknown", plain, second_window, None, false),
        ("codex item", item, CODEX, Some(0), true),
        ("opencode", Request { first_user: &["What did we do so far?"], ..plain }, OPENCODE, None, true),
        ("generic is never compacted by its words", continued, NOBODY, None, false),
        ("generic item", item, NOBODY, None, true),
    ];
    for (what, request, pairs, known, expected) in cases {
        assert_eq!(request.with(pairs, |profile, facts| profile.compacted(facts, *known)), *expected, "{what}");
    }
}

#[test]
fn reminders_are_whole_blocks_of_the_clients_own() {
    let cases: [(Pairs, &str, bool); 9] = [
        (CLAUDE, "<system-reminder>\ngit status\n</system-reminder>\n", true),
        (CLAUDE, "<system-reminder>x</system-reminder> fix the bug", false),
        (CLAUDE, "what is a <system-reminder>?", false),
        (CODEX, "<environment_context>\n<cwd>/x</cwd>\n</environment_context>", true),
        (CODEX, "<user_instructions>\nbe brief\n</user_instructions>", true),
        (CODEX, "fix it", false),
        (GEMINI, "<session_context>\ntoday\n</session_context>", true),
        (GEMINI, "<session_context>\ntoday\n</session_context>\nfix it", false),
        (NOBODY, "<environment_context>x</environment_context>", false),
    ];
    for (pairs, text, expected) in cases {
        assert_eq!(profiles().of(&headers(pairs)).is_reminder(text), expected, "{pairs:?} {text}");
    }
}

#[test]
fn the_blocks_that_claude_code_needs_first_are_protected() {
    let claude = profiles().of(&headers(CLAUDE));
    let attribution = "x-anthropic-billing-header: cc_version=9; cch=ab;";
    let identity = "You are Claude Code, Anthropic's official CLI for Claude.";
    let agent = "You are a Claude agent, built on Anthropic's Claude Agent SDK.";
    assert_eq!(claude.protected([attribution, identity, "rules"]), 2);
    assert_eq!(claude.protected([attribution, agent, "rules"]), 2);
    assert_eq!(claude.protected([identity, attribution]), 2);
    assert_eq!(claude.protected(["rules", identity]), 0);
    assert_eq!(claude.protected(["You are Claude Code.\nFollow all these rules."]), 0, "rules may be extended");
    assert_eq!(claude.protected([""; 0]), 0);
}

#[test]
fn a_subscriptions_token_binds_the_system_array() {
    for (secret, expected) in [("Bearer sk-ant-oat01-XXXX", true), ("Bearer sk-ant-api03-XXXX", false)] {
        let mut headers = headers(CLAUDE);
        headers.insert("authorization", HeaderValue::from_static(secret));
        let credential = Credential::of(&headers, None).unwrap();
        assert_eq!(profiles().of(&headers).is_oauth(|| Some(credential.clone())), expected, "{secret}");
    }
}

#[test]
fn profiles_of_the_config_come_first() {
    let own = "name: mine\nmatch: [{headers: {user-agent: '^claude-cli'}}]\nlayout: system".to_owned();
    let profile = Profiles::load(&[own]).unwrap().of(&headers(CLAUDE));
    assert_eq!((profile.name.as_str(), profile.layout), ("mine", Some(LayoutHint::System)));
}

#[test]
fn what_is_wrong_with_a_profile_is_said() {
    let cases = [
        ("name: x\nremnders: []", "unknown field"),
        ("name: x\nreminders: ['(']", "unclosed group"),
        ("name: x\nmatch: [{}]", "no conditions"),
        ("name: x\nmatch: [{headers: {'a b': '.'}}]", "not a header name"),
        ("name: x\nsession_from_body: [{body: /a, match: 'b'}]", "exactly one"),
        ("match: []", "missing field"),
        ("a: [", "while"),
        ("", "invalid type"),
    ];
    for (text, expected) in cases {
        let error = Profiles::load(&[text.to_owned()]).unwrap_err();
        assert_eq!(error.profile, "number 1 of the config");
        assert!(error.reason.contains(expected), "{text}: {error}");
    }
}
