//! A file that records which process started a `handover mcp` server. The file is next to the server's session file and
//! is locked while the server is alive.
//!
//! The lock shows that the server is alive, as in [`base::live`]. The content says which process started the server.
//! The file gets its final name only after it is locked and complete, so a reader finds a complete file or no file.

use std::fs::{File, TryLockError};
use std::io::{self, Read as _, Write as _};
use std::path::{Path, PathBuf};

use engine::id::SessionId;
use serde::{Deserialize, Serialize};

use super::ancestry::{self, Ancestor, NumberSpace};
use super::client;
use base::ground::random;

/// The ending of the names of the files that say which process started a `handover mcp` server.
const ENDING: &str = ".client";
/// The maximum number of bytes of a `.client` file. Handover's own files are shorter, so a longer file is ignored.
const BYTES_MAX: u64 = 4_096;
/// The maximum number of `.client` files that are read in a folder; further files are ignored. A machine has far fewer
/// agents.
const FILES_MAX: usize = 10_000;

/// The file that records which process started this `handover mcp` server. The file exists until this value is dropped
/// or the server's process ends.
#[derive(Debug)]
pub struct ClientRecord {
    /// The open record file, which keeps the file's lock. `None` when no file was written.
    _file: Option<File>,
    path: PathBuf,
}

/// A process that started a `handover mcp` server that is alive.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct McpParent {
    pid: u32,
    /// The start time of the process, in the kernel's ticks since boot.
    start: u64,
    namespace: String,
    boot: String,
    session: Option<String>,
}

impl McpParent {
    /// Tells whether the ancestor is the process in this record: the process ids are equal, and the start times are
    /// equal.
    pub(super) fn is(&self, ancestor: &Ancestor) -> bool {
        (self.pid, self.start) == (ancestor.pid, ancestor.start)
    }

    pub(super) fn pid(&self) -> u32 {
        self.pid
    }

    pub(super) fn session(&self) -> Option<SessionId> {
        self.session.as_ref()?.parse().ok()
    }
}

impl ClientRecord {
    /// Writes the file that records which process started this process. Writes nothing when the parent process cannot
    /// be read. Also writes nothing when the parent process starts programs for people, as a session manager or an
    /// editor does.
    pub fn keep(folder: &Path, session: Option<SessionId>) -> io::Result<Self> {
        let parent = ancestry::parent_id().and_then(ancestry::read).filter(|parent| !client::is_launcher(parent));
        let (Some(parent), Some(NumberSpace { namespace, boot })) = (parent, ancestry::number_space()) else {
            return Ok(Self { _file: None, path: PathBuf::new() });
        };
        let name = match session {
            Some(session) => session.to_string(),
            None => format!("turn_{}", random::token().map_err(io::Error::other)?),
        };
        let session = session.map(|session| session.to_string());
        let record = McpParent { pid: parent.pid, start: parent.start, namespace, boot, session };
        let path = folder.join(format!("{name}{ENDING}"));
        let file = write(folder, &path, &record)?;
        Ok(Self { _file: Some(file), path })
    }
}

impl Drop for ClientRecord {
    fn drop(&mut self) {
        if self._file.is_some() {
            // If the record file cannot be deleted, it stays without a lock, and the next process that reads the
            // records deletes it.
            let _stays = std::fs::remove_file(&self.path);
        }
    }
}

fn write(folder: &Path, path: &Path, record: &McpParent) -> io::Result<File> {
    std::fs::create_dir_all(folder)?;
    let mut fresh = tempfile::NamedTempFile::new_in(folder)?;
    fresh.as_file().lock()?;
    fresh.write_all(serde_json::to_string(record)?.as_bytes())?;
    fresh.flush()?;
    fresh.persist(path).map_err(|failed| failed.error)
}

