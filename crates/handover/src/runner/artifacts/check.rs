//! Checks the paths that an output wants to write, and the files that are there now.

use std::collections::BTreeSet;
use std::io;

use sha2::{Digest, Sha256};
use wire::path::{self, FilePath, Files};

use super::disk::{Found, Root};
use super::journal::{Entry, Place, Record};
use super::{ARTIFACTS_MAX, Artifact, BYTES_MAX, Operation, Problem, Unfit, Why};
use crate::digest::{hexadecimal, sha256};

/// The permissions of a new file, before the umask of the process is applied.
const MODE_NEW: u32 = 0o666;

/// An output whose paths are all valid. They are not compared with the disk yet.
#[derive(Debug)]
pub(super) struct Plan {
    /// The digest of the output. The same output has the same digest.
    pub(super) output: String,
    files: Vec<(String, Operation, String)>,
}

impl Plan {
    pub(super) fn of(artifacts: &[Artifact]) -> Result<Self, Problem> {
        if artifacts.len() > ARTIFACTS_MAX {
            return Err(Problem::TooMany { count: artifacts.len() });
        }
        let bytes = artifacts.iter().map(|artifact| artifact.content.len()).sum();
        if bytes > BYTES_MAX {
            return Err(Problem::TooLarge { bytes });
        }
        let (mut files, mut unfit) = (Vec::new(), Vec::new());
        for artifact in artifacts {
            match resolve(&artifact.path) {
                Some(path) => files.push((path, artifact.operation, sha256(artifact.content.as_bytes()))),
                None => unfit.push(Unfit { path: artifact.path.clone(), why: Why::Outside }),
            }
        }
        unfit.extend(duplicates(&files));
        if !unfit.is_empty() {
            return Err(Problem::Unfit(unfit));
        }
        let mut whole = Sha256::new();
        for (path, operation, content) in &files {
            whole.update(format!("{operation:?} {content} {path}\0"));
        }
        Ok(Self { output: hexadecimal(&whole.finalize()), files })
    }

    pub(super) fn paths(&self) -> Vec<String> {
        self.files.iter().map(|(path, ..)| path.clone()).collect()
    }

    /// Compares the output with the files on the disk. Writes nothing.
    pub(super) fn fit(self, root: &Root, made: &BTreeSet<String>) -> Result<Record, Problem> {
        let mut record = Record { output: self.output, folders: Vec::new(), entries: Vec::new() };
        let mut folders = BTreeSet::new();
        let mut unfit = Vec::new();
        for (number, (path, operation, digest)) in self.files.into_iter().enumerate() {
            let found = root.look(&path)?;
            let fits = match (&found, operation) {
                (Found::Nothing, Operation::Create) | (Found::File { .. }, Operation::Update) => Ok(()),
                (Found::Nothing | Found::File { .. }, _) if made.contains(&path) => Ok(()),
                (Found::Nothing, Operation::Update) => Err(Why::Missing),
                (Found::File { .. }, Operation::Create) => Err(Why::Exists),
                (Found::Other | Found::Blocked, Operation::Create) => Err(Why::Exists),
                (Found::Other | Found::Blocked, Operation::Update) => Err(Why::Missing),
            };
            if let Err(why) = fits {
                unfit.push(Unfit { path, why });
                continue;
            }
            // Keeps the permission bits only: the kernel clears the higher bits of a file that is written to.
            let (place, mode) = match found {
                Found::File { mode } => (Place::Taken, mode & 0o777),
                Found::Nothing | Found::Other | Found::Blocked => (Place::Free, MODE_NEW),
            };
            missing_folders(root, &path, &mut folders)?;
            let part = part(&record.output, number);
            record.entries.push(Entry { path, part, digest, place, mode });
        }
        if !unfit.is_empty() {
            return Err(Problem::Unfit(unfit));
        }
        // Sorted, so that a folder comes before the folders in it.
        record.folders = folders.into_iter().collect();
        Ok(record)
    }
}

fn part(output: &str, number: usize) -> String {
    format!(".handover-{}-{number}.part", &output[..12])
}

/// Resolves a path. Returns `None` for a path that is not a file inside of the root, or that is in our state folder.
fn resolve(path: &str) -> Option<String> {
    // A path that ends in `.` or `..` names a folder.
    let is_folder = matches!(path.rsplit('/').next(), Some("." | ".."));
    if is_folder || !FilePath::is_legal(path) {
        return None;
    }
    // No agent may write the store, the token or the mail, even when it works in the project's own folder.
    path::resolve(path).map(|parts| parts.join("/")).filter(|path| !crate::place::is_state(path))
}

/// Returns the later of two paths that cannot both be files.
fn duplicates(files: &[(String, Operation, String)]) -> Vec<Unfit> {
    let mut named = Files::default();
    let later = files.iter().filter(|(path, ..)| !named.add(path));
    later.map(|(path, ..)| Unfit { path: path.clone(), why: Why::Duplicate }).collect()
}

fn missing_folders(root: &Root, path: &str, folders: &mut BTreeSet<String>) -> io::Result<()> {
    for (at, _) in path.match_indices('/') {
        let folder = &path[..at];
        if !folders.contains(folder) && matches!(root.look(folder)?, Found::Nothing) {
            folders.insert(folder.to_owned());
        }
    }
    Ok(())
}
