//! Records the ends of an attempt's turns in the store.

use agents::adapter::TurnSaid;
use agents::program::Ran;
use base::project::budget;
use engine::id::TurnId;
use engine::turn::{Spent, StoredObject, Turn, TurnEnd, TurnResult};
use engine::view::AttemptView as Facts;
use engine::{Command, Json};

use super::AttemptRun;
use super::shared::RunEvent;
use crate::outcome::{OutputVerdict, cut};

/// The data that is stored with a turn when it ends: everything that the program wrote (as a stored object), and the
/// verdict on the output.
pub(crate) type KeptTurn = (Option<StoredObject>, Option<OutputVerdict>);

impl AttemptRun {
    pub(crate) fn ended(&self, facts: &Facts, turn: TurnId, ran: &Ran, (stream, verdict): KeptTurn) -> TurnResult {
        let at = self.now();
        let started = facts.turns.iter().find(|row| row.id == turn).map(|row| row.started);
        let ms = match ran.ended.started_at {
            0 => started.map_or(0, |started| at.0 - started.0),
            began => ran.ended.ended_at - began,
        };
        let verdict = verdict.and_then(|verdict| serde_json::to_string(&verdict).ok()).map(Json::from_stored);
        TurnResult {
            at,
            end: ran.end,
            reason: ran.reason.as_deref().map(cut),
            conversation: ran.said.conversation.clone(),
            spent: spent(facts, &ran.said, u64::try_from(ms).unwrap_or(0)),
            tool_calls: ran.said.tool_calls,
            stream,
            verdict,
            model: ran.said.model.clone(),
        }
    }

    /// Records only the end of a turn, without any effects of the turn's output.
    pub(crate) async fn end(&self, facts: &Facts, turn: TurnId, ended: TurnResult) -> Result<(), base::Error> {
        self.execute(Command::EndTurn { turn, ended: Box::new(ended.clone()) }).await?;
        self.tell_ended(facts, turn, &ended);
        Ok(())
    }

    pub(crate) fn tell_ended(&self, facts: &Facts, turn: TurnId, ended: &TurnResult) {
        let verdict = ended.verdict.as_ref().and_then(|json| OutputVerdict::parse(json.as_str()));
        let (end, reason, spent) = (ended.end, ended.reason.clone(), ended.spent);
        self.tell(facts, RunEvent::Ended { turn, end, reason, verdict, spent, model: ended.model.clone() });
    }
}

/// Returns the record of a turn whose program gave no answer.
pub(crate) fn unheard(end: TurnEnd, reason: &str, ms: u64, at: engine::Timestamp) -> TurnResult {
    TurnResult {
        at,
        end,
        reason: Some(cut(reason)),
        conversation: None,
        spent: Spent { ms, turns: 1, ..Spent::default() },
        tool_calls: 0,
        stream: None,
        verdict: None,
        model: None,
    }
}

/// Returns the cost of this turn alone, without earlier turns of the same conversation.
pub(crate) fn spent(facts: &Facts, said: &TurnSaid, ms: u64) -> Spent {
    let same = |ended: &&TurnResult| ended.conversation.is_some() && ended.conversation == said.conversation;
    let ended = facts.turns.iter().filter_map(Turn::ended).filter(same);
    let earlier = ended.fold(Spent::default(), |sum, ended| sum.and(ended.spent));
    Spent { ms, turns: 1, ..budget::amounts(said.usd, said.tokens, earlier) }
}
