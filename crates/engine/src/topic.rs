//! The topic (the log) in which each event is recorded, and the name of the event in that log.

use crate::delivery::DeliverySubject;
use crate::event::Event;
use crate::id::{AgentId, WorkflowId};
use crate::inbox::MailboxOwner;

/// A topic: one of the logs in which events are recorded.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum Topic {
    Workflow(WorkflowId),
    Agent {
        id: MailboxOwner,
        slug: String,
    },
    Registry,
    /// The log of the changes of the project context, which is the shared knowledge about the project.
    Project,
}

impl std::fmt::Display for Topic {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Workflow(id) => write!(f, "workflows/{id}"),
            Self::Agent { slug, .. } => write!(f, "agents/{slug}"),
            Self::Registry => f.write_str("registry"),
            Self::Project => f.write_str("project"),
        }
    }
}

impl Event {
    /// Returns the topic in which the event is recorded. Returns `None` for an event that is not logged.
    #[expect(clippy::too_many_lines, reason = "names every variant, so that a new one breaks the build here")]
    pub fn topic(&self) -> Option<Topic> {
        match self {
            Self::Registered { agent } => Some(agent_topic(agent.id, &agent.slug)),
            Self::AgentUpdated { agent, slug, .. }
            | Self::Joined { agent, slug, .. }
            | Self::Left { agent, slug }
            | Self::Resumed { agent, slug, .. }
            | Self::SessionClosed { agent, slug, .. } => Some(agent_topic(*agent, slug)),
            Self::Sent { message, slug } => Some(Topic::Agent { id: message.to, slug: slug.clone() }),
            Self::Answered { .. } => Some(Topic::Agent { id: MailboxOwner::Human, slug: "human".to_owned() }),
            Self::Marked { to, slug, .. } => Some(Topic::Agent { id: *to, slug: slug.clone() }),
            Self::WorkflowCreated { workflow, .. } => Some(Topic::Workflow(workflow.id)),
            Self::TaskAdded { task, .. } => Some(Topic::Workflow(task.workflow)),
            Self::TurnStarted { turn } | Self::TurnEnded { turn } => Some(Topic::Workflow(turn.workflow)),
            Self::Verified { verification } => Some(Topic::Workflow(verification.workflow)),
            Self::Delivered { delivery } => Some(Topic::Workflow(delivery.workflow)),
            Self::WorkflowDelivered { delivery } => Some(Topic::Workflow(delivery.workflow)),
            Self::SectionWritten { .. } => Some(Topic::Project),
            Self::ApprovalAsked { approval } | Self::ApprovalMoved { approval } => {
                Some(approval.waiting.map_or(Topic::Registry, |waiting| Topic::Workflow(waiting.workflow)))
            }
            Self::ReviewOpened { review }
            | Self::RoundStarted { review, .. }
            | Self::RoundEnded { review, .. }
            | Self::FindingDecided { review, .. } => {
                Some(review.gate.map_or(Topic::Registry, |gate| Topic::Workflow(gate.workflow)))
            }
            Self::ApprovalShown { waiting, .. } => {
                Some(waiting.map_or(Topic::Registry, |waiting| Topic::Workflow(waiting.workflow)))
            }
            Self::Moved(moved) => Some(Topic::Workflow(moved.workflow)),
            Self::RepositoryAttached { attachment } => Some(Topic::Workflow(attachment.workflow)),
            Self::WorkspaceCreated { workspace } | Self::WorkspaceUpdated { workspace } => {
                Some(Topic::Workflow(workspace.workflow))
            }
            Self::PlanSet { workflow, .. }
            | Self::TaskRemoved { workflow, .. }
            | Self::DependenciesKept { workflow, .. }
            | Self::Replanned { workflow, .. }
            | Self::WorkflowMoved { workflow, .. }
            | Self::WorkflowArchived { workflow, .. }
            | Self::BranchTaken { workflow, .. }
            | Self::WorkflowChanged { workflow, .. }
            | Self::Configured { workflow, .. }
            | Self::Locked { workflow, .. }
            | Self::Unlocked { workflow, .. }
            | Self::RepositoryDetached { workflow, .. }
            | Self::Claimed { workflow, .. }
            | Self::LeaseEnded { workflow, .. }
            | Self::Regained { workflow, .. }
            | Self::TaskPlanned { workflow, .. }
            | Self::CheckpointAdded { workflow, .. }
            | Self::DeliveryMoved { workflow, .. }
            | Self::DeliveryWithdrawn { workflow, .. }
            | Self::ProtectionsRemoved { workflow, .. }
            | Self::WorkspaceAssigned { workflow, .. } => Some(Topic::Workflow(*workflow)),
            Self::RepositoryRegistered { .. }
            | Self::TemplateCreated { .. }
            | Self::TemplateRemoved { .. }
            | Self::ConditionSet { .. }
            | Self::ConditionCleared { .. }
            | Self::TokenCreated { .. }
            | Self::TokenRevoked { .. }
            | Self::CodeOffered { .. }
            | Self::BrowserEnrolled { .. }
            | Self::ItemPutOff { .. }
            | Self::ItemShown { .. } => Some(Topic::Registry),
            Self::Seen { .. }
            | Self::KeysEnded { .. }
            | Self::Reminded { .. }
            | Self::RemindersDropped { .. }
            | Self::Drafting { .. }
            | Self::Staged { .. }
            | Self::DraftCleared { .. }
            | Self::LockRenewed { .. }
            | Self::Renewed { .. }
            | Self::RunnerSeen { .. }
            | Self::RunnerGone { .. }
            | Self::NoticeMoved { .. }
            | Self::ItemsTold { .. }
            | Self::ItemsUntold { .. }
            | Self::BrowserKeyUsed { .. }
            | Self::KeyKept { .. }
            | Self::KeysForgotten => None,
        }
    }

