//! Sums up the turns of one attempt from the stored turns. A runner that continues an attempt after a restart therefore
//! counts its repairs and progress reports correctly.

use engine::turn::{Purpose, Turn, TurnEnd};

use super::next::{OutputVerdict, Says};

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Chain {
    /// The number of repairs in a row that were still invalid.
    pub repairs: u32,
    /// The number of outputs in a row that report progress. A question in between neither counts nor resets the number.
    pub goes_on: u32,
    /// The conversation that the next turn resumes. `None` when the program named no conversation.
    pub conversation: Option<String>,
    /// The number of turns that were started to resolve a merge conflict.
    pub conflicts: u32,
    /// The end of the last turn that ended, and the verdict on its output.
    pub last: Option<(TurnEnd, Option<OutputVerdict>)>,
}

impl Chain {
    /// Sums up the turns of an attempt, oldest first. Skips evaluations and reviews, which are turns of another agent.
    pub fn of<'t>(turns: impl IntoIterator<Item = &'t Turn>, attempt: u32) -> Self {
        let mut chain = Self::default();
        let own = turns.into_iter().filter(|turn| turn.attempt == attempt && !turn.purpose.is_a_look());
        own.for_each(|turn| chain.add(turn));
        chain
    }

    fn add(&mut self, turn: &Turn) {
        let Some(ended) = turn.ended() else { return };
        let verdict = ended.verdict.as_ref().and_then(|json| serde_json::from_str::<OutputVerdict>(json.as_str()).ok());
        if ended.conversation.is_some() {
            self.conversation.clone_from(&ended.conversation);
        }
        self.conflicts += u32::from(turn.purpose == Purpose::Conflict);
        // Counts only turns with a verdict. A turn has none when its program did not answer.
        if let Some(found) = &verdict {
            self.repairs = match found.says {
                None if turn.purpose == Purpose::Repair => self.repairs + 1,
                None | Some(_) => 0,
            };
            self.goes_on = match found.says {
                Some(Says::GoesOn) => self.goes_on + 1,
                Some(Says::Done | Says::Blocked) => 0,
                // A question pauses the task. It does not count as progress, and does not reset the count either.
                Some(Says::Asks | Says::WantsApproval) | None => self.goes_on,
            };
        }
        self.last = Some((ended.end, verdict));
    }
}

#[cfg(test)]
mod tests {
    use engine::id::{AgentId, TaskId, TurnId, WorkflowId};
    use engine::turn::{Spent, TurnResult, TurnState};
    use engine::{Json, Timestamp};

    use super::super::next::{NextStep, next};
    use super::*;

    /// Builds a chain from words, one word for each turn. A word is `purpose:says`. The part `says` is a status of
    /// [`Says`], `bad` for an invalid output, or `silent` for no output.
    fn chain(words: &str) -> Chain {
        let turn = |word: &str| {
            let (purpose, says) = word.split_once(':').unwrap_or(("first", word));
            let verdict = (says != "silent").then(|| {
                let says = if says == "bad" { "null".to_owned() } else { format!("\"{says}\"") };
                format!(r#"{{"kind":"handoff","says":{says},"codes":[],"warnings":[],"summary":"s"}}"#)
            });
            Turn {
                id: TurnId::FIRST,
                task: TaskId::FIRST,
                workflow: WorkflowId::FIRST,
                agent: AgentId::FIRST,
                attempt: 1,
                number: 1,
                purpose: Purpose::parse(purpose).unwrap_or(Purpose::First),
                adapter: "exec".to_owned(),
                runner: "here".to_owned(),
                started: Timestamp(0),
                state: TurnState::Ended(Box::new(TurnResult {
                    at: Timestamp(0),
                    end: TurnEnd::Finished,
                    reason: None,
                    conversation: None,
                    spent: Spent::default(),
                    tool_calls: 0,
                    stream: None,
                    verdict: verdict.map(Json::from_stored),
                })),
            }
        };
        let turns: Vec<Turn> = words.split_whitespace().map(turn).collect();
        Chain::of(&turns, 1)
    }

    /// Returns the next step after these turns. The last word is the turn that just ended.
    fn then(turns: &str) -> String {
        let chain = chain(turns);
        let Some((_, Some(verdict))) = chain.last.clone() else { return "nothing".to_owned() };
        let next = next(&verdict, &chain, 2);
        if let NextStep::GiveUp { kind, .. } = next { kind.to_string() } else { format!("{next:?}") }
    }

    #[test]
    fn the_table_of_the_rules() {
        let cases = [
            ("done", "Finish"),
            ("goes_on", "GoOn"),
            ("asks", "Ask"),
            ("wants_approval", "AskApproval"),
            ("blocked", "Block"),
            // Two repairs are allowed, a third one is not.
            ("bad", "Repair"),
            ("bad repair:bad", "Repair"),
            ("bad repair:bad repair:bad", "verification_fail"),
            ("bad repair:bad repair:done", "Finish"),
            // A valid output in between resets the count of repairs.
            ("bad repair:goes_on next:bad repair:bad", "Repair"),
            // A turn whose program did not answer does not count as a repair.
            ("bad repair:silent repair:bad", "Repair"),
            ("goes_on next:goes_on", "GoOn"),
            ("goes_on next:goes_on next:goes_on", "ambiguity"),
            // A question and its answer in between neither count nor reset the number.
            ("goes_on next:asks answer:goes_on next:goes_on", "ambiguity"),
            ("goes_on next:goes_on next:done", "Finish"),
            ("goes_on evaluation:goes_on next:goes_on", "GoOn"),
        ];
        for (turns, expected) in cases {
            assert_eq!(then(turns), expected, "{turns}");
        }
    }
}
