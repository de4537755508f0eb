//! Translates the document with which an agent ends its turn, an output envelope or a handoff contract, to the engine's
//! commands.

use engine::approval::ApprovalRequest;
use engine::checkpoint::Kind;
use engine::command::{Note, Target};
use engine::inbox::{MailboxOwner, MessageDraft, MessageKind, Recipients};
use engine::task::{BlockKind, Priority};
use engine::{Command, Json};

use super::{Acts, LeftPart, TurnFence};
use crate::envelope::{EnvelopeOutput, Recommendation};
use crate::handoff::{HandoffApproval, HandoffContract, HandoffStatus, Ownership};
use crate::json::{Value, object};
use crate::shape::NonBlank;

fn carried(value: &Value) -> Json {
    Json::from_stored(value.to_string())
}

fn moved(turn: TurnFence, to: Target) -> Command {
    Command::Move { task: turn.task, attempt: Some(turn.attempt), to }
}

/// Returns the command that sends a message of an agent to a person, with the highest priority.
fn asks(turn: TurnFence, kind: MessageKind, subject: String, body: String) -> Command {
    let draft = MessageDraft {
        kind,
        priority: Priority::FIRST,
        subject: Some(subject),
        body,
        body_json: false,
        action_required: true,
        workflow: None,
        task: Some(turn.task),
        reply_to: None,
    };
    Command::Send { to: Recipients::One(MailboxOwner::Human), draft }
}

fn records(turn: TurnFence, summary: String, detail: Json) -> Command {
    let note = Note { kind: Kind::Progress, summary, detail: Some(detail), files: Vec::new() };
    Command::AddCheckpoint { task: turn.task, attempt: Some(turn.attempt), note }
}

/// The one act that an agent asks for at the end of its turn. An output envelope and a handoff contract have different
/// words for the same acts.
#[derive(Debug, Clone, PartialEq)]
pub enum TurnAct {
    /// The agent's work is done: `COMPLETE` in a handoff contract, `proceed` in an output envelope.
    Complete { outcome: String, detail: Json },
    /// The agent needs another turn: `IN_PROGRESS` in a handoff contract, `retry` in an output envelope.
    Continue { summary: String, detail: Json },
    /// The agent asks a person: `NEEDS_INPUT` in a handoff contract, `escalate` in an output envelope. `reason` says
    /// why the task pauses.
    Ask { reason: String, question: String },
    /// The agent asks for an approval: `APPROVAL_REQUEST` in a handoff contract. The request has no working folder yet.
    /// The caller adds the working folder, because the agent's document cannot be trusted to name the right folder.
    RequestApproval { reason: String, request: Box<ApprovalRequest> },
    /// The agent cannot continue: `BLOCKED` in a handoff contract.
    Block { kind: BlockKind, reason: String },
}

impl TurnAct {
    pub fn of_output(output: &EnvelopeOutput) -> Self {
        let summary = output.summary.to_string();
        let notes: Vec<Value> =
            output.notes.get().iter().flat_map(|notes| &notes.0).map(|note| note.as_str().into()).collect();
        let files: Vec<Value> = output.artifacts.0.iter().map(|artifact| artifact.path.as_str().into()).collect();
        let question =
            notes.iter().filter_map(Value::as_text).fold(summary.clone(), |body, note| format!("{body}\n- {note}"));
        let detail = carried(&object([("notes", Value::List(notes)), ("files", Value::List(files))]));
        match output.recommendation {
            Recommendation::Proceed => Self::Complete { outcome: summary, detail },
            Recommendation::Retry => Self::Continue { summary, detail },
            Recommendation::Escalate => Self::Ask { reason: summary, question },
        }
    }

    /// Returns the act that a handoff contract asks for. Checks nothing, because every [`HandoffContract`] is valid.
    pub fn of_handoff(contract: &HandoffContract) -> Self {
        let evidence = contract.render().get("evidence_report").cloned().unwrap_or(Value::Null);
        let (next, detail) = (contract.next_action().to_owned(), carried(&evidence));
        match contract.status() {
            HandoffStatus::Complete { .. } => {
                let outcome = contract.summary().map_or_else(|| outputs(contract, &next), str::to_owned);
                Self::Complete { outcome, detail }
            }
            HandoffStatus::Blocked => {
                let (kind, reason) = obstacle(contract);
                Self::Block { kind, reason }
            }
            HandoffStatus::NeedsInput => Self::Ask { reason: next.clone(), question: next },
            HandoffStatus::ApprovalRequest { request } => {
                let request = Box::new(approval_request(request, &next));
                Self::RequestApproval { reason: next, request }
            }
            HandoffStatus::InProgress => Self::Continue { summary: next, detail },
        }
    }

