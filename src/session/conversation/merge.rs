//! Two processes changed one conversation: what both did counts.
//!
//! What prepares a request is done under the session's lease, on the record as it was just read. Beside it, answers that come
//! at the same time note what became of them; those notes are made again here on top of the other's.
use super::{Conversation, Turn};

/// `mine` was made from `base`, and so was `theirs`, which is stored.
#[must_use]
pub fn merged(base: &Conversation, mine: &Conversation, theirs: Conversation) -> Conversation {
    let has_baseline = theirs.baseline_set != base.baseline_set || theirs.persistent_from != base.persistent_from;
    let standing = if has_baseline { &theirs } else { mine };
    let (baseline, baseline_set, persistent_from) =
        (standing.baseline.clone(), standing.baseline_set, standing.persistent_from);
    let (tip, tip_answer) = match theirs.tip {
        // They have gone on from there.
        tip if tip != base.tip && tip != mine.tip => (tip, theirs.tip_answer),
        tip if tip == mine.tip => (tip, theirs.tip_answer.or(mine.tip_answer)),
        _ => (mine.tip, mine.tip_answer),
    };
    Conversation {
        first: if mine.first == base.first { theirs.first } else { mine.first },
        keep_history: theirs.keep_history || mine.keep_history,
        ephemeral_from: theirs.ephemeral_from.max(mine.ephemeral_from),
        baseline,
        baseline_set,
        persistent_from,
        tip,
        tip_answer,
        turn: turn(base.turn.as_ref(), mine.turn.as_ref(), theirs.turn.clone()),
        turns_done: theirs.turns_done + mine.turns_done.saturating_sub(base.turns_done),
        last_active: theirs.last_active.max(mine.last_active),
        ..theirs
    }
}

fn turn(base: Option<&Turn>, mine: Option<&Turn>, theirs: Option<Turn>) -> Option<Turn> {
    let (Some(mine), Some(theirs)) = (mine, theirs.clone()) else { return mine.cloned().or(theirs) };
    if mine.id == theirs.id {
        let nothing = Turn { id: mine.id.clone(), ..Turn::default() };
        let base = base.filter(|base| base.id == mine.id).unwrap_or(&nothing);
        return Some(same_turn(base, mine, theirs));
    }
    // Whose turn is the new one; of two new ones the stored one was first.
    let is_old = base.is_some_and(|base| base.id == theirs.id);
    Some(if is_old { mine.clone() } else { theirs })
}

fn same_turn(base: &Turn, mine: &Turn, mut theirs: Turn) -> Turn {
    theirs.done |= mine.done;
    theirs.failed |= mine.failed;
    theirs.requests += mine.requests.saturating_sub(base.requests);
    theirs.continued += mine.continued.saturating_sub(base.continued);
    theirs.placed += mine.placed.saturating_sub(base.placed);
    if mine.rounds != base.rounds {
        theirs.rounds.clone_from(&mine.rounds);
    }
    theirs.beside.extend(mine.beside.iter().skip(base.beside.len()).cloned());
    if mine.done && !base.done {
        // It is over, and with it what was collected in it.
        theirs.output = mine.output;
        theirs.said = mine.said.clone();
        return theirs;
    }
    theirs.output += mine.output.saturating_sub(base.output);
    theirs.said.text.push_str(mine.said.text.strip_prefix(base.said.text.as_str()).unwrap_or_default());
    theirs.said.calls.extend(mine.said.calls.iter().skip(base.said.calls.len()).cloned());
    theirs
}

#[cfg(test)]
mod tests {
    use super::super::{ConversationLayout, Shape};
    use super::*;
    use crate::context::Digest;

    fn conversation(turn: &str) -> Conversation {
        let new = Conversation::new("c".into(), ConversationLayout::Stable, Shape::default());
        let turn = Turn { id: turn.into(), number: 1, ..Turn::default() };
        Conversation { turn: Some(turn), turns_done: 3, nodes: 7, tip: Some(Digest::of(&[b"tip"])), ..new }
    }

    fn change(mut conversation: Conversation, change: impl FnOnce(&mut Conversation, &mut Turn)) -> Conversation {
        let mut turn = conversation.turn.take().unwrap();
        change(&mut conversation, &mut turn);
        conversation.turn = Some(turn);
        conversation
    }

    #[test]
    fn counts_of_both_add_up() {
        let base = conversation("t");
        let mine = change(base.clone(), |c, turn| {
            (c.turns_done, turn.requests, turn.output, turn.placed) = (4, 2, 10, 5);
        });
        let theirs = change(base.clone(), |c, turn| {
            (c.turns_done, c.nodes, turn.requests, turn.output, turn.placed) = (4, 9, 1, 20, 7);
        });
        let both = merged(&base, &mine, theirs);
        let turn = both.turn.unwrap();
        assert_eq!((both.turns_done, both.nodes), (5, 9), "nodes are numbered by who writes them");
        assert_eq!((turn.requests, turn.output, turn.placed), (3, 30, 12));
    }

    #[test]
    fn a_turn_that_ended_has_ended_for_both_and_a_new_one_goes_on() {
        let base = conversation("t1");
        let done = change(base.clone(), |_, turn| turn.done = true);
        assert!(merged(&base, &done, base.clone()).turn.unwrap().done);
        assert!(merged(&base, &base, done.clone()).turn.unwrap().done);
        let next = conversation("t2");
        assert_eq!(merged(&base, &done, next.clone()).turn.unwrap().id, "t2");
        assert_eq!(merged(&base, &next, done).turn.unwrap().id, "t2");
    }

    #[test]
    fn the_tip_is_where_somebody_went_on() {
        let base = conversation("t");
        let answer = Some(Digest::of(&[b"answer"]));
        let answered = Conversation { tip_answer: answer, ..base.clone() };
        let both = merged(&base, &answered, Conversation { last_active: 5, ..base.clone() });
        assert_eq!((both.tip, both.tip_answer, both.last_active), (base.tip, answer, 5));
        let on = Conversation { tip: Some(Digest::of(&[b"next"])), ..base.clone() };
        let both = merged(&base, &answered, on.clone());
        assert_eq!((both.tip, both.tip_answer), (on.tip, None));
        assert_eq!(merged(&base, &on, answered).tip, on.tip);
    }

    #[test]
    fn what_was_said_is_collected_from_both() {
        let said = |text: &str| change(conversation("t"), |_, turn| turn.said.text = text.to_owned());
        let both = merged(&said("a"), &said("ab"), said("ac"));
        assert_eq!(both.turn.unwrap().said.text, "acb");
    }
}