    /// Returns the task that the event is about. Returns `None` when the event is not about one task.
    #[expect(clippy::too_many_lines, reason = "names every variant, so that a new one breaks the build here")]
    pub fn task(&self) -> Option<crate::id::TaskId> {
        match self {
            Self::TaskAdded { task, .. } => Some(task.id),
            Self::Moved(moved) => Some(moved.task),
            Self::CheckpointAdded { checkpoint, .. } => Some(checkpoint.task),
            Self::TurnStarted { turn } | Self::TurnEnded { turn } => Some(turn.task),
            Self::Verified { verification } => Some(verification.task),
            Self::SectionWritten { change } => change.task,
            Self::Delivered { delivery } => Some(delivery.task),
            Self::DeliveryMoved { subject, .. } => match subject {
                DeliverySubject::Task(task) => Some(*task),
                DeliverySubject::Workflow(_) => None,
            },
            Self::ApprovalAsked { approval } | Self::ApprovalMoved { approval } => {
                approval.waiting.map(|waiting| waiting.task)
            }
            Self::ReviewOpened { review }
            | Self::RoundStarted { review, .. }
            | Self::RoundEnded { review, .. }
            | Self::FindingDecided { review, .. } => review.gate.map(|gate| gate.task),
            Self::ApprovalShown { waiting, .. } => waiting.map(|waiting| waiting.task),
            Self::TaskRemoved { task, .. }
            | Self::DependenciesKept { skipped: task, .. }
            | Self::Claimed { task, .. }
            | Self::Renewed { task, .. }
            | Self::LeaseEnded { task, .. }
            | Self::Regained { task, .. }
            | Self::TaskPlanned { task, .. }
            | Self::DeliveryWithdrawn { task, .. }
            | Self::ProtectionsRemoved { task, .. }
            | Self::WorkspaceAssigned { task, .. } => Some(*task),
            Self::Reminded { reminder } => Some(reminder.task),
            Self::Registered { .. }
            | Self::AgentUpdated { .. }
            | Self::Joined { .. }
            | Self::RemindersDropped { .. }
            | Self::Left { .. }
            | Self::Seen { .. }
            | Self::Resumed { .. }
            | Self::KeysEnded { .. }
            | Self::SessionClosed { .. }
            | Self::WorkflowCreated { .. }
            | Self::Drafting { .. }
            | Self::Staged { .. }
            | Self::DraftCleared { .. }
            | Self::PlanSet { .. }
            | Self::Replanned { .. }
            | Self::WorkflowMoved { .. }
            | Self::WorkflowArchived { .. }
            | Self::BranchTaken { .. }
            | Self::WorkflowChanged { .. }
            | Self::Configured { .. }
            | Self::Locked { .. }
            | Self::LockRenewed { .. }
            | Self::Unlocked { .. }
            | Self::RepositoryAttached { .. }
            | Self::RepositoryDetached { .. }
            | Self::RepositoryRegistered { .. }
            | Self::WorkspaceCreated { .. }
            | Self::WorkspaceUpdated { .. }
            | Self::TemplateCreated { .. }
            | Self::TemplateRemoved { .. }
            | Self::TokenCreated { .. }
            | Self::TokenRevoked { .. }
            | Self::CodeOffered { .. }
            | Self::BrowserEnrolled { .. }
            | Self::BrowserKeyUsed { .. }
            | Self::Sent { .. }
            | Self::Answered { .. }
            | Self::Marked { .. }
            | Self::RunnerSeen { .. }
            | Self::RunnerGone { .. }
            | Self::NoticeMoved { .. }
            | Self::ItemsTold { .. }
            | Self::ItemsUntold { .. }
            | Self::ItemPutOff { .. }
            | Self::ItemShown { .. }
            | Self::WorkflowDelivered { .. }
            | Self::ConditionSet { .. }
            | Self::ConditionCleared { .. }
            | Self::KeyKept { .. }
            | Self::KeysForgotten => None,
        }
    }

