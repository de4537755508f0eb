//! Slots: worktrees outside of the repository that serve one piece of work after another.
//!
//! ```text
//! <folder>/lock        held while a record is chosen or changed
//! <folder>/1           the worktree of slot 1; ignored files (dependencies, build results) stay between two uses
//! <folder>/1.json      its record: who uses it, since when, and its ports
//! <folder>/1.lock      held while git prepares the slot or commits work to give the slot up
//! ```
//!
//! The record of a slot is written before git changes the worktree, and is written again after that change. A process
//! that is killed in between leaves the record [`SlotUse::Making`], and the next call for the same owner prepares the
//! worktree again. No agent has worked in that worktree yet, so no work is lost.

mod choose;
mod lock;
mod ports;
mod prepare;
mod record;
mod reset;
mod save;

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use crate::GitProblem;
use crate::branch::BranchTip;
use crate::program::Git;
use crate::remnant::clean_worktree;
use crate::repository::{GitRepository, reference};

use choose::SlotChoice;
use prepare::{is_checked_out, prepare};

pub use ports::{PORTS_PER_SLOT, SlotPorts};
pub use record::{SlotRecord, SlotUse};
pub use reset::{SlotReset, remove_ignored};
pub use save::SavedWork;

/// The folder with all slots (reusable worktrees) of one repository on this machine.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SlotPool {
    folder: PathBuf,
}

/// A request for a slot (a reusable worktree). The owner is a name for the work that uses the slot. A later request
/// with the same owner gets the same slot.
#[derive(Debug, Clone, Copy)]
pub struct SlotOrder<'a> {
    pub owner: &'a str,
    /// The branch for the work. In a newly prepared slot (worktree), this branch is checked out at the commit of
    /// `base`.
    pub branch: &'a str,
    pub base: &'a BranchTip,
    pub existing: ExistingBranch,
    /// The maximum number of slots (worktrees). When all are used, a slot whose owner waits for a person is given up.
    /// `None` means no maximum.
    pub limit: Option<u32>,
    /// The present time in Unix milliseconds.
    pub now_ms: i64,
}

/// The rule for a branch that already has commits when a slot (a reusable worktree) is prepared for it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ExistingBranch {
    /// The request for a slot (worktree) fails, because the commits may belong to other work.
    Refuse,
    /// The branch is checked out with its commits, because the owner gave up its slot (worktree) earlier and continues
    /// now.
    Continue,
}

/// A slot (a reusable worktree) that an owner uses. The owner is a name for the work.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TakenSlot {
    pub number: u32,
    pub path: PathBuf,
    pub branch: String,
    /// The commit at which the branch of the work began.
    pub base_commit: String,
    pub ports: Option<SlotPorts>,
    /// The fingerprint of the setup commands that last succeeded in the slot (worktree). `None` when the setup must
    /// run.
    pub setup: Option<String>,
    /// The branch on which this call saved work that the agent had left outside of its own branch. `None` when there
    /// was no such work.
    pub saved: Option<SavedWork>,
    /// The earlier owner that waited and gave up this slot (worktree) for the request. All of its work is committed.
    pub gave_up: Option<GivenUpSlot>,
}

/// A slot (a reusable worktree) that was given up because its owner waited for a person. A later request of this owner
/// gets another slot.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GivenUpSlot {
    pub number: u32,
    pub owner: String,
    pub branch: String,
    /// The branch on which Handover saved the work that the agent had left outside of its own branch. `None` without
    /// such work.
    pub saved: Option<SavedWork>,
}

/// A slot (a reusable worktree) with the facts that commands show.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SlotInfo {
    pub number: u32,
    pub path: PathBuf,
    pub record: SlotRecord,
}

