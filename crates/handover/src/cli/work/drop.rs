//! `handover drop`: discards the finished work of a task, and with `--undo` brings it back.

use std::process::ExitCode;

use base::people::delivered::{self, FinishedWork};
use base::people::task_choice::TaskPurpose;
use clap::Args;
use engine::task::Task;
use handover::office::Office;
use wire::json::object;
use work::drop::{DROPPED_DAYS, DropEnd, DropStop, drop_task, dropped_work, restore};
use work::journal::{LandingLock, LandingSite};

use super::super::show::plain;
use super::super::{say, say_json};
use super::choose::{ChoiceText, chosen_task};
use super::site::landing_site;
use super::{numbered, refused_work};

pub(super) const HELP: &str = "\
The branch of the task is deleted and its worktree is free for other tasks. Git keeps the commits for 14 days, and --undo
brings them back: the work waits again as before. A task without finished work is skipped; tasks that wait for it can start.";

const CHOICE: ChoiceText<'_> = ChoiceText {
    command: "handover drop",
    nothing: "No work waits that you could drop. All tasks: handover task list",
};

#[derive(Debug, Args)]
pub(in crate::cli) struct DropArguments {
    /// The task: its number, its name, or the beginning of its name
    task: Option<String>,
    /// Bring the dropped work of the task back
    #[arg(long)]
    undo: bool,
    /// Print the result as JSON
    #[arg(long)]
    json: bool,
}

pub(super) async fn run(office: &Office, asked: &DropArguments) -> anyhow::Result<ExitCode> {
    let landing = match landing_site(office).await? {
        Ok(landing) => landing,
        Err(code) => return Ok(code),
    };
    let lock = landing.lock_settled().await?;
    if asked.undo {
        return bring_back(office, &landing, &lock, asked).await;
    }
    let task = match chosen_task(office, asked.task.as_deref(), TaskPurpose::Drop, CHOICE).await? {
        Ok(task) => task,
        Err(code) => return Ok(code),
    };
    match drop_task(&landing, &lock, &task).await {
        Ok(DropEnd::Dropped { kept_as }) => tell_dropped(&task, &kept_as, asked.json),
        Ok(DropEnd::Skipped) => tell_skipped(&task, asked.json),
        Ok(DropEnd::Stopped(stop)) => Ok(tell_stopped(&task, &stop)),
        Err(error) => refused_work("drop", error, asked.json),
    }
}

fn tell_dropped(task: &Task, kept_as: &str, json: bool) -> anyhow::Result<ExitCode> {
    let number = task.number;
    if json {
        say_json(&object([
            ("success", true.into()),
            ("task", u64::from(number).into()),
            ("kept_as", kept_as.into()),
            ("kept_days", u64::try_from(DROPPED_DAYS).unwrap_or_default().into()),
        ]))?;
    } else {
        say(&numbered(
            number,
            &format!("dropped; kept for {DROPPED_DAYS} days. Bring it back: handover drop {number} --undo"),
        ))?;
    }
    Ok(ExitCode::SUCCESS)
}

fn tell_skipped(task: &Task, json: bool) -> anyhow::Result<ExitCode> {
    let number = task.number;
    if json {
        say_json(&object([("success", true.into()), ("task", u64::from(number).into())]))?;
    } else {
        say(&numbered(number, "dropped; it had no finished work. Add it again: handover add \"...\""))?;
    }
    Ok(ExitCode::SUCCESS)
}

/// Tells the person why nothing was dropped, and returns the exit code.
fn tell_stopped(task: &Task, stop: &DropStop) -> ExitCode {
    let (name, number) = (numbered(task.number, &task.name), task.number);
    match stop {
        DropStop::Merged { into } => {
            eprintln!("{name} is merged into {}. Undo the merge first: handover merge --undo", plain(into));
        }
        DropStop::InPlan => eprintln!("{name} is part of a plan, and other tasks build on it."),
        DropStop::AlreadyDropped => {
            eprintln!("{name} is already dropped. Bring it back: handover drop {number} --undo");
            return ExitCode::SUCCESS;
        }
        DropStop::Running => {
            eprintln!("{} is being worked on. Stop it first: handover stop {number}", name.trim_start());
        }
    }
    ExitCode::from(1)
}

/// Brings dropped work back, so that it waits for the person again.
async fn bring_back(
    office: &Office,
    landing: &LandingSite<'_>,
    lock: &LandingLock,
    asked: &DropArguments,
) -> anyhow::Result<ExitCode> {
    let work: Option<FinishedWork> = match &asked.task {
        Some(named) => {
            let text = ChoiceText { command: "handover drop --undo", nothing: "" };
            let task = match chosen_task(office, Some(named), TaskPurpose::Drop, text).await? {
                Ok(task) => task,
                Err(code) => return Ok(code),
            };
            dropped_work(landing, &task).await?
        }
        None => {
            let mut dropped = delivered::dropped(office.desk.service()).await?;
            if dropped.len() > 1 {
                eprintln!("{} tasks are dropped. Name one: handover drop NUMBER --undo", dropped.len());
                for work in &dropped {
                    eprintln!("{}", numbered(work.number.unwrap_or_default(), &work.name));
                }
                return Ok(ExitCode::from(2));
            }
            dropped.pop()
        }
    };
    let Some(work) = work else {
        eprintln!("There is no dropped work to bring back.");
        return Ok(ExitCode::from(1));
    };
    if let Err(error) = restore(landing, lock, &work).await {
        return refused_work("drop", error, asked.json);
    }
    let number = work.number.unwrap_or_default();
    if asked.json {
        say_json(&object([("success", true.into()), ("task", u64::from(number).into())]))?;
    } else {
        say(&numbered(number, &format!("is back and waits: handover diff {number}   handover merge {number}")))?;
    }
    Ok(ExitCode::SUCCESS)
}
