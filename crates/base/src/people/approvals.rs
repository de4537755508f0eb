//! Lists approvals for people and records the decisions of people. Agents have no tool to decide about an approval.

use engine::approval::{Approval, ApprovalDecision, ApprovalRequest, ApprovalState, ApprovalStatus, Source, Via};
use engine::id::ApprovalId;
use engine::list::ApprovalQuery;
use engine::notice::{Channel, Notice};
use engine::{Caller, Command, DecisionStop, Reply, Rights, Timestamp};
use wire::json::{Value, object};

use crate::error::Error;
use crate::service::Service;
use wire::visible::redacted;

/// The maximum number of characters of an approval request that one line of a list shows. The rest is cut.
const ASKED_CHARS_MAX: usize = 120;

/// The maximum number of characters of the line that names the operation of an approval request. The rest is cut.
const OPERATION_CHARS_MAX: usize = 300;

/// The risk levels that approval requests can state, the highest first.
const RISKS: [&str; 4] = ["CRITICAL", "HIGH", "MEDIUM", "LOW"];

/// Sorts approvals by the risk of their requests, the highest first. Requests of the same risk keep their order;
/// requests without a risk come last.
pub fn sort_by_risk(rows: &mut [Approval]) {
    let rank = |row: &Approval| RISKS.iter().position(|risk| row.request.risk.eq_ignore_ascii_case(risk));
    rows.sort_by_key(|row| rank(row).unwrap_or(RISKS.len()));
}

/// A page of approvals, sorted by risk, and the position at which the next page starts. The first page has the newest
/// approvals.
#[derive(Debug)]
pub struct ApprovalPage {
    pub rows: Vec<Approval>,
    pub next: Option<(Timestamp, ApprovalId)>,
}

/// Returns the approvals with these statuses. An empty list of statuses means all of them.
pub async fn list(
    service: &Service,
    statuses: Vec<ApprovalStatus>,
    before: Option<(Timestamp, ApprovalId)>,
    limit: u32,
) -> Result<ApprovalPage, Error> {
    let list = ApprovalQuery::WithStatus { statuses, before, limit: limit.saturating_add(1) };
    let mut rows = service.ask(list).await?;
    let more = rows.len() > usize::try_from(limit).unwrap_or(usize::MAX);
    rows.truncate(usize::try_from(limit).unwrap_or(usize::MAX));
    let next = rows.last().filter(|_| more).map(|row| (row.asked, row.id));
    sort_by_risk(&mut rows);
    Ok(ApprovalPage { rows, next })
}

pub async fn show(service: &Service, id: ApprovalId) -> Result<Approval, Error> {
    service.view(move |world| world.approval(id).cloned()).await
}

/// Returns the notices to people about an approval, one for each channel that was tried.
pub async fn notices(service: &Service, id: ApprovalId) -> Result<Vec<Notice>, Error> {
    service
        .view(move |world| {
            let each = Channel::ALL.iter().map(|channel| Ok(world.notice(id, *channel)?.cloned()));
            Ok(each.collect::<Result<Vec<_>, DecisionStop>>()?.into_iter().flatten().collect())
        })
        .await
}

/// Returns a notice as JSON. The result becomes a part of the JSON object of the notice's approval.
pub fn notice_row(notice: &Notice) -> Value {
    object([
        ("channel", notice.channel.as_str().into()),
        ("tries", u64::from(notice.tries).into()),
        ("problem", notice.problem.as_deref().into()),
        ("next_try_at", notice.next.map(|next| Value::Number(next.0.into())).into()),
    ])
}

/// Records that a person saw the approvals that are still pending. Writes nothing when the person saw all of them
/// before.
pub async fn seen(service: &Service, rows: &[Approval], via: Via) -> Result<(), Error> {
    let now = service.now();
    let is_new = |row: &&Approval| {
        row.state.status() == ApprovalStatus::Pending && !row.is_over(now) && !row.shown.contains(&via)
    };
    let approvals: Vec<ApprovalId> = rows.iter().filter(is_new).map(|row| row.id).collect();
    if approvals.is_empty() {
        return Ok(());
    }
    service.execute(Caller::with_rights(Rights::Person), Command::ShowApprovals { approvals, via }).await?;
    Ok(())
}

/// Approves or rejects an approval request with these rights. The engine's rules decide whether the rights are enough.
pub async fn decide(
    service: &Service,
    rights: Rights,
    id: ApprovalId,
    decision: ApprovalDecision,
) -> Result<ApprovalStatus, Error> {
    decide_as(service, Caller::with_rights(rights), id, decision).await
}

/// Approves or rejects an approval request as this caller. An agent cannot decide its own request, regardless of its
/// rights.
pub async fn decide_as(
    service: &Service,
    caller: Caller,
    id: ApprovalId,
    decision: ApprovalDecision,
) -> Result<ApprovalStatus, Error> {
    let command = Command::DecideApproval { approval: id, decision };
    let reply = service.execute(caller, command).await?;
    let Reply::ApprovalDecided { status } = reply else {
        return Err(Error::unexpected(&reply));
    };
    Ok(status)
}

