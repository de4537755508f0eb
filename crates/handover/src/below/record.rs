//! A file that records which process started a `handover mcp` server. The file is next to the server's session file and
//! is locked while the server is alive.
//!
//! The lock shows that the server is alive, as in [`base::live`]. The content says which process started the server.

use std::io;
use std::path::Path;

use engine::id::SessionId;
use serde::{Deserialize, Serialize};

use super::ancestry::{self, Ancestor, NumberSpace};
use super::client;
use base::ground::random;
use base::live::record::{self, LiveRecord};

/// The ending of the names of the files that say which process started a `handover mcp` server.
const ENDING: &str = ".client";
/// The maximum number of folders in which records are looked for; further folders are ignored. A machine has far fewer
/// stores.
const FOLDERS_MAX: usize = 10_000;

/// The file that records which process started this `handover mcp` server. The file exists until this value is dropped
/// or the server's process ends.
#[derive(Debug)]
pub struct ClientRecord {
    /// The record, which is locked. `None` when no file was written.
    _record: Option<LiveRecord>,
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
            return Ok(Self { _record: None });
        };
        let name = match session {
            Some(session) => session.to_string(),
            None => format!("turn_{}", random::token().map_err(io::Error::other)?),
        };
        let session = session.map(|session| session.to_string());
        let record = McpParent { pid: parent.pid, start: parent.start, namespace, boot, session };
        Ok(Self { _record: Some(LiveRecord::keep(folder, &format!("{name}{ENDING}"), &record)?) })
    }
}

/// Returns the processes that started the live `handover mcp` servers of a folder and its subfolders (one clone of a
/// project can have several stores, with one subfolder each). Skips a file that was written in another process
/// namespace or before the last boot, because its process ids name other processes. Deletes the files of servers that
/// were killed.
pub(super) fn living(folder: &Path) -> Vec<McpParent> {
    let Some(here) = ancestry::number_space() else { return Vec::new() };
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten().take(FOLDERS_MAX);
    let inner = entries.filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir())).map(|entry| entry.path());
    let folders = std::iter::once(folder.to_owned()).chain(inner);
    let found = folders.flat_map(|folder| record::living::<McpParent>(&folder, ENDING));
    found.filter(|one| one.namespace == here.namespace && one.boot == here.boot).collect()
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
            .map(|(name, record)| LiveRecord::keep(folder.path(), &format!("{name}{ENDING}"), record));
        assert_eq!(living(folder.path()), [record]);
        Ok(())
    }
}
