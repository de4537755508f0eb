//! Runs the checks of the project on the branches of plans at the end of a run, including the checks that the settings
//! reserve for that time. Then hands finished plans over to the person.

use engine::condition::ConditionKind;
use engine::delivery::{CheckOutcome, DeliveredWork, UncheckedReason};
use engine::id::{TaskId, WorkflowId};
use engine::workflow::WorkflowStatus;
use engine::{Caller, Command, Rights};
use git::GitProblem;
use git::repository::GitRepository;
use serde_json::{Value, json};

use super::AttemptError;
use super::condition::short;
use super::place::WorktreeGround;
use super::shared::{MergedTask, RunEvent, RunNews, RunnerShared};
use crate::verify::project::BaselineEnd;
use crate::verify::project::baseline::BaselineRecord;

/// The results of the checks on the last commit of a plan's branch.
#[derive(Debug, Default)]
struct TipResults {
    passed: Vec<(String, u64)>,
    /// The first reason why the last commit of the plan's branch counts as unchecked.
    unchecked: Option<UncheckedReason>,
    /// True when a check fails on the plan's branch but passed before the tasks were merged.
    is_broken: bool,
}

impl RunnerShared {
    /// Runs all checks of the project on the last commit of each branch that this run merged into. A check that already
    /// has a stored result for this commit does not run again. A plan whose tasks are all done waits for a person
    /// afterwards, unless its checks fail.
    pub(crate) async fn check_tips(&self) -> Result<(), AttemptError> {
        for (workflow, mut merged) in self.merged() {
            let Some(last) = merged.last_mut() else { continue };
            // Read the last commit of the branch from git. The list `merged` may have two tasks in the wrong order if
            // they were merged at the same time.
            if let Some(tip) = self.ground.branch_tip(&last.branch).await? {
                last.tip = tip;
            }
            let last = last.clone();
            let results = self.check_tip(&merged).await?;
            if !results.is_broken {
                self.deliver_plan(workflow, &last, results.outcome()).await?;
            }
        }
        Ok(())
    }

    async fn check_tip(&self, merged: &[MergedTask]) -> Result<TipResults, AttemptError> {
        let mut results = TipResults::default();
        let (Some(first), Some(last)) = (merged.first(), merged.last()) else { return Ok(results) };
        let branch = &last.branch;
        for check in &self.settings.verify.checks {
            let Some(found) = self.check_commit(&last.tip, check).await? else {
                results.add_unchecked(UncheckedReason::NotRun);
                continue;
            };
            let subject = format!("{branch}: {}", found.command);
            match found.end {
                BaselineEnd::Passes => {
                    self.clear_condition(ConditionKind::TipFailed, &subject).await;
                    results.passed.push((found.command, found.ms));
                }
                BaselineEnd::TimesOut => results.add_unchecked(UncheckedReason::TimedOut { command: found.command }),
                BaselineEnd::NoTests => results.add_unchecked(UncheckedReason::NoCheck),
                BaselineEnd::Unknown => results.add_unchecked(UncheckedReason::NotRun),
                BaselineEnd::Fails => {
                    // If the branch already failed this check at the end of an earlier run, also name the tasks that
                    // were merged before this run, because one of them may be the cause.
                    let mut tasks = self.failed_before(&subject).await?;
                    let before = self.check_commit(&first.base, check).await?;
                    // If no earlier run reported this failure, and the check did not pass before this run merged its
                    // tasks, the tasks are not to blame. The branch then counts as unchecked and not as broken.
                    if tasks.is_empty() && before.is_none_or(|before| before.end != BaselineEnd::Passes) {
                        results.add_unchecked(UncheckedReason::Baseline { command: found.command });
                        continue;
                    }
                    tasks.extend(merged.iter().map(|task| task.name.clone()));
                    tasks.dedup();
                    results.is_broken = true;
                    self.tip_failed((branch, &subject), &found, tasks).await;
                }
            }
        }
        Ok(results)
    }