/// Returns the processes that started the live `handover mcp` servers of a folder and its subfolders (one clone of a
/// project can have several stores, with one subfolder each). Skips a file that was written in another process
/// namespace or before the last boot, because its process ids name other processes. Deletes the files of servers that
/// were killed.
pub(super) fn living(folder: &Path) -> Vec<McpParent> {
    let Some(here) = ancestry::number_space() else { return Vec::new() };
    let entries = |folder: &Path| std::fs::read_dir(folder).into_iter().flatten().flatten().take(FILES_MAX);
    let is_folder = |entry: &std::fs::DirEntry| entry.file_type().is_ok_and(|kind| kind.is_dir());
    let inner = entries(folder).filter(is_folder).map(|entry| entry.path());
    let files = std::iter::once(folder.to_owned()).chain(inner).flat_map(|folder| entries(&folder));
    let named = files.filter(|entry| entry.file_name().to_string_lossy().ends_with(ENDING));
    let found = named.filter_map(|entry| living_one(&entry.path()));
    found.filter(|one| one.namespace == here.namespace && one.boot == here.boot).collect()
}

fn living_one(path: &Path) -> Option<McpParent> {
    let file = open(path).ok()?;
    // Take a shared lock, so that two readers do not mistake each other for the live server.
    match file.try_lock_shared() {
        Err(TryLockError::WouldBlock) => {}
        Ok(()) => {
            let _stays = std::fs::remove_file(path);
            return None;
        }
        Err(TryLockError::Error(_)) => return None,
    }
    let mut text = String::new();
    file.take(BYTES_MAX).read_to_string(&mut text).ok()?;
    serde_json::from_str(&text).ok()
}

/// Opens a regular file. Fails for a symbolic link, and does not block on a pipe.
fn open(path: &Path) -> io::Result<File> {
    use std::os::unix::fs::OpenOptionsExt as _;

    let flags = rustix::fs::OFlags::NOFOLLOW | rustix::fs::OFlags::NONBLOCK;
    File::options().read(true).custom_flags(flags.bits().cast_signed()).open(path)
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;

    #[test]
    fn the_parent_is_known_as_long_as_the_record_is_kept() -> io::Result<()> {
        let folder = tempfile::tempdir()?;
        let session: SessionId = "ses_0123456789ab".parse().map_err(io::Error::other)?;
        assert_eq!(living(folder.path()), []);
        let own = ancestry::parent_id().and_then(ancestry::read);
        let record = ClientRecord::keep(folder.path(), Some(session))?;
        let Some(own) = own.filter(|parent| !client::is_launcher(parent)) else { return Ok(()) };
        let found = living(folder.path());
        assert!(found.iter().all(|one| one.is(&own)) && found.len() == 1, "{found:?}");
        assert_eq!(found[0].session(), Some(session));
        // The system can give the process id of an ended process to a new process, so another start time means another
        // process.
        assert!(!found[0].is(&Ancestor { start: own.start + 1, ..own }));
        drop(record);
        assert_eq!(living(folder.path()), []);
        Ok(())
    }

    #[test]
    fn what_a_killed_server_left_says_nothing_and_is_removed() -> io::Result<()> {
        let folder = tempfile::tempdir()?;
        let path = folder.path().join("ses_0123456789ab.client");
        let record = ClientRecord::keep(folder.path(), Some("ses_0123456789ab".parse().map_err(io::Error::other)?))?;
        let text = std::fs::read_to_string(&path).unwrap_or_else(|_| "{}".to_owned());
        drop(record);
        std::fs::write(&path, text)?;
        assert_eq!(living(folder.path()), []);
        assert!(!path.exists());
        Ok(())
    }

    #[test]
    fn numbers_of_another_namespace_or_boot_mean_other_processes() -> io::Result<()> {
        let folder = tempfile::tempdir()?;
        let Some(NumberSpace { namespace, boot }) = ancestry::number_space() else { return Ok(()) };
        let record = McpParent { pid: 1, start: 1, namespace, boot, session: None };
        let elsewhere = McpParent { namespace: "pid:[1]".to_owned(), ..record.clone() };
        let before = McpParent { boot: "another".to_owned(), ..record.clone() };
        let _kept = [("a", &record), ("b", &elsewhere), ("c", &before)]
            .map(|(name, record)| write(folder.path(), &folder.path().join(format!("{name}{ENDING}")), record));
        assert_eq!(living(folder.path()), [record]);
        Ok(())
    }
}
