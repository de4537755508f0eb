//! Manages the places in which agents work. Each attempt has a separate worktree and branch; outside of git, one agent
//! at a time works in the project's folder.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use engine::id::TaskId;

use base::ground::clock::{Clock as _, SystemClock};
use git::branch::{
    self, Author, BranchStart, BranchSubject, BranchTip, CommitResult, Merge, MergePlan, MergeResult, ReadyMerge,
    TaskWorkspace, UncommittedPath,
};
use git::repository::{GitRepository, reference};
use git::slot::{ExistingBranch, SavedWork, SlotOrder, TakenSlot};

use super::slot_owner::RunnerSlots;
use git::{Dirt, Git, GitProblem, TreeState, remnant};

/// The worktree or folder in which the work of one attempt is done.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum WorkPlace {
    Worktree {
        workspace: TaskWorkspace,
        line: BranchTip,
        /// The commit on which the branch of the attempt began.
        base_commit: String,
        /// The number of the slot (a reusable worktree). `None` for a worktree that version 0.1.0 made.
        slot: Option<u32>,
    },
    /// The project's folder, which is used when there is no git repository.
    Folder(PathBuf),
}

/// The result of saving the work of an attempt, before the runner frees the attempt's worktree for another attempt.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum KeptWork {
    /// All work is committed on the branch. The runner checks this again before it frees the worktree.
    Committed,
    /// The files have conflict markers of a merge, so they cannot be committed. They can be discarded, because they
    /// contain only the two sides of the merge, and both sides are commits already.
    Conflict,
}

/// The largest number of git processes that one runner runs at the same time; further calls wait. More processes would
/// not be faster, because they share the disk and the processors.
const GITS_MAX: usize = 4;

/// The project's folder, and the slots (worktrees outside of the repository) in which agents work on tasks.
#[derive(Debug)]
pub struct WorktreeGround {
    pub git: Git,
    pub root: PathBuf,
    /// The slots (reusable worktrees) of the repository. `None` when the project is in no git repository.
    pub(super) slots: Option<RunnerSlots>,
    pub(super) turn: tokio::sync::Semaphore,
}

/// The attempt for which a worktree is prepared or found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AttemptPlace {
    pub task: TaskId,
    pub attempt: u32,
    /// True when the attempt had a worktree before. The worktree may be gone while the attempt's branch still has work.
    pub continues: bool,
    pub line: WorkLine,
}

/// The branch from which the work of a task starts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum WorkLine {
    /// The branch of a plan, from which its tasks start and into which their work is merged.
    Plan { branch: String },
    /// The data that decide from which branch a task of the standing list (the workflow for single tasks) starts.
    List(ListPlace),
    /// The work starts from no branch, because the project is in no git repository.
    NoGit,
}

/// A task of the standing list (the workflow for single tasks). It has a branch of its own, which only a person merges.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ListPlace {
    pub number: u32,
    pub name: String,
    /// The branch of an unmerged task on which this task depends. `None` when the task starts from the person's branch.
    pub after: Option<String>,
    /// The branch on which the task handed in its work before a person sent the work back.
    pub delivered: Option<String>,
}

impl WorktreeGround {
    pub fn new(git: Git, root: PathBuf, slots: Option<RunnerSlots>) -> Self {
        Self { git, root, slots, turn: tokio::sync::Semaphore::new(GITS_MAX) }
    }

    /// Returns true when the root folder of the project is in a git repository.
    pub fn is_repository(&self) -> bool {
        self.slots.is_some()
    }

    /// Prepares a slot (a worktree outside of the repository) for an attempt. If an earlier runner already prepared the
    /// slot, returns the slot with its files. Returns the project's folder when there is no git repository.
    pub async fn place(&self, of: &AttemptPlace) -> Result<WorkPlace, GitProblem> {
        let Some(slots) = &self.slots else { return Ok(WorkPlace::Folder(self.root.clone())) };
        let _turn = self.turn.acquire().await;
        let line = self.line(of).await?;
        let owner = slots.owner(of.task, of.attempt);
        let (branch, existing) = match &of.line {
            WorkLine::List(list) => (self.list_branch(list, (&owner, &line)).await?, ExistingBranch::Continue),
            WorkLine::Plan { .. } | WorkLine::NoGit => {
                let existing = if of.continues { ExistingBranch::Continue } else { ExistingBranch::Refuse };
                (branch::task_branch(&of.task.to_string(), of.attempt), existing)
            }
        };
        if let Some(old) = self.old_worktree(&line, &branch).await? {
            return Ok(old);
        }
        let (limit, now_ms) = (slots.limit, now_ms());
        let order = SlotOrder { owner: &owner, branch: &branch, base: &line, existing, limit, now_ms };
        let taken = slots.pool.take(&self.git, &self.root, order).await?;
        Ok(self.worktree(taken, line))
    }

