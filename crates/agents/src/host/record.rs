//! Reads and writes the records of the launch and the end of a turn (one run of an agent's program), which are files in
//! the turn's folder. Files are written atomically, synced to disk, and readable by the owner only.

use std::fs::{self, File, OpenOptions};
use std::io::{self, ErrorKind, Read, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use serde::Serialize;
use serde::de::DeserializeOwned;

use super::{HostEnded, HostLaunch};

pub(super) const LAUNCH: &str = "launch.json";
pub(super) const END: &str = "end.json";
/// The name of the file with the reason why the child process could not be replaced by the agent's program.
pub(super) const REFUSAL: &str = "refusal.json";

/// The largest record that is read, in bytes. A record with the arguments and the environment of a program always fits,
/// because the kernel limits the size of both.
const BYTES_MAX: u64 = 4 << 20;

/// Returns how the turn (the run of an agent's program) of this folder ended. Returns None if no end is recorded: the
/// turn still runs, or the turn host was killed before it recorded the end.
pub fn ended(folder: &Path) -> io::Result<Option<HostEnded>> {
    match read(folder, END) {
        Ok(ended) => Ok(Some(ended)),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}

pub(super) fn launch(folder: &Path) -> io::Result<HostLaunch> {
    read(folder, LAUNCH)
}

pub(super) fn read<T: DeserializeOwned>(folder: &Path, name: &str) -> io::Result<T> {
    let mut bytes = Vec::new();
    File::open(folder.join(name))?.take(BYTES_MAX).read_to_end(&mut bytes)?;
    Ok(serde_json::from_slice(&bytes)?)
}

/// Writes a record atomically: after a crash, the file is either complete or missing.
pub(super) fn write<T: Serialize>(folder: &Path, name: &str, value: &T) -> io::Result<()> {
    let part = folder.join(format!("{name}.part"));
    let mut file = create(&part)?;
    file.write_all(&serde_json::to_vec(value)?)?;
    file.sync_all()?;
    fs::rename(&part, folder.join(name))?;
    File::open(folder)?.sync_all()
}

/// Creates a file that only the owner can read. The file may contain the output or the environment of a program, and
/// both may contain secrets.
pub(super) fn create(path: &Path) -> io::Result<File> {
    OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(path)
}
