//! Gathers the facts of an attempt (one claim of a task). The effects of the agent's outputs are decided from these
//! facts. Also blocks the attempt's task.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use base::service::together::TransactionResult;
use engine::id::AgentId;
use engine::inbox::{MessageDraft, MessageKind};
use engine::task::{BlockKind, Priority, TaskState};
use engine::view::AttemptView as Facts;

use super::shared::RunEvent;
use super::{AttemptError, AttemptRun};
use crate::outcome::route::EscalationRoutes;
use crate::outcome::{self, OutcomeContext, ProgressRecord, StepScope, cut};

impl AttemptRun {
    pub(crate) fn outcome_context<'a>(&'a self, facts: &'a Facts, folder: &'a Path) -> OutcomeContext<'a> {
        OutcomeContext {
            task: &facts.task,
            workflow: &facts.workflow,
            routes: EscalationRoutes { who: Some(&self.worker.member.who), settings: &self.shared.settings.routes },
            folder,
            progress_reports: 0,
            review: None,
            refused_call: None,
        }
    }

    pub(crate) fn step_scope(&self, facts: &Facts) -> StepScope {
        let own: BTreeMap<String, AgentId> =
            self.shared.agents.iter().map(|(slug, worker)| (slug.clone(), worker.agent)).collect();
        StepScope {
            task: self.task,
            attempt: self.attempt,
            agent: self.worker.agent,
            workflow: facts.workflow.id,
            progress: ProgressRecord::Turns,
            own_agents: Arc::new(own),
            is_paused: matches!(facts.task.state, TaskState::Paused { .. }),
        }
    }

    /// Blocks the task, and informs the agent or role that is responsible for this kind of block.
    pub(crate) async fn block(&self, facts: &Facts, kind: BlockKind, reason: String) -> Result<(), AttemptError> {
        let acts = outcome::block(&self.outcome_context(facts, Path::new("")), kind, &reason);
        let steps = outcome::steps(&acts, &self.step_scope(facts));
        let done = self.shared.service.execute_all(self.shared.caller(self.worker.agent), steps).await?;
        self.tell(facts, RunEvent::Blocked { kind: kind.to_string(), reason });
        if let TransactionResult::Now { left_out, .. } = done {
            left_out.iter().for_each(|(name, refusal)| self.warn(&format!("{name}: {refusal}")));
        }
        Ok(())
    }

    /// Returns a message about the task, for a person or for the agent that works on it.
    pub(crate) fn draft(&self, facts: &Facts, kind: MessageKind, (subject, body): (String, String)) -> MessageDraft {
        MessageDraft {
            kind,
            priority: Priority::FIRST,
            subject: Some(subject),
            body: cut(&body),
            body_json: false,
            action_required: true,
            workflow: Some(facts.workflow.id),
            task: Some(self.task),
            reply_to: None,
        }
    }
}
