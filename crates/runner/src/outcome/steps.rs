//! Turns the acts (effects on the store) of an agent's output into the commands of one transaction.

use std::collections::BTreeMap;
use std::sync::Arc;

use engine::Command;
use engine::command::{AskApproval, PromptReport, Target};
use engine::id::{AgentId, TaskId, WorkflowId};
use engine::inbox::{MailboxOwner, MessageDraft, MessageKind, RecipientMatch, Recipients};
use engine::task::Priority;
use engine::world::AgentIdNeed;
use wire::translate::{TurnAct, TurnFence};

use super::acts::{OutcomeAct, PersonQuestion};
use super::cut;
use super::route::EscalationTarget;
use base::people::seal::Seal;
use base::service::merged_section;
use base::service::together::TransactionStep;

/// The claim (task, attempt and agent) that the commands are about, and the way in which progress reports are counted.
#[derive(Debug, Clone)]
pub struct StepScope {
    pub task: TaskId,
    pub attempt: u32,
    pub agent: AgentId,
    pub workflow: WorkflowId,
    pub progress: ProgressRecord,
    /// The agents of this runner by slug (short name). If another runner has an agent with the same slug, a message to
    /// this slug goes to the agent of this runner.
    pub own_agents: Arc<BTreeMap<String, AgentId>>,
    /// True when the task is already paused, so that it is not paused again. An earlier runner may have paused the task
    /// and stopped before it asked the person.
    pub is_paused: bool,
}

/// The record in the store by which the progress reports of an agent are counted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ProgressRecord {
    /// The runner counts the progress reports in the stored turns of the attempt.
    Turns,
    /// A person's own session has no turns, so the store counts the progress reports of the session.
    Session(PromptReport),
}

/// Returns the commands for the acts (effects) of an output, in the order of the acts.
pub fn steps(acts: &[OutcomeAct], scope: &StepScope) -> Vec<TransactionStep> {
    acts.iter().flat_map(|act| steps_of(act.clone(), scope)).collect()
}

fn steps_of(act: OutcomeAct, scope: &StepScope) -> Vec<TransactionStep> {
    let (task, attempt) = (scope.task, Some(scope.attempt));
    let one = |command| vec![TransactionStep::of(command)];
    match act {
        // Merging facts into a section of the project context is optional. If the section has an invalid name, or the
        // maximum number of sections is reached, the rest of the agent's output still takes effect.
        OutcomeAct::MergeSection { name, payloads } => {
            let label = format!("section {name}");
            vec![TransactionStep::made(move |world| merged_section(world, &name, &payloads, task)).optional(label)]
        }
        OutcomeAct::AddCheckpoint(note) => one(Command::AddCheckpoint { task, attempt, note: *note }),
        OutcomeAct::SuggestAgent(name) => vec![suggest(&name, scope.agent)],
        OutcomeAct::DecideFinding { review, note } => {
            let label = format!("feedback {}", note.finding);
            let decide = Command::DecideFinding { review, finding: note.finding, decision: note.decision };
            vec![TransactionStep::of(decide).optional(label)]
        }
        OutcomeAct::ReportProgress(note) => match &scope.progress {
            ProgressRecord::Turns => one(Command::AddCheckpoint { task, attempt, note: *note }),
            ProgressRecord::Session(report) => one(Command::GoOn { report: report.clone(), note: *note }),
        },
        OutcomeAct::AskPerson(PersonQuestion { reason, question }) => {
            let fence = TurnFence { task, attempt: scope.attempt };
            let commands = TurnAct::Ask { reason, question }.commands(fence);
            let pauses = |command: &Command| matches!(command, Command::Move { .. });
            let due = commands.into_iter().filter(|command| !(scope.is_paused && pauses(command)));
            due.map(TransactionStep::of).collect()
        }
        OutcomeAct::RequestApproval { source, request } => {
            let seal = Seal { request: &request, task: Some(task), attempt, agent: Some(scope.agent) };
            let (fingerprint, waits) = (seal.fingerprint(), Some((task, scope.attempt)));
            one(Command::AskApproval(Box::new(AskApproval { source, waits, request: *request, fingerprint })))
        }
        OutcomeAct::Block { kind, reason, role } => {
            one(Command::Move { task, attempt, to: Target::Blocked { kind, reason, role } })
        }
        OutcomeAct::Tell { to, kind, subject, body } => tell(scope, &to, kind, (subject, &body)),
    }
}

/// Returns the step that sends a message to the agent or role that an escalation rule names. The step is optional,
/// because the recipient may not exist.
fn tell(
    scope: &StepScope,
    to: &EscalationTarget,
    kind: MessageKind,
    (subject, body): (String, &str),
) -> Vec<TransactionStep> {
    let (recipients, label) = match to {
        EscalationTarget::Agent(slug) => {
            let own = scope.own_agents.get(slug).map(|agent| Recipients::One(MailboxOwner::Agent(*agent)));
            (own.unwrap_or_else(|| Recipients::Slug(slug.clone())), format!("message to {slug}"))
        }
        EscalationTarget::Role(role) => (Recipients::All(holders(role)), format!("message to the role {role}")),
        EscalationTarget::Person => return Vec::new(),
    };
    let draft = MessageDraft {
        kind,
        priority: Priority::FIRST,
        subject: Some(subject),
        body: cut(body),
        body_json: false,
        action_required: true,
        workflow: Some(scope.workflow),
        task: Some(scope.task),
        reply_to: None,
    };
    vec![TransactionStep::of(Command::Send { to: recipients, draft }).optional(label)]
}

fn holders(role: &str) -> RecipientMatch {
    RecipientMatch { role: Some(role.to_owned()), include_silent: true, ..RecipientMatch::default() }
}

/// Returns the step that sends the name of the suggested next agent to all agents with the role `coordinator`, or to a
/// person when no other agent has this role. Handover itself does not follow the suggestion.
fn suggest(name: &str, from: AgentId) -> TransactionStep {
    let draft = MessageDraft {
        kind: MessageKind::Question,
        priority: Priority::DEFAULT,
        subject: Some("An agent suggests who should continue".to_owned()),
        body: cut(name),
        body_json: false,
        action_required: true,
        workflow: None,
        // The message names no task, so the task does not wait for the answer.
        task: None,
        reply_to: None,
    };
    let make = move |world: &engine::World| {
        let coordinators = holders("coordinator");
        let found = world.ask(&AgentIdNeed::Matching(coordinators.clone()))?;
        let to = if found.iter().any(|agent| *agent != from) {
            Recipients::All(coordinators)
        } else {
            Recipients::One(MailboxOwner::Human)
        };
        Ok(Command::Send { to, draft: draft.clone() })
    };
    TransactionStep::made(make).optional("suggestion of the next agent")
}
