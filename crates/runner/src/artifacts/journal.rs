//! The journal: one file that records how far the writing of an agent's output to the disk has come. The name of the
//! file, such as `staging.json`, is the state.

use std::fs::{self, DirBuilder, File};
use std::io::{self, ErrorKind, Write};
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::disk::step;

#[derive(Debug)]
pub(super) struct Journal {
    folder: PathBuf,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum JournalStanding {
    /// Parts (temporary files with the new content) may exist next to their final paths.
    Staging,
    /// All parts (temporary files with the new content) are on the disk. Some may already be moved to their final
    /// paths.
    Committed,
    Done,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct JournalRecord {
    /// The digest of the whole output that is being written.
    pub(super) output: String,
    /// The folders that are created for the output, each one before the folders in it.
    pub(super) folders: Vec<String>,
    pub(super) entries: Vec<JournalEntry>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct JournalEntry {
    pub(super) path: String,
    /// The name of the temporary file with the new content, in the same folder as the final path.
    pub(super) part: String,
    pub(super) digest: String,
    pub(super) place: PathState,
    pub(super) mode: u32,
}

/// The state of an artifact's final path when it was checked, before anything was written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum PathState {
    Free,
    Taken,
}

impl Journal {
    /// Opens the journal (the file that tracks the writing of an output) in a folder. Creates the folder when it does
    /// not exist; its parent folder must exist.
    pub(super) fn open(folder: &Path) -> io::Result<Self> {
        match DirBuilder::new().mode(0o700).create(folder) {
            Err(error) if error.kind() == ErrorKind::AlreadyExists => {}
            made => {
                made?;
                // Sync the parent folder. If the journal (the record of the writing) were lost in a crash, the parts
                // (temporary files) would stay in the workspace.
                File::open(folder.parent().unwrap_or(folder))?.sync_all()?;
            }
        }
        Ok(Self { folder: folder.to_owned() })
    }

    pub(super) fn read(&self, standing: JournalStanding) -> io::Result<Option<JournalRecord>> {
        match fs::read(self.path(standing)) {
            Ok(bytes) => Ok(Some(serde_json::from_slice(&bytes)?)),
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error),
        }
    }

    pub(super) fn begin(&mut self, record: &JournalRecord) -> io::Result<()> {
        let part = self.folder.join("staging.part");
        step();
        let mut file = File::create(&part)?;
        file.write_all(&serde_json::to_vec(record)?)?;
        file.sync_all()?;
        step();
        fs::rename(&part, self.path(JournalStanding::Staging))?;
        self.sync()
    }

    pub(super) fn advance(&mut self, from: JournalStanding, to: JournalStanding) -> io::Result<()> {
        step();
        fs::rename(self.path(from), self.path(to))?;
        self.sync()
    }

    pub(super) fn forget(&mut self) -> io::Result<()> {
        step();
        match fs::remove_file(self.path(JournalStanding::Staging)) {
            Err(error) if error.kind() != ErrorKind::NotFound => return Err(error),
            Ok(()) | Err(_) => {}
        }
        self.sync()
    }

    fn sync(&self) -> io::Result<()> {
        step();
        File::open(&self.folder)?.sync_all()
    }

    fn path(&self, standing: JournalStanding) -> PathBuf {
        self.folder.join(match standing {
            JournalStanding::Staging => "staging.json",
            JournalStanding::Committed => "committed.json",
            JournalStanding::Done => "done.json",
        })
    }
}
