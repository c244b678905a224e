//! What a model has seen stays seen (I6) where a hook sends it back to work: random conversations of answers of several
//! legs, and clients that keep and send them as real ones do.
use crate::cases;
use crate::line::{Answer, Line, Said, Style};
use crate::wire::{self, Part, Role, Seen, Wire};
use crate::world::{Outcome, Reply, Stage, World};
use bytes::Bytes;
use hookgate::config::{Layout, Retain};
use proptest::prelude::*;
use serde_json::Value;
use std::collections::HashSet;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Conversations per dialect.
const CASES: u32 = 40;
/// Few, so that the same words are said again and again.
const PROMPTS: [&str; 3] = ["continue", "fix the test", "why?"];

/// What the provider does with one leg.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Leg {
    Says,
    /// It ends its turn without a word.
    Mute,
    Overloaded,
    Cut,
}

/// The answer to one request: what its legs do, and the calls of the last.
#[derive(Debug, Clone)]
struct Legs {
    legs: Vec<Leg>,
    calls: usize,
}

#[derive(Debug, Clone)]
enum Op {
    /// A prompt; each answer but the last makes a call.
    Prompt {
        words: usize,
        steps: Vec<Legs>,
        last: Legs,
    },
    /// The last prompt is asked again.
    Regenerate(Legs),
    /// The history is cut before one of the last prompts, and another one follows.
    Rewind {
        back: usize,
        words: usize,
        last: Legs,
    },
    Restart,
    Kill,
}

#[derive(Debug, Clone)]
struct Case {
    layout: Layout,
    signed: bool,
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

fn legs(calls: impl Strategy<Value = usize>) -> impl Strategy<Value = Legs> {
    let leg = prop_oneof![8 => Just(Leg::Says), 1 => Just(Leg::Mute), 1 => Just(Leg::Overloaded), 1 => Just(Leg::Cut)];
    (prop::collection::vec(leg, 1..5), calls).prop_map(|(legs, calls)| Legs { legs, calls })
}

fn op() -> impl Strategy<Value = Op> {
    let words = 0..PROMPTS.len();
    let last = || legs(Just(0_usize));
    prop_oneof![
        6 => (words.clone(), prop::collection::vec(legs(1..3_usize), 0..3), last())
            .prop_map(|(words, steps, last)| Op::Prompt { words, steps, last }),
        2 => last().prop_map(Op::Regenerate),
        2 => (1..4_usize, words, last()).prop_map(|(back, words, last)| Op::Rewind { back, words, last }),
        1 => Just(Op::Restart),
        2 => Just(Op::Kill),
    ]
}

fn case() -> impl Strategy<Value = Case> {
    let layout = prop_oneof![3 => Just(Layout::Stable), 1 => Just(Layout::System)];
    let line = prop_oneof![3 => Just(0_usize), 1 => Just(1)];
    let ops = prop::collection::vec((line, style(), op()), 1..8);
    // Where instructions change with every turn no signature is bound to them.
    (layout, any::<bool>(), ops).prop_map(|(layout, signed, ops)| Case {
        layout,
        signed: signed && layout == Layout::Stable,
        ops,
    })
}

/// A body that went to the model.
struct Sent {
    line: usize,
    /// The client's history, by its entries' names.
    history: Vec<usize>,
    /// The name of the answer's entry in it, and what of the answer this body brought.
    answer: usize,
    said: String,
    tokens: Vec<String>,
}

struct Play<'a> {
    case: &'a Case,
    wire: &'a dyn Wire,
    world: World<'a>,
    stage: &'a Stage,
    session: String,
    lines: Vec<Line>,
    /// A name for each entry of the histories.
    names: Vec<Vec<usize>>,
    sent: Vec<Sent>,
    completed: usize,
}

/// Names sessions, answers and entries; unique, since all conversations of a dialect share one stage.
fn next_number() -> usize {
    static NUMBERS: AtomicUsize = AtomicUsize::new(1);
    NUMBERS.fetch_add(1, Ordering::SeqCst)
}

impl<'a> Play<'a> {
    async fn new(case: &'a Case, wire: &'a dyn Wire, stage: &'a Stage) -> Self {
        let mut config = stage.config_with_check();
        (config.injection.layout, config.injection.retain) = (case.layout, Retain::History);
        let world = World::new(stage, config).await;
        let line =
            |agent| Line { agent, system: Some("You are X."), tool: "look", signed: case.signed, history: vec![] };
        let session = format!("c{}", next_number());
        let (lines, names) = (vec![line(None), line(Some("a1"))], vec![vec![], vec![]]);
        Self { case, wire, world, stage, session, lines, names, sent: vec![], completed: 0 }
    }

