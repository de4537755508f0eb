//! Chooses the task that a command is about: the one that the person named, the only one that waits for this command, or
//! the one that the person picks from a list.

use std::process::ExitCode;

use base::people::task_choice::{self, NamedWork, TaskChoice, TaskPurpose};
use engine::agent::Agent;
use engine::id::{AgentId, TaskId, WorkflowId};
use engine::task::Task;
use engine::workflow::Workflow;
use handover::office::Office;

use super::super::show::plain;
use super::{ask, numbered};

/// The exit code of a command that does not know which task is meant.
const UNCLEAR: u8 = 2;

/// The result of a choice: the chosen thing, or the exit code after the person was told why there is none.
pub(in crate::cli) type Chosen<T> = Result<T, ExitCode>;

/// The words that a message about a choice uses.
#[derive(Debug, Clone, Copy)]
pub(super) struct ChoiceText<'a> {
    /// The command, as a person types it, such as `handover diff`.
    pub(super) command: &'a str,
    /// The sentence for the case that no task waits for the command.
    pub(super) nothing: &'a str,
}

/// Returns the task for a command. Without a text, this is the only task that waits for the command.
pub(super) async fn chosen_task(
    office: &Office,
    named: Option<&str>,
    purpose: TaskPurpose,
    text: ChoiceText<'_>,
) -> anyhow::Result<Chosen<Task>> {
    let service = office.desk.service();
    let Some(named) = named else {
        let found = task_choice::candidates(service, purpose).await?;
        return only(found, text, row_of_task);
    };
    Ok(match task_choice::find_task(service, named).await? {
        TaskChoice::One(found) => Ok(found),
        TaskChoice::Several(found) => return several(found, named, text, row_of_task),
        TaskChoice::Nothing => Err(unknown("task", named)),
    })
}

/// Returns the task or plan for a command about finished work.
pub(super) async fn chosen_work(
    office: &Office,
    named: Option<&str>,
    text: ChoiceText<'_>,
) -> anyhow::Result<Chosen<NamedWork>> {
    let service = office.desk.service();
    let Some(named) = named else {
        let tasks = task_choice::candidates(service, TaskPurpose::Finished).await?;
        let plans = task_choice::waiting_plans(service).await?;
        let tasks = tasks.into_iter().map(|task| NamedWork::Task(Box::new(task)));
        let all = tasks.chain(plans.into_iter().map(|plan| NamedWork::Plan(Box::new(plan)))).collect();
        return only(all, text, row_of_work);
    };
    Ok(match task_choice::find_work(service, named).await? {
        TaskChoice::One(found) => Ok(found),
        TaskChoice::Several(found) => return several(found, named, text, row_of_work),
        TaskChoice::Nothing => Err(unknown("task or plan", named)),
    })
}

/// Returns the plan that a text names.
pub(super) async fn chosen_plan(
    office: &Office,
    named: &str,
    text: ChoiceText<'_>,
) -> anyhow::Result<Chosen<Workflow>> {
    Ok(match task_choice::find_plan(office.desk.service(), named).await? {
        TaskChoice::One(found) => Ok(found),
        TaskChoice::Several(found) => return several(found, named, text, row_of_plan),
        TaskChoice::Nothing => Err(unknown("plan", named)),
    })
}

const TOOLS: ChoiceText<'_> = ChoiceText { command: "the same command with its", nothing: "" };

/// Returns the id of the task that a text names, or `None` when it names none.
pub(in crate::cli) async fn task_named(office: &Office, text: &str) -> anyhow::Result<Chosen<Option<String>>> {
    if text.parse::<TaskId>().is_ok() {
        return Ok(Ok(None));
    }
    let found = task_choice::find_task(office.desk.service(), text).await?;
    id_of(found, text, row_of_task, |task| task.id.to_string())
}

/// Returns the id of the task that an argument of another command names. Tells the person when there is none.
pub(in crate::cli) async fn task_id(office: &Office, text: &str) -> anyhow::Result<Chosen<TaskId>> {
    if let Ok(id) = text.parse::<TaskId>() {
        return Ok(Ok(id));
    }
    Ok(chosen_task(office, Some(text), TaskPurpose::Logs, TOOLS).await?.map(|task| task.id))
}

