//! Agent Wire documents: posting one is doing its act.

use engine::{Actor, Refusal, Reply, Rights};
use wire::json::object;
use wire::lifecycle::{Part, Posted, Said, WirePost};
use wire::message::Payload;
use wire::shape::Shape;

use super::{Answer, Desk, Request, Stopped};

impl Desk {
    pub(super) async fn post(&self, request: &Request<'_>, asked: &WirePost) -> Answer {
        let text = asked.wire.render().to_string();
        let judged = wire::message::judge(text.as_bytes());
        let warnings: Vec<String> = judged.report.codes().1;
        let Some(document) = judged.value else {
            return Err(Stopped::Said(Said {
                code: "INVALID_WIRE",
                message: judged.report.errors().first().map(|first| judged.report.message(first)).unwrap_or_default(),
                recoverable: true,
                suggestion: "correct the document and post it again; `handover check wire` explains".to_owned(),
                details: Some(object([("verdict", judged.report.to_value())])),
            }));
        };
        self.may_send(request, document.sender.as_str()).await?;
        let done = match &document.payload {
            Payload::Brief(_) => "brief",
            Payload::Inbox(_) => "inbox",
            Payload::Complete(_) => "complete",
            Payload::Blocked(_) => "blocked",
            Payload::Claim(_) => "claim",
        };
        if done == "complete" && request.visitor.rights != Rights::Runner {
            let problem = "`complete` is accepted from the runner only, after verification; use task_update_status";
            return Err(Refusal::NotPermitted { problem: problem.to_owned() }.into());
        }
        if done == "brief" && asked.workflow_id.is_none() {
            let problem = "is required: a brief becomes a task of a workflow".to_owned();
            return Err(Refusal::InvalidInput { field: "workflow_id".to_owned(), problem }.into());
        }
        let acts = wire::translate::wire(&document, asked.workflow_id).map_err(|rejection| {
            let (field, problem) = (format!("wire{}", rejection.field), rejection.reason);
            Refusal::InvalidInput { field, problem }
        })?;
        let mut posted = Posted {
            done,
            task_id: None,
            message_id: None,
            success: None,
            attempt: None,
            already_claimed_by: None,
            warnings: (!warnings.is_empty()).then_some(warnings),
        };
        for command in acts.commands {
            request.visitor.seat.map_or(Ok(()), |seat| seat.allows(&command))?;
            let reply = self.service.execute(request.caller.clone(), command).await?;
            note(&mut posted, &reply);
        }
        Ok(posted.render())
    }

    /// A wire says who sent it; that must be who stands here.
    async fn may_send(&self, request: &Request<'_>, sender: &str) -> Result<(), Stopped> {
        let own = match self.acting(request).await? {
            Some(agent) => Some(self.service.view(move |world| world.agent(agent).map(|row| row.slug.clone())).await?),
            None => None,
        };
        let allowed = match sender {
            "human" => request.visitor.rights == Rights::Person,
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
            (None, Rights::Person) => Actor::Person.to_string(),
            (None, Rights::Engine) => Actor::Engine.to_string(),
        };
        let problem = format!("the document is from {sender}, but it is posted by {own}");
        Err(Refusal::NotPermitted { problem }.into())
    }
}

#[expect(clippy::wildcard_enum_match_arm, reason = "the other replies answer commands that no wire becomes")]
fn note(posted: &mut Posted, reply: &Reply) {
    match reply {
        Reply::TaskAdded { task, .. } => posted.task_id = Some(*task),
        Reply::Sent { message, .. } => posted.message_id = Some(*message),
        Reply::Claimed { task, attempt, .. } => {
            posted.task_id = Some(*task);
            posted.success = Some(true);
            posted.attempt = Some(*attempt);
        }
        Reply::AlreadyClaimedBy { agent } => {
            posted.success = Some(false);
            posted.already_claimed_by = Some(*agent);
        }
        Reply::Moved { .. } => posted.success = Some(true),
        _ => {}
    }
}
