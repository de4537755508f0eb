//! Sums up the turns (runs of the agent's program) of one attempt. The turns are read from the store, so that a runner
//! that continues an attempt after a restart counts the attempt's repairs and progress reports correctly.

use engine::turn::{Purpose, Turn, TurnEnd};

use crate::outcome::{OutputStatus, OutputVerdict};

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Chain {
    /// The number of outputs in a row that were still invalid after the agent was asked to repair them.
    pub repairs: u32,
    /// The number of outputs in a row that report progress. A question to a person between two such outputs neither
    /// counts nor resets the number.
    pub goes_on: u32,
    /// The conversation that the next turn resumes. `None` when the program named no conversation.
    pub conversation: Option<String>,
    /// The number of turns that were started to resolve a merge conflict.
    pub conflicts: u32,
    /// The end of the attempt's last ended turn, and the verdict on its output. The verdict is `None` when the program
    /// gave no answer.
    pub last: Option<(TurnEnd, Option<OutputVerdict>)>,
}

impl Chain {
    /// Sums up the turns of an attempt, oldest first. Skips evaluations and reviews, which are turns of another agent.
    pub(crate) fn of<'t>(turns: impl IntoIterator<Item = &'t Turn>, attempt: u32) -> Self {
        let mut chain = Self::default();
        let own = turns.into_iter().filter(|turn| turn.attempt == attempt && !turn.purpose.is_a_look());
        own.for_each(|turn| chain.add(turn));
        chain
    }

    fn add(&mut self, turn: &Turn) {
        let Some(ended) = turn.ended() else { return };
        let verdict = OutputVerdict::of_turn(turn);
        if ended.conversation.is_some() {
            self.conversation.clone_from(&ended.conversation);
        }
        self.conflicts += u32::from(turn.purpose == Purpose::Conflict);
        // Count only turns with a verdict on their output. A turn whose program did not answer has no verdict.
        if let Some(found) = &verdict {
            self.repairs = match found.says {
                None if turn.purpose == Purpose::Repair => self.repairs + 1,
                None | Some(_) => 0,
            };
            self.goes_on = match found.says {
                Some(OutputStatus::Continues) => self.goes_on + 1,
                Some(OutputStatus::Done | OutputStatus::Blocked) => 0,
                // An output that asks a person pauses the task. It does not count as progress, and does not reset the
                // count either.
                Some(OutputStatus::Asks | OutputStatus::WantsApproval) | None => self.goes_on,
            };
        }
        self.last = Some((ended.end, verdict));
    }
}
