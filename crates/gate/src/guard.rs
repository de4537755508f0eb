//! Guards the paths that control agents, hooks and repositories: a person must always approve writes to them. The file
//! `tables/guarded.txt` lists these paths.

mod hooks_path;

use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use super::glob::{Glob, PathFit};
use super::place::{self, Entries};

pub(super) use hooks_path::hooks_folders;

const PATHS: &str = include_str!("programs/tables/guarded.txt");

/// A guarded path, that is, one that controls agents, hooks or repositories. It is one line of the list
/// `tables/guarded.txt`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct GuardedPath {
    glob: Glob,
    /// True if only the path itself is guarded. False if the paths below it are guarded too.
    only: bool,
}

/// Returns all guarded paths of the list `tables/guarded.txt`, which is read once. Some lines name a folder by an
/// environment variable. The value of the variable comes from the environment of this process.
pub(super) fn paths() -> &'static [GuardedPath] {
    static READ: OnceLock<Vec<GuardedPath>> = OnceLock::new();
    READ.get_or_init(|| {
        let lines = PATHS.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with('#'));
        lines.filter_map(|line| path(line, |name| std::env::var(name).ok())).collect()
    })
}

/// Tells whether a guarded path outside of all repositories may cover this folder. This check is much cheaper than
/// reading the whole list. It works because all such paths in `tables/guarded.txt` start with `~/.`, `/etc/` or a
/// variable.
pub(super) fn may_cover(folder: &Path) -> bool {
    let is_hidden = |home: &PathBuf| {
        let below = folder.strip_prefix(home).ok().and_then(|below| below.iter().next());
        below.is_some_and(|name| name.as_encoded_bytes().starts_with(b"."))
    };
    let variables = PATHS.lines().filter_map(|line| line.strip_prefix("only ").unwrap_or(line).strip_prefix('$'));
    let named = variables.filter_map(|line| std::env::var(line.split('/').next()?).ok());
    place::home_folders().iter().any(is_hidden) || folder.starts_with("/etc") || { named }
        .any(|at| folder.starts_with(at))
}

fn path(line: &str, variable: impl Fn(&str) -> Option<String>) -> Option<GuardedPath> {
    let (only, text) = line.strip_prefix("only ").map_or((false, line), |text| (true, text));
    let whole = match text.strip_prefix('$').and_then(|text| text.split_once('/')) {
        None => text.to_owned(),
        Some((name, rest)) => {
            let folder = variable(name).filter(|folder| folder.starts_with('/'))?;
            let plain: String = folder.chars().flat_map(|letter| escaped(letter).into_iter().flatten()).collect();
            format!("{}/{rest}", plain.trim_end_matches('/'))
        }
    };
    Some(GuardedPath { glob: Glob::new(&whole).ok()?, only })
}

fn escaped(letter: char) -> [Option<char>; 2] {
    [Some('\\').filter(|_| "*?[]{}\\".contains(letter)), Some(letter)]
}

impl GuardedPath {
    /// Tells whether a write to a path changes a file that this guard protects. With `tree`, the write also changes all
    /// files below the path.
    pub(super) fn is_written(&self, path: &Path, roots: &[PathBuf], tree: bool, entries: Option<Entries<'_>>) -> bool {
        match place::fit(&self.glob, path, roots, entries) {
            PathFit::Yes if self.only => self.is_itself(path, roots),
            PathFit::Yes => true,
            PathFit::Below { certain } => (tree && certain || entries.is_some()) && !self.only,
            PathFit::No => false,
        }
    }

    /// Tells whether a file that this guard protects may exist below a folder, with a name that fits a pattern of
    /// `find -name`.
    pub(super) fn may_be_found(&self, folder: &Path, pattern: &str, roots: &[PathBuf]) -> bool {
        place::may_find(&self.glob, folder, pattern, roots)
    }

    /// Tells whether a path is the guarded path itself and not a path below it: the glob fits the path, but does not
    /// fit the folder above the path.
    fn is_itself(&self, path: &Path, roots: &[PathBuf]) -> bool {
        path.parent().is_none_or(|above| place::fit(&self.glob, above, roots, None) != PathFit::Yes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_line_of_the_list_is_read() {
        let lines: Vec<&str> = PATHS.lines().filter(|line| !line.is_empty() && !line.starts_with('#')).collect();
        assert!(lines.len() > 80, "{}", lines.len());
        for line in lines {
            assert!(path(line, |_| Some("/somewhere".to_owned())).is_some(), "{line}");
            let bare = line.strip_prefix("only ").unwrap_or(line);
            let outside = bare.starts_with(['~', '/']);
            assert!(!outside || bare.starts_with("~/.") || bare.starts_with("/etc/"), "`may_cover` misses {line}");
        }
    }

    #[test]
    fn a_folder_alone_is_guarded_without_what_is_below() {
        let root = [PathBuf::from("/repo")];
        let guarded = path("only .claude", |_| None).expect("a path");
        assert!(guarded.is_written(Path::new("/repo/.claude"), &root, false, None));
        assert!(!guarded.is_written(Path::new("/repo/.claude/notes.md"), &root, false, None));
        let settings = path(".claude/settings*.json", |_| None).expect("a path");
        assert!(settings.is_written(Path::new("/repo/.claude"), &root, true, None));
        assert!(settings.is_written(Path::new("/repo/.claude/settings.local.json"), &root, false, None));
        assert!(!settings.is_written(Path::new("/repo/src"), &root, true, None));
    }
}
