//! Checks a history of concurrent calls on one task. The checker searches for an order of the calls in which every
//! answer is right. The search is the algorithm of Wing and Gong, with the cache of visited states that Lowe added.
//!
//! A call takes effect at one moment between its start and its answer. A call whose client went away takes effect at
//! some moment after its start, or never. When there is no order in which all answers are right, the history is not
//! linearizable. Then the checker returns the shortest part of the history for which there is no such order.

use std::collections::{BTreeSet, HashSet};
use std::fmt;

use crate::lease::{Act, Answer, By, State};

/// One call of one client on one task. The start and the end are ticks of a clock that all clients share.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Call {
    pub(crate) by: By,
    pub(crate) act: Act,
    pub(crate) began: u64,
    /// The answer, and the tick at which it arrived; `None` when the client went away before the answer.
    pub(crate) answer: Option<(u64, Answer)>,
}

impl Call {
    fn ended(&self) -> u64 {
        self.answer.map_or(u64::MAX, |(ended, _)| ended)
    }
}

/// A wrong part of a task's history (the calls on the task and their answers). If these calls had been served one after
/// the other, in any order, at least one answer would have been different.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Offence {
    /// The states in which the task may have been before the first of `calls`.
    pub(crate) before: BTreeSet<State>,
    /// Calls whose answers contradict each other: if the calls had been served one after the other, in any order, at
    /// least one answer would have been different. The last call is the one at which the contradiction appears.
    pub(crate) calls: Vec<Call>,
}

impl fmt::Display for Offence {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "no order explains these calls; the task was before one of {:?}", self.before)?;
        for call in &self.calls {
            let By { agent, now } = call.by;
            writeln!(f, "  {:>5} to {:>5}  at {} {agent} {:?}", call.began, shown(call.ended()), now.0, call.act)?;
            writeln!(f, "         => {:?}", call.answer.map(|(_, answer)| answer))?;
        }
        Ok(())
    }
}

fn shown(tick: u64) -> String {
    if tick == u64::MAX { "never".to_owned() } else { tick.to_string() }
}

/// Checks that there is an order of the calls on one task in which all answers in the history are right. The error is
/// the first part of the history for which there is no such order.
pub(crate) fn check(history: &[Call]) -> Result<(), Offence> {
    let start = BTreeSet::from([State::default()]);
    if !finals(&start, history).is_empty() {
        return Ok(());
    }
    // If the first calls of a history cannot be put in an order in which their answers are right, the whole history
    // cannot either. So search for the first answer that makes such an order impossible.
    let mut ends: Vec<u64> = history.iter().filter_map(|call| Some(call.answer?.0)).collect();
    ends.sort_unstable();
    let failing = ends.partition_point(|end| !finals(&start, &until(history, *end)).is_empty());
    let part = until(history, ends[failing.min(ends.len() - 1)]);
    // The report starts at the last tick at which no answered call was running: calls before and after such a tick do
    // not overlap.
    let answered = || history.iter().filter(|call| call.answer.is_some());
    let is_cut = |tick: u64| answered().all(|call| call.began >= tick || call.ended() < tick);
    let cut = part.iter().map(|call| call.began).filter(|tick| is_cut(*tick)).max().unwrap_or(0);
    let (earlier, mut calls): (Vec<Call>, Vec<Call>) = part.into_iter().partition(|call| call.began < cut);
    // Calls without an answer come first in the output, so that its last line is the call with the wrong answer.
    calls.sort_by_key(|call| call.answer.map_or(0, |(ended, _)| ended));
    Err(Offence { before: finals(&start, &earlier), calls })
}

/// Returns a task's history (all calls on the task) as it was at one tick: without later calls, and without later
/// answers.
fn until(history: &[Call], tick: u64) -> Vec<Call> {
    let begun = history.iter().filter(|call| call.began < tick).cloned();
    begun.map(|call| Call { answer: call.answer.filter(|(ended, _)| *ended <= tick), ..call }).collect()
}

/// Returns the possible states of the task after all calls: one state for each order of the calls in which all answers
/// are right. The set is empty when there is no such order.
fn finals(start: &BTreeSet<State>, history: &[Call]) -> BTreeSet<State> {
    assert!(history.len() <= 128, "a history has at most 128 calls of one task");
    let answered = history.iter().enumerate().filter(|(_, call)| call.answer.is_some());
    let all: u128 = answered.fold(0, |mask, (place, _)| mask | 1 << place);
    let mut found = BTreeSet::new();
    let mut seen: HashSet<(u128, State)> = HashSet::new();
    let mut open: Vec<(u128, State)> = start.iter().map(|state| (0, *state)).collect();
    while let Some((done, state)) = open.pop() {
        if !seen.insert((done, state)) {
            continue;
        }
        if done & all == all {
            found.insert(state);
        }
        let undone = || history.iter().enumerate().filter(|(place, _)| done & (1 << place) == 0);
        let first_end = undone().map(|(_, call)| call.ended()).min().unwrap_or(u64::MAX);
        for (place, call) in undone().filter(|(_, call)| call.began < first_end) {
            let (next, answer) = state.step(call.act, call.by);
            if call.answer.is_none_or(|(_, given)| given == answer) {
                open.push((done | 1 << place, next));
            }
        }
    }
    found
}
