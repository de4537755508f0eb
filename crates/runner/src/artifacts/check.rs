//! Checks the paths to which an agent's output wants to write, and the files that exist there now.

use std::collections::BTreeSet;
use std::io;

use sha2::{Digest, Sha256};
use wire::path::{self, FilePath, Files};

use super::disk::{ArtifactRoot, FoundFile};
use super::journal::{JournalEntry, JournalRecord, PathState};
use super::{ARTIFACTS_MAX, ArtifactOperation, ArtifactProblem, ArtifactReason, BYTES_MAX, CheckedArtifact, Unfit};
use base::ground::digest::{hexadecimal, sha256};

/// The permissions of a new file, before the umask of the process is applied.
const MODE_NEW: u32 = 0o666;

/// An agent's output whose file paths are all valid. The files on the disk have not been compared with them yet.
#[derive(Debug)]
pub(super) struct ArtifactPlan {
    /// The digest of the agent's output. Equal outputs have equal digests.
    pub(super) output: String,
    files: Vec<(String, ArtifactOperation, String)>,
}

impl ArtifactPlan {
    pub(super) fn of(artifacts: &[CheckedArtifact]) -> Result<Self, ArtifactProblem> {
        if artifacts.len() > ARTIFACTS_MAX {
            return Err(ArtifactProblem::TooMany { count: artifacts.len() });
        }
        let bytes = artifacts.iter().map(|artifact| artifact.content.len()).sum();
        if bytes > BYTES_MAX {
            return Err(ArtifactProblem::TooLarge { bytes });
        }
        let (mut files, mut unfit) = (Vec::new(), Vec::new());
        for artifact in artifacts {
            match resolve(&artifact.path) {
                Some(path) => files.push((path, artifact.operation, sha256(artifact.content.as_bytes()))),
                None => unfit.push(Unfit { path: artifact.path.clone(), why: ArtifactReason::Outside }),
            }
        }
        unfit.extend(duplicates(&files));
        if !unfit.is_empty() {
            return Err(ArtifactProblem::Unfit(unfit));
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

    /// Checks the output against the files on the disk. Returns the record of the files to write, for the journal that
    /// tracks the writing. Writes nothing itself.
    pub(super) fn fit(self, root: &ArtifactRoot, made: &BTreeSet<String>) -> Result<JournalRecord, ArtifactProblem> {
        let mut record = JournalRecord { output: self.output, folders: Vec::new(), entries: Vec::new() };
        let mut folders = BTreeSet::new();
        let mut unfit = Vec::new();
        for (number, (path, operation, digest)) in self.files.into_iter().enumerate() {
            let found = root.look(&path)?;
            let fits = match (&found, operation) {
                (FoundFile::Nothing, ArtifactOperation::Create)
                | (FoundFile::File { .. }, ArtifactOperation::Update) => Ok(()),
                (FoundFile::Nothing | FoundFile::File { .. }, _) if made.contains(&path) => Ok(()),
                (FoundFile::Nothing, ArtifactOperation::Update) => Err(ArtifactReason::Missing),
                (FoundFile::File { .. }, ArtifactOperation::Create) => Err(ArtifactReason::Exists),
                (FoundFile::Other | FoundFile::Blocked, ArtifactOperation::Create) => Err(ArtifactReason::Exists),
                (FoundFile::Other | FoundFile::Blocked, ArtifactOperation::Update) => Err(ArtifactReason::Missing),
            };
            if let Err(why) = fits {
                unfit.push(Unfit { path, why });
                continue;
            }
            // Keeps only the permission bits of the existing file. The kernel clears the higher bits, such as
            // set-user-id, when a file is written.
            let (place, mode) = match found {
                FoundFile::File { mode } => (PathState::Taken, mode & 0o777),
                FoundFile::Nothing | FoundFile::Other | FoundFile::Blocked => (PathState::Free, MODE_NEW),
            };
            missing_folders(root, &path, &mut folders)?;
            let part = part(&record.output, number);
            record.entries.push(JournalEntry { path, part, digest, place, mode });
        }
        if !unfit.is_empty() {
            return Err(ArtifactProblem::Unfit(unfit));
        }
        // The folders are sorted, so that an outer folder is created before the folders in it.
        record.folders = folders.into_iter().collect();
        Ok(record)
    }
}

fn part(output: &str, number: usize) -> String {
    format!(".handover-{}-{number}.part", &output[..12])
}

/// Resolves `.` and `..` in a path. Returns `None` when the path is not a file below the root folder, or is in
/// Handover's own state folder.
fn resolve(path: &str) -> Option<String> {
    // A path that ends in `.` or `..` names a folder, so it is refused.
    let is_folder = matches!(path.rsplit('/').next(), Some("." | ".."));
    if is_folder || !FilePath::is_legal(path) {
        return None;
    }
    // No agent may write Handover's store, token or mail, even when the agent works in the project's own folder.
    path::resolve(path).map(|parts| parts.join("/")).filter(|path| !base::project::place::is_state(path))
}

/// Finds paths that cannot both be files, for example `a` and `a/b`. Returns the later path of each pair.
fn duplicates(files: &[(String, ArtifactOperation, String)]) -> Vec<Unfit> {
    let mut named = Files::default();
    let later = files.iter().filter(|(path, ..)| !named.add(path));
    later.map(|(path, ..)| Unfit { path: path.clone(), why: ArtifactReason::Duplicate }).collect()
}

fn missing_folders(root: &ArtifactRoot, path: &str, folders: &mut BTreeSet<String>) -> io::Result<()> {
    for (at, _) in path.match_indices('/') {
        let folder = &path[..at];
        if !folders.contains(folder) && matches!(root.look(folder)?, FoundFile::Nothing) {
            folders.insert(folder.to_owned());
        }
    }
    Ok(())
}
