//! `handover approve` and `handover reject`: a person allows or forbids the act for which a task needs permission.

use std::process::ExitCode;

use base::people::approvals;
use base::people::task_choice::TaskPurpose;
use clap::Args;
use engine::approval::{Approval, ApprovalDecision, ApprovalStatus};
use engine::id::ApprovalId;
use engine::list::ApprovalQuery;
use handover::office::Office;
use wire::json::object;

use super::super::show::{plain, refused};
use super::super::{say, say_json};
use super::choose::{ChoiceText, chosen_task};
use super::site::decider;

/// The maximum number of approvals of one task that are read.
const APPROVALS_MAX: u32 = 50;

const NOTHING: &str = "Nothing waits for your approval.";

#[derive(Debug, Args)]
pub(in crate::cli) struct ApproveArguments {
    /// The task, by its number or name, or the id of the approval, such as ap_0123456789ab
    #[arg(value_name = "TASK|APPROVAL")]
    what: Option<String>,
    /// Print the reply as JSON
    #[arg(long)]
    json: bool,
}

#[derive(Debug, Args)]
#[command(allow_missing_positional = true)]
pub(in crate::cli) struct RejectArguments {
    /// The task, by its number or name, or the id of the approval, such as ap_0123456789ab
    #[arg(value_name = "TASK|APPROVAL")]
    what: Option<String>,
    /// Your reason, in quotes; the agent sees it
    #[arg(required = true)]
    reason: Option<String>,
    /// Print the reply as JSON
    #[arg(long)]
    json: bool,
}

pub(super) async fn approve(office: &Office, asked: &ApproveArguments) -> anyhow::Result<ExitCode> {
    let choice = ChoiceText { command: "handover approve", nothing: NOTHING };
    decide(office, (asked.what.as_deref(), choice), ApprovalDecision::Approve, asked.json).await
}

pub(super) async fn reject(office: &Office, asked: &RejectArguments) -> anyhow::Result<ExitCode> {
    let choice = ChoiceText { command: "handover reject", nothing: NOTHING };
    let reason = asked.reason.clone().unwrap_or_default();
    decide(office, (asked.what.as_deref(), choice), ApprovalDecision::Reject { reason }, asked.json).await
}

async fn decide(
    office: &Office,
    (what, choice): (Option<&str>, ChoiceText<'_>),
    decision: ApprovalDecision,
    json: bool,
) -> anyhow::Result<ExitCode> {
    let caller = match decider(office).await? {
        Ok(caller) => caller,
        Err(code) => return Ok(code),
    };
    let found = match chosen(office, what, choice).await? {
        Ok(found) => found,
        Err(code) => return Ok(code),
    };
    let service = office.desk.service();
    match approvals::decide_as(service, caller, found.id, decision).await {
        Ok(status) if json => say_json(&object([
            ("success", true.into()),
            ("id", found.id.to_string().into()),
            ("status", status.as_str().into()),
        ]))?,
        Ok(status) => say(&format!("{status}: {}", plain(&approvals::asked(&found))))?,
        Err(error) => return refused("approval", error, json),
    }
    Ok(ExitCode::SUCCESS)
}

/// Returns the approval that the person means. If the named task has no approval or several, tells the person and
/// returns the exit code.
async fn chosen(
    office: &Office,
    what: Option<&str>,
    choice: ChoiceText<'_>,
) -> anyhow::Result<Result<Approval, ExitCode>> {
    let service = office.desk.service();
    if let Some(id) = what.and_then(|what| what.parse::<ApprovalId>().ok()) {
        return Ok(Ok(approvals::show(service, id).await?));
    }
    let task = match chosen_task(office, what, TaskPurpose::Approve, choice).await? {
        Ok(task) => task,
        Err(code) => return Ok(Err(code)),
    };
    let open = service.ask(ApprovalQuery::OpenOfTask { task: task.id, limit: APPROVALS_MAX }).await?;
    let is_pending = |row: &Approval| row.state.status() == ApprovalStatus::Pending;
    let mut pending: Vec<Approval> = open.into_iter().filter(is_pending).collect();
    Ok(match pending.len() {
        1 => pending.pop().ok_or_else(|| ExitCode::from(2)),
        0 => {
            eprintln!("{} {} asks for nothing.", task.number, plain(&task.name));
            Err(ExitCode::from(1))
        }
        _ => {
            eprintln!("{} {} asks for several things. Name one by its id:", task.number, plain(&task.name));
            for row in &pending {
                eprintln!("    {}  {}", row.id, plain(&approvals::asked(row)));
            }
            Err(ExitCode::from(2))
        }
    })
}
