//! `handover add`: adds tasks to a plan or to the standing list, which is the one workflow of a store that never ends.

use std::io::Read as _;
use std::process::ExitCode;

use anyhow::Context as _;
use base::ground::words;
use base::people::task_choice::TaskPurpose;
use clap::Args;
use engine::id::WorkflowId;
use engine::limits::TEXT_BYTES_MAX;
use handover::desk::{DeskAdder, NotAdded, ToolOutcome};
use handover::office::Office;
use wire::json::{Value, object};
use work::add::{self, AddStop, AddedTask, SAME_NAMES_MAX, TaskWish};

use super::super::run::run_ready;
use super::super::{say, say_json, show, tools};
use super::choose::{ChoiceText, chosen_plan, chosen_task};
use super::numbered;

pub(super) const HELP: &str = "\
The text says what the agent should do. Its first line becomes the name of the task. A task of the list gets a branch of its
own, is checked, and waits until you merge it, send it back or drop it. The words after `add` are one task each, so put a
sentence in quotes. `-` reads one task from standard input, with as many lines as you like.

Below an agent this command adds tasks with the rights of that agent; only a person or a script starts them with --run or
gives them a check of their own with --check.";

const CHOICE: ChoiceText<'_> = ChoiceText { command: "handover add … --after", nothing: "" };

#[derive(Debug, Args)]
pub(in crate::cli) struct AddArguments {
    /// The work to do, in quotes; may be repeated, one task each; `-` reads one task from standard input
    #[arg(required = true, value_name = "TEXT")]
    texts: Vec<String>,
    /// Start the task after these tasks are done, on top of their work: numbers or names, separated by commas
    #[arg(long, value_name = "TASK", value_delimiter = ',')]
    after: Vec<String>,
    /// Only an agent with this role may take the task
    #[arg(long)]
    role: Option<String>,
    /// The files that the task changes, as a glob; tasks with the same files run one after another; may be repeated
    #[arg(long, value_name = "GLOB")]
    touches: Vec<String>,
    /// A command that must succeed on the work of this task, in addition to the checks of the project; more than one
    /// can be given
    #[arg(long = "check", value_name = "COMMAND")]
    check: Vec<String>,
    /// Add the task to this plan instead of the list
    #[arg(long, value_name = "PLAN")]
    to: Option<String>,
    /// Let the agents work on everything that is ready, now
    #[arg(long)]
    run: bool,
    /// Print the added tasks as JSON
    #[arg(long)]
    json: bool,
}

pub(super) async fn run(office: &Office, asked: &AddArguments) -> anyhow::Result<ExitCode> {
    let visitor = match tools::visitor(office, tools::NeedsAgent::Yes).await? {
        Ok(visitor) => visitor,
        Err(said) => return show::outcome("add", &ToolOutcome::Refused(said), asked.json, false),
    };
    let adder = DeskAdder { desk: &office.desk, visitor: &visitor };
    let workflow = match &asked.to {
        Some(plan) => {
            let text = ChoiceText { command: "handover add … --to", ..CHOICE };
            match chosen_plan(office, plan, text).await? {
                Ok(plan) => plan.id,
                Err(code) => return Ok(code),
            }
        }
        None => match adder.list().await {
            Ok(list) => list,
            Err(not) => return not_added(not, asked.json),
        },
    };
    let mut depends_on = Vec::new();
    for named in &asked.after {
        let task = match chosen_task(office, Some(named), TaskPurpose::Finished, CHOICE).await? {
            Ok(task) => task,
            Err(code) => return Ok(code),
        };
        if task.workflow != workflow {
            eprintln!(
                "{} is a task of another plan. A task can wait only for tasks of its own plan; add it there with --to.",
                numbered(task.number, &task.name)
            );
            return Ok(ExitCode::from(2));
        }
        depends_on.push(task.name);
    }
    let (role, touches, checks) = (asked.role.clone(), asked.touches.clone(), asked.check.clone());
    let wish = TaskWish { workflow, role, touches, depends_on, checks };
    let mut added = Vec::new();
    for text in &asked.texts {
        let text = if text == "-" { standard_input()? } else { text.clone() };
        match add::add(&adder, &wish, &text).await {
            Ok(task) => {
                if !asked.json {
                    say(&numbered(task.number, &task.name))?;
                }
                added.push(task);
            }
            Err(AddStop::Stopped(not)) => return not_added(not, asked.json),
            Err(AddStop::TooManySameNames { name }) => {
                anyhow::bail!("{SAME_NAMES_MAX} tasks have the name {}; choose another one", show::plain(&name))
            }
        }
    }
    tell(office, asked, workflow, &added).await?;
    if asked.run {
        return run_ready(office, asked.json).await;
    }
    Ok(ExitCode::SUCCESS)
}

fn not_added(not: NotAdded, json: bool) -> anyhow::Result<ExitCode> {
    match not {
        NotAdded::Tool(outcome) => show::outcome("add", &outcome, json, false),
        NotAdded::Error(error) => Err(error.into()),
    }
}

fn standard_input() -> anyhow::Result<String> {
    let mut text = String::new();
    let bounded = u64::try_from(TEXT_BYTES_MAX).unwrap_or(u64::MAX).saturating_add(1);
    std::io::stdin().take(bounded).read_to_string(&mut text).context("read standard input")?;
    if text.len() > TEXT_BYTES_MAX {
        anyhow::bail!("standard input has more than {} KiB; put long texts into a file", TEXT_BYTES_MAX >> 10);
    }
    Ok(text)
}

async fn tell(office: &Office, asked: &AddArguments, workflow: WorkflowId, added: &[AddedTask]) -> anyhow::Result<()> {
    let ready = add::ready_count(office.desk.service()).await?;
    if asked.json && !asked.run {
        let row = |task: &AddedTask| {
            object([
                ("task_id", task.id.to_string().into()),
                ("number", u64::from(task.number).into()),
                ("name", task.name.as_str().into()),
                ("workflow_id", workflow.to_string().into()),
            ])
        };
        let tasks = Value::List(added.iter().map(row).collect());
        let ready = u64::try_from(ready).unwrap_or(u64::MAX);
        return say_json(&object([("success", true.into()), ("tasks", tasks), ("ready", ready.into())]));
    }
    if !asked.json && !asked.run && ready > 1 {
        say(&format!("{} are ready. Start them: handover run", words::count(ready, "task")))?;
    }
    Ok(())
}
