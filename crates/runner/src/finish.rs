//! Handles an output that says "done": commits the work, checks and verifies it, merges exactly the commit that was
//! checked, and completes the task after the merge.

pub(crate) mod checks;
mod complete;
mod evaluate;
mod merge;
pub(crate) mod review;

use engine::Command;
use engine::command::RecordVerification;
use engine::id::TurnId;
use engine::task::BlockKind;
use engine::view::AttemptView as Facts;
use wire::message::OutputType;

use crate::attempt::place::{WorkPlace, left};
use crate::attempt::setup::{CommandSite, SetupEnd};
use crate::attempt::shared::{CheckFailure, RunEvent};
use crate::attempt::tree::ChangeCount;
use crate::attempt::{AttemptError, AttemptRun, NO_CHANGES};
use crate::outcome::AgentResult;
use crate::verify::project::{CheckedWork, ProjectCheckResult, ProjectVerdict};
use crate::verify::{
    self, CheckEnded, EvaluatorQuestion, VerificationEnd, VerificationEvidence, VerificationFound, VerificationOrder,
    VerificationProgress,
};
use base::project::task_extra::TaskExtra;
use git::branch::{CommitResult, MergeResult};

/// An output that says "done", with the folder of the work and the commit of the work.
#[derive(Debug)]
struct FinishedOutput {
    place: WorkPlace,
    result: AgentResult,
    /// The commit with the agent's work. `None` outside of git.
    work: Option<CommittedWork>,
}

/// The work of a task as one commit. Exactly this commit is checked and merged.
#[derive(Debug, Clone)]
struct CommittedWork {
    commit: String,
    tree: String,
    changes: ChangeCount,
}

/// The last stage of an attempt, after a turn whose output says "done".
pub(crate) struct FinishStage<'a> {
    pub(crate) run: &'a AttemptRun,
    pub(crate) facts: &'a Facts,
    pub(crate) turn: TurnId,
}