    /// Returns the engine's commands that carry out the agent's request, in the order in which they must be executed.
    pub fn commands(self, turn: TurnFence) -> Vec<Command> {
        match self {
            Self::Complete { outcome, detail } => {
                vec![moved(turn, Target::Completed { outcome: Some(outcome), detail: Some(detail), delivery: None })]
            }
            Self::Continue { summary, detail } => vec![records(turn, summary, detail), Command::Renew],
            Self::Ask { reason, question } => vec![
                moved(turn, Target::Paused { reason: Some(reason) }),
                asks(turn, MessageKind::Question, "An agent needs a decision".to_owned(), question),
            ],
            Self::RequestApproval { reason, request } => vec![
                moved(turn, Target::Paused { reason: Some(reason) }),
                asks(turn, MessageKind::Gate, "An agent asks for approval".to_owned(), approval_text(&request)),
            ],
            Self::Block { kind, reason } => vec![moved(turn, Target::Blocked { kind, reason, role: None })],
        }
    }
}

/// Translates an output envelope (the JSON with which an agent ends its turn) to the engine's commands: complete the
/// task, try again, or ask a person.
pub fn output(output: &EnvelopeOutput, turn: TurnFence) -> Acts {
    let left = [
        LeftPart::when(!output.artifacts.0.is_empty(), "/artifacts", "the program that ran the turn writes the files"),
        LeftPart::when(!output.extra.is_empty(), "", "unknown fields have no meaning"),
    ];
    Acts { commands: TurnAct::of_output(output).commands(turn), left: left.into_iter().flatten().collect() }
}

/// Translates a handoff contract (an agent's report at the end of its turn) to the engine's commands.
pub fn handoff(contract: &HandoffContract, turn: TurnFence) -> Acts {
    let rendered = contract.render();
    let has = |name: &str| rendered.get(name).is_some_and(|found| *found != Value::Null);
    let left = [
        LeftPart::when(
            has("update_contracts"),
            "/update_contracts",
            "project contracts are merged in a transaction of their own",
        ),
        LeftPart::when(
            has("memorialize_suggestions"),
            "/memorialize_suggestions",
            "a person decides what is remembered",
        ),
        LeftPart::when(has("memory_suggestions"), "/memory_suggestions", "a person decides what is remembered"),
        LeftPart::when(has("context_consumption"), "/context_consumption", "it is kept with the turn"),
        LeftPart::when(has("rollback_executed"), "/rollback_executed", "it is kept with the turn"),
        LeftPart::when(has("loop_state"), "/loop_state", "it is kept with the turn"),
    ];
    Acts { commands: TurnAct::of_handoff(contract).commands(turn), left: left.into_iter().flatten().collect() }
}

/// Returns the kind of obstacle that blocks a task, and the reason. The kind decides which role is notified. It is
/// `Dependency` when the agent says that the obstacle is in a part of the system that it does not own, otherwise
/// `Ambiguity`.
pub(crate) fn obstacle(contract: &HandoffContract) -> (BlockKind, String) {
    let kind = match contract.consolidation().map(crate::handoff::Consolidation::ownership_assessment) {
        Some(Ownership::CrossSurfaceDependency | Ownership::NotMySurface) => BlockKind::Dependency,
        Some(Ownership::OwnedHere) | None => BlockKind::Ambiguity,
    };
    let gaps = Some(lines(&contract.evidence().open_gaps)).filter(|gaps| !gaps.trim().is_empty());
    (kind, gaps.unwrap_or_else(|| contract.next_action().to_owned()))
}

fn outputs(contract: &HandoffContract, otherwise: &str) -> String {
    Some(lines(&contract.evidence().key_outputs))
        .filter(|text| !text.is_empty())
        .unwrap_or_else(|| otherwise.to_owned())
}

fn lines(notes: &[crate::handoff::EvidenceNote]) -> String {
    notes.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n")
}

/// Returns the approval request of a handoff contract in the form of the engine. If the request names no operation, the
/// next action of the contract becomes the operation.
fn approval_request(request: &HandoffApproval, next_action: &str) -> ApprovalRequest {
    let text = |found: Option<&NonBlank>| found.map(ToString::to_string).unwrap_or_default();
    ApprovalRequest {
        operation: request.operation.get().map_or_else(|| next_action.to_owned(), ToString::to_string),
        content: text(request.exact_content.get()),
        scope: text(request.scope.get()),
        directory: String::new(),
        risk: request.risk_level.get().map(|risk| risk.word().as_str().to_owned()).unwrap_or_default(),
        rollback: request.rollback.to_string(),
        verification: request.verification.to_string(),
    }
}

/// Returns the text of an approval request, with all facts that a person needs to decide.
fn approval_text(request: &ApprovalRequest) -> String {
    let parts = [
        ("operation", &request.operation),
        ("exact content", &request.content),
        ("scope", &request.scope),
        ("risk", &request.risk),
        ("rollback", &request.rollback),
        ("verification", &request.verification),
    ];
    let said = parts.iter().filter(|(_, text)| !text.is_empty()).map(|(name, text)| format!("{name}: {text}"));
    said.collect::<Vec<_>>().join("\n")
}