/// Returns the first line of a text as the name of an operation that has no title. The complete text is in the field
/// `content` of the request.
pub fn first_line(text: &str) -> String {
    let first = text.lines().map(str::trim).find(|line| !line.is_empty()).unwrap_or("go on");
    first.chars().take(OPERATION_CHARS_MAX).collect()
}

/// Returns an approval's request in one line. For a tool call the line includes the call's input, which says more than
/// the tool's name.
pub fn asked(approval: &Approval) -> String {
    let ApprovalRequest { operation, content, .. } = &approval.request;
    let line = match approval.source {
        Source::Gate | Source::Acp if !content.is_empty() => format!("{operation}: {content}"),
        Source::Gate | Source::Acp | Source::Handoff | Source::ExecGate => operation.clone(),
    };
    redacted(&line).chars().take(ASKED_CHARS_MAX).collect()
}

/// Returns an approval as an object of the API, without texts that look like secrets.
pub fn row(approval: &Approval, now: Timestamp) -> Value {
    let time = |at: Timestamp| Value::Number(at.0.into());
    let (by, at, reason) = match &approval.state {
        ApprovalState::Pending { .. } => (None, None, None),
        ApprovalState::Approved { by, at, .. } => (Some(by), Some(*at), None),
        ApprovalState::Consumed { given, .. } => {
            (given.as_ref().map(|(by, _)| by), given.as_ref().map(|(_, at)| *at), None)
        }
        ApprovalState::Rejected { by, at, reason } => (Some(by), Some(*at), Some(reason.as_str())),
        ApprovalState::Revoked { by, at, reason } => (Some(by), Some(*at), reason.as_deref()),
        ApprovalState::Expired { at } => (None, Some(*at), None),
    };
    let used = if let ApprovalState::Consumed { by, at, .. } = &approval.state { Some((by, at)) } else { None };
    // An approval whose time is over counts as expired, even if the service has not recorded this yet.
    let status = if approval.is_over(now) { ApprovalStatus::Expired } else { approval.state.status() };
    let request = &approval.request;
    object([
        ("id", approval.id.to_string().into()),
        ("status", status.as_str().into()),
        ("source", approval.source.as_str().into()),
        ("asked_by", approval.asker.to_string().into()),
        ("agent_id", approval.agent().map(|agent| agent.to_string()).into()),
        ("task_id", approval.waiting.map(|waiting| waiting.task.to_string()).into()),
        ("attempt", approval.waiting.map(|waiting| u64::from(waiting.attempt)).into()),
        ("operation", redacted(&request.operation).into()),
        ("exact_content", redacted(&request.content).into()),
        ("scope", redacted(&request.scope).into()),
        ("directory", redacted(&request.directory).into()),
        ("risk_level", request.risk.as_str().into()),
        ("rollback", redacted(&request.rollback).into()),
        ("verification", redacted(&request.verification).into()),
        ("fingerprint", approval.fingerprint.as_str().into()),
        ("asked_at", time(approval.asked)),
        ("expires_at", approval.state.until().map(time).into()),
        ("decided_by", by.map(ToString::to_string).into()),
        ("decided_at", at.map(time).into()),
        ("used_by", used.map(|(by, _)| by.to_string()).into()),
        ("used_at", used.map(|(_, at)| time(*at)).into()),
        ("reason", reason.map(redacted).into()),
        ("shown", approval.shown.iter().map(|via| via.as_str()).collect::<Vec<_>>().into()),
    ])
}

#[cfg(test)]
mod tests {
    use engine::Actor;

    use super::*;

    #[test]
    fn the_gravest_risk_comes_first_and_one_risk_keeps_its_order() {
        let row = |(number, risk): (u8, &str)| Approval {
            id: format!("ap_00000000000{number}").parse().unwrap_or_else(|error| panic!("{error:?}")),
            source: Source::Handoff,
            asker: Actor::Engine,
            waiting: None,
            request: ApprovalRequest { risk: risk.to_owned(), ..ApprovalRequest::default() },
            fingerprint: String::new(),
            asked: Timestamp(0),
            state: ApprovalState::Pending { until: Timestamp(1) },
            shown: Vec::new(),
        };
        let asked = [(1, ""), (2, "LOW"), (3, "HIGH"), (4, "odd"), (5, "critical"), (6, "MEDIUM"), (7, "HIGH")];
        let mut rows: Vec<Approval> = asked.into_iter().map(row).collect();
        sort_by_risk(&mut rows);
        let order: Vec<String> = rows.iter().map(|row| row.id.to_string().replace("ap_00000000000", "")).collect();
        assert_eq!(order.join(""), "5376214");
    }
}
