//! Undoes the last merge: sets the person's branch back to the commit from before it.

use base::people::delivered::{self, FinishedWork};
use engine::delivery::{DeliveryState, DeliveryStatus};
use git::land::{LandingRecord, LandingRefusal, LandingResult, undo_landing};

use crate::error::WorkError;
use crate::journal::{LandingAct, LandingLock, LandingSite, waits};

/// The end of an undo of the last merge.
#[derive(Debug, Clone, PartialEq)]
pub enum UndoEnd {
    /// No merge was made in the last days.
    Nothing,
    /// The branch was not moved, for example because a commit was added after the merge.
    Refused(LandingRefusal),
    /// The branch is back at the commit `record.before`, and the work waits again.
    Done { work: Box<FinishedWork>, record: LandingRecord },
}

/// Undoes the last merge on this machine.
pub async fn undo(landing: &LandingSite<'_>, _lock: &LandingLock) -> Result<UndoEnd, WorkError> {
    let LandingSite { site, caller, journal } = landing;
    let last = delivered::last_merged(site.service()).await?;
    let Some((work, record)) = last.and_then(|work| {
        let DeliveryState::Merged { into, before, commit, .. } = work.state.clone() else { return None };
        let record = LandingRecord { target: into, before, after: commit, work: work.work.branch.clone() };
        Some((work, record))
    }) else {
        return Ok(UndoEnd::Nothing);
    };
    journal.begin(work.subject, LandingAct::Undo, &record)?;
    match undo_landing(&site.git, &site.root, &record).await? {
        LandingResult::Done(_) => {}
        LandingResult::Refused(refusal) => {
            journal.end(work.subject)?;
            return Ok(UndoEnd::Refused(refusal));
        }
    }
    waits(site.service(), caller, work.subject, DeliveryStatus::Merged).await?;
    journal.end(work.subject)?;
    Ok(UndoEnd::Done { work: Box::new(work), record })
}
