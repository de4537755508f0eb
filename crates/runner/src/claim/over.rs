//! Decides when a run is over: all its work is done, or nothing more can start until a person does something.

use std::collections::HashMap;

use base::Service;
use base::error::Error;
use base::project::settings::TeamSettings;
use engine::id::{TaskId, WorkflowId};
use engine::list::{TaskQuery, WorkflowFilter, WorkflowQuery};
use engine::task::{Status, Task, TaskState};
use engine::workflow::{Workflow, WorkflowStatus};
use engine::world::UnmetNeed;
use engine::{DecisionStop, Need};

use super::fit;
use super::lack::TaskLack;
use super::prospect::{self, Offered, Prospect};
use super::takers::TaskTakers;

const WORKFLOWS_MAX: u32 = 200;
/// The maximum number of tasks of one workflow that are counted at the start of a run.
const FRESH_MAX: u32 = 500;
/// The largest number of reasons for stuck workflows that are reported at the end. Further reasons are left out.
const REASONS_MAX: usize = 20;

/// The workflows or the task that a run works on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RunScope {
    /// The run works on one workflow until the workflow is over or none of its tasks can continue.
    Workflow(WorkflowId),
    /// The run works on one task until the task is completed or cannot continue.
    Task(TaskId),
    /// The run works on all workflows that are ready or started, until nothing more can start and no turn runs.
    Ready,
    /// The run works on all workflows that are ready or started, also on later ones, until a person stops it.
    Stay,
}

impl RunScope {
    /// Returns true when a task belongs to the work of the run.
    pub fn has(self, task: TaskId, workflow: WorkflowId) -> bool {
        match self {
            Self::Workflow(id) => id == workflow,
            Self::Task(id) => id == task,
            Self::Ready | Self::Stay => true,
        }
    }
}

/// The result of a run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RunEnded {
    Completed,
    /// Work of the run is left, but none of it can start.
    Stuck(StuckRun),
    /// The run has nothing left to do.
    Idle,
    /// A person stopped the run.
    Stopped,
}

/// The reasons why nothing more can start although work is left.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct StuckRun {
    /// All reasons why the run is stuck, one on each line.
    pub reason: String,
    /// The missing requirements of tasks. The store has no record of them, so the end of the run adds them to the list
    /// of things that need a person.
    pub lacks: Vec<TaskLack>,
    /// The sentences about locked workflows, one sentence for each workflow.
    pub locks: Vec<String>,
}

/// The missing requirements of the workflows that were checked.
#[derive(Debug, Default)]
pub(crate) struct KnownLacks {
    found: HashMap<WorkflowId, CheckedWorkflow>,
}

/// The missing requirements that were found in one workflow. `tasks` has the last position in the plan and the number
/// of tasks at that time; they change when tasks are added or removed.
#[derive(Debug)]
struct CheckedWorkflow {
    tasks: (u32, u32),
    lacks: Vec<TaskLack>,
}

impl KnownLacks {
    /// Returns the missing requirements of a workflow. The list is empty for a workflow that lacks nothing.
    pub(crate) fn of(&self, workflow: WorkflowId) -> &[TaskLack] {
        self.found.get(&workflow).map(|known| known.lacks.as_slice()).unwrap_or_default()
    }

    /// Checks a workflow for missing requirements, and returns those that were not known before. A workflow that lacks
    /// nothing is checked again only when tasks were added or removed.
    pub(crate) async fn check(
        &mut self,
        service: &Service,
        settings: &TeamSettings,
        workflow: &Workflow,
    ) -> Result<Vec<TaskLack>, Error> {
        let tasks = (workflow.sequence, workflow.tasks);
        if self.found.get(&workflow.id).is_some_and(|known| known.tasks == tasks && known.lacks.is_empty()) {
            return Ok(Vec::new());
        }
        let lacks = fit::lacks(service, settings, workflow).await?;
        let before = self.found.insert(workflow.id, CheckedWorkflow { tasks, lacks: lacks.clone() });
        let before = before.map(|known| known.lacks).unwrap_or_default();
        Ok(lacks.into_iter().filter(|lack| !before.contains(lack)).collect())
    }
}

/// The facts by which the end of a run is decided.
#[derive(Debug)]
pub(crate) struct RunOutlook<'a> {
    pub(crate) service: &'a Service,
    pub(crate) takers: TaskTakers<'a>,
    pub(crate) lacking: &'a KnownLacks,
}