    /// Returns the names of the tasks that earlier runs merged since the branch passed this check for the last time.
    async fn failed_before(&self, subject: &str) -> Result<Vec<String>, AttemptError> {
        let subject = short(subject);
        let known = self.service.view(move |world| Ok(world.condition(ConditionKind::TipFailed, &subject)?.cloned()));
        let Some(known) = known.await? else { return Ok(Vec::new()) };
        let detail: Value = serde_json::from_str(known.detail.as_str()).unwrap_or_default();
        let tasks = detail["tasks"].as_array().map(Vec::as_slice).unwrap_or_default();
        Ok(tasks.iter().filter_map(|task| task.as_str().map(str::to_owned)).collect())
    }

    async fn tip_failed(&self, (branch, subject): (&str, &str), found: &BaselineRecord, tasks: Vec<String>) {
        let (command, last_line) = (found.command.clone(), found.last_line.clone());
        let title = format!("{command} fails on {branch} after {}", tasks.join(", "));
        let detail = json!({"branch": branch, "command": command, "last_line": last_line, "tasks": tasks});
        self.set_condition(ConditionKind::TipFailed, (subject, title), &detail).await;
        let what = RunEvent::TipFailed { branch: branch.to_owned(), command, last_line, tasks };
        let (name, agent) = (branch.to_owned(), "runner".to_owned());
        self.tell(RunNews { task: TaskId::FIRST, number: None, name, agent, what });
    }

    /// Records the branch of a plan whose tasks are all done. Its work waits for a person, who merges it as a whole.
    async fn deliver_plan(
        &self,
        workflow: WorkflowId,
        last: &MergedTask,
        check: CheckOutcome,
    ) -> Result<(), AttemptError> {
        let row = self.service.view(move |world| world.workflow(workflow).cloned()).await?;
        if row.status != WorkflowStatus::Completed {
            return Ok(());
        }
        let Some(work) = self.ground.plan_work(last).await? else { return Ok(()) };
        let deliver = Command::DeliverWorkflow { workflow, check, work: Box::new(work) };
        self.service.execute(Caller::with_rights(Rights::Runner), deliver).await?;
        Ok(())
    }
}

impl TipResults {
    fn add_unchecked(&mut self, why: UncheckedReason) {
        self.unchecked.get_or_insert(why);
    }

    /// Returns the combined result of all checks on a plan's branch. The branch counts as checked only when every check
    /// passed.
    fn outcome(self) -> CheckOutcome {
        let why = self.unchecked.or_else(|| self.passed.is_empty().then_some(UncheckedReason::NoCheck));
        if let Some(why) = why {
            return CheckOutcome::Unchecked { why };
        }
        let ms = self.passed.iter().map(|(_, ms)| ms).sum();
        let commands: Vec<String> = self.passed.into_iter().map(|(command, _)| command).collect();
        CheckOutcome::Checked { command: commands.join(" and "), ms }
    }
}

impl WorktreeGround {
    /// Returns the work on a plan's branch, compared with the branch that the person has checked out. Returns `None` when
    /// the person's branch has all of it.
    async fn plan_work(&self, last: &MergedTask) -> Result<Option<DeliveredWork>, GitProblem> {
        let repository = GitRepository::find(&self.git, &self.root).await?;
        let person = repository.base(&self.git, None).await?;
        let base = repository.fork(&self.git, &last.tip, &person.commit).await?.unwrap_or(person.commit);
        let changes = self.changes(&[&base], &last.tip).await?;
        if changes.files == 0 {
            return Ok(None);
        }
        let is_commit = person.name.len() >= 40 && person.name.chars().all(|letter| letter.is_ascii_hexdigit());
        Ok(Some(DeliveredWork {
            branch: last.branch.clone(),
            base_branch: (!is_commit).then_some(person.name),
            base,
            commit: last.tip.clone(),
            tree: self.tree_of_commit(&last.tip).await?,
            files: changes.files,
            added: changes.added,
            removed: changes.removed,
            tries: 1,
        }))
    }
}