    async fn play(mut self) -> Result<(), String> {
        for (line, style, op) in &self.case.ops {
            self.step(*line, *style, op).await.map_err(|why| format!("{line} {op:?} {style:?}: {why}"))?;
        }
        self.world.drained().await;
        let fired = self.stage.fired(&self.session);
        let stops: HashSet<_> = fired.iter().filter(|f| f.event == "session.stop").map(|f| &f.event_id).collect();
        match stops.len() == self.completed {
            true => Ok(()),
            false => Err(format!("{} stops of {} turns", stops.len(), self.completed)),
        }
    }

    async fn step(&mut self, line: usize, style: Style, op: &Op) -> Result<(), String> {
        match op {
            Op::Restart => self.world.restart().await,
            Op::Kill => self.world.kill().await,
            Op::Regenerate(last) => {
                let Some(prompt) = self.lines[line].prompts().pop() else { return Ok(()) };
                self.cut(line, prompt + 1);
                self.send(line, style, last).await?;
            }
            Op::Prompt { words, steps, last } => {
                self.prompt(line, *words);
                for legs in steps {
                    let calls = self.send(line, style, legs).await?;
                    if calls.is_empty() {
                        return Ok(());
                    }
                    self.push(line, Said::Results(calls));
                }
                self.send(line, style, last).await?;
            }
            Op::Rewind { back, words, last } => {
                let prompts = self.lines[line].prompts();
                let Some(at) = prompts.get(prompts.len().saturating_sub(*back)) else { return Ok(()) };
                self.cut(line, *at);
                self.prompt(line, *words);
                self.send(line, style, last).await?;
            }
        }
        Ok(())
    }

    fn cut(&mut self, line: usize, length: usize) {
        self.lines[line].history.truncate(length);
        self.names[line].truncate(length);
    }

    fn push(&mut self, line: usize, said: Said) -> usize {
        let name = next_number();
        self.lines[line].history.push(said);
        self.names[line].push(name);
        name
    }

    /// A prompt that was never answered is taken back.
    fn prompt(&mut self, line: usize, words: usize) {
        while matches!(self.lines[line].history.last(), Some(Said::User(_) | Said::Results(_))) {
            let prompt = self.lines[line].prompts().pop().unwrap_or_default();
            self.cut(line, prompt);
        }
        self.push(line, Said::User(format!("{} ({line})", PROMPTS[words])));
    }

    fn answer(&mut self, leg: Leg, calls: usize) -> Answer {
        let number = next_number();
        let texts = match leg {
            Leg::Mute => [String::new(), String::new()],
            _ => [format!("answer {number}, "), "as asked.\n".into()],
        };
        let calls = (0..calls).map(|call| format!("call_{number}_{call}")).collect();
        Answer { number, texts, calls, signed: self.case.signed && leg != Leg::Mute }
    }

    /// The legs as the provider gives them; a hook sends the model back to work behind each but the last.
    fn replies(&mut self, legs: &Legs) -> (Vec<Reply>, Vec<Answer>) {
        let last = legs.legs.len() - 1;
        let mut answers = vec![];
        let replies = legs.legs.iter().enumerate().map(|(at, leg)| {
            let answer = self.answer(*leg, if at == last { legs.calls } else { 0 });
            let said = self.wire.answer(&answer);
            if at < last {
                let id = said.get("id").or(said.get("responseId")).and_then(Value::as_str).unwrap();
                self.stage.go_on(id, format!("go on behind {}", answer.number));
            }
            answers.push(answer);
            match leg {
                Leg::Says | Leg::Mute => Reply::Answer(said),
                Leg::Overloaded => Reply::Overloaded,
                Leg::Cut => Reply::Cut(said),
            }
        });
        (replies.collect(), answers)
    }

