//! The parts of the state that a command certainly needs. These parts are known before the decision runs, so the store
//! loads all of them in one query.

use crate::check;
use crate::command::{Caller, Command, KeyOwner, PromptReport};
use crate::delivery::DeliverySubject;
use crate::id::TaskId;
use crate::key::KeyId;
use crate::notice::NoticeWay;
use crate::world::{AgentIdNeed, ApprovalNeed, BoolNeed, Need, NumberNeed, PutOffNeed, WorkflowIdNeed};

impl PromptReport {
    fn needs(&self) -> [Need; 2] {
        [Need::Task(self.task), Need::Reminder(self.conversation.clone(), self.part.clone())]
    }
}

impl Command {
    /// Returns the name of the command. It is part of the id of a stored idempotency key and appears in logs.
    #[expect(clippy::too_many_lines, reason = "names every variant, so that a new one breaks the build here")]
    pub fn name(&self) -> &'static str {
        match self {
            Self::Register(_) => "register",
            Self::Heartbeat { .. } => "heartbeat",
            Self::UpdateAgent { .. } => "update_agent",
            Self::Unregister => "unregister",
            Self::Renew => "renew",
            Self::CloseSession { .. } => "close_session",
            Self::Hear { .. } => "hear",
            Self::EndConversation { .. } => "end_conversation",
            Self::SendBack(_) => "send_back",
            Self::GoOn { .. } => "go_on",
            Self::PassGate(_) => "pass_gate",
            Self::CreateWorkflow(_) => "create_workflow",
            Self::OpenList => "open_list",
            Self::ArchiveWorkflow { .. } => "archive_workflow",
            Self::TakeBranch { .. } => "take_branch",
            // A large plan is set in several steps. For the caller these steps are one command, so they have one name.
            Self::SetPlan { .. }
            | Self::BeginPlan { .. }
            | Self::ClearDraft { .. }
            | Self::StagePlan { .. }
            | Self::CommitPlan { .. } => "set_plan",
            Self::AddTask { .. } => "add_task",
            Self::RemoveTask { .. } => "remove_task",
            Self::Replan { .. } => "replan",
            Self::SetWorkflowStatus { .. } => "set_workflow_status",
            Self::Steer { .. } => "steer",
            Self::SetParallelism { .. } => "set_parallelism",
            Self::SetConfig { .. } => "set_config",
            Self::LockWorkflow { .. } => "lock_workflow",
            Self::UnlockWorkflow { .. } => "unlock_workflow",
            Self::AttachRepository { .. } => "attach_repository",
            Self::DetachRepository { .. } => "detach_repository",
            Self::Claim { .. } => "claim",
            Self::ClaimNext { .. } => "claim_next",
            Self::Release { .. } => "release",
            Self::Crash { .. } => "crash",
            Self::Regain { .. } => "regain",
            Self::Move { .. } => "move",
            Self::SendTaskBack { .. } => "send_task_back",
            Self::TakeAsIs { .. } => "take_as_is",
            Self::SetTaskPlan { .. } => "set_task_plan",
            Self::ReplanTask { .. } => "replan_task",
            Self::AddCheckpoint { .. } => "add_checkpoint",
            Self::RegisterRepository { .. } => "register_repository",
            Self::CreateWorkspace(_) => "create_workspace",
            Self::UpdateWorkspace(_) => "update_workspace",
            Self::AssignWorkspace { .. } => "assign_workspace",
            Self::CreateTemplate { .. } => "create_template",
            Self::RemoveTemplate { .. } => "remove_template",
            Self::CreateToken { .. } => "create_token",
            Self::RevokeToken { .. } => "revoke_token",
            Self::OfferCode { .. } => "offer_code",
            Self::EnrolBrowser { .. } => "enrol_browser",
            Self::UseBrowserKey { .. } => "use_browser_key",
            Self::StartTurn(_) => "start_turn",
            Self::EndTurn { .. } => "end_turn",
            Self::RecordVerification(_) => "record_verification",
            Self::SeeRunner { .. } => "see_runner",
            Self::ForgetRunner { .. } => "forget_runner",
            Self::WriteSection { .. } => "write_section",
            Self::AskApproval(_) => "ask_approval",
            Self::DecideApproval { .. } => "decide_approval",
            Self::ConsumeApproval { .. } => "consume_approval",
            Self::ExpireApprovals => "expire_approvals",
            Self::OpenReview(_) => "open_review",
            Self::StartRound(_) => "start_round",
            Self::EndRound(_) => "end_round",
            Self::DecideFinding { .. } => "decide_finding",
            Self::ShowApprovals { .. } => "show_approvals",
            Self::TakeNotice { .. } => "take_notice",
            Self::SettleNotice { .. } => "settle_notice",
            Self::TellItems(_) => "tell_items",
            Self::UntellItems(_) => "untell_items",
            Self::PutOff(_) => "put_off",
            Self::SetCondition { .. } => "set_condition",
            Self::ClearCondition { .. } => "clear_condition",
            Self::MoveDelivery { .. } => "move_delivery",
            Self::DeliverWorkflow { .. } => "deliver_workflow",
            Self::Send { .. } => "send",
            Self::Answer { .. } => "answer",
            Self::MarkRead { .. } => "mark_read",
            Self::Archive { .. } => "archive",
            Self::Sweep { .. } => "sweep",
            Self::ForgetKeys => "forget_keys",
        }
    }

    /// Returns the task that the command is about, or `None` when the command is not about exactly one task. When the
    /// call names no agent, and one of the connection's agents holds this task, that agent acts.
    #[expect(clippy::too_many_lines, reason = "names every variant, so that a new one breaks the build here")]
    pub fn task(&self) -> Option<TaskId> {
        match self {
            Self::Claim { task }
            | Self::Release { task, .. }
            | Self::Crash { task, .. }
            | Self::Regain { task, .. }
            | Self::Move { task, .. }
            | Self::SendTaskBack { task, .. }
            | Self::TakeAsIs { task, .. }
            | Self::SetTaskPlan { task, .. }
            | Self::ReplanTask { task, .. }
            | Self::AddCheckpoint { task, .. }
            | Self::AssignWorkspace { task, .. } => Some(*task),
            Self::Heartbeat { current_task } => *current_task,
            // Return `None` for these commands. Most of them are not about exactly one task. The others have rules of
            // their own that find the agent which acts.
            Self::Register(_)
            | Self::UpdateAgent { .. }
            | Self::Unregister
            | Self::Renew
            | Self::CloseSession { .. }
            | Self::Hear { .. }
            | Self::EndConversation { .. }
            | Self::SendBack(_)
            | Self::GoOn { .. }
            | Self::PassGate(_)
            | Self::CreateWorkflow(_)
            | Self::OpenList
            | Self::ArchiveWorkflow { .. }
            | Self::TakeBranch { .. }
            | Self::SetPlan { .. }
            | Self::BeginPlan { .. }
            | Self::ClearDraft { .. }
            | Self::StagePlan { .. }
            | Self::CommitPlan { .. }
            | Self::AddTask { .. }
            | Self::RemoveTask { .. }
            | Self::Replan { .. }
            | Self::SetWorkflowStatus { .. }
            | Self::Steer { .. }
            | Self::SetParallelism { .. }
            | Self::SetConfig { .. }
            | Self::LockWorkflow { .. }
            | Self::UnlockWorkflow { .. }
            | Self::AttachRepository { .. }
            | Self::DetachRepository { .. }
            | Self::ClaimNext { .. }
            | Self::RegisterRepository { .. }
            | Self::CreateWorkspace(_)
            | Self::UpdateWorkspace(_)
            | Self::CreateTemplate { .. }
            | Self::RemoveTemplate { .. }
            | Self::CreateToken { .. }
            | Self::RevokeToken { .. }
            | Self::OfferCode { .. }
            | Self::EnrolBrowser { .. }
            | Self::UseBrowserKey { .. }
            | Self::StartTurn(_)
            | Self::EndTurn { .. }
            | Self::RecordVerification(_)
            | Self::SeeRunner { .. }
            | Self::ForgetRunner { .. }
            | Self::WriteSection { .. }
            | Self::AskApproval(_)
            | Self::DecideApproval { .. }
            | Self::ConsumeApproval { .. }
            | Self::ExpireApprovals
            | Self::OpenReview(_)
            | Self::StartRound(_)
            | Self::EndRound(_)
            | Self::DecideFinding { .. }
            | Self::ShowApprovals { .. }
            | Self::TakeNotice { .. }
            | Self::SettleNotice { .. }
            | Self::TellItems(_)
            | Self::UntellItems(_)
            | Self::PutOff(_)
            | Self::SetCondition { .. }
            | Self::ClearCondition { .. }
            | Self::MoveDelivery { .. }
            | Self::DeliverWorkflow { .. }
            | Self::Send { .. }
            | Self::Answer { .. }
            | Self::MarkRead { .. }
            | Self::Archive { .. }
            | Self::Sweep { .. }
            | Self::ForgetKeys => None,
        }
    }

    /// Returns true when the caller gets the reply to this command. Such a reply is stored under the idempotency key of
    /// the call. A large plan is set in several steps, and the caller gets only the reply to the last step.
    pub fn is_final(&self) -> bool {
        !matches!(self, Self::BeginPlan { .. } | Self::ClearDraft { .. } | Self::StagePlan { .. })
    }

    /// Returns the needs (parts of the state to load) that are known before the decision runs. The decision asks for
    /// all further needs.
    #[expect(clippy::too_many_lines, reason = "one match that names every command")]
    pub fn scope(&self, caller: &Caller) -> Vec<Need> {
        let mut needs = Vec::with_capacity(4);
        let key = caller.key.as_ref().filter(|key| check::key("idempotency_key", &key.key).is_ok());
        let owner = key.and_then(|key| match (&key.owner, caller.agent) {
            (KeyOwner::Fixed(owner), _) => Some(owner.clone()),
            // Usually the acting agent is the agent that the call names. So the answer that is stored under this
            // agent's idempotency key is loaded. If the decision needs an answer that is stored under another owner, it
            // requests that answer later.
            (KeyOwner::Acting { tool, .. }, Some(agent)) => Some(format!("{agent} {tool}")),
            (KeyOwner::Acting { .. }, None) => None,
        });
        if let (Some(key), Some(owner)) = (key, owner) {
            needs.push(Need::Key(KeyId { owner, act: self.name().to_owned(), key: key.key.clone() }));
        }
        match (caller.agent, caller.session) {
            (Some(agent), _) => needs.push(Need::Agent(agent)),
            (None, Some(session)) => needs.push(AgentIdNeed::OfSession(session).into()),
            (None, None) => {}
        }
        match self {
            Self::Claim { task }
            | Self::Release { task, .. }
            | Self::Crash { task, .. }
            | Self::Regain { task, .. }
            | Self::Move { task, .. }
            | Self::ReplanTask { task, .. }
            | Self::AddCheckpoint { task, .. }
            | Self::AssignWorkspace { task, .. } => needs.push(Need::Task(*task)),
            Self::SetTaskPlan { task, .. } => needs.extend([Need::Task(*task), Need::Detail(*task)]),
            Self::SendTaskBack { task, .. } | Self::TakeAsIs { task, .. } => {
                needs.extend([Need::Task(*task), Need::Detail(*task), Need::Delivery(*task)]);
            }
            Self::SendBack(sent) => needs.extend(sent.report.needs()),
            Self::GoOn { report, .. } => needs.extend(report.needs()),
            Self::PassGate(asked) => needs.push(ApprovalNeed::Sealed(asked.asked.fingerprint.clone()).into()),
            Self::EndConversation { conversation } => {
                needs.push(AgentIdNeed::OfConversation(conversation.clone()).into())
            }
            Self::StartTurn(start) => needs.push(Need::Task(start.task)),
            Self::EndTurn { turn, .. } => needs.push(Need::Turn(*turn)),
            Self::RecordVerification(found) => needs.push(Need::Task(found.task)),
            Self::WriteSection { name, .. } => needs.push(Need::Section(name.clone())),
            Self::DecideApproval { approval, .. } | Self::ConsumeApproval { approval, .. } => {
                needs.push(Need::Approval(*approval));
            }
            Self::ShowApprovals { approvals, .. } => needs.extend(approvals.iter().copied().map(Need::Approval)),
            Self::TellItems(telling) => needs.push(Need::ToldItems(telling.way)),
            Self::UntellItems(untelling) => needs.push(Need::ToldItems(untelling.way)),
            // The rule does not read the told items. Their locks keep another command from recording a notice about the
            // same item at the same time.
            Self::PutOff(_) => {
                needs.push(PutOffNeed.into());
                needs.extend(NoticeWay::ALL.iter().map(|way| Need::ToldItems(*way)));
            }
            Self::SettleNotice { approval, channel, .. } => {
                needs.extend([Need::Approval(*approval), Need::Notice(*approval, *channel)]);
            }
            Self::SetCondition { kind, subject, .. } | Self::ClearCondition { kind, subject } => {
                // Do not ask for the condition when its subject is invalid, for example when it contains a zero byte.
                // PostgreSQL would fail with such a text, and the rule refuses the command anyway.
                if check::path("subject", subject).is_ok() {
                    needs.push(Need::Condition(*kind, subject.clone()));
                }
            }
            Self::MoveDelivery { subject, .. } => match subject {
                DeliverySubject::Task(task) => needs.extend([Need::Task(*task), Need::Delivery(*task)]),
                DeliverySubject::Workflow(workflow) => {
                    needs.extend([Need::Workflow(*workflow), Need::WorkflowDelivery(*workflow)]);
                }
            },
            Self::Answer { message, .. } => needs.push(Need::Message(*message)),
            Self::OpenReview(open) => needs.extend(open.gate.map(|(task, _)| Need::Task(task))),
            Self::StartRound(start) => {
                needs.extend([Need::Review(start.review), Need::Round(start.review, start.number)]);
            }
            Self::EndRound(end) => needs.extend([Need::Review(end.review), Need::Round(end.review, end.number)]),
            Self::DecideFinding { review, .. } => needs.push(Need::Review(*review)),
            Self::ClaimNext { workflow, .. }
            | Self::SetPlan { workflow, .. }
            | Self::BeginPlan { workflow, .. }
            | Self::ClearDraft { workflow, .. }
            | Self::StagePlan { workflow, .. }
            | Self::CommitPlan { workflow, .. }
            | Self::AddTask { workflow, .. }
            | Self::RemoveTask { workflow, .. }
            | Self::Replan { workflow, .. }
            | Self::SetWorkflowStatus { workflow, .. }
            | Self::Steer { workflow, .. }
            | Self::SetParallelism { workflow, .. }
            | Self::SetConfig { workflow, .. }
            | Self::LockWorkflow { workflow, .. }
            | Self::UnlockWorkflow { workflow, .. }
            | Self::AttachRepository { workflow, .. }
            | Self::DetachRepository { workflow, .. }
            | Self::ArchiveWorkflow { workflow, .. }
            | Self::DeliverWorkflow { workflow, .. }
            | Self::Sweep { workflow } => needs.push(Need::Workflow(*workflow)),
            Self::OpenList => needs.push(WorkflowIdNeed::Standing.into()),
            Self::TakeBranch { workflow, branch } => {
                needs.extend([Need::Workflow(*workflow), WorkflowIdNeed::WithBranch(branch.clone()).into()]);
            }
            Self::Register(_)
            | Self::Heartbeat { .. }
            | Self::UpdateAgent { .. }
            | Self::Unregister
            | Self::Renew
            | Self::CloseSession { .. }
            | Self::Hear { .. }
            | Self::CreateWorkflow(_)
            | Self::RegisterRepository { .. }
            | Self::CreateWorkspace(_)
            | Self::UpdateWorkspace(_)
            | Self::CreateTemplate { .. }
            | Self::RemoveTemplate { .. }
            | Self::CreateToken { .. }
            | Self::RevokeToken { .. }
            | Self::OfferCode { .. }
            | Self::EnrolBrowser { .. }
            | Self::UseBrowserKey { .. }
            | Self::SeeRunner { .. }
            | Self::ForgetRunner { .. }
            | Self::AskApproval(_)
            | Self::ExpireApprovals
            | Self::TakeNotice { .. }
            | Self::Send { .. }
            | Self::MarkRead { .. }
            | Self::Archive { .. }
            | Self::ForgetKeys => {}
        }
        let numbers =
            matches!(self, Self::SetPlan { .. } | Self::StagePlan { .. } | Self::AddTask { .. } | Self::Replan { .. });
        if numbers {
            needs.push(NumberNeed::LastTaskNumber.into());
        }
        if let (Self::Claim { .. }, Some(agent)) = (self, caller.agent) {
            needs.push(BoolNeed::HoldsMost(agent).into());
        }
        needs
    }
}
