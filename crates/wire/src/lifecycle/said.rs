//! Converts the engine's replies to the replies of the tools that agents call.

use engine::Reply;

use super::Call;
use super::answer::{
    Attached, Beat, BroadcastReply, CheckpointReply, ClaimReply, Identified, LeftAnswer, LockReply, Marked, NamedParts,
    PlanReply, Registered, ReplanReply, Replanned, ReplyPart, SentReply, Success, TaskAdded, TaskRemoved,
    WorkflowCreated,
};
use crate::json::Value;

fn done() -> Value {
    Success { success: true }.render()
}

/// Returns the reply to a tool call that runs exactly one command of the engine. Returns `None` when the tool's reply
/// needs more data than the engine's reply has.
#[expect(clippy::too_many_lines, reason = "one match that names every reply")]
pub fn answer(call: &Call, reply: &Reply) -> Option<Value> {
    Some(match reply {
        Reply::Registered { agent, slug, name, resumed, holds, note } => Registered {
            id: *agent,
            name: name.clone(),
            status: if holds.is_empty() { "online" } else { "busy" },
            slug: slug.clone(),
            resumed: *resumed,
            holds: holds.clone(),
            handoff_id: crate::handoff::alias(*agent),
            note: note.clone(),
        }
        .render(),
        Reply::Alive { next_heartbeat_ms } => Beat { success: true, next_heartbeat_ms: next_heartbeat_ms.0 }.render(),
        Reply::Unregistered { released } => LeftAnswer { success: true, tasks_released: *released }.render(),
        Reply::Claimed { attempt, until, .. } => ClaimReply {
            success: true,
            attempt: Some(*attempt),
            lease_expires_at: Some(*until),
            already_claimed_by: None,
        }
        .render(),
        Reply::AlreadyClaimedBy { agent } => {
            ClaimReply { success: false, attempt: None, lease_expires_at: None, already_claimed_by: Some(*agent) }
                .render()
        }
        Reply::CheckpointAdded { checkpoint, sequence } => {
            CheckpointReply { id: *checkpoint, sequence: *sequence }.render()
        }
        Reply::WorkflowCreated { workflow, status, parallel_max } => {
            let Call::WorkflowCreate(made) = call else { return None };
            let (id, name, status) = (*workflow, made.name.to_string(), status.as_str());
            WorkflowCreated { id, name, status, max_parallel_tasks: *parallel_max }.render()
        }
        Reply::PlanSet { workflow, tasks, groups, task_ids } => PlanReply {
            workflow_id: *workflow,
            tasks_created: *tasks,
            parallelizable_groups: groups.clone(),
            status: "ready",
            task_ids: (usize::try_from(*tasks) == Ok(task_ids.len())).then(|| NamedParts(task_ids.clone())),
        }
        .render(),
        Reply::TaskAdded { task, sequence, number } => {
            let Call::WorkflowAddTask(made) = call else { return None };
            let (task_id, workflow_id) = (*task, made.workflow_id);
            TaskAdded { task_id, number: *number, sequence: *sequence, workflow_id }.render()
        }
        Reply::TaskRemoved { task, rewired } => {
            TaskRemoved { removed_task_id: *task, dependencies_rewired: *rewired, tasks_renumbered: 0 }.render()
        }
        Reply::Replanned { added, removed, preserved, status } => {
            let Call::WorkflowReplan(made) = call else { return None };
            ReplanReply {
                workflow_id: made.workflow_id,
                tasks_added: *added,
                tasks_removed: *removed,
                tasks_preserved: *preserved,
                new_status: status.as_str(),
            }
            .render()
        }
        Reply::Locked { owner, since, until } | Reply::LockHeldBy { owner, since, until } => LockReply {
            success: matches!(reply, Reply::Locked { .. }),
            locked_by: owner.clone(),
            locked_at: *since,
            expires_at: *until,
        }
        .render(),
        Reply::RepositoryAttached { repository, added } => {
            let Call::WorkflowAddRepository(made) = call else { return None };
            Attached { workflow_id: made.workflow_id, repository_id: *repository, added_at: *added }.render()
        }
        Reply::TaskReplanned { checkpoint } => Replanned { success: true, checkpoint_id: *checkpoint }.render(),
        Reply::RepositoryRegistered { repository } => Identified { id: repository.to_string() }.render(),
        Reply::TemplateCreated { template } => Identified { id: template.to_string() }.render(),
        Reply::Sent { message, thread, sequence, ahead } => {
            SentReply { id: *message, thread_id: *thread, sequence: *sequence, unread_ahead: *ahead, approval_id: None }
                .render()
        }
        Reply::Broadcast { messages, thread, full } => BroadcastReply {
            sent_count: u32::try_from(messages.len()).unwrap_or(u32::MAX),
            message_ids: messages.clone(),
            thread_id: *thread,
            full: (!full.is_empty()).then(|| full.clone()),
        }
        .render(),
        Reply::Marked { changed } => Marked { success: true, changed: *changed }.render(),
        Reply::AgentUpdated
        | Reply::WorkflowMoved { .. }
        | Reply::WorkflowChanged
        | Reply::Unlocked
        | Reply::RepositoryDetached
        | Reply::Released
        | Reply::Moved { .. }
        | Reply::TaskPlanned
        | Reply::WorkspaceAssigned => done(),
        // Make no tool reply from these replies of the engine. Either no tool runs only the command that gives the
        // reply, or the tool's reply needs more data than the engine's reply has.
        Reply::Renewed { .. }
        | Reply::SessionClosed { .. }
        | Reply::SentBack { .. }
        | Reply::PlanBegun { .. }
        | Reply::DraftCleared { .. }
        | Reply::PlanStaged
        | Reply::Configured
        | Reply::NoTask { .. }
        | Reply::WorkspaceCreated { .. }
        | Reply::WorkspaceUpdated { .. }
        | Reply::TemplateRemoved
        | Reply::TokenCreated { .. }
        | Reply::TokenRevoked
        | Reply::CodeOffered { .. }
        | Reply::BrowserEnrolled { .. }
        | Reply::BrowserKeyUsed { .. }
        | Reply::TurnStarted { .. }
        | Reply::TurnEnded
        | Reply::VerificationRecorded { .. }
        | Reply::RunnerSeen
        | Reply::RunnerForgotten
        | Reply::SectionWritten { .. }
        | Reply::ApprovalAsked { .. }
        | Reply::ApprovalDecided { .. }
        | Reply::ApprovalConsumed
        | Reply::ApprovalRefused { .. }
        | Reply::ApprovalsShown { .. }
        | Reply::NoticeTaken { .. }
        | Reply::NoticeSettled { .. }
        | Reply::ItemsToTell { .. }
        | Reply::ItemsUntold
        | Reply::ItemPutOff { .. }
        | Reply::ItemShown
        | Reply::ListOpened { .. }
        | Reply::WorkflowArchived { .. }
        | Reply::BranchTaken { .. }
        | Reply::BranchOfOther { .. }
        | Reply::ConditionSet { .. }
        | Reply::ConditionCleared { .. }
        | Reply::DeliveryMoved { .. }
        | Reply::DeliveryStands { .. }
        | Reply::ApprovalsExpired { .. }
        | Reply::ReviewOpened { .. }
        | Reply::RoundStarted { .. }
        | Reply::RoundEnded { .. }
        | Reply::FindingDecided { .. }
        | Reply::Answered { .. }
        | Reply::Swept { .. }
        | Reply::KeysForgotten => return None,
    })
}
