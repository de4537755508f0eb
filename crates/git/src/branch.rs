//! Where the work of a workflow goes: a branch of its own, into which the heads of its tasks are merged.
//!
//! ```text
//! base ── handover/<workflow> ─────────────●───────────────●──>      moved only by compare-and-swap
//!               └── handover/<task>-<attempt> ──●── head ──┘         a worktree each
//! ```
//!
//! A task's branch cannot be `handover/<workflow>/<task>`: git keeps the workflow's branch as a file where that would
//! need a folder. Ids differ in their prefix, so the two kinds never meet.
//!
//! Merging touches no worktree: git computes the merged tree from commits, and the branch moves only from the tip that
//! was merged with. Two mergers at once cost one of them a second try, never a commit. Everything here may be done
//! again after a stop: what is committed is clean, what is merged is found merged.
//!
//! Needs git 2.38 or later (`merge-tree --write-tree`). No program that a configuration names is run: neither hooks
//! nor monitors nor signing; a file behind a filter is left to whoever may run it, and a merge driver's file conflicts.

mod bring;
mod commit;
mod look;
mod merge;
pub mod quiet;
mod room;
mod state;

use std::path::{Path, PathBuf};

use crate::Problem;
use crate::program::{Call, Git};
use crate::removed::retire_branch;
use crate::repository::{Repository, reference};

pub use bring::bring;
pub use commit::commit;
pub use merge::{is_merged, merge};
pub use room::workspace;

pub const PREFIX: &str = "handover";
/// What of a message git gets in one argument.
const MESSAGE_BYTES_MAX: usize = 64 << 10;
/// How many paths an answer lists.
const PATHS_MAX: usize = 200;

/// A task's worktree and what should be checked out in it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Workspace {
    /// Any folder of the repository that the worktree must belong to.
    pub repository: PathBuf,
    pub path: PathBuf,
    pub branch: String,
}

/// In whose name a commit is made: `name <slug@handover>`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Author {
    pub name: String,
    pub slug: String,
}

/// What to bring into a branch.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Merge {
    pub repository: PathBuf,
    /// The workflow's.
    pub branch: String,
    /// A whole commit.
    pub head: String,
    pub message: String,
    pub author: Author,
}

/// What became of what an agent left in its worktree.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Committed {
    /// There was nothing to commit but, perhaps, what is left.
    Clean {
        head: String,
        left: Vec<Left>,
    },
    Commit {
        head: String,
        left: Vec<Left>,
    },
    /// Files of a merge still have their conflict; nothing was committed. Where no marker shows it, `git add` says that
    /// it is mended.
    Unmended {
        paths: Vec<String>,
    },
}

/// Not committed by us; the agent may do it itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Left {
    pub path: String,
    pub why: Why,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Why {
    /// A repository in the worktree: its commit may be nowhere else.
    Submodule,
    /// Its content goes through a program that a configuration names.
    Filter,
}

/// What became of a head that was to come into a branch.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Merged {
    Already {
        tip: String,
    },
    FastForward {
        tip: String,
    },
    Merge {
        tip: String,
    },
    /// Nothing changed in a branch; a worktree has the markers.
    Conflict {
        paths: Vec<String>,
        /// There are others than these.
        more: bool,
    },
    /// The head has something below `.handover/state`, which is never an agent's to write; nothing changed.
    HasState {
        path: String,
    },
    /// Somebody looks at the branch there; it would change under their feet, so nothing changed.
    CheckedOut {
        path: PathBuf,
    },
}

/// A workflow's branch.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Line {
    pub branch: String,
    pub tip: String,
}

pub fn workflow_branch(workflow: &str) -> String {
    format!("{PREFIX}/{workflow}")
}

pub fn task_branch(task: &str, attempt: u32) -> String {
    format!("{PREFIX}/{task}-{attempt}")
}

/// The branch of a workflow, made from the base when it is not there: a branch, tag or commit, else what the main
/// worktree has checked out.
pub async fn line(git: &Git, repository: &Path, workflow: &str, base: Option<&str>) -> Result<Line, Problem> {
    check_id("workflow", workflow)?;
    let repository = Repository::find(git, repository).await?;
    let branch = workflow_branch(workflow);
    let name = reference(&branch);
    if let Some(tip) = repository.commit(git, &name).await? {
        return Ok(Line { branch, tip });
    }
    let base = repository.base(git, base).await?;
    let arguments = ["update-ref", "-m", "handover: workflow", "--create-reflog", "--end-of-options"];
    // An empty old value: it must not exist.
    let made = Call::write(&repository.home, &arguments).and(&name).and(&base.commit).and("").run(git).await?;
    match repository.commit(git, &name).await? {
        // Also when another was faster.
        Some(tip) => Ok(Line { branch, tip }),
        None if repository.commit(git, &reference(PREFIX)).await?.is_some() => Err(Problem::input(
            "branch",
            format!("cannot be {branch} beside the branch {PREFIX}: git keeps one as a folder of the other"),
        )),
        None => Err(made.failure()),
    }
}

/// The worktree that has a branch checked out.
pub async fn standing(git: &Git, repository: &Path, branch: &str) -> Result<Option<Workspace>, Problem> {
    let found = Repository::find(git, repository).await?;
    let name = reference(branch);
    let entry = found.worktrees(git).await?.into_iter().find(|entry| entry.branch.as_deref() == Some(&name));
    Ok(entry.map(|entry| Workspace { repository: repository.to_owned(), path: entry.path, branch: branch.to_owned() }))
}

/// Deletes a branch that no worktree has checked out and whose work is in the workflow's.
pub async fn forget(git: &Git, repository: &Path, (line, branch): (&Line, &str), now_ms: i64) -> Result<(), Problem> {
    let repository = Repository::find(git, repository).await?;
    match repository.commit(git, &reference(branch)).await? {
        Some(tip) if repository.contains(git, &line.tip, &tip).await? => {
            retire_branch(git, &repository, (branch, &tip), now_ms).await.map(drop)
        }
        Some(_) | None => Ok(()),
    }
}

impl Author {
    /// What git would cut out of a name, and what would end the variable, is gone.
    fn environment(&self, call: Call) -> Call {
        let name: String =
            self.name.chars().map(|c| if c.is_control() || "<>".contains(c) { ' ' } else { c }).collect();
        let name = name.trim();
        // A name that is only punctuation is none for git.
        let has_letter = name.chars().any(char::is_alphanumeric);
        let (name, mail) = (if has_letter { name } else { &self.slug }, format!("{}@{PREFIX}", self.slug));
        let call = call.env("GIT_AUTHOR_NAME", name).env("GIT_AUTHOR_EMAIL", &mail);
        call.env("GIT_COMMITTER_NAME", name).env("GIT_COMMITTER_EMAIL", &mail)
    }
}

fn check_id(field: &'static str, id: &str) -> Result<(), Problem> {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
    if !id.is_empty() && id.len() <= 100 && id.chars().all(is_plain) && !id.starts_with('-') {
        return Ok(());
    }
    Err(Problem::input(field, "must be up to 100 of the characters A-Z, a-z, 0-9, _ and -"))
}

/// A message is given by us but may quote an agent.
fn check_words(message: &str, author: &Author) -> Result<(), Problem> {
    check_id("author", &author.slug)?;
    if message.trim().is_empty() || message.contains('\0') || message.len() > MESSAGE_BYTES_MAX {
        return Err(Problem::input("message", format!("must be text of at most {MESSAGE_BYTES_MAX} bytes")));
    }
    Ok(())
}
