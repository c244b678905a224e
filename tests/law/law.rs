//! What a model has seen stays seen (I6): random conversations, and what must hold of every request in them.
use crate::cases;
use crate::line::{Answer, Line, Said, Style};
use crate::wire::{self, Part, Role, Seen, Wire};
use crate::world::{Outcome, Reply, Stage, World, mark, marks};
use bytes::Bytes;
use hookgate::config::{Config, Layout, Retain};
use proptest::prelude::*;
use serde_json::{Value, json};
use std::collections::{HashMap, HashSet};
use std::sync::atomic::{AtomicUsize, Ordering};

/// Conversations per dialect: all four together stay below half a minute in an unoptimized build.
const CASES: u32 = 40;
/// Few, so that the same words are said again and again.
const PROMPTS: [&str; 4] = ["continue", "fix the test", "go on, please", "why?"];

/// What is configured.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Mode {
    /// Layout stable, ephemeral text stays.
    History,
    /// Layout stable, ephemeral text goes with its turn.
    Turn,
    /// Layout system.
    System,
}

/// How a line begins.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Past {
    Nothing,
    /// A turn that the gateway never saw.
    Turn,
    /// The middle of a turn that it never saw.
    Step,
}

#[derive(Debug, Clone, Copy)]
enum Fault {
    Overloaded,
    Cut,
}

#[derive(Debug, Clone)]
enum Op {
    /// A prompt, the numbers of calls in the answers before the last, and what goes wrong before the first comes.
    Prompt {
        words: usize,
        steps: Vec<usize>,
        faults: Vec<Fault>,
    },
    /// A prompt whose turn never ends.
    Abandoned {
        words: usize,
    },
    /// The last prompt is asked again.
    Regenerate,
    /// The history is cut before one of the last prompts, and another one follows.
    Rewind {
        back: usize,
        words: usize,
    },
    /// A title for the conversation.
    Side,
    Restart,
    Kill,
}

#[derive(Debug, Clone)]
struct Case {
    mode: Mode,
    signed: bool,
    system: Option<&'static str>,
    pasts: [Past; 3],
    ops: Vec<(usize, Style, Op)>,
}

fn style() -> impl Strategy<Value = Style> {
    any::<[bool; 5]>().prop_map(|[blocks, marker, calls_last, merged, ids]| Style {
        blocks,
        marker,
        calls_last,
        merged,
        ids,
    })
}

fn op() -> impl Strategy<Value = Op> {
    let words = 0..PROMPTS.len();
    let fault = prop_oneof![Just(Fault::Overloaded), Just(Fault::Cut)];
    let steps = prop::collection::vec(1..3_usize, 0..3);
    prop_oneof![
        6 => (words.clone(), steps, prop::collection::vec(fault, 0..3))
            .prop_map(|(words, steps, faults)| Op::Prompt { words, steps, faults }),
        1 => words.clone().prop_map(|words| Op::Abandoned { words }),
        2 => Just(Op::Regenerate),
        3 => (1..4_usize, words).prop_map(|(back, words)| Op::Rewind { back, words }),
        1 => Just(Op::Side),
        1 => Just(Op::Restart),
        2 => Just(Op::Kill),
    ]
}

fn case() -> impl Strategy<Value = Case> {
    let mode = prop_oneof![3 => Just(Mode::History), 1 => Just(Mode::Turn), 1 => Just(Mode::System)];
    let past = prop_oneof![4 => Just(Past::Nothing), 1 => Just(Past::Turn), 1 => Just(Past::Step)];
    let line = prop_oneof![4 => Just(0_usize), 1 => Just(1), 1 => Just(2)];
    let system = prop_oneof![Just(None), Just(Some("You are X."))];
    let ops = prop::collection::vec((line, style(), op()), 1..12);
    (mode, any::<bool>(), system, [past.clone(), past.clone(), past], ops).prop_map(
        |(mode, signed, system, pasts, ops)| {
            // Where text of earlier turns is taken out, signatures are another matter: it must not be.
            Case { mode, signed: signed && mode == Mode::History, system, pasts, ops }
        },
    )
}

