//! Merges finished work into a branch of the person, as one commit for each task or plan.
//!
//! ```text
//! prepare ──> the merged commit, checked if the person's branch moved since the work was checked
//! land    ──> the person's branch points to that commit
//! record  ──> the store knows it, and the worktree of the task is free
//! ```
//!
//! Each step returns a [`LandingEnd`] when the merge ends there.

mod check;
mod end;

use base::people::delivered::FinishedWork;
use engine::delivery::{CheckOutcome, DeliveryState, DeliverySubject};
use git::branch::Author;
use git::land::{
    Landing, LandingPlan, LandingRecord, LandingRefusal, LandingRequest, LandingResult, land, local_files, plan_landing,
};
use runner::claim::merged::{MergedCheck, MergedStep};

use crate::error::WorkError;
use crate::journal::{LandingAct, LandingLock, LandingSite, merged};

pub use end::{
    LandingEnd, LandingPreview, LandingStop, MergedChecks, MergedFailure, MergedJudgement, NotMergeable, ReadyLanding,
};

/// The number of times that one merge is tried. A merge must be computed again when the person's branch got a new
/// commit in the meantime.
pub const TRIES_MAX: u32 = 5;

/// An observer of a merge that takes long. An interface shows the steps to the person who waits.
pub trait LandingWatch: Send {
    /// Reports that the merged commit is going to be checked, because the person's branch moved.
    fn begins(&mut self, _landing: &Landing) {}

    /// Reports that a setup command or a check begins.
    fn step(&mut self, _step: MergedStep) {}

    /// Reports the results of all checks.
    fn checked(&mut self, _found: &MergedCheck) {}
}

/// The observer of a merge whose steps are not shown.
#[derive(Debug, Clone, Copy)]
pub struct QuietLanding;

impl LandingWatch for QuietLanding {}

/// The merge of the finished work of one task or plan into a branch of the person.
#[derive(Debug, Clone, Copy)]
pub struct WorkMerge<'a> {
    pub landing: &'a LandingSite<'a>,
    pub work: &'a FinishedWork,
    /// The branch to merge into. `None` means the branch that the main worktree has checked out.
    pub into: Option<&'a str>,
}

/// Returns why this work cannot be merged, or `None` when it waits to be merged.
pub fn not_mergeable(work: &FinishedWork) -> Option<NotMergeable> {
    match &work.state {
        DeliveryState::Waiting if work.check == CheckOutcome::NoChanges || work.work.files == 0 => {
            Some(NotMergeable::NoChanges)
        }
        DeliveryState::Waiting => None,
        DeliveryState::InPlan { .. } => Some(NotMergeable::InPlan),
        DeliveryState::Merged { into, commit, .. } => {
            Some(NotMergeable::Merged { into: into.clone(), commit: commit.clone() })
        }
        DeliveryState::Dropped { .. } => Some(NotMergeable::Dropped),
    }
}

