//! Reads the state of a task's worktree, and checks that the worktree belongs to the expected repository and branch.

use std::path::{Path, PathBuf};

use super::TaskWorkspace;
use super::quiet::Quiet;
use crate::GitProblem;
use crate::program::{Git, GitCall};
use crate::repository::{GitRepository, path, reference};

/// The maximum number of paths in one git call. Further paths go into further calls.
const CHUNK: usize = 500;

/// The git call whose output [`WorktreeLook::parse`] reads. It lists every single file.
pub(crate) const STATUS: &[&str] = &[
    "status",
    "--porcelain=v2",
    "--branch",
    "-z",
    "--untracked-files=all",
    "--ignore-submodules=none",
    "--no-renames",
];

#[derive(Debug, Default)]
pub(crate) struct WorktreeLook {
    /// The paths that the agent staged with `git add`. Because the agent chose them, they are committed even if
    /// Handover would otherwise leave them out.
    pub(crate) staged: Vec<PathBuf>,
    /// The paths that are changed, new, deleted or unmerged, and not staged. Submodules are in `nested` instead.
    pub(crate) changed: Vec<PathBuf>,
    pub(super) unmerged: Vec<Unmerged>,
    /// The changed submodules, and the git repositories inside the worktree that are not submodules.
    pub(crate) nested: Vec<PathBuf>,
    /// The commit that is being merged, when a merge was started in the worktree and is not committed yet. `None` when
    /// no merge is in progress.
    pub(super) merging: Option<String>,
    pub(super) head: String,
}

/// A file with a merge conflict that git still lists as unmerged.
#[derive(Debug)]
pub(super) struct Unmerged {
    pub(super) path: PathBuf,
    /// The object id of the file's version on the task's branch. `None` unless both sides of the merge have the file.
    pub(super) ours: Option<String>,
}

pub(super) async fn look(git: &Git, workspace: &TaskWorkspace, quiet: &Quiet) -> Result<WorktreeLook, GitProblem> {
    check(git, workspace).await?;
    let call = GitCall::read(&workspace.path, STATUS).here_only().set(&quiet.settings);
    let (mut look, branch) = WorktreeLook::parse(&call.run(git).await?.whole()?.stdout);
    if branch.as_ref() != Some(&workspace.branch) {
        let has = branch.filter(|name| name != "(detached)").unwrap_or_else(|| "a commit without a branch".to_owned());
        return not_ours(workspace, format!("it has {has} checked out instead of {}", workspace.branch));
    }
    let merging = GitCall::read(&workspace.path, &["rev-parse", "--verify", "--quiet", "MERGE_HEAD"]).here_only();
    let merging = merging.run(git).await?;
    look.merging = Some(merging.text()).filter(|_| merging.is_success());
    Ok(look)
}

impl WorktreeLook {
    /// Parses the output of the git call [`STATUS`]. Also returns the branch that is checked out, or `(detached)`.
    pub(crate) fn parse(output: &[u8]) -> (Self, Option<String>) {
        let mut look = Self::default();
        let mut branch = None;
        for item in output.split(|byte| *byte == 0) {
            match item.first() {
                Some(b'#') => {
                    let text = String::from_utf8_lossy(item);
                    look.head = text.strip_prefix("# branch.oid ").map_or(look.head, str::to_owned);
                    branch = text.strip_prefix("# branch.head ").map(str::to_owned).or(branch);
                }
                // This call of `git status` lists every single file. So an untracked entry that ends with `/` is a git
                // repository inside the worktree.
                Some(b'?') if item.ends_with(b"/") => look.nested.push(path(&item[2..item.len() - 1])),
                Some(b'?') => look.changed.push(path(&item[2..])),
                Some(b'1') => look.add(item, 8),
                Some(b'u') => {
                    look.add(item, 10);
                    look.unmerged.extend(Unmerged::parse(item));
                }
                Some(_) | None => {}
            }
        }
        (look, branch)
    }

