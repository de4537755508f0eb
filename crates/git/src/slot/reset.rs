//! Deletes the worktrees of free slots, including their ignored files. The next use of such a slot makes its worktree
//! again.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use super::record::SlotUse;
use super::{SlotPool, gone, unusable};
use crate::GitProblem;
use crate::program::{Git, GitCall};
use crate::remnant::registration;
use crate::repository::GitRepository;

/// The ending of a folder's name that marks the folder of a slot as being deleted.
const DELETED: &str = ".deleted";

/// The slots (reusable worktrees) whose folders are deleted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SlotReset {
    Number(u32),
    AllFree,
}

/// Removes all files that git ignores from a worktree, such as installed dependencies and build results. The work in
/// the worktree stays.
pub async fn remove_ignored(git: &Git, worktree: &Path) -> Result<(), GitProblem> {
    let call = GitCall::write(worktree, &["clean", "--quiet", "-ffdX"]).here_only();
    call.run(git).await?.whole().map(drop)
}

impl SlotPool {
    /// Deletes the worktree of one slot, or of all slots that no owner uses. Returns the numbers of these slots.
    /// Refuses a slot that an owner uses.
    pub async fn reset(&self, git: &Git, repository: &Path, which: SlotReset) -> Result<Vec<u32>, GitProblem> {
        let repository = GitRepository::find(git, repository).await?;
        let pool = self.clone();
        let work = move || {
            let (done, folders) = pool.put_aside(&repository, which)?;
            // Delete the folders, which were renamed before. Other processes can already use the slots (worktrees).
            for folder in folders {
                gone(fs::remove_dir_all(&folder)).map_err(|error| unusable(&folder, &error))?;
            }
            Ok(done)
        };
        tokio::task::spawn_blocking(work)
            .await
            .unwrap_or_else(|error| Err(unusable(&self.folder, &io::Error::other(error))))
    }

    /// Renames the folders of the slots, and removes git's registrations of these worktrees. Returns the numbers of the
    /// slots, and the folders to delete, including folders that an earlier call could not delete.
    fn put_aside(&self, repository: &GitRepository, which: SlotReset) -> Result<(Vec<u32>, Vec<PathBuf>), GitProblem> {
        let _lock = self.lock()?;
        let mut done = Vec::new();
        for (number, mut record) in self.records()? {
            match (which, record.used.owner()) {
                (SlotReset::Number(wanted), _) if wanted != number => continue,
                (SlotReset::AllFree, Some(_)) => continue,
                (SlotReset::Number(_), Some(owner)) => {
                    let (owner, kept) = (owner.to_owned(), record.kept);
                    return Err(GitProblem::SlotInUse { number, owner, kept });
                }
                (SlotReset::Number(_) | SlotReset::AllFree, None) => {}
            }
            let path = self.path(number);
            let failed = |error: io::Error| unusable(&path, &error);
            let registered = registration(&repository.common, &path);
            let mut aside = self.folder.join(format!("{number}{DELETED}"));
            for copy in 2_u32.. {
                if !aside.exists() {
                    break;
                }
                aside = self.folder.join(format!("{number}-{copy}{DELETED}"));
            }
            gone(fs::rename(&path, &aside)).map_err(failed)?;
            if let Some(registered) = registered {
                gone(fs::remove_dir_all(&registered)).map_err(failed)?;
                // Like git, remove the folder `worktrees` together with its last registration. The removal fails when
                // other registrations are left, and that failure is ignored.
                let _others = fs::remove_dir(repository.common.join("worktrees"));
            }
            (record.used, record.setup) = (SlotUse::Free, None);
            self.write(number, &record)?;
            done.push(number);
        }
        if let SlotReset::Number(number) = which
            && done.is_empty()
        {
            return Err(GitProblem::input("slot", format!("{number} does not exist")));
        }
        let entries = fs::read_dir(&self.folder).map_err(|error| unusable(&self.folder, &error))?;
        let is_deleted = |path: &PathBuf| path.to_string_lossy().ends_with(DELETED);
        Ok((done, entries.flatten().map(|entry| entry.path()).filter(is_deleted).collect()))
    }
}
