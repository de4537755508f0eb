//! Manages the places in which agents work. Each attempt has a separate worktree and branch; outside of git, one agent
//! at a time works in the project's folder.

use std::path::{Path, PathBuf};

use engine::id::{TaskId, WorkflowId};

use base::ground::clock::{Clock as _, SystemClock};
use git::branch::{self, Author, BranchTip, CommitResult, Merge, MergeResult, TaskWorkspace, UncommittedPath};
use git::repository::GitRepository;
use git::{Branch, Dirt, Git, GitProblem, KeptBranch, MadeWorktree, Removal, Removed, WorktreeRequest, remnant};

/// The worktree or folder in which the work of one attempt is done.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum WorkPlace {
    Worktree {
        workspace: TaskWorkspace,
        line: BranchTip,
        /// The commit on which the branch of the attempt began.
        base_commit: String,
    },
    /// The project's folder, which is used when there is no git repository.
    Folder(PathBuf),
}

/// The state of the work in a worktree that is about to be removed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum KeptWork {
    /// All work is committed on the branch. Git checks this again before it removes the worktree.
    Committed,
    /// The files have conflict markers of a merge, so they cannot be committed. They can be discarded, because they
    /// contain only the two sides of the merge.
    Conflict,
    /// An earlier removal of the worktree was stopped halfway. The work was saved before that removal began, and some
    /// files are gone.
    PartlyRemoved,
}

/// The largest number of git processes that one runner runs at the same time; further calls wait. More processes would
/// not be faster, because they share the disk and the processors.
const GITS_MAX: usize = 4;

/// The repository, and the settings for creating worktrees of it.
#[derive(Debug)]
pub struct WorktreeGround {
    pub git: Git,
    pub root: PathBuf,
    /// True when the root folder of the project is in a git repository.
    pub is_repository: bool,
    pub worktrees: Option<PathBuf>,
    turn: tokio::sync::Semaphore,
}

impl WorktreeGround {
    pub fn new(git: Git, root: PathBuf, is_repository: bool, worktrees: Option<PathBuf>) -> Self {
        Self { git, root, is_repository, worktrees, turn: tokio::sync::Semaphore::new(GITS_MAX) }
    }

    /// Creates the worktree of an attempt, or returns the project's folder outside of git. If an earlier runner already
    /// created the worktree, returns it with its files.
    pub async fn place(&self, workflow: WorkflowId, task: TaskId, attempt: u32) -> Result<WorkPlace, GitProblem> {
        if !self.is_repository {
            return Ok(WorkPlace::Folder(self.root.clone()));
        }
        let _turn = self.turn.acquire().await;
        let line = branch::line(&self.git, &self.root, &workflow.to_string(), None).await?;
        let branch = branch::task_branch(&task.to_string(), attempt);
        let request =
            WorktreeRequest { repository: self.root.clone(), root: self.worktrees.clone(), branch, base: None };
        let MadeWorktree { path, branch, base_commit, .. } = branch::workspace(&self.git, &line, &request).await?;
        let workspace = TaskWorkspace { repository: self.root.clone(), path, branch };
        Ok(WorkPlace::Worktree { workspace, line, base_commit })
    }

    /// Returns the worktree or folder of an attempt, or `None` when it was not created or no longer exists.
    pub async fn standing(
        &self,
        workflow: WorkflowId,
        task: TaskId,
        attempt: u32,
    ) -> Result<Option<WorkPlace>, GitProblem> {
        if !self.is_repository {
            return Ok(None);
        }
        let _turn = self.turn.acquire().await;
        let branch = branch::task_branch(&task.to_string(), attempt);
        let Some(workspace) = branch::standing(&self.git, &self.root, &branch).await? else { return Ok(None) };
        let line = branch::line(&self.git, &self.root, &workflow.to_string(), None).await?;
        let base_commit = line.tip.clone();
        Ok(Some(WorkPlace::Worktree { workspace, line, base_commit }))
    }

    /// Deletes the branch of an attempt whose worktree is gone. Keeps the branch when its work is on no other branch.
    pub async fn forget(&self, workflow: WorkflowId, task: TaskId, attempt: u32) -> Result<(), GitProblem> {
        if !self.is_repository {
            return Ok(());
        }
        let _turn = self.turn.acquire().await;
        let line = branch::line(&self.git, &self.root, &workflow.to_string(), None).await?;
        let branch = branch::task_branch(&task.to_string(), attempt);
        branch::forget(&self.git, &self.root, (&line, &branch), now_ms()).await
    }

    /// Commits the changes that the agent left uncommitted in its worktree. Returns `None` outside of git.
    pub async fn commit(
        &self,
        place: &WorkPlace,
        message: &str,
        author: &Author,
    ) -> Result<Option<CommitResult>, GitProblem> {
        match place {
            WorkPlace::Worktree { workspace, .. } => {
                let _turn = self.turn.acquire().await;
                branch::commit(&self.git, workspace, message, author).await.map(Some)
            }
            WorkPlace::Folder(_) => Ok(None),
        }
    }

    /// Merges a commit of the attempt into the workflow's branch.
    pub async fn merge(
        &self,
        place: &WorkPlace,
        head: &str,
        message: &str,
        author: &Author,
    ) -> Result<Option<MergeResult>, GitProblem> {
        let WorkPlace::Worktree { line, .. } = place else { return Ok(None) };
        let merge = Merge {
            repository: self.root.clone(),
            branch: line.branch.clone(),
            head: head.to_owned(),
            message: message.to_owned(),
            author: author.clone(),
        };
        let _turn = self.turn.acquire().await;
        branch::merge(&self.git, &merge).await.map(Some)
    }

