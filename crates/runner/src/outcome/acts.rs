//! Decides the acts (effects on the store) that follow from a valid output. The decision depends only on its arguments.

use std::path::Path;

use engine::Json;
use engine::approval::{ApprovalRequest, Source};
use engine::checkpoint::Kind;
use engine::command::Note;
use engine::id::ReviewId;
use engine::inbox::MessageKind;
use engine::task::{BlockKind, Task};
use engine::turn::progress_limit_reached;
use engine::workflow::Workflow;
use wire::card::Via;
use wire::json::Value;
use wire::translate::TurnAct;

use super::answer::AgentResult;
use super::cut;
use super::lesson::{FindingNote, Lesson};
use super::route::{EscalationRoutes, EscalationTarget};

/// The facts that decide which changes an agent's output makes in the store.
#[derive(Debug, Clone, Copy)]
pub struct OutcomeContext<'a> {
    pub task: &'a Task,
    pub workflow: &'a Workflow,
    pub routes: EscalationRoutes<'a>,
    /// The folder in which the work is done. An approval that the output requests applies to this folder.
    pub folder: &'a Path,
    /// The number of progress reports in a row that came before this output.
    pub progress_reports: u32,
    /// The review of the task. `None` when the task has no review yet.
    pub review: Option<ReviewId>,
    /// The first tool call in this turn that the agent's program was not permitted to make. A person decides on it.
    /// `None` when no call was refused.
    pub refused_call: Option<&'a ApprovalRequest>,
}

/// One effect of an output on the store. All acts of an output take effect in one transaction.
#[derive(Debug, Clone, PartialEq)]
pub enum OutcomeAct {
    /// Merges payloads into a section of the project context (facts that agents have learned about the project).
    MergeSection {
        name: String,
        payloads: Vec<Value>,
    },
    AddCheckpoint(Box<Note>),
    /// Sends the name of the agent that should continue the work to the agents with the role `coordinator`. If no other
    /// agent has this role, a person gets the name.
    SuggestAgent(String),
    DecideFinding {
        review: ReviewId,
        note: FindingNote,
    },
    ReportProgress(Box<Note>),
    /// Pauses the task until a person answers the question.
    AskPerson(PersonQuestion),
    /// Pauses the task until a person decides on the approval request.
    RequestApproval {
        source: Source,
        request: Box<ApprovalRequest>,
    },
    Block {
        kind: BlockKind,
        reason: String,
        role: Option<String>,
    },
    /// Sends a message about the task to the agent or role that an escalation rule names.
    Tell {
        to: EscalationTarget,
        kind: MessageKind,
        subject: String,
        body: String,
    },
}

/// A question for a person, and the reason why the task pauses until the answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PersonQuestion {
    pub reason: String,
    pub question: String,
}

/// The acts (effects on the store) of an agent's output, in the order in which they take effect, and the continuation
/// of the task after them.
#[derive(Debug, Clone, PartialEq)]
pub struct Outcome {
    /// The effects of everything that the output says besides its status, such as facts about the project. They take
    /// effect before `acts`.
    pub lessons: Vec<OutcomeAct>,
    /// The effects that the status of the output causes, such as a question or a block.
    pub acts: Vec<OutcomeAct>,
    pub then: AfterOutcome,
}

/// The continuation of the task after the effects of an output.
#[derive(Debug, Clone, PartialEq)]
pub enum AfterOutcome {
    /// The output says "done". It is verified, and if it passes, the task is completed with this outcome.
    Finish { outcome: String, detail: Json },
    /// The agent continues in another turn.
    Continue,
    /// The task waits for a person, or is blocked.
    Stop,
}

pub fn decide(result: &AgentResult, context: &OutcomeContext<'_>) -> Outcome {
    let mut lessons: Vec<OutcomeAct> = result.lessons.iter().cloned().map(of_lesson).collect();
    if let Some(review) = context.review {
        let decided = result.findings.iter().cloned();
        lessons.extend(decided.map(|note| OutcomeAct::DecideFinding { review, note }));
    }
    let (acts, then) = status_acts(result, context);
    Outcome { lessons, acts, then }
}

fn of_lesson(lesson: Lesson) -> OutcomeAct {
    match lesson {
        Lesson::Section { name, payloads } => OutcomeAct::MergeSection { name, payloads },
        Lesson::Checkpoint(note) => OutcomeAct::AddCheckpoint(note),
        Lesson::NextAgent(name) => OutcomeAct::SuggestAgent(name),
    }
}

