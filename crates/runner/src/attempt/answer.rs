//! Reads, from the files of an attempt's turns, the answers that the agents gave.

use base::project::settings::team::OutputSettings;
use engine::id::TurnId;
use wire::output::OutputKind;

use super::turn_files::TurnFiles;
use super::{AttemptError, AttemptRun};
use crate::outcome::{self, AgentAnswer, AgentResult, AnswerContext, AnswerForm};

impl AttemptRun {
    pub(crate) fn files(&self, turn: TurnId) -> TurnFiles {
        TurnFiles { folder: self.shared.turn_folder(turn) }
    }

    /// Reads a text as the answer of an agent in a turn, in the output format of that agent.
    pub(crate) fn read_answer(&self, turn: TurnId, text: &str) -> AgentAnswer {
        let wanted = match self.worker.member.settings.output() {
            OutputSettings::Handoff => AnswerForm::Document(OutputKind::Handoff),
            OutputSettings::Envelope => AnswerForm::Document(OutputKind::Envelope),
            OutputSettings::Plain => AnswerForm::Plain,
        };
        let input = self.files(turn).record().input();
        outcome::read(text, &AnswerContext { wanted, agent: Some(self.worker.agent), input: input.as_ref() })
    }

    /// Returns the valid result of a turn that has ended. Fails when its answer is not valid.
    pub(crate) fn result(&self, turn: TurnId) -> Result<AgentResult, AttemptError> {
        let answer = self.read_answer(turn, &self.files(turn).answer()?);
        answer.result.ok_or_else(|| AttemptError::Other("the agent's output cannot be read".to_owned()))
    }
}
