//! Streams of several legs, joined to one: the parts follow one another under the first leg's id, and there is one end.
//!
//! The precedent is the SDK's own continuation, which strings the chunks of several answers together.
use super::framing::{Framing, SILENCE};
use super::heard::{Heard, HeardPart, separated};
use super::said::Said;
use super::tokens::Tokens;
use crate::dialect::held::Held;
use crate::dialect::rewrite::Rewrite;
use crate::dialect::{JoinError, Joiner, Piece};
use bytes::Bytes;

/// Members that name the answer: the first leg's count.
const NAMES: [&str; 2] = ["responseId", "modelVersion"];

/// Joins streams.
#[derive(Debug)]
pub(super) struct StreamJoiner {
    framing: Framing,
    run: Run,
    is_later: bool,
    /// The texts of [`NAMES`] in the first leg.
    names: [Option<String>; NAMES.len()],
    /// What the legs before wrote.
    spent: Tokens,
    /// The legs before answered with text, and the running one has not yet.
    separates: bool,
    /// Chunks that were held with the ends of legs, and go down in any case now.
    leftovers: Vec<String>,
    before: End,
}

/// The end of a leg.
#[derive(Debug, Default)]
struct End {
    /// Pieces as they came in the first leg, the data of chunks in later ones.
    held: Held,
    is_later: bool,
    /// The parts among them, as a chunk: they go down when another leg follows.
    leftover: Option<String>,
}

/// The running leg.
#[derive(Debug, Default)]
struct Run {
    spoken: bool,
    ended: bool,
    /// A piece of it could not be joined.
    lost: bool,
    has_text: bool,
    tokens: Tokens,
    said: Said,
    end: End,
}

impl StreamJoiner {
    /// For streams in this form.
    pub(super) fn new(framing: Framing) -> Self {
        Self {
            framing,
            run: Run::default(),
            is_later: false,
            names: [None, None],
            spent: Tokens::default(),
            separates: false,
            leftovers: vec![],
            before: End::default(),
        }
    }
}

impl Joiner for StreamJoiner {
    fn piece(&mut self, piece: &Piece<'_>, out: &mut Vec<Bytes>) -> Result<(), JoinError> {
        if !self.is_later {
            self.first(piece, out);
            return Ok(());
        }
        let joined =
            if self.run.lost { Err(JoinError::OutOfOrder("a lost leg".to_owned())) } else { self.later(piece) };
        self.run.lost |= joined.is_err();
        out.extend(joined?);
        Ok(())
    }

    /// There is no last piece: token counts may follow the finish reason.
    fn is_over(&self) -> bool {
        false
    }

    fn has_spoken(&self) -> bool {
        self.run.spoken
    }

    fn answer(&self) -> Option<Vec<String>> {
        self.run.said.content().filter(|_| !self.run.end.held.has_let_go())
    }

    fn next_leg(&mut self) {
        let run = std::mem::take(&mut self.run);
        self.leftovers.extend(self.before.leftover.take());
        self.before = End { is_later: self.is_later, ..run.end };
        self.is_later = true;
        self.spent.add(run.tokens);
        self.separates |= run.has_text;
    }

    fn lose(&mut self) {
        self.run.lost = true;
    }

    fn end(&mut self, out: &mut Vec<Bytes>) {
        let mut end = if !self.is_later {
            std::mem::take(&mut self.run.end)
        } else if self.run.ended && !self.run.lost {
            self.leftovers.extend(self.before.leftover.take());
            End { is_later: true, ..std::mem::take(&mut self.run.end) }
        } else if !self.run.spoken {
            std::mem::take(&mut self.before)
        } else {
            return;
        };
        if !end.is_later {
            return end.held.release(out);
        }
        out.extend(self.leftovers.drain(..).map(|chunk| self.framing.frame(&chunk)));
        let mut chunks = vec![];
        end.held.release(&mut chunks);
        out.extend(chunks.iter().map(|chunk| self.framing.frame(&String::from_utf8_lossy(chunk))));
        out.extend(self.framing.close());
    }
}

impl StreamJoiner {
    /// Everything passes as it is, however strange; what is strange is not remembered as an answer. Only a text that comes
    /// with the end goes down at once in a chunk of its own: it is for the user, and the end may wait for minutes. That
    /// an end comes with an empty text is what servers write themselves, and what the SDKs and their clients expect.
    fn first(&mut self, piece: &Piece<'_>, out: &mut Vec<Bytes>) {
        let mut held = piece.raw.clone();
        match piece.data.map(Heard::read) {
            Some(Ok(heard)) => {
                self.learn_names(&heard);
                if self.run.hear(&heard).is_err() {
                    // Older models, and some servers before them, end in every chunk (litellm #2195): that was no end.
                    self.run.end.held.let_go(out);
                } else if let Some((now_data, end_data)) = self.run.halves(&heard)
                    && let Some((now, end)) = self.framing.halves(piece, &now_data, &end_data)
                {
                    self.run.end.leftover = leftover(&end_data);
                    self.pass(now, out);
                    held = end;
                } else if heard.finish.is_some() {
                    self.run.end.leftover = heard.leftover();
                }
                self.run.spoken |= heard.has_candidate();
            }
            Some(Err(_)) => self.run.said.lose(),
            None => {}
        }
        match self.run.ended {
            true => self.run.end.held.keep_or_pass(held, out),
            false => self.pass(held, out),
        }
    }

