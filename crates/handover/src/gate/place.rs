//! Paths: from which folder, through which links, and how they stand to a glob.

use std::collections::VecDeque;
use std::ffi::OsString;
use std::path::{Component, Path, PathBuf};

use super::command::home;
use super::glob::{Fit, Glob, Root};

/// Links in a row, as Linux counts them.
const LINKS_MAX: usize = 40;
/// What makes a folder the root of a repository.
const MARKS: [&str; 2] = [".git", ".handover"];

/// A path without `.` and `..`, as if there were no links.
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

/// Where a path leads when every link is followed; nothing when links go in circles. What does not exist is where it would be.
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

/// The repositories that a path lies in, innermost first.
pub(super) fn roots(path: &Path) -> Vec<PathBuf> {
    let marked = |folder: &&Path| MARKS.iter().any(|mark| folder.join(mark).symlink_metadata().is_ok());
    path.ancestors().filter(marked).map(Path::to_owned).collect()
}

/// How a path stands to a glob that starts in one of these roots: the closest fit counts.
pub(super) fn fit(glob: &Glob, path: &Path, roots: &[PathBuf]) -> Fit {
    let from_home;
    let from: &[PathBuf] = match glob.root() {
        Root::Repository => roots,
        Root::Filesystem => &[PathBuf::from("/")],
        Root::Home => {
            let home = home().map(PathBuf::from);
            from_home = home.iter().flat_map(|home| [Some(tidy(home)), resolve(home)]).flatten().collect::<Vec<_>>();
            &from_home
        }
    };
    let mut best = Fit::No;
    for root in from {
        let found = match path.strip_prefix(root) {
            Ok(below) => {
                let names: Vec<String> = below.iter().map(|name| name.to_string_lossy().into_owned()).collect();
                glob.fit(&names.iter().map(String::as_str).collect::<Vec<_>>())
            }
            // The whole root lies in it.
            Err(_) if root.starts_with(path) => Fit::Below { certain: true },
            Err(_) => Fit::No,
        };
        best = match (best, found) {
            (Fit::Yes, _) | (_, Fit::Yes) => Fit::Yes,
            (Fit::Below { certain: one }, Fit::Below { certain: other }) => Fit::Below { certain: one || other },
            (Fit::Below { certain }, Fit::No) | (Fit::No, Fit::Below { certain }) => Fit::Below { certain },
            (Fit::No, Fit::No) => Fit::No,
        };
    }
    best
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
