//! Moves the branch of the person to the commit of a landing (a merge of finished work), together with the files of the
//! branch's worktree.

use super::worktree::{Checkout, LocalFiles, unfinished_anywhere};
use super::{Landing, LandingRecord, LandingRefusal, LandingResult};
use crate::GitProblem;
use crate::program::{Git, GitCall};
use crate::repository::{GitRepository, reference};

/// Moves the person's branch to the landed commit, if the branch still points to the commit for which the landing was
/// computed. When a worktree has the branch checked out, its files change, too; uncommitted changes in other files
/// stay. A repeated call finds the landing done.
///
/// One git call moves the branch, so a crash leaves the branch either unchanged or completely moved.
pub async fn land(git: &Git, landing: &Landing) -> Result<LandingResult, GitProblem> {
    let repository = GitRepository::find(git, &landing.repository).await?;
    let record = LandingRecord {
        target: landing.target.clone(),
        before: landing.tip.clone(),
        after: landing.commit.clone(),
        work: landing.work.clone(),
    };
    let Some(found) = repository.commit(git, &reference(&landing.target)).await? else {
        return Ok(LandingResult::Refused(LandingRefusal::BranchMissing { branch: landing.target.clone() }));
    };
    if repository.contains(git, &found, &landing.commit).await? {
        return Ok(LandingResult::Done(record));
    }
    let moved = |found: String| {
        let (target, expected) = (landing.target.clone(), landing.tip.clone());
        Ok(LandingResult::Refused(LandingRefusal::TargetMoved { target, expected, found }))
    };
    if found != landing.tip {
        return moved(found);
    }
    if let Some(refusal) = unfinished_anywhere(git, &repository, &landing.target).await? {
        return Ok(LandingResult::Refused(refusal));
    }
    let output = match Checkout::of_branch(git, &repository, &landing.target).await? {
        Some(checkout) => {
            if let Some(refusal) = checkout.unfinished(git).await? {
                return Ok(LandingResult::Refused(refusal));
            }
            if let Some(refusal) = checkout.local_files(git, (&landing.tip, &landing.commit)).await?.refusal {
                return Ok(LandingResult::Refused(refusal));
            }
            let arguments = [
                "merge",
                "--quiet",
                "--ff-only",
                "--no-overwrite-ignore",
                "--no-verify-signatures",
                "--no-autostash",
                "--no-stat",
                "--end-of-options",
            ];
            let call = GitCall::write(&checkout.path, &arguments).and(&landing.commit).here_only();
            call.set(&checkout.quiet.settings).run(git).await?
        }
        None => {
            let arguments = ["update-ref", "-m", "handover: merged", "--create-reflog", "--end-of-options"];
            let call = GitCall::write(&repository.home, &arguments).and(reference(&landing.target));
            call.and(&landing.commit).and(&landing.tip).run(git).await?
        }
    };
    if output.is_success() {
        return Ok(LandingResult::Done(record));
    }
    // Git failed to move the branch. If another process moved the branch after the check above, report this. Otherwise
    // report git's own error.
    match repository.commit(git, &reference(&landing.target)).await? {
        Some(found) if found != landing.tip => moved(found),
        Some(_) | None => Err(output.failure()),
    }
}

/// Returns the person's uncommitted changes that a landing (a merge of finished work) would meet now. Changes nothing.
pub async fn local_files(git: &Git, landing: &Landing) -> Result<LocalFiles, GitProblem> {
    let repository = GitRepository::find(git, &landing.repository).await?;
    match Checkout::of_branch(git, &repository, &landing.target).await? {
        Some(checkout) => checkout.local_files(git, (&landing.tip, &landing.commit)).await,
        None => Ok(LocalFiles::default()),
    }
}
