//! Gated tasks: whoever notices that one could begin asks a person, once, whether it may.

use engine::approval::{Request, Source};
use engine::command::AskApproval;
use engine::id::{ApprovalId, TaskId};
use engine::limits;
use engine::list::List;
use engine::task::{Detail, Task};
use engine::workflow::Workflow;
use engine::{Caller, Command, Fact, Reply, Rights};

use crate::error::Error;
use crate::seal::Seal;
use crate::service::Service;

impl Service {
    /// Asks for every gated task that could begin now, a bounded number of them. Mostly there is none.
    pub async fn ask_gates(&self) -> Result<(), Error> {
        let list = List::Gated { limit: limits::GATED_TASKS_MAX };
        let tasks = self
            .view(move |world| {
                Ok(if let Fact::Full(rows) = world.list(list.clone())? { rows.clone() } else { Vec::new() })
            })
            .await?;
        for task in tasks {
            match self.ask_gate(task.id).await {
                // It began or went meanwhile, or too many approvals wait.
                Ok(_) | Err(Error::Refused(_)) => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    /// Asks whether the next claim of a task may begin. While somebody is asked already, that is the approval.
    pub(crate) async fn ask_gate(&self, id: TaskId) -> Result<ApprovalId, Error> {
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

/// What a person lets begin: the task as it is planned.
fn request(task: &Task, detail: &Detail, workflow: &Workflow) -> Request {
    let brief = detail.brief.as_ref().map(|brief| brief.as_str().to_owned());
    let content = brief.or_else(|| detail.description.clone()).unwrap_or_else(|| task.name.clone());
    let files = if task.touches.is_empty() { String::new() } else { format!(", files {}", task.touches.join(" ")) };
    let role = task.role.as_ref().map(|role| format!(", role {role}")).unwrap_or_default();
    let scope = format!("workflow {} ({}){role}{files}", workflow.name, workflow.id);
    Request {
        operation: format!("begin the task {}", task.name),
        content,
        scope: scope.chars().take(SCOPE_CHARS_MAX).collect(),
        directory: String::new(),
        risk: String::new(),
        rollback: String::new(),
        verification: String::new(),
    }
}

/// Globs can be long and many; a letter has at most four bytes.
const SCOPE_CHARS_MAX: usize = limits::SUMMARY_BYTES_MAX / 4;