    /// Returns the branch from which the work of a task starts. A task of a plan starts from the plan's branch, and its
    /// work is merged into that branch. A task of the standing list (the workflow for single tasks) starts from the
    /// branch that the person has checked out, or from the branch of unmerged work on which it depends.
    async fn line(&self, of: &AttemptPlace) -> Result<BranchTip, GitProblem> {
        let list = match &of.line {
            WorkLine::Plan { branch } => return branch::line(&self.git, &self.root, branch, None).await,
            WorkLine::NoGit => return Err(GitProblem::NotARepository { path: self.root.clone() }),
            WorkLine::List(list) => list,
        };
        let repository = GitRepository::find(&self.git, &self.root).await?;
        let base = match repository.base(&self.git, list.after.as_deref()).await {
            // The branch `list.after` was merged and deleted in the meantime, so start from the person's branch.
            Err(GitProblem::BaseNotFound(_)) if list.after.is_some() => repository.base(&self.git, None).await?,
            found => found?,
        };
        Ok(BranchTip { branch: base.name, tip: base.commit })
    }

    /// Returns the branch of a task of the standing list (the workflow for single tasks): the branch of its worktree,
    /// else the branch on which it handed in work before, else a new branch.
    async fn list_branch(&self, list: &ListPlace, (owner, line): (&str, &BranchTip)) -> Result<String, GitProblem> {
        let records = self.slots.as_ref().map_or(Ok(Vec::new()), |slots| slots.pool.records())?;
        let own = records.iter().find(|(_, record)| record.used.owner() == Some(owner));
        if let Some(branch) = own.and_then(|(_, record)| record.used.branch()).or(list.delivered.as_deref()) {
            return Ok(branch.to_owned());
        }
        let subject = BranchSubject::Task { number: u64::from(list.number), name: &list.name };
        let start = BranchStart { subject, commit: &line.tip, owner, taken: &BTreeSet::new() };
        Ok(branch::start_branch(&self.git, &self.root, start).await?.branch)
    }

    /// Returns the worktree inside of the repository that version 0.1.0 made for an attempt, or `None`. An attempt that
    /// began in such a worktree also ends in it.
    async fn old_worktree(&self, line: &BranchTip, branch: &str) -> Result<Option<WorkPlace>, GitProblem> {
        let found = branch::standing(&self.git, &self.root, branch).await?;
        let repository = GitRepository::find(&self.git, &self.root).await?;
        // Version 0.1.0 made its worktrees in this folder. A worktree that is neither in this folder nor a slot belongs
        // to a person. The runner must not work there or remove it.
        let made_by_us = repository.home.join(git::STATE).join("worktrees");
        let is_old = |found: &TaskWorkspace| found.path.starts_with(&made_by_us) && !self.is_slot(&found.path);
        let Some(workspace) = found.filter(is_old) else { return Ok(None) };
        let fork = repository.fork(&self.git, &reference(branch), &line.tip).await?;
        let base_commit = fork.unwrap_or_else(|| line.tip.clone());
        Ok(Some(WorkPlace::Worktree { workspace, line: line.clone(), base_commit, slot: None }))
    }

    fn is_slot(&self, path: &Path) -> bool {
        let folder = self.slots.as_ref().map(|slots| slots.pool.folder());
        folder.is_some_and(|folder| {
            path.starts_with(folder) || folder.canonicalize().is_ok_and(|real| path.starts_with(real))
        })
    }