impl FinishStage<'_> {
    /// Commits, checks and verifies the output, and records the result. The recorded result decides the next step of
    /// the attempt.
    pub(crate) async fn verify(&self) -> Result<(), AttemptError> {
        let (run, facts) = (self.run, self.facts);
        let place = run.place(facts).await?;
        let result = run.result(self.turn)?;
        let work = match self.commit(&place, &result).await? {
            Ok(work) => work,
            Err(unmended) => {
                let reason = format!("the task's files still have conflict markers: {}", unmended.join(", "));
                return run.block(facts, BlockKind::Dependency, reason).await;
            }
        };
        let done = FinishedOutput { place, result, work };
        if let Some(work) = &done.work {
            let summary = done.result.outcome().to_owned();
            if work.changes.files == 0 && self.was_to_change_files()? {
                return self.no_changes(&summary).await;
            }
            if let Some(path) = run.shared.ground.state_in(&work.commit).await? {
                return self.refused(&done.place, &MergeResult::HasState { path }).await;
            }
            let ChangeCount { files, added, removed, .. } = work.changes;
            run.tell(facts, RunEvent::Finished { files, added, removed, summary });
            run.shared.begin_checks(run.task, run.attempt, &work.tree)?;
        }
        let project = match run.prepare(facts, &done.place).await? {
            SetupEnd::Failed { failure, is_by_task: true } => {
                let last_line = verify::project::last_line(&failure.result.tail);
                vec![ProjectCheckResult { verdict: ProjectVerdict::Failed, runs: 1, last_line, last: failure.result }]
            }
            SetupEnd::Failed { failure, is_by_task: false } => return Err(AttemptError::Setup(failure.problem())),
            SetupEnd::Ready => self.project_checks(&done).await?,
        };
        let end = self.verification(&done, project).await?;
        run.shared.end_checks(&done.place, run.task, run.attempt).await?;
        match end {
            VerificationEnd::Found(found) => self.record(*found, done.place.base_name()).await,
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

    /// Returns true when the task was to change files: it has no brief, or its output is a file or a pull request.
    fn was_to_change_files(&self) -> Result<bool, AttemptError> {
        let brief = verify::stored_brief(&self.facts.detail)?;
        Ok(brief.is_none_or(|brief| matches!(brief.output_contract.kind, OutputType::File | OutputType::Pr)))
    }

    /// Blocks a task that was to change files and changed none.
    async fn no_changes(&self, summary: &str) -> Result<(), AttemptError> {
        let (run, facts) = (self.run, self.facts);
        run.tell(facts, RunEvent::NoChanges { summary: summary.to_owned() });
        let reason = format!("{NO_CHANGES}: the task was to change files and changed none; the agent said: {summary}");
        run.block(facts, BlockKind::VerificationFail, reason).await
    }

    async fn verification(
        &self,
        done: &FinishedOutput,
        project: Vec<ProjectCheckResult>,
    ) -> Result<VerificationEnd, AttemptError> {
        let (run, facts) = (self.run, self.facts);
        let tree = done.work.as_ref().map(|work| work.tree.clone());
        let Some(brief) = verify::stored_brief(&facts.detail)? else {
            let commit = done.work.as_ref().map(|work| work.commit.clone());
            let found = VerificationFound::without_contract(commit, tree, project);
            return Ok(VerificationEnd::Found(Box::new(found)));
        };
        let contract = verify::resolve(&run.shared.settings, &brief.output_contract)
            .map_err(|problem| AttemptError::Other(problem.to_string()))?;
        let (base, seen) = match &done.place {
            WorkPlace::Worktree { base_commit, .. } => {
                let base = Some(base_commit.as_str());
                (base, verify::tree(&run.shared.ground.git, done.place.path(), base).await?)
            }
            WorkPlace::Folder(_) => (None, verify::CheckedTree::default()),
        };
        let commit = done.work.as_ref().map(|work| work.commit.clone());
        let known = verify::TurnFacts {
            output_ref: None,
            said: done.result.reference.clone(),
            artifacts: done.result.files(),
            changed: seen.changed,
            has_remote: seen.has_remote,
            commit: commit.clone().filter(|head| base != Some(head)),
        };
        let (binary, turn) = (agents::host::own_binary()?, self.turn.to_string());
        let folder = run.shared.attempt_folder(run.task, run.attempt);
        let slot = done.place.slot();
        let site = CommandSite { worktree: done.place.path(), slot, folder: &folder, mark: &turn };
        let environment = run.shared.command_environment(site);
        let author = TaskExtra::of(&facts.detail).planned_by;
        let order = VerificationOrder {
            service: &run.shared.service,
            task: run.task,
            attempt: run.attempt,
            holder: run.worker.agent,
            author: author.as_deref(),
            contract: &contract,
            facts: &known,
            place: verify::CheckPlace {
                kept_in: Some(&run.shared.state),
                ..run.shared.check_place(site, (&binary, &environment), commit.as_deref())
            },
            project,
            pauses: true,
            caller: run.shared.caller(run.worker.agent),
        };
        let mut progress = |progress: VerificationProgress<'_>| {
            if let VerificationProgress::Check { command, .. } = progress {
                run.tell(facts, RunEvent::Checking { command: command.join(" ") });
            }
        };
        let evaluate = async |question: EvaluatorQuestion| run.evaluate(facts, &question).await;
        let mut end = verify::verify_output(&order, evaluate, &mut progress).await?;
        if let VerificationEnd::Found(found) = &mut end {
            found.evidence.tree = tree;
        }
        Ok(end)
    }

    /// Commits all work in the worktree. Returns the committed work, or the paths of files that still have conflict
    /// markers of a merge.
    async fn commit(
        &self,
        place: &WorkPlace,
        result: &AgentResult,
    ) -> Result<Result<Option<CommittedWork>, Vec<String>>, AttemptError> {
        let (run, facts) = (self.run, self.facts);
        let (name, summary) = (&facts.task.name, result.outcome());
        let message = format!("{name}\n\n{summary}\n\nTask: {}\nAttempt: {}", run.task, run.attempt);
        let message: String = message.chars().take(8_000).collect();
        let ground = &run.shared.ground;
        Ok(match ground.commit(place, &message, &run.author()).await? {
            None => Ok(None),
            Some(CommitResult::Clean { head, left: rest } | CommitResult::Commit { head, left: rest }) => {
                for text in left(&rest) {
                    run.tell(facts, RunEvent::Warning { text });
                }
                let tree = ground.tree_of_commit(&head).await?;
                let changes = match place {
                    WorkPlace::Worktree { base_commit, line, .. } => {
                        ground.changes(&[base_commit, &line.tip], &head).await?
                    }
                    WorkPlace::Folder(_) => ChangeCount::default(),
                };
                Ok(Some(CommittedWork { commit: head, tree, changes }))
            }
            Some(CommitResult::Unmended { paths }) => Err(paths),
        })
    }

    async fn record(&self, found: VerificationFound, base: &str) -> Result<(), AttemptError> {
        let (run, passed) = (self.run, found.has_passed());
        let events = events(&found.evidence, passed, base);
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
        events.into_iter().for_each(|event| run.tell(self.facts, event));
        Ok(())
    }
}

/// Returns the events that show the result of a recorded verification to the person.
fn events(evidence: &VerificationEvidence, passed: bool, base: &str) -> Vec<RunEvent> {
    if passed {
        return vec![match evidence.checked_work() {
            CheckedWork::Checked { command, ms } => RunEvent::Checked { command, ms, flaky: None },
            CheckedWork::CheckedFlaky { command, run, of, ms } => {
                RunEvent::Checked { command, ms, flaky: Some((run, of)) }
            }
            CheckedWork::Unchecked(why) => RunEvent::Unchecked { why: why.told(base) },
            CheckedWork::Failed => return Vec::new(),
        }];
    }
    let failed = evidence.project.iter().filter(|check| check.verdict == ProjectVerdict::Failed);
    let checks: Vec<RunEvent> = failed
        .map(|check| RunEvent::CheckFailed {
            command: check.command(),
            end: failure(check),
            runs: check.runs,
            last_line: check.last_line.clone(),
        })
        .collect();
    if !checks.is_empty() {
        return checks;
    }
    let lines = evidence.failed_complaints().into_iter().map(|(code, message)| format!("{code}: {message}"));
    vec![RunEvent::Rejected { problem: lines.collect::<Vec<_>>().join("\n") }]
}

/// Returns the way in which a failed check ended, in the form that the screen shows.
fn failure(check: &ProjectCheckResult) -> CheckFailure {
    match (&check.last.ended, check.last.exit_code) {
        (CheckEnded::Exited, Some(code)) => CheckFailure::Exited(code),
        (CheckEnded::Signalled { signal }, _) => CheckFailure::Signalled(*signal),
        (CheckEnded::TooMuchOutput, _) => CheckFailure::TooMuchOutput,
        (CheckEnded::Exited | CheckEnded::TimedOut | CheckEnded::NotStarted { .. }, _) => CheckFailure::Other,
    }
}
