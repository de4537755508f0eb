//! Files that Handover copies from the person's checkout into a worktree, such as `.env`. They may have secrets, so no
//! commit contains them.
//!
//! The list of the copied files is kept with git's data of the worktree, so every commit finds it, also after a restart.

use std::path::{Path, PathBuf};

use super::look::lossy;
use super::{UncommittedPath, UncommittedReason};
use crate::GitProblem;
use crate::program::{Git, GitCall};
use crate::repository::path;

/// The name of the file with the list of copied files, in git's folder for the worktree.
const LIST: &str = "handover-copied.json";
/// The maximum number of paths in one git call. Further paths go into further calls.
const CHUNK: usize = 500;

/// Returns the files that Handover copied into a worktree, relative to its root.
pub async fn copied_paths(git: &Git, worktree: &Path) -> Result<Vec<String>, GitProblem> {
    let file = list_path(git, worktree).await?;
    let unusable = |problem: String| GitProblem::PathUnusable { path: file.clone(), problem };
    match std::fs::read(&file) {
        Ok(text) => serde_json::from_slice(&text).map_err(|error| unusable(error.to_string())),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(Vec::new()),
        Err(error) => Err(unusable(error.to_string())),
    }
}

async fn list_path(git: &Git, worktree: &Path) -> Result<PathBuf, GitProblem> {
    let arguments = ["rev-parse", "--path-format=absolute", "--git-path", LIST];
    let output = GitCall::read(worktree, &arguments).here_only().run(git).await?.whole()?;
    Ok(path(output.stdout.strip_suffix(b"\n").unwrap_or(&output.stdout)))
}

/// Removes copied files from an index; the files themselves stay. Returns the paths that the index had. `call` makes a
/// git call with that index.
pub(super) async fn leave_out(
    git: &Git,
    call: impl Fn(&[&str]) -> GitCall,
    copied: &[String],
) -> Result<Vec<UncommittedPath>, GitProblem> {
    let mut left = Vec::new();
    for chunk in copied.chunks(CHUNK) {
        let with_paths = |mut call: GitCall| {
            for path in chunk {
                call = call.and(format!(":(top,literal){path}"));
            }
            call
        };
        let listed = with_paths(call(&["ls-files", "-z", "--full-name", "--"])).run(git).await?.whole()?;
        let listed = listed.stdout.split(|byte| *byte == 0).filter(|name| !name.is_empty()).map(path);
        let before = left.len();
        left.extend(listed.map(|path| UncommittedPath { path: lossy(&path), why: UncommittedReason::Copied }));
        if left.len() > before {
            let remove = call(&["rm", "-r", "-f", "--cached", "--quiet", "--ignore-unmatch", "--"]);
            with_paths(remove).run(git).await?.whole()?;
        }
    }
    Ok(left)
}