    fn pass(&mut self, bytes: Bytes, out: &mut Vec<Bytes>) {
        self.framing.passed(&bytes);
        out.push(bytes);
    }

    fn learn_names(&mut self, heard: &Heard<'_>) {
        for (name, key) in self.names.iter_mut().zip(NAMES).filter(|(name, _)| name.is_none()) {
            *name = heard.get(key).map(str::to_owned);
        }
    }

    /// What goes down now.
    fn later(&mut self, piece: &Piece<'_>) -> Result<Vec<Bytes>, JoinError> {
        let Some(data) = piece.data else {
            return Ok(if self.run.ended { vec![] } else { vec![SILENCE] });
        };
        let heard = Heard::read(data)?;
        self.run.hear(&heard)?;
        let data = self.rewritten(&heard)?;
        if !self.run.ended {
            return Ok(match (heard.has_candidate(), &self.framing) {
                (true, _) => self.speak(&data),
                (false, Framing::Events) => vec![self.framing.frame(&data)],
                (false, Framing::Array(_)) => vec![SILENCE],
            });
        }
        self.keep_end(data, heard.finish.is_some())
    }

    /// Keeps a chunk back, but for a text that comes with the end.
    fn keep_end(&mut self, data: String, is_end: bool) -> Result<Vec<Bytes>, JoinError> {
        let halves = self.run.halves(&Heard::read(data.as_bytes())?);
        let (now, end) = match halves {
            Some((now, end)) => (self.speak(&now), end),
            None => (vec![], data),
        };
        if is_end {
            self.run.end.leftover = leftover(&end);
        }
        self.run.end.held.keep(end.into())?;
        Ok(now)
    }

    /// A chunk of the running leg, behind what the legs before have left.
    fn speak(&mut self, chunk: &str) -> Vec<Bytes> {
        self.run.spoken = true;
        self.leftovers.extend(self.before.leftover.take());
        let mut out: Vec<Bytes> = self.leftovers.drain(..).map(|chunk| self.framing.frame(&chunk)).collect();
        out.push(self.framing.frame(chunk));
        out
    }

    /// The chunk with the names, the costs and the distance from the text before that it has in the whole answer.
    fn rewritten(&mut self, heard: &Heard<'_>) -> Result<String, JoinError> {
        let unreadable = || JoinError::Unreadable("a chunk".to_owned());
        let apart = match self.separates && heard.parts.iter().any(HeardPart::answers) {
            true => Some(heard.with_parts(&separated(&heard.parts)).ok_or_else(unreadable)?),
            false => None,
        };
        let raw = apart.as_deref().unwrap_or(heard.raw);
        let mut chunk = Rewrite::of(raw).map_err(|_| unreadable())?;
        for (name, key) in self.names.iter().zip(NAMES) {
            if let (Some(name), Some(_)) = (name, heard.get(key)) {
                chunk.set(key, name.as_str());
            }
        }
        if let Some(usage) = heard.get("usageMetadata") {
            chunk.set("usageMetadata", self.spent.joined(usage));
        }
        self.separates &= apart.is_none();
        Ok(chunk.finish())
    }
}

impl Run {
    /// The next chunk of the leg, if it may stand here: behind the finish reason only token counts may.
    fn hear(&mut self, heard: &Heard<'_>) -> Result<(), JoinError> {
        let speaks = heard.finish.is_some() || heard.parts.iter().any(|part| !part.is_empty_text());
        if self.ended && speaks {
            return Err(JoinError::OutOfOrder("content behind the end".to_owned()));
        }
        heard.parts.iter().for_each(|part| self.said.part(part));
        self.has_text |= heard.parts.iter().any(HeardPart::answers);
        self.tokens.read(heard.get("usageMetadata"));
        self.ended |= heard.finish.is_some();
        Ok(())
    }

    /// A chunk that brings both text and a natural end, as two.
    fn halves(&self, heard: &Heard<'_>) -> Option<(String, String)> {
        let is_natural = heard.finish.as_deref() == Some("STOP") && !self.said.has_call();
        if !is_natural || !heard.parts.iter().any(HeardPart::shows_text) {
            return None;
        }
        Some((heard.parts_alone()?, heard.end_alone()?))
    }
}

/// What still goes down of a held chunk when another leg follows.
fn leftover(chunk: &str) -> Option<String> {
    Heard::read(chunk.as_bytes()).ok()?.leftover()
}
