//! Moves the branch of the person back to the commit from before a landing (a merge of finished work).

use std::path::Path;

use super::worktree::{Checkout, unfinished_anywhere};
use super::{LandingRecord, LandingRefusal, LandingResult};
use crate::GitProblem;
use crate::program::{Git, GitCall};
use crate::repository::{GitRepository, reference};

/// Undoes a landing, if the person's branch still points to exactly the landed commit. Uncommitted changes in other
/// files stay. A repeated call finds the landing undone.
pub async fn undo_landing(git: &Git, repository: &Path, record: &LandingRecord) -> Result<LandingResult, GitProblem> {
    let repository = GitRepository::find(git, repository).await?;
    let LandingRecord { target, before, after, .. } = record;
    let refused = |refusal| Ok(LandingResult::Refused(refusal));
    let Some(found) = repository.commit(git, &reference(target)).await? else {
        return refused(LandingRefusal::BranchMissing { branch: target.clone() });
    };
    if found == *before {
        return Ok(LandingResult::Done(record.clone()));
    }
    if found != *after {
        let (target, landed) = (target.clone(), after.clone());
        return refused(LandingRefusal::CameAfter { target, landed, found });
    }
    if let Some(refusal) = unfinished_anywhere(git, &repository, target).await? {
        return refused(refusal);
    }
    let output = match Checkout::of_branch(git, &repository, target).await? {
        Some(checkout) => {
            if let Some(refusal) = checkout.unfinished(git).await? {
                return refused(refusal);
            }
            if let Some(refusal) = checkout.local_files(git, (after, before)).await?.refusal {
                return refused(refusal);
            }
            let call = GitCall::write(&checkout.path, &["reset", "--quiet", "--keep", "--end-of-options"]);
            call.and(before).here_only().set(&checkout.quiet.settings).run(git).await?
        }
        None => {
            let arguments = ["update-ref", "-m", "handover: merge undone", "--end-of-options"];
            let call = GitCall::write(&repository.home, &arguments).and(reference(target));
            call.and(before).and(after).run(git).await?
        }
    };
    if output.is_success() { Ok(LandingResult::Done(record.clone())) } else { Err(output.failure()) }
}