/// Returns the workflows of a run, the oldest first, so that no workflow waits without end.
pub(crate) async fn workflows(service: &Service, scope: RunScope) -> Result<Vec<Workflow>, Error> {
    match scope {
        RunScope::Workflow(id) => Ok(vec![service.view(move |world| world.workflow(id).cloned()).await?]),
        RunScope::Task(id) => {
            let found = service.view(move |world| world.workflow(world.task(id)?.workflow).cloned());
            Ok(vec![found.await?])
        }
        RunScope::Ready | RunScope::Stay => {
            let statuses = vec![WorkflowStatus::Ready, WorkflowStatus::InProgress];
            let filter = WorkflowFilter { statuses, ..WorkflowFilter::default() };
            let mut rows = service.ask(WorkflowQuery { filter, after: None, offset: 0, limit: WORKFLOWS_MAX }).await?;
            rows.reverse();
            Ok(rows)
        }
    }
}

/// Removes the tasks that cannot start because something is missing. A plan starts as a whole or not at all; the tasks of
/// the standing list are independent of each other.
pub(crate) fn without_lacking(offered: &mut Vec<Offered>, workflow: &Workflow, lacks: &[TaskLack]) {
    if workflow.standing {
        offered.retain(|offered| !lacks.iter().any(|lack| lack.number == offered.task.number));
    } else if !lacks.is_empty() {
        offered.clear();
    }
}

impl RunOutlook<'_> {
    /// Returns the result of a run that is over. Returns `None` while an agent holds a task of the run, or while an
    /// agent of the team could claim one.
    pub(crate) async fn ended(&self, scope: RunScope) -> Result<Option<RunEnded>, Error> {
        match scope {
            RunScope::Stay => Ok(None),
            RunScope::Ready => self.all_ended().await,
            RunScope::Workflow(id) => self.workflow_ended(id).await,
            RunScope::Task(id) => self.task_ended(id).await,
        }
    }

    async fn workflow_ended(&self, id: WorkflowId) -> Result<Option<RunEnded>, Error> {
        let workflow = self.service.view(move |world| world.workflow(id).cloned()).await?;
        let Prospect { status, held, mut offered } = prospect::of(self.service, id).await?;
        if status == WorkflowStatus::Completed {
            // End the run without waiting for tasks of other workflows, which may wait for a person. The runner still
            // waits for the end of its running attempts.
            return Ok(Some(RunEnded::Completed));
        }
        if held > 0 {
            return Ok(None);
        }
        let mut lacks = self.lacking.of(id).to_vec();
        without_lacking(&mut offered, &workflow, &lacks);
        if self.takers.is_wanted(&offered) {
            return Ok(None);
        }
        lacks.extend(self.unwanted(&offered));
        if workflow.standing && lacks.is_empty() {
            // The standing list is never completed, so the run is only idle. The things that its tasks need from a
            // person are reported for each task.
            return Ok(Some(RunEnded::Idle));
        }
        let stuck = if lacks.is_empty() { Some(prospect::why_stuck(self.service, id).await?) } else { None };
        Ok(Some(stuck_run(stuck.into_iter().collect(), (lacks, Vec::new()), None)))
    }

    async fn task_ended(&self, id: TaskId) -> Result<Option<RunEnded>, Error> {
        let task = self.service.view(move |world| world.task(id).cloned()).await?;
        match &task.state {
            TaskState::Planning { .. } | TaskState::InProgress { .. } => return Ok(None),
            TaskState::Completed { .. } | TaskState::Skipped { .. } => return Ok(Some(RunEnded::Completed)),
            TaskState::Pending { .. } | TaskState::Paused { .. } | TaskState::Blocked(_) | TaskState::Failed { .. } => {
            }
        }
        let mut own = prospect::of(self.service, task.workflow).await?.offered;
        own.retain(|offered| offered.task.id == id);
        let known = self.lacking.of(task.workflow).iter().filter(|lack| lack.number == task.number);
        let mut lacks: Vec<TaskLack> = known.cloned().collect();
        if lacks.is_empty() && self.takers.is_wanted(&own) {
            return Ok(None);
        }
        if lacks.is_empty() {
            lacks.extend(self.unwanted(&own));
        }
        if task.unmet > 0 {
            lacks.push(self.waits(&task).await?);
        }
        let reasons = prospect::stuck(&task).into_iter().collect();
        Ok(Some(stuck_run(reasons, (lacks, Vec::new()), None)))
    }

    /// Returns the unmet requirement of a task that waits for other tasks. Its text names these tasks.
    async fn waits(&self, task: &Task) -> Result<TaskLack, Error> {
        let id = task.id;
        let numbers = self.service.view(move |world| {
            let unmet = world.ask(&UnmetNeed(id))?;
            world.want(unmet.iter().map(|(id, _)| Need::Task(*id)))?;
            unmet.iter().map(|(id, _)| Ok(world.task(*id)?.number)).collect::<Result<Vec<u32>, DecisionStop>>()
        });
        let mut numbers = numbers.await?;
        numbers.sort_unstable();
        let first = numbers.first().copied().unwrap_or_default();
        let names: Vec<String> = numbers.iter().map(u32::to_string).collect();
        let text = format!("it waits for task {}; start that first: handover run {first}", names.join(", "));
        Ok(TaskLack::other(task, text))
    }

    /// Returns the result of a run over all workflows. The open tasks of a workflow that is locked or lacks a
    /// requirement do not count, because they cannot be claimed.
    async fn all_ended(&self) -> Result<Option<RunEnded>, Error> {
        let (mut reasons, mut all, mut locks) = (Vec::new(), Vec::new(), Vec::new());
        for workflow in workflows(self.service, RunScope::Ready).await? {
            let Prospect { status, held, mut offered } = prospect::of(self.service, workflow.id).await?;
            if status == WorkflowStatus::Completed || held > 0 {
                return Ok(None);
            }
            let lacks = self.lacking.of(workflow.id);
            all.extend(lacks.iter().map(|lack| (workflow.name.clone(), lack.clone())));
            without_lacking(&mut offered, &workflow, lacks);
            let lock = workflow.lock.as_ref().filter(|lock| lock.until > self.service.now());
            match lock {
                Some(lock) if !offered.is_empty() => locks.push(format!(
                    "{}: the workflow is locked by {}; run again when it is unlocked",
                    workflow.name, lock.owner
                )),
                Some(_) => {}
                None if self.takers.is_wanted(&offered) => return Ok(None),
                None => {
                    all.extend(self.unwanted(&offered).map(|lack| (workflow.name.clone(), lack)));
                    let roles = offered.iter().filter(|offered| !self.takers.has_skill(&offered.task));
                    let roles = roles.filter_map(|offered| prospect::stuck(&offered.task));
                    reasons.extend(roles.map(|text| format!("{}: {text}", workflow.name)));
                }
            }
        }
        if reasons.is_empty() && all.is_empty() && locks.is_empty() {
            return Ok(Some(RunEnded::Idle));
        }
        let (names, lacks): (Vec<String>, Vec<TaskLack>) = all.into_iter().unzip();
        Ok(Some(stuck_run(reasons, (lacks, locks), Some(names))))
    }

    /// Returns the reasons why no agent claims these open tasks. Leaves out two reasons that are reported in other
    /// ways: a role that no agent has, and an agent that rests (cannot work until a person does something).
    fn unwanted<'a>(&'a self, offered: &'a [Offered]) -> impl Iterator<Item = TaskLack> + 'a {
        let unknown = offered.iter().filter(|one| self.takers.has_skill(&one.task) && !self.takers.waits_for_rest(one));
        unknown.map(|offered| match (&offered.review, offered.judged) {
            (Some(named), _) => TaskLack::reviewer(&offered.task, named),
            (None, true) => TaskLack::other(
                &offered.task,
                "the evaluator must judge it, and there is no other agent to work on it".to_owned(),
            ),
            (None, false) => TaskLack::other(
                &offered.task,
                "no agent of .handover/config.toml and .handover/local.toml may work on it".to_owned(),
            ),
        })
    }
}