impl SlotPool {
    /// Returns the pool (the folder with all worktrees) of a repository. It is a folder below `parent`. Its name has
    /// the name of the repository's folder and four digits of the hash of the repository's path. So two repositories
    /// with the same name have separate pools.
    pub fn of_repository(parent: &Path, home: &Path, hash: impl Fn(&[u8]) -> String) -> Self {
        use std::os::unix::ffi::OsStrExt as _;
        let name = home.file_name().map_or_else(|| "repository".to_owned(), |name| name.to_string_lossy().into_owned());
        let name: String =
            name.chars().map(|c| if c.is_alphanumeric() || "-_.".contains(c) { c } else { '-' }).collect();
        let digits: String = hash(home.as_os_str().as_bytes()).chars().take(4).collect();
        Self { folder: parent.join(format!("{name}-{digits}")) }
    }

    /// Returns the pool (the folder with all slots, that is, worktrees) that the settings name.
    pub fn at(folder: PathBuf) -> Self {
        Self { folder }
    }

    pub fn folder(&self) -> &Path {
        &self.folder
    }

    pub fn path(&self, number: u32) -> PathBuf {
        self.folder.join(number.to_string())
    }

    /// Returns all slots (worktrees), ordered by number.
    pub fn list(&self) -> Result<Vec<SlotInfo>, GitProblem> {
        let records = self.records()?.into_iter();
        Ok(records.map(|(number, record)| SlotInfo { number, path: self.path(number), record }).collect())
    }

    /// Returns the slot (worktree) of an owner. An owner that already has a slot gets it again with its files. If the
    /// agent left another branch or commit checked out there, its work is saved first, as [`SlotPool::save`] does. For
    /// an owner without a slot, a slot is prepared: the branch is checked out at the base, and the worktree has only
    /// the files of that commit and ignored files of earlier work.
    ///
    /// When the limit is reached, the slot whose owner has waited longest for a person is given up, after its work is
    /// committed on its branch. A slot that a running attempt uses is never given up.
    pub async fn take(&self, git: &Git, repository: &Path, order: SlotOrder<'_>) -> Result<TakenSlot, GitProblem> {
        let repository = GitRepository::find(git, repository).await?;
        let SlotChoice { number, before, gave_up, lock } = self.choose(git, &repository, order).await?;
        let path = self.path(number);
        // Lock the slot (worktree). A caller that wants to give the slot up must then wait for the lock. After that it
        // sees the changed record and leaves the slot to its owner.
        let _lock = match lock {
            Some(lock) => lock,
            None => self.lock_slot(number).await?,
        };
        let (ports, mut saved) = (before.ports(), None);
        if let SlotUse::Used { branch, base, .. } = before.used {
            if !is_checked_out(git, &repository, &path, &branch).await? {
                saved = save::save(git, &repository, &path, &branch).await?;
            }
            if is_checked_out(git, &repository, &path, &branch).await? {
                let setup = before.setup;
                return Ok(TakenSlot { number, path, branch, base_commit: base, ports, setup, saved, gave_up });
            }
        }
        let is_new = !path.is_dir();
        let base = prepare(git, &repository, &path, order).await?;
        let (owner, branch) = (order.owner.to_owned(), order.branch.to_owned());
        let used = SlotUse::Used { owner, branch: branch.clone(), base: base.clone() };
        let record = self.change(number, |record| {
            record.used = used.clone();
            record.setup = record.setup.take().filter(|_| !is_new);
        })?;
        Ok(TakenSlot { number, path, branch, base_commit: base, ports, setup: record.setup, saved, gave_up })
    }

    /// Returns the slot (worktree) that an owner uses. Returns `None` when the owner uses no slot, or when the owner's
    /// branch is not checked out in the slot.
    pub async fn find(&self, git: &Git, repository: &Path, owner: &str) -> Result<Option<TakenSlot>, GitProblem> {
        let repository = GitRepository::find(git, repository).await?;
        for (number, record) in self.records()? {
            let (ports, setup) = (record.ports(), record.setup);
            let SlotUse::Used { owner: user, branch, base } = record.used else { continue };
            let path = self.path(number);
            if user == owner && is_checked_out(git, &repository, &path, &branch).await? {
                let (saved, gave_up) = (None, None);
                return Ok(Some(TakenSlot { number, path, branch, base_commit: base, ports, setup, saved, gave_up }));
            }
        }
        Ok(None)
    }

