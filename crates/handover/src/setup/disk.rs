//! Reading files, and finding where a link really leads.

use std::fs::File;
use std::io::{ErrorKind, Read};
use std::path::{Component, Path, PathBuf};

use super::problem::Problem;

/// Longer than any configuration that was seen; a long history in one is a few MiB.
const BYTES_MAX: u64 = 16 << 20;

/// What some editors put before a text to say how it is encoded.
pub(super) const MARK: &str = "\u{feff}";

/// A file's text, if there is such a file.
pub(super) fn read(path: &Path) -> Result<Option<String>, Problem> {
    let unreadable = |cause| Problem::Unreadable { path: path.to_owned(), cause };
    let about = match std::fs::metadata(path) {
        Ok(about) => about,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(unreadable(error)),
    };
    // A pipe would keep us waiting.
    if !about.is_file() {
        return Err(Problem::NotFile { path: path.to_owned() });
    }
    let mut bytes = Vec::new();
    let file = File::open(path).map_err(unreadable)?;
    file.take(BYTES_MAX + 1).read_to_end(&mut bytes).map_err(unreadable)?;
    if u64::try_from(bytes.len()).is_ok_and(|len| len > BYTES_MAX) {
        return Err(Problem::TooLong { path: path.to_owned(), max: BYTES_MAX });
    }
    String::from_utf8(bytes).map(Some).map_err(|_| Problem::NotText { path: path.to_owned() })
}

/// As `read`, for a look at a setting: what is no file is told when it is its turn.
pub(super) fn peek(path: &Path) -> Result<Option<String>, Problem> {
    let text = if path.is_file() { read(path)? } else { None };
    Ok(text.map(|text| text.strip_prefix(MARK).map_or_else(|| text.clone(), str::to_owned)))
}

/// The file that a path really names: links are followed, so that writing keeps them. What is not there yet is
/// below the folder that is.
pub(super) fn resolve(path: &Path) -> Result<PathBuf, Problem> {
    let unreadable = |cause| Problem::Unreadable { path: path.to_owned(), cause };
    let mut path = path.to_owned();
    // A link to a file that is not there cannot be resolved by the system; 40 is where the system stops, too.
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

/// The folders above a file that are not there, from the outermost.
pub(super) fn missing_folders(target: &Path) -> Vec<PathBuf> {
    let above = target.ancestors().skip(1).take_while(|folder| !folder.exists());
    let mut folders = above.map(Path::to_owned).collect::<Vec<_>>();
    folders.reverse();
    folders
}

/// Whether the owner said that nobody shall write here. The system lets an administrator write anyway; we do not.
pub(super) fn read_only(target: &Path) -> bool {
    std::fs::metadata(target).is_ok_and(|about| about.permissions().readonly())
}
