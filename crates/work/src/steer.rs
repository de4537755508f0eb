//! Lets a blocked or failed task start again, and ends the running turn (one run of an agent's program) of a task.

use base::Service;
use engine::command::Target;
use engine::task::{Status, Task};
use engine::{Caller, Command};

/// The end of an act that steers a task.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SteerEnd {
    Done,
    /// The task is in a state to which the act does not apply. Nothing changed.
    NotNow,
}

/// Lets a blocked or failed task start again. The next run of the agents works on it.
pub async fn retry(service: &Service, caller: Caller, task: &Task) -> Result<SteerEnd, base::Error> {
    if !matches!(task.status(), Status::Blocked | Status::Failed) {
        return Ok(SteerEnd::NotNow);
    }
    let to = Target::Pending { reason: Some("retried by a person".to_owned()) };
    service.execute(caller, Command::Move { task: task.id, attempt: None, to }).await?;
    Ok(SteerEnd::Done)
}

/// Takes a task away from the agent that works on it. The task can be claimed again.
pub async fn stop(service: &Service, caller: Caller, task: &Task) -> Result<SteerEnd, base::Error> {
    if task.holder().is_none() {
        return Ok(SteerEnd::NotNow);
    }
    let reason = Some("stopped by a person".to_owned());
    // Releasing the task takes it away from the runner. The runner notices this, and ends the agent's program and all
    // processes below it.
    let command = Command::Release { task: task.id, attempt: Some(task.attempt), reason };
    service.execute(caller, command).await?;
    Ok(SteerEnd::Done)
}