/// Returns the end of a run that is stuck, with all reasons as one text. For a run over several workflows, `names` has
/// the workflow's name for each entry of `lacks`.
fn stuck_run(
    mut reasons: Vec<String>,
    (lacks, locks): (Vec<TaskLack>, Vec<String>),
    names: Option<Vec<String>>,
) -> RunEnded {
    let names = names.unwrap_or_default().into_iter().map(|name| format!("{name}: "));
    let names = names.chain(std::iter::repeat(String::new()));
    reasons.extend(names.zip(&lacks).map(|(name, lack)| format!("{name}{}", lack.sentence())));
    reasons.extend(locks.iter().cloned());
    reasons.truncate(REASONS_MAX);
    RunEnded::Stuck(StuckRun { reason: reasons.join("\n"), lacks, locks })
}

/// Returns the number of tasks of a run that no agent has worked on yet, at most a few hundred for each workflow.
pub async fn fresh_tasks(service: &Service, scope: RunScope) -> Result<usize, Error> {
    let mut found = 0;
    for workflow in workflows(service, scope).await? {
        let statuses = vec![Status::Pending];
        let list = TaskQuery::Planned { workflow: workflow.id, statuses, after: None, limit: FRESH_MAX };
        let rows = service.ask(list).await?;
        found += rows.iter().filter(|task| task.attempt == 0 && scope.has(task.id, task.workflow)).count();
    }
    Ok(found)
}
