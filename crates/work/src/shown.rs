//! The finished work of a task or plan as a person looks at it: two commits and the changes between them.

use base::people::delivered::{self, FinishedWork};
use base::people::task_choice::NamedWork;
use engine::delivery::DeliveryState;
use git::GitProblem;
use git::changes::{ChangeDiff, ChangeSummary, changes};

use crate::error::WorkError;
use crate::site::WorkSite;

/// The largest diff that is shown, in bytes. A longer diff is cut, because no person reads more.
const DIFF_BYTES_MAX: usize = 16 << 20;

/// The finished work of a task or plan, the two commits that are compared to show it, and the changes between these
/// commits.
#[derive(Debug)]
pub struct ShownWork {
    pub work: FinishedWork,
    pub changes: ChangeSummary,
    pub from: String,
    pub to: String,
}

/// Returns the finished work of a task or a plan with its changes, or `None` when it has no finished work.
pub async fn shown(site: &WorkSite<'_>, named: &NamedWork) -> Result<Option<ShownWork>, WorkError> {
    let Some(work) = delivered::find(site.service(), named).await? else { return Ok(None) };
    let (mut from, mut to) = (work.work.base.clone(), work.work.commit.clone());
    let mut found = changes(&site.git, &site.root, &from, &to).await;
    // Git may have deleted the commits of the task's branch after the work was merged. Then show the commit of the
    // merge, which has the same changes.
    if let (Err(GitProblem::GitFailed { .. }), DeliveryState::Merged { before, commit, .. }) = (&found, &work.state) {
        (from, to) = (before.clone(), commit.clone());
        found = changes(&site.git, &site.root, &from, &to).await;
    }
    Ok(Some(ShownWork { changes: found?, work, from, to }))
}

impl ShownWork {
    /// Returns the unified diff of the work.
    pub async fn diff(&self, site: &WorkSite<'_>) -> Result<ChangeDiff, WorkError> {
        Ok(git::changes::diff(&site.git, &site.root, (&self.from, &self.to), DIFF_BYTES_MAX).await?)
    }
}
