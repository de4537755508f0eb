//! Reads the changes between two commits or trees: files, lines and the unified diff.
//!
//! Git compares only stored trees, so no filter program runs. The options of each call also switch off external diff
//! programs and text conversions that the git configuration names.

use std::path::Path;

use crate::branch::PREFIX;
use crate::problem::{GitProblem, readable};
use crate::program::{Git, GitCall};
use crate::repository::{GitRepository, reference};

/// The maximum number of files in the list of a summary. Further files are only counted.
pub const LISTED_FILES_MAX: usize = 1_000;
/// The options of every comparison. With `--find-renames`, a moved file counts as one file.
const COMPARE: &[&str] =
    &["diff-tree", "-r", "--no-ext-diff", "--no-textconv", "--ignore-submodules=none", "--find-renames", "--no-color"];
/// The number of digits of a commit id that messages to people show.
const SHORT_CHARS: usize = 7;

/// The numbers of changed files and lines between two commits or trees.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ChangeSummary {
    pub files: usize,
    pub added: u64,
    pub removed: u64,
    /// The changed files, ordered by path. Has at most [`LISTED_FILES_MAX`] entries.
    pub list: Vec<ChangedFile>,
}

/// A changed file with the numbers of its added and removed lines.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChangedFile {
    pub path: String,
    /// The old path of a renamed file. `None` for a file that was not renamed.
    pub old_path: Option<String>,
    pub added: u64,
    pub removed: u64,
    /// True for a file without lines, such as an image. It counts as a changed file with 0 lines.
    pub is_binary: bool,
}

/// A unified diff. It may have any bytes, because files may have any bytes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChangeDiff {
    pub bytes: Vec<u8>,
    /// True when the diff was longer than the maximum. Then its end is missing; the last line is complete.
    pub is_cut: bool,
}

/// Counts the changes from one commit or tree to another. Both are full hashes.
pub async fn changes(git: &Git, repository: &Path, from: &str, to: &str) -> Result<ChangeSummary, GitProblem> {
    let call = compare(repository, &["--numstat", "-z"], from, to)?;
    let output = call.run(git).await?.whole()?;
    let mut summary = ChangeSummary::default();
    let mut items = output.stdout.split(|byte| *byte == 0);
    while let Some(item) = items.next().filter(|item| !item.is_empty()) {
        let fields: Vec<&[u8]> = item.splitn(3, |byte| *byte == b'\t').collect();
        let [added, removed, path] = fields[..] else {
            return Err(GitProblem::failed("diff-tree", "the output of git cannot be read"));
        };
        // In git's output, the numbers of a binary file are `-`. The item of a renamed file has no path; its old path
        // and its new path are the next two items.
        let number = |field: &[u8]| String::from_utf8_lossy(field).parse::<u64>().ok();
        let (old_path, path) = match path {
            b"" => (items.next(), items.next().unwrap_or_default()),
            path => (None, path),
        };
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        let (added, removed, is_binary) = (number(added), number(removed), number(added).is_none());
        let (added, removed) = (added.unwrap_or_default(), removed.unwrap_or_default());
        summary.files += 1;
        summary.added += added;
        summary.removed += removed;
        if summary.list.len() < LISTED_FILES_MAX {
            let (path, old_path) = (text(path), old_path.map(text));
            summary.list.push(ChangedFile { path, old_path, added, removed, is_binary });
        }
    }
    summary.list.sort_by(|one, other| one.path.cmp(&other.path));
    Ok(summary)
}

/// Returns the unified diff from one commit or tree to another, up to a maximum number of bytes.
pub async fn diff(
    git: &Git,
    repository: &Path,
    (from, to): (&str, &str),
    bytes_max: usize,
) -> Result<ChangeDiff, GitProblem> {
    let output = compare(repository, &["--patch", "--full-index"], from, to)?.run(git).await?;
    if !output.is_success() {
        return Err(output.failure());
    }
    let mut bytes = output.stdout;
    let is_cut = output.cut || bytes.len() > bytes_max;
    if is_cut {
        bytes.truncate(bytes_max);
        let end = bytes.iter().rposition(|byte| *byte == b'\n').map_or(0, |at| at + 1);
        bytes.truncate(end);
    }
    Ok(ChangeDiff { bytes, is_cut })
}

/// Returns the tree (the id of all files) of a commit or tree. Returns `None` when the repository does not have it. The
/// name must be a full hash.
pub async fn tree_id(git: &Git, repository: &Path, name: &str) -> Result<Option<String>, GitProblem> {
    check_whole(name)?;
    let call = GitCall::read(repository, &["rev-parse", "--verify", "--quiet", "--end-of-options"]);
    let output = call.and(format!("{name}^{{tree}}")).run(git).await?;
    Ok(output.is_success().then(|| output.text()))
}

/// Returns the paths that differ between two commits or trees. The value with each path is true when the path exists in
/// the second commit or tree.
pub(crate) async fn changed_paths(
    git: &Git,
    repository: &Path,
    from: &str,
    to: &str,
) -> Result<Vec<(Vec<u8>, bool)>, GitProblem> {
    let output = compare(repository, &["--no-renames", "--name-status", "-z"], from, to)?.run(git).await?.whole()?;
    let mut items = output.stdout.split(|byte| *byte == 0);
    let mut paths = Vec::new();
    while let (Some(letter), Some(path)) = (items.next(), items.next()) {
        paths.push((path.to_owned(), letter != b"D"));
    }
    Ok(paths)
}

/// Returns the name of a commit for messages, such as `main at 4f2c1aa`: a branch of the person that contains the
/// commit, and the first digits of the commit. Prefers the branch that the main worktree has checked out.
pub async fn base_name(git: &Git, repository: &Path, commit: &str) -> Result<String, GitProblem> {
    let repository = GitRepository::find(git, repository).await?;
    let short = short(commit);
    let current = GitCall::read(&repository.home, &["symbolic-ref", "--quiet", "--short", "HEAD"]).run(git).await?;
    if current.is_success()
        && let Some(tip) = repository.commit(git, &reference(&current.text())).await?
        && repository.contains(git, &tip, commit).await?
    {
        return Ok(format!("{} at {short}", readable(&current.text())));
    }
    let arguments = ["for-each-ref", "--format=%(refname:lstrip=2)", "--contains"];
    let call = GitCall::read(&repository.home, &arguments).and(commit).and("refs/heads/");
    let names = call.run(git).await?.whole()?.text();
    let is_persons = |name: &&str| !name.starts_with(&format!("{PREFIX}/"));
    let name = names.lines().find(is_persons).or_else(|| names.lines().next());
    Ok(name.map_or_else(|| short.to_owned(), |name| format!("{} at {short}", readable(name))))
}

/// Returns the first digits of a commit id, for messages to people.
pub fn short(commit: &str) -> &str {
    commit.get(..SHORT_CHARS).unwrap_or(commit)
}

fn compare(repository: &Path, options: &[&str], from: &str, to: &str) -> Result<GitCall, GitProblem> {
    check_whole(from)?;
    check_whole(to)?;
    let arguments = [COMPARE, options, &["--end-of-options"]].concat();
    Ok(GitCall::read(repository, &arguments).and(from).and(to))
}

/// Refuses a name that is not a full hash, because git would also accept branches and expressions.
fn check_whole(name: &str) -> Result<(), GitProblem> {
    if name.len() >= 40 && name.bytes().all(|byte| byte.is_ascii_hexdigit()) {
        return Ok(());
    }
    Err(GitProblem::input("commit", "must be the full hash of a commit or tree"))
}
