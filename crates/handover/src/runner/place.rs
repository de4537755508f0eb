//! Where an agent works: a worktree of its own on a branch of its own, or, outside of git, the project itself, one at a time.

use std::path::{Path, PathBuf};

use engine::id::{TaskId, WorkflowId};

use super::branch::{self, Author, Committed, Left, Line, Merge, Merged, Workspace};
use crate::worktree::{self, Git, Made, Problem, Removal, Request};

/// Where the work of one attempt is done.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Place {
    Worktree {
        workspace: Workspace,
        line: Line,
        /// Where the task's branch began.
        base_commit: String,
    },
    /// There is no repository.
    Folder(PathBuf),
}

/// Gits that make or remove worktrees at once: more of them only wait for the same disk and processors.
const GITS_MAX: usize = 4;

/// How worktrees are made here.
#[derive(Debug)]
pub struct Ground {
    pub git: Git,
    pub root: PathBuf,
    /// Whether the root is in a repository.
    pub is_repository: bool,
    pub worktrees: Option<PathBuf>,
    turn: tokio::sync::Semaphore,
}

impl Ground {
    pub fn new(git: Git, root: PathBuf, is_repository: bool, worktrees: Option<PathBuf>) -> Self {
        Self { git, root, is_repository, worktrees, turn: tokio::sync::Semaphore::new(GITS_MAX) }
    }

    /// The place of an attempt; what a stopped runner made is found again, with what is in it.
    pub async fn place(&self, workflow: WorkflowId, task: TaskId, attempt: u32) -> Result<Place, Problem> {
        if !self.is_repository {
            return Ok(Place::Folder(self.root.clone()));
        }
        let _turn = self.turn.acquire().await;
        let line = branch::line(&self.git, &self.root, &workflow.to_string(), None).await?;
        let branch = branch::task_branch(&task.to_string(), attempt);
        let request = Request { repository: self.root.clone(), root: self.worktrees.clone(), branch, base: None };
        let Made { path, branch, base_commit, .. } = branch::workspace(&self.git, &line, &request).await?;
        let workspace = Workspace { repository: self.root.clone(), path, branch };
        Ok(Place::Worktree { workspace, line, base_commit })
    }

    /// The place of an attempt, if it was made and is still there.
    pub async fn standing(&self, workflow: WorkflowId, task: TaskId, attempt: u32) -> Result<Option<Place>, Problem> {
        if !self.is_repository {
            return Ok(None);
        }
        let branch = branch::task_branch(&task.to_string(), attempt);
        let Some(workspace) = branch::standing(&self.git, &self.root, &branch).await? else { return Ok(None) };
        let line = branch::line(&self.git, &self.root, &workflow.to_string(), None).await?;
        let base_commit = line.tip.clone();
        Ok(Some(Place::Worktree { workspace, line, base_commit }))
    }

    /// The branch of an attempt whose worktree is gone goes too, unless it has work that is nowhere else.
    pub async fn forget(&self, workflow: WorkflowId, task: TaskId, attempt: u32) -> Result<(), Problem> {
        if !self.is_repository {
            return Ok(());
        }
        let line = branch::line(&self.git, &self.root, &workflow.to_string(), None).await?;
        branch::forget(&self.git, &self.root, &line, &branch::task_branch(&task.to_string(), attempt)).await
    }

    /// Commits what the agent left. `None` where there is nothing to commit into.
    pub async fn commit(&self, place: &Place, message: &str, author: &Author) -> Result<Option<Committed>, Problem> {
        match place {
            Place::Worktree { workspace, .. } => {
                let _turn = self.turn.acquire().await;
                branch::commit(&self.git, workspace, message, author).await.map(Some)
            }
            Place::Folder(_) => Ok(None),
        }
    }

    /// Brings a head into the workflow's branch.
    pub async fn merge(
        &self,
        place: &Place,
        head: &str,
        message: &str,
        author: &Author,
    ) -> Result<Option<Merged>, Problem> {
        let Place::Worktree { line, .. } = place else { return Ok(None) };
        let merge = Merge {
            repository: self.root.clone(),
            branch: line.branch.clone(),
            head: head.to_owned(),
            message: message.to_owned(),
            author: author.clone(),
        };
        branch::merge(&self.git, &merge).await.map(Some)
    }

    /// Leaves a conflict in the worktree, with its markers, for the agent to mend.
    pub async fn bring(&self, place: &Place, workflow: WorkflowId, author: &Author) -> Result<Merged, Problem> {
        let Place::Worktree { workspace, .. } = place else {
            return Ok(Merged::Already { tip: String::new() });
        };
        // Others may have come in since the worktree was made.
        let line = branch::line(&self.git, &self.root, &workflow.to_string(), None).await?;
        let message = format!("merge {} into {}", line.branch, workspace.branch);
        branch::bring(&self.git, &line, workspace, &message, author).await
    }

    /// Ends a place: what is not committed is committed to its branch first, so nothing is lost; the branch goes when its
    /// work is in the workflow's.
    pub async fn clear(&self, place: &Place, author: &Author) -> Result<(), Problem> {
        let Place::Worktree { workspace, line, .. } = place else { return Ok(()) };
        let _turn = self.turn.acquire().await;
        let kept = branch::commit(&self.git, workspace, "work in progress, kept by the runner", author).await;
        // A merge with markers in it cannot be committed; its files are not worth more than both sides of it.
        let force = !matches!(kept, Ok(Committed::Clean { .. } | Committed::Commit { .. }));
        let removal = Removal {
            repository: self.root.clone(),
            path: workspace.path.clone(),
            branch: workspace.branch.clone(),
            base: Some(line.branch.clone()),
            merge_commit: None,
            force,
        };
        worktree::remove(&self.git, &removal).await.map(|_| ())
    }
}

impl Place {
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

/// What we could not commit, in words for the agent.
pub fn left(left: &[Left]) -> Vec<String> {
    let why = |why| match why {
        branch::Why::Submodule => "it is a repository of its own",
        branch::Why::Filter => "a filter of the configuration would run for it",
    };
    left.iter().map(|left| format!("NOT_COMMITTED: {}: {}", left.path, why(left.why))).collect()
}
