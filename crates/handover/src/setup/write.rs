//! Writes the planned changes of a setup. If one change fails, none is written, as far as a file system can promise
//! that.
//!
//! Every text is first written to a temporary file next to its target. The temporary files replace the targets only
//! after all of them are on the disk. If one replacement fails, the replacements before it are reverted.

use std::fs::{OpenOptions, Permissions};
use std::io::Write as _;
use std::os::unix::fs::{OpenOptionsExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};

use super::disk;
use super::plan::{Edit, SetupPlan, Trace};
use super::problem::SetupProblem;
use super::receipt;

/// Writes the files that a setup plans to change. Also writes or deletes the receipts (records for an undo) in the
/// folder `receipts`.
pub fn apply(plan: &SetupPlan, receipts: &Path) -> Result<(), SetupProblem> {
    let edits = plan.edits.iter().filter(|edit| edit.changes()).collect::<Vec<_>>();
    let mut staged = Staged::default();
    let result = carry_out(&edits, receipts, &mut staged);
    // Delete the temporary files that are left. A temporary file that replaced its target no longer exists under its
    // old name.
    for path in &staged.files {
        let _ = std::fs::remove_file(path);
    }
    if result.is_err() {
        for folder in staged.folders.iter().rev() {
            let _ = std::fs::remove_dir(folder);
        }
    }
    result
}

/// The users that may read a file after setup has written it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Audience {
    /// The users that could read the file before setup wrote it.
    AsBefore,
    /// Only the owner: the file holds a token or is a receipt (setup's record of its changes).
    Owner,
}

impl Audience {
    fn of(edit: &Edit) -> Self {
        if edit.private { Self::Owner } else { Self::AsBefore }
    }
}

/// The temporary files and the new folders that this run of setup has created, so that a failed run can delete them.
#[derive(Default)]
struct Staged {
    files: Vec<PathBuf>,
    folders: Vec<PathBuf>,
}

fn carry_out(edits: &[&Edit], receipts: &Path, staged: &mut Staged) -> Result<(), SetupProblem> {
    let mut ready = Vec::new();
    for edit in edits {
        unchanged(edit)?;
        if let Some(after) = &edit.after {
            staged.folders.extend(disk::missing_folders(&edit.target));
            ready.push(Some(stage(&edit.target, after, Audience::of(edit), staged)?));
        } else {
            ready.push(None);
        }
    }
    // Write the receipts (records for an undo) before the files. If a file is then not written, its receipt is
    // harmless, because it does not match the file.
    for edit in edits {
        if let Trace::Keep(kept) = &edit.trace {
            let path = receipt::file(receipts, &edit.target);
            let text =
                kept.text().map_err(|cause| SetupProblem::Unwritable { path: path.clone(), cause: cause.into() })?;
            private(receipts)?;
            let beside = stage(&path, &text, Audience::Owner, staged)?;
            rename(&beside, &path)?;
        }
    }
    let mut done = Vec::new();
    for (edit, beside) in edits.iter().zip(&ready) {
        let result = unchanged(edit).and_then(|()| match beside {
            Some(beside) => rename(beside, &edit.target),
            None => std::fs::remove_file(&edit.target).map_err(|cause| unwritable(&edit.target, cause)),
        });
        if let Err(problem) = result {
            give_back(&done, staged);
            return Err(problem);
        }
        done.push(*edit);
    }
    for edit in edits {
        if let Trace::Drop(folders) = &edit.trace {
            let _ = std::fs::remove_file(receipt::file(receipts, &edit.target));
            for folder in folders.iter().rev().filter(|_| edit.after.is_none()) {
                // Ignore a failure: a folder that is not empty is in use, so it stays.
                let _ = std::fs::remove_dir(folder);
            }
        }
    }
    Ok(())
}

/// Refuses an edit if the file has changed since the edit was planned.
fn unchanged(edit: &Edit) -> Result<(), SetupProblem> {
    let now = disk::read(&edit.target)?;
    if now == edit.before { Ok(()) } else { Err(SetupProblem::Changed { path: edit.path.clone() }) }
}

/// Writes a text to a temporary file in the folder of its target, with the target's permissions. Returns the path of
/// the temporary file.
fn stage(target: &Path, text: &str, audience: Audience, staged: &mut Staged) -> Result<PathBuf, SetupProblem> {
    let (Some(folder), Some(name)) = (target.parent(), target.file_name()) else {
        return Err(unwritable(target, std::io::ErrorKind::InvalidFilename.into()));
    };
    std::fs::create_dir_all(folder).map_err(|cause| unwritable(folder, cause))?;
    let beside = folder.join(format!(".{}.handover-{}", name.to_string_lossy(), std::process::id()));
    let failed = |cause| unwritable(target, cause);
    // Delete an old temporary file of this name, and then create a new one: otherwise a link of this name could
    // redirect the write.
    let _ = std::fs::remove_file(&beside);
    let mut options = OpenOptions::new();
    options.write(true).create_new(true);
    if audience == Audience::Owner {
        options.mode(0o600);
    }
    let mut file = options.open(&beside).map_err(failed)?;
    staged.files.push(beside.clone());
    if let Ok(about) = std::fs::metadata(target) {
        let mode = about.permissions().mode() & if audience == Audience::Owner { 0o700 } else { 0o7777 };
        file.set_permissions(Permissions::from_mode(mode)).map_err(failed)?;
    }
    file.write_all(text.as_bytes()).and_then(|()| file.sync_all()).map_err(failed)?;
    Ok(beside)
}

/// Creates the folder for receipts, the records of what setup wrote. Only the user may read it.
fn private(folder: &Path) -> Result<(), SetupProblem> {
    std::fs::create_dir_all(folder).map_err(|cause| unwritable(folder, cause))?;
    std::fs::set_permissions(folder, Permissions::from_mode(0o700)).map_err(|cause| unwritable(folder, cause))
}

fn rename(from: &Path, to: &Path) -> Result<(), SetupProblem> {
    std::fs::rename(from, to).map_err(|cause| unwritable(to, cause))
}

fn give_back(done: &[&Edit], staged: &mut Staged) {
    for edit in done.iter().rev() {
        match &edit.before {
            Some(before) => {
                let kept = stage(&edit.target, before, Audience::of(edit), staged);
                let _ = kept.and_then(|beside| rename(&beside, &edit.target));
            }
            None => {
                let _ = std::fs::remove_file(&edit.target);
            }
        }
    }
}

fn unwritable(path: &Path, cause: std::io::Error) -> SetupProblem {
    SetupProblem::Unwritable { path: path.to_owned(), cause }
}
