//! The write queue between processes: an exclusive lock on a file next to the database. A process holds this lock for
//! one transaction.
//!
//! SQLite's own lock goes to any process that asks when the lock is free, so under load some processes wait without
//! end. The kernel grants the file lock in the order of the requests, and releases it when the process that holds it
//! dies.

use std::fs::File;
use std::path::Path;

use crate::fault::Fault;

#[derive(Debug)]
pub(super) struct Queue {
    file: File,
    path: std::path::PathBuf,
}

/// The right of this process to write to the database. Dropping this value releases the file lock.
#[derive(Debug)]
pub(super) struct WriteTurn<'a> {
    queue: &'a Queue,
}

impl Queue {
    pub(super) fn beside(database: &Path) -> Result<Self, Fault> {
        let mut path = database.as_os_str().to_owned();
        path.push(".lock");
        let path = std::path::PathBuf::from(path);
        let mut options = File::options();
        // Only the owner may open this file, because a user that can open it can block all writers.
        std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
        let file = options.create(true).truncate(false).write(true).open(&path);
        let file = file.map_err(Fault::file("open the queue", &path))?;
        Ok(Self { file, path })
    }

    /// Waits for the file lock without a time limit, because each caller of a waiting command has its own limit. If
    /// another process holds the lock, calls `before` before it waits.
    pub(super) fn wait(&self, before: impl FnOnce()) -> std::io::Result<WriteTurn<'_>> {
        if self.file.try_lock().is_ok() {
            return Ok(WriteTurn { queue: self });
        }
        before();
        self.file.lock()?;
        Ok(WriteTurn { queue: self })
    }

    /// Returns the fault for a lock that [`Queue::wait`] could not get.
    pub(super) fn fault(&self, cause: std::io::Error) -> Fault {
        Fault::file("lock the queue", &self.path)(cause)
    }
}

impl Drop for WriteTurn<'_> {
    fn drop(&mut self) {
        // Ignore a failure: closing the file releases the lock, too.
        let _ = self.queue.file.unlock();
    }
}
