//! Reads the branch, the commit and the uncommitted changes of a worktree.

use std::path::Path;

use super::problem::NAMES_SHOWN_MAX;
use super::problem::{GitProblem, readable};
use super::program::{Git, GitCall};
use super::{TreeState, WorktreeState};

const NAME_CHARS_MAX: usize = 200;

pub(super) async fn state(git: &Git, path: &Path) -> Result<WorktreeState, GitProblem> {
    let lost = || GitProblem::NotARepository { path: path.to_owned() };
    let path = path.canonicalize().map_err(|_| lost())?;
    let arguments =
        ["status", "--porcelain=v2", "--branch", "-z", "--untracked-files=normal", "--ignore-submodules=none"];
    let output = GitCall::read(&path, &arguments).here_only().run(git).await?;
    if output.stderr.contains("not a git repository") {
        return Err(lost());
    }
    if !output.is_success() {
        return Err(output.failure());
    }
    Ok(parse(&output.stdout))
}

/// Parses the output of `git status`. Each item ends with a zero byte. After the item of a renamed file comes an item
/// with its old name.
fn parse(bytes: &[u8]) -> WorktreeState {
    let mut state = WorktreeState { branch: None, head: None, tree: TreeState::Clean };
    let (mut files, mut more) = (Vec::new(), false);
    let mut items = bytes.split(|b| *b == 0).map(String::from_utf8_lossy);
    while let Some(item) = items.next() {
        if let Some(head) = item.strip_prefix("# branch.oid ") {
            state.head = Some(head.to_owned()).filter(|head| head != "(initial)");
        } else if let Some(branch) = item.strip_prefix("# branch.head ") {
            state.branch = Some(branch.to_owned()).filter(|branch| branch != "(detached)");
        }
        // The first letter of an item is its kind. The kind decides how many fields come before the file name.
        let fields = match item.bytes().next() {
            Some(b'?') => 1,
            Some(b'1') => 8,
            Some(b'2') => 9,
            Some(b'u') => 10,
            Some(_) | None => continue,
        };
        if item.starts_with('2') {
            items.next();
        }
        let Some(name) = item.splitn(fields + 1, ' ').nth(fields) else { continue };
        if files.len() == NAMES_SHOWN_MAX {
            more = true;
            break;
        }
        files.push(readable(&name.chars().take(NAME_CHARS_MAX).collect::<String>()));
    }
    if !files.is_empty() {
        state.tree = TreeState::Dirty { files, more };
    }
    state
}