impl WorkMerge<'_> {
    /// Computes the merged commit. Changes no branch, no worktree and no row of the store.
    pub async fn plan(&self) -> Result<Result<Landing, LandingEnd>, WorkError> {
        let work = self.work;
        let request = LandingRequest {
            repository: self.landing.site.root.clone(),
            work: work.work.branch.clone(),
            base: work.work.base.clone(),
            target: self.into.map(str::to_owned),
            message: message(work),
            agent: author(work),
        };
        let stopped = |stop| Ok(Err(LandingEnd::Stopped(stop)));
        let landing = match plan_landing(&self.landing.site.git, &request).await? {
            LandingPlan::Ready(landing) => landing,
            LandingPlan::Nothing { target, tip } => {
                let record = LandingRecord { target, before: tip.clone(), after: tip, work: work.work.branch.clone() };
                return Ok(Err(LandingEnd::Nothing(record)));
            }
            LandingPlan::Conflict { target, paths, more } => {
                return stopped(LandingStop::Conflict { target, paths, more });
            }
            LandingPlan::HasState { path } => return stopped(LandingStop::HasState { path }),
            LandingPlan::Refused(refusal) => return stopped(LandingStop::Refused(refusal)),
        };
        if landing.work_tip != work.work.commit {
            let (branch, tip, delivered) = (landing.work, landing.work_tip, work.work.commit.clone());
            return stopped(LandingStop::OtherTip { branch, tip, delivered });
        }
        Ok(Ok(landing))
    }

    /// Computes the merged commit, and looks at the person's uncommitted changes that it would meet. Changes nothing.
    pub async fn preview(&self) -> Result<Result<LandingPreview, LandingEnd>, WorkError> {
        let landing = match self.plan().await? {
            Ok(landing) => landing,
            Err(end) => return Ok(Err(end)),
        };
        let local = local_files(&self.landing.site.git, &landing).await?;
        Ok(Ok(LandingPreview { landing, local }))
    }

    /// Computes the merged commit, and checks it if the person's branch moved since the work was checked.
    pub async fn prepare(
        &self,
        _lock: &LandingLock,
        checks: MergedChecks,
        watch: &mut dyn LandingWatch,
    ) -> Result<Result<ReadyLanding, LandingEnd>, WorkError> {
        let landing = match self.plan().await? {
            Ok(landing) => landing,
            Err(end) => return Ok(Err(end)),
        };
        let judgement = match checks {
            _ if !landing.is_moved => MergedJudgement::SameTree,
            MergedChecks::Later => MergedJudgement::Later,
            MergedChecks::Now => match check::check(self.landing.site.run, (&landing, self.task()), watch).await? {
                Ok(judgement) => judgement,
                Err(failure) => return Ok(Err(LandingEnd::Stopped(LandingStop::Unchecked(failure)))),
            },
        };
        Ok(Ok(ReadyLanding { landing, judgement }))
    }

    /// Moves the person's branch to the merged commit. If the branch got a new commit in the meantime, computes and
    /// checks the merged commit again.
    pub async fn land(
        &self,
        lock: &LandingLock,
        mut ready: ReadyLanding,
        watch: &mut dyn LandingWatch,
    ) -> Result<LandingEnd, WorkError> {
        for _ in 0..TRIES_MAX {
            if let Some(end) = self.land_once(lock, &ready).await? {
                return Ok(end);
            }
            ready = match self.prepare(lock, MergedChecks::Now, watch).await? {
                Ok(ready) => ready,
                Err(end) => return Ok(end),
            };
        }
        Ok(LandingEnd::Stopped(LandingStop::TooManyCommits))
    }

    /// Moves the person's branch to the merged commit. Returns `None` when the branch got a new commit in the meantime:
    /// then the merged commit must be computed and checked again. A caller that can be cancelled runs this function in a
    /// task of its own, because a killed git process leaves files half changed.
    pub async fn land_once(&self, _lock: &LandingLock, ready: &ReadyLanding) -> Result<Option<LandingEnd>, WorkError> {
        let LandingSite { site, journal, .. } = self.landing;
        let Landing { target, tip, commit, work: branch, .. } = ready.landing.clone();
        let record = LandingRecord { target, before: tip, after: commit, work: branch };
        journal.begin(self.work.subject, LandingAct::Merge, &record)?;
        match land(&site.git, &ready.landing).await? {
            LandingResult::Done(record) => Ok(Some(LandingEnd::Done(record))),
            LandingResult::Refused(LandingRefusal::TargetMoved { .. }) => {
                journal.end(self.work.subject)?;
                Ok(None)
            }
            LandingResult::Refused(refusal) => {
                journal.end(self.work.subject)?;
                Ok(Some(LandingEnd::Stopped(LandingStop::Refused(refusal))))
            }
        }
    }

    /// Records in the store that the work is merged, and frees the worktree of the task. Returns the work's current
    /// state, because another process may have changed it first.
    pub async fn record(&self, record: &LandingRecord) -> Result<DeliveryState, WorkError> {
        let LandingSite { site, caller, journal } = self.landing;
        let state = merged(site.service(), caller, self.work.subject, record).await?;
        journal.end(self.work.subject)?;
        if let Some(task) = self.task() {
            // Ignore a failure to free the slot (the worktree in which the agent worked): the work is merged, and the
            // runner frees the slot later.
            let _later = site.free_slot(task, self.work.attempt).await;
        }
        Ok(state)
    }

    /// Returns the task whose work is merged, or `None` for a plan.
    fn task(&self) -> Option<engine::id::TaskId> {
        match self.work.subject {
            DeliverySubject::Task(task) => Some(task),
            DeliverySubject::Workflow(_) => None,
        }
    }
}

/// Returns the message of the commit: the name of the task, and the agent's words about the work.
fn message(work: &FinishedWork) -> String {
    match &work.outcome {
        Some(outcome) if outcome.trim() != work.name => format!("{}\n\n{}", work.name, outcome.trim()),
        Some(_) | None => work.name.clone(),
    }
}

/// Returns the co-author for the commit. The work of a plan has several authors, so its co-author is Handover.
fn author(work: &FinishedWork) -> Author {
    let (slug, name) = work.agent.clone().unwrap_or_else(|| ("handover".to_owned(), "Handover".to_owned()));
    Author { name, slug }
}
