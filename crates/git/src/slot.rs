//! Slots: worktrees outside of the repository that serve one piece of work after another.
//!
//! ```text
//! <folder>/lock        held while a record is chosen or changed
//! <folder>/1           the worktree of slot 1; ignored files (dependencies, build results) stay between two uses
//! <folder>/1.json      its record: who uses it
//! ```
//!
//! The record of a slot is written before git changes the worktree, and is written again after that change. A process
//! that is killed in between leaves the record [`SlotUse::Making`], and the next call for the same owner prepares the
//! worktree again. No agent has worked in that worktree yet, so no work is lost.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::branch::BranchTip;
use crate::program::{Git, GitCall};
use crate::remnant::clean_worktree;
use crate::repository::{GitRepository, WorktreeEntry, reference};
use crate::{GitProblem, TreeState};

mod save;

pub use save::SavedWork;
use save::{has_link, quit_operations};

/// The folder with the slots of one repository on this machine.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SlotPool {
    folder: PathBuf,
}

/// A request for a slot. The owner is any name for the work that uses the slot. A later request with the same owner
/// gets the same slot.
#[derive(Debug, Clone, Copy)]
pub struct SlotOrder<'a> {
    pub owner: &'a str,
    /// The branch for the work. In a newly prepared slot, this branch is checked out at the commit of `base`.
    pub branch: &'a str,
    pub base: &'a BranchTip,
}

/// A slot that its owner uses.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TakenSlot {
    pub number: u32,
    pub path: PathBuf,
    pub branch: String,
    /// The commit at which the branch of the work began.
    pub base_commit: String,
    /// The branch with work that the agent had left outside of its own branch, and that was saved just now.
    pub saved: Option<SavedWork>,
}

/// The record of one slot.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SlotRecord {
    pub used: SlotUse,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "state", rename_all = "snake_case")]
pub enum SlotUse {
    Free,
    /// Git prepares the worktree for its owner. No agent has worked in it yet.
    Making {
        owner: String,
        branch: String,
        base: String,
    },
    Used {
        owner: String,
        branch: String,
        base: String,
    },
}

impl SlotUse {
    pub fn owner(&self) -> Option<&str> {
        match self {
            Self::Free => None,
            Self::Making { owner, .. } | Self::Used { owner, .. } => Some(owner),
        }
    }
}

/// The lock of a pool (the folder with the slots of a repository). Dropping this value releases the lock.
struct PoolLock {
    _file: File,
}

impl SlotPool {
    /// Returns the pool of a repository: a folder below `parent`. Its name consists of the name of the repository's
    /// folder and four digits of the hash of the repository's path, so that two repositories with the same name have
    /// separate pools.
    pub fn of_repository(parent: &Path, home: &Path, hash: impl Fn(&[u8]) -> String) -> Self {
        use std::os::unix::ffi::OsStrExt as _;
        let name = home.file_name().map_or_else(|| "repository".to_owned(), |name| name.to_string_lossy().into_owned());
        let name: String =
            name.chars().map(|c| if c.is_alphanumeric() || "-_.".contains(c) { c } else { '-' }).collect();
        let digits: String = hash(home.as_os_str().as_bytes()).chars().take(4).collect();
        Self { folder: parent.join(format!("{name}-{digits}")) }
    }

    /// Returns the pool in a folder that the settings name.
    pub fn at(folder: PathBuf) -> Self {
        Self { folder }
    }

    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// Returns the slot of an owner. An owner that already has a slot gets this slot again with its files. If the agent
    /// left another branch or commit checked out there, its work is saved first, as [`SlotPool::save`] does. An owner
    /// without a slot gets one that is prepared first: the branch is checked out at the base, and the worktree has only
    /// the files of that commit and ignored files of earlier work.
    pub async fn take(&self, git: &Git, repository: &Path, order: SlotOrder<'_>) -> Result<TakenSlot, GitProblem> {
        let repository = GitRepository::find(git, repository).await?;
        let (number, record) = self.choose(order)?;
        let path = self.path(number);
        let mut saved = None;
        if let SlotUse::Used { branch, base, .. } = record.used {
            if !is_checked_out(git, &repository, &path, &branch).await? {
                saved = save::save(git, &repository, &path, &branch).await?;
            }
            if is_checked_out(git, &repository, &path, &branch).await? {
                return Ok(TakenSlot { number, path, branch, base_commit: base, saved });
            }
        }
        let (owner, branch, base) = (order.owner.to_owned(), order.branch.to_owned(), order.base.tip.clone());
        prepare(git, &repository, &path, order).await?;
        let used = SlotUse::Used { owner, branch: branch.clone(), base: base.clone() };
        self.change(number, |record| record.used = used.clone())?;
        Ok(TakenSlot { number, path, branch, base_commit: base, saved })
    }

