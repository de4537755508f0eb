//! `handover take`: a person accepts the work of a task as it is, although its check failed or it changed no file.

use std::process::ExitCode;

use base::people::task_choice::TaskPurpose;
use clap::Args;
use handover::office::Office;
use wire::json::object;
use work::take::{TakeEnd, take};

use super::super::{say, say_json};
use super::choose::{ChoiceText, chosen_task};
use super::site::{decider, without_site};
use super::{numbered, refused_work};

const CHOICE: ChoiceText<'_> = ChoiceText { command: "handover take", nothing: "No task waits that you could take." };

#[derive(Debug, Args)]
#[command(allow_missing_positional = true)]
pub(in crate::cli) struct TakeArguments {
    /// The task: its number, its name, or the beginning of its name
    task: Option<String>,
    /// Why you take the work although it was not checked, in quotes; it is recorded under your name
    #[arg(required = true)]
    reason: Option<String>,
    /// Print the result as JSON
    #[arg(long)]
    json: bool,
}

pub(super) async fn run(office: &Office, asked: &TakeArguments) -> anyhow::Result<ExitCode> {
    let caller = match decider(office).await? {
        Ok(caller) => caller,
        Err(code) => return Ok(code),
    };
    let task = match chosen_task(office, asked.task.as_deref(), TaskPurpose::Take, CHOICE).await? {
        Ok(task) => task,
        Err(code) => return Ok(code),
    };
    let (number, reason) = (task.number, asked.reason.clone().unwrap_or_default());
    let has_work = match take(office.run_site(), caller, &task, reason).await {
        Ok(TakeEnd::Taken { has_work }) => has_work,
        Ok(TakeEnd::ConflictMarkers { .. }) => {
            anyhow::bail!("the files of task {number} still have conflict markers; send it back instead")
        }
        Ok(TakeEnd::NoSite(none)) => return Ok(without_site(none)),
        Err(error) => return refused_work("take", error, asked.json),
    };
    if asked.json {
        say_json(&object([
            ("success", true.into()),
            ("task", u64::from(number).into()),
            ("has_work", has_work.into()),
        ]))?;
    } else if has_work {
        say(&numbered(number, &format!("taken as it is, unchecked. Merge it: handover merge {number}")))?;
    } else {
        say(&numbered(number, "taken as it is; there is nothing to merge"))?;
    }
    Ok(ExitCode::SUCCESS)
}