    /// Adds one item of the output of `git status`, which has the form `1 XY sub …` or `u XY sub …`. `fields` is the
    /// number of fields before the path.
    fn add(&mut self, item: &[u8], fields: usize) {
        let mut words = item.splitn(fields + 1, |byte| *byte == b' ');
        let (Some(letters), Some(sub)) = (words.nth(1), words.next()) else { return };
        let Some(name) = words.nth(fields - 3) else { return };
        let list = match sub.starts_with(b"S") {
            _ if letters.ends_with(b".") => &mut self.staged,
            true => &mut self.nested,
            false => &mut self.changed,
        };
        list.push(path(name));
    }
}

impl Unmerged {
    /// Parses the item of an unmerged file in the output of `git status`: `u XY sub m1 m2 m3 mW h1 h2 h3 path`.
    fn parse(item: &[u8]) -> Option<Self> {
        let words: Vec<&[u8]> = item.splitn(11, |byte| *byte == b' ').collect();
        let [_, letters, _, _, _, _, _, _, ours, _, name] = words[..] else { return None };
        let is_both = matches!(letters, b"UU" | b"AA");
        let ours = is_both.then(|| String::from_utf8_lossy(ours).into_owned());
        Some(Self { path: path(name), ours })
    }
}

/// Returns those of the given paths whose content git would pass through a filter program. Handover switches the filter
/// programs off, so it must not commit or change these files. `call` makes a git call in the worktree.
pub(crate) async fn filtered(
    git: &Git,
    call: impl Fn(&[&str]) -> GitCall,
    quiet: &Quiet,
    paths: &[PathBuf],
) -> Result<Vec<PathBuf>, GitProblem> {
    let mut found = Vec::new();
    if quiet.filters.is_empty() {
        return Ok(found);
    }
    for chunk in paths.chunks(CHUNK) {
        let mut call = call(&["check-attr", "-z", "filter", "--"]);
        for path in chunk {
            call = call.and(path);
        }
        let output = call.run(git).await?.whole()?;
        let mut items = output.stdout.split(|byte| *byte == 0);
        while let (Some(name), Some(_), Some(value)) = (items.next(), items.next(), items.next()) {
            if quiet.filters.contains(String::from_utf8_lossy(value).as_ref()) {
                found.push(path(name));
            }
        }
    }
    Ok(found)
}

/// Checks that the worktree belongs to the expected repository, because an agent may have changed the worktree's `.git`
/// file so that it points to another repository.
async fn check(git: &Git, workspace: &TaskWorkspace) -> Result<(), GitProblem> {
    let lost = || GitProblem::NotARepository { path: workspace.path.clone() };
    let repository = GitRepository::find(git, &workspace.repository).await?;
    let place = workspace.path.canonicalize().map_err(|_| lost())?;
    let entries = repository.worktrees(git).await?;
    let Some(entry) = entries.iter().skip(1).find(|entry| entry.path == place) else {
        return not_ours(workspace, "git does not list it as a worktree of this repository".to_owned());
    };
    let own = GitRepository::find(git, &place).await?;
    if own.home != repository.home || entry.branch != Some(reference(&workspace.branch)) {
        return not_ours(workspace, "it belongs to another repository or branch".to_owned());
    }
    Ok(())
}

fn not_ours<T>(workspace: &TaskWorkspace, problem: String) -> Result<T, GitProblem> {
    Err(GitProblem::WorkspaceNotOurs { path: workspace.path.clone(), problem })
}

pub(super) fn names<'a>(paths: impl IntoIterator<Item = &'a PathBuf>) -> Vec<String> {
    let mut names: Vec<String> = paths.into_iter().map(|path| lossy(path)).collect();
    names.sort();
    names.dedup();
    names
}

pub(crate) fn lossy(path: &Path) -> String {
    path.to_string_lossy().into_owned()
}
