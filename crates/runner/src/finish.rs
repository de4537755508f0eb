//! Handles an output that says "done": commits the work, verifies it, merges it, and completes the task after the
//! merge.

mod evaluate;
pub(crate) mod review;

use std::collections::BTreeMap;

use engine::command::{RecordVerification, Target};
use engine::id::TurnId;
use engine::task::BlockKind;
use engine::turn::Purpose;
use engine::verification::Verification;
use engine::view::AttemptView as Facts;
use engine::{Command, Json};
use wire::json::{Value, object};

use crate::attempt::Chain;
use crate::attempt::place::{WorkPlace, left};
use crate::attempt::shared::RunEvent;
use crate::attempt::step::TurnReason;
use crate::attempt::{AttemptError, AttemptRun};
use crate::outcome::{AgentResult, cut};
use crate::turn::WorkerTurn;
use crate::verify::{
    self, EvaluatorQuestion, VerificationEnd, VerificationEvidence, VerificationFound, VerificationOrder,
    VerificationProgress,
};
use base::project::budget;
use base::project::task_extra::TaskExtra;
use git::branch::{CommitResult, MergeResult};

/// An output that says "done", with the folder of the work and the commit of the work.
#[derive(Debug)]
struct FinishedOutput {
    place: WorkPlace,
    result: AgentResult,
    /// The head commit of the worktree after all work was committed. `None` outside of git.
    head: Option<String>,
}

/// The last stage of an attempt, after a turn whose output says "done".
pub(crate) struct FinishStage<'a> {
    pub(crate) run: &'a AttemptRun,
    pub(crate) facts: &'a Facts,
    pub(crate) turn: TurnId,
}

