//! Writes the files of an agent's output to the disk, and finishes or undoes an output whose writing was stopped at any
//! step.

use std::collections::BTreeSet;
use std::io;

use super::disk::{ArtifactRoot, FoundFile, split};
use super::journal::{Journal, JournalEntry, JournalRecord, JournalStanding};
use super::{ArtifactProblem, CheckedArtifact, Recovered};

/// The agent's output whose files the caller wants to write. It is empty when the caller has only the journal (the
/// record of the writing) to recover a stopped output.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct KnownOutput<'a> {
    pub(super) digest: &'a str,
    pub(super) artifacts: &'a [CheckedArtifact],
}

/// Writes all artifacts (files) of an agent's output, or none of them.
pub(super) fn perform(
    root: &ArtifactRoot,
    journal: &mut Journal,
    record: &JournalRecord,
    artifacts: &[CheckedArtifact],
) -> Result<(), ArtifactProblem> {
    let staged = journal.begin(record).and_then(|()| stage(root, record, artifacts));
    if let Err(error) = staged {
        return Err(undone(undo(root, journal, record), &error));
    }
    // The rename of the journal (the record of the writing) may have happened although it reported a failure. So `back`
    // looks for both names of the journal. The parts (temporary files) still exist at this point.
    if let Err(error) = journal.advance(JournalStanding::Staging, JournalStanding::Committed) {
        return Err(undone(back(root, journal, record), &error));
    }
    finish(root, journal, record, artifacts)
}

/// Recovers an output whose writing was stopped. Finishes it when the journal (the record of the writing) says
/// "committed", and undoes it when the journal says "staging". If `output` is the stopped output, its contents replace
/// the parts (temporary files) that were lost.
pub(super) fn recover(
    root: &ArtifactRoot,
    journal: &mut Journal,
    output: KnownOutput<'_>,
) -> Result<Recovered, ArtifactProblem> {
    if let Some(record) = journal.read(JournalStanding::Committed)? {
        let artifacts = if record.output == output.digest { output.artifacts } else { &[] };
        finish(root, journal, &record, artifacts)?;
        return Ok(Recovered::Finished { paths: record.entries.into_iter().map(|entry| entry.path).collect() });
    }
    if let Some(record) = journal.read(JournalStanding::Staging)? {
        undo(root, journal, &record)?;
        return Ok(Recovered::Undone);
    }
    Ok(Recovered::Nothing)
}

fn stage(root: &ArtifactRoot, record: &JournalRecord, artifacts: &[CheckedArtifact]) -> io::Result<()> {
    for folder in &record.folders {
        root.make_folder(folder)?;
    }
    for (entry, artifact) in record.entries.iter().zip(artifacts) {
        root.write_part(entry, artifact.content.as_bytes())?;
    }
    sync(root, record)
}

/// Moves each part (temporary file) to its final path. Deletes the replaced files last, because they are needed to undo
/// a failure.
fn finish(
    root: &ArtifactRoot,
    journal: &mut Journal,
    record: &JournalRecord,
    artifacts: &[CheckedArtifact],
) -> Result<(), ArtifactProblem> {
    let contents = artifacts.iter().map(Some).chain(std::iter::repeat(None));
    let mut entries = record.entries.iter().zip(contents);
    let put = entries.try_for_each(|(entry, artifact)| put(root, entry, artifact)).and_then(|()| sync(root, record));
    if let Err(error) = put {
        return Err(undone(back(root, journal, record), &error));
    }
    let tidy = || record.entries.iter().try_for_each(|entry| root.remove_part(entry));
    let done = tidy().and_then(|()| journal.advance(JournalStanding::Committed, JournalStanding::Done));
    done.map_err(|error| ArtifactProblem::Unfinished { problem: error.to_string() })
}

/// Moves one part (temporary file) to its final path. When the part is gone or has other content, it was moved before
/// the process stopped; then the file at the final path stays as it is. When that file is gone, too, writes the content
/// again if `artifact` has it, and fails otherwise.
fn put(root: &ArtifactRoot, entry: &JournalEntry, artifact: Option<&CheckedArtifact>) -> io::Result<()> {
    if root.has_part(entry)? {
        return root.put(entry);
    }
    match (root.look(&entry.path)?, artifact) {
        (FoundFile::File { .. } | FoundFile::Other, _) => Ok(()),
        (FoundFile::Nothing, Some(artifact)) => {
            root.write_part(entry, artifact.content.as_bytes())?;
            root.put(entry)
        }
        (FoundFile::Nothing, None) | (FoundFile::Blocked, _) => {
            Err(io::Error::other(format!("another program removed {}", entry.path)))
        }
    }
}

/// Undoes a committed output: moves the parts (temporary files) back from the final paths, sets the journal (the record
/// of the writing) back to "staging", and deletes the parts.
fn back(root: &ArtifactRoot, journal: &mut Journal, record: &JournalRecord) -> io::Result<()> {
    for entry in record.entries.iter().rev() {
        if !root.has_part(entry)? {
            root.take_back(entry)?;
        }
    }
    sync(root, record)?;
    if journal.read(JournalStanding::Committed)?.is_some() {
        journal.advance(JournalStanding::Committed, JournalStanding::Staging)?;
    }
    undo(root, journal, record)
}

fn undo(root: &ArtifactRoot, journal: &mut Journal, record: &JournalRecord) -> io::Result<()> {
    for entry in &record.entries {
        root.remove_part(entry)?;
    }
    for folder in record.folders.iter().rev() {
        root.remove_folder(folder)?;
    }
    journal.forget()
}

fn undone(back: io::Result<()>, cause: &io::Error) -> ArtifactProblem {
    match back {
        Ok(()) => ArtifactProblem::Failed { problem: cause.to_string() },
        Err(error) => ArtifactProblem::Unfinished {
            problem: format!(
                "{cause}; restoring the earlier files failed, \
            too: {error}"
            ),
        },
    }
}

fn sync(root: &ArtifactRoot, record: &JournalRecord) -> io::Result<()> {
    let inner = record.entries.iter().map(|entry| split(&entry.path).0);
    let outer = record.folders.iter().map(|folder| split(folder).0);
    let folders: BTreeSet<&str> = inner.chain(outer).collect();
    folders.into_iter().try_for_each(|folder| root.sync_folder(folder))
}
