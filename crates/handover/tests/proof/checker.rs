//! Checks a history of concurrent calls on one task. The checker searches for an order of the calls in which every
//! answer is right. The search is the algorithm of Wing and Gong, with the cache of visited states that Lowe added.
//!
//! A call takes effect at one moment between its start and its answer. A call whose client went away takes effect at
//! some moment after its start, or never. When no order explains all answers, the history is not linearizable, and the
//! checker returns the shortest part of it that already has no explanation.

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

/// The part of a history for which no order of the calls explains all answers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Offence {
    /// The possible states of the task before the unexplained part of the history.
    pub(crate) before: BTreeSet<State>,
    /// The calls of the unexplained part of the history. The last one is the call whose answer has no explanation.
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

/// Checks a task's history. The error is the first part of it that no order of the calls explains.
pub(crate) fn check(history: &[Call]) -> Result<(), Offence> {
    let start = BTreeSet::from([State::default()]);
    if !finals(&start, history).is_empty() {
        return Ok(());
    }
    // If the calls at the start of a history have no valid order, the whole history has no valid order. So the checker
    // adds the answers one by one until no order is valid.
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
    // Calls without an answer come first in the output, so that the unexplained call is its last line.
    calls.sort_by_key(|call| call.answer.map_or(0, |(ended, _)| ended));
    Err(Offence { before: finals(&start, &earlier), calls })
}

/// Returns the history as it was at one tick: without later calls, and without later answers.
fn until(history: &[Call], tick: u64) -> Vec<Call> {
    let begun = history.iter().filter(|call| call.began < tick).cloned();
    begun.map(|call| Call { answer: call.answer.filter(|(ended, _)| *ended <= tick), ..call }).collect()
}

/// Returns the states in which the task may be after all answers, for every order of the calls that explains the
/// answers. The set is empty when no order explains them.
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
