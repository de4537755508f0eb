//! Accepts the work of a task as it is, although its check failed or it changed no file.

use engine::delivery::DeliveredWork;
use engine::list::{TurnQuery, Whose};
use engine::task::{Status, Task};
use engine::{Caller, Command};
use git::branch::{self, Author, CommitResult, TaskWorkspace, task_branch};
use git::changes::changes;
use git::program::GitCall;
use git::repository::{GitRepository, reference};
use runner::claim::open::RunSite;

use crate::error::WorkError;
use crate::site::{NoWorkSite, WorkSite};
use crate::worker::last_agent;

/// The number of a task's newest turns (runs of agents' programs) that are counted as tries of the task.
const TURNS_MAX: u32 = 100;

/// The end of taking the work of a task as it is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TakeEnd {
    /// The task is completed, unchecked. `has_work` is false when the task changed no file.
    Taken { has_work: bool },
    /// The files of the task have markers of a merge conflict, so they cannot be committed. Nothing changed.
    ConflictMarkers { paths: Vec<String> },
    /// The work of a blocked task cannot be found without a repository. Nothing changed.
    NoSite(NoWorkSite),
}

/// Completes a task with the work that it has now, without a check. The reason is recorded.
pub async fn take(run: RunSite<'_>, caller: Caller, task: &Task, reason: String) -> Result<TakeEnd, WorkError> {
    let work = if task.status() == Status::Blocked {
        match WorkSite::find(run).await? {
            Ok(site) => match work_of(&site, task).await? {
                Ok(work) => work,
                Err(paths) => return Ok(TakeEnd::ConflictMarkers { paths }),
            },
            Err(none) => return Ok(TakeEnd::NoSite(none)),
        }
    } else {
        None
    };
    let has_work = work.is_some();
    let command = Command::TakeAsIs { task: task.id, reason, work: work.map(Box::new) };
    run.service.execute(caller, command).await?;
    Ok(TakeEnd::Taken { has_work })
}

/// Returns the work of a blocked task in git: commits everything in the task's worktree to its branch. Returns `None`
/// when the task changed nothing, and the paths with conflict markers when they stop the commit.
async fn work_of(site: &WorkSite<'_>, task: &Task) -> Result<Result<Option<DeliveredWork>, Vec<String>>, WorkError> {
    let repository = GitRepository::find(&site.git, &site.root).await?;
    let owner = site.slots.owner(task.id, task.attempt);
    let slot = site.slots.pool.find(&site.git, &site.root, &owner).await?;
    let (branch, base) = match slot {
        Some(slot) => {
            let slug = last_agent(site.service(), task).await?.unwrap_or_else(|| "agent".to_owned());
            let author = Author { name: slug.clone(), slug };
            let workspace = TaskWorkspace { repository: site.root.clone(), path: slot.path, branch: slot.branch };
            let message = format!("{} (taken as it is)", task.name);
            let committed = branch::commit(&site.git, &workspace, &message, &author).await?;
            if let CommitResult::Unmended { paths } = committed {
                return Ok(Err(paths));
            }
            (workspace.branch, Some(slot.base_commit))
        }
        None => (task_branch(&task.id.to_string(), task.attempt), None),
    };
    let Some(commit) = repository.commit(&site.git, &reference(&branch)).await? else { return Ok(Ok(None)) };
    let head = repository.commit(&site.git, "HEAD").await?;
    let base = match (base, head) {
        (Some(base), _) => Some(base),
        (None, Some(head)) => repository.fork(&site.git, &head, &commit).await?,
        (None, None) => None,
    };
    let Some(base) = base.filter(|base| *base != commit) else { return Ok(Ok(None)) };
    Ok(Ok(Some(described(site, task, (branch, base, commit)).await?)))
}

/// Describes the commits between `base` and `commit` as the work of a task.
async fn described(
    site: &WorkSite<'_>,
    task: &Task,
    (branch, base, commit): (String, String, String),
) -> Result<DeliveredWork, WorkError> {
    let found = changes(&site.git, &site.root, &base, &commit).await?;
    let tree =
        GitCall::read(&site.root, &["rev-parse", "--verify", "--end-of-options"]).and(format!("{commit}^{{tree}}"));
    let tree = tree.run(&site.git).await?.whole()?.text();
    let name = git::changes::base_name(&site.git, &site.root, &base).await?;
    let whole = |number: u64| u32::try_from(number).unwrap_or(u32::MAX);
    let query = TurnQuery::Of { of: Whose::Task(task.id), before: None, limit: TURNS_MAX };
    let turns = site.service().ask(query).await?;
    let tries = turns.iter().filter(|turn| turn.attempt == task.attempt && !turn.purpose.is_a_look()).count();
    Ok(DeliveredWork {
        branch,
        base_branch: name.split_once(" at ").map(|(branch, _)| branch.to_owned()),
        base,
        commit,
        tree,
        files: u32::try_from(found.files).unwrap_or(u32::MAX),
        added: whole(found.added),
        removed: whole(found.removed),
        tries: u32::try_from(tries).unwrap_or(u32::MAX),
    })
}
