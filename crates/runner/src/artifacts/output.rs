//! Writes the files of an agent's output, and remembers which files the attempt (one claim of a task) made.

use std::collections::BTreeSet;
use std::path::Path;

use wire::envelope;

use super::{ArtifactOperation, ArtifactProblem, CheckedArtifact, apply};

/// The file in the attempt's folder that lists the paths of the files that the attempt made.
const MADE: &str = "made.json";
const JOURNAL: &str = "journal";

/// Writes the files of an agent's output below `root`, all or none. `folder` is the folder of the attempt (one claim of
/// a task). A file that this attempt made earlier may be created again and may be updated.
pub fn write_output(root: &Path, folder: &Path, artifacts: &[envelope::Artifact]) -> Result<(), ArtifactProblem> {
    let files: Vec<CheckedArtifact> = artifacts.iter().map(checked).collect();
    let made = folder.join(MADE);
    let mut known: BTreeSet<String> =
        std::fs::read(&made).ok().and_then(|bytes| serde_json::from_slice(&bytes).ok()).unwrap_or_default();
    let applied = apply(root, &folder.join(JOURNAL), &files, &known)?;
    known.extend(applied.paths.into_iter().chain(applied.finished));
    // Writes a new list of files and renames it over the old one, so that a crash cannot lose the list. Without the
    // list, a later turn would refuse to update the files that this attempt made.
    let part = folder.join(format!("{MADE}.part"));
    std::fs::write(&part, serde_json::to_vec(&known).unwrap_or_default())?;
    Ok(std::fs::rename(&part, &made)?)
}

fn checked(artifact: &envelope::Artifact) -> CheckedArtifact {
    CheckedArtifact {
        path: artifact.path.to_string(),
        operation: match artifact.operation {
            envelope::Operation::Create => ArtifactOperation::Create,
            envelope::Operation::Update => ArtifactOperation::Update,
        },
        content: artifact.content.to_string(),
    }
}
