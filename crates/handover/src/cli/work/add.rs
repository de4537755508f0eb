//! `handover add`: adds tasks to a plan or to the standing list, which is the one workflow of a store that never ends.

use std::io::Read as _;
use std::process::ExitCode;

use anyhow::Context as _;
use base::ground::words;
use base::people::task_choice::TaskPurpose;
use base::project::task_extra::OWN_CHECKS;
use clap::Args;
use engine::id::WorkflowId;
use engine::limits::{NAME_BYTES_MAX, TEXT_BYTES_MAX};
use engine::list::{WorkflowFilter, WorkflowQuery};
use engine::offer::OfferQuery;
use engine::plan::PlanTask;
use engine::workflow::WorkflowStatus;
use engine::world::WorkflowIdNeed;
use engine::{Caller, Command, Json, Reply};
use handover::desk::{ToolOutcome, Visitor};
use handover::office::Office;
use wire::json::{Object, Value, object};
use wire::lifecycle::ToolError;

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

/// The maximum number of ready tasks that are counted in one workflow. People do not need to know a higher number
/// exactly.
const READY_MAX: usize = 100;
/// The maximum number of workflows in which ready tasks are counted.
const WORKFLOWS_MAX: u32 = 100;
/// The maximum number of tasks with the same name in one workflow. From the second task on, a number is added to the
/// name, as in `Fix it (2)`.
const SAME_NAMES_MAX: u32 = 100;
/// The longest name of a task in characters. The name is the first line of the person's text. A longer line is cut, but
/// the agent gets the full text.
const NAME_CHARS_MAX: usize = 120;

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

/// A task that this command added to a workflow.
struct AddedTask {
    number: u32,
    id: String,
    name: String,
}

/// A task that is about to be added.
#[derive(Debug, Clone, Copy)]
struct NewTask<'a> {
    workflow: WorkflowId,
    name: &'a str,
    description: Option<&'a str>,
    asked: &'a AddArguments,
    /// The names of the tasks that must be done before this task starts.
    depends_on: &'a [String],
}

