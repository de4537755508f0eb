//! Serves the calls of tools, with one match arm for each tool. A declared tool without an arm here does not compile.

use engine::{Caller, Command, Reply};
use wire::json::Value;
use wire::lifecycle::{Call, MessageSend, TaskUpdateStatus, WorkflowSetConfig};

use super::mail::of_a_sender;
use super::wires::Asks;
use super::{Desk, ToolAnswer, ToolRequest, answered, unexpected};

impl Desk {
    #[expect(clippy::too_many_lines, reason = "one match that names every tool")]
    pub(super) async fn serve(&self, request: &ToolRequest<'_>, call: &Call) -> ToolAnswer {
        match call {
            Call::AgentRegister(asked) => self.execute(request, call, self.with_card(asked)).await,
            Call::AgentHeartbeat(asked) => self.execute(request, call, asked.command()).await,
            Call::AgentUpdate(asked) => self.execute(request, call, asked.command()).await,
            Call::AgentUnregister(asked) => self.execute(request, call, asked.command()).await,
            Call::AgentGet(asked) => self.agent(request, asked).await,
            Call::AgentList(asked) => self.agents(asked).await,
            Call::TaskNext(asked) => self.task_next(request, asked).await,
            Call::TaskWait(asked) => self.task_wait(request, asked).await,
            Call::TaskClaim(asked) => self.execute(request, call, asked.command()).await,
            Call::TaskRelease(asked) => self.execute(request, call, asked.command()).await,
            Call::TaskUpdateStatus(asked) => self.update_status(request, call, asked).await,
            Call::TaskSetPlan(asked) => self.execute(request, call, asked.command()).await,
            Call::TaskReplan(asked) => self.execute(request, call, asked.command()).await,
            Call::TaskAssignWorkspace(asked) => self.execute(request, call, asked.command()).await,
            Call::TaskGet(asked) => self.task(asked).await,
            Call::TaskGetAvailable(asked) => self.available(request, asked).await,
            Call::TaskLoadContext(asked) => self.load_context(asked).await,
            Call::TaskCheckDependencies(asked) => self.dependencies(asked.task_id).await,
            Call::CheckpointAdd(asked) => self.execute(request, call, asked.command()).await,
            Call::CheckpointList(asked) => self.checkpoints(asked).await,
            Call::WorkflowCreate(asked) => self.execute(request, call, asked.command()).await,
            Call::WorkflowGet(asked) => self.workflow(asked).await,
            Call::WorkflowList(asked) => self.workflows(asked).await,
            Call::WorkflowProgress(asked) => self.progress(asked.workflow_id).await,
            Call::WorkflowNextTasks(asked) => self.next_tasks(asked).await,
            Call::WorkflowGetSummary(asked) => self.summary(asked).await,
            Call::WorkflowSetPlan(asked) => self.set_plan(request, call, asked).await,
            Call::WorkflowAddTask(asked) => self.add_task(request, call, asked).await,
            Call::WorkflowRemoveTask(asked) => self.execute(request, call, asked.command()).await,
            Call::WorkflowReplan(asked) => self.replan(request, call, asked).await,
            Call::WorkflowUpdateStatus(asked) => self.execute(request, call, asked.command()).await,
            Call::WorkflowSetParallelism(asked) => self.execute(request, call, asked.command()).await,
            Call::WorkflowSetConfig(asked) => self.set_config(request, asked).await,
            Call::WorkflowLock(asked) => self.execute(request, call, asked.command()).await,
            Call::WorkflowUnlock(asked) => self.execute(request, call, asked.command()).await,
            Call::WorkflowLockInfo(asked) => self.lock_info(asked.id).await,
            Call::WorkflowAddRepository(asked) => self.execute(request, call, asked.command()).await,
            Call::WorkflowRemoveRepository(asked) => self.execute(request, call, asked.command()).await,
            Call::WorkflowListRepositories(asked) => self.attached(asked.workflow_id).await,
            Call::WorkflowStart(asked) => self.start(request, asked).await,
            Call::WorkflowSuspend(asked) => self.suspend(request, asked).await,
            Call::WorkflowResume(asked) => self.resume(request, asked).await,
            Call::WorkflowExecutionStatus(asked) => self.execution(asked).await,
            Call::WorkflowCheckMerge(asked) => self.check_merge(asked).await,
            Call::TemplateCreate(asked) => self.create_template(request, call, asked).await,
            Call::TemplateList(asked) => self.templates(asked).await,
            Call::TemplateApply(asked) => self.apply_template(request, asked).await,
            Call::WorkspaceCreate(asked) => self.create_workspace(request, asked).await,
            Call::WorkspaceUpdate(asked) => self.update_workspace(request, asked).await,
            Call::WorkspaceList(asked) => self.workspaces(asked).await,
            Call::RepositoryRegister(asked) => self.execute(request, call, asked.command()).await,
            Call::RepositoryList(asked) => self.repositories(asked).await,
            Call::RepositoryGet(asked) => self.repository(asked.path.as_str()).await,
            Call::MessageSend(asked) => self.send(request, call, asked).await,
            Call::MessageBroadcast(asked) => {
                let sent = self.service.execute(request.caller.clone(), asked.command()).await;
                answered(call, &sent.map_err(of_a_sender)?)
            }
            Call::MessageList(asked) => self.messages(request, asked).await,
            Call::MessageGet(asked) => self.message(request, asked).await,
            Call::MessageMarkRead(asked) => self.execute(request, call, asked.command()).await,
            Call::MessageArchive(asked) => self.execute(request, call, asked.command()).await,
            Call::MessageCountUnread(asked) => self.count_unread(request, asked).await,
            Call::InboxRead(asked) => self.inbox(request, asked).await,
            Call::InboxAck(asked) => self.execute(request, call, asked.command()).await,
            Call::WirePost(asked) => self.post(request, asked).await,
            Call::ReviewRequest(asked) => self.review_request(request, asked).await,
            Call::ReviewAnswer(asked) => self.review_answer(request, asked).await,
            Call::ReviewStatusGet(asked) => self.review_status(request, asked).await,
        }
    }

