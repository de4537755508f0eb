//! `handover task list`: lists all tasks, each with its number, its state in plain words, its agent and its plan.

use std::process::ExitCode;

use base::people::task_list::{self, ListedTask, TaskListFilter, TaskListPage};
use clap::{ArgMatches, Args, Command, FromArgMatches as _};
use engine::task::Status;
use handover::keeper;
use handover::office::Office;
use wire::json::{Value, object};

use super::failure::CommandFailure;
use super::show::{table, without_secrets};
use super::{say, say_json, work};

/// The word after `handover` in the command `handover task list`.
pub(super) const NOUN: &str = "task";
const VERB: &str = "list";

pub(super) const COLUMNS: [&str; 6] = ["number", "name", "state", "agent", "since", "plan"];

#[derive(Debug, Args)]
pub(crate) struct TaskListArguments {
    /// Only tasks that an agent can claim now
    #[arg(long, conflicts_with = "status")]
    ready: bool,
    /// Only tasks of this plan: its name or its id
    #[arg(long, value_name = "PLAN")]
    plan: Option<String>,
    /// Only tasks with this status, such as blocked; may be given several times
    #[arg(long, value_name = "STATUS", value_parser = status)]
    status: Vec<Status>,
    /// Only tasks that this agent holds or finished: its name or its id
    #[arg(long, value_name = "AGENT")]
    agent: Option<String>,
    /// Only tasks with a lower number than this one
    #[arg(long, value_name = "NUMBER")]
    before: Option<u32>,
    /// Show the tasks of archived plans, too
    #[arg(long)]
    all: bool,
    /// Print the list as JSON
    #[arg(long)]
    json: bool,
}

fn status(text: &str) -> Result<Status, String> {
    let known = || Status::ALL.iter().map(|status| status.as_str()).collect::<Vec<_>>().join(", ");
    Status::parse(text).ok_or_else(|| format!("the statuses are {}", known()))
}

pub(super) fn command() -> Command {
    let about = "List all tasks, of all plans or of one; with --ready those that can be claimed";
    TaskListArguments::augment_args(Command::new(VERB).about(about))
}

/// Returns the arguments of `handover task list`; `None` when another command was typed.
pub(super) fn asked(matches: &ArgMatches) -> Option<TaskListArguments> {
    let (_, inner) = matches.subcommand().filter(|(noun, _)| *noun == NOUN)?;
    let (_, inner) = inner.subcommand().filter(|(verb, _)| *verb == VERB)?;
    Some(TaskListArguments::from_arg_matches(inner).unwrap_or_else(|error| error.exit()))
}

pub(super) async fn run(office: &Office, asked: TaskListArguments) -> anyhow::Result<ExitCode> {
    keeper::once(&office.desk).await;
    let plan = match asked.plan.as_deref() {
        Some(named) => match work::plan_named(office, named).await? {
            Ok(found) => Some(found.unwrap_or_else(|| named.to_owned())),
            Err(code) => return Ok(code),
        },
        None => None,
    };
    let agent = match asked.agent.as_deref() {
        Some(named) => match work::agent_named(office, named).await? {
            Ok(found) => Some(found.unwrap_or_else(|| named.to_owned())),
            Err(code) => return Ok(code),
        },
        None => None,
    };
    let filter = TaskListFilter {
        ready: asked.ready,
        plan: plan.map(|id| id.parse().map_err(|_| unknown("plan", &id, "workflow list"))).transpose()?,
        statuses: asked.status,
        agent: agent.map(|id| id.parse().map_err(|_| unknown("agent", &id, "agent list"))).transpose()?,
        archived: asked.all,
        before: asked.before,
    };
    let is_filtered = filter.plan.is_some() || filter.agent.is_some() || !filter.statuses.is_empty() || filter.ready;
    let page = task_list::read(office.desk.service(), filter).await?;
    if asked.json {
        let rows = page.rows.iter().map(ListedTask::to_value).collect();
        let value = object([("tasks", Value::List(rows)), ("has_older", page.has_older.into())]);
        say_json(&without_secrets(&value))?;
        return Ok(ExitCode::SUCCESS);
    }
    say(&text(&page, is_filtered))?;
    Ok(ExitCode::SUCCESS)
}

fn unknown(kind: &str, named: &str, list: &str) -> anyhow::Error {
    let code = format!("{}_NOT_FOUND", if kind == "plan" { "WORKFLOW" } else { "AGENT" });
    CommandFailure::by_text(&format!("{code} there is no {kind} {named}; `handover {list}` shows all of them")).into()
}

/// Returns the table with the tasks and a line about older tasks.
fn text(page: &TaskListPage, is_filtered: bool) -> String {
    if page.rows.is_empty() {
        let none = if is_filtered {
            "No task fits. All tasks: handover task list"
        } else {
            "There are no tasks. Add one: handover add \"...\""
        };
        return none.to_owned();
    }
    let rows: Vec<Value> = page.rows.iter().map(ListedTask::to_value).collect();
    let first = page.rows.first().map_or(0, |row| row.task.number);
    let older =
        if page.has_older { format!("\nOlder tasks: handover task list --before {first}") } else { String::new() };
    format!("{}{older}", table(&COLUMNS, &rows))
}
