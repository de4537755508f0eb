//! Describes the finished work of tasks and plans for people: the agent that did it, the commit from which it started,
//! the result of its checks, and its cost.

use engine::agent::Agent;
use engine::delivery::{
    CheckOutcome, DeliveredWork, Delivery, DeliveryState, DeliverySubject, UncheckedReason, WorkflowDelivery,
};
use engine::list::{DeliveryQuery, SpentQuery, Whose, WorkflowDeliveryQuery};
use engine::task::{Task, TaskState};
use engine::turn::Spent;
use engine::workflow::Workflow;
use engine::{DecisionStop, Need, Timestamp, World};
use wire::json::{Value, object};

use super::task_choice::NamedWork;
use crate::error::Error;
use crate::ground::words;
use crate::service::Service;

/// The maximum number of rows of finished work that one read from the store returns.
const SEARCHED: u32 = 500;
/// The time in milliseconds after which a merge or a drop can no longer be undone: 30 days. Older merges and drops are
/// not searched.
const SEARCHED_MS: i64 = 30 * 24 * 60 * 60 * 1_000;
/// The number of digits of a commit id that messages to people show.
const SHORT_CHARS: usize = 7;

/// Finished work in git, with the names of its task or plan.
#[derive(Debug, Clone, PartialEq)]
pub struct FinishedWork {
    pub subject: DeliverySubject,
    /// The number of the task. `None` for a plan.
    pub number: Option<u32>,
    pub name: String,
    /// The slug and the name of the agent that did the work. `None` for a plan, which several agents worked on.
    pub agent: Option<(String, String)>,
    /// The last words of the agent, in which it says what it did.
    pub outcome: Option<String>,
    pub check: CheckOutcome,
    pub work: DeliveredWork,
    pub state: DeliveryState,
    pub spent: Spent,
    pub attempt: u32,
    pub created: Timestamp,
}

/// Returns the finished work of a task or plan, or `None` when it has none.
pub async fn find(service: &Service, of: &NamedWork) -> Result<Option<FinishedWork>, Error> {
    let of = of.clone();
    service
        .view(move |world| match &of {
            NamedWork::Task(task) => {
                let delivery = world.delivery(task.id)?.cloned();
                delivery.map(|delivery| of_task(world, &delivery)).transpose()
            }
            NamedWork::Plan(plan) => {
                let delivery = world.workflow_delivery(plan.id)?.cloned();
                delivery.map(|delivery| of_plan(world, &delivery)).transpose()
            }
        })
        .await
}

/// Returns the finished work of all tasks that waits for a person to merge it, in the order in which it was finished.
pub async fn waiting(service: &Service) -> Result<Vec<FinishedWork>, Error> {
    service
        .view(|world| {
            let rows = world.ask(&DeliveryQuery::Waiting { after: None, limit: SEARCHED })?.clone();
            world.want(rows.iter().flat_map(|row| [Need::Task(row.task), Need::Agent(row.agent)]))?;
            rows.iter().map(|row| of_task(world, row)).collect()
        })
        .await
}

/// Returns the finished work of all plans that waits for a person to merge it, in the order in which it was finished.
pub async fn waiting_plans(service: &Service) -> Result<Vec<FinishedWork>, Error> {
    service
        .view(|world| {
            let rows = world.ask(&WorkflowDeliveryQuery::Waiting { after: None, limit: SEARCHED })?.clone();
            world.want(rows.iter().map(|row| Need::Workflow(row.workflow)))?;
            rows.iter().map(|row| of_plan(world, row)).collect()
        })
        .await
}

/// Returns the work that was merged last, or `None` when nothing was merged in the last 30 days.
pub async fn last_merged(service: &Service) -> Result<Option<FinishedWork>, Error> {
    let since = Timestamp(service.now().0.saturating_sub(SEARCHED_MS));
    service
        .view(move |world| {
            let tasks = changed_tasks(world, since)?;
            let plans = changed_plans(world, since)?;
            let merged = |state: &DeliveryState| match state {
                DeliveryState::Merged { at, .. } => Some(*at),
                DeliveryState::Waiting | DeliveryState::InPlan { .. } | DeliveryState::Dropped { .. } => None,
            };
            let task = tasks.iter().filter_map(|row| Some((merged(&row.state)?, row))).max_by_key(|(at, _)| *at);
            let plan = plans.iter().filter_map(|row| Some((merged(&row.state)?, row))).max_by_key(|(at, _)| *at);
            Ok(match (task, plan) {
                (Some((at, task)), Some((later, _))) if at >= later => Some(of_task(world, task)?),
                (_, Some((_, plan))) => Some(of_plan(world, plan)?),
                (Some((_, task)), None) => Some(of_task(world, task)?),
                (None, None) => None,
            })
        })
        .await
}

