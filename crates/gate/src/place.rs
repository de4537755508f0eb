//! Resolves paths: follows links, finds the repository around a path, and compares a path with a glob.

use std::collections::VecDeque;
use std::ffi::OsString;
use std::path::{Component, Path, PathBuf};
use std::sync::OnceLock;

use super::glob::{self, Glob, GlobRoot, PathFit};
use crate::spot::home;

/// The largest number of links that are followed for one path, the same as in Linux. If a path has more links, the gate
/// assumes that they lead in a circle.
const LINKS_MAX: usize = 40;
/// The names of entries that mark a folder as the root of a repository.
const MARKS: [&str; 2] = [".git", ".handover"];

/// Returns a path without `.` and `..`. Links are not followed: `a/link/..` becomes `a`.
pub(super) fn tidy(path: &Path) -> PathBuf {
    let mut tidy = PathBuf::from("/");
    for part in path.components() {
        match part {
            Component::ParentDir => drop(tidy.pop()),
            Component::Normal(name) => tidy.push(name),
            Component::RootDir | Component::CurDir | Component::Prefix(_) => {}
        }
    }
    tidy
}

/// Returns the path after every link in it is followed. Returns None when links go in circles. The path does not have
/// to exist.
pub(super) fn resolve(path: &Path) -> Option<PathBuf> {
    let mut left: VecDeque<OsString> = parts(path);
    let mut real = PathBuf::from("/");
    let mut links = 0;
    while let Some(part) = left.pop_front() {
        if part == ".." {
            real.pop();
            continue;
        }
        real.push(&part);
        let Ok(target) = std::fs::read_link(&real) else { continue };
        links += 1;
        if links > LINKS_MAX {
            return None;
        }
        real.pop();
        if target.is_absolute() {
            real = PathBuf::from("/");
        }
        for part in parts(&target).into_iter().rev() {
            left.push_front(part);
        }
    }
    Some(real)
}

fn parts(path: &Path) -> VecDeque<OsString> {
    let names = path.components().filter_map(|part| match part {
        Component::ParentDir => Some(OsString::from("..")),
        Component::Normal(name) => Some(name.to_owned()),
        Component::RootDir | Component::CurDir | Component::Prefix(_) => None,
    });
    names.collect()
}

/// Returns the roots of the repositories that contain a path, innermost first.
pub(super) fn roots(path: &Path) -> Vec<PathBuf> {
    let marked = |folder: &&Path| MARKS.iter().any(|mark| folder.join(mark).symlink_metadata().is_ok());
    path.ancestors().filter(marked).map(Path::to_owned).collect()
}

/// Returns the roots of the repositories that contain a path, and the folders `others`, each folder once.
pub(super) fn roots_and(path: &Path, others: &[PathBuf]) -> Vec<PathBuf> {
    let mut found = roots(path);
    for other in others {
        if !found.contains(other) {
            found.push(other.clone());
        }
    }
    found
}

/// The entries of a folder whose names match a shell pattern, such as `*.txt`.
#[derive(Debug, Clone, Copy)]
pub(super) struct Entries<'p> {
    pub(super) pattern: &'p str,
    /// True if all files below these entries are meant, too.
    pub(super) tree: bool,
}

/// Tells whether a path, without following its links, leads to an open file (`/dev/fd/3`) or to another process's view
/// of the disk (`/proc/1/root`).
pub(super) fn is_through_processes(path: &Path) -> bool {
    let spelled = tidy(path);
    let text = spelled.to_string_lossy();
    spelled.starts_with("/proc") || spelled.starts_with("/dev/fd") || text == "/dev/stdin"
}

/// Tells whether a path, after its links are followed one by one, leads to an open file (`/dev/fd/3`) or to another
/// process's view of the disk (`/proc/1/root`).
pub(super) fn passes_processes(path: &Path) -> bool {
    let mut left: VecDeque<OsString> = parts(path);
    let mut real = PathBuf::from("/");
    for _ in 0..1_000 {
        let Some(part) = left.pop_front() else { return false };
        if part == ".." {
            real.pop();
            continue;
        }
        real.push(&part);
        if is_through_processes(&real) {
            return true;
        }
        let Ok(target) = std::fs::read_link(&real) else { continue };
        real.pop();
        if target.is_absolute() {
            real = PathBuf::from("/");
        }
        for part in parts(&target).into_iter().rev() {
            left.push_front(part);
        }
    }
    true
}

/// The largest number of entries that are checked below one folder. If the folder has more entries, the gate assumes
/// that it contains an entry that fits.
const ENTRIES_MAX: usize = 5_000;

/// Tells whether a `find` command that searches below `folder` for names that fit `pattern` may select a file that the
/// glob covers. The name of the file, or of a folder between `folder` and the file, must fit `pattern`. The answer
/// depends on the files that are on the disk now.
pub(super) fn may_find(glob: &Glob, folder: &Path, pattern: &str, roots: &[PathBuf]) -> bool {
    let home = home().map(PathBuf::from);
    let from = match glob.root() {
        GlobRoot::Repository => roots.to_vec(),
        GlobRoot::Filesystem => vec![PathBuf::from("/")],
        GlobRoot::Home => home.into_iter().collect(),
    };
    let Some(start) = glob.literal_start() else { return true };
    from.iter().any(|root| {
        let place = root.join(&start);
        let Ok(between) = place.strip_prefix(folder) else {
            return folder.starts_with(&place);
        };
        let on_the_way = between.iter().any(|name| glob::is_named(pattern, &name.to_string_lossy()));
        on_the_way && place.symlink_metadata().is_ok() || holds(&place, pattern)
    })
}

