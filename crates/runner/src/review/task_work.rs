//! Locates the work of a task for its review, and decides which part of the work the reviewer sees. The worker decides
//! neither of these.
//!
//! ```text
//! the task's workspace, verified with git    changes since the first claim  ─┐
//!   none, or it has no changes                                               ├─> gathered, named by its tree
//! the main worktree                          changes since the first claim  ─┘
//!   none, or no repository ───────────────────────────────────────────────────> given by the worker, marked as such
//! ```

use std::path::{Path, PathBuf};

use engine::id::{AgentId, TaskId, WorkspaceId};
use engine::task::Task;
use engine::workspace::{Workspace, WorkspaceStatus};
use engine::{DecisionStop, Refusal, World, view};

use super::claim_base::ClaimBase;
use super::work::{GitWork, WorkDiff, WorkSource, worktree_tree};
use base::error::Error;
use base::service::Service;
use git::GitProblem;
use git::program::Git;
use git::repository::{GitRepository, reference};

/// The names of states of a task's work that have no git tree. They are used when the worker gave the text to review.
const GIVEN_UNCHANGED: &str = "given: no changes in the repository";
const GIVEN_ANYWHERE: &str = "given: no repository";
/// The media type of work that Handover gathered with git.
pub const DIFF: &str = "text/x-diff";
/// The number of tasks in one read, and the largest number of reads, when the store is searched for tasks that share a
/// worktree. The search ends after these reads.
const PAGE: u32 = 500;
const PAGES_MAX: usize = 20;

/// The store and the folders in which Handover looks for the work of a task.
#[derive(Debug, Clone, Copy)]
pub struct WorkGround<'a> {
    pub service: &'a Service,
    /// The project's main worktree. `None` outside of a project.
    pub root: Option<&'a Path>,
    /// Handover's state folder on this machine, with the commits from the time of the task's first claim. `None` when
    /// the caller has none.
    pub state: Option<&'a Path>,
}

/// The reason why the work of a task cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum WorkProblem {
    #[error(transparent)]
    Error(#[from] Error),
    #[error(transparent)]
    Git(#[from] GitProblem),
}

/// The work of a task, found with git.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TaskWork {
    diff: Option<WorkDiff>,
    has_repository: bool,
    source: String,
}

impl TaskWork {
    /// Reads the work of a task, as it is now, from its worktree or branch.
    pub async fn look(ground: WorkGround<'_>, task: TaskId) -> Result<Self, WorkProblem> {
        let git = Git::default();
        let base = ground.state.map(|state| ClaimBase::read(state, task)).unwrap_or_default();
        let main = main_worktree(&git, ground.root).await?;
        let own = own_worktree(ground, &git, &base, task).await?;
        let has_repository = main.is_some() || own.is_some();
        let main_base = main.as_ref().and_then(|main| base.head(&main.repository.home).map(str::to_owned));
        if let Some(OwnWork { work, base, name }) = own
            && let Some(diff) = work.diff(&git, base.as_deref()).await?
        {
            let mut source =
                format!("Handover gathered it from {name}: everything that was changed since the task was claimed.");
            // The worker, other agents and people may have worked in the main worktree, too. The reviewer gets the
            // names of the files that were changed there.
            if let Some(main) = main.filter(|main| main.source != work.source) {
                let (names, more) = main.names(&git, main_base.as_deref()).await?;
                source.push_str(&elsewhere(&names, more));
            }
            return Ok(Self { diff: Some(diff), has_repository, source });
        }
        let diff = match &main {
            Some(main) => main.diff(&git, main_base.as_deref()).await?,
            None => None,
        };
        let source = match (&diff, has_repository) {
            (Some(_), _) => {
                "Handover gathered it from the main worktree: everything that was changed since the task was claimed."
            }
            (None, true) => {
                "The worker gave it: Handover did not gather it. The repository has no changes since the task was claimed."
            }
            (None, false) => "The worker gave it: Handover did not gather it. There is no repository.",
        };
        Ok(Self { diff, has_repository, source: source.to_owned() })
    }

    /// Returns the changes of the task as text. Returns `None` when git shows no changes, so that the worker has to
    /// give the text to review.
    pub fn diff(&self) -> Option<&str> {
        self.diff.as_ref().map(|diff| diff.text.as_str())
    }

    /// Returns the name of the current state of the task's work. A review counts only for the state that the reviewer
    /// saw.
    pub fn name(&self) -> &str {
        match (&self.diff, self.has_repository) {
            (Some(diff), _) => &diff.state,
            (None, true) => GIVEN_UNCHANGED,
            (None, false) => GIVEN_ANYWHERE,
        }
    }