/// Returns the acts (effects on the store) that the status of an output causes, and the continuation of the task after
/// them.
fn status_acts(result: &AgentResult, context: &OutcomeContext<'_>) -> (Vec<OutcomeAct>, AfterOutcome) {
    match &result.act {
        // When the work is done, the agent no longer needs the permission that was refused during the turn. So no
        // person is asked for it.
        TurnAct::Complete { detail, .. } => {
            let outcome = cut(result.outcome());
            (Vec::new(), AfterOutcome::Finish { outcome, detail: detail.clone() })
        }
        TurnAct::Continue { summary, detail } => match progress_limit_reached(context.progress_reports, summary) {
            Some(reason) => unfinished(context, block(context, BlockKind::Ambiguity, &reason), AfterOutcome::Stop),
            None => {
                let (summary, detail) = (cut(summary), Some(detail.clone()));
                let note = Note { kind: Kind::Progress, summary, detail, files: Vec::new() };
                unfinished(context, vec![OutcomeAct::ReportProgress(Box::new(note))], AfterOutcome::Continue)
            }
        },
        TurnAct::Ask { reason, question } => unfinished(context, ask(context, reason, question), AfterOutcome::Stop),
        TurnAct::RequestApproval { request, .. } => {
            let request = Box::new(ApprovalRequest { directory: folder(context), ..(**request).clone() });
            let asked = OutcomeAct::RequestApproval { source: Source::Handoff, request };
            unfinished(context, vec![asked], AfterOutcome::Stop)
        }
        TurnAct::Block { kind, reason } => unfinished(context, block(context, *kind, reason), AfterOutcome::Stop),
    }
}

/// Returns the acts (effects on the store) of an output that does not say "done". If the program was not permitted to
/// make a tool call in this turn, the only act is to ask a person about that call, because the output probably just
/// reports the refused call.
fn unfinished(
    context: &OutcomeContext<'_>,
    acts: Vec<OutcomeAct>,
    then: AfterOutcome,
) -> (Vec<OutcomeAct>, AfterOutcome) {
    match context.refused_call {
        Some(request) => {
            let request = Box::new(request.clone());
            (vec![OutcomeAct::RequestApproval { source: Source::Acp, request }], AfterOutcome::Stop)
        }
        None => (acts, then),
    }
}

/// Returns the effects of a block: the task is blocked, and the agent or role that is responsible for this kind of
/// block is informed.
pub fn block(context: &OutcomeContext<'_>, kind: BlockKind, reason: &str) -> Vec<OutcomeAct> {
    let route = context.routes.of_block(kind, reason);
    let mut acts =
        vec![OutcomeAct::Block { kind, reason: cut(reason), role: route.clone().and_then(EscalationTarget::role) }];
    // Send no message to a role, because the engine itself informs the role of a blocked task.
    if let Some(to @ EscalationTarget::Agent(_)) = route {
        let subject = format!("{} is blocked: {kind}", context.task.name);
        acts.push(OutcomeAct::Tell { to, kind: MessageKind::Blocked, subject, body: reason.to_owned() });
    }
    acts
}

/// Returns the effects by which a person is asked. A rule of the agent's card (the file that describes the agent) may
/// require an approval instead of an answer, and may name an agent or role that gets the question, too.
fn ask(context: &OutcomeContext<'_>, reason: &str, question: &str) -> Vec<OutcomeAct> {
    let rule = context.routes.by_card(question);
    let asked = match &rule {
        Some((_, Via::ExecGate)) => OutcomeAct::RequestApproval {
            source: Source::ExecGate,
            request: Box::new(ApprovalRequest {
                operation: base::people::approvals::first_line(question),
                content: question.to_owned(),
                scope: format!("task {} of workflow {}", context.task.name, context.workflow.name),
                directory: folder(context),
                ..ApprovalRequest::default()
            }),
        },
        Some((_, Via::TaskBlocked | Via::Inbox)) | None => {
            OutcomeAct::AskPerson(PersonQuestion { reason: cut(reason), question: question.to_owned() })
        }
    };
    let told = rule.and_then(|(to, _)| match to {
        EscalationTarget::Role(_) | EscalationTarget::Agent(_) => Some(OutcomeAct::Tell {
            to,
            kind: MessageKind::Question,
            subject: format!("{} asks", context.task.name),
            body: question.to_owned(),
        }),
        EscalationTarget::Person => None,
    });
    std::iter::once(asked).chain(told).collect()
}

fn folder(context: &OutcomeContext<'_>) -> String {
    context.folder.display().to_string()
}