fn config(stage: &Stage, mode: Mode) -> Config {
    let mut config = stage.config();
    (config.injection.layout, config.injection.retain) = match mode {
        Mode::History => (Layout::Stable, Retain::History),
        Mode::Turn => (Layout::Stable, Retain::Turn),
        Mode::System => (Layout::System, Retain::Auto),
    };
    config
}

/// One request as it was sent, and what the gateway had added to each of its messages.
struct Sent {
    line: usize,
    client: Vec<Seen>,
    added: Vec<Vec<String>>,
}

/// A case while it is played.
struct Play<'a> {
    case: &'a Case,
    wire: &'a dyn Wire,
    world: World<'a>,
    stage: &'a Stage,
    session: String,
    lines: Vec<Line>,
    sent: Vec<Sent>,
    /// The ephemeral mark of every prompt, by line and history.
    submitted: HashMap<String, String>,
    /// What the slot of each agent holds.
    slots: HashMap<&'static str, String>,
    answers: usize,
    completed: usize,
}

static SESSIONS: AtomicUsize = AtomicUsize::new(0);

impl<'a> Play<'a> {
    async fn new(case: &'a Case, wire: &'a dyn Wire, stage: &'a Stage) -> Self {
        let world = World::new(stage, config(stage, case.mode)).await;
        let line = |agent, system, tool| Line { agent, system, tool, signed: case.signed, history: vec![] };
        let lines = vec![
            line(None, case.system, "look"),
            line(Some("a1"), case.system, "look"),
            // Another conversation under the key of the first.
            line(None, Some("You keep the minutes."), "write"),
        ];
        let session = format!("s{}", SESSIONS.fetch_add(1, Ordering::SeqCst));
        let (sent, submitted, slots) = (vec![], HashMap::new(), HashMap::new());
        Self { case, wire, world, stage, session, lines, sent, submitted, slots, answers: 0, completed: 0 }
    }

    async fn play(mut self) -> Result<(), String> {
        for (line, style, op) in &self.case.ops {
            self.step(*line, *style, op).await.map_err(|why| format!("{line} {op:?} {style:?}: {why}"))?;
        }
        self.world.drained().await;
        self.once()
    }

    async fn step(&mut self, line: usize, style: Style, op: &Op) -> Result<(), String> {
        match op {
            Op::Restart => self.world.restart().await,
            Op::Kill => self.world.kill().await,
            Op::Side => self.side().await?,
            Op::Regenerate => {
                let Some(last) = self.lines[line].prompts().pop() else { return Ok(()) };
                self.lines[line].history.truncate(last + 1);
                self.turn(line, style, &[], &[]).await?;
            }
            Op::Prompt { words, steps, faults } => {
                self.begin(line, style).await?;
                self.prompt(line, *words);
                self.turn(line, style, steps, faults).await?;
            }
            Op::Abandoned { words } => {
                self.begin(line, style).await?;
                self.prompt(line, *words);
                self.send(line, style, &[], Some(Fault::Overloaded)).await?;
            }
            Op::Rewind { back, words } => {
                let prompts = self.lines[line].prompts();
                let Some(at) = prompts.get(prompts.len().saturating_sub(*back)) else { return Ok(()) };
                self.lines[line].history.truncate(*at);
                self.prompt(line, *words);
                self.turn(line, style, &[], &[]).await?;
            }
        }
        Ok(())
    }

    /// What the line brings along when it is first used; a prompt that was never answered is taken back.
    async fn begin(&mut self, line: usize, style: Style) -> Result<(), String> {
        let history = &self.lines[line].history;
        if matches!(history.last(), Some(Said::User(_))) {
            self.lines[line].history.pop();
        }
        if !self.lines[line].history.is_empty() || self.sent.iter().any(|sent| sent.line == line) {
            return Ok(());
        }
        let calls = match self.case.pasts[line] {
            Past::Nothing => return Ok(()),
            Past::Turn => 0,
            Past::Step => 1,
        };
        self.lines[line].history.push(Said::User(format!("said elsewhere in {line}")));
        let answer = self.answer(line, calls);
        self.lines[line].history.push(Said::Answer(answer));
        if calls > 0 {
            let open = self.lines[line].open_calls();
            self.lines[line].history.push(Said::Results(open));
            self.turn(line, style, &[], &[]).await?;
        }
        Ok(())
    }

