//! Which containers are open.
use super::scan::{Fault, MAX_DEPTH};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Container {
    Array,
    Object,
}

const WORD_BITS: usize = u64::BITS as usize;

/// The open containers, one bit each: hostile nesting costs neither stack nor heap.
pub(super) struct Nesting {
    /// A set bit is an object.
    objects: [u64; MAX_DEPTH / WORD_BITS],
    around: usize,
    depth: usize,
}

impl Nesting {
    pub(super) fn new(around: usize) -> Self {
        Self { objects: [0; MAX_DEPTH / WORD_BITS], around, depth: 0 }
    }

    pub(super) fn push(&mut self, container: Container) -> Result<(), Fault> {
        if self.around + self.depth >= MAX_DEPTH {
            return Err(Fault::TooDeep);
        }
        let word = self.objects.get_mut(self.depth / WORD_BITS).ok_or(Fault::TooDeep)?;
        let bit = 1 << (self.depth % WORD_BITS);
        match container {
            Container::Object => *word |= bit,
            Container::Array => *word &= !bit,
        }
        self.depth += 1;
        Ok(())
    }

    pub(super) fn pop(&mut self) {
        self.depth = self.depth.saturating_sub(1);
    }

    pub(super) fn innermost(&self) -> Option<Container> {
        let index = self.depth.checked_sub(1)?;
        let word = self.objects.get(index / WORD_BITS)?;
        Some(if (word >> (index % WORD_BITS)) & 1 == 1 { Container::Object } else { Container::Array })
    }
}