    /// Saves the work in the slot of an owner, if its branch is not checked out there: everything that git does not
    /// ignore is committed, on the owner's branch when the work continues it, and on a second branch otherwise. Then
    /// the owner's branch is checked out. Returns the branch with the work, or `None` when there was nothing to save.
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

    /// Returns the slot that an owner uses. Returns `None` when the owner uses no slot, or when the owner's branch is
    /// not checked out in the slot's worktree.
    pub async fn find(&self, git: &Git, repository: &Path, owner: &str) -> Result<Option<TakenSlot>, GitProblem> {
        let repository = GitRepository::find(git, repository).await?;
        for (number, record) in self.records()? {
            let SlotUse::Used { owner: user, branch, base } = record.used else { continue };
            let path = self.path(number);
            if user == owner && is_checked_out(git, &repository, &path, &branch).await? {
                return Ok(Some(TakenSlot { number, path, branch, base_commit: base, saved: None }));
            }
        }
        Ok(None)
    }

    /// Frees the slot of an owner for another owner. The branch is no longer checked out there afterwards, so that the
    /// branch can be deleted. The caller has committed the work that must stay; other changes are discarded when the
    /// slot is used again. Work outside of the owner's branch, which the caller could not commit, is saved first as
    /// [`SlotPool::save`] does, and the branch that has it is returned.
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
            if entry(git, &repository, &path).await?.is_some_and(|entry| entry.branch.is_some()) {
                let arguments = ["checkout", "--quiet", "--force", "--detach"];
                GitCall::write(&path, &arguments).here_only().run(git).await?.whole()?;
            }
            self.change(number, |record| record.used = SlotUse::Free)?;
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

    /// Returns the records of all slots, ordered by number.
    pub fn records(&self) -> Result<Vec<(u32, SlotRecord)>, GitProblem> {
        let entries = match fs::read_dir(&self.folder) {
            Ok(entries) => entries,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            Err(error) => return Err(unusable(&self.folder, &error)),
        };
        let number = |name: &str| name.strip_suffix(".json")?.parse::<u32>().ok();
        let mut numbers: Vec<u32> = entries.flatten().filter_map(|entry| number(entry.file_name().to_str()?)).collect();
        numbers.sort_unstable();
        numbers.into_iter().map(|number| Ok((number, self.read(number)?))).collect()
    }

    pub fn path(&self, number: u32) -> PathBuf {
        self.folder.join(number.to_string())
    }

    /// Chooses the slot for an owner, and records that git prepares this slot, unless the owner already uses it.
    /// Returns the number of the slot and its record from before this change.
    fn choose(&self, order: SlotOrder<'_>) -> Result<(u32, SlotRecord), GitProblem> {
        let _lock = self.lock()?;
        let records = self.records()?;
        let own = records.iter().find(|(_, record)| record.used.owner() == Some(order.owner));
        let free = || records.iter().find(|(_, record)| record.used == SlotUse::Free);
        let (number, record) = match own.or_else(free) {
            Some(found) => found.clone(),
            None => {
                let is_new = |number: &u32| records.iter().all(|(taken, _)| taken != number);
                ((1..).find(is_new).unwrap_or(u32::MAX), SlotRecord { used: SlotUse::Free })
            }
        };
        if let SlotUse::Used { .. } = record.used {
            return Ok((number, record));
        }
        let (owner, branch, base) = (order.owner.to_owned(), order.branch.to_owned(), order.base.tip.clone());
        let making = SlotUse::Making { owner, branch, base };
        self.write(number, &SlotRecord { used: making })?;
        Ok((number, record))
    }

    fn change(&self, number: u32, change: impl Fn(&mut SlotRecord)) -> Result<(), GitProblem> {
        let _lock = self.lock()?;
        let mut record = self.read(number)?;
        change(&mut record);
        self.write(number, &record)
    }