    /// Saves the work in an owner's slot (worktree) when the owner's branch is not checked out there. Commits
    /// everything that git does not ignore: on the owner's branch if the work continues that branch, otherwise on a
    /// second branch. Then checks out the owner's branch. Returns the branch with the work, or `None` when there was
    /// nothing to save.
    pub async fn save(&self, git: &Git, repository: &Path, owner: &str) -> Result<Option<SavedWork>, GitProblem> {
        let repository = GitRepository::find(git, repository).await?;
        for (number, record) in self.records()? {
            let SlotUse::Used { owner: user, branch, .. } = record.used else { continue };
            let path = self.path(number);
            if user == owner && !is_checked_out(git, &repository, &path, &branch).await? {
                return save::save(git, &repository, &path, &branch).await;
            }
        }
        Ok(None)
    }

    /// Records that the owner of a slot (worktree) waits for a person, for example for an answer or a merge. From now
    /// on the slot may be given up. Taking the slot again ends this state. Does nothing when the owner has no slot.
    pub fn keep(&self, owner: &str, now_ms: i64) -> Result<(), GitProblem> {
        self.change_of(owner, |record| {
            if !record.kept {
                (record.kept, record.since_ms) = (true, Some(now_ms));
            }
        })
    }

    /// Records the fingerprint of the setup commands that succeeded in a slot (worktree). `None` records that they
    /// failed.
    pub fn record_setup(&self, number: u32, fingerprint: Option<&str>) -> Result<(), GitProblem> {
        self.change(number, |record| record.setup = fingerprint.map(str::to_owned)).map(drop)
    }

    /// Frees the slot (worktree) of an owner for another owner. Afterwards the owner's branch is not checked out there,
    /// so it can be deleted. The caller has committed the work that must stay; other changes are discarded when the
    /// slot is used again. Work outside of the owner's branch is saved first, as [`SlotPool::save`] does, and the
    /// branch that has it is returned.
    pub async fn free(&self, git: &Git, repository: &Path, owner: &str) -> Result<Option<SavedWork>, GitProblem> {
        let repository = GitRepository::find(git, repository).await?;
        let mut saved = None;
        for (number, record) in self.records()? {
            if record.used.owner() != Some(owner) {
                continue;
            }
            let path = self.path(number);
            clean_worktree(&repository.common, &path).map_err(|error| unusable(&path, &error))?;
            if let SlotUse::Used { branch, .. } = &record.used
                && !is_checked_out(git, &repository, &path, branch).await?
            {
                saved = save::save(git, &repository, &path, branch).await?.or(saved);
            }
            save::detach(git, &repository, &path).await?;
            self.change(number, SlotRecord::free)?;
        }
        Ok(saved)
    }

    /// Removes the lock files and the unfinished worktree that a killed git process left for an owner and its branch.
    /// Call this function only when no git process works for that owner.
    pub async fn clean_up(&self, git: &Git, repository: &Path, owner: &str, branch: &str) -> Result<(), GitProblem> {
        let repository = GitRepository::find(git, repository).await?;
        let records = self.records()?;
        let own = records.iter().filter(|(_, record)| record.used.owner() == Some(owner));
        let paths: Vec<PathBuf> = own.map(|(number, _)| self.path(*number)).collect();
        let lock = repository.common.join(format!("{}.lock", reference(branch)));
        let clean = move || {
            gone(fs::remove_file(lock))?;
            paths.iter().try_for_each(|path| clean_worktree(&repository.common, path))
        };
        let cleaned = tokio::task::spawn_blocking(clean).await.unwrap_or_else(|error| Err(io::Error::other(error)));
        cleaned.map_err(|error| unusable(&self.folder, &error))
    }
}

fn gone(result: io::Result<()>) -> io::Result<()> {
    match result {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        Ok(()) | Err(_) => Ok(()),
    }
}

fn unusable(path: &Path, error: &io::Error) -> GitProblem {
    GitProblem::PathUnusable { path: path.to_owned(), problem: error.to_string() }
}
