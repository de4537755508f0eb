//! `handover send-back`: gives a finished, blocked or failed task to its agent again, with the person's remarks.

use std::process::ExitCode;

use base::people::delivered;
use base::people::send_back_file::{self, SendBackText};
use base::people::task_choice::{NamedWork, TaskPurpose};
use clap::Args;
use engine::Command;
use engine::list::{TurnQuery, Whose};
use engine::task::Task;
use handover::office::Office;
use wire::json::object;

use super::super::show::{plain, refused};
use super::super::{say, say_json};
use super::choose::{ChoiceText, chosen_task};
use super::diff;
use super::record::LandingSite;
use super::site::{WorkSite, operator};
use super::{ask, editor, numbered};

pub(super) const HELP: &str = "\
The agent that did the work gets your words in the same conversation and the same folder, with the next `handover run`. A
finished task that waits, a blocked task and a failed task can be sent back.

-e opens the diff in your editor. Write below a line, beginning with `>>`, what to change there, and above the diff what is
about the whole work. If you write nothing, nothing is sent.";

/// The number of a task's newest turns (runs of agents' programs) that are searched for the agent of the task.
const TURNS_MAX: u32 = 20;

const CHOICE: ChoiceText<'_> =
    ChoiceText { command: "handover send-back", nothing: "No task waits that you could send back." };

#[derive(Debug, Args)]
pub(in crate::cli) struct SendBackArguments {
    /// The task: its number, its name, or the beginning of its name
    task: Option<String>,
    /// The change that you want, in quotes
    #[arg(required_unless_present = "edit", conflicts_with = "edit")]
    text: Option<String>,
    /// Write remarks into the diff with your editor
    #[arg(long, short)]
    edit: bool,
    /// Print the result as JSON
    #[arg(long)]
    json: bool,
}

pub(super) async fn run(office: &Office, asked: &SendBackArguments) -> anyhow::Result<ExitCode> {
    let task = match chosen_task(office, asked.task.as_deref(), TaskPurpose::SendBack, CHOICE).await? {
        Ok(task) => task,
        Err(code) => return Ok(code),
    };
    let said = match &asked.text {
        Some(text) => SendBackText { text: text.clone(), notes: Vec::new() },
        None => match remarks(office, &task).await? {
            Ok(said) => said,
            Err(code) => return Ok(code),
        },
    };
    if said.is_empty() || said.whole().trim().is_empty() {
        eprintln!("Nothing was sent: you wrote nothing.");
        return Ok(ExitCode::from(1));
    }
    let caller = operator(office).await?;
    if let Ok(landing) = LandingSite::open(office).await? {
        // If a killed command merged this work but did not record it in the store, record it now. Merged work cannot be
        // sent back.
        drop(landing.lock(office).await?);
    }
    let agent = agent_of(office, &task).await?;
    let (text, notes) = (said.whole(), said.notes);
    let command = Command::SendTaskBack { task: task.id, text, notes };
    if let Err(error) = office.desk.service().execute(caller, command).await {
        return refused("send-back", error, asked.json);
    }
    if asked.json {
        say_json(&object([
            ("success", true.into()),
            ("task", u64::from(task.number).into()),
            ("agent", agent.clone().into()),
        ]))?;
    } else {
        let agent = agent.map_or_else(|| "the agents".to_owned(), |agent| plain(&agent));
        say(&numbered(task.number, &format!("sent back to {agent}. Start it: handover run")))?;
    }
    Ok(ExitCode::SUCCESS)
}

/// Opens the diff of a task in the person's editor, and returns the remarks that the person writes into it.
async fn remarks(office: &Office, task: &Task) -> anyhow::Result<Result<SendBackText, ExitCode>> {
    if !ask::can_ask() {
        eprintln!(
            "-e needs a terminal for your editor. Give the text instead: handover send-back {} \"...\"",
            task.number
        );
        return Ok(Err(ExitCode::from(2)));
    }
    let named = NamedWork::Task(Box::new(task.clone()));
    let diff = if delivered::find(office.desk.service(), &named).await?.is_some() {
        let site = match WorkSite::find(office).await? {
            Ok(site) => site,
            Err(code) => return Ok(Err(code)),
        };
        match diff::shown(office, &site, &named).await? {
            Ok(shown) => String::from_utf8_lossy(&shown.diff(&site).await?.bytes).into_owned(),
            Err(code) => return Ok(Err(code)),
        }
    } else {
        String::new()
    };
    let text = send_back_file::template(&numbered(task.number, &task.name), &diff);
    let edited = tokio::task::spawn_blocking(move || editor::edited(&text, ".diff")).await??;
    Ok(Ok(send_back_file::parse(&edited)))
}

/// Returns the slug (the short name) of the agent that worked on a task last.
pub(super) async fn agent_of(office: &Office, task: &Task) -> anyhow::Result<Option<String>> {
    let (id, holder) = (task.id, task.holder());
    let found = office.desk.service().view(move |world| {
        let turns = world.ask(&TurnQuery::Of { of: Whose::Task(id), before: None, limit: TURNS_MAX })?;
        let worker = turns.iter().find(|turn| !turn.purpose.is_a_look()).map(|turn| turn.agent);
        let delivered = world.delivery(id)?.map(|row| row.agent);
        let agent = holder.or(worker).or(delivered);
        agent.map(|agent| world.agent(agent).map(|agent| agent.slug.clone())).transpose()
    });
    Ok(found.await?)
}
