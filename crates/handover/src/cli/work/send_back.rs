//! `handover send-back`: gives a finished, blocked or failed task to its agent again, with the person's remarks.

use std::process::ExitCode;

use base::people::delivered;
use base::people::send_back_file::{self, SendBackText};
use base::people::task_choice::{NamedWork, TaskPurpose};
use clap::Args;
use engine::task::Task;
use handover::office::Office;
use wire::json::object;
use work::send_back::{SendBackEnd, send_back};
use work::shown::shown;

use super::super::show::plain;
use super::super::{say, say_json};
use super::choose::{ChoiceText, chosen_task};
use super::site::{operator, work_site};
use super::{ask, editor, numbered, refused_work};

pub(super) const HELP: &str = "\
The agent that did the work gets your words in the same conversation and the same folder, with the next `handover run`. A
finished task that waits, a blocked task and a failed task can be sent back.

-e opens the diff in your editor. Write below a line, beginning with `>>`, what to change there, and above the diff what is
about the whole work. If you write nothing, nothing is sent.";

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
    let agent = match send_back(office.run_site(), operator(office).await?, &task, said).await {
        Ok(SendBackEnd::Sent { agent }) => agent,
        Ok(SendBackEnd::NoWords) => {
            eprintln!("Nothing was sent: you wrote nothing.");
            return Ok(ExitCode::from(1));
        }
        Err(error) => return refused_work("send-back", error, asked.json),
    };
    if asked.json {
        say_json(&object([
            ("success", true.into()),
            ("task", u64::from(task.number).into()),
            ("agent", agent.into()),
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
        let site = match work_site(office).await? {
            Ok(site) => site,
            Err(code) => return Ok(Err(code)),
        };
        match shown(&site, &named).await? {
            Some(shown) => String::from_utf8_lossy(&shown.diff(&site).await?.bytes).into_owned(),
            None => String::new(),
        }
    } else {
        String::new()
    };
    let text = send_back_file::template(&numbered(task.number, &task.name), &diff);
    let edited = tokio::task::spawn_blocking(move || editor::edited(&text, ".diff")).await??;
    Ok(Ok(send_back_file::parse(&edited)))
}
