//! Merges the checked commit of a task into the workflow's branch. If other work was merged there since the task
//! started, the merged tree is checked before the branch moves.

use engine::task::BlockKind;
use engine::turn::Purpose;
use git::branch::{Merge, MergePlan, MergeResult, ReadyMerge};

use super::FinishStage;
use super::checks::TreeTarget;
use crate::attempt::AttemptError;
use crate::attempt::Chain;
use crate::attempt::place::WorkPlace;
use crate::attempt::setup::SetupEnd;
use crate::attempt::shared::{MergedTask, RunEvent};
use crate::attempt::step::TurnReason;
use crate::turn::WorkerTurn;
use crate::verify::VerificationEvidence;
use crate::verify::project::{CheckedWork, ProjectCheckResult, ProjectVerdict, last_line};

/// The number of tries in which the merged work is checked without a lock, while other tasks may merge first. After
/// these tries, the task holds the lock during the checks, so that no other task of this runner can merge first.
const TIP_TRIES_MAX: u32 = 5;

/// The result of merging the work of a task.
enum MergeEnd {
    Merged(String),
    Refused(MergeResult),
    /// The merged tree failed the project's checks.
    TipFailed(Vec<ProjectCheckResult>),
}

impl FinishStage<'_> {
    /// Merges the checked work of the attempt into the workflow's branch and completes the task.
    pub(crate) async fn merge(&self) -> Result<(), AttemptError> {
        let (run, facts) = (self.run, self.facts);
        let place = run.place(facts).await?;
        let result = run.result(self.turn)?;
        let evidence = self.evidence();
        let head = evidence.as_ref().and_then(|evidence| evidence.commit.clone());
        let message = format!("merge {} ({})", facts.task.name, run.task);
        let request =
            head.as_deref().and_then(|head| run.shared.ground.merge_request(&place, head, &message, &run.author()));
        let commit = match request.filter(|_| !facts.workflow.standing) {
            None => None,
            Some(request) => match self.merged(&place, &request).await? {
                MergeEnd::Merged(tip) => {
                    run.tell(facts, RunEvent::Merged { commit: tip.clone() });
                    if let WorkPlace::Worktree { line, base_commit, .. } = &place {
                        let name = format!("{} {}", facts.task.number, facts.task.name);
                        let (base, branch, tip) = (base_commit.clone(), line.branch.clone(), tip.clone());
                        run.shared.add_merged(facts.workflow.id, MergedTask { name, base, branch, tip });
                    }
                    Some(tip)
                }
                MergeEnd::TipFailed(results) => return self.tip_failed(&place, results).await,
                MergeEnd::Refused(MergeResult::Conflict { paths, .. }) => return self.conflict(&place, paths).await,
                MergeEnd::Refused(refused) => return self.refused(&place, &refused).await,
            },
        };
        self.complete((&place, &result), evidence.as_ref(), commit).await
    }

    /// Returns the stored evidence of the verification of this turn. It names the commit that was checked.
    fn evidence(&self) -> Option<VerificationEvidence> {
        let of_turn =
            |row: &&engine::verification::Verification| row.attempt == self.run.attempt && row.turn == Some(self.turn);
        let row = self.facts.verifications.iter().find(of_turn)?;
        VerificationEvidence::parse(row.evidence.as_str())
    }

    async fn merged(&self, place: &WorkPlace, request: &Merge) -> Result<MergeEnd, AttemptError> {
        let (run, ground) = (self.run, &self.run.shared.ground);
        let lock = run.shared.merging(self.facts.workflow.id);
        for number in 1.. {
            // The last try keeps the lock while the checks run, so that no other task of this runner can merge first.
            let alone = if number > TIP_TRIES_MAX { Some(lock.lock().await) } else { None };
            let ready = match ground.plan_merge(request).await? {
                MergePlan::Settled(MergeResult::Already { tip }) => return Ok(MergeEnd::Merged(tip)),
                MergePlan::Settled(result) => return Ok(MergeEnd::Refused(result)),
                MergePlan::Ready(ready) => ready,
            };
            if !ready.is_fast_forward
                && let Some(failed) = self.tip_problems(place, request, &ready).await?
            {
                return Ok(MergeEnd::TipFailed(failed));
            }
            let _one_at_a_time = if alone.is_none() { Some(lock.lock().await) } else { None };
            if let Some(MergeResult::FastForward { tip } | MergeResult::Merge { tip }) =
                ground.make_merge(request, &ready).await?
            {
                return Ok(MergeEnd::Merged(tip));
            }
        }
        Err(AttemptError::Other("the merge ended without a result".to_owned()))
    }

    /// Checks the merged tree in the worktree of the task. Returns the results when a check failed, else `None`.
    async fn tip_problems(
        &self,
        place: &WorkPlace,
        request: &Merge,
        ready: &ReadyMerge,
    ) -> Result<Option<Vec<ProjectCheckResult>>, AttemptError> {
        let (run, ground) = (self.run, &self.run.shared.ground);
        if self.checks().is_empty() || !run.shared.needs_recheck(&request.head, &ready.tip).await? {
            return Ok(None);
        }
        let own = ground.tree_of_commit(&request.head).await?;
        let tree = ground.tree_of_commit(&ready.new).await?;
        run.shared.begin_checks(run.task, run.attempt, &own)?;
        ground.restore(place, &tree).await?;
        let target = TreeTarget { place, commit: Some(&ready.new), tree: Some(&tree), baseline: Some(&ready.tip) };
        let results = match run.prepare(self.facts, place).await? {
            SetupEnd::Ready => self.check_tree(target).await?,
            SetupEnd::Failed { failure, .. } => {
                let last_line = last_line(&failure.result.tail);
                vec![ProjectCheckResult { verdict: ProjectVerdict::Failed, runs: 1, last_line, last: failure.result }]
            }
        };
        run.shared.end_checks(place, run.task, run.attempt).await?;
        Ok((CheckedWork::of(&results) == CheckedWork::Failed).then_some(results))
    }

    /// Sends the task back to its agent, because its work passes the checks alone but not together with the work of other
    /// tasks. A second failure of this kind blocks the task.
    async fn tip_failed(&self, place: &WorkPlace, results: Vec<ProjectCheckResult>) -> Result<(), AttemptError> {
        let (run, facts) = (self.run, self.facts);
        for check in results.iter().filter(|check| check.verdict == ProjectVerdict::Failed) {
            let (command, end, runs) = (check.command(), super::failure(check), check.runs);
            run.tell(facts, RunEvent::CheckFailed { command, end, runs, last_line: check.last_line.clone() });
        }
        let evidence = VerificationEvidence { project: results, ..VerificationEvidence::default() };
        if Chain::of(&facts.turns, run.attempt).conflicts > 0 {
            let complaints = evidence.failed_complaints();
            let lines: Vec<String> = complaints.into_iter().map(|(_, text)| text).collect();
            let reason = format!(
                "the task's work passes the checks alone, but not together with finished work of other tasks: {}",
                lines.join("\n")
            );
            return run.block(facts, BlockKind::Dependency, reason).await;
        }
        match run.shared.ground.bring(place, &run.author()).await? {
            MergeResult::Conflict { paths, .. } => self.conflict_turn(paths).await,
            MergeResult::Already { .. } | MergeResult::FastForward { .. } | MergeResult::Merge { .. } => {
                let evidence = evidence.to_json().as_str().to_owned();
                let turn = WorkerTurn { run, facts };
                Box::pin(turn.start(Purpose::Conflict, TurnReason::TipFailed { evidence })).await
            }
            refused @ (MergeResult::HasState { .. } | MergeResult::CheckedOut { .. }) => {
                self.refused(place, &refused).await
            }
        }
    }

    async fn conflict_turn(&self, paths: Vec<String>) -> Result<(), AttemptError> {
        let turn = WorkerTurn { run: self.run, facts: self.facts };
        Box::pin(turn.start(Purpose::Conflict, TurnReason::Conflict { paths })).await
    }

    /// Handles a conflict between the work and the workflow's branch. The agent has to resolve the first conflict of an
    /// attempt. A second conflict blocks the task.
    async fn conflict(&self, place: &WorkPlace, paths: Vec<String>) -> Result<(), AttemptError> {
        let (run, facts) = (self.run, self.facts);
        run.tell(facts, RunEvent::Conflict { paths: paths.clone() });
        if Chain::of(&facts.turns, run.attempt).conflicts > 0 {
            let reason =
                format!("the task's files still conflict with finished work of other tasks: {}", paths.join(", "));
            return run.block(facts, BlockKind::Dependency, reason).await;
        }
        match run.shared.ground.bring(place, &run.author()).await? {
            MergeResult::Conflict { paths, .. } => self.conflict_turn(paths).await,
            // If there is no conflict any more, because the branches changed, the next step merges the work.
            MergeResult::Already { .. } | MergeResult::FastForward { .. } | MergeResult::Merge { .. } => Ok(()),
            refused @ (MergeResult::HasState { .. } | MergeResult::CheckedOut { .. }) => {
                self.refused(place, &refused).await
            }
        }
    }

    /// Blocks the task, because its work cannot be merged until a person changes something.
    pub(super) async fn refused(&self, place: &WorkPlace, result: &MergeResult) -> Result<(), AttemptError> {
        let (run, facts) = (self.run, self.facts);
        let (kind, reason) = match result {
            MergeResult::HasState { path } => (
                BlockKind::VerificationFail,
                format!(
                    "the task's branch has {path}, which is Handover's own state: after a checkout it would replace \
                     the token and the store; remove it from the branch {}, then unblock the task",
                    place.branch().unwrap_or_default()
                ),
            ),
            MergeResult::CheckedOut { path } => (
                BlockKind::Dependency,
                format!(
                    "the workflow's branch is checked out at {}, so it cannot be merged into; check out another \
                     branch there, then unblock the task",
                    path.display()
                ),
            ),
            MergeResult::Already { .. }
            | MergeResult::FastForward { .. }
            | MergeResult::Merge { .. }
            | MergeResult::Conflict { .. } => return Ok(()),
        };
        run.block(facts, kind, reason).await
    }
}
