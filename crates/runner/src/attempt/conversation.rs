//! Remembers the folder in which the conversation of an attempt began. Clients (such as Claude Code) resume a
//! conversation only in that folder. When the attempt gave its slot (its worktree) up in the meantime, the next turn
//! begins a new conversation.

use std::io;

use engine::id::TurnId;
use engine::view::AttemptView as Facts;
use git::GitProblem;
use serde::{Deserialize, Serialize};

use super::place::{WorkPlace, WorktreeGround};
use super::{AttemptError, AttemptRun, Chain};

/// The file in an attempt's folder that records where the attempt's conversation began.
const FILE: &str = "conversation.json";

/// The worktree or folder in which the attempt's present conversation began, and the first turn that worked there.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct ConversationPlace {
    place: String,
    /// The first turn that worked in `place`. `None` means the first turn of the attempt.
    since: Option<TurnId>,
}

impl AttemptRun {
    /// Returns the conversation that the program can resume in this place, or `None` when it must begin a new one.
    /// `turn` is the turn that is about to start.
    pub(crate) fn conversation_in(
        &self,
        facts: &Facts,
        turn: TurnId,
        place: &WorkPlace,
    ) -> Result<Option<String>, AttemptError> {
        let file = self.shared.attempt_folder(self.task, self.attempt).join(FILE);
        let place = self.shared.ground.place_name(place)?;
        let known = match std::fs::read(&file) {
            Ok(text) => serde_json::from_slice::<ConversationPlace>(&text).ok(),
            Err(error) if error.kind() == io::ErrorKind::NotFound => None,
            Err(error) => return Err(error.into()),
        };
        let since = match known {
            Some(known) if known.place == place => known.since,
            other => {
                let since = other.map(|_| turn);
                std::fs::write(
                    &file,
                    serde_json::to_vec(&ConversationPlace { place, since }).map_err(io::Error::from)?,
                )?;
                since
            }
        };
        let here = facts.turns.iter().skip_while(|row| since.is_some_and(|since| row.id != since));
        Ok(Chain::of(here, self.attempt).conversation)
    }
}

impl WorktreeGround {
    /// Returns a name for the folder of a place. For a slot (a reusable worktree), the name also contains a count,
    /// which grows each time that the slot is given to an owner.
    fn place_name(&self, place: &WorkPlace) -> Result<String, GitProblem> {
        let path = place.path().display();
        let (Some(number), Some(slots)) = (place.slot(), &self.slots) else { return Ok(path.to_string()) };
        let records = slots.pool.records()?;
        let record = records.iter().find(|(found, _)| *found == number);
        Ok(format!("{path} {}", record.map_or(0, |(_, record)| record.uses)))
    }
}