/// Returns the id of the plan that a text names, or `None` when it names none.
pub(in crate::cli) async fn plan_named(office: &Office, text: &str) -> anyhow::Result<Chosen<Option<String>>> {
    if text.parse::<WorkflowId>().is_ok() {
        return Ok(Ok(None));
    }
    let found = task_choice::find_plan(office.desk.service(), text).await?;
    id_of(found, text, row_of_plan, |plan| plan.id.to_string())
}

/// Returns the id of the agent that a text names, or `None` when it names none.
pub(in crate::cli) async fn agent_named(office: &Office, text: &str) -> anyhow::Result<Chosen<Option<String>>> {
    if text.parse::<AgentId>().is_ok() {
        return Ok(Ok(None));
    }
    let found = task_choice::find_agent(office.desk.service(), text).await?;
    let row = |agent: &Agent| (None, format!("{}  {}", plain(&agent.slug), agent.id));
    id_of(found, text, row, |agent| agent.id.to_string())
}

fn id_of<T>(
    found: TaskChoice<T>,
    text: &str,
    row: impl Fn(&T) -> ChoiceRow,
    id: impl Fn(&T) -> String,
) -> anyhow::Result<Chosen<Option<String>>> {
    Ok(match found {
        TaskChoice::One(found) => Ok(Some(id(&found))),
        TaskChoice::Several(all) => several(all, text, TOOLS, row)?.map(|found| Some(id(&found))),
        TaskChoice::Nothing => Ok(None),
    })
}

type ChoiceRow = (Option<u32>, String);

fn row_of_task(task: &Task) -> ChoiceRow {
    (Some(task.number), plain(&task.name))
}

fn row_of_plan(plan: &Workflow) -> ChoiceRow {
    (None, format!("{}  {}", plain(&plan.name), plan.id))
}

fn row_of_work(work: &NamedWork) -> ChoiceRow {
    match work {
        NamedWork::Task(task) => row_of_task(task),
        NamedWork::Plan(plan) => row_of_plan(plan),
    }
}

fn unknown(kind: &str, named: &str) -> ExitCode {
    eprintln!("There is no {kind} {}. The tasks: handover task list", plain(named));
    ExitCode::from(UNCLEAR)
}

/// Returns the only thing that waits for a command, or lets the person pick one.
fn only<T>(found: Vec<T>, text: ChoiceText<'_>, row: impl Fn(&T) -> ChoiceRow) -> anyhow::Result<Chosen<T>> {
    if found.is_empty() {
        eprintln!("{}", text.nothing);
        return Ok(Err(ExitCode::from(UNCLEAR)));
    }
    if found.len() == 1 {
        return Ok(found.into_iter().next().ok_or_else(|| ExitCode::from(UNCLEAR)));
    }
    let heading = format!("{} tasks wait for `{}`:", found.len(), text.command);
    pick(found, &heading, text, row)
}

/// Lets the person pick one of several things with the same beginning.
fn several<T>(
    found: Vec<T>,
    named: &str,
    text: ChoiceText<'_>,
    row: impl Fn(&T) -> ChoiceRow,
) -> anyhow::Result<Chosen<T>> {
    pick(found, &format!("\"{}\" can mean:", plain(named)), text, row)
}

/// Lists things and lets the person at the terminal pick one. Without a terminal, the person has to name one.
fn pick<T>(
    found: Vec<T>,
    heading: &str,
    text: ChoiceText<'_>,
    row: impl Fn(&T) -> ChoiceRow,
) -> anyhow::Result<Chosen<T>> {
    eprintln!("{heading}");
    // Things without a number of their own, such as plans, get the next free numbers of this list.
    let mut free = found.iter().filter_map(|thing| row(thing).0).max().unwrap_or(0);
    let can_ask = ask::can_ask();
    let mut numbers = Vec::with_capacity(found.len());
    for thing in &found {
        let (own, line) = row(thing);
        let number = own.unwrap_or_else(|| {
            free += 1;
            free
        });
        numbers.push(number);
        match (own, can_ask) {
            (None, false) => eprintln!("    {line}"),
            (Some(_), _) | (None, true) => eprintln!("{}", numbered(number, &line)),
        }
    }
    let chosen = if can_ask { ask::chooses("Which number?", &numbers)? } else { None };
    let chosen = chosen.and_then(|at| found.into_iter().nth(at));
    Ok(chosen.ok_or_else(|| {
        eprintln!("Name one of them: {} NUMBER", text.command);
        ExitCode::from(UNCLEAR)
    }))
}
