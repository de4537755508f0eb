//! Approvals: asked by agents, decided by people, used once.

use crate::approval::{Approval, ApprovalState, Decision, Request, Source, Waiting};
use crate::case::Case;
use crate::check;
use crate::command::{Actor, AskApproval, Rights, Target};
use crate::event::Event;
use crate::id::{AgentId, ApprovalId};
use crate::limits;
use crate::list::List;
use crate::refusal::Refusal;
use crate::reply::Reply;
use crate::rules::status;
use crate::task::State;
use crate::world::{Fact, Need, Stop};

/// Seals what is asked, and lets the task wait for the answer.
pub(crate) fn ask(case: &mut Case<'_>, asked: &AskApproval) -> Result<Reply, Stop> {
    check_request(&asked.request)?;
    check::key("fingerprint", &asked.fingerprint)?;
    let waiting = match asked.waits {
        None => None,
        Some((task, attempt)) => {
            let (task, _) = case.task(task)?;
            Some((Waiting { workflow: task.workflow, task: task.id, attempt }, task))
        }
    };
    let agent = case.present(waiting.as_ref().map(|(_, task)| *task))?;
    let need = Need::ApprovalSealed(asked.fingerprint.clone());
    let known = case.world.approvals(&need)?.iter().find(|known| !known.is_over(case.now));
    if let Some(known) = known.filter(|known| known.agent == agent)
        && let ApprovalState::Pending { until } = known.state
    {
        return Ok(Reply::ApprovalAsked { approval: known.id, until });
    }
    room(case)?;
    let id = ApprovalId::next(&mut case.ids);
    if let Some((waiting, task)) = &waiting
        && !matches!(task.state, State::Paused { .. })
    {
        let reason = format!("{id} asks whether this may be done: {}", asked.request.operation);
        let reason = reason.chars().take(1_000).collect();
        status::move_task(case, waiting.task, Some(waiting.attempt), &Target::Paused { reason: Some(reason) })?;
    }
    case.acts_as(agent);
    Ok(record(case, id, asked, agent, waiting.map(|(waiting, _)| waiting)))
}

/// What is asked, as something to decide about.
pub(crate) fn record(
    case: &mut Case<'_>,
    id: ApprovalId,
    asked: &AskApproval,
    agent: AgentId,
    waiting: Option<Waiting>,
) -> Reply {
    let until = case.now + limits::PENDING_APPROVAL_MS;
    let approval = Approval {
        id,
        source: asked.source,
        agent,
        waiting,
        request: asked.request.clone(),
        fingerprint: asked.fingerprint.clone(),
        asked: case.now,
        state: ApprovalState::Pending { until },
    };
    case.events.push(Event::ApprovalAsked { approval: Box::new(approval) });
    Reply::ApprovalAsked { approval: id, until }
}

pub(crate) fn check_request(request: &Request) -> Result<(), Refusal> {
    let Request { operation, content, scope, directory, risk, rollback, verification } = request;
    check::summary("operation", operation)?;
    check::size("exact_content", content, limits::TEXT_BYTES_MAX)?;
    let rest = [
        ("scope", scope),
        ("directory", directory),
        ("risk_level", risk),
        ("rollback", rollback),
        ("verification", verification),
    ];
    rest.into_iter().try_for_each(|(field, text)| check::size(field, text, limits::SUMMARY_BYTES_MAX))
}

pub(crate) fn room(case: &Case<'_>) -> Result<(), Stop> {
    let limit = u32::try_from(limits::APPROVALS_MAX).unwrap_or(u32::MAX);
    let statuses = vec![crate::approval::ApprovalStatus::Pending];
    let Fact::ApprovalRows(rows) = case.world.list(List::Approvals { statuses, before: None, limit })? else {
        return Ok(());
    };
    if rows.len() < limits::APPROVALS_MAX {
        return Ok(());
    }
    Err(Refusal::state(format!("{} approvals wait already, which is the limit", limits::APPROVALS_MAX)).into())
}