    /// Returns the name of the event. The log entry of the event has this name as its type.
    #[expect(clippy::too_many_lines, reason = "names every variant, so that a new one breaks the build here")]
    pub fn name(&self) -> &'static str {
        match self {
            Self::Registered { .. } => "registered",
            Self::AgentUpdated { .. } => "agent_updated",
            Self::Left { .. } => "left",
            Self::Seen { .. } => "seen",
            Self::Resumed { .. } => "resumed",
            Self::KeysEnded { .. } => "keys_ended",
            Self::SessionClosed { .. } => "session_closed",
            Self::Joined { .. } => "joined",
            Self::Reminded { .. } => "reminded",
            Self::RemindersDropped { .. } => "reminders_dropped",
            Self::WorkflowCreated { .. } => "workflow_created",
            Self::Drafting { .. } => "drafting",
            Self::Staged { .. } => "staged",
            Self::DraftCleared { .. } => "draft_cleared",
            Self::PlanSet { .. } => "plan_set",
            Self::TaskAdded { .. } => "task_added",
            Self::TaskRemoved { .. } => "task_removed",
            Self::DependenciesKept { .. } => "dependencies_kept",
            Self::Replanned { .. } => "replanned",
            Self::WorkflowMoved { .. } => "workflow_moved",
            Self::WorkflowArchived { .. } => "workflow_archived",
            Self::BranchTaken { .. } => "branch_taken",
            Self::WorkflowChanged { .. } => "workflow_changed",
            Self::Configured { .. } => "configured",
            Self::Locked { .. } => "locked",
            Self::LockRenewed { .. } => "lock_renewed",
            Self::Unlocked { .. } => "unlocked",
            Self::RepositoryAttached { .. } => "repository_attached",
            Self::RepositoryDetached { .. } => "repository_detached",
            Self::Claimed { .. } => "claimed",
            Self::Renewed { .. } => "renewed",
            Self::LeaseEnded { .. } => "lease_ended",
            Self::Regained { .. } => "regained",
            Self::Moved(_) => "moved",
            Self::TaskPlanned { .. } => "task_planned",
            Self::CheckpointAdded { .. } => "checkpoint_added",
            Self::RepositoryRegistered { .. } => "repository_registered",
            Self::WorkspaceCreated { .. } => "workspace_created",
            Self::WorkspaceUpdated { .. } => "workspace_updated",
            Self::WorkspaceAssigned { .. } => "workspace_assigned",
            Self::TemplateCreated { .. } => "template_created",
            Self::TemplateRemoved { .. } => "template_removed",
            Self::TokenCreated { .. } => "token_created",
            Self::TokenRevoked { .. } => "token_revoked",
            Self::CodeOffered { .. } => "code_offered",
            Self::BrowserEnrolled { .. } => "browser_enrolled",
            Self::BrowserKeyUsed { .. } => "browser_key_used",
            Self::TurnStarted { .. } => "turn_started",
            Self::TurnEnded { .. } => "turn_ended",
            Self::Verified { .. } => "verified",
            Self::RunnerSeen { .. } => "runner_seen",
            Self::RunnerGone { .. } => "runner_gone",
            Self::SectionWritten { .. } => "section_written",
            Self::ApprovalAsked { .. } => "approval_asked",
            Self::ApprovalMoved { .. } => "approval_moved",
            Self::ReviewOpened { .. } => "review_opened",
            Self::RoundStarted { .. } => "round_started",
            Self::RoundEnded { .. } => "round_ended",
            Self::FindingDecided { .. } => "finding_decided",
            Self::ApprovalShown { .. } => "approval_shown",
            Self::NoticeMoved { .. } => "notice_moved",
            Self::ItemsTold { .. } => "items_told",
            Self::ItemsUntold { .. } => "items_untold",
            Self::ItemPutOff { .. } => "item_put_off",
            Self::ItemShown { .. } => "item_shown",
            Self::Delivered { .. } => "delivered",
            Self::WorkflowDelivered { .. } => "workflow_delivered",
            Self::DeliveryMoved { .. } => "delivery_moved",
            Self::DeliveryWithdrawn { .. } => "delivery_withdrawn",
            Self::ProtectionsRemoved { .. } => "protections_removed",
            Self::ConditionSet { .. } => "condition_set",
            Self::ConditionCleared { .. } => "condition_cleared",
            Self::Sent { .. } => "sent",
            Self::Answered { .. } => "answered",
            Self::Marked { .. } => "marked",
            Self::KeyKept { .. } => "key_kept",
            Self::KeysForgotten => "keys_forgotten",
        }
    }
}

fn agent_topic(agent: AgentId, slug: &str) -> Topic {
    Topic::Agent { id: MailboxOwner::Agent(agent), slug: slug.to_owned() }
}