    fn read(&self, number: u32) -> Result<SlotRecord, GitProblem> {
        let path = self.record_path(number);
        let text = fs::read_to_string(&path).map_err(|error| unusable(&path, &error))?;
        serde_json::from_str(&text).map_err(|error| unusable(&path, &error.into()))
    }

    /// Writes the record of a slot to a temporary file first and then renames that file, so that a killed process never
    /// leaves half of a record.
    fn write(&self, number: u32, record: &SlotRecord) -> Result<(), GitProblem> {
        let path = self.record_path(number);
        let whole = path.with_extension("json.new");
        let text = serde_json::to_string(record).map_err(|error| unusable(&path, &error.into()))?;
        fs::write(&whole, text).and_then(|()| fs::rename(&whole, &path)).map_err(|error| unusable(&path, &error))
    }

    fn record_path(&self, number: u32) -> PathBuf {
        self.folder.join(format!("{number}.json"))
    }

    fn lock(&self) -> Result<PoolLock, GitProblem> {
        let path = self.folder.join("lock");
        let lock = || {
            let mut maker = fs::DirBuilder::new();
            std::os::unix::fs::DirBuilderExt::mode(&mut maker, 0o700);
            maker.recursive(true).create(&self.folder)?;
            let file = File::options().create(true).truncate(false).write(true).open(&path)?;
            file.lock()?;
            Ok(PoolLock { _file: file })
        };
        lock().map_err(|error| unusable(&path, &error))
    }
}

/// Checks out the branch of the request at its base, in a worktree without leftover changes.
async fn prepare(git: &Git, repository: &GitRepository, path: &Path, order: SlotOrder<'_>) -> Result<(), GitProblem> {
    repository.allows(git, order.branch).await?;
    clean_worktree(&repository.common, path).map_err(|error| unusable(path, &error))?;
    if let Some(tip) = repository.commit(git, &reference(order.branch)).await?
        && !repository.contains(git, &order.base.tip, &tip).await?
    {
        // The branch has work that is not in the base. The caller must decide first whether this work is needed.
        return Err(GitProblem::BranchExists { branch: order.branch.to_owned(), checked_out: None });
    }
    if entry(git, repository, path).await?.is_none() {
        gone(fs::remove_dir_all(path)).map_err(|error| unusable(path, &error))?;
        // `--force` replaces the registration of a worktree whose folder a person deleted.
        let arguments = ["worktree", "add", "--quiet", "--force", "--detach", "--"];
        GitCall::write(&repository.home, &arguments).and(path).and(&order.base.tip).run(git).await?.whole()?;
    } else {
        // `--hard` also ends a merge that was in progress. The doubled option `-ff` also removes git repositories that
        // an agent created inside of the worktree.
        quit_operations(git, path).await?;
        GitCall::write(path, &["reset", "--quiet", "--hard"]).here_only().run(git).await?.whole()?;
        GitCall::write(path, &["clean", "--quiet", "-ffd"]).here_only().run(git).await?.whole()?;
    }
    let arguments = ["checkout", "--quiet", "--force", "--no-track", "-B"];
    let call = GitCall::write(path, &arguments).and(order.branch).and(&order.base.tip);
    call.here_only().run(git).await?.whole()?;
    match crate::state(git, path).await?.tree {
        TreeState::Clean => Ok(()),
        TreeState::Dirty { files, .. } => {
            let files = files.join(", ");
            Err(GitProblem::failed("checkout", &format!("the worktree still has changes after it: {files}")))
        }
    }
}

async fn is_checked_out(git: &Git, repository: &GitRepository, path: &Path, branch: &str) -> Result<bool, GitProblem> {
    let found = entry(git, repository, path).await?;
    Ok(has_link(repository, path) && found.is_some_and(|entry| entry.branch.as_deref() == Some(&reference(branch))))
}

/// Returns the entry of a worktree in git's list, or `None` when git does not know the worktree or its folder is gone.
async fn entry(git: &Git, repository: &GitRepository, path: &Path) -> Result<Option<WorktreeEntry>, GitProblem> {
    let Ok(real) = path.canonicalize() else { return Ok(None) };
    Ok(repository.worktrees(git).await?.into_iter().find(|entry| entry.path == real))
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
