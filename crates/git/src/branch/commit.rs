//! Commits the work that an agent left in its worktree.

use std::ffi::OsString;
use std::fs::File;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};

use super::copied_history::replace_commits_with_copies;
use super::copies::{copied_paths, leave_out};
use super::look::{Unmerged, filtered, look, lossy, names};
use super::quiet::quiet;
use super::{Author, CommitResult, TaskWorkspace, UncommittedPath, UncommittedReason, check_words};
use crate::GitProblem;
use crate::program::{Git, GitCall};

/// The maximum number of paths that a commit leaves out: submodules, and files that need a filter program. With more
/// paths the commit fails, because git gets all their names in one call.
const LEFT_MAX: usize = 500;

/// Commits all changes in the worktree except ignored files, submodules and files that need a filter program. When a
/// merge is in progress, the commit gets both parents. A repeated call finds nothing to commit. Files that Handover
/// copied into the worktree are never committed; the result names the ones that git would have committed. If the agent
/// committed such a file itself, one commit without the file replaces the commits of the task.
pub async fn commit(
    git: &Git,
    workspace: &TaskWorkspace,
    message: &str,
    author: &Author,
) -> Result<CommitResult, GitProblem> {
    check_words(message, author)?;
    let quiet = quiet(git, &workspace.path).await?;
    let look = look(git, workspace, &quiet).await?;
    let mut unmended = Vec::new();
    for file in &look.unmerged {
        if !is_mended(git, &workspace.path, file).await? {
            unmended.push(&file.path);
        }
    }
    if !unmended.is_empty() {
        return Ok(CommitResult::Unmended { paths: names(unmended) });
    }
    let read = |arguments: &[&str]| GitCall::read(&workspace.path, arguments).here_only();
    let filtered = filtered(git, read, &quiet, &look.changed).await?;
    let because = |why| move |path: &PathBuf| UncommittedPath { path: lossy(path), why };
    let mut left: Vec<UncommittedPath> = look.nested.iter().map(because(UncommittedReason::Submodule)).collect();
    left.extend(filtered.iter().map(because(UncommittedReason::Filter)));
    if left.len() > LEFT_MAX {
        return Err(GitProblem::failed("add", "the worktree has too many submodules and filtered files to leave out"));
    }
    if look.changed.len() > filtered.len() {
        let mut add = GitCall::write(&workspace.path, &["add", "--all", "--", ":/"]).here_only().set(&quiet.settings);
        for path in look.nested.iter().chain(&filtered) {
            let mut except = OsString::from(":(top,exclude,literal)");
            except.push(path);
            add = add.and(except);
        }
        add.run(git).await?.whole()?;
    }
    let write = |arguments: &[&str]| GitCall::write(&workspace.path, arguments).here_only().set(&quiet.settings);
    let copied = copied_paths(git, &workspace.path).await?;
    left.extend(leave_out(git, write, &copied).await?);
    let staged = ["diff", "--cached", "--quiet", "--no-ext-diff", "--ignore-submodules=none", "HEAD", "--"];
    let staged = GitCall::read(&workspace.path, &staged).here_only().set(&quiet.settings).run(git).await?;
    match (staged.code(), &look.merging) {
        (Some(0), None) => {
            let head = replace_commits_with_copies(git, workspace, look.head, (message, author)).await?;
            return Ok(CommitResult::Clean { head, left });
        }
        (Some(0 | 1), _) => {}
        (Some(_) | None, _) => return Err(staged.failure()),
    }
    let arguments = ["commit", "--quiet", "--no-verify", "--no-gpg-sign", "--no-status", "--cleanup=verbatim"];
    let call = GitCall::write(&workspace.path, &arguments).and(format!("--message={message}"));
    author.environment(call.here_only().set(&quiet.settings)).run(git).await?.whole()?;
    let head =
        GitCall::read(&workspace.path, &["rev-parse", "--verify", "HEAD"]).here_only().run(git).await?.whole()?;
    let head = replace_commits_with_copies(git, workspace, head.text(), (message, author)).await?;
    Ok(CommitResult::Commit { head, left })
}

/// Returns true when the agent fixed the conflict of an unmerged file: the file has no conflict markers, and it differs
/// from the version on the task's branch. If the agent keeps that version, or if one side removed the file, the agent
/// must run `git add` or `git rm`; git then no longer lists the file as unmerged.
pub(super) async fn is_mended(git: &Git, folder: &Path, file: &Unmerged) -> Result<bool, GitProblem> {
    let path = folder.join(&file.path);
    let is_file = path.symlink_metadata().is_ok_and(|data| data.is_file());
    let Some(ours) = file.ours.as_ref().filter(|_| is_file && !has_markers(&path)) else { return Ok(false) };
    let call = GitCall::read(folder, &["hash-object", "--no-filters", "--"]).here_only();
    Ok(call.and(&file.path).run(git).await?.whole()?.text() != *ours)
}

fn has_markers(path: &Path) -> bool {
    let Ok(file) = File::open(path) else { return false };
    let (mut begun, mut ended) = (false, false);
    for line in BufReader::new(file).split(b'\n').map_while(Result::ok) {
        begun |= line.starts_with(b"<<<<<<< ");
        ended |= line.starts_with(b">>>>>>> ");
    }
    begun && ended
}
