//! `handover approval`: lists the approvals that agents ask for, and records a person's decisions.

use std::process::ExitCode;

use base::Service;
use base::people::approvals;
use clap::Subcommand;
use engine::approval::{Approval, ApprovalDecision, ApprovalStatus, Via};
use engine::id::ApprovalId;
use handover::keeper;
use handover::office::Office;
use handover::person;
use wire::json::{Value, object};

use super::failure::CommandFailure;
use super::outline::outline;
use super::show::{self, refused};
use super::{say, say_json};

/// The maximum number of approvals in a list. Older approvals are left out, because people do not read longer lists.
const ROWS: u32 = 200;

pub(super) const COLUMNS: [&str; 6] = ["id", "status", "risk_level", "asked_by", "task_id", "asks"];

#[derive(Debug, Subcommand)]
pub(crate) enum ApprovalVerb {
    /// List the approvals that wait for a decision
    List {
        /// Include approvals that are already decided
        #[arg(long)]
        all: bool,
        /// Print the list as JSON
        #[arg(long)]
        json: bool,
    },
    /// Show one approval with the full request
    Show {
        /// The id of the approval, such as ap_0123456789ab
        id: ApprovalId,
        /// Print the approval as JSON
        #[arg(long)]
        json: bool,
    },
    /// Allow exactly this request, once
    Approve {
        /// The id of the approval
        id: ApprovalId,
        /// Print the reply as JSON
        #[arg(long)]
        json: bool,
    },
    /// Reject the request; the agent sees your reason
    Reject {
        /// The id of the approval
        id: ApprovalId,
        /// The reason for the rejection
        #[arg(long)]
        reason: String,
        /// Print the reply as JSON
        #[arg(long)]
        json: bool,
    },
    /// Revoke a request, or an approval that was given and not used yet
    Revoke {
        /// The id of the approval
        id: ApprovalId,
        /// The reason
        #[arg(long)]
        reason: Option<String>,
        /// Print the reply as JSON
        #[arg(long)]
        json: bool,
    },
}

/// Returns a row of the table of approvals: the approval, with a summary of the request in one line.
fn line(mut row: Value, found: &engine::approval::Approval) -> Value {
    if let Value::Object(members) = &mut row {
        members.push(("asks".to_owned(), approvals::asked(found).into()));
    }
    row
}

pub(super) async fn run(office: &Office, verb: ApprovalVerb) -> anyhow::Result<ExitCode> {
    keeper::once(&office.desk).await;
    let service = office.desk.service();
    match verb {
        ApprovalVerb::List { all, json } => {
            let statuses = if all { Vec::new() } else { vec![ApprovalStatus::Pending] };
            let found = approvals::list(service, statuses, None, ROWS).await?;
            note(service, &found.rows).await;
            let rows: Vec<Value> = found.rows.iter().map(|row| approvals::row(row, service.now())).collect();
            if json {
                say_json(&object([("approvals", Value::List(rows))]))?;
            } else if rows.is_empty() {
                say("no approval waits for a decision")?;
            } else {
                let lines: Vec<Value> =
                    rows.into_iter().zip(&found.rows).map(|(row, found)| line(row, found)).collect();
                say(&show::table(&COLUMNS, &lines))?;
            }
            Ok(ExitCode::SUCCESS)
        }
        ApprovalVerb::Show { id, json } => {
            match whole(service, id).await {
                Ok(row) if json => say_json(&row)?,
                Ok(Value::Object(members)) => say(outline(members.iter()).trim_end())?,
                Ok(_) => {}
                Err(error) => return refused("approval", error, json),
            }
            Ok(ExitCode::SUCCESS)
        }
        ApprovalVerb::Approve { id, json } => decide(office, id, ApprovalDecision::Approve, json).await,
        ApprovalVerb::Reject { id, reason, json } => {
            decide(office, id, ApprovalDecision::Reject { reason }, json).await
        }
        ApprovalVerb::Revoke { id, reason, json } => {
            decide(office, id, ApprovalDecision::Revoke { reason }, json).await
        }
    }
}

/// Returns one approval with all its fields, and with the notices about it that were sent to people.
async fn whole(service: &Service, id: ApprovalId) -> Result<Value, base::Error> {
    let found = approvals::show(service, id).await?;
    note(service, std::slice::from_ref(&found)).await;
    let mut row = approvals::row(&found, service.now());
    let notices: Vec<Value> = approvals::notices(service, id).await?.iter().map(approvals::notice_row).collect();
    if let (Value::Object(members), false) = (&mut row, notices.is_empty()) {
        members.push(("notices".to_owned(), Value::List(notices)));
    }
    Ok(row)
}

/// Records that a person has seen these approvals, if a person is at a terminal. A failure to record is ignored: the
/// person sees the approvals anyway.
async fn note(service: &Service, rows: &[Approval]) {
    if person::at_a_terminal().is_ok() {
        let _unrecorded = approvals::seen(service, rows, Via::CommandLine).await;
    }
}

async fn decide(office: &Office, id: ApprovalId, decision: ApprovalDecision, json: bool) -> anyhow::Result<ExitCode> {
    let service = office.desk.service();
    let caller = match person::decider(service).await? {
        Ok(caller) => caller,
        Err(stranger) => return Err(CommandFailure::by_text(&stranger.to_string()).into()),
    };
    match approvals::decide_as(service, caller, id, decision).await {
        Ok(status) if json => say(&object([("success", true.into()), ("status", status.as_str().into())]).to_string())?,
        Ok(status) => say(&format!("{id} is {status}"))?,
        Err(error) => return refused("approval", error, json),
    }
    Ok(ExitCode::SUCCESS)
}
