//! Reads clients' configuration files, and resolves symbolic links.

use std::fs::File;
use std::io::{ErrorKind, Read};
use std::path::{Component, Path, PathBuf};

use super::problem::SetupProblem;

/// The largest configuration file that is read, in bytes. A larger file is refused. The largest known files have a few
/// MiB, because some clients keep a history in them.
const BYTES_MAX: u64 = 16 << 20;

/// The byte order mark that some editors put before a text to mark its encoding.
pub(super) const MARK: &str = "\u{feff}";

/// Returns the text of a client's file; `None` when the file does not exist.
pub(super) fn read(path: &Path) -> Result<Option<String>, SetupProblem> {
    let unreadable = |cause| SetupProblem::Unreadable { path: path.to_owned(), cause };
    let about = match std::fs::metadata(path) {
        Ok(about) => about,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(unreadable(error)),
    };
    // Refuse anything but a regular file: reading a pipe would block.
    if !about.is_file() {
        return Err(SetupProblem::NotFile { path: path.to_owned() });
    }
    let mut bytes = Vec::new();
    let file = File::open(path).map_err(unreadable)?;
    file.take(BYTES_MAX + 1).read_to_end(&mut bytes).map_err(unreadable)?;
    if u64::try_from(bytes.len()).is_ok_and(|len| len > BYTES_MAX) {
        return Err(SetupProblem::TooLong { path: path.to_owned(), max: BYTES_MAX });
    }
    String::from_utf8(bytes).map(Some).map_err(|_| SetupProblem::NotText { path: path.to_owned() })
}

/// Reads a client's file to look at a setting in it. Returns `None` for a path that is not a file, such as a folder.
/// The function `read` reports such a path as an error later, when the file is edited.
pub(super) fn peek(path: &Path) -> Result<Option<String>, SetupProblem> {
    let text = if path.is_file() { read(path)? } else { None };
    Ok(text.map(|text| text.strip_prefix(MARK).map_or_else(|| text.clone(), str::to_owned)))
}

/// Follows all links of a path and returns the real file, so that a write changes that file and keeps the links. If the
/// file does not exist yet, its nearest existing folder is resolved.
pub(super) fn resolve(path: &Path) -> Result<PathBuf, SetupProblem> {
    let unreadable = |cause| SetupProblem::Unreadable { path: path.to_owned(), cause };
    let mut path = path.to_owned();
    // Follow links here, because the system cannot resolve a link to a missing file. Stop after 40 links, as the system
    // does.
    for _ in 0..40 {
        match std::fs::read_link(&path) {
            Ok(next) => path = path.parent().unwrap_or(Path::new("/")).join(next),
            Err(_) => break,
        }
    }
    let mut missing = Vec::new();
    let mut there = path.as_path();
    loop {
        match there.canonicalize() {
            Ok(real) => return Ok(missing.iter().rev().fold(real, |real, name| real.join(name))),
            Err(error) if error.kind() == ErrorKind::NotFound => {}
            Err(error) => return Err(unreadable(error)),
        }
        let (Some(Component::Normal(name)), Some(parent)) = (there.components().next_back(), there.parent()) else {
            return Err(unreadable(ErrorKind::NotFound.into()));
        };
        missing.push(name);
        there = parent;
    }
}

/// Returns the missing folders above a file, outermost first.
pub(super) fn missing_folders(target: &Path) -> Vec<PathBuf> {
    let above = target.ancestors().skip(1).take_while(|folder| !folder.exists());
    let mut folders = above.map(Path::to_owned).collect::<Vec<_>>();
    folders.reverse();
    folders
}

/// Tells whether the file is marked read-only. Setup does not write such a file, even if the system would let an
/// administrator write it.
pub(super) fn read_only(target: &Path) -> bool {
    std::fs::metadata(target).is_ok_and(|about| about.permissions().readonly())
}
