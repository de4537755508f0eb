//! Reads and writes the records of the slots (reusable worktrees). Each record is a file next to its worktree, and a
//! lock protects all records.

use std::fs::{self, File};
use std::io;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use super::ports::SlotPorts;
use super::{SlotPool, unusable};
use crate::GitProblem;

/// The record of one slot (a reusable worktree). Records of version 0.1 lack some of these fields.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SlotRecord {
    pub used: SlotUse,
    /// The time in Unix milliseconds since which the slot (worktree) is used. When `kept` is true, the time since which
    /// its owner waits.
    #[serde(default)]
    pub since_ms: Option<i64>,
    /// True when the owner of the slot (worktree) waits for a person, for example for an answer or for a merge of its
    /// finished work.
    #[serde(default)]
    pub kept: bool,
    /// The fingerprint of the setup commands that last succeeded in the worktree. `None` when they must run.
    #[serde(default)]
    pub setup: Option<String>,
    /// The first of the network ports that belong to the slot (worktree). The ports are chosen once and never change.
    #[serde(default)]
    pub first_port: Option<u16>,
    /// The number of times that the slot was given to an owner. When an owner gives its slot up and gets the same slot
    /// again, the number is higher. So a comparison of two records shows that the slot was given up in between.
    #[serde(default)]
    pub uses: u64,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "state", rename_all = "snake_case")]
pub enum SlotUse {
    Free,
    /// Git is preparing the worktree for its owner. No agent has worked in it yet.
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

/// The lock of a pool (the folder with all worktrees of a repository). Dropping this value releases the lock.
pub(super) struct PoolLock {
    _file: File,
}

impl SlotUse {
    pub fn owner(&self) -> Option<&str> {
        match self {
            Self::Free => None,
            Self::Making { owner, .. } | Self::Used { owner, .. } => Some(owner),
        }
    }

    pub fn branch(&self) -> Option<&str> {
        match self {
            Self::Free => None,
            Self::Making { branch, .. } | Self::Used { branch, .. } => Some(branch),
        }
    }
}

impl SlotRecord {
    pub(super) fn new() -> Self {
        Self { used: SlotUse::Free, since_ms: None, kept: false, setup: None, first_port: None, uses: 0 }
    }

    pub fn ports(&self) -> Option<SlotPorts> {
        self.first_port.map(|first| SlotPorts { first })
    }

    pub(super) fn free(&mut self) {
        (self.used, self.since_ms, self.kept) = (SlotUse::Free, None, false);
    }
}

impl SlotPool {
    /// Returns the records of all slots (reusable worktrees), ordered by number.
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

    /// Changes the record of a slot (a reusable worktree), and returns the changed record.
    pub(super) fn change(&self, number: u32, change: impl FnOnce(&mut SlotRecord)) -> Result<SlotRecord, GitProblem> {
        let _lock = self.lock()?;
        let mut record = self.read(number)?;
        change(&mut record);
        self.write(number, &record)?;
        Ok(record)
    }

    /// Changes the records of all slots (worktrees) that an owner has.
    pub(super) fn change_of(&self, owner: &str, change: impl Fn(&mut SlotRecord)) -> Result<(), GitProblem> {
        let _lock = self.lock()?;
        for (number, mut record) in self.records()? {
            if record.used.owner() == Some(owner) {
                change(&mut record);
                self.write(number, &record)?;
            }
        }
        Ok(())
    }

    pub(super) fn read(&self, number: u32) -> Result<SlotRecord, GitProblem> {
        let path = self.record_path(number);
        let text = fs::read_to_string(&path).map_err(|error| unusable(&path, &error))?;
        serde_json::from_str(&text).map_err(|error| unusable(&path, &error.into()))
    }

    /// Writes the record of a slot (worktree) to a temporary file first and then renames that file, so that a killed
    /// process never leaves half of a record.
    pub(super) fn write(&self, number: u32, record: &SlotRecord) -> Result<(), GitProblem> {
        let path = self.record_path(number);
        let whole = path.with_extension("json.new");
        let text = serde_json::to_string(record).map_err(|error| unusable(&path, &error.into()))?;
        fs::write(&whole, text).and_then(|()| fs::rename(&whole, &path)).map_err(|error| unusable(&path, &error))
    }

    fn record_path(&self, number: u32) -> PathBuf {
        self.folder.join(format!("{number}.json"))
    }

    pub(super) fn lock(&self) -> Result<PoolLock, GitProblem> {
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
