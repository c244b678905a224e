//! The running leg, and how its bytes become pieces of the client's message: read, bound, joined.
use super::loss::Loss;
use super::pieces::Pieces;
use super::{Bound, Director, LegsBody, Wire};
use crate::context::AnswerForm;
use crate::dialect::{self, AnswerReader, BindError, BoundLeg, Joiner, Pass, Piece};
use crate::gateway::body::Idle;
use crate::gateway::tap::Cut;
use bytes::Bytes;

/// The running leg.
pub(super) struct Leg<B> {
    pub(super) body: B,
    pub(super) idle: Idle,
    pub(super) pieces: Pieces,
    pub(super) reader: Box<dyn AnswerReader>,
    pub(super) bound: Option<BoundLeg>,
    /// All that it says is here.
    pub(super) closed: bool,
    /// So is the end of its bytes.
    pub(super) drained: bool,
}

impl<B> Leg<B> {
    pub(super) fn new(body: B, wire: &Wire) -> Self {
        let dialect = dialect::of(wire.dialect);
        let bind = |bound: &Bound| BoundLeg::new(dialect.binder(wire.form, bound.to.clone()), bound.limit);
        Self {
            body,
            idle: Idle::new(wire.idle_timeout),
            pieces: Pieces::new(wire.form),
            reader: dialect.reader(wire.form),
            bound: wire.binding.as_ref().map(bind),
            closed: false,
            drained: false,
        }
    }
}

impl<D: Director> LegsBody<D> {
    /// Hands pieces to the reader and, through the binder, to the joiner. Why the leg is lost, if it is.
    pub(super) fn feed(&mut self, cut: impl FnOnce(&mut Pieces, &mut dyn FnMut(Piece<'_>))) -> Option<Loss> {
        let Self { leg, joiner, model, ready, wire, is_first, .. } = self;
        let Leg { pieces, reader, bound, .. } = leg;
        let is_first = *is_first;
        let (mut lost, mut out) = (None, Vec::new());
        cut(pieces, &mut |piece| {
            if lost.is_some() {
                return;
            }
            match (piece.data, wire.form) {
                (Some(data), AnswerForm::Json) => reader.body(data),
                (Some(data), _) => reader.event(piece.event, data),
                (None, AnswerForm::Sse) if !is_first && !is_comment(&piece.raw) => return,
                (None, _) => {}
            }
            // A leg that it can't follow has no answer that could be sent back; whether it may go down is the other's question.
            if let Some(model) = model {
                let _ = model.piece(&piece, &mut Vec::new());
            }
            let bound_lost = match bound {
                Some(bound) => passed(joiner.as_mut(), &mut out, |pass| bound.piece(&piece, pass)),
                None => joiner.piece(&piece, &mut out).err().map(Loss::from),
            };
            lost = bound_lost.map(|loss| loss.in_words(piece.data));
        });
        if pieces.is_blind() && lost.is_none() {
            // What nobody could read can be passed on only where nothing stands before it, and no call could be in it.
            if bound.is_some() {
                return Some(Loss::new(Cut::Withheld, "a piece of it is too long to be read"));
            }
            if !is_first {
                return Some(Loss::new(Cut::Broken, "a piece of it is too long to be read"));
            }
        }
        ready.extend(out);
        lost
    }

    /// Lets the binder do something. Why the leg is lost, if it is.
    pub(super) fn bind(
        &mut self,
        act: impl FnOnce(&mut BoundLeg, &mut Pass<'_>) -> Result<(), BindError>,
    ) -> Option<Loss> {
        let Self { leg, joiner, ready, .. } = self;
        let bound = leg.bound.as_mut()?;
        let mut out = Vec::new();
        let lost = passed(joiner.as_mut(), &mut out, |pass| act(bound, pass));
        ready.extend(out);
        lost
    }
}

/// What a binder passes goes to the joiner, and on into `out`. Why the leg is lost, if it is.
fn passed(
    joiner: &mut dyn Joiner,
    out: &mut Vec<Bytes>,
    act: impl FnOnce(&mut Pass<'_>) -> Result<(), BindError>,
) -> Option<Loss> {
    let mut lost = None;
    let bound = act(&mut |piece| {
        if lost.is_none() {
            lost = joiner.piece(&piece, out).err().map(Loss::from);
        }
    });
    lost.or_else(|| bound.err().map(Loss::from))
}

/// Whether these are whole lines that say nothing. Behind others, as half an event is, the end of a message could not be
/// read.
fn is_comment(raw: &[u8]) -> bool {
    let ends = |byte: &u8| matches!(byte, b'\n' | b'\r');
    raw.last().is_some_and(ends) && raw.split(ends).all(|line| line.is_empty() || line.starts_with(b":"))
}
