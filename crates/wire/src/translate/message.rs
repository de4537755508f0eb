//! Translates Agent Wire messages and agent cards (descriptions of agents) to the engine's commands.

use engine::command::{Register, Target};
use engine::id::{TaskId, WorkflowId};
use engine::inbox::{MailboxOwner, MessageDraft, MessageKind, Recipients};
use engine::plan::PlanTask;
use engine::task::Priority;
use engine::{Command, Json};

use super::{Acts, LeftPart};
use crate::card::Card;
use crate::json::{Value, object};
use crate::message::{Blocked, Brief, Complete, Id, InboxMessage, MessageType, Wire, WirePayload};
use crate::shape::Shape;

/// The reason why a legal Agent Wire message cannot be translated to a command.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Rejection {
    /// The message names a task by a text that is not a well-formed id, so the task does not exist.
    UnknownTask { task: String },
    /// The message is a brief, that is, the description of a new task, but the caller does not name the workflow to
    /// which the task is added.
    WorkflowRequired,
}

impl std::fmt::Display for Rejection {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::UnknownTask { task } => write!(f, "there is no task {task}"),
            Self::WorkflowRequired => f.write_str("a brief becomes a task of a workflow, so the workflow is required"),
        }
    }
}

impl std::error::Error for Rejection {}

fn task(id: &Id) -> Result<TaskId, Rejection> {
    id.as_str().parse().map_err(|_| Rejection::UnknownTask { task: id.to_string() })
}

/// Translates an Agent Wire message to the command for the act that it describes. A brief becomes a new task of
/// `workflow`.
pub fn wire(wire: &Wire, workflow: Option<WorkflowId>) -> Result<Acts, Rejection> {
    let one = |command, left: Vec<LeftPart>| Acts { commands: vec![command], left };
    Ok(match &wire.payload {
        WirePayload::Brief(brief) => {
            let workflow = workflow.ok_or(Rejection::WorkflowRequired)?;
            one(planned(brief, workflow), Vec::new())
        }
        WirePayload::Inbox(inbox) => one(sent(inbox)?, Vec::new()),
        WirePayload::Complete(complete) => {
            let left = vec![
                LeftPart { part: "/payload/cost_usd", why: "costs are kept with the turn" },
                LeftPart { part: "/payload/duration_seconds", why: "times are kept with the turn" },
            ];
            one(completed(complete)?, left)
        }
        WirePayload::Blocked(blocked) => one(stopped(blocked)?, Vec::new()),
        WirePayload::Claim(claim) => {
            let left = vec![LeftPart { part: "/payload/role", why: "an agent's role is the one it registered with" }];
            one(Command::Claim { task: task(&claim.task_id)? }, left)
        }
    })
}

fn planned(brief: &Brief, workflow: WorkflowId) -> Command {
    let task = PlanTask {
        description: brief.context.as_ref().map(ToString::to_string),
        brief: Some(Json::from_stored(brief.render().to_string())),
        verify: brief.output_contract.is_verified(),
        ..PlanTask::named(brief.goal.as_str().trim())
    };
    Command::AddTask { workflow, task: Box::new(task), after: None }
}

fn sent(inbox: &InboxMessage) -> Result<Command, Rejection> {
    let kind = match inbox.message_type {
        MessageType::TaskFeedback => MessageKind::Feedback,
        MessageType::StatusUpdate => MessageKind::Status,
        MessageType::TaskBlocked => MessageKind::Blocked,
        MessageType::ExecGate => MessageKind::Gate,
        MessageType::Question => MessageKind::Question,
        MessageType::Info => MessageKind::Info,
    };
    let to = match inbox.to_agent.as_str() {
        "human" => Recipients::One(MailboxOwner::Human),
        slug => Recipients::Slug(slug.to_owned()),
    };
    let draft = MessageDraft {
        kind,
        priority: Priority::try_from(inbox.priority.get()).unwrap_or(Priority::DEFAULT),
        subject: Some(inbox.subject.to_string()),
        body: inbox.body.to_string(),
        body_json: false,
        action_required: inbox.action_required,
        workflow: None,
        task: inbox.ref_task_id.get().map(task).transpose()?,
        reply_to: None,
    };
    Ok(Command::Send { to, draft })
}

fn completed(complete: &Complete) -> Result<Command, Rejection> {
    let detail = object([
        ("output_ref", complete.output_ref.as_ref().map(|found| found.to_string()).into()),
        ("verification", complete.verification.render()),
    ]);
    let to = Target::Completed {
        outcome: Some(complete.summary.to_string()),
        detail: Some(Json::from_stored(Value::to_string(&detail))),
        delivery: None,
    };
    Ok(Command::Move { task: task(&complete.task_id)?, attempt: None, to })
}

fn stopped(blocked: &Blocked) -> Result<Command, Rejection> {
    let kind = blocked.blocker_type.kind();
    let reason =
        match blocked.suggested_resolution.get().map(ToString::to_string).filter(|text| !text.trim().is_empty()) {
            Some(resolution) => format!("{}\nsuggested: {resolution}", blocked.reason),
            None => blocked.reason.to_string(),
        };
    let task = task(&blocked.task_id)?;
    Ok(Command::Move { task, attempt: None, to: Target::Blocked { kind, reason, role: None } })
}

/// Translates an agent card (the description of an agent) to the command that registers the agent.
pub fn card(card: &Card, runtime: &str, role: Option<&str>) -> Acts {
    let register = Register {
        name: card.identity.name.to_string(),
        runtime: runtime.to_owned(),
        role: role.map(str::to_owned),
        slug: Some(card.identity.slug.to_string()),
        capabilities: card.capabilities.0.iter().map(ToString::to_string).collect(),
        workflow: None,
        workspace_path: None,
        metadata: None,
    };
    let why = "it is read from the card when a prompt is made";
    let left = ["/scope", "/constraints", "/escalation_rules", "/output_types", "/working_style", "/voice", "/values"];
    Acts { commands: vec![Command::Register(register)], left: left.map(|part| LeftPart { part, why }).into() }
}