    /// Serves a call by executing exactly one command of the engine, the code that accepts or refuses commands.
    async fn execute(&self, request: &ToolRequest<'_>, call: &Call, command: Command) -> ToolAnswer {
        self.execute_as(request.caller.clone(), call, command).await
    }

    async fn execute_as(&self, caller: Caller, call: &Call, command: Command) -> ToolAnswer {
        let reply = self.service.execute(caller, command).await?;
        self.keep_base(&reply).await;
        answered(call, &reply)
    }

    /// Sets the status of a task. A command that completes a task carries the current state of the task's work, because
    /// a required review must have seen this state.
    async fn update_status(&self, request: &ToolRequest<'_>, call: &Call, asked: &TaskUpdateStatus) -> ToolAnswer {
        let command = asked.command();
        let caller = self.with_work(request, &command).await?;
        self.execute_as(caller, call, command).await
    }

    async fn set_config(&self, request: &ToolRequest<'_>, asked: &WorkflowSetConfig) -> ToolAnswer {
        let reply = self.service.execute(request.caller.clone(), asked.command()).await?;
        let Reply::Configured = reply else { return Err(unexpected("workflow_set_config")) };
        self.config(asked.id).await
    }

    /// Sends a message. A message of kind `exec.gate` also asks a person to approve the operation that it names.
    async fn send(&self, request: &ToolRequest<'_>, call: &Call, asked: &MessageSend) -> ToolAnswer {
        let sent = self.service.execute(request.caller.clone(), asked.command()).await.map_err(of_a_sender)?;
        let mut answer = answered(call, &sent)?;
        if let (Some(asks), Value::Object(members)) = (Asks::by(&asked.draft()), &mut answer)
            && let Some(approval) = self.ask_exec_gate(request, asks).await?
        {
            members.push(("approval_id".to_owned(), approval.to_string().into()));
        }
        Ok(answer)
    }
}