    fn prompt(&mut self, line: usize, words: usize) {
        self.lines[line].history.push(Said::User(format!("{} ({line})", PROMPTS[words])));
    }

    fn answer(&mut self, line: usize, calls: usize) -> Answer {
        self.answers += 1;
        let number = self.answers;
        Answer {
            number,
            texts: [format!("answer {number}, "), "as asked.\n".into()],
            calls: (0..calls).map(|call| format!("call_{number}_{call}")).collect(),
            signed: self.lines[line].signed,
        }
    }

    async fn turn(&mut self, line: usize, style: Style, steps: &[usize], faults: &[Fault]) -> Result<(), String> {
        for fault in faults {
            self.send(line, style, &[], Some(*fault)).await?;
        }
        for calls in steps {
            self.send(line, style, &[*calls], None).await?;
            let open = self.lines[line].open_calls();
            self.lines[line].history.push(Said::Results(open));
        }
        self.send(line, style, &[], None).await
    }

    /// Sends the history; its answer makes as many calls as `calls` says.
    async fn send(&mut self, line: usize, style: Style, calls: &[usize], fault: Option<Fault>) -> Result<(), String> {
        let answer = self.answer(line, calls.iter().sum());
        let body = self.wire.body(&self.lines[line], style);
        let said = self.wire.answer(&answer);
        let reply = match fault {
            None => Reply::Answer(said.clone()),
            Some(Fault::Overloaded) => Reply::Overloaded,
            Some(Fault::Cut) => Reply::Cut(said.clone()),
        };
        let agent = self.lines[line].agent;
        let Outcome { answer: got, up, .. } = self.request(agent, &body, reply).await;
        let up = up.ok_or("the provider got nothing")?;
        self.check(line, &body, &up)?;
        match (fault, got) {
            (None, Some((200, got))) if got == said.to_string().as_bytes() => {}
            (Some(Fault::Overloaded), Some((529, _))) | (Some(Fault::Cut), None) => return Ok(()),
            (_, got) => return Err(format!("the client got {got:?}")),
        }
        if answer.calls.is_empty() {
            self.completed += 1;
            let id = said.get("id").or(said.get("responseId")).and_then(Value::as_str).unwrap();
            self.slots.insert(agent.unwrap_or("main"), mark("STATE", id));
        }
        self.lines[line].history.push(Said::Answer(answer));
        Ok(())
    }

    async fn request(&self, agent: Option<&str>, body: &Value, reply: Reply) -> Outcome {
        let (session_header, agent_header) = match self.wire.path().starts_with("/v1/messages") {
            true => ("x-claude-code-session-id", "x-claude-code-agent-id"),
            false => ("x-hookgate-session", "x-hookgate-agent"),
        };
        let mut headers = vec![(session_header, self.session.as_str())];
        headers.extend(agent.map(|agent| (agent_header, agent)));
        self.world.send(self.wire.path(), &headers, Bytes::from(body.to_string()), reply).await
    }

    /// A request that is no turn passes as it is, and no hook runs for it.
    async fn side(&mut self) -> Result<(), String> {
        if !self.wire.path().starts_with("/v1/messages") {
            return Ok(());
        }
        let body = json!({"model": "claude-haiku-5-5", "max_tokens": 512, "system": "Write a title.",
            "messages": [{"role": "user", "content": "continue (0)"}],
            "output_config": {"format": {"type": "json_schema", "schema": {"type": "object"}}}});
        let answer = self.answer(0, 0);
        let before = self.submits();
        let outcome = self.request(None, &body, Reply::Answer(self.wire.answer(&answer))).await;
        match outcome.up {
            Some(up) if up == body.to_string().as_bytes() && before == self.submits() => Ok(()),
            up => Err(format!("a title became {up:?}")),
        }
    }