/// Returns the work of tasks that a person dropped in the last 30 days, oldest first.
pub async fn dropped(service: &Service) -> Result<Vec<FinishedWork>, Error> {
    let since = Timestamp(service.now().0.saturating_sub(SEARCHED_MS));
    service
        .view(move |world| {
            let rows = changed_tasks(world, since)?;
            let dropped = rows.iter().filter(|row| matches!(row.state, DeliveryState::Dropped { .. }));
            dropped.map(|row| of_task(world, row)).collect()
        })
        .await
}

/// Returns the finished work of all tasks whose work was merged, dropped or otherwise changed since a time. Reads all
/// pages.
fn changed_tasks(world: &World, since: Timestamp) -> Result<Vec<Delivery>, DecisionStop> {
    let (mut all, mut after) = (Vec::new(), None);
    loop {
        let page = world.ask(&DeliveryQuery::ChangedSince { since, after, limit: SEARCHED })?;
        all.extend(page.iter().cloned());
        match page.last().filter(|_| page.len() >= usize::try_from(SEARCHED).unwrap_or(usize::MAX)) {
            Some(last) => after = Some((last.updated, last.task)),
            None => return Ok(all),
        }
    }
}

/// Returns the finished work of all plans whose work was merged, dropped or otherwise changed since a time. Reads all
/// pages.
fn changed_plans(world: &World, since: Timestamp) -> Result<Vec<WorkflowDelivery>, DecisionStop> {
    let (mut all, mut after) = (Vec::new(), None);
    loop {
        let page = world.ask(&WorkflowDeliveryQuery::ChangedSince { since, after, limit: SEARCHED })?;
        all.extend(page.iter().cloned());
        match page.last().filter(|_| page.len() >= usize::try_from(SEARCHED).unwrap_or(usize::MAX)) {
            Some(last) => after = Some((last.updated, last.workflow)),
            None => return Ok(all),
        }
    }
}

fn of_task(world: &World, row: &Delivery) -> Result<FinishedWork, DecisionStop> {
    world.want([Need::Task(row.task), Need::Agent(row.agent)])?;
    let task: &Task = world.task(row.task)?;
    let agent: &Agent = world.agent(row.agent)?;
    let outcome = match &task.state {
        TaskState::Completed { outcome, .. } => Some(outcome.clone()).filter(|text| !text.is_empty()),
        TaskState::Pending { .. }
        | TaskState::Planning { .. }
        | TaskState::InProgress { .. }
        | TaskState::Paused { .. }
        | TaskState::Blocked(_)
        | TaskState::Failed { .. }
        | TaskState::Skipped { .. } => None,
    };
    Ok(FinishedWork {
        subject: DeliverySubject::Task(row.task),
        number: Some(task.number),
        name: task.name.clone(),
        agent: Some((agent.slug.clone(), agent.name.clone())),
        outcome,
        check: row.check.clone(),
        work: row.work.clone(),
        state: row.state.clone(),
        spent: *world.ask(&SpentQuery(Whose::Task(row.task)))?,
        attempt: row.attempt,
        created: row.created,
    })
}

fn of_plan(world: &World, row: &WorkflowDelivery) -> Result<FinishedWork, DecisionStop> {
    let plan: &Workflow = world.workflow(row.workflow)?;
    Ok(FinishedWork {
        subject: DeliverySubject::Workflow(row.workflow),
        number: None,
        name: plan.name.clone(),
        agent: None,
        outcome: None,
        check: row.check.clone(),
        work: row.work.clone(),
        state: row.state.clone(),
        spent: *world.ask(&SpentQuery(Whose::Workflow(row.workflow)))?,
        attempt: 0,
        created: row.created,
    })
}

impl FinishedWork {
    /// Returns the words with which a person names this work in a command: the number of the task, or the plan's name.
    pub fn argument(&self) -> String {
        self.number.map_or_else(|| format!("\"{}\"", self.name), |number| number.to_string())
    }

    /// Returns the agent, the number of tries, the cost and the start of the work: `claude, 2 tries, $0.42; from main
    /// at 4f2c1aa`.
    pub fn origin(&self) -> String {
        let tries = words::count(self.work.tries.max(1), "try");
        let cost = words::cost(self.spent.usd_micros, words::CostKnowledge::Complete);
        let base = short(&self.work.base);
        let from = match &self.work.base_branch {
            Some(branch) => format!("from {branch} at {base}"),
            None => format!("from {base}"),
        };
        match &self.agent {
            Some((slug, _)) => format!("{slug}, {tries}, {cost}; {from}"),
            None => format!("{cost}; {from}"),
        }
    }

    /// Returns the result of the checks in words, such as `checked: npm test passed in 6.5 s`.
    pub fn checked(&self) -> String {
        let base = self.work.base_branch.as_deref().unwrap_or("the commit that it started from");
        checked_words(&self.check, base)
    }

    /// Returns the size of the change in words, such as `3 files, +61 −12`.
    pub fn size(&self) -> String {
        size_words(self.work.files.into(), self.work.added.into(), self.work.removed.into())
    }