/// A person says yes or no, or takes back what was said or asked.
pub(crate) fn decide(case: &mut Case<'_>, id: ApprovalId, decision: &Decision) -> Result<Reply, Stop> {
    match case.caller.rights {
        Rights::Person => {}
        Rights::Agent | Rights::Runner | Rights::Coordinator | Rights::Engine => {
            return Err(Refusal::NotPermitted { problem: "only a person decides about approvals".to_owned() }.into());
        }
    }
    let approval = case.world.approval(id)?;
    if approval.is_over(case.now) {
        let problem = format!("{id} has expired; the agent must ask again");
        expire(case, approval)?;
        return Err(Stop::Recorded(Refusal::state(problem)));
    }
    let (by, at) = (Actor::Person, case.now);
    let gone = case.world.agent(approval.agent)?.left.is_some();
    let (state, answer) = match (&approval.state, decision) {
        (ApprovalState::Pending { .. }, Decision::Approve) if gone => {
            let reason = Some("its agent has unregistered; nobody can use it".to_owned());
            (
                ApprovalState::Revoked { by: Actor::Engine, at, reason },
                Some("approved, but its agent has gone".to_owned()),
            )
        }
        (ApprovalState::Pending { .. }, Decision::Approve) => {
            // For a handoff the time begins when its turn goes on.
            let until = (approval.source != Source::Handoff).then(|| at + limits::APPROVAL_MS);
            (ApprovalState::Approved { by, at, until }, Some("approved".to_owned()))
        }
        (ApprovalState::Pending { .. }, Decision::Reject { reason }) => {
            check::summary("reason", reason)?;
            (ApprovalState::Rejected { by, at, reason: reason.clone() }, Some(format!("rejected: {reason}")))
        }
        (ApprovalState::Pending { .. } | ApprovalState::Approved { .. }, Decision::Revoke { reason }) => {
            check::optional(reason.as_deref(), |text| check::summary("reason", text))?;
            let said = reason.as_ref().map_or_else(|| "revoked".to_owned(), |reason| format!("revoked: {reason}"));
            (ApprovalState::Revoked { by, at, reason: reason.clone() }, Some(said))
        }
        (state, _) => {
            return Err(Refusal::state(format!("{id} is {} and stays so", state.status())).into());
        }
    };
    let status = state.status();
    moved(case, approval, state);
    answer_task(case, approval, answer)?;
    Ok(Reply::ApprovalDecided { status })
}

pub(crate) fn moved(case: &mut Case<'_>, approval: &Approval, state: ApprovalState) {
    let approval = Approval { state, ..approval.clone() };
    case.events.push(Event::ApprovalMoved { approval: Box::new(approval) });
}

/// The task that waits in that claim goes on with the answer; when its agent is gone it is offered again with it.
fn answer_task(case: &mut Case<'_>, approval: &Approval, answer: Option<String>) -> Result<(), Stop> {
    let Some(Waiting { task: id, attempt, .. }) = approval.waiting else { return Ok(()) };
    let task = match case.task(id) {
        Ok((task, _)) => task,
        // It was removed meanwhile.
        Err(Stop::Refused(_) | Stop::Recorded(_)) => return Ok(()),
        Err(missing @ Stop::Missing(_)) => return Err(missing),
    };
    if task.attempt != attempt || !matches!(task.state, State::Paused { .. }) {
        return Ok(());
    }
    let answer = answer.map(|answer| format!("{}: {answer}", approval.id));
    status::move_task(case, id, None, &Target::InProgress { answer }).map(|_| ())
}

/// One winner: whoever comes with exactly what was approved, first.
pub(crate) fn consume(case: &mut Case<'_>, id: ApprovalId, fingerprint: &str) -> Result<Reply, Stop> {
    let approval = case.world.approval(id)?;
    let agent = case.present(None)?;
    if agent != approval.agent {
        let problem = format!("{id} was asked for by {}", approval.agent);
        return Err(Refusal::NotPermitted { problem }.into());
    }
    if approval.fingerprint != fingerprint {
        return Err(Refusal::FingerprintMismatch { approval: id }.into());
    }
    if approval.is_over(case.now) {
        let problem = format!("{id} has expired; ask again");
        expire(case, approval)?;
        return Err(Stop::Recorded(Refusal::state(problem)));
    }
    match &approval.state {
        ApprovalState::Approved { .. } => {
            moved(case, approval, ApprovalState::Consumed { by: Actor::Agent(agent), at: case.now });
            Ok(Reply::ApprovalConsumed)
        }
        state @ (ApprovalState::Pending { .. }
        | ApprovalState::Rejected { .. }
        | ApprovalState::Expired { .. }
        | ApprovalState::Revoked { .. }
        | ApprovalState::Consumed { .. }) => {
            Err(Refusal::state(format!("{id} is {}; an approval is given first and used once", state.status())).into())
        }
    }
}

fn expire(case: &mut Case<'_>, approval: &Approval) -> Result<(), Stop> {
    moved(case, approval, ApprovalState::Expired { at: case.now });
    answer_task(case, approval, Some("expired: nobody decided in time".to_owned()))
}

pub(crate) fn expire_all(case: &mut Case<'_>) -> Result<Reply, Stop> {
    if case.caller.rights != Rights::Engine {
        return Err(Refusal::NotPermitted { problem: "approvals expire by themselves".to_owned() }.into());
    }
    let limit = limits::EXPIRED_APPROVALS_MAX;
    let list = List::OverdueApprovals { now: case.now, limit };
    let Fact::ApprovalRows(rows) = case.world.list(list)? else {
        return Ok(Reply::ApprovalsExpired { expired: 0, more: false });
    };
    let tasks = rows.iter().filter_map(|row| row.waiting).map(|waiting| Need::Task(waiting.task));
    case.world.want(rows.iter().map(|row| Need::Approval(row.id)).chain(tasks))?;
    let found: Vec<ApprovalId> = rows.iter().map(|row| row.id).collect();
    let mut expired = 0;
    for id in &found {
        // The list is a hint: somebody may have decided since.
        let approval = case.world.approval(*id)?;
        if approval.is_over(case.now) {
            expire(case, approval)?;
            expired += 1;
        }
    }
    Ok(Reply::ApprovalsExpired { expired, more: u32::try_from(found.len()).unwrap_or(u32::MAX) >= limit })
}
