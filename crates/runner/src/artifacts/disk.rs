//! Accesses files below the root folder of a workspace. Opens each path folder by folder from the root and follows no
//! symbolic link below it.

use std::fs::File;
use std::io::{self, Read, Write};
use std::os::fd::{AsFd, OwnedFd};
use std::path::Path;

use rustix::fs::{
    AtFlags, FileType, Mode, OFlags, RenameFlags, fchmod, mkdirat, openat, renameat, renameat_with, statat, unlinkat,
};
use rustix::io::Errno;

use super::BYTES_MAX;
use super::journal::{JournalEntry, PathState};
use base::ground::digest::sha256;

const FOLDER: OFlags = OFlags::DIRECTORY.union(OFlags::NOFOLLOW).union(OFlags::CLOEXEC).union(OFlags::RDONLY);

#[derive(Debug)]
pub(super) struct ArtifactRoot(OwnedFd);

/// The kind of file that exists at a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum FoundFile {
    Nothing,
    File {
        mode: u32,
    },
    /// A folder, a link or another kind of file.
    Other,
    /// The path cannot be used, because a link or a file is where the path needs a folder.
    Blocked,
}

impl ArtifactRoot {
    /// Opens the root folder of the workspace. Follows links in this path, because Handover chose it, not an agent.
    pub(super) fn open(path: &Path) -> io::Result<Self> {
        let flags = OFlags::DIRECTORY | OFlags::CLOEXEC | OFlags::RDONLY;
        Ok(Self(rustix::fs::open(path, flags, Mode::empty())?))
    }

    pub(super) fn look(&self, path: &str) -> io::Result<FoundFile> {
        let (folder, name) = split(path);
        let folder = match self.folder(folder) {
            Ok(folder) => folder,
            Err(Errno::NOENT) => return Ok(FoundFile::Nothing),
            Err(Errno::NOTDIR | Errno::LOOP) => return Ok(FoundFile::Blocked),
            Err(error) => return Err(error.into()),
        };
        match statat(&folder, name, AtFlags::SYMLINK_NOFOLLOW) {
            Ok(stat) if FileType::from_raw_mode(stat.st_mode) == FileType::RegularFile => {
                Ok(FoundFile::File { mode: Mode::from_raw_mode(stat.st_mode).as_raw_mode() })
            }
            Ok(_) => Ok(FoundFile::Other),
            Err(Errno::NOENT) => Ok(FoundFile::Nothing),
            Err(error) => Err(error.into()),
        }
    }

    pub(super) fn make_folder(&self, path: &str) -> io::Result<()> {
        step();
        let (folder, name) = split(path);
        match mkdirat(self.folder(folder)?, name, Mode::from_raw_mode(0o777)) {
            // `EXIST` means that another process created the folder, or that an earlier try to write this output did.
            Ok(()) | Err(Errno::EXIST) => Ok(()),
            Err(error) => Err(error.into()),
        }
    }

    /// Removes a folder if it is empty.
    pub(super) fn remove_folder(&self, path: &str) -> io::Result<()> {
        let (folder, name) = split(path);
        match self.remove(folder, name, AtFlags::REMOVEDIR) {
            Err(Errno::NOTEMPTY | Errno::EXIST | Errno::NOTDIR) => Ok(()),
            other => Ok(other?),
        }
    }

    /// Writes the new content to the part (a temporary file next to the final path), and syncs it to the disk.
    pub(super) fn write_part(&self, entry: &JournalEntry, content: &[u8]) -> io::Result<()> {
        self.remove_part(entry)?;
        step();
        let flags = OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::WRONLY | OFlags::CLOEXEC;
        let mode = Mode::from_raw_mode(entry.mode);
        let mut file = File::from(openat(self.folder(split(&entry.path).0)?, &entry.part, flags, mode)?);
        step();
        file.write_all(content)?;
        if entry.place == PathState::Taken {
            // The umask of the process must not change the permissions of an existing file.
            fchmod(&file, mode)?;
        }
        step();
        file.sync_all()
    }

