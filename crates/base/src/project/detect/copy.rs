//! Chooses the ignored files that are copied from the person's checkout into a worktree, such as `.env`.
//!
//! The patterns come from the file `.worktreeinclude` and from the key `copy` in the section `[worktree]` of the
//! settings. They have the syntax and the rules of `.gitignore`: the last pattern that matches a file counts. A pattern
//! with `!` excludes files again, but it cannot exclude a file in a folder that another pattern matches as a whole.

use std::path::Path;

use super::pattern::{PathPattern, parts};

/// The name of the file with the patterns of ignored files to copy. It is in the root of the repository.
pub const INCLUDE_FILE: &str = ".worktreeinclude";

/// The maximum number of files that are copied into a worktree; more files are an error. The settings and secrets of a
/// project are only a handful of files.
pub const FILES_MAX: usize = 1_000;

/// The maximum number of bytes that all copied files may have together; more bytes are an error.
pub const BYTES_MAX: u64 = 64 << 20;

/// Folders whose files are never copied. Git, the setup commands or a build create these folders in the worktree, and a
/// copy from the person's checkout would be wrong there.
const NEVER: &[&str] = &[".git", "node_modules", ".venv", "target"];

/// The patterns that choose the ignored files to copy into a worktree.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CopyPatterns {
    patterns: Vec<CopyPattern>,
    /// One message for each pattern that cannot be understood: where the pattern is written, and the reason. Such a
    /// pattern matches no file.
    pub problems: Vec<String>,
}

/// One pattern in the syntax of `.gitignore`.
#[derive(Debug, Clone, PartialEq, Eq)]
struct CopyPattern {
    path: PathPattern,
    /// True for a pattern that starts with `!`. The files that it matches are not copied.
    takes_out: bool,
    /// True for a pattern that ends with `/` and matches only folders.
    only_folders: bool,
}

/// The reason why nothing is copied: the patterns match more than a worktree needs.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum CopyProblem {
    #[error(
        "{count} files would be copied into each worktree, at most {FILES_MAX} are allowed; {inside} of them are in {folder}: \
         narrow the patterns in {INCLUDE_FILE} or in `[worktree] copy`"
    )]
    TooManyFiles { count: usize, folder: String, inside: usize },
    #[error(
        "{} would be copied into each worktree, at most {} are allowed; the largest file is {largest} ({}): \
         narrow the patterns in {INCLUDE_FILE} or in `[worktree] copy`",
        mebibytes(*.bytes), mebibytes(BYTES_MAX), mebibytes(*.largest_bytes)
    )]
    TooLarge { bytes: u64, largest: String, largest_bytes: u64 },
}

impl CopyPatterns {
    /// Reads the text of `.worktreeinclude` and the entries of `[worktree] copy`. The entries count as further lines of
    /// the text.
    pub fn read(include: &str, copy: &[String]) -> Self {
        let mut read = Self::default();
        for (number, line) in include.lines().enumerate() {
            read.add(line, || format!("line {} of {INCLUDE_FILE}", number + 1));
        }
        for entry in copy {
            read.add(entry, || "worktree.copy".to_owned());
        }
        read
    }

    fn add(&mut self, line: &str, place: impl Fn() -> String) {
        match pattern(line) {
            Ok(pattern) => self.patterns.extend(pattern),
            Err(reason) => self.problems.push(format!("{}: `{line}` matches nothing: {reason}", place())),
        }
    }

    /// Returns true when the patterns choose a file. As in git, a pattern that chooses a folder chooses all files in
    /// it.
    fn choose(&self, path: &str) -> bool {
        let parts = parts(path);
        (1..=parts.len()).any(|count| self.judge(&parts[..count], count < parts.len()))
    }

    fn judge(&self, path: &[&str], is_folder: bool) -> bool {
        let fits = |one: &&CopyPattern| (is_folder || !one.only_folders) && one.path.matches(path);
        self.patterns.iter().rev().find(fits).is_some_and(|one| !one.takes_out)
    }
}

