//! Translates the engine's state to documents of the protocols.

use engine::inbox::Message;
use engine::task::{BlockKind, Task, TaskState};
use engine::{Actor, Timestamp};

use crate::envelope::{self, AnyOrNull, CallPosition, EnvelopeInput};
use crate::message::{
    self, Blocked, BlockerType, Complete, Id, InboxMessage, MessageType, Sender, Wire, WirePayload, WirePriority,
    WireVerification,
};
use crate::path::InsidePath;
use crate::shape::{Integer, ListShape, Map, Maybe, Measure, NonBlank, Summary, Text};
use crate::time::DateTime;

/// The money and the time that an agent's turn cost.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct TurnCost {
    pub usd: f64,
    pub seconds: f64,
}

/// The data for an input envelope, the JSON that an agent gets with its task.
#[derive(Debug, Clone, PartialEq)]
pub struct TaskInput<'a> {
    pub feature: Option<&'a str>,
    pub workflow: &'a str,
    /// The number of the agent's turn within its attempt at the task. The first turn is 1.
    pub iteration: u32,
    pub action: &'a str,
    pub params: Vec<(String, crate::json::Value)>,
    /// The names and the paths of the task's files. The paths are relative to the repository.
    pub paths: Vec<(String, String)>,
    /// The notes of finished tasks, oldest first, without the names of the agents that wrote them.
    pub notes: Vec<String>,
}

/// Returns the input envelope, the JSON with which an agent starts its turn. Returns `None` when a value in `given` is
/// not legal, such as a blank name of the workflow or a path outside the repository.
pub fn input(given: TaskInput<'_>) -> Option<EnvelopeInput> {
    let path = |(name, path): (String, String)| Some((name, InsidePath::new(path)?));
    let notes: Vec<Text> = given.notes.into_iter().filter_map(Text::new).collect();
    Some(EnvelopeInput {
        context: CallPosition {
            feature_id: given.feature.and_then(NonBlank::new),
            workflow: NonBlank::new(given.workflow)?,
            iteration: Integer::new(u64::from(given.iteration))?,
            extra: Vec::new(),
        },
        paths: Map(given.paths.into_iter().map(path).collect::<Option<_>>()?),
        task: envelope::EnvelopeTask {
            action: NonBlank::new(given.action)?,
            params: Map(given.params.into_iter().map(|(name, value)| (name, AnyOrNull(value))).collect()),
            extra: Vec::new(),
        },
        prior_context: if notes.is_empty() { Maybe::Absent } else { Maybe::Is(ListShape(notes)) },
        extra: Vec::new(),
    })
}

fn sender(actor: &str) -> Option<Sender> {
    Sender::new(actor)
}

/// Returns a stored message as an Agent Wire message. `from` and `to` are the slugs of the agents, which the stored
/// message does not contain. `from` is ignored when the sender is a person, the runner or the engine.
pub fn inbox(message: &Message, from: &str, to: &str) -> Option<Wire> {
    let kind = MessageType::parse(message.draft.kind.as_str())?;
    let from = match message.from {
        Actor::Agent(_) | Actor::Coordinator => from.to_owned(),
        Actor::Runner | Actor::Person | Actor::Engine => message.from.to_string(),
    };
    let subject = message.draft.subject.clone().and_then(NonBlank::new);
    let payload = InboxMessage {
        to_agent: crate::shape::Slug::new(to)?,
        priority: WirePriority::new(message.draft.priority.get())?,
        message_type: kind,
        ref_task_id: message.draft.task.and_then(|task| Id::new(task.to_string())).into(),
        subject: subject.or_else(|| NonBlank::new(kind.as_str()))?,
        body: Text::new(message.draft.body.as_str())?,
        action_required: message.draft.action_required,
        extra: Vec::new(),
    };
    Some(Wire {
        sender: sender(&from)?,
        ts: DateTime::from_timestamp(message.at)?,
        payload: WirePayload::Inbox(payload),
        extra: Vec::new(),
    })
}

/// Returns the Agent Wire message by which the runner announces that a task is complete. A summary of more than 150
/// words is cut. Returns `None` when the task is not complete.
pub fn complete(task: &Task, agent: &str, verification: WireVerification, cost: TurnCost) -> Option<Wire> {
    let TaskState::Completed { outcome, .. } = &task.state else { return None };
    let words: Vec<&str> = outcome.split_whitespace().collect();
    let summary = if words.len() > 150 { words[..150].join(" ") } else { outcome.clone() };
    let payload = Complete {
        task_id: Id::new(task.id.to_string())?,
        agent: crate::shape::Slug::new(agent)?,
        output_ref: None,
        summary: Summary::new(summary)?,
        cost_usd: Measure::new(cost.usd)?,
        duration_seconds: Measure::new(cost.seconds)?,
        verification,
        extra: Vec::new(),
    };
    announced(WirePayload::Complete(payload), task.updated)
}

/// Returns the Agent Wire message which says that a task is blocked. Returns `None` when the task is not blocked.
pub fn blocked(task: &Task, agent: &str) -> Option<Wire> {
    let TaskState::Blocked(block) = &task.state else { return None };
    let blocker_type = blocker(block.kind);
    let payload = Blocked {
        task_id: Id::new(task.id.to_string())?,
        agent: crate::shape::Slug::new(agent)?,
        reason: NonBlank::new(block.reason.as_str())?,
        blocker_type,
        suggested_resolution: Maybe::Absent,
        attempts: Integer::new(u64::from(task.attempt))?,
        extra: Vec::new(),
    };
    announced(WirePayload::Blocked(payload), task.updated)
}

pub(crate) fn blocker(kind: BlockKind) -> BlockerType {
    match kind {
        BlockKind::SpecGap => BlockerType::SpecGap,
        BlockKind::Dependency => BlockerType::Dependency,
        BlockKind::ToolFailure => BlockerType::ToolFailure,
        BlockKind::Ambiguity => BlockerType::Ambiguity,
        BlockKind::Resource => BlockerType::Resource,
        BlockKind::VerificationFail => BlockerType::VerificationFail,
    }
}

fn announced(payload: message::WirePayload, at: Timestamp) -> Option<Wire> {
    Some(Wire { sender: sender("runner")?, ts: DateTime::from_timestamp(at)?, payload, extra: Vec::new() })
}