    /// Returns true when the checks of the project passed on the work.
    pub fn is_checked(&self) -> bool {
        match self.check {
            CheckOutcome::Checked { .. } | CheckOutcome::CheckedFlaky { .. } => true,
            CheckOutcome::Unchecked { .. } | CheckOutcome::NoChanges => false,
        }
    }

    /// Returns the work as JSON, for programs.
    pub fn to_value(&self) -> Value {
        let id = match self.subject {
            DeliverySubject::Task(task) => ("task_id", task.to_string()),
            DeliverySubject::Workflow(workflow) => ("workflow_id", workflow.to_string()),
        };
        let work = &self.work;
        object([
            (id.0, id.1.into()),
            ("number", self.number.map(u64::from).into()),
            ("name", self.name.as_str().into()),
            ("agent", self.agent.as_ref().map(|(slug, _)| slug.as_str()).into()),
            ("state", self.state.status().as_str().into()),
            ("checked", self.is_checked().into()),
            ("check", self.checked().into()),
            ("summary", self.outcome.clone().into()),
            ("branch", work.branch.as_str().into()),
            ("base_branch", work.base_branch.clone().into()),
            ("base", work.base.as_str().into()),
            ("commit", work.commit.as_str().into()),
            ("files", u64::from(work.files).into()),
            ("added", u64::from(work.added).into()),
            ("removed", u64::from(work.removed).into()),
            ("tries", u64::from(work.tries).into()),
            ("usd_micros", self.spent.usd_micros.into()),
        ])
    }
}

/// Returns the result of checks in words. `base` is the name of the branch from which the work started.
pub fn checked_words(check: &CheckOutcome, base: &str) -> String {
    match check {
        CheckOutcome::Checked { command, ms } => format!("checked: {command} passed in {}", words::duration(*ms)),
        CheckOutcome::CheckedFlaky { command, run, of, ms } => {
            format!("checked, flaky: {command} passed on run {run} of {of} in {}", words::duration(*ms))
        }
        CheckOutcome::Unchecked { why } => format!("unchecked: {}", unchecked_words(why, base)),
        CheckOutcome::NoChanges => "no changes".to_owned(),
    }
}

/// Returns in words why no check judged the work. `base` is the name of the branch from which the work started.
pub fn unchecked_words(why: &UncheckedReason, base: &str) -> String {
    match why {
        UncheckedReason::NoCheck => "this project has no check".to_owned(),
        UncheckedReason::Baseline { command } => format!("{command} already fails on {base}"),
        UncheckedReason::TimedOut { command } => format!("{command} timed out"),
        UncheckedReason::CheckChanged { script } => format!("the task changed {script}, which the check runs"),
        UncheckedReason::TakenAsIs { reason } => format!("taken as it is: {reason}"),
        UncheckedReason::NotRun => "the check could not be started".to_owned(),
    }
}

/// Returns the size of a change in words, such as `3 files, +61 −12`.
pub fn size_words(files: u64, added: u64, removed: u64) -> String {
    format!("{}, +{added} −{removed}", words::count(files, "file"))
}

/// Returns the first digits of a commit id, for messages to people.
pub fn short(commit: &str) -> &str {
    commit.get(..SHORT_CHARS).unwrap_or(commit)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_result_of_checks_says_which_command_and_why_not() {
        let npm = || "npm test".to_owned();
        let unchecked = |why| CheckOutcome::Unchecked { why };
        let rows = [
            (CheckOutcome::Checked { command: npm(), ms: 6_500 }, "checked: npm test passed in 6.5 s"),
            (
                CheckOutcome::CheckedFlaky { command: npm(), run: 2, of: 2, ms: 6_500 },
                "checked, flaky: npm test passed on run 2 of 2 in 6.5 s",
            ),
            (CheckOutcome::NoChanges, "no changes"),
            (unchecked(UncheckedReason::NoCheck), "unchecked: this project has no check"),
            (unchecked(UncheckedReason::Baseline { command: npm() }), "unchecked: npm test already fails on main"),
            (unchecked(UncheckedReason::TimedOut { command: npm() }), "unchecked: npm test timed out"),
            (
                unchecked(UncheckedReason::CheckChanged { script: "ci.sh".to_owned() }),
                "unchecked: the task changed ci.sh, which the check runs",
            ),
            (unchecked(UncheckedReason::TakenAsIs { reason: "fine".to_owned() }), "unchecked: taken as it is: fine"),
            (unchecked(UncheckedReason::NotRun), "unchecked: the check could not be started"),
        ];
        for (check, expected) in rows {
            assert_eq!(checked_words(&check, "main"), expected);
        }
        assert_eq!(size_words(3, 61, 12), "3 files, +61 −12");
        assert_eq!(size_words(1, 5, 0), "1 file, +5 −0");
    }
}
