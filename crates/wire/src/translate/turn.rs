//! Translates the document that ends a turn, an output envelope or a handoff, to the engine's commands.

use engine::checkpoint::Kind;
use engine::command::{Note, Target};
use engine::inbox::{MailboxOwner, MessageDraft, MessageKind, Recipients};
use engine::task::{BlockKind, Priority};
use engine::{Command, Json};

use super::{Acts, LeftPart, TurnFence};
use crate::envelope::{EnvelopeOutput, Recommendation};
use crate::handoff::{HandoffApproval, HandoffContract, HandoffStatus, Ownership};
use crate::json::{Value, object};

fn carried(value: &Value) -> Json {
    Json::from_stored(value.to_string())
}

fn moved(turn: TurnFence, to: Target) -> Command {
    Command::Move { task: turn.task, attempt: Some(turn.attempt), to }
}

/// Returns the command that sends a question to the person, with the highest priority.
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

fn records(turn: TurnFence, summary: String, detail: &Value) -> Command {
    let note = Note { kind: Kind::Progress, summary, detail: Some(carried(detail)), files: Vec::new() };
    Command::AddCheckpoint { task: turn.task, attempt: Some(turn.attempt), note }
}

/// Translates an output envelope to commands: complete the task, try again, or ask a person.
pub fn output(output: &EnvelopeOutput, turn: TurnFence) -> Acts {
    let summary = output.summary.to_string();
    let notes: Vec<Value> =
        output.notes.get().iter().flat_map(|notes| &notes.0).map(|note| note.as_str().into()).collect();
    let files: Vec<Value> = output.artifacts.0.iter().map(|artifact| artifact.path.as_str().into()).collect();
    let body = notes.iter().filter_map(Value::as_text).fold(summary.clone(), |body, note| format!("{body}\n- {note}"));
    let detail = object([("notes", Value::List(notes)), ("files", Value::List(files))]);
    let commands = match output.recommendation {
        Recommendation::Proceed => {
            vec![moved(turn, Target::Completed { outcome: Some(summary), detail: Some(carried(&detail)) })]
        }
        Recommendation::Retry => vec![records(turn, summary, &detail), Command::Renew],
        Recommendation::Escalate => vec![
            moved(turn, Target::Paused { reason: Some(summary) }),
            asks(turn, MessageKind::Question, "An agent needs a decision".to_owned(), body),
        ],
    };
    let left = [
        LeftPart::when(!output.artifacts.0.is_empty(), "/artifacts", "files are written by whoever ran the turn"),
        LeftPart::when(!output.extra.is_empty(), "", "unknown fields have no meaning"),
    ];
    Acts { commands, left: left.into_iter().flatten().collect() }
}

/// Translates a handoff to commands. Needs no checks, because every [`HandoffContract`] is valid.
pub fn handoff(contract: &HandoffContract, turn: TurnFence) -> Acts {
    let evidence = contract.render().get("evidence_report").cloned().unwrap_or(Value::Null);
    let next = contract.next_action().to_owned();
    let commands = match contract.status() {
        HandoffStatus::Complete { .. } => {
            let outcome = contract.summary().map_or_else(|| outputs(contract, &next), str::to_owned);
            vec![moved(turn, Target::Completed { outcome: Some(outcome), detail: Some(carried(&evidence)) })]
        }
        HandoffStatus::Blocked => {
            let (kind, reason) = obstacle(contract);
            vec![moved(turn, Target::Blocked { kind, reason, role: None })]
        }
        HandoffStatus::NeedsInput => vec![
            moved(turn, Target::Paused { reason: Some(next.clone()) }),
            asks(turn, MessageKind::Question, "An agent needs a decision".to_owned(), next),
        ],
        HandoffStatus::ApprovalRequest { request } => vec![
            moved(turn, Target::Paused { reason: Some(next) }),
            asks(turn, MessageKind::Gate, "An agent asks for approval".to_owned(), approval(request)),
        ],
        HandoffStatus::InProgress => vec![records(turn, next, &evidence), Command::Renew],
    };
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
    Acts { commands, left: left.into_iter().flatten().collect() }
}

/// Returns the kind of a blocked task's obstacle, and the reason. The kind depends on who owns the obstacle, and it
/// decides who is notified.
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

/// Returns the text from which a person can decide about an approval.
fn approval(request: &HandoffApproval) -> String {
    let text = |name: &str, found: Option<&str>| found.map(|text| format!("{name}: {text}"));
    let risk = request.risk_level.get().map(|risk| risk.word().as_str());
    let parts = [
        text("operation", request.operation.get().map(crate::shape::NonBlank::as_str)),
        text("exact content", request.exact_content.get().map(crate::shape::NonBlank::as_str)),
        text("scope", request.scope.get().map(crate::shape::NonBlank::as_str)),
        text("risk", risk),
        text("rollback", Some(request.rollback.as_str())),
        text("verification", Some(request.verification.as_str())),
    ];
    parts.into_iter().flatten().collect::<Vec<_>>().join("\n")
}