pub(super) async fn run(office: &Office, asked: &AddArguments) -> anyhow::Result<ExitCode> {
    let visitor = match tools::visitor(office, tools::NeedsAgent::Yes).await? {
        Ok(visitor) => visitor,
        Err(said) => return show::outcome("add", &ToolOutcome::Refused(said), asked.json, false),
    };
    let workflow = match &asked.to {
        Some(plan) => {
            let text = ChoiceText { command: "handover add … --to", ..CHOICE };
            match chosen_plan(office, plan, text).await? {
                Ok(plan) => plan.id,
                Err(code) => return Ok(code),
            }
        }
        None => match list(office, &visitor).await? {
            Ok(list) => list,
            Err(said) => return show::outcome("add", &ToolOutcome::Refused(said), asked.json, false),
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
    let mut added = Vec::new();
    for text in &asked.texts {
        let text = if text == "-" { standard_input()? } else { text.clone() };
        match add(office, &visitor, workflow, (asked, &depends_on), &text).await? {
            Ok(task) => {
                if !asked.json {
                    say(&numbered(task.number, &task.name))?;
                }
                added.push(task);
            }
            Err(outcome) => return show::outcome("add", &outcome, asked.json, false),
        }
    }
    tell(office, asked, workflow, &added).await?;
    if asked.run {
        return run_ready(office, asked.json).await;
    }
    Ok(ExitCode::SUCCESS)
}

/// Returns the standing list (the workflow for single tasks), and creates it when the store has none. A program that
/// the runner started may not create it.
async fn list(office: &Office, visitor: &Visitor) -> anyhow::Result<Result<WorkflowId, ToolError>> {
    let service = office.desk.service();
    if let Some(list) = service.ask(WorkflowIdNeed::Standing).await?.first() {
        return Ok(Ok(*list));
    }
    if visitor.seat.is_some() {
        let problem =
            "a turn of the runner started this command, and nobody has added a task to the list yet".to_owned();
        return Ok(Err(wire::lifecycle::refusal(&engine::Refusal::NotPermitted { problem })));
    }
    match service.execute(caller(visitor), Command::OpenList).await {
        Ok(Reply::ListOpened { workflow, .. }) => Ok(Ok(workflow)),
        Ok(reply) => Err(base::Error::unexpected(&reply).into()),
        Err(base::Error::Refused(refusal)) => Ok(Err(wire::lifecycle::refusal(&refusal))),
        Err(error) => Err(error.into()),
    }
}

/// Returns the caller for the engine's commands that `handover add` executes itself, without a tool.
fn caller(visitor: &Visitor) -> Caller {
    Caller {
        agent: visitor.agent,
        session: visitor.session,
        standing: visitor.standing,
        principal: visitor.principal.clone(),
        origin: visitor.origin.clone(),
        ..Caller::with_rights(visitor.rights)
    }
}

/// Adds one task. A task without checks of its own is added by the tool that agents use, so that the same rules hold
/// for people and agents.
async fn add(
    office: &Office,
    visitor: &Visitor,
    workflow: WorkflowId,
    (asked, depends_on): (&AddArguments, &[String]),
    text: &str,
) -> anyhow::Result<Result<AddedTask, ToolOutcome>> {
    let (name, description) = name_and_description(text);
    for number in 1..=SAME_NAMES_MAX {
        let unique = if number == 1 { name.clone() } else { format!("{name} ({number})") };
        let description = description.as_deref();
        let task = NewTask { workflow, name: &unique, description, asked, depends_on };
        let outcome = if asked.check.is_empty() {
            call_tool(office, visitor, &task).await
        } else {
            add_checked(office, visitor, &task).await?
        };
        match outcome {
            ToolOutcome::Done(reply) => {
                let number = match reply.get("number") {
                    Some(Value::Number(number)) => number.as_u64().and_then(|number| u32::try_from(number).ok()),
                    Some(_) | None => None,
                };
                let id = reply.get("task_id").and_then(Value::as_text).unwrap_or_default().to_owned();
                return Ok(Ok(AddedTask { number: number.unwrap_or_default(), id, name: unique }));
            }
            // Each task of a workflow needs its own name. The standing list stays open for years, so a person may use a
            // name a second time. Then try the name with the next number.
            ToolOutcome::Refused(said) if said.code == "DUPLICATE_TASK_NAME" => continue,
            refused @ (ToolOutcome::Refused(_) | ToolOutcome::Failed(_) | ToolOutcome::UnknownTool) => {
                return Ok(Err(refused));
            }
        }
    }
    anyhow::bail!("{SAME_NAMES_MAX} tasks have the name {}; choose another one", show::plain(&name))
}

/// Adds a task through the tool that agents use.
async fn call_tool(office: &Office, visitor: &Visitor, task: &NewTask<'_>) -> ToolOutcome {
    let NewTask { workflow, name, description, asked, depends_on } = *task;
    let texts = |texts: &[String]| Value::List(texts.iter().map(|text| text.as_str().into()).collect());
    let mut members: Object =
        vec![("workflow_id".to_owned(), workflow.to_string().into()), ("name".to_owned(), name.into())];
    members.extend(description.map(|text| ("description".to_owned(), text.into())));
    members.extend(asked.role.as_deref().map(|role| ("role".to_owned(), role.into())));
    if !depends_on.is_empty() {
        members.push(("depends_on".to_owned(), texts(depends_on)));
    }
    if !asked.touches.is_empty() {
        members.push(("touches".to_owned(), texts(&asked.touches)));
    }
    let arguments = Value::Object(members).to_string();
    office.desk.call(visitor, "workflow_add_task", arguments.as_bytes(), None).await
}

/// Adds a task with checks of its own. Agents have no tool for this, because the checks run on the person's machine
/// without a further question: a person who types a check accepts it.
async fn add_checked(office: &Office, visitor: &Visitor, task: &NewTask<'_>) -> anyhow::Result<ToolOutcome> {
    let NewTask { workflow, name, description, asked, depends_on } = *task;
    let checks: Vec<Vec<String>> = asked.check.iter().map(|text| command_words(text)).collect();
    let mut task = PlanTask::named(name);
    task.description = description.map(str::to_owned);
    task.role.clone_from(&asked.role);
    task.depends_on = depends_on.to_vec();
    task.touches.clone_from(&asked.touches);
    task.extra = Some(Json::from(&serde_json::json!({ OWN_CHECKS: checks })));
    let add = Command::AddTask { workflow, task: Box::new(task), after: None };
    match office.desk.service().execute(caller(visitor), add).await {
        Ok(Reply::TaskAdded { task, number, .. }) => {
            Ok(ToolOutcome::Done(object([("task_id", task.to_string().into()), ("number", u64::from(number).into())])))
        }
        Ok(reply) => Err(base::Error::unexpected(&reply).into()),
        Err(base::Error::Refused(refusal)) => Ok(ToolOutcome::Refused(wire::lifecycle::refusal(&refusal))),
        Err(error) => Err(error.into()),
    }
}

/// Returns the words with which a command is started. If the text has characters that may be special in a shell, the
/// words start a shell that runs the text.
fn command_words(text: &str) -> Vec<String> {
    let is_plain = |c: char| c.is_alphanumeric() || " -_./:=,+@%".contains(c);
    if text.chars().all(is_plain) && !text.trim().is_empty() {
        return text.split_whitespace().map(str::to_owned).collect();
    }
    vec!["sh".to_owned(), "-c".to_owned(), text.to_owned()]
}

/// Splits a person's text into the name and the description of a task. The name is the first line. If the name is not
/// the full text, the description is the full text.
fn name_and_description(text: &str) -> (String, Option<String>) {
    let text = text.trim();
    let first = text.lines().next().unwrap_or_default().trim();
    let fits = first.chars().count() <= NAME_CHARS_MAX && first.len() < NAME_BYTES_MAX;
    let name = if fits {
        first.to_owned()
    } else {
        let cut: String = first.chars().take(NAME_CHARS_MAX - 1).collect();
        // Cut the name of the task at a space, so that it does not end with half a word.
        let cut = cut.rsplit_once(' ').map_or(cut.as_str(), |(words, _)| words);
        format!("{cut}…")
    };
    let description = (name != text).then(|| text.to_owned());
    (name, description)
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
    let ready = ready(office).await?;
    if asked.json && !asked.run {
        let row = |task: &AddedTask| {
            object([
                ("task_id", task.id.as_str().into()),
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

/// Returns the number of tasks that an agent could take now.
async fn ready(office: &Office) -> anyhow::Result<usize> {
    let service = office.desk.service();
    let statuses = vec![WorkflowStatus::Ready, WorkflowStatus::InProgress];
    let filter = WorkflowFilter { statuses, ..WorkflowFilter::default() };
    let workflows = service.ask(WorkflowQuery { filter, after: None, offset: 0, limit: WORKFLOWS_MAX }).await?;
    let mut ready = 0;
    for workflow in workflows {
        let ask =
            OfferQuery { workflow: workflow.id, agent: None, include_failed: false, after: None, limit: READY_MAX };
        ready += service.next_tasks(ask).await?.tasks.len();
    }
    Ok(ready)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_check_runs_in_a_shell_only_when_it_needs_one() {
        for (text, words) in [
            ("npm test", vec!["npm", "test"]),
            ("  cargo test -p base --test=x ", vec!["cargo", "test", "-p", "base", "--test=x"]),
            ("grep -q 'a b' x && true", vec!["sh", "-c", "grep -q 'a b' x && true"]),
            ("test $HOME", vec!["sh", "-c", "test $HOME"]),
        ] {
            assert_eq!(command_words(text), words, "{text}");
        }
    }

    #[test]
    fn the_first_line_is_the_name_and_a_longer_text_is_the_description() {
        let long = format!("{} end", "word ".repeat(40).trim_end());
        let cut = format!("{}…", "word ".repeat(23).trim_end());
        for (text, name, described) in [
            ("Fix the login", "Fix the login", false),
            ("  Fix the login \n", "Fix the login", false),
            ("Fix the login\n\nIt forgets the page.", "Fix the login", true),
            (long.as_str(), cut.as_str(), true),
        ] {
            let description = described.then(|| text.trim().to_owned());
            assert_eq!(name_and_description(text), (name.to_owned(), description), "{text}");
        }
    }
}