    /// Returns the worktree in which an attempt works, or `None` when no worktree has the attempt's branch checked out.
    pub async fn standing(&self, of: &AttemptPlace) -> Result<Option<WorkPlace>, GitProblem> {
        let Some(slots) = &self.slots else { return Ok(None) };
        let _turn = self.turn.acquire().await;
        let line = self.line(of).await?;
        match slots.pool.find(&self.git, &self.root, &slots.owner(of.task, of.attempt)).await? {
            Some(taken) => Ok(Some(self.worktree(taken, line))),
            None => self.old_worktree(&line, &branch::task_branch(&of.task.to_string(), of.attempt)).await,
        }
    }

    /// Marks the slot (a reusable worktree) of an attempt as kept, because its task waits for a person.
    pub fn keep_slot(&self, task: TaskId, attempt: u32) -> Result<(), GitProblem> {
        let Some(slots) = &self.slots else { return Ok(()) };
        slots.pool.keep(&slots.owner(task, attempt), now_ms())
    }

    /// Commits the work of tasks that have waited for a person since before `before_ms`, and frees their slots
    /// (worktrees).
    pub async fn give_up_before(&self, before_ms: i64) -> Result<(), GitProblem> {
        let Some(slots) = &self.slots else { return Ok(()) };
        let _turn = self.turn.acquire().await;
        slots.pool.give_up_before(&self.git, &self.root, before_ms).await.map(drop)
    }

    /// Saves the agent's work when its slot (worktree) has another branch or no branch checked out. Afterwards the
    /// attempt's branch is checked out there again. Returns the branch with the saved work, or `None` when there was
    /// nothing to save.
    pub async fn save(&self, task: TaskId, attempt: u32) -> Result<Option<SavedWork>, GitProblem> {
        let Some(slots) = &self.slots else { return Ok(None) };
        let _turn = self.turn.acquire().await;
        slots.pool.save(&self.git, &self.root, &slots.owner(task, attempt)).await
    }

    pub(super) fn worktree(&self, taken: TakenSlot, line: BranchTip) -> WorkPlace {
        let workspace = TaskWorkspace { repository: self.root.clone(), path: taken.path, branch: taken.branch };
        WorkPlace::Worktree { workspace, line, base_commit: taken.base_commit, slot: Some(taken.number) }
    }