    pub(super) fn remove_part(&self, entry: &JournalEntry) -> io::Result<()> {
        Ok(self.remove(split(&entry.path).0, &entry.part, AtFlags::empty())?)
    }

    /// Removes a file or a folder. Succeeds also when there is nothing to remove.
    fn remove(&self, folder: &str, name: &str, flags: AtFlags) -> Result<(), Errno> {
        step();
        let folder = match self.folder(folder) {
            Ok(folder) => folder,
            Err(Errno::NOENT | Errno::NOTDIR | Errno::LOOP) => return Ok(()),
            Err(error) => return Err(error),
        };
        // On a read-only disk, `unlinkat` fails even when the file does not exist. So a failure counts as success when
        // the file does not exist.
        unlinkat(&folder, name, flags).or_else(|error| match statat(&folder, name, AtFlags::SYMLINK_NOFOLLOW) {
            Err(Errno::NOENT) => Ok(()),
            Ok(_) | Err(_) => Err(error),
        })
    }

    pub(super) fn put(&self, entry: &JournalEntry) -> io::Result<()> {
        self.rename(entry, &entry.part, split(&entry.path).1)
    }

    /// Undoes `put`, which moved a part (a temporary file) to its final path. When `put` exchanged the part with an
    /// existing file, the same exchange puts that file back.
    pub(super) fn take_back(&self, entry: &JournalEntry) -> io::Result<()> {
        self.rename(entry, split(&entry.path).1, &entry.part)
    }

    fn rename(&self, entry: &JournalEntry, from: &str, to: &str) -> io::Result<()> {
        step();
        let folder = self.folder(split(&entry.path).0)?;
        let flags = match entry.place {
            PathState::Free => RenameFlags::NOREPLACE,
            PathState::Taken => RenameFlags::EXCHANGE,
        };
        match renameat_with(&folder, from, &folder, to, flags) {
            // Some file systems support neither `NOREPLACE` nor `EXCHANGE`. On these, a plain rename replaces the file,
            // and the old content cannot be put back.
            Err(Errno::INVAL | Errno::NOSYS | Errno::NOTSUP) => Ok(renameat(&folder, from, &folder, to)?),
            other => Ok(other?),
        }
    }

    /// Returns true when the part (the temporary file) still has the new content. After `put` exchanged it with an
    /// existing file, the part has the old content of that file.
    pub(super) fn has_part(&self, entry: &JournalEntry) -> io::Result<bool> {
        // `NONBLOCK`: another process may have put a pipe at this path, and opening a pipe would wait for its other
        // end.
        let flags = OFlags::NOFOLLOW | OFlags::RDONLY | OFlags::CLOEXEC | OFlags::NONBLOCK;
        let folder = self.folder(split(&entry.path).0);
        let file = match folder.and_then(|folder| openat(folder, &entry.part, flags, Mode::empty())) {
            Ok(file) => File::from(file),
            Err(Errno::NOENT | Errno::NOTDIR | Errno::LOOP) => return Ok(false),
            Err(error) => return Err(error.into()),
        };
        let mut bytes = Vec::new();
        if file.metadata()?.is_file() {
            file.take(BYTES_MAX as u64 + 1).read_to_end(&mut bytes)?;
        }
        Ok(sha256(&bytes) == entry.digest)
    }

    /// Syncs a folder, so that the entries that were created, moved or removed in it are on the disk.
    pub(super) fn sync_folder(&self, folder: &str) -> io::Result<()> {
        step();
        File::from(self.folder(folder)?).sync_all()
    }

    fn folder(&self, path: &str) -> Result<OwnedFd, Errno> {
        let mut folder = openat(self.0.as_fd(), ".", FOLDER, Mode::empty())?;
        for part in path.split('/').filter(|part| !part.is_empty()) {
            folder = openat(&folder, part, FOLDER, Mode::empty())?;
        }
        Ok(folder)
    }
}

/// Splits a path into its folder and its file name.
pub(super) fn split(path: &str) -> (&str, &str) {
    path.rsplit_once('/').unwrap_or(("", path))
}

/// Runs before every change of the disk. In tests, the process can be stopped here.
pub(super) fn step() {
    #[cfg(test)]
    super::tests::step();
}
