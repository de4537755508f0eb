//! Posts documents of the Agent Wire protocol, such as task briefs (descriptions of tasks) and messages. Posting a
//! document also does what the document says, such as blocking a task or sending a message.

use engine::approval::Source;
use engine::command::AskApproval;
use engine::id::{ApprovalId, TaskId};
use engine::inbox::{MessageDraft, MessageKind};
use engine::{Actor, Caller, Command, Refusal, Reply, Rights};
use wire::json::object;
use wire::lifecycle::{Posted, ReplyPart, ToolError, WirePost};
use wire::message::{MessageType, WirePayload};
use wire::shape::Shape;
use wire::translate::Rejection;

use super::author::signed_command;
use super::{Desk, Stopped, ToolAnswer, ToolRequest};
use base::error::Error;
use base::people::approvals;
use base::people::seal::Seal;

/// The operation that a message of kind `exec.gate` asks a person to approve.
pub(super) struct Asks {
    operation: String,
    content: String,
    task: Option<TaskId>,
}

impl Asks {
    /// Returns the operation to approve if the message is of kind `exec.gate`; otherwise `None`.
    pub(super) fn by(draft: &MessageDraft) -> Option<Self> {
        (draft.kind == MessageKind::Gate).then(|| Self {
            operation: draft.subject.clone().unwrap_or_else(|| approvals::first_line(&draft.body)),
            content: draft.body.clone(),
            task: draft.task,
        })
    }
}

impl Desk {
    pub(super) async fn post(&self, request: &ToolRequest<'_>, asked: &WirePost) -> ToolAnswer {
        let text = asked.wire.render().to_string();
        let judged = wire::message::judge(text.as_bytes());
        let warnings: Vec<String> = judged.report.codes().1;
        let Some(document) = judged.value else {
            return Err(Stopped::Said(ToolError {
                code: "INVALID_WIRE",
                message: judged.report.errors().first().map(|first| judged.report.message(first)).unwrap_or_default(),
                recoverable: true,
                suggestion: "correct the document and post it again; `handover check wire` explains each problem"
                    .to_owned(),
                details: Some(object([("verdict", judged.report.to_value())])),
            }));
        };
        self.may_send(request, document.sender.as_str()).await?;
        let done = match &document.payload {
            WirePayload::Brief(_) => "brief",
            WirePayload::Inbox(_) => "inbox",
            WirePayload::Complete(_) => "complete",
            WirePayload::Blocked(_) => "blocked",
            WirePayload::Claim(_) => "claim",
        };
        if done == "complete" && request.visitor.rights != Rights::Runner {
            let problem = "only the runner may post `complete`, after verification; use task_update_status";
            return Err(Refusal::NotPermitted { problem: problem.to_owned() }.into());
        }
        let acts = wire::translate::wire(&document, asked.workflow_id).map_err(|rejection| match rejection {
            Rejection::UnknownTask { task } => Refusal::TaskNotFound { task },
            Rejection::WorkflowRequired => {
                let problem = "is required, because a brief becomes a task of a workflow".to_owned();
                Refusal::InvalidInput { field: "workflow_id".to_owned(), problem }
            }
        })?;
        request.visitor.seat.map_or(Ok(()), |seat| seat.allows(&document.payload))?;
        let mut posted = Posted {
            done,
            task_id: None,
            message_id: None,
            approval_id: None,
            success: None,
            attempt: None,
            already_claimed_by: None,
            warnings: (!warnings.is_empty()).then_some(warnings),
        };
        let author = if done == "brief" { self.author(request).await? } else { None };
        for command in acts.commands {
            let command = signed_command(command, author.as_deref());
            let reply = self.service.execute(request.caller.clone(), command).await?;
            self.keep_base(&reply).await;
            note(&mut posted, &document.payload, &reply)?;
        }
        if let WirePayload::Inbox(inbox) = &document.payload
            && inbox.message_type == MessageType::ExecGate
        {
            let task = inbox.ref_task_id.get().and_then(|id| id.as_str().parse::<TaskId>().ok());
            let asks = Asks { operation: inbox.subject.to_string(), content: inbox.body.to_string(), task };
            posted.approval_id = self.ask_exec_gate(request, asks).await?;
        }
        Ok(posted.render())
    }

