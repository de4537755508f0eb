//! The error messages of a run that cannot start because something is missing. Each message says what to type.

use std::path::Path;

use base::project::team::NotReady;
use base::project::trust::Untrusted;
use git::Git;
use git::facts::{CheckoutFacts, RepositoryFacts, facts};
use runner::claim::open::NotOpened;

use super::super::failure::CommandFailure;

const NO_REPOSITORY: &str = "This folder is not a git repository. Handover shows you a diff before anything changes, so it \
                             needs one: git init && git add -A && git commit -m start";
const NO_COMMIT: &str = "This repository has no commit. Agents start from a commit: git add -A && git commit -m start";

/// The place in which the agents of a run work.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::cli) enum RunPlace {
    Worktrees,
    /// The project's folder itself, which is not a git repository. The agents change its files directly.
    InPlace,
}

/// Returns the commit from which tasks start. Without a git repository, returns `None` if the agents may change the
/// project's folder directly, and fails otherwise.
pub(in crate::cli) async fn start(root: Option<&Path>, place: RunPlace) -> anyhow::Result<Option<CheckoutFacts>> {
    let Some(root) = root else { return Err(CommandFailure::missing("NO_REPOSITORY", NO_REPOSITORY).into()) };
    match (facts(&Git::default(), root).await?, place) {
        (RepositoryFacts::NotARepository, RunPlace::Worktrees) => {
            Err(CommandFailure::missing("NO_REPOSITORY", NO_REPOSITORY).into())
        }
        (RepositoryFacts::NotARepository, RunPlace::InPlace) => Ok(None),
        (RepositoryFacts::NoCommit, _) => Err(CommandFailure::missing("NO_COMMIT", NO_COMMIT).into()),
        (RepositoryFacts::Ready(found), RunPlace::Worktrees) => Ok(Some(found)),
        (RepositoryFacts::Ready(_), RunPlace::InPlace) => Err(CommandFailure::unusable(
            "this folder is a git repository, so agents work in worktrees; leave out --in-place",
        )
        .into()),
    }
}

/// Returns the failure of a run that could not be opened.
pub(in crate::cli) fn failure(problem: NotOpened) -> anyhow::Error {
    match problem {
        NotOpened::Untrusted(Untrusted::Settings(problem)) => anyhow::Error::from(problem).context("read the settings"),
        NotOpened::Untrusted(_) | NotOpened::RunnerActive { .. } => CommandFailure::refusal_of(&problem).into(),
        NotOpened::NotReady(NotReady::NoAgent) => CommandFailure::missing("NO_AGENT", &problem.to_string()).into(),
        NotOpened::NotReady(NotReady::Problems(_)) => CommandFailure::unusable(&problem.to_string()).into(),
        NotOpened::NoProject => CommandFailure::missing("NO_REPOSITORY", NO_REPOSITORY).into(),
        NotOpened::Io(_) | NotOpened::Service(_) | NotOpened::Git(_) => problem.into(),
    }
}