/// Returns the files to copy, sorted by path. `ignored` must list only files that git ignores, relative to the root of
/// the repository. A path that ends with `/` is a folder whose files git did not list; it is left out. `bytes` returns
/// the size of a regular file, and `None` for a link or anything else. It is called only for files that the patterns
/// choose.
pub fn files_to_copy<'f>(
    patterns: &CopyPatterns,
    ignored: impl IntoIterator<Item = &'f str>,
    bytes: &dyn Fn(&str) -> Option<u64>,
) -> Result<Vec<String>, CopyProblem> {
    let chosen = ignored.into_iter().filter(|path| is_allowed(path) && patterns.choose(path));
    let mut chosen: Vec<(&str, u64)> = chosen.filter_map(|path| Some((path, bytes(path)?))).collect();
    chosen.sort_unstable();
    chosen.dedup();
    if chosen.len() > FILES_MAX {
        return Err(too_many(&chosen));
    }
    let sum = chosen.iter().map(|(_, bytes)| *bytes).fold(0, u64::saturating_add);
    match chosen.iter().max_by_key(|(_, bytes)| *bytes) {
        Some((largest, most)) if sum > BYTES_MAX => {
            Err(CopyProblem::TooLarge { bytes: sum, largest: (*largest).to_owned(), largest_bytes: *most })
        }
        Some(_) | None => Ok(chosen.into_iter().map(|(path, _)| path.to_owned()).collect()),
    }
}

/// Returns the ignored folders whose files git must list, because a pattern can choose one of them. Leaves out folders
/// whose files are never copied. `ignored` has the form that `files_to_copy` takes.
pub fn folders_to_list<'f>(ignored: impl IntoIterator<Item = &'f str>) -> Vec<&'f str> {
    let folders = ignored.into_iter().filter_map(|path| path.strip_suffix('/'));
    folders.filter(|folder| is_allowed(&format!("{folder}/file"))).collect()
}

/// Returns the size of a regular file below `root`. Returns `None` for anything else, and for a file that is reached
/// through a link.
pub fn regular_file_bytes(root: &Path, path: &str) -> Option<u64> {
    let mut place = root.to_path_buf();
    let mut last = None;
    for part in parts(path) {
        place.push(part);
        let found = place.symlink_metadata().ok().filter(|found| !found.is_symlink())?;
        last = found.is_file().then_some(found.len());
    }
    last
}

/// Returns true when a path may be copied at all. A path in a folder of `NEVER`, a path in Handover's state folder, and
/// a path with a part such as `..` may not be copied.
fn is_allowed(path: &str) -> bool {
    let parts: Vec<&str> = path.split('/').collect();
    let is_plain = parts.iter().all(|part| !["", ".", ".."].contains(part));
    let (folders, name) = parts.split_at(parts.len() - 1);
    let is_state = parts.windows(2).any(|pair| pair == [".handover", "state"]);
    is_plain && !is_state && !folders.iter().any(|folder| NEVER.contains(folder)) && name != [".git"]
}

/// Reads the pattern in one line. Returns `None` for a comment and for a blank line.
fn pattern(line: &str) -> Result<Option<CopyPattern>, String> {
    let line = without_spaces_at_end(line);
    if line.is_empty() || line.starts_with('#') {
        return Ok(None);
    }
    let (takes_out, text) = line.strip_prefix('!').map_or((false, line), |rest| (true, rest));
    let (only_folders, text) = text.strip_suffix('/').map_or((false, text), |rest| (true, rest));
    let path = PathPattern::read(text).map_err(|flaw| flaw.to_string())?;
    if text.trim_matches('/').is_empty() {
        return Ok(None);
    }
    // A pattern with a slash at the beginning or in the middle matches only from the root of the repository. Without
    // such a slash, the pattern matches in every folder.
    let path = if text.contains('/') { path } else { path.at_any_depth() };
    Ok(Some(CopyPattern { path, takes_out, only_folders }))
}

/// Removes the spaces at the end of a line. A space after a backslash belongs to the pattern and is kept.
fn without_spaces_at_end(line: &str) -> &str {
    let trimmed = line.trim_end_matches(' ');
    let escapes = trimmed.len() - trimmed.trim_end_matches('\\').len();
    if escapes % 2 == 1 && trimmed.len() < line.len() { &line[..=trimmed.len()] } else { trimmed }
}

/// Returns the error for too many files to copy. It names the folder that holds the most of them.
fn too_many(chosen: &[(&str, u64)]) -> CopyProblem {
    let folder = |path: &str| path.rsplit_once('/').map_or(".", |(folder, _)| folder).to_owned();
    let mut counts = std::collections::BTreeMap::<String, usize>::new();
    for (path, _) in chosen {
        *counts.entry(folder(path)).or_default() += 1;
    }
    let most = counts.into_iter().max_by_key(|(_, count)| *count);
    let (folder, inside) = most.unwrap_or_default();
    CopyProblem::TooManyFiles { count: chosen.len(), folder, inside }
}

/// Returns a number of bytes as a text for a person, in mebibytes.
fn mebibytes(bytes: u64) -> String {
    format!("{} MiB", bytes.div_ceil(1 << 20))
}

#[cfg(test)]
mod tests;
