//! Creates the root folder of the worktrees, which contains all worktrees of a repository, and new folders in it.

use std::fs;
use std::io::{self, ErrorKind, Write};
use std::path::{Path, PathBuf};

use super::problem::{GitProblem, Occupant};

/// The default root folder of the worktrees, as folder names below the main worktree: `.handover/state/worktrees`.
const DEFAULT: [&str; 3] = [".handover", "state", "worktrees"];

/// Creates the root folder of the worktrees if it does not exist. Returns its path with all links resolved.
///
/// A root folder that the user configured may be a link. Every part of the default root must be a real folder and no
/// link, because the default root is inside the repository, and a repository can contain links.
pub(super) fn root(home: &Path, configured: Option<&Path>) -> Result<PathBuf, GitProblem> {
    let state = home.join(DEFAULT[0]).join(DEFAULT[1]);
    let wanted = configured.map(|root| home.join(root)).unwrap_or_else(|| state.join(DEFAULT[2]));
    if wanted.starts_with(&state) {
        for folder in [home.join(DEFAULT[0]), state.clone()] {
            make(&folder)?;
        }
        ignore(&state).map_err(|error| unusable(&state, &error))?;
    }
    match configured {
        None => make(&wanted)?,
        Some(_) => fs::create_dir_all(&wanted).map_err(|error| unusable(&wanted, &error))?,
    }
    wanted.canonicalize().map_err(|error| unusable(&wanted, &error))
}

/// Creates a folder directly below the root folder of the worktrees. When two callers use the same name, only one
/// succeeds, because creating a folder that exists fails.
pub(super) fn reserve(root: &Path, name: &str) -> Result<PathBuf, GitProblem> {
    let path = root.join(name);
    if path.parent() != Some(root) || path.file_name().is_none_or(|last| last != name) {
        return Err(GitProblem::input("branch", "cannot be used as a folder name"));
    }
    match fs::create_dir(&path) {
        Ok(()) => {}
        Err(error) if error.kind() == ErrorKind::AlreadyExists => {
            let by = occupant(&path).map_err(|error| unusable(&path, &error))?;
            return Err(GitProblem::PathTaken { path, by });
        }
        Err(error) => return Err(unusable(&path, &error)),
    }
    match path.canonicalize() {
        Ok(real) if real == path => Ok(path),
        // A link replaced the root folder just before the new folder was created. So the new folder is at a wrong
        // place; delete it.
        Ok(_) | Err(_) => {
            drop(fs::remove_dir(&path));
            Err(GitProblem::PathTaken { path, by: Occupant::Link })
        }
    }
}

/// Returns the kind of file at a path, without following a link.
pub(super) fn occupant(path: &Path) -> io::Result<Occupant> {
    let kind = fs::symlink_metadata(path)?.file_type();
    Ok(if kind.is_symlink() {
        Occupant::Link
    } else if kind.is_dir() {
        Occupant::Folder
    } else {
        Occupant::File
    })
}

fn make(folder: &Path) -> Result<(), GitProblem> {
    match fs::create_dir(folder) {
        Ok(()) => return Ok(()),
        Err(error) if error.kind() == ErrorKind::AlreadyExists => {}
        Err(error) => return Err(unusable(folder, &error)),
    }
    match occupant(folder).map_err(|error| unusable(folder, &error))? {
        Occupant::Folder => Ok(()),
        by @ (Occupant::File | Occupant::Link | Occupant::Registration) => {
            Err(GitProblem::PathTaken { path: folder.to_owned(), by })
        }
    }
}

/// Writes a `.gitignore` into the folder `.handover/state`, so that nothing in it is committed.
fn ignore(state: &Path) -> io::Result<()> {
    match fs::File::create_new(state.join(".gitignore")) {
        Ok(mut file) => file.write_all(b"*\n"),
        Err(error) if error.kind() == ErrorKind::AlreadyExists => Ok(()),
        Err(error) => Err(error),
    }
}

fn unusable(path: &Path, error: &io::Error) -> GitProblem {
    GitProblem::PathUnusable { path: path.to_owned(), problem: error.to_string() }
}
