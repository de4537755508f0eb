//! The difference that the work of a task or plan makes, by file and line: of finished work, of the files of a task that
//! still runs, or since a tree that the person looked at before.

pub mod hunks;

use base::people::task_choice::NamedWork;
use engine::task::{Status, Task};
use git::GitProblem;
use git::branch::tree_of;
use git::changes::{ChangeSummary, changes, diff, tree_id};

use crate::error::WorkError;
use crate::shown::shown;
use crate::site::WorkSite;
use hunks::{FilePatch, patches};

/// The maximum number of files of one difference. Further files are counted, but not shown.
pub const FILES_MAX: usize = 300;
/// The largest diff that is read, in bytes. The lines behind it are left out.
const DIFF_BYTES_MAX: usize = 8 << 20;
/// The number of times that the files of a running task are read, because the agent may change them at that moment.
const TRIES_MAX: u32 = 3;

/// The difference that work makes: the two states that are compared, and the changed files.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WorkDifference {
    /// The commit or tree with which the work is compared.
    pub from: String,
    /// The commit with the work. It is a tree when the task still runs.
    pub to: String,
    /// The tree (the id of all files) of the work. A later difference can begin there.
    pub tree: String,
    pub files: Vec<ChangedWork>,
    /// True when files are left out.
    pub is_cut: bool,
}

/// A changed file with the numbers of its changed lines, and these lines.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChangedWork {
    pub patch: FilePatch,
    pub added: u64,
    pub removed: u64,
    pub is_binary: bool,
}

/// The end of looking at the difference of work.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum DifferenceEnd {
    Found(WorkDifference),
    /// The task or plan has no work yet.
    NoWork,
    /// The repository does not have the tree with which the work should be compared.
    NoSuchTree,
}

/// The two states of files that are compared, and the tree of the second one.
struct ComparedStates {
    from: String,
    to: String,
    tree: String,
}

/// Returns the difference that the work of a task or plan makes. With `since`, the tree of an earlier look, returns the
/// difference between that tree and the work. Reads the worktree of a task that still runs without changing it.
pub async fn difference(
    site: &WorkSite<'_>,
    named: &NamedWork,
    since: Option<&str>,
) -> Result<DifferenceEnd, WorkError> {
    let Some(mut states) = states(site, named).await? else { return Ok(DifferenceEnd::NoWork) };
    if let Some(since) = since {
        if tree_id(&site.git, &site.root, since).await?.is_none() {
            return Ok(DifferenceEnd::NoSuchTree);
        }
        states.from = since.to_owned();
    }
    let summary = changes(&site.git, &site.root, &states.from, &states.to).await?;
    let text = diff(&site.git, &site.root, (&states.from, &states.to), DIFF_BYTES_MAX).await?;
    let is_cut = summary.files > FILES_MAX;
    let files = joined(&summary, patches(&text.bytes, FILES_MAX));
    Ok(DifferenceEnd::Found(WorkDifference { from: states.from, to: states.to, tree: states.tree, files, is_cut }))
}

/// Returns the states that are compared: of the worktree for a task that is not completed, else of the finished work.
async fn states(site: &WorkSite<'_>, named: &NamedWork) -> Result<Option<ComparedStates>, WorkError> {
    if let NamedWork::Task(task) = named
        && !matches!(task.status(), Status::Completed | Status::Skipped)
        && let Some(states) = states_of_slot(site, task).await?
    {
        return Ok(Some(states));
    }
    let Some(shown) = shown(site, named).await? else { return Ok(None) };
    let tree = match shown.to == shown.work.work.commit {
        true => Some(shown.work.work.tree.clone()),
        false => tree_id(&site.git, &site.root, &shown.to).await?,
    };
    let tree = tree.unwrap_or_else(|| shown.work.work.tree.clone());
    Ok(Some(ComparedStates { from: shown.from, to: shown.to, tree }))
}

/// Returns the commit from which a task started and the present files of its slot (its worktree). Returns `None` when
/// the task has no slot.
async fn states_of_slot(site: &WorkSite<'_>, task: &Task) -> Result<Option<ComparedStates>, WorkError> {
    let owner = site.slots.owner(task.id, task.attempt);
    let Some(slot) = site.slots.pool.find(&site.git, &site.root, &owner).await? else { return Ok(None) };
    let mut tries = 1;
    let tree = loop {
        match tree_of(&site.git, &slot.path).await {
            // Git fails when the agent deletes a file at the moment at which git reads it.
            Err(GitProblem::GitFailed { .. }) if tries < TRIES_MAX => tries += 1,
            found => break found?.tree,
        }
    };
    Ok(Some(ComparedStates { from: slot.base_commit, to: tree.clone(), tree }))
}

/// Joins the counts of the changed files with their lines. A file whose lines are behind the end of the diff has no
/// lines, and is marked as cut.
fn joined(summary: &ChangeSummary, mut patches: Vec<FilePatch>) -> Vec<ChangedWork> {
    let file = |file: &git::changes::ChangedFile| {
        let at = patches.iter().position(|patch| patch.path == file.path);
        let patch = at.map(|at| patches.swap_remove(at));
        let patch = patch.unwrap_or_else(|| FilePatch::without_lines(file.path.clone(), file.old_path.clone()));
        ChangedWork { patch, added: file.added, removed: file.removed, is_binary: file.is_binary }
    };
    summary.list.iter().take(FILES_MAX).map(file).collect()
}
