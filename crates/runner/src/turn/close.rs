//! Ends a worker's turn: reads the answer, writes the files that it contains, and records the end and all effects of
//! the output in one transaction. If the runner is stopped in between, all of this can run again without a second
//! effect.

use agents::program::Ran;
use base::Error;
use base::service::together::{TransactionResult, TransactionStep};
use engine::approval::{ApprovalRequest, Source};
use engine::id::TurnId;
use engine::turn::{TurnEnd, TurnResult};
use engine::view::AttemptView as Facts;
use engine::{Command, Reply};

use crate::artifacts;
use crate::attempt::place::WorkPlace;
use crate::attempt::shared::RunEvent;
use crate::attempt::{AttemptError, AttemptRun, Chain};
use crate::outcome::{
    self, AgentAnswer, AgentResult, OutcomeAct, OutcomeContext, OutputStatus, OutputVerdict, PersonQuestion,
};

/// One turn of a worker (an agent that works on a task) that is to be closed, and the folder of its work.
pub(crate) struct TurnClose<'a> {
    pub(crate) run: &'a AttemptRun,
    pub(crate) turn: TurnId,
    pub(crate) place: &'a WorkPlace,
}

impl TurnClose<'_> {
    /// Records the end of a turn whose program ended. `refused_call` is the first tool call that the program was not
    /// permitted to make.
    pub(crate) async fn close(&self, ran: Ran, refused_call: Option<ApprovalRequest>) -> Result<(), AttemptError> {
        // Read the facts about the task again, because the agent may have changed the task during the turn.
        let facts = self.run.facts().await?;
        let files = self.run.files(self.turn);
        let stream = files.keep_stream(&self.run.shared.state).await?;
        let mut answer = None;
        if ran.end == TurnEnd::Finished {
            self.run.shared.agent_works(&self.run.worker.member.settings.slug).await;
            files.write_answer(&ran.said.text)?;
            let mut read = self.run.read_answer(self.turn, &ran.said.text);
            read.warnings.extend(ran.said.warnings.iter().cloned());
            self.write_artifacts(&mut read).await?;
            answer = Some(read);
        }
        let verdict = answer.as_ref().map(OutputVerdict::of);
        let ended = self.run.ended(&facts, self.turn, &ran, (stream, verdict));
        let acts = match (answer.as_ref().and_then(|answer| answer.result.as_ref()), refused_call) {
            (Some(result), refused_call) => {
                let outcome = self.decide(&facts, result, refused_call.as_ref());
                outcome.lessons.into_iter().chain(outcome.acts).collect()
            }
            (None, Some(request)) => {
                vec![OutcomeAct::RequestApproval { source: Source::Acp, request: Box::new(request) }]
            }
            (None, None) => Vec::new(),
        };
        let is_valid = answer.is_some_and(|answer| answer.result.is_some());
        self.record(&facts, ended, &acts, is_valid).await
    }

    /// Performs the effects of a turn's output that were not performed when the turn ended.
    pub(crate) async fn settle(&self, facts: &Facts) -> Result<(), AttemptError> {
        let result = self.run.result(self.turn)?;
        let acts = self.decide(facts, &result, None).acts;
        let caller = self.run.shared.once(self.run.worker.agent, self.turn, "settle");
        let steps = outcome::steps(&acts, &self.run.step_scope(facts));
        let done = self.run.shared.service.execute_all(caller, steps).await?;
        self.tell(facts, &acts, &done);
        Ok(())
    }

    fn decide(&self, facts: &Facts, result: &AgentResult, refused_call: Option<&ApprovalRequest>) -> outcome::Outcome {
        let earlier = facts.turns.iter().filter(|turn| turn.id != self.turn);
        let context = self.run.outcome_context(facts, self.place.path());
        outcome::decide(
            result,
            &OutcomeContext {
                progress_reports: Chain::of(earlier, self.run.attempt).goes_on,
                review: facts.review.as_ref().map(|known| known.review.id),
                refused_call,
                ..context
            },
        )
    }

    async fn record(
        &self,
        facts: &Facts,
        ended: TurnResult,
        acts: &[OutcomeAct],
        is_valid: bool,
    ) -> Result<(), AttemptError> {
        let turn = self.turn;
        let end = Command::EndTurn { turn, ended: Box::new(ended.clone()) };
        let mut steps = vec![TransactionStep::of(end)];
        steps.extend(outcome::steps(acts, &self.run.step_scope(facts)));
        let messages = self.run.files(turn).record().shown;
        if is_valid && !messages.is_empty() {
            // If marking the messages as read is refused, they stay unread and are shown again, which is better than
            // losing them.
            steps.push(TransactionStep::of(Command::MarkRead { messages }).optional("mail stays unread"));
        }
        let caller = self.run.shared.once(self.run.worker.agent, turn, "end");
        match self.run.shared.service.execute_all(caller, steps).await {
            Ok(done) => {
                self.run.tell_ended(facts, turn, &ended);
                self.tell(facts, acts, &done);
                Ok(())
            }
            // If the store refuses the effects of the output, because the claim is lost or a mailbox is full, the turn
            // has ended nevertheless. The next step handles the refusal.
            Err(Error::Refused(refusal)) => {
                self.run.end(facts, turn, ended).await?;
                Err(Error::Refused(refusal).into())
            }
            Err(error) => Err(error.into()),
        }
    }

    /// Tells the screen which acts (effects on the store) of the output were executed, and which of them were left out.
    fn tell(&self, facts: &Facts, acts: &[OutcomeAct], done: &TransactionResult) {
        let TransactionResult::Now { replies, left_out } = done else { return };
        for (name, refusal) in left_out {
            self.run.warn(&format!("{name}: {refusal}"));
        }
        let approval = replies.iter().find_map(|reply| {
            if let Reply::ApprovalAsked { approval, .. } = reply { Some(approval.to_string()) } else { None }
        });
        for act in acts {
            match act {
                OutcomeAct::AskPerson(PersonQuestion { question, .. }) => {
                    self.run.tell(facts, RunEvent::Asks { question: question.clone() });
                }
                OutcomeAct::RequestApproval { request, .. } => {
                    let (approval, operation) = (approval.clone().unwrap_or_default(), request.operation.clone());
                    self.run.tell(facts, RunEvent::WantsApproval { approval, operation });
                }
                OutcomeAct::Block { kind, reason, .. } => {
                    self.run.tell(facts, RunEvent::Blocked { kind: kind.to_string(), reason: reason.clone() });
                }
                OutcomeAct::MergeSection { .. }
                | OutcomeAct::AddCheckpoint(_)
                | OutcomeAct::SuggestAgent(_)
                | OutcomeAct::DecideFinding { .. }
                | OutcomeAct::ReportProgress(_)
                | OutcomeAct::Tell { .. } => {}
            }
        }
    }

    /// Writes the files of an output that says "done", all or none. If the output is the reason why they cannot be
    /// written, the answer becomes invalid, so that the agent repairs it.
    async fn write_artifacts(&self, answer: &mut AgentAnswer) -> Result<(), AttemptError> {
        let Some(result) = answer.result.as_ref() else { return Ok(()) };
        if OutputStatus::of(&result.act) != OutputStatus::Done || result.artifacts.is_empty() {
            return Ok(());
        }
        let (files, root) = (result.artifacts.clone(), self.place.path().to_owned());
        let folder = self.run.shared.attempt_folder(self.run.task, self.run.attempt);
        let work = tokio::task::spawn_blocking(move || artifacts::write_output(&root, &folder, &files));
        match work.await.map_err(|error| AttemptError::Other(error.to_string()))? {
            Ok(()) => Ok(()),
            Err(problem) if problem.codes().is_empty() => Err(AttemptError::Other(problem.to_string())),
            Err(problem) => {
                answer.reject(problem.codes());
                Ok(())
            }
        }
    }
}
