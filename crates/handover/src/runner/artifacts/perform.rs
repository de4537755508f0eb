//! Applies a planned output, and continues or undoes an output that was stopped at any step.

use std::collections::BTreeSet;
use std::io;

use super::disk::{Found, Root, split};
use super::journal::{Entry, Journal, Record, Standing};
use super::{Artifact, Problem, Recovered};

/// The output to apply. It is empty when a stopped output is recovered without it.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Known<'a> {
    pub(super) digest: &'a str,
    pub(super) artifacts: &'a [Artifact],
}

/// Applies all artifacts, or none.
pub(super) fn perform(
    root: &Root,
    journal: &mut Journal,
    record: &Record,
    artifacts: &[Artifact],
) -> Result<(), Problem> {
    let staged = journal.begin(record).and_then(|()| stage(root, record, artifacts));
    if let Err(error) = staged {
        return Err(undone(undo(root, journal, record), &error));
    }
    // The rename may have happened although it failed. Going back looks for both names of the journal, and needs the
    // parts until then.
    if let Err(error) = journal.advance(Standing::Staging, Standing::Committed) {
        return Err(undone(back(root, journal, record), &error));
    }
    finish(root, journal, record, artifacts)
}

/// Finishes an output that was committed, and undoes one that was not. Uses the contents of `output` if it is the
/// output that was stopped.
pub(super) fn recover(root: &Root, journal: &mut Journal, output: Known<'_>) -> Result<Recovered, Problem> {
    if let Some(record) = journal.read(Standing::Committed)? {
        let artifacts = if record.output == output.digest { output.artifacts } else { &[] };
        finish(root, journal, &record, artifacts)?;
        return Ok(Recovered::Finished { paths: record.entries.into_iter().map(|entry| entry.path).collect() });
    }
    if let Some(record) = journal.read(Standing::Staging)? {
        undo(root, journal, &record)?;
        return Ok(Recovered::Undone);
    }
    Ok(Recovered::Nothing)
}

fn stage(root: &Root, record: &Record, artifacts: &[Artifact]) -> io::Result<()> {
    for folder in &record.folders {
        root.make_folder(folder)?;
    }
    for (entry, artifact) in record.entries.iter().zip(artifacts) {
        root.write_part(entry, artifact.content.as_bytes())?;
    }
    sync(root, record)
}

/// Moves each part to its path. Deletes the replaced files last, when nothing can fail any more.
fn finish(root: &Root, journal: &mut Journal, record: &Record, artifacts: &[Artifact]) -> Result<(), Problem> {
    let contents = artifacts.iter().map(Some).chain(std::iter::repeat(None));
    let mut entries = record.entries.iter().zip(contents);
    let put = entries.try_for_each(|(entry, artifact)| put(root, entry, artifact)).and_then(|()| sync(root, record));
    if let Err(error) = put {
        return Err(undone(back(root, journal, record), &error));
    }
    let tidy = || record.entries.iter().try_for_each(|entry| root.remove_part(entry));
    let done = tidy().and_then(|()| journal.advance(Standing::Committed, Standing::Done));
    done.map_err(|error| Problem::Unfinished { problem: error.to_string() })
}

/// Moves one part to its path. A part that is gone or has other content was moved before a stop, and later changes of
/// its file are left alone. If the part and the file are both gone, the content is written again.
fn put(root: &Root, entry: &Entry, artifact: Option<&Artifact>) -> io::Result<()> {
    if root.has_part(entry)? {
        return root.put(entry);
    }
    match (root.look(&entry.path)?, artifact) {
        (Found::File { .. } | Found::Other, _) => Ok(()),
        (Found::Nothing, Some(artifact)) => {
            root.write_part(entry, artifact.content.as_bytes())?;
            root.put(entry)
        }
        (Found::Nothing, None) | (Found::Blocked, _) => {
            Err(io::Error::other(format!("{} was removed by somebody else", entry.path)))
        }
    }
}

/// Undoes a committed output: moves the parts back, then renames the journal, then deletes the parts.
fn back(root: &Root, journal: &mut Journal, record: &Record) -> io::Result<()> {
    for entry in record.entries.iter().rev() {
        if !root.has_part(entry)? {
            root.take_back(entry)?;
        }
    }
    sync(root, record)?;
    if journal.read(Standing::Committed)?.is_some() {
        journal.advance(Standing::Committed, Standing::Staging)?;
    }
    undo(root, journal, record)
}

fn undo(root: &Root, journal: &mut Journal, record: &Record) -> io::Result<()> {
    for entry in &record.entries {
        root.remove_part(entry)?;
    }
    for folder in record.folders.iter().rev() {
        root.remove_folder(folder)?;
    }
    journal.forget()
}

fn undone(back: io::Result<()>, cause: &io::Error) -> Problem {
    match back {
        Ok(()) => Problem::Failed { problem: cause.to_string() },
        Err(error) => Problem::Unfinished { problem: format!("{cause}; and going back failed: {error}") },
    }
}

fn sync(root: &Root, record: &Record) -> io::Result<()> {
    let inner = record.entries.iter().map(|entry| split(&entry.path).0);
    let outer = record.folders.iter().map(|folder| split(folder).0);
    let folders: BTreeSet<&str> = inner.chain(outer).collect();
    folders.into_iter().try_for_each(|folder| root.sync_folder(folder))
}
