//! The list of the projects in which a person used Handover on this machine. `handover status --all` shows all of them.

use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

/// The name of the file in the user's data folder. The file has the path of one project in each line, the most recently
/// used project first.
const FILE: &str = "handover/projects";
/// The maximum number of projects that are remembered. The least recently used projects are forgotten.
const PROJECTS_MAX: usize = 100;

/// Returns the roots of the known projects, the most recently used project first.
pub fn list(data: &Path) -> Vec<PathBuf> {
    let text = std::fs::read_to_string(data.join(FILE)).unwrap_or_default();
    text.lines().filter(|line| !line.is_empty()).take(PROJECTS_MAX).map(PathBuf::from).collect()
}

/// Remembers that a person used the project with this root. Writes only when the list changes.
pub fn remember(data: &Path, root: &Path) -> io::Result<()> {
    let known = list(data);
    // A path with a line break cannot be written in one line, so such a project is not remembered.
    if known.first().is_some_and(|first| first == root) || root.to_string_lossy().contains('\n') {
        return Ok(());
    }
    let file = data.join(FILE);
    let folder = file.parent().unwrap_or(data);
    std::fs::create_dir_all(folder)?;
    let others = known.iter().filter(|other| *other != root).take(PROJECTS_MAX - 1);
    let lines = std::iter::once(root).chain(others.map(PathBuf::as_path));
    let text: String = lines.map(|path| format!("{}\n", path.display())).collect();
    // Another process may write at the same time. Each process replaces the whole file, so a reader finds a whole list.
    let mut fresh = tempfile::NamedTempFile::new_in(folder)?;
    fresh.write_all(text.as_bytes())?;
    fresh.persist(&file).map_err(|late| late.error)?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_project_that_was_used_last_is_first_and_the_list_is_bounded() {
        let data = tempfile::tempdir().unwrap();
        assert_eq!(list(data.path()), Vec::<PathBuf>::new());
        for number in 0..PROJECTS_MAX + 5 {
            remember(data.path(), Path::new(&format!("/code/{number}"))).unwrap();
        }
        remember(data.path(), Path::new("/code/7")).unwrap();
        remember(data.path(), Path::new("/two\nlines")).unwrap();
        let found = list(data.path());
        assert_eq!(
            (found.len(), found[0].as_path(), found[1].as_path()),
            (PROJECTS_MAX, Path::new("/code/7"), Path::new("/code/104"))
        );
        assert_eq!(found.iter().filter(|path| path.ends_with("7")).count(), 1);
        assert!(!found.contains(&PathBuf::from("/code/0")));
    }
}