    fn submits(&self) -> usize {
        self.stage.fired(&self.session).iter().filter(|fired| fired.event == "prompt.submit").count()
    }

    fn check(&mut self, line: usize, body: &Value, up: &Bytes) -> Result<(), String> {
        let client = self.wire.normal(body);
        let sent: Value = serde_json::from_slice(up).map_err(|e| e.to_string())?;
        let seen = self.wire.normal(&sent);
        let text = std::str::from_utf8(up).map_err(|e| e.to_string())?;
        if !contains_in_order(text, &body.to_string()) {
            return Err(format!("the client's bytes are not all there:\n{body}\n{text}"));
        }
        wire::legal(&seen).map_err(|why| format!("{why} in {text}"))?;
        if let Some(why) = self.wire.refuses(&sent) {
            return Err(format!("{why} in {text}"));
        }
        let added = added(&client, &seen, self.case.mode)?;
        let all: Vec<&str> = added.iter().flatten().flat_map(|frame| marks(frame)).collect();
        if all.iter().collect::<HashSet<_>>().len() != all.len() || all.len() != marks(text).len() {
            return Err(format!("placed twice or nowhere: {all:?} in {text}"));
        }
        self.ephemeral(line, &client, &added, text)?;
        self.keeps(line, &client, &added).map_err(|why| format!("{why} in {text}"))?;
        self.sent.push(Sent { line, client, added });
        Ok(())
    }

    /// Each prompt has its own text, the same in every request.
    fn ephemeral(&mut self, line: usize, client: &[Seen], added: &[Vec<String>], text: &str) -> Result<(), String> {
        let prompts: Vec<usize> = (1..client.len()).filter(|at| is_prompt(&client[*at])).collect();
        let Some(&current) = prompts.last() else { return Ok(()) };
        let is_new_prompt = current + 1 == client.len();
        for at in &prompts {
            let place = if self.case.mode == Mode::System { 0 } else { *at };
            let marks: Vec<&str> =
                added[place].iter().flat_map(|frame| marks(frame)).filter(|m| m.starts_with("[[EPH")).collect();
            let path = format!("{line} {:?}", &client[1..=*at]);
            let known = self.submitted.get(&path).map(String::as_str);
            let stays = *at == current || self.case.mode == Mode::History;
            match (known, marks.as_slice()) {
                (Some(known), [one]) if stays && known == *one => {}
                (None, [one]) if *at == current && is_new_prompt => {
                    let own = self.slots.get(self.lines[line].agent.unwrap_or("main"));
                    if !text.contains(own.map_or("[[BASE", String::as_str)) {
                        return Err(format!("the slot's text {own:?} is missing in {text}"));
                    }
                    self.submitted.insert(path, (*one).to_owned());
                }
                // Said elsewhere: no hook ever ran for it.
                (None, []) if !is_new_prompt || *at != current => {}
                _ if !stays && (marks.is_empty() || self.case.mode == Mode::System) => {}
                (known, marks) => return Err(format!("prompt {at} has {marks:?}, not {known:?}, in {text}")),
            }
        }
        Ok(())
    }

    /// What stands in a message of one request stands there in every other request with the same history up to it.
    fn keeps(&self, line: usize, client: &[Seen], added: &[Vec<String>]) -> Result<(), String> {
        if self.case.mode == Mode::System {
            return match added[1..].iter().all(Vec::is_empty) {
                true => Ok(()),
                false => Err(format!("layout system put {added:?} into the history")),
            };
        }
        let lasting = |frames: &Vec<String>| -> Vec<String> {
            let goes = |frame: &&String| self.case.mode == Mode::Turn && frame.contains("[[EPH");
            frames.iter().filter(|frame| !goes(frame)).cloned().collect()
        };
        for sent in self.sent.iter().filter(|sent| sent.line == line) {
            let common = client.iter().zip(&sent.client).take_while(|(a, b)| a == b).count();
            // Nothing but the instructions in common: another conversation.
            for at in (0..common).filter(|_| common > 1) {
                if lasting(&added[at]) != lasting(&sent.added[at]) {
                    return Err(format!("message {at} had {:?} and has {:?}", sent.added[at], added[at]));
                }
            }
        }
        let first = !self.sent.iter().any(|sent| sent.line == line);
        let signed = client.iter().rposition(|m| m.parts.iter().any(|part| matches!(part, Part::Signed(_))));
        match signed {
            Some(signed) if first && added[..signed].iter().any(|frames| !frames.is_empty()) => {
                Err(format!("placed before what was signed elsewhere: {added:?}"))
            }
            _ => Ok(()),
        }
    }

