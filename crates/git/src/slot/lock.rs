//! Locks single slots (reusable worktrees). A caller holds the lock of a slot while it runs git there, so that two git
//! processes never work in one slot.

use std::fs::{File, TryLockError};
use std::io;
use std::path::PathBuf;

use super::{SlotPool, unusable};
use crate::GitProblem;

/// The lock of one slot (a reusable worktree). Dropping this value releases the lock.
#[derive(Debug)]
pub(super) struct SlotLock {
    _file: File,
}

impl SlotPool {
    /// Waits until no other caller works on the slot (a reusable worktree), and locks the slot.
    pub(super) async fn lock_slot(&self, number: u32) -> Result<SlotLock, GitProblem> {
        let path = self.slot_lock_path(number);
        let wait = path.clone();
        let locked = tokio::task::spawn_blocking(move || {
            let file = open(wait)?;
            file.lock()?;
            Ok(SlotLock { _file: file })
        });
        let locked = locked.await.unwrap_or_else(|error| Err(io::Error::other(error)));
        locked.map_err(|error| unusable(&path, &error))
    }

    /// Locks the slot (a reusable worktree). Returns `None` when another caller has locked it.
    pub(super) fn try_lock_slot(&self, number: u32) -> Result<Option<SlotLock>, GitProblem> {
        let path = self.slot_lock_path(number);
        let file = open(path.clone()).map_err(|error| unusable(&path, &error))?;
        match file.try_lock() {
            Ok(()) => Ok(Some(SlotLock { _file: file })),
            Err(TryLockError::WouldBlock) => Ok(None),
            Err(TryLockError::Error(error)) => Err(unusable(&path, &error)),
        }
    }

    fn slot_lock_path(&self, number: u32) -> PathBuf {
        self.folder().join(format!("{number}.lock"))
    }
}

fn open(path: PathBuf) -> io::Result<File> {
    File::options().create(true).truncate(false).write(true).open(path)
}
