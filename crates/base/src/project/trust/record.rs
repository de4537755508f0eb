//! The accepted copy: a file with the settings that a person accepted for one clone. It is in the user's data folder,
//! and no other user can read it.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, Read as _, Write as _};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::script::ScriptMarks;
use crate::project::settings::{DetectedDefaults, SettingsFiles};

/// The folder with the accepted copies (the settings that a person accepted) of all clones, relative to the user's data
/// folder.
const FOLDER: &str = "handover/trust";
/// The maximum number of bytes that are read from an accepted copy (the file with the accepted settings of one clone).
/// The settings files in it are always smaller than this, even together.
const BYTES_MAX: u64 = 1 << 30;

/// The settings that a person accepted for one clone.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct AcceptedCopy {
    /// The path of the clone of the repository.
    pub(super) path: String,
    /// The hash of the list of settings and scripts that the person saw and accepted.
    pub(super) sha256: String,
    /// The complete text of the accepted `config.toml`. The accepted settings are parsed from it again.
    pub(super) config: String,
    /// The complete text of the accepted `local.toml`.
    #[serde(default)]
    pub(super) local: String,
    /// The accepted values that were detected on this machine, because no settings file has them.
    #[serde(default)]
    pub(super) detected: DetectedDefaults,
    pub(super) contracts: BTreeMap<String, String>,
    pub(super) scripts: ScriptMarks,
}

impl AcceptedCopy {
    pub(super) fn files(&self) -> SettingsFiles {
        let contracts = self.contracts.iter().map(|(name, text)| (name.clone(), Ok(text.clone()))).collect();
        let (config, local, detected) = (self.config.clone(), self.local.clone(), self.detected.clone());
        SettingsFiles { config, local, detected, contracts }
    }

    /// Returns true when the two settings files have exactly the accepted texts.
    pub(super) fn has_texts_of(&self, files: &SettingsFiles) -> bool {
        (&self.config, &self.local) == (&files.config, &files.local)
    }
}

/// Returns the folder of all accepted copies (files with the settings that a person accepted). Agents must not write
/// there: an agent could accept settings in a person's name.
pub fn folder(data: &Path) -> PathBuf {
    data.join(FOLDER)
}

/// Returns the path of the file with the settings that a person accepted for a clone.
pub(super) fn file(data: &Path, clone: &str) -> PathBuf {
    folder(data).join(format!("{}.json", crate::ground::digest::sha256(clone.as_bytes())))
}

/// Reads the file with the settings that a person accepted for a clone. Returns `None` when nothing was accepted. Fails
/// when another user could have written the file.
pub(super) fn read(file: &Path) -> io::Result<Option<AcceptedCopy>> {
    let opened = match File::open(file) {
        Ok(opened) => opened,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(error),
    };
    judge(&opened, file)?;
    let mut text = String::new();
    opened.take(BYTES_MAX).read_to_string(&mut text)?;
    let copy = serde_json::from_str(&text);
    copy.map(Some).map_err(|error| {
        let advice = "delete this file and accept the settings again with `handover trust`";
        io::Error::other(format!("{}: {error}; {advice}", file.display()))
    })
}

fn judge(opened: &File, file: &Path) -> io::Result<()> {
    use std::os::unix::fs::MetadataExt as _;

    let found = opened.metadata()?;
    if found.uid() == rustix::process::geteuid().as_raw() && found.mode() & 0o022 == 0 {
        return Ok(());
    }
    let advice = "delete this file and accept the settings again with `handover trust`";
    Err(io::Error::other(format!("{}: another user could have written this file; {advice}", file.display())))
}

/// Changes the accepted settings of a clone under a lock and writes their file atomically, so a reader finds the
/// complete old file or the complete new one.
pub(super) fn change(file: &Path, make: impl FnOnce(Option<AcceptedCopy>) -> AcceptedCopy) -> io::Result<()> {
    let folder = file.parent().ok_or_else(|| io::Error::other("the path has no folder"))?;
    let mut maker = std::fs::DirBuilder::new();
    std::os::unix::fs::DirBuilderExt::mode(&mut maker, 0o700);
    maker.recursive(true).create(folder)?;
    let lock = File::options().create(true).truncate(false).write(true).open(folder.join("lock"))?;
    lock.lock()?;
    // A file of accepted settings that cannot be read is replaced, because the person has just accepted new settings.
    let known = read(file).ok().flatten();
    let text = serde_json::to_string_pretty(&make(known)).map_err(io::Error::other)?;
    // `NamedTempFile` creates a file that only its owner can read. The new file, with these permissions, replaces the
    // old file of accepted settings below.
    let mut fresh = tempfile::NamedTempFile::new_in(folder)?;
    fresh.write_all(text.as_bytes())?;
    fresh.as_file().sync_all()?;
    fresh.persist(file).map_err(|late| late.error)?;
    Ok(())
}
