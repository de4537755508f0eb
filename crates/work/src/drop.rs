//! Drops the work of a task, and brings dropped work back.

use base::people::delivered::{self, FinishedWork};
use base::people::task_choice::NamedWork;
use engine::Command;
use engine::command::Target;
use engine::delivery::{DeliveryMove, DeliveryState, DeliveryStatus, DeliverySubject};
use engine::task::{Status, Task};
use git::removed::{KeptTime, drop_branch, restore_branch};

pub use git::removed::DROPPED_DAYS;

use crate::error::WorkError;
use crate::journal::{LandingLock, LandingSite, moved, waits};

/// The end of dropping the work of a task.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum DropEnd {
    /// The branch of the work is deleted. Git keeps the commits for [`DROPPED_DAYS`] days under the name `kept_as`.
    Dropped {
        kept_as: String,
    },
    /// The task had no finished work, so it is skipped.
    Skipped,
    Stopped(DropStop),
}

/// The reason why the work of a task was not dropped. Nothing changed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum DropStop {
    Merged {
        into: String,
    },
    /// The work is part of a plan, and other tasks build on it.
    InPlan,
    AlreadyDropped,
    /// An agent works on the task.
    Running,
}

/// Drops the finished work of a task: frees its worktree, deletes its branch and records it in the store. A task without
/// finished work is skipped, so that no agent works on it.
pub async fn drop_task(landing: &LandingSite<'_>, _lock: &LandingLock, task: &Task) -> Result<DropEnd, WorkError> {
    let found = delivered::find(landing.site.service(), &NamedWork::Task(Box::new(task.clone()))).await?;
    match found {
        Some(work) if task.status() == Status::Completed => drop_work(landing, task, &work).await,
        Some(_) | None => skip(landing, task).await,
    }
}

async fn drop_work(landing: &LandingSite<'_>, task: &Task, work: &FinishedWork) -> Result<DropEnd, WorkError> {
    let LandingSite { site, caller, .. } = landing;
    match &work.state {
        DeliveryState::Waiting => {}
        DeliveryState::Merged { into, .. } => {
            return Ok(DropEnd::Stopped(DropStop::Merged { into: into.clone() }));
        }
        DeliveryState::InPlan { .. } => return Ok(DropEnd::Stopped(DropStop::InPlan)),
        DeliveryState::Dropped { .. } => return Ok(DropEnd::Stopped(DropStop::AlreadyDropped)),
    }
    site.free_slot(task.id, work.attempt).await?;
    let time = KeptTime { now_ms: site.service().now().0, days: DROPPED_DAYS };
    // The branch is missing when an earlier drop was killed after it deleted the branch. Then use the commit from the
    // store, which git still has.
    let dropped = drop_branch(&site.git, &site.root, &work.work.branch, time).await?;
    let kept_as = dropped.map_or_else(|| work.work.commit.clone(), |dropped| dropped.kept_as);
    let to = DeliveryMove::Drop { kept_as: Some(kept_as.clone()) };
    moved(site.service(), caller, DeliverySubject::Task(task.id), (DeliveryStatus::Waiting, to)).await?;
    Ok(DropEnd::Dropped { kept_as })
}

async fn skip(landing: &LandingSite<'_>, task: &Task) -> Result<DropEnd, WorkError> {
    if task.holder().is_some() {
        return Ok(DropEnd::Stopped(DropStop::Running));
    }
    let to = Target::Skipped { reason: Some("dropped by a person".to_owned()) };
    let command = Command::Move { task: task.id, attempt: None, to };
    landing.site.service().execute(landing.caller.clone(), command).await?;
    Ok(DropEnd::Skipped)
}

/// Returns the dropped work of a task, or `None` when its work was not dropped.
pub async fn dropped_work(landing: &LandingSite<'_>, task: &Task) -> Result<Option<FinishedWork>, WorkError> {
    let found = delivered::find(landing.site.service(), &NamedWork::Task(Box::new(task.clone()))).await?;
    Ok(found.filter(|work| matches!(work.state, DeliveryState::Dropped { .. })))
}

/// Brings dropped work back: creates its branch again, and records in the store that the work waits for the person.
pub async fn restore(landing: &LandingSite<'_>, _lock: &LandingLock, work: &FinishedWork) -> Result<(), WorkError> {
    let LandingSite { site, caller, .. } = landing;
    restore_branch(&site.git, &site.root, &work.work.branch, &work.work.commit).await?;
    waits(site.service(), caller, work.subject, DeliveryStatus::Dropped).await?;
    Ok(())
}
