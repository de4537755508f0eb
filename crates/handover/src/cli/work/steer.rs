//! `handover retry` and `handover stop`: let a task start again, or end its running turn (the run of its agent's
//! program).

use std::process::ExitCode;

use base::people::task_choice::TaskPurpose;
use clap::Args;
use handover::office::Office;
use wire::json::object;
use work::steer::{self, SteerEnd};

use super::super::show::refused;
use super::super::{say, say_json};
use super::choose::{ChoiceText, chosen_task};
use super::numbered;
use super::site::operator;

#[derive(Debug, Args)]
pub(in crate::cli) struct RetryArguments {
    /// The task: its number, its name, or the beginning of its name
    task: Option<String>,
    /// Print the result as JSON
    #[arg(long)]
    json: bool,
}

#[derive(Debug, Args)]
pub(in crate::cli) struct StopArguments {
    /// The task: its number, its name, or the beginning of its name
    task: Option<String>,
    /// Print the result as JSON
    #[arg(long)]
    json: bool,
}

pub(super) async fn retry(office: &Office, asked: &RetryArguments) -> anyhow::Result<ExitCode> {
    let choice = ChoiceText { command: "handover retry", nothing: "No task is blocked or failed." };
    let task = match chosen_task(office, asked.task.as_deref(), TaskPurpose::Retry, choice).await? {
        Ok(task) => task,
        Err(code) => return Ok(code),
    };
    let retried = steer::retry(office.desk.service(), operator(office).await?, &task).await;
    if let Ok(SteerEnd::NotNow) = retried {
        let name = numbered(task.number, &task.name);
        eprintln!("{} is {}; only a blocked or failed task is retried.", name.trim_start(), task.status());
        return Ok(ExitCode::from(1));
    }
    told(retried, task.number, "open again. Start it: handover run", asked.json)
}

pub(super) async fn stop(office: &Office, asked: &StopArguments) -> anyhow::Result<ExitCode> {
    let choice = ChoiceText { command: "handover stop", nothing: "No task is being worked on." };
    let task = match chosen_task(office, asked.task.as_deref(), TaskPurpose::Stop, choice).await? {
        Ok(task) => task,
        Err(code) => return Ok(code),
    };
    let stopped = steer::stop(office.desk.service(), operator(office).await?, &task).await;
    if let Ok(SteerEnd::NotNow) = stopped {
        let name = numbered(task.number, &task.name);
        eprintln!("Nobody works on {}: it is {}.", name.trim_start(), task.status());
        return Ok(ExitCode::from(1));
    }
    told(stopped, task.number, "stopped; the task is open again", asked.json)
}

fn told(result: Result<SteerEnd, base::Error>, number: u32, text: &str, json: bool) -> anyhow::Result<ExitCode> {
    match result {
        Ok(_) if json => say_json(&object([("success", true.into()), ("task", u64::from(number).into())]))?,
        Ok(_) => say(&numbered(number, text))?,
        Err(error) => return refused("task", error, json),
    }
    Ok(ExitCode::SUCCESS)
}
