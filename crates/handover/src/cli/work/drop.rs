//! `handover drop`: discards the finished work of a task, and with `--undo` brings it back.

use std::process::ExitCode;

use base::people::delivered::{self, FinishedWork};
use base::people::task_choice::{NamedWork, TaskPurpose};
use clap::Args;
use engine::command::Target;
use engine::delivery::{DeliveryMove, DeliveryState, DeliveryStatus, DeliverySubject};
use engine::task::{Status, Task};
use engine::{Caller, Command};
use git::removed::{DROPPED_DAYS, KeptTime, drop_branch, restore_branch};
use handover::office::Office;
use wire::json::object;

use super::super::show::{plain, refused};
use super::super::{say, say_json};
use super::choose::{ChoiceText, chosen_task};
use super::numbered;
use super::record::{LandingSite, moved, waits};
use super::site::WorkSite;

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
    let landing = match LandingSite::open(office).await? {
        Ok(landing) => landing,
        Err(code) => return Ok(code),
    };
    let _one_at_a_time = landing.lock(office).await?;
    let LandingSite { site, caller, .. } = &landing;
    if asked.undo {
        return bring_back(office, site, caller, asked).await;
    }
    let task = match chosen_task(office, asked.task.as_deref(), TaskPurpose::Drop, CHOICE).await? {
        Ok(task) => task,
        Err(code) => return Ok(code),
    };
    let work = delivered::find(office.desk.service(), &NamedWork::Task(Box::new(task.clone()))).await?;
    match work {
        Some(work) if task.status() == Status::Completed => {
            drop_work(office, site, (caller, asked.json), (&task, &work)).await
        }
        Some(_) | None => skip(office, caller, &task, asked.json).await,
    }
}

/// Drops finished work: frees the worktree of the task, deletes its branch, and records in the store that the work is
/// dropped.
async fn drop_work(
    office: &Office,
    site: &WorkSite,
    (caller, json): (&Caller, bool),
    (task, work): (&Task, &FinishedWork),
) -> anyhow::Result<ExitCode> {
    let name = numbered(task.number, &task.name);
    match &work.state {
        DeliveryState::Waiting => {}
        DeliveryState::Merged { into, .. } => {
            eprintln!("{name} is merged into {}. Undo the merge first: handover merge --undo", plain(into));
            return Ok(ExitCode::from(1));
        }
        DeliveryState::InPlan { .. } => {
            eprintln!("{name} is part of a plan, and other tasks build on it.");
            return Ok(ExitCode::from(1));
        }
        DeliveryState::Dropped { .. } => {
            eprintln!("{name} is already dropped. Bring it back: handover drop {} --undo", task.number);
            return Ok(ExitCode::SUCCESS);
        }
    }
    site.free_slot(task.id, work.attempt).await?;
    let time = KeptTime { now_ms: office.desk.service().now().0, days: DROPPED_DAYS };
    // The branch is missing when an earlier `handover drop` was killed after it deleted the branch. Then use the commit
    // from the store, which git still has.
    let dropped = drop_branch(&site.git, &site.root, &work.work.branch, time).await?;
    let kept_as = dropped.map_or_else(|| work.work.commit.clone(), |dropped| dropped.kept_as);
    let to = DeliveryMove::Drop { kept_as: Some(kept_as.clone()) };
    let subject = DeliverySubject::Task(task.id);
    if let Err(error) = moved(office, caller, subject, (DeliveryStatus::Waiting, to)).await {
        return refused("drop", error, json);
    }
    if json {
        say_json(&object([
            ("success", true.into()),
            ("task", u64::from(task.number).into()),
            ("kept_as", kept_as.into()),
            ("kept_days", u64::try_from(DROPPED_DAYS).unwrap_or_default().into()),
        ]))?;
    } else {
        let number = task.number;
        say(&numbered(
            number,
            &format!("dropped; kept for {DROPPED_DAYS} days. Bring it back: handover drop {number} --undo"),
        ))?;
    }
    Ok(ExitCode::SUCCESS)
}

/// Marks a task without finished work as skipped, so that no agent works on it.
async fn skip(office: &Office, caller: &Caller, task: &Task, json: bool) -> anyhow::Result<ExitCode> {
    let number = task.number;
    if task.holder().is_some() {
        eprintln!(
            "{} is being worked on. Stop it first: handover stop {number}",
            numbered(number, &task.name).trim_start()
        );
        return Ok(ExitCode::from(1));
    }
    let to = Target::Skipped { reason: Some("dropped by a person".to_owned()) };
    let command = Command::Move { task: task.id, attempt: None, to };
    if let Err(error) = office.desk.service().execute(caller.clone(), command).await {
        return refused("drop", error, json);
    }
    if json {
        say_json(&object([("success", true.into()), ("task", u64::from(number).into())]))?;
    } else {
        say(&numbered(number, "dropped; it had no finished work. Add it again: handover add \"...\""))?;
    }
    Ok(ExitCode::SUCCESS)
}

/// Brings dropped work back: creates its branch again, and records in the store that the work waits for the person.
async fn bring_back(
    office: &Office,
    site: &WorkSite,
    caller: &Caller,
    asked: &DropArguments,
) -> anyhow::Result<ExitCode> {
    let service = office.desk.service();
    let work = match &asked.task {
        Some(named) => {
            let text = ChoiceText { command: "handover drop --undo", nothing: "" };
            let task = match chosen_task(office, Some(named), TaskPurpose::Drop, text).await? {
                Ok(task) => task,
                Err(code) => return Ok(code),
            };
            let found = delivered::find(service, &NamedWork::Task(Box::new(task))).await?;
            found.filter(|work| matches!(work.state, DeliveryState::Dropped { .. }))
        }
        None => {
            let mut dropped = delivered::dropped(service).await?;
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
    restore_branch(&site.git, &site.root, &work.work.branch, &work.work.commit).await?;
    if let Err(error) = waits(office, caller, work.subject, DeliveryStatus::Dropped).await {
        return refused("drop", error, asked.json);
    }
    let number = work.number.unwrap_or_default();
    if asked.json {
        say_json(&object([("success", true.into()), ("task", u64::from(number).into())]))?;
    } else {
        say(&numbered(number, &format!("is back and waits: handover diff {number}   handover merge {number}")))?;
    }
    Ok(ExitCode::SUCCESS)
}
