//! The budget of text that hooks place in one turn.