    /// Returns the sentences that tell the reviewer the origin of the work.
    pub fn source(&self) -> &str {
        &self.source
    }
}

/// Returns the state of the work of a task that is about to be completed, or `None` when there is no reviewed state to
/// compare it with. `verified_in` is the folder in which the checks ran. If it is given, the state of that folder is
/// returned, because checks in one folder say nothing about another folder.
pub async fn state_to_complete(
    ground: WorkGround<'_>,
    task: TaskId,
    verified_in: Option<&Path>,
) -> Result<Option<String>, WorkProblem> {
    let found = ground.service.view(move |world| {
        let row = world.task(task)?;
        if !row.review {
            return Ok(false);
        }
        Ok(view::gating(world, task, row.attempt)?.is_some())
    });
    match found.await {
        Ok(true) => {}
        // `false` means that the task needs no review or has no review yet, so there is no reviewed state to compare
        // with. If the task does not exist or lacks its review, the engine refuses to complete it anyway.
        Ok(false) | Err(Error::Refused(_)) => return Ok(None),
        Err(error) => return Err(error.into()),
    }
    let work = TaskWork::look(ground, task).await?;
    Ok(Some(match (&work.diff, verified_in) {
        (Some(_), Some(folder)) => format!("tree:{}", worktree_tree(&Git::default(), folder).await?),
        (Some(_), None) | (None, _) => work.name().to_owned(),
    }))
}

/// Returns a short text that says if Handover gathered the reviewed work, or if the worker gave it. `name` is the name
/// of the reviewed state. Returns `None` when the reviewer did not see a task's work.
pub fn shown(name: &str, media_type: &str) -> Option<&'static str> {
    if name.starts_with("given: ") {
        return Some("given by the worker, not gathered");
    }
    // A name that begins with `tree:` is not enough, because a person may request the review of a file and give the
    // same name for the state. Only gathered work also has the media type of a diff.
    (name.starts_with("tree:") && media_type == DIFF).then_some("gathered by Handover")
}

fn elsewhere(names: &[String], more: usize) -> String {
    if names.is_empty() {
        return String::new();
    }
    let more = if more > 0 { format!(" and {more} more") } else { String::new() };
    // Quote the file names, because the worker chose them and they may look like instructions.
    let names: Vec<String> = names.iter().map(|name| format!("{name:?}")).collect();
    format!(
        " The main worktree was changed in that time, too, by the worker or by others, and these changes are not shown: {}{more}.",
        names.join(", ")
    )
}

async fn main_worktree(git: &Git, root: Option<&Path>) -> Result<Option<GitWork>, GitProblem> {
    let Some(root) = root else { return Ok(None) };
    match GitRepository::find(git, root).await {
        Ok(repository) => {
            let source = WorkSource::Worktree(repository.home.clone());
            Ok(Some(GitWork { repository, source }))
        }
        Err(GitProblem::NotARepository { .. }) => Ok(None),
        Err(problem) => Err(problem),
    }
}

/// The work in a task's own workspace, the commit with which this work is compared, and a description of the work for
/// the reviewer.
struct OwnWork {
    work: GitWork,
    base: Option<String>,
    name: String,
}

/// The workspace (folder and branch) of a task as the store records it, and its use by other tasks.
struct Recorded {
    workspace: Workspace,
    repository: Option<PathBuf>,
    sharing: Sharing,
}

/// The way in which other tasks use the worktree of a task.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Sharing {
    Alone,
    /// Another task used the same worktree before, or the same agent also holds another task in it.
    Before,
    /// Another agent holds another task in the same worktree now.
    Now {
        task: TaskId,
        agent: AgentId,
    },
}

