//! Moves the branch of the person to the commit of a landing, together with the files of its worktree.

use super::worktree::{Checkout, unfinished_anywhere};
use super::{Landing, LandingRecord, LandingRefusal, LandingResult};
use crate::GitProblem;
use crate::program::{Git, GitCall};
use crate::repository::{GitRepository, reference};

/// Moves the target from exactly its tip to the new commit. When a worktree has the target checked out, its files move
/// too, and uncommitted changes in other files stay. A repeated call finds the landing done.
///
/// One git call moves the branch, so a stop at any time leaves the target either not moved or moved whole.
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
            if let Some(refusal) = checkout.blocked(git, (&landing.tip, &landing.commit)).await? {
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
    // If the target moved in between, that is the reason. Otherwise git says it.
    match repository.commit(git, &reference(&landing.target)).await? {
        Some(found) if found != landing.tip => moved(found),
        Some(_) | None => Err(output.failure()),
    }
}