    /// Asks a person to approve the operation of an `exec.gate` message. If the agent holds the task that the message
    /// names, the task waits for the decision.
    pub(super) async fn ask_exec_gate(
        &self,
        request: &ToolRequest<'_>,
        asks: Asks,
    ) -> Result<Option<ApprovalId>, Stopped> {
        let Some(agent) = self.acting(request).await? else { return Ok(None) };
        let Asks { operation, content, task: named } = asks;
        let held = match named {
            None => None,
            Some(id) => {
                let task = self.service.view(move |world| world.task(id).cloned()).await?;
                (task.holder() == Some(agent)).then_some((task.id, task.attempt))
            }
        };
        let sealed = engine::approval::ApprovalRequest {
            operation,
            content,
            scope: named.map(|task| task.to_string()).unwrap_or_default(),
            ..engine::approval::ApprovalRequest::default()
        };
        let (task, attempt) = (held.map(|(task, _)| task), held.map(|(_, attempt)| attempt));
        let fingerprint = Seal { request: &sealed, task, attempt, agent: Some(agent) }.fingerprint();
        let ask = AskApproval { source: Source::ExecGate, waits: held, request: sealed, fingerprint };
        let caller = Caller { agent: Some(agent), ..request.caller.clone() };
        let reply = self.service.execute(caller, Command::AskApproval(Box::new(ask))).await?;
        let Reply::ApprovalAsked { approval, .. } = reply else { return Err(Error::unexpected(&reply).into()) };
        Ok(Some(approval))
    }

    /// Refuses a posted document that names another sender than the caller.
    async fn may_send(&self, request: &ToolRequest<'_>, sender: &str) -> Result<(), Stopped> {
        let own = match self.acting(request).await? {
            Some(agent) => Some(self.service.view(move |world| world.agent(agent).map(|row| row.slug.clone())).await?),
            None => None,
        };
        let allowed = match sender {
            "human" => request.visitor.rights.is_persons(),
            "runner" => request.visitor.rights == Rights::Runner,
            "system" => false,
            slug => own.as_deref() == Some(slug) || (own.is_none() && request.visitor.may_override()),
        };
        if allowed {
            return Ok(());
        }
        let own = match (own, request.visitor.rights) {
            (Some(slug), _) => slug,
            (None, Rights::Agent) => return Err(Refusal::AgentNotFound { agent: None }.into()),
            (None, Rights::Runner) => Actor::Runner.to_string(),
            (None, Rights::Coordinator) => Actor::Coordinator.to_string(),
            (None, Rights::Person | Rights::Script) => Actor::Person.to_string(),
            (None, Rights::Engine) => Actor::Engine.to_string(),
        };
        let problem = format!("the document names {sender} as its sender, but you are {own}");
        Err(Refusal::NotPermitted { problem }.into())
    }
}

/// Adds the results in the engine's reply to the answer for a posted document. The engine has executed the command of
/// this document, and the kind of the document says which reply is expected.
fn note(posted: &mut Posted, payload: &WirePayload, reply: &Reply) -> Result<(), Stopped> {
    match (payload, reply) {
        (WirePayload::Brief(_), Reply::TaskAdded { task, .. }) => posted.task_id = Some(*task),
        (WirePayload::Inbox(_), Reply::Sent { message, .. }) => posted.message_id = Some(*message),
        (WirePayload::Claim(_), Reply::Claimed { task, attempt, .. }) => {
            posted.task_id = Some(*task);
            posted.success = Some(true);
            posted.attempt = Some(*attempt);
        }
        (WirePayload::Claim(_), Reply::AlreadyClaimedBy { agent }) => {
            posted.success = Some(false);
            posted.already_claimed_by = Some(*agent);
        }
        (WirePayload::Complete(_) | WirePayload::Blocked(_), Reply::Moved { .. }) => posted.success = Some(true),
        (_, other) => return Err(Error::unexpected(other).into()),
    }
    Ok(())
}
