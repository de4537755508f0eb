//! A plan in memory. The functions in this file find mistakes in a plan before the transaction that stores the plan
//! begins.

mod cycle;
mod task;

use std::collections::{BTreeMap, HashMap, HashSet};

use serde::{Deserialize, Serialize};

pub use self::task::PlanTask;
use self::task::check_task;
use crate::id::{Ids, TaskId, WorkflowId};
use crate::limits;
use crate::refusal::Refusal;
use crate::task::{Task, TaskDetail, TaskState};
use crate::time::Timestamp;

/// A piece of a plan: a bounded number of tasks and dependencies, in the form of database rows.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct PlanPiece {
    pub tasks: Vec<(Task, TaskDetail)>,
    /// The dependencies of the tasks. Each pair has the id of a task and the id of a task that it waits for.
    pub edges: Vec<(TaskId, TaskId)>,
}

/// A plan that was checked: it has no cycles, unknown names or duplicates.
#[derive(Debug, Clone)]
pub struct Plan {
    tasks: Vec<PlanTask>,
    /// Dependencies between tasks of the plan. Each pair has the positions of a task and of a task that it waits for.
    inside: Vec<(usize, usize)>,
    /// Dependencies on tasks that already exist: the position of the waiting task, and the name of the existing task.
    outside: Vec<(usize, String)>,
}

/// The place in a workflow at which the tasks of a plan are inserted.
#[derive(Debug)]
pub struct PlanPlace<'a> {
    pub workflow: WorkflowId,
    /// The position in the workflow's plan after which the new tasks are placed.
    pub sequence: u32,
    pub now: Timestamp,
    /// The existing tasks: for each name, the id of the task, and true when the task is completed or skipped.
    pub existing: &'a BTreeMap<String, (TaskId, bool)>,
}

impl Plan {
    /// Creates a complete plan. Refuses a dependency on a task that is not in the plan.
    pub fn whole(tasks: Vec<PlanTask>) -> Result<Self, Refusal> {
        let plan = Self::amending(tasks)?;
        if let Some((position, dependency)) = plan.outside.first() {
            let task = plan.tasks[*position].name.clone();
            return Err(Refusal::UnknownDependency { task, dependency: dependency.clone() });
        }
        let names: HashSet<&str> = plan.tasks.iter().map(|task| task.name.as_str()).collect();
        for task in &plan.tasks {
            if let Some(name) = task.context_from.iter().find(|name| !names.contains(name.as_str())) {
                return Err(Refusal::input(
                    "context_from",
                    format!("of {} names {name}, which is not in the plan", task.name),
                ));
            }
        }
        Ok(plan)
    }

    /// Creates a plan that is added to a workflow. Its tasks may depend on tasks that already exist.
    pub fn amending(tasks: Vec<PlanTask>) -> Result<Self, Refusal> {
        if tasks.len() > limits::PLAN_TASKS_MAX {
            return Err(Refusal::input("tasks", format!("has more than {} tasks", limits::PLAN_TASKS_MAX)));
        }
        let mut positions = HashMap::with_capacity(tasks.len());
        for (position, task) in tasks.iter().enumerate() {
            check_task(task)?;
            if positions.insert(task.name.as_str(), position).is_some() {
                return Err(Refusal::DuplicateTaskName { name: task.name.clone() });
            }
        }
        let mut inside = Vec::new();
        let mut outside = Vec::new();
        let mut seen = HashSet::new();
        for (position, task) in tasks.iter().enumerate() {
            seen.clear();
            for name in &task.depends_on {
                if !seen.insert(name.as_str()) {
                    continue;
                }
                match positions.get(name.as_str()) {
                    Some(dependency) if *dependency == position => {
                        return Err(Refusal::SelfDependency { task: task.name.clone() });
                    }
                    Some(dependency) => inside.push((position, *dependency)),
                    None => outside.push((position, name.clone())),
                }
            }
        }
        if inside.len() > limits::PLAN_EDGES_MAX {
            return Err(Refusal::input("tasks", format!("have more than {} dependencies", limits::PLAN_EDGES_MAX)));
        }
        if let Some(cycle) = cycle::find_cycle(tasks.len(), &inside) {
            let names = cycle.into_iter().map(|position| tasks[position].name.clone()).collect();
            return Err(Refusal::DependencyCycle { cycle: names });
        }
        Ok(Self { tasks, inside, outside })
    }

    pub fn len(&self) -> usize {
        self.tasks.len()
    }

    pub fn is_empty(&self) -> bool {
        self.tasks.is_empty()
    }

    /// Returns the names of the existing tasks that the plan names as dependencies or in `context_from` (the tasks
    /// whose results a task builds on).
    pub fn outside_names(&self) -> impl Iterator<Item = &str> {
        let from = self.tasks.iter().flat_map(|task| task.context_from.iter().map(String::as_str));
        self.outside.iter().map(|(_, name)| name.as_str()).chain(from.filter(|name| !self.has(name)))
    }

    fn has(&self, name: &str) -> bool {
        self.tasks.iter().any(|task| task.name == name)
    }