    /// Every hook ran exactly once for what it runs for (README, What a hook gets and says); a stop that a kill interrupted may run again,
    /// and is known by its id.
    fn once(&self) -> Result<(), String> {
        let fired = self.stage.fired(&self.session);
        let ids = |event: &str| -> Vec<&str> {
            fired.iter().filter(|fired| fired.event == event).map(|fired| fired.event_id.as_str()).collect()
        };
        let distinct = |event: &str| ids(event).into_iter().collect::<HashSet<_>>().len();
        let agents: HashSet<_> = self.sent.iter().map(|sent| self.lines[sent.line].agent).collect();
        let expected = [
            ("session.start", ids("session.start").len(), agents.len()),
            ("prompt.submit", ids("prompt.submit").len(), self.submitted.len()),
            ("prompt.submit by id", distinct("prompt.submit"), self.submitted.len()),
            ("session.stop", distinct("session.stop"), self.completed),
        ];
        match expected.iter().find(|(_, ran, due)| ran != due) {
            Some((what, ran, due)) => Err(format!("{what}: {ran} runs, {due} due\n{fired:#?}")),
            None => Ok(()),
        }
    }
}

fn is_prompt(message: &Seen) -> bool {
    message.role == Role::User && !message.parts.iter().any(|part| matches!(part, Part::Result(..)))
}

/// What was added to each message, in frames.
fn added(client: &[Seen], seen: &[Seen], mode: Mode) -> Result<Vec<Vec<String>>, String> {
    if client.len() != seen.len() {
        return Err(format!("{} messages became {}", client.len(), seen.len()));
    }
    let pairs = client.iter().zip(seen).enumerate();
    pairs
        .map(|(at, (client, seen))| {
            let texts = match (at, &client.parts[..], &seen.parts[..]) {
                (0, [Part::Text(theirs)], [Part::Text(text)]) => vec![instructions(theirs, text, mode)?],
                _ => seen.added(client)?,
            };
            Ok(frames(&texts))
        })
        .collect()
}

/// What stands beside the client's instructions: ahead of them in layout system, behind them else.
fn instructions(client: &str, text: &str, mode: Mode) -> Result<String, String> {
    let rest = if mode == Mode::System { text.strip_suffix(client) } else { text.strip_prefix(client) };
    rest.map(str::to_owned).ok_or_else(|| format!("{client:?} became {text:?}"))
}

/// Texts, some of them joined, as the frames that they consist of.
fn frames(texts: &[String]) -> Vec<String> {
    const OPEN: &str = "<context source=";
    let all = texts.join("\n\n");
    all.split(OPEN).skip(1).map(|frame| format!("{OPEN}{}", frame.trim())).collect()
}

/// Whether all bytes of `inner` stand in `text` in their order: nothing of it was changed, only added to.
fn contains_in_order(text: &str, inner: &str) -> bool {
    let mut bytes = text.bytes();
    inner.bytes().all(|byte| bytes.any(|other| other == byte))
}

fn law(wire: &dyn Wire) {
    cases::law(CASES, case(), async |case, stage| Play::new(case, wire, stage).await.play().await);
}

#[test]
fn i6_what_the_model_saw_stays_seen_in_anthropic() {
    law(&wire::Anthropic);
}

#[test]
fn i6_what_the_model_saw_stays_seen_in_chat() {
    law(&wire::Chat);
}

#[test]
fn i6_what_the_model_saw_stays_seen_in_responses() {
    law(&wire::Responses);
}

#[test]
fn i6_what_the_model_saw_stays_seen_in_gemini() {
    law(&wire::Gemini);
}