    /// Frees the slot (worktree) of an attempt for another attempt, and deletes the attempt's branch. Keeps the branch
    /// when its work is on no other branch.
    pub async fn forget(&self, of: &AttemptPlace) -> Result<(), GitProblem> {
        let Some(slots) = &self.slots else { return Ok(()) };
        let _turn = self.turn.acquire().await;
        let _saved = slots.pool.free(&self.git, &self.root, &slots.owner(of.task, of.attempt)).await?;
        if let WorkLine::List(_) = of.line {
            return Ok(());
        }
        let line = self.line(of).await?;
        let branch = branch::task_branch(&of.task.to_string(), of.attempt);
        branch::forget(&self.git, &self.root, (&line, &branch), now_ms()).await.map(drop)
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

    /// Returns the request to merge a commit of the attempt into the workflow's branch. Returns `None` outside of git.
    pub fn merge_request(&self, place: &WorkPlace, head: &str, message: &str, author: &Author) -> Option<Merge> {
        let WorkPlace::Worktree { line, .. } = place else { return None };
        Some(Merge {
            repository: self.root.clone(),
            branch: line.branch.clone(),
            head: head.to_owned(),
            message: message.to_owned(),
            author: author.clone(),
        })
    }

    /// Computes a merge into the workflow's branch. The branch does not move yet.
    pub async fn plan_merge(&self, merge: &Merge) -> Result<MergePlan, GitProblem> {
        let _turn = self.turn.acquire().await;
        branch::plan_merge(&self.git, merge).await
    }

    /// Moves the workflow's branch to the merge that `plan_merge` prepared. Returns `None` when another merge moved the
    /// branch in the meantime.
    pub async fn make_merge(&self, merge: &Merge, ready: &ReadyMerge) -> Result<Option<MergeResult>, GitProblem> {
        let _turn = self.turn.acquire().await;
        branch::make_merge(&self.git, merge, ready).await
    }

    /// Merges the workflow's branch into the attempt's worktree. The agent then resolves the conflict markers in the
    /// worktree.
    pub async fn bring(&self, place: &WorkPlace, author: &Author) -> Result<MergeResult, GitProblem> {
        let WorkPlace::Worktree { workspace, line, .. } = place else {
            return Ok(MergeResult::Already { tip: String::new() });
        };
        let _turn = self.turn.acquire().await;
        // Reads the workflow's branch again, because other tasks may have been merged since the worktree was created.
        let line = branch::line(&self.git, &self.root, &line.branch, None).await?;
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

    /// Frees the slot (worktree) of an attempt for another attempt, after `keep` committed its work. Deletes the
    /// attempt's branch when the workflow's branch contains all of its work. Returns the name of the branch when the
    /// branch stays.
    pub async fn clear(
        &self,
        place: &WorkPlace,
        (task, attempt): (TaskId, u32),
        kept: KeptWork,
    ) -> Result<Option<String>, GitProblem> {
        let (WorkPlace::Worktree { workspace, line, .. }, Some(slots)) = (place, &self.slots) else { return Ok(None) };
        let _turn = self.turn.acquire().await;
        if kept == KeptWork::Committed
            && let TreeState::Dirty { files, more } = git::state(&self.git, &workspace.path).await?.tree
        {
            // A process wrote a file after all work was committed. The slot (worktree) is not freed, so that this file
            // is not lost.
            let dirt = Dirt::Changes { files, more };
            return Err(GitProblem::WorkspaceDirty { path: workspace.path.clone(), dirt });
        }
        if !self.is_slot(&workspace.path) {
            let repository = GitRepository::find(&self.git, &self.root).await?;
            git::undo(&self.git, &repository, workspace.path.clone()).await?;
        }
        let _saved = slots.pool.free(&self.git, &self.root, &slots.owner(task, attempt)).await?;
        // Reads the workflow's branch again, because other tasks may have been merged since the slot (worktree) was
        // prepared.
        let tip = GitRepository::find(&self.git, &self.root).await?.commit(&self.git, &reference(&line.branch)).await?;
        let line = BranchTip { tip: tip.unwrap_or_else(|| line.tip.clone()), ..line.clone() };
        let stays = branch::forget(&self.git, &self.root, (&line, &workspace.branch), now_ms()).await?;
        Ok(stays.then(|| workspace.branch.clone()))
    }

    /// Removes the lock files and the unfinished worktree that a killed git process left for an attempt. Call this
    /// function only when no git process works on that attempt.
    pub async fn clean_up(&self, task: TaskId, attempt: u32) -> Result<(), GitProblem> {
        let Some(slots) = &self.slots else { return Ok(()) };
        let _turn = self.turn.acquire().await;
        let branch = branch::task_branch(&task.to_string(), attempt);
        slots.pool.clean_up(&self.git, &self.root, &slots.owner(task, attempt), &branch).await
    }

    /// Removes the lock files that a killed git process left in the repository that all worktrees share. Returns the
    /// paths of the removed files.
    pub async fn clean_shared(&self) -> Result<Vec<PathBuf>, GitProblem> {
        if !self.is_repository() {
            return Ok(Vec::new());
        }
        remnant::clean_shared(&self.git, &self.root, branch::PREFIX).await
    }
}

/// Returns the current time in milliseconds since 1970.
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

    /// Returns the name of the branch from which the work started. The name is shown to a person.
    pub fn base_name(&self) -> &str {
        match self {
            Self::Worktree { line, .. } => &line.branch,
            Self::Folder(_) => "this folder",
        }
    }

    /// Returns the number of the slot (a reusable worktree), or `None` when the place is no slot.
    pub fn slot(&self) -> Option<u32> {
        match self {
            Self::Worktree { slot, .. } => *slot,
            Self::Folder(_) => None,
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
        branch::UncommittedReason::Submodule => "this folder is a git repository of its own",
        branch::UncommittedReason::Filter => "a git filter of the configuration would run for this file",
        branch::UncommittedReason::Copied => "this file was copied from the person's checkout and may have secrets",
    };
    left.iter().map(|left| format!("NOT_COMMITTED: {}: {}", left.path, why(left.why))).collect()
}