/// Tells whether a folder contains, at any depth, an entry whose name fits a pattern.
fn holds(place: &Path, pattern: &str) -> bool {
    let (mut open, mut seen) = (vec![place.to_owned()], 0);
    while let Some(folder) = open.pop() {
        for entry in std::fs::read_dir(&folder).into_iter().flatten().flatten() {
            seen += 1;
            if seen > ENTRIES_MAX || glob::is_named(pattern, &entry.file_name().to_string_lossy()) {
                return true;
            }
            if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
                open.push(entry.path());
            }
        }
    }
    false
}

/// Tells whether a file below a folder has a blank or a quote in its name, or whether there are too many files to
/// check. A program that reads a list of such names may split one name into several.
pub(super) fn has_odd_names(place: &Path) -> bool {
    let odd = |name: &str| name.contains(|letter: char| letter.is_whitespace() || "'\"\\".contains(letter));
    let (mut open, mut seen) = (vec![place.to_owned()], 0);
    while let Some(folder) = open.pop() {
        for entry in std::fs::read_dir(&folder).into_iter().flatten().flatten() {
            seen += 1;
            if seen > ENTRIES_MAX || odd(&entry.file_name().to_string_lossy()) {
                return true;
            }
            if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
                open.push(entry.path());
            }
        }
    }
    false
}

/// Returns the home folder in two forms: as `HOME` has it, and with its links followed. The result is computed only
/// once, because many guarded paths start at the home folder.
pub(super) fn home_folders() -> &'static [PathBuf] {
    static FOLDERS: OnceLock<Vec<PathBuf>> = OnceLock::new();
    FOLDERS.get_or_init(|| {
        let home = home().map(PathBuf::from);
        let mut folders: Vec<PathBuf> =
            home.iter().flat_map(|home| [Some(tidy(home)), resolve(home)]).flatten().collect();
        folders.dedup();
        folders
    })
}

/// Returns how a path fits a glob that starts in one of the given root folders. If the results for the roots differ,
/// returns the closest fit.
pub(super) fn fit(glob: &Glob, path: &Path, roots: &[PathBuf], entries: Option<Entries<'_>>) -> PathFit {
    let from: &[PathBuf] = match glob.root() {
        GlobRoot::Repository => roots,
        GlobRoot::Filesystem => &[PathBuf::from("/")],
        GlobRoot::Home => home_folders(),
    };
    let mut best = PathFit::No;
    for root in from {
        let found = match path.strip_prefix(root) {
            Ok(below) => {
                let names: Vec<String> = below.iter().map(|name| name.to_string_lossy().into_owned()).collect();
                let names: Vec<&str> = names.iter().map(String::as_str).collect();
                match entries {
                    Some(Entries { pattern, tree }) => glob.fit_entries(&names, pattern, tree),
                    None => glob.fit(&names),
                }
            }
            // The path is a folder above the root folder of the glob, so it contains everything that the glob can
            // match.
            Err(_) if root.starts_with(path) => match entries {
                Some(Entries { pattern, tree }) => above(path, root, pattern, tree),
                None => PathFit::Below { certain: true },
            },
            Err(_) => PathFit::No,
        };
        best = match (best, found) {
            (PathFit::Yes, _) | (_, PathFit::Yes) => PathFit::Yes,
            (PathFit::Below { certain: one }, PathFit::Below { certain: other }) => {
                PathFit::Below { certain: one || other }
            }
            (PathFit::Below { certain }, PathFit::No) | (PathFit::No, PathFit::Below { certain }) => {
                PathFit::Below { certain }
            }
            (PathFit::No, PathFit::No) => PathFit::No,
        };
    }
    best
}

/// Returns how the entries of `folder` fit a glob whose root folder is below `folder`. The glob can match only if the
/// entry that contains the root folder fits the pattern, and if files below the entries count, too (`tree`).
fn above(folder: &Path, root: &Path, pattern: &str, tree: bool) -> PathFit {
    let name = root.strip_prefix(folder).ok().and_then(|below| below.iter().next()).map(|name| name.to_string_lossy());
    let fits = name.is_some_and(|name| {
        Glob::new(&name.replace(['*', '?', '[', '{', '\\'], "?"))
            .is_ok_and(|glob| glob.fit_entries(&[], pattern, false) != PathFit::No)
    });
    if fits && tree { PathFit::Below { certain: false } } else { PathFit::No }
}

/// Tells whether a path is a folder for temporary files, such as `/tmp` or the folder that `TMPDIR` names.
pub(super) fn is_common(path: &Path) -> bool {
    let own = std::env::var_os("TMPDIR").map(PathBuf::from);
    ["/tmp", "/var/tmp", "/dev/shm"].iter().any(|folder| path == Path::new(folder))
        || own.is_some_and(|own| path == own)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn links_are_followed_and_circles_end() -> std::io::Result<()> {
        let folder = tempfile::tempdir()?;
        let root = std::fs::canonicalize(folder.path())?;
        std::fs::create_dir_all(root.join("infra/deep"))?;
        std::os::unix::fs::symlink("infra/deep", root.join("link"))?;
        std::os::unix::fs::symlink(root.join("link"), root.join("again"))?;
        std::os::unix::fs::symlink("circle", root.join("circle"))?;
        let real = |path: &str| resolve(&root.join(path));
        assert_eq!(real("again/new/file"), Some(root.join("infra/deep/new/file")));
        assert_eq!(real("link/../x"), Some(root.join("infra/x")));
        assert_eq!(real("none/../../x"), root.parent().map(|above| above.join("x")));
        assert_eq!(real("circle/x"), None);
        assert_eq!(tidy(Path::new("/a/./b/../../../c")), PathBuf::from("/c"));
        Ok(())
    }
}
