//! Chooses the task that a command is about: the task that the person named, the only task that waits for this command
//! (such as finished work for `handover merge`), or the task that the person picks from a list.

use std::process::ExitCode;

use base::ground::words;
use base::people::task_choice::{self, NamedWork, TaskChoice, TaskPurpose};
use engine::Timestamp;
use engine::agent::Agent;
use engine::id::{AgentId, TaskId, WorkflowId};
use engine::task::Task;
use engine::workflow::Workflow;
use handover::office::Office;

use super::super::show::plain;
use super::{ask, numbered};

/// The exit code of a command when it is unclear which task the person means.
const UNCLEAR: u8 = 2;

/// The task, plan or agent that the person chose. If there is none, the exit code of the command; the person has then
/// already got a message with the reason.
pub(in crate::cli) type Chosen<T> = Result<T, ExitCode>;

/// The words that are put into a message when a person has to choose a task.
#[derive(Debug, Clone, Copy)]
pub(in crate::cli) struct ChoiceText<'a> {
    /// The command, as a person types it, such as `handover diff`.
    pub(in crate::cli) command: &'a str,
    /// The sentence that is printed when no task waits for the command.
    pub(in crate::cli) nothing: &'a str,
}

/// Returns the task that the person names. Without a name, returns the only task that waits for the command, or lets
/// the person pick one.
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

/// Returns the task or plan that the person names for a command about finished work. Without a name, returns the only
/// task or plan whose finished work waits for the person. If several wait, lets the person pick one.
pub(in crate::cli) async fn chosen_work(
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

/// Returns the plan that the person names by its name, its id or the beginning of either.
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

/// Returns the id of the task that a text names. Returns `None` when the text already is an id or names no task.
pub(in crate::cli) async fn task_named(office: &Office, text: &str) -> anyhow::Result<Chosen<Option<String>>> {
    if text.parse::<TaskId>().is_ok() {
        return Ok(Ok(None));
    }
    let found = task_choice::find_task(office.desk.service(), text).await?;
    id_of(found, text, row_of_task, |task| task.id.to_string())
}

/// Returns the id of the task that an argument names by its id, number or name. If there is no such task, tells the
/// person and returns the exit code.
pub(in crate::cli) async fn task_id(office: &Office, text: &str) -> anyhow::Result<Chosen<TaskId>> {
    if let Ok(id) = text.parse::<TaskId>() {
        return Ok(Ok(id));
    }
    Ok(chosen_task(office, Some(text), TaskPurpose::Logs, TOOLS).await?.map(|task| task.id))
}

/// Returns the id of the plan that a text names. Returns `None` when the text already is an id or names no plan.
pub(in crate::cli) async fn plan_named(office: &Office, text: &str) -> anyhow::Result<Chosen<Option<String>>> {
    if text.parse::<WorkflowId>().is_ok() {
        return Ok(Ok(None));
    }
    let found = task_choice::find_plan(office.desk.service(), text).await?;
    id_of(found, text, row_of_plan, |plan| plan.id.to_string())
}

/// Returns the id of the agent that a text names. Returns `None` when the text already is an id or names no agent.
pub(in crate::cli) async fn agent_named(office: &Office, text: &str) -> anyhow::Result<Chosen<Option<String>>> {
    if text.parse::<AgentId>().is_ok() {
        return Ok(Ok(None));
    }
    let found = task_choice::find_agent(office.desk.service(), text).await?;
    let now = office.desk.service().now();
    let row = |agent: &Agent| (None, row_of_agent(agent, now));
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

/// Returns a line about an agent, with which a person can tell agents of the same name apart:
/// `amy-2  claude-code, developer, seen 12 min ago  ag_0123456789ab`.
fn row_of_agent(agent: &Agent, now: Timestamp) -> String {
    let seen = words::age(agent.seen, now);
    let (slug, runtime, role) = (plain(&agent.slug), plain(&agent.runtime), plain(&agent.role));
    let about = [runtime, role, format!("seen {seen} ago")];
    let about: Vec<String> = about.into_iter().filter(|part| !part.is_empty()).collect();
    format!("{slug}  {}  {}", about.join(", "), agent.id)
}

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

/// Returns the only task or plan that waits for a command. If several wait, lets the person pick one.
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

/// Lets the person pick one of several tasks, plans or agents whose names begin with the text that the person typed.
fn several<T>(
    found: Vec<T>,
    named: &str,
    text: ChoiceText<'_>,
    row: impl Fn(&T) -> ChoiceRow,
) -> anyhow::Result<Chosen<T>> {
    pick(found, &format!("\"{}\" can mean:", plain(named)), text, row)
}

/// Lists tasks, plans or agents and lets the person at the terminal pick one. Without a terminal, tells the person to
/// name one, and returns the exit code.
fn pick<T>(
    found: Vec<T>,
    heading: &str,
    text: ChoiceText<'_>,
    row: impl Fn(&T) -> ChoiceRow,
) -> anyhow::Result<Chosen<T>> {
    eprintln!("{heading}");
    // Tasks have numbers. Plans and agents have none, so they get the next free numbers of this list.
    let mut free = found.iter().filter_map(|thing| row(thing).0).max().unwrap_or(0);
    let (can_ask, has_numbers) = (ask::can_ask(), found.iter().any(|thing| row(thing).0.is_some()));
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
        if has_numbers {
            eprintln!("Name one of them: {} NUMBER", text.command);
        } else {
            eprintln!("Name one of them by its id.");
        }
        ExitCode::from(UNCLEAR)
    }))
}