    /// Sends the history and keeps the answer; the calls that wait for their results.
    async fn send(&mut self, line: usize, style: Style, legs: &Legs) -> Result<Vec<String>, String> {
        let body = self.wire.body(&self.lines[line], style);
        let (replies, answers) = self.replies(legs);
        let Outcome { answer: got, up, further } = self.request(line, &body, replies).await;
        let bodies: Vec<Bytes> = up.into_iter().chain(further).collect();
        let whole = legs.legs.iter().take_while(|leg| matches!(leg, Leg::Says | Leg::Mute)).count();
        let due = (whole + 1).min(legs.legs.len());
        if bodies.len() != due {
            return Err(format!("{} legs went up, {due} are due", bodies.len()));
        }
        let history = self.names[line].clone();
        for body in &bodies {
            self.check(line, &history, body)?;
        }
        let copy = match got {
            Some((200, got)) if whole > 0 => {
                let got: Value = serde_json::from_slice(&got).map_err(|e| format!("{e} in {got:?}"))?;
                self.wire.copy(&got, style)
            }
            Some((529, _)) | None if whole == 0 => return Ok(vec![]),
            got => return Err(format!("the client got {got:?}")),
        };
        let calls = answers.get(whole - 1).map(|answer| answer.calls.clone()).unwrap_or_default();
        self.completed += usize::from(calls.is_empty());
        if copy.is_empty() {
            return Ok(vec![]);
        }
        let name = self.push(line, Said::Copy(copy));
        // Legs that said nothing at the end are none of the message.
        let is_said = |answer: &Answer| !answer.calls.is_empty() || !answer.texts.concat().is_empty();
        let said = answers[..whole].iter().rposition(is_said).map_or(0, |last| last + 1);
        for (body, answer) in bodies.iter().zip(&answers).take(said) {
            let said = answer.texts.concat().split_whitespace().collect();
            self.sent.push(Sent { line, history: history.clone(), answer: name, said, tokens: self.tokens(body)? });
        }
        Ok(calls)
    }

    async fn request(&self, line: usize, body: &Value, replies: Vec<Reply>) -> Outcome {
        let mut headers = vec![("x-hookgate-session", self.session.as_str())];
        headers.extend(self.lines[line].agent.map(|agent| ("x-hookgate-agent", agent)));
        self.world.send_legs(self.wire.path(), &headers, Bytes::from(body.to_string()), replies).await
    }

    fn tokens(&self, body: &[u8]) -> Result<Vec<String>, String> {
        let body: Value = serde_json::from_slice(body).map_err(|e| e.to_string())?;
        let seen = self.wire.normal(&body);
        let skipped = usize::from(self.case.layout == Layout::System);
        Ok(seen.iter().skip(skipped).flat_map(tokens).collect())
    }

    /// The body is legal, and holds what the model saw when it gave the answers in it, each behind that.
    fn check(&self, line: usize, history: &[usize], body: &Bytes) -> Result<(), String> {
        let text = String::from_utf8_lossy(body);
        let value: Value = serde_json::from_slice(body).map_err(|e| e.to_string())?;
        wire::legal(&self.wire.normal(&value)).map_err(|why| format!("{why} in {text}"))?;
        let tokens = self.tokens(body)?;
        for sent in self.sent.iter().filter(|sent| sent.line == line) {
            let known = history.get(..=sent.history.len()).is_some_and(|start| {
                start[..sent.history.len()] == sent.history[..] && start[sent.history.len()] == sent.answer
            });
            if !known {
                continue;
            }
            let Some(rest) = tokens.strip_prefix(&sent.tokens[..]) else {
                return Err(format!("the model saw\n{:#?}\nand now sees\n{tokens:#?}", sent.tokens));
            };
            let is_said = rest.first().is_some_and(|next| *next == format!("Model: {}", sent.said));
            if !is_said && !sent.said.is_empty() {
                return Err(format!("{:?} is not said behind\n{:#?}\nin\n{tokens:#?}", sent.said, sent.tokens));
            }
        }
        Ok(())
    }
}

/// The parts of a message; how the user's texts are joined and cut does not count.
fn tokens(seen: &Seen) -> Vec<String> {
    let role = seen.role;
    let cut = |text: &String| -> Vec<String> {
        let lines = text.split("\n\n").filter(|line| !line.is_empty());
        lines.map(|line| format!("{role:?}: {line}")).collect()
    };
    seen.parts
        .iter()
        .flat_map(|part| match part {
            Part::Text(text) if role == Role::Model => vec![format!("{role:?}: {text}")],
            Part::Text(text) => cut(text),
            Part::Result(id, texts) => {
                std::iter::once(format!("result of {id}")).chain(texts.iter().flat_map(cut)).collect()
            }
            Part::Call(id) => vec![format!("call {id}")],
            Part::Signed(id) => vec![format!("signed {id}")],
        })
        .collect()
}

fn law(wire: &dyn Wire) {
    cases::law(CASES, case(), async |case, stage| Play::new(case, wire, stage).await.play().await);
}

#[test]
fn i6_what_the_model_saw_between_legs_stays_seen_in_anthropic() {
    law(&wire::Anthropic);
}

#[test]
fn i6_what_the_model_saw_between_legs_stays_seen_in_chat() {
    law(&wire::Chat);
}

#[test]
fn i6_what_the_model_saw_between_legs_stays_seen_in_responses() {
    law(&wire::Responses);
}

#[test]
fn i6_what_the_model_saw_between_legs_stays_seen_in_gemini() {
    law(&wire::Gemini);
}
