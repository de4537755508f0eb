//! The queue between processes: an exclusive lock on a file beside the database, held for one transaction.
//!
//! SQLite's own lock is taken by whoever asks at the right moment, so under load some processes starve. The kernel hands
//! this lock on in the order of asking, and takes it back from a process that dies.

use std::fs::File;
use std::path::Path;

use crate::fault::Fault;

#[derive(Debug)]
pub(super) struct Queue {
    file: File,
    path: std::path::PathBuf,
}

/// Our turn; it ends when this is dropped.
#[derive(Debug)]
pub(super) struct Turn<'a> {
    queue: &'a Queue,
}

impl Queue {
    pub(super) fn beside(database: &Path) -> Result<Self, Fault> {
        let mut path = database.as_os_str().to_owned();
        path.push(".lock");
        let path = std::path::PathBuf::from(path);
        let mut options = File::options();
        // Whoever could open it could keep everybody waiting.
        std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
        let file = options.create(true).truncate(false).write(true).open(&path);
        let file = file.map_err(Fault::file("open the queue", &path))?;
        Ok(Self { file, path })
    }

    /// Waits without bound; whoever asked for the work waits with one. `before` is called when there is something to wait for.
    pub(super) fn wait(&self, before: impl FnOnce()) -> Result<Turn<'_>, Fault> {
        if self.file.try_lock().is_ok() {
            return Ok(Turn { queue: self });
        }
        before();
        self.file.lock().map_err(Fault::file("lock the queue", &self.path))?;
        Ok(Turn { queue: self })
    }
}

impl Drop for Turn<'_> {
    fn drop(&mut self) {
        // The lock goes with the file in any case; nothing can be done about a failure here.
        let _ = self.queue.file.unlock();
    }
}
