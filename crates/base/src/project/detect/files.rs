//! Lists and reads files of a repository. The size of what is read is limited, and paths that lead out of the
//! repository are not followed.

use std::collections::BTreeSet;
use std::fs::File;
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};

/// The maximum number of bytes that are read of a file. Only generated files are longer; their rest is ignored.
const BYTES_MAX: u64 = 1 << 20;

/// The maximum number of entries of a folder that are listed. Further entries are ignored.
const ENTRIES_MAX: usize = 10_000;

/// The files of a repository as a new worktree would have them. Paths are relative to the root, with slashes, and the
/// root is the empty path.
#[derive(Debug)]
pub struct RepositoryFiles {
    root: PathBuf,
    absent: BTreeSet<String>,
}

/// A file, a folder or a link in a folder.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct FolderEntry {
    pub(super) name: String,
    /// True for a folder. False for a file, and for a link even when it leads to a folder.
    pub(super) is_folder: bool,
}

impl RepositoryFiles {
    /// Opens the repository with this root. Fails when the root does not exist.
    pub fn new(root: &Path) -> io::Result<Self> {
        Ok(Self { root: root.canonicalize()?, absent: BTreeSet::new() })
    }

    /// Hides files that git ignores or does not track. A new worktree does not have these files, so a lock file among
    /// them must not decide which setup commands run. A path that ends with `/` hides the whole folder.
    #[must_use]
    pub fn without(mut self, absent: impl IntoIterator<Item = String>) -> Self {
        self.absent.extend(absent);
        self
    }

    /// Returns true when a path is a regular file.
    pub(super) fn has(&self, path: &str) -> bool {
        self.inside(path).is_some_and(|place| place.is_file())
    }

    /// Returns true when there is a file, a folder or a link with this path.
    pub(super) fn has_entry(&self, path: &str) -> bool {
        !self.is_absent(path) && self.root.join(path).symlink_metadata().is_ok()
    }

    /// Returns the lines of `.worktreeinclude` that are patterns of files. Returns no lines when there is no such file.
    pub fn include_patterns(&self) -> Vec<String> {
        let text = self.text(super::copy::INCLUDE_FILE).unwrap_or_default();
        let lines = text.lines().filter(|line| !line.trim().is_empty() && !line.starts_with('#'));
        lines.map(str::to_owned).collect()
    }

    /// Returns the beginning of a file as text. Returns `None` when the path is no regular file, or is a link that
    /// leads out of the repository.
    pub(super) fn text(&self, path: &str) -> Option<String> {
        let place = self.inside(path).filter(|place| place.is_file())?;
        let mut bytes = Vec::new();
        File::open(place).ok()?.take(BYTES_MAX).read_to_end(&mut bytes).ok()?;
        let text = String::from_utf8_lossy(&bytes);
        Some(text.strip_prefix('\u{feff}').unwrap_or(&text).to_owned())
    }

    /// Returns the names in a folder, sorted. Returns an empty list when there is no such folder.
    pub(super) fn entries(&self, folder: &str) -> Vec<FolderEntry> {
        let Some(place) = self.inside(folder) else { return Vec::new() };
        let Ok(listed) = std::fs::read_dir(place) else { return Vec::new() };
        let entry = |entry: io::Result<std::fs::DirEntry>| {
            let entry = entry.ok()?;
            let is_folder = entry.file_type().ok()?.is_dir();
            Some(FolderEntry { name: entry.file_name().into_string().ok()?, is_folder })
        };
        let mut found: Vec<FolderEntry> = listed.take(ENTRIES_MAX).filter_map(entry).collect();
        found.retain(|entry| !self.is_absent(&join(folder, &entry.name)));
        found.sort();
        found
    }

    /// Returns the absolute path of a file or folder, with all links resolved. Returns `None` when the path is hidden,
    /// does not exist, or leads out of the repository.
    fn inside(&self, path: &str) -> Option<PathBuf> {
        if self.is_absent(path) {
            return None;
        }
        let place = self.root.join(path).canonicalize().ok()?;
        place.starts_with(&self.root).then_some(place)
    }

    fn is_absent(&self, path: &str) -> bool {
        let folder = |at: usize| self.absent.contains(&path[..=at]);
        self.absent.contains(path)
            || self.absent.contains(&format!("{path}/"))
            || path.match_indices('/').any(|(at, _)| folder(at))
    }
}

/// Joins the path of a folder and a name. The path of the root is empty.
pub(super) fn join(folder: &str, name: &str) -> String {
    if folder.is_empty() { name.to_owned() } else { format!("{folder}/{name}") }
}

/// Returns the folder above a folder, or `None` for the root.
pub(super) fn parent(folder: &str) -> Option<&str> {
    (!folder.is_empty()).then(|| folder.rsplit_once('/').map_or("", |(above, _)| above))
}

/// Returns the path, relative to the repository, of a path that is relative to `folder`. Returns `None` when the result
/// is outside of the repository.
pub(super) fn resolve(folder: &str, path: &str) -> Option<String> {
    if path.starts_with('/') {
        return None;
    }
    let mut parts: Vec<&str> = folder.split('/').filter(|part| !part.is_empty()).collect();
    for part in path.split('/') {
        match part {
            "" | "." => {}
            ".." => drop(parts.pop()?),
            name => parts.push(name),
        }
    }
    Some(parts.join("/"))
}
