//! Asks people about gated tasks, which start only after a person approves. When a gated task could start, a person is
//! asked once.

use engine::approval::{ApprovalRequest, Source};
use engine::command::AskApproval;
use engine::id::{ApprovalId, TaskId};
use engine::limits;
use engine::list::TaskQuery;
use engine::task::{Task, TaskDetail};
use engine::workflow::Workflow;
use engine::{Caller, Command, Reply, Rights};

use crate::error::Error;
use crate::people::seal::Seal;
use crate::service::Service;

impl Service {
    /// Asks a person about each gated task (a task that starts only after an approval) that could start now. Asks about
    /// at most `GATED_TASKS_MAX` tasks; the next call asks about the others. Usually there are no such tasks.
    pub async fn ask_gates(&self) -> Result<(), Error> {
        for task in self.ask(TaskQuery::Gated { limit: limits::GATED_TASKS_MAX }).await? {
            match self.ask_gate(task.id).await {
                // A refusal is normal here: the task started or was removed since it was listed, or too many approvals
                // are pending.
                Ok(_) | Err(Error::Refused(_)) => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    /// Asks a person to approve the next claim of a gated task, with which an agent starts to work on it. Returns the
    /// existing approval when a person was already asked.
    pub async fn ask_gate(&self, id: TaskId) -> Result<ApprovalId, Error> {
        let (task, detail, workflow) = self
            .view(move |world| {
                let task = world.task(id)?;
                Ok((task.clone(), world.detail(id)?.clone(), world.workflow(task.workflow)?.clone()))
            })
            .await?;
        let (request, attempt) = (request(&task, &detail, &workflow), task.attempt + 1);
        let seal = Seal { request: &request, task: Some(id), attempt: Some(attempt), agent: None };
        let fingerprint = seal.fingerprint();
        let ask = AskApproval { source: Source::ExecGate, waits: Some((id, attempt)), request, fingerprint };
        let caller = Caller::with_rights(Rights::Engine);
        let reply = self.change(caller, Command::AskApproval(Box::new(ask))).await?.reply?;
        let Reply::ApprovalAsked { approval, .. } = reply else { return Err(Error::unexpected(&reply)) };
        Ok(approval)
    }
}

/// Returns the approval request for a gated task, which starts only after a person approves. The request shows the task
/// as it is planned.
fn request(task: &Task, detail: &TaskDetail, workflow: &Workflow) -> ApprovalRequest {
    let brief = detail.brief.as_ref().map(|brief| brief.as_str().to_owned());
    let content = brief.or_else(|| detail.description.clone()).unwrap_or_else(|| task.name.clone());
    let files = if task.touches.is_empty() { String::new() } else { format!(", files {}", task.touches.join(" ")) };
    let role = task.role.as_ref().map(|role| format!(", role {role}")).unwrap_or_default();
    let scope = format!("workflow {} ({}){role}{files}", workflow.name, workflow.id);
    ApprovalRequest {
        operation: format!("begin the task {}", task.name),
        content,
        scope: scope.chars().take(SCOPE_CHARS_MAX).collect(),
        ..ApprovalRequest::default()
    }
}

/// The maximum number of characters in the scope of an approval request, which names the workflow, the role and the
/// file patterns of a task. The rest is cut. The limit of the store is in bytes, and a character has at most four
/// bytes.
const SCOPE_CHARS_MAX: usize = limits::SUMMARY_BYTES_MAX / 4;

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use engine::approval::{ApprovalDecision, ApprovalStatus, Lifetimes};
    use engine::command::{CreateWorkflow, Register};
    use engine::id::AgentId;
    use engine::plan::PlanTask;
    use engine::{Millis, Refusal, Timestamp};

    use super::*;
    use crate::ground::clock::{Clock, ManualClock};
    use crate::people::approvals;

    const START: i64 = 1_700_000_000_000;

    async fn team() -> (Service, Arc<ManualClock>, AgentId, TaskId) {
        let clock = Arc::new(ManualClock::starting_at(Timestamp(START)));
        let lifetimes = Lifetimes { pending: Millis::seconds(60), approved: Millis::seconds(10) };
        let store = store::open("memory:", 1).await.unwrap();
        let service = Service::new(store, Arc::clone(&clock) as Arc<dyn Clock>).with_lifetimes(lifetimes);
        let register = Register::named("amy", "test");
        let reply = service.execute(Caller::with_rights(Rights::Agent), Command::Register(register)).await.unwrap();
        let Reply::Registered { agent, .. } = reply else { panic!("{reply:?}") };
        let create = CreateWorkflow::named("w");
        let person = || Caller::with_rights(Rights::Person);
        let reply = service.execute(person(), Command::CreateWorkflow(create)).await.unwrap();
        let Reply::WorkflowCreated { workflow, .. } = reply else { panic!("{reply:?}") };
        let gated = PlanTask { gate: true, ..PlanTask::named("gated") };
        service.set_plan(person(), workflow, "s".to_owned(), vec![gated]).await.unwrap();
        let task = service.ask(TaskQuery::Gated { limit: 1 }).await.unwrap()[0].id;
        (service, clock, agent, task)
    }

    async fn claim(service: &Service, agent: AgentId, task: TaskId) -> Result<u32, Option<ApprovalId>> {
        match service.execute(Caller::agent(agent), Command::Claim { task }).await {
            Ok(Reply::Claimed { attempt, .. }) => Ok(attempt),
            Err(Error::Refused(Refusal::ApprovalRequired { approval, .. })) => Err(approval),
            other => panic!("{other:?}"),
        }
    }

    #[tokio::test]
    async fn whoever_finds_a_gate_closed_is_told_what_waits() {
        let (service, clock, agent, task) = team().await;
        let Err(Some(asked)) = claim(&service, agent, task).await else { panic!("nobody was asked") };
        assert_eq!(claim(&service, agent, task).await, Err(Some(asked)), "the same again");
        let found = approvals::show(&service, asked).await.unwrap();
        assert_eq!(found.state.until(), Some(Timestamp(START + 60_000)), "as long as the settings say");
        let sealed = Seal { request: &found.request, task: Some(task), attempt: Some(1), agent: None };
        assert_eq!(found.fingerprint, sealed.fingerprint());
        approvals::decide(&service, Rights::Person, asked, ApprovalDecision::Approve).await.unwrap();
        clock.advance(10_000);
        // An approval in this test must be used within ten seconds after the decision. Ten seconds are over, so the
        // sweep marks the approval as expired, and the next claim asks the person again. The second approval is used in
        // time.
        service.sweep().await.unwrap();
        let status = async |id| approvals::show(&service, id).await.unwrap().state.status();
        assert_eq!(status(asked).await, ApprovalStatus::Expired);
        let Err(Some(again)) = claim(&service, agent, task).await else { panic!("it was not closed again") };
        assert_ne!(again, asked);
        approvals::decide(&service, Rights::Person, again, ApprovalDecision::Approve).await.unwrap();
        clock.advance(9_999);
        assert_eq!(claim(&service, agent, task).await, Ok(1));
        assert_eq!(status(again).await, ApprovalStatus::Consumed);
    }

    #[tokio::test]
    async fn a_sweep_asks_for_what_could_begin() {
        let (service, _, agent, task) = team().await;
        service.sweep().await.unwrap();
        let waits = approvals::list(&service, vec![ApprovalStatus::Pending], None, 10).await.unwrap().rows;
        assert_eq!(waits.len(), 1);
        service.sweep().await.unwrap();
        assert_eq!(claim(&service, agent, task).await, Err(Some(waits[0].id)), "asked once");
    }
}
