//! `handover archive`: hides plans that are over from the lists. Nothing is deleted, and `--undo` brings a plan back.

use std::process::ExitCode;

use base::ground::words::count;
use base::people::archive::{self, ArchivedPlans};
use clap::Args;
use engine::workflow::Workflow;
use handover::office::Office;
use wire::json::{Value, object};

use super::super::show::{plain, refused};
use super::super::{say, say_json};
use super::choose::{ChoiceText, chosen_plan};
use super::site::operator;

pub(super) const HELP: &str = "\
Lists leave out archived plans and their tasks. Nothing is deleted: `handover task list --all` and
`handover workflow list --all` show them, and `handover archive --undo PLAN` brings a plan back.

Without a plan, every plan that is completed or abandoned is archived, except plans whose work is not merged yet.
The list `Tasks` is never over, so it is never archived.";

#[derive(Debug, Args)]
pub(in crate::cli) struct ArchiveArguments {
    /// The plans: their names, their ids, or the beginning of either; without one, all plans that are over
    #[arg(value_name = "PLAN")]
    plans: Vec<String>,
    /// Bring archived plans back into the lists
    #[arg(long, requires = "plans")]
    undo: bool,
    /// Print the result as JSON
    #[arg(long)]
    json: bool,
}

pub(super) async fn run(office: &Office, asked: &ArchiveArguments) -> anyhow::Result<ExitCode> {
    let service = office.desk.service();
    let choice = ChoiceText { command: "handover archive", nothing: "" };
    let mut plans: Vec<Workflow> = Vec::new();
    for named in &asked.plans {
        match chosen_plan(office, named, choice).await? {
            Ok(plan) => plans.push(plan),
            Err(code) => return Ok(code),
        }
    }
    let mut unmerged = 0;
    if asked.plans.is_empty() {
        let ArchivedPlans { over, waiting } = archive::over(service).await?;
        (plans, unmerged) = (over, waiting);
    }
    let caller = operator(office).await?;
    for plan in &plans {
        if let Err(error) = archive::set(service, caller.clone(), plan.id, !asked.undo).await {
            if !asked.json {
                eprintln!("{} ({}) stays as it is.", plain(&plan.name), plan.id);
            }
            return refused("workflow", error, asked.json);
        }
    }
    if asked.json {
        let row = |plan: &Workflow| object([("id", plan.id.to_string().into()), ("name", plan.name.as_str().into())]);
        let rows = plans.iter().map(row).collect();
        say_json(&object([("archived", (!asked.undo).into()), ("workflows", Value::List(rows))]))?;
    } else {
        say(&told(&plans, asked.undo, unmerged))?;
    }
    Ok(ExitCode::SUCCESS)
}

fn told(plans: &[Workflow], undo: bool, unmerged: usize) -> String {
    let names = |plans: &[Workflow]| plans.iter().map(|plan| plain(&plan.name)).collect::<Vec<_>>().join(", ");
    let first = match (plans, undo) {
        ([], _) => "No plan is over, so there is nothing to archive.".to_owned(),
        (plans, false) => format!("Archived {}: {}", count(plans.len(), "plan"), names(plans)),
        (plans, true) => format!("Back in the lists: {}", names(plans)),
    };
    let kept = if unmerged == 0 {
        String::new()
    } else {
        format!("\nNot archived, because their work is not merged: {}. See: handover status", count(unmerged, "plan"))
    };
    format!("{first}{kept}")
}
