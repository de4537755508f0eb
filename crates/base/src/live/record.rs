//! Records that live processes leave for others: a file with JSON, which is locked while its process is alive.
//!
//! The file gets its final name only after it is locked and complete, so a reader finds a complete file or no file. The
//! operating system releases the lock when the process ends, for any reason. So a record without a lock is of a process
//! that has ended.

use std::fs::{self, File, TryLockError};
use std::io::{self, Read as _, Write as _};
use std::path::{Path, PathBuf};

use serde::Serialize;
use serde::de::DeserializeOwned;

/// The maximum number of bytes of a record. Handover's own records are shorter, so a longer file is ignored.
const BYTES_MAX: u64 = 4_096;
/// The maximum number of records that are read in a folder; further files are ignored. A machine has far fewer agents
/// and servers.
const FILES_MAX: usize = 10_000;

/// The record of this process. The file exists until this value is dropped or the process ends.
#[derive(Debug)]
pub struct LiveRecord {
    /// The open file, which keeps the lock.
    _file: File,
    path: PathBuf,
}

impl LiveRecord {
    /// Writes and locks the record. Replaces a file of the same name.
    pub fn keep(folder: &Path, name: &str, content: &impl Serialize) -> io::Result<Self> {
        fs::create_dir_all(folder)?;
        let path = folder.join(name);
        let mut fresh = tempfile::NamedTempFile::new_in(folder)?;
        fresh.as_file().lock()?;
        fresh.write_all(serde_json::to_string(content)?.as_bytes())?;
        fresh.flush()?;
        let file = fresh.persist(&path).map_err(|failed| failed.error)?;
        Ok(Self { _file: file, path })
    }
}

impl Drop for LiveRecord {
    fn drop(&mut self) {
        // If the file cannot be deleted, it stays without a lock, and the next process that reads the records deletes
        // it.
        let _stays = fs::remove_file(&self.path);
    }
}

/// Returns the records of live processes in a folder whose names have this ending. Deletes the records of processes
/// that were killed.
pub fn living<T: DeserializeOwned>(folder: &Path, ending: &str) -> Vec<T> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten().take(FILES_MAX);
    let named = entries.filter(|entry| entry.file_name().to_string_lossy().ends_with(ending));
    named.filter_map(|entry| living_one(&entry.path())).collect()
}

fn living_one<T: DeserializeOwned>(path: &Path) -> Option<T> {
    let file = open(path).ok()?;
    // Take a shared lock, so that two readers do not mistake each other for the live process.
    match file.try_lock_shared() {
        Err(TryLockError::WouldBlock) => {}
        Ok(()) => {
            let _stays = fs::remove_file(path);
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_record_is_found_until_its_process_ends() -> io::Result<()> {
        let folder = tempfile::tempdir()?;
        let record = LiveRecord::keep(folder.path(), "one.number", &7_u32)?;
        let other = LiveRecord::keep(folder.path(), "two.word", &"x")?;
        assert_eq!(living::<u32>(folder.path(), ".number"), [7]);
        // A record that cannot be read says nothing, but its process is alive, so it stays.
        assert_eq!(living::<u32>(folder.path(), ".word"), Vec::<u32>::new());
        assert!(folder.path().join("two.word").exists());
        drop((record, other));
        assert_eq!(fs::read_dir(folder.path())?.count(), 0);
        Ok(())
    }

    #[test]
    fn the_record_of_a_killed_process_says_nothing_and_is_deleted() -> io::Result<()> {
        let folder = tempfile::tempdir()?;
        let path = folder.path().join("one.number");
        fs::write(&path, "7")?;
        assert_eq!(living::<u32>(folder.path(), ".number"), Vec::<u32>::new());
        assert!(!path.exists());
        Ok(())
    }
}