    /// Returns the names of the plan's parallel groups (tasks that are planned to run at the same time), in the order
    /// of their first use.
    pub fn groups(&self) -> Vec<String> {
        let mut groups: Vec<String> = Vec::new();
        for group in self.tasks.iter().filter_map(|task| task.group.as_ref()) {
            if groups.len() < limits::PAGE_ROWS_MAX && !groups.contains(group) {
                groups.push(group.clone());
            }
        }
        groups
    }

    /// Turns the plan into database rows. Refuses a dependency on a task that is neither in the plan nor in
    /// `place.existing`.
    pub fn lay_out(self, place: &PlanPlace<'_>, ids: &mut Ids) -> Result<PlanPiece, Refusal> {
        let own: Vec<TaskId> = self.tasks.iter().map(|_| TaskId::next(ids)).collect();
        let mut unmet = vec![0_u32; self.tasks.len()];
        let mut edges = Vec::with_capacity(self.inside.len() + self.outside.len());
        for (task, dependency) in &self.inside {
            unmet[*task] += 1;
            edges.push((own[*task], own[*dependency]));
        }
        let mut outside = HashSet::new();
        for (task, name) in &self.outside {
            let unknown =
                || Refusal::UnknownDependency { task: self.tasks[*task].name.clone(), dependency: name.clone() };
            let (dependency, met) = place.existing.get(name).ok_or_else(unknown)?;
            // A task may name the same dependency twice, by name and by id. Such a dependency is counted once.
            if outside.insert((*task, *dependency)) {
                unmet[*task] += u32::from(!met);
                edges.push((own[*task], *dependency));
            }
        }
        edges.sort_unstable();
        let by_name: HashMap<String, TaskId> =
            self.tasks.iter().zip(&own).map(|(task, id)| (task.name.clone(), *id)).collect();
        let mut tasks = Vec::with_capacity(self.tasks.len());
        for (offset, planned) in (1_u32..).zip(self.tasks) {
            let position = tasks.len();
            let spot = PlanSpot { id: own[position], sequence: place.sequence + offset, unmet: unmet[position] };
            tasks.push(row(planned, spot, place, &by_name)?);
        }
        Ok(PlanPiece { tasks, edges })
    }
}

impl PlanPiece {
    pub fn rows(&self) -> usize {
        self.tasks.len() + self.edges.len()
    }

    /// Splits the rows of a plan into pieces, so that one transaction can write each piece quickly.
    pub fn split(self) -> Vec<Self> {
        let size = limits::PIECE_ROWS_MAX;
        let mut pieces = Vec::new();
        let mut tasks = self.tasks.into_iter().peekable();
        while tasks.peek().is_some() {
            pieces.push(Self { tasks: tasks.by_ref().take(size).collect(), edges: Vec::new() });
        }
        let mut edges = self.edges.into_iter().peekable();
        while edges.peek().is_some() {
            pieces.push(Self { tasks: Vec::new(), edges: edges.by_ref().take(size).collect() });
        }
        pieces
    }

    /// Returns the names and ids of the plan's tasks for the reply: at most [`limits::PAGE_ROWS_MAX`] of them.
    pub fn named(&self) -> Vec<(String, TaskId)> {
        self.tasks.iter().take(limits::PAGE_ROWS_MAX).map(|(task, _)| (task.name.clone(), task.id)).collect()
    }
}

/// The id and the position of one task of a plan, and the number of its unmet dependencies.
#[derive(Clone, Copy)]
struct PlanSpot {
    id: TaskId,
    sequence: u32,
    unmet: u32,
}

fn row(
    planned: PlanTask,
    spot: PlanSpot,
    place: &PlanPlace<'_>,
    own: &HashMap<String, TaskId>,
) -> Result<(Task, TaskDetail), Refusal> {
    let PlanSpot { id, sequence, unmet } = spot;
    let mut context_from = Vec::with_capacity(planned.context_from.len());
    for name in &planned.context_from {
        let found = own.get(name).copied().or_else(|| place.existing.get(name).map(|(id, _)| *id));
        context_from
            .push(found.ok_or_else(|| Refusal::input("context_from", format!("names {name}, which does not exist")))?);
    }
    let task = Task {
        id,
        workflow: place.workflow,
        // The number stays 0 here. The command that inserts the task into the store gives the task its number.
        number: 0,
        name: planned.name,
        sequence,
        priority: planned.priority,
        role: planned.role,
        capabilities: planned.capabilities,
        touches: planned.touches,
        group: planned.group,
        verify: planned.verify,
        review: planned.review,
        gate: planned.gate,
        limited: planned.limited,
        // The author stays `None` here. The command that inserts the task into the store sets the author.
        author: None,
        attempts_max: planned.attempts_max,
        attempt: 0,
        crashes: 0,
        unmet,
        checkpoints: 0,
        repository: planned.repository,
        workspace: None,
        state: TaskState::Pending { lease: None },
        created: place.now,
        updated: place.now,
    };
    let detail = TaskDetail {
        description: planned.description,
        brief: planned.brief,
        plan: None,
        context: planned.context,
        context_from,
        extra: planned.extra,
        outcome_detail: None,
    };
    Ok((task, detail))
}

#[cfg(test)]
#[path = "plan_tests.rs"]
mod tests;