    /// Merges the workflow's branch into the attempt's worktree. The agent then resolves the conflict markers in the
    /// worktree.
    pub async fn bring(
        &self,
        place: &WorkPlace,
        workflow: WorkflowId,
        author: &Author,
    ) -> Result<MergeResult, GitProblem> {
        let WorkPlace::Worktree { workspace, .. } = place else {
            return Ok(MergeResult::Already { tip: String::new() });
        };
        let _turn = self.turn.acquire().await;
        // Reads the workflow's branch again, because other tasks may have been merged since the worktree was created.
        let line = branch::line(&self.git, &self.root, &workflow.to_string(), None).await?;
        let message = format!("merge {} into {}", line.branch, workspace.branch);
        branch::bring(&self.git, &line, workspace, &message, author).await
    }

    /// Commits all uncommitted work to the attempt's branch, so that no work is lost when the worktree is removed.
    /// Fails when a file can be neither committed nor discarded.
    pub async fn keep(&self, place: &WorkPlace, author: &Author) -> Result<KeptWork, GitProblem> {
        let WorkPlace::Worktree { workspace, .. } = place else { return Ok(KeptWork::Committed) };
        let _turn = self.turn.acquire().await;
        match branch::commit(&self.git, workspace, "work in progress, kept by the runner", author).await? {
            CommitResult::Clean { left, .. } | CommitResult::Commit { left, .. } if !left.is_empty() => {
                let files = left.into_iter().map(|left| left.path).collect();
                Err(GitProblem::WorkspaceDirty {
                    path: workspace.path.clone(),
                    dirt: Dirt::Changes { files, more: false },
                })
            }
            CommitResult::Clean { .. } | CommitResult::Commit { .. } => Ok(KeptWork::Committed),
            CommitResult::Unmended { .. } => Ok(KeptWork::Conflict),
        }
    }

    /// Removes a worktree after `keep` committed its work. Also removes the branch when the workflow's branch contains
    /// all of its work. Continues a removal that was stopped halfway. Returns the name of the branch when the branch
    /// stays.
    pub async fn clear(&self, place: &WorkPlace, kept: KeptWork) -> Result<Option<String>, GitProblem> {
        let WorkPlace::Worktree { workspace, line, .. } = place else { return Ok(None) };
        let _turn = self.turn.acquire().await;
        let removal = Removal {
            repository: self.root.clone(),
            path: workspace.path.clone(),
            branch: workspace.branch.clone(),
            base: Some(line.branch.clone()),
            merge_commit: None,
            force: kept != KeptWork::Committed,
            now_ms: now_ms(),
        };
        match git::remove(&self.git, &removal).await {
            Ok(Removed { branch: Branch::Kept(KeptBranch::Failed { problem }), .. }) => {
                Err(GitProblem::failed("update-ref", &problem))
            }
            Ok(removed) => Ok(matches!(removed.branch, Branch::Kept(_)).then(|| workspace.branch.clone())),
            // If a process wrote a file after all work was committed, the worktree must stay.
            Err(problem @ GitProblem::WorkspaceDirty { .. }) => Err(problem),
            // Git refuses to remove a worktree that is no longer linked to the repository. In this case, remove the
            // folder of the worktree directly.
            Err(_) => {
                let repository = GitRepository::find(&self.git, &self.root).await?;
                git::undo(&self.git, &repository, workspace.path.clone()).await?;
                branch::forget(&self.git, &self.root, (line, &workspace.branch), now_ms()).await?;
                Ok(None)
            }
        }
    }

    /// Removes the files that a killed git process left of an attempt's branch and worktree. Call it only when no git
    /// process works on that attempt.
    pub async fn clean_up(&self, task: TaskId, attempt: u32) -> Result<(), GitProblem> {
        if !self.is_repository {
            return Ok(());
        }
        let _turn = self.turn.acquire().await;
        let branch = branch::task_branch(&task.to_string(), attempt);
        remnant::clean_up(&self.git, &self.root, self.worktrees.as_deref(), &branch).await
    }

    /// Removes the lock files that a killed git process left in the repository that all worktrees share. Returns the
    /// paths of the removed files.
    pub async fn clean_shared(&self) -> Result<Vec<PathBuf>, GitProblem> {
        if !self.is_repository {
            return Ok(Vec::new());
        }
        remnant::clean_shared(&self.git, &self.root, branch::PREFIX).await
    }
}

/// Returns the current time in milliseconds. Handover keeps the tip of a deleted branch for 30 days, under a name that
/// contains this time.
pub(crate) fn now_ms() -> i64 {
    SystemClock.now().0
}

impl WorkPlace {
    pub fn path(&self) -> &Path {
        match self {
            Self::Worktree { workspace, .. } => &workspace.path,
            Self::Folder(path) => path,
        }
    }

    pub fn branch(&self) -> Option<&str> {
        match self {
            Self::Worktree { workspace, .. } => Some(&workspace.branch),
            Self::Folder(_) => None,
        }
    }
}

/// Returns a text for the agent about each file that could not be committed, with the reason.
pub fn left(left: &[UncommittedPath]) -> Vec<String> {
    let why = |why| match why {
        branch::UncommittedReason::Submodule => "it is a repository of its own",
        branch::UncommittedReason::Filter => "a filter of the configuration would run for it",
    };
    left.iter().map(|left| format!("NOT_COMMITTED: {}: {}", left.path, why(left.why))).collect()
}