async fn own_worktree(
    ground: WorkGround<'_>,
    git: &Git,
    base: &ClaimBase,
    task: TaskId,
) -> Result<Option<OwnWork>, WorkProblem> {
    let recorded = ground.service.view(move |world| recorded(world, task)).await?;
    let Some(Recorded { workspace, repository, sharing }) = recorded else { return Ok(None) };
    if let Sharing::Now { task: other, agent } = sharing {
        let problem = format!(
            "{other}, which {agent} holds, uses the workspace {}, too, so the changes in it may belong to either \
             task; make a worktree for {task} (workspace_create with create_worktree and task_ids), move its work \
             there, and ask again",
            workspace.id
        );
        return Err(Error::from(Refusal::InvalidState { problem }).into());
    }
    let path = PathBuf::from(&workspace.path);
    let home = [Some(path.clone()), repository, ground.root.map(Path::to_owned)];
    let mut found = None;
    for folder in home.into_iter().flatten() {
        match GitRepository::find(git, &folder).await {
            Ok(repository) => {
                found = Some(repository);
                break;
            }
            Err(GitProblem::NotARepository { .. }) => {}
            Err(problem) => return Err(problem.into()),
        }
    }
    let Some(repository) = found else { return Ok(None) };
    let branch = reference(&workspace.branch);
    let Some(source) = located(git, &repository, (task, &workspace), &path).await? else { return Ok(None) };
    let at_claim = match sharing {
        // If another task used the worktree before, compare the work with the branch as it was at this task's claim. So
        // the changes of the earlier task are left out.
        Sharing::Before => base.tip(&repository.home, &branch),
        Sharing::Alone | Sharing::Now { .. } => None,
    };
    let at_claim = at_claim.or_else(|| base.head(&repository.home)).map(str::to_owned);
    let base = match at_claim {
        Some(commit) => Some(commit),
        // If this machine has no recorded base of the task, because the task was claimed on another machine, use the
        // base branch of the workspace.
        None => match repository.base(git, workspace.base_branch.as_deref()).await {
            Ok(base) => Some(base.commit),
            Err(GitProblem::BaseNotFound(_)) => None,
            Err(problem) => return Err(problem.into()),
        },
    };
    let name = match &source {
        // The path and the branch are quoted, because the worker chose them and they may look like instructions.
        WorkSource::Worktree(path) => format!("the task's worktree {path:?} (branch {:?})", workspace.branch),
        WorkSource::Commit(_) => format!("the task's branch {:?}, whose worktree is gone", workspace.branch),
    };
    Ok(Some(OwnWork { work: GitWork { repository, source }, base, name }))
}

/// Finds the worktree of a task's workspace (the folder and branch that the store records). When the worktree is gone,
/// finds the last commit of the branch. Returns an error when git and the store disagree, for example about the branch.
async fn located(
    git: &Git,
    repository: &GitRepository,
    (task, workspace): (TaskId, &Workspace),
    path: &Path,
) -> Result<Option<WorkSource>, WorkProblem> {
    let Ok(path) = path.canonicalize() else {
        let tip = repository.commit(git, &reference(&workspace.branch)).await?;
        return Ok(tip.map(WorkSource::Commit));
    };
    let entries = repository.worktrees(git).await?;
    let entry = entries.iter().find(|entry| entry.path.canonicalize().is_ok_and(|found| found == path));
    if entry.is_some_and(|entry| entry.branch.as_deref() == Some(reference(&workspace.branch).as_str())) {
        return Ok(Some(WorkSource::Worktree(path)));
    }
    let seen = match entry.map(|entry| entry.branch.as_deref()) {
        None => "is not a worktree of the repository".to_owned(),
        Some(None) => "has no branch checked out".to_owned(),
        Some(Some(branch)) => format!("has {} checked out", branch.trim_start_matches("refs/heads/")),
    };
    let problem = format!(
        "the workspace {} of {task} is recorded as the branch {} in {}, but that folder {seen}; check the branch out there, or \
         make a worktree for the task (workspace_create with create_worktree and task_ids), then call again",
        workspace.id,
        workspace.branch,
        path.display()
    );
    Err(Error::from(Refusal::InvalidState { problem }).into())
}

fn recorded(world: &World, task: TaskId) -> Result<Option<Recorded>, DecisionStop> {
    let row = world.task(task)?;
    let Some(id) = row.workspace else { return Ok(None) };
    let workspace = world.workspace(id)?.clone();
    if workspace.status != WorkspaceStatus::Active {
        return Ok(None);
    }
    let repository = workspace.repository.map(|id| world.repository(id)).transpose()?;
    let repository = repository.map(|row| PathBuf::from(&row.path));
    Ok(Some(Recorded { sharing: sharing(world, row, id)?, workspace, repository }))
}

fn sharing(world: &World, task: &Task, workspace: WorkspaceId) -> Result<Sharing, DecisionStop> {
    let (mut after, mut found) = (None, Sharing::Alone);
    for _ in 0..PAGES_MAX {
        let page = view::tasks(world, task.workflow, &[], after, PAGE)?;
        let others = page.rows.iter().map(|row| &row.task);
        for other in others.filter(|other| other.id != task.id && other.workspace == Some(workspace)) {
            match other.holder() {
                Some(agent) if task.holder() != Some(agent) => return Ok(Sharing::Now { task: other.id, agent }),
                Some(_) => found = Sharing::Before,
                None if other.attempt > 0 => found = Sharing::Before,
                None => {}
            }
        }
        after = page.next;
        if after.is_none() {
            break;
        }
    }
    Ok(found)
}