impl FinishStage<'_> {
    /// Commits and verifies the output, and records the result. The recorded result decides the next step of the
    /// attempt.
    pub(crate) async fn verify(&self) -> Result<(), AttemptError> {
        let (run, facts) = (self.run, self.facts);
        let place = run.place(facts).await?;
        let result = run.result(self.turn)?;
        let head = match self.commit(&place, &result).await? {
            Ok(head) => head,
            Err(unmended) => {
                let reason = format!("the task's files still have conflict markers: {}", unmended.join(", "));
                return run.block(facts, BlockKind::Dependency, reason).await;
            }
        };
        match self.verification(&FinishedOutput { place, result, head }).await? {
            VerificationEnd::Found(found) => self.record(*found).await,
            VerificationEnd::WaitsForPerson(approval) => {
                let operation = "use a check that this task changed".to_owned();
                run.tell(facts, RunEvent::WantsApproval { approval: approval.to_string(), operation });
                Ok(())
            }
            VerificationEnd::NotEvaluated(reason) => run.block(facts, BlockKind::ToolFailure, reason).await,
            VerificationEnd::NoJudgement(codes) => {
                let reason = format!("the evaluator gave no usable answer: {codes}");
                run.block(facts, BlockKind::ToolFailure, reason).await
            }
            VerificationEnd::Stopped => Ok(()),
        }
    }

    async fn verification(&self, done: &FinishedOutput) -> Result<VerificationEnd, AttemptError> {
        let (run, facts) = (self.run, self.facts);
        let Some(brief) = verify::stored_brief(&facts.detail)? else {
            let found = VerificationFound::without_contract(done.head.clone());
            return Ok(VerificationEnd::Found(Box::new(found)));
        };
        let contract = verify::resolve(&run.shared.settings, &brief.output_contract)
            .map_err(|problem| AttemptError::Other(problem.to_string()))?;
        let (base, tree) = match &done.place {
            WorkPlace::Worktree { base_commit, .. } => {
                let base = Some(base_commit.as_str());
                (base, verify::tree(&run.shared.ground.git, done.place.path(), base).await?)
            }
            WorkPlace::Folder(_) => (None, verify::CheckedTree::default()),
        };
        let known = verify::TurnFacts {
            output_ref: None,
            said: done.result.reference.clone(),
            artifacts: done.result.files(),
            changed: tree.changed,
            has_remote: tree.has_remote,
            commit: done.head.clone().filter(|head| base != Some(head)),
        };
        let (binary, turn) = (agents::host::own_binary()?, self.turn.to_string());
        let folder = run.shared.attempt_folder(run.task, run.attempt);
        let environment = BTreeMap::new();
        let place = verify::CheckPlace {
            worktree: done.place.path(),
            binary: &binary,
            folder: &folder,
            turn: &turn,
            environment: &environment,
            inherit: &run.shared.settings.environment,
            output_bytes_max: run.shared.settings.limits.output_bytes,
            commit: done.head.as_deref(),
        };
        let author = TaskExtra::of(&facts.detail).planned_by;
        let order = VerificationOrder {
            service: &run.shared.service,
            task: run.task,
            attempt: run.attempt,
            holder: run.worker.agent,
            author: author.as_deref(),
            contract: &contract,
            facts: &known,
            place,
            pauses: true,
            caller: run.shared.caller(run.worker.agent),
        };
        let mut progress = |progress: VerificationProgress<'_>| {
            if let VerificationProgress::Check { command, .. } = progress {
                run.tell(facts, RunEvent::Checking { command: command.join(" ") });
            }
        };
        let evaluate = async |question: EvaluatorQuestion| run.evaluate(facts, &question).await;
        verify::verify_output(&order, evaluate, &mut progress).await
    }

    /// Commits all work in the worktree. Returns the new head commit, or the paths of files that still have conflict
    /// markers of a merge.
    async fn commit(
        &self,
        place: &WorkPlace,
        result: &AgentResult,
    ) -> Result<Result<Option<String>, Vec<String>>, AttemptError> {
        let (run, facts) = (self.run, self.facts);
        let (name, summary) = (&facts.task.name, result.outcome());
        let message = format!("{name}\n\n{summary}\n\nTask: {}\nAttempt: {}", run.task, run.attempt);
        let message: String = message.chars().take(8_000).collect();
        Ok(match run.shared.ground.commit(place, &message, &run.author()).await? {
            None => Ok(None),
            Some(CommitResult::Clean { head, left: rest } | CommitResult::Commit { head, left: rest }) => {
                for text in left(&rest) {
                    run.tell(facts, RunEvent::Warning { text });
                }
                Ok(Some(head))
            }
            Some(CommitResult::Unmended { paths }) => Err(paths),
        })
    }

    async fn record(&self, found: VerificationFound) -> Result<(), AttemptError> {
        let (run, passed) = (self.run, found.has_passed());
        let problem = (!passed).then(|| complaints(&found.evidence));
        let record = RecordVerification {
            task: run.task,
            attempt: run.attempt,
            turn: Some(self.turn),
            mechanical: found.mechanical,
            semantic: found.semantic,
            output_ref: found.output_ref,
            evidence: found.evidence.to_json(),
        };
        let caller = run.shared.once(run.worker.agent, self.turn, "verification");
        run.shared.service.execute(caller, Command::RecordVerification(Box::new(record))).await?;
        run.tell(self.facts, RunEvent::Verified { passed, problem });
        Ok(())
    }

    /// Merges the verified work of the attempt into the workflow's branch and completes the task.
    pub(crate) async fn merge(&self) -> Result<(), AttemptError> {
        let (run, facts) = (self.run, self.facts);
        let place = run.place(facts).await?;
        let result = run.result(self.turn)?;
        let lock = run.shared.merging(facts.workflow.id);
        let merged = {
            let _one_at_a_time = lock.lock().await;
            match self.commit(&place, &result).await? {
                Ok(Some(head)) => {
                    let message = format!("merge {} ({})", facts.task.name, run.task);
                    run.shared.ground.merge(&place, &head, &message, &run.author()).await?
                }
                Ok(None) => None,
                Err(paths) => Some(MergeResult::Conflict { paths, more: false }),
            }
        };
        let commit = match merged {
            None => None,
            Some(MergeResult::Already { tip } | MergeResult::FastForward { tip } | MergeResult::Merge { tip }) => {
                run.tell(facts, RunEvent::Merged { commit: tip.clone() });
                Some(tip)
            }
            Some(MergeResult::Conflict { paths, .. }) => return self.conflict(&place, paths).await,
            Some(MergeResult::HasState { path }) => {
                let reason = format!(
                    "the task's branch has {path}, which is Handover's own state: after a checkout it would replace \
                     the token and the store; remove it from the branch {}, then unblock the task",
                    place.branch().unwrap_or_default()
                );
                return run.block(facts, BlockKind::VerificationFail, reason).await;
            }
            Some(MergeResult::CheckedOut { path }) => {
                let reason = format!(
                    "the workflow's branch is checked out at {}, so it cannot be merged into; check out another \
                     branch there, then unblock the task",
                    path.display()
                );
                return run.block(facts, BlockKind::Dependency, reason).await;
            }
        };
        self.complete(&FinishedOutput { place, result, head: commit }).await
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
        match run.shared.ground.bring(place, facts.workflow.id, &run.author()).await? {
            MergeResult::Conflict { paths, .. } => {
                let turn = WorkerTurn { run, facts };
                Box::pin(turn.start(Purpose::Conflict, TurnReason::Conflict { paths })).await
            }
            // If there is no conflict any more, because the branches changed, the next step merges the work.
            MergeResult::Already { .. } | MergeResult::FastForward { .. } | MergeResult::Merge { .. } => Ok(()),
            MergeResult::HasState { path } => Err(AttemptError::Other(format!(
                "the workflow's branch has {path}, \
                which is Handover's own state; remove it from this branch"
            ))),
            MergeResult::CheckedOut { path } => Err(AttemptError::Other(format!(
                "the workflow's branch is checked out at {}; check out another \
                    branch there",
                path.display()
            ))),
        }
    }

    async fn complete(&self, done: &FinishedOutput) -> Result<(), AttemptError> {
        let (run, facts) = (self.run, self.facts);
        let FinishedOutput { place, result, head } = done;
        let rows = facts.verifications.iter().filter(|row| row.attempt == run.attempt);
        let failed = rows.clone().filter(|row| !row.has_passed()).count();
        let found = rows.clone().find(|row| row.turn == Some(self.turn));
        let cost = facts.spent.usd_micros.map(|micros| Value::Number(float(budget::usd(micros))));
        let word = |verdict: engine::verification::Verdict| Value::from(verdict.as_str());
        let verification = |row: &Verification| {
            object([
                ("mechanical", word(row.mechanical)),
                ("semantic", word(row.semantic)),
                ("attempts", u64::try_from(failed + 1).unwrap_or(u64::MAX).into()),
            ])
        };
        let texts = |texts: &[String]| Value::List(texts.iter().map(|text| Value::from(text.as_str())).collect());
        let detail = object([
            ("output_ref", found.and_then(|row| row.output_ref.clone()).into()),
            ("notes", texts(&result.notes)),
            ("files", texts(&result.files())),
            ("commit", head.clone().into()),
            ("branch", place.branch().map(str::to_owned).into()),
            ("cost_usd", cost.into()),
            ("duration_seconds", (facts.spent.ms / 1_000).into()),
            ("verification", found.map(verification).into()),
        ]);
        let to = Target::Completed {
            outcome: Some(cut(result.outcome())),
            detail: Some(Json::from_stored(detail.to_string())),
            delivery: None,
        };
        run.execute(Command::Move { task: run.task, attempt: Some(run.attempt), to }).await?;
        run.tell(facts, RunEvent::Completed { summary: result.outcome().to_owned() });
        Ok(())
    }
}

/// Returns the problems of a failed verification as text, one problem on each line.
fn complaints(evidence: &VerificationEvidence) -> String {
    let lines = evidence.failed_complaints().into_iter().map(|(code, message)| format!("{code}: {message}"));
    lines.collect::<Vec<_>>().join("\n")
}

fn float(number: f64) -> wire::json::Number {
    wire::json::Number::try_from(number).unwrap_or_else(|_| 0_i64.into())
}
