//! Approvals: agents ask for them, people decide about them, and each approval is used once.

use crate::agent::Agent;
use crate::approval::{
    Approval, ApprovalDecision, ApprovalRequest, ApprovalState, ApprovalStatus, Source, WaitingTask,
};
use crate::case::Case;
use crate::check;
use crate::checkpoint::{Checkpoint, Kind};
use crate::command::{Actor, AskApproval, Note, Rights, Target};
use crate::event::Event;
use crate::id::{ApprovalId, TaskId, ThreadId};
use crate::inbox::{MailboxOwner, MessageDraft, MessageKind};
use crate::limits;
use crate::list::ApprovalQuery;
use crate::refusal::Refusal;
use crate::reply::Reply;
use crate::rules::{gate, inbox, lapse, status};
use crate::task::{Priority, Task, TaskState};
use crate::time::Timestamp;
use crate::world::{ApprovalNeed, DecisionStop, Need};

/// The reason that is recorded when an approval ends together with the claim that asked for it.
pub(crate) const PAST: &str = "the attempt that asked for it has ended";

/// Records an agent's request for an approval, with its fingerprint (the hash of the request). Pauses the task that the
/// request names until a person decides.
pub(crate) fn ask(case: &mut Case<'_>, asked: &AskApproval) -> Result<Reply, DecisionStop> {
    check_request(&asked.request)?;
    check::key("fingerprint", &asked.fingerprint)?;
    if case.rights == Rights::Engine {
        return gate::ask(case, asked);
    }
    let waiting = match asked.waits {
        None => None,
        Some((task, attempt)) => {
            let (task, _) = case.task(task)?;
            Some((WaitingTask { workflow: task.workflow, task: task.id, attempt }, task))
        }
    };
    let agent = case.present(waiting.as_ref().map(|(_, task)| *task))?;
    // A person's decision resumes the task that the request names. So an agent may name only a task that it holds
    // itself.
    if let Some((waiting, task)) = &waiting
        && (task.holder() != Some(agent) || task.attempt != waiting.attempt)
    {
        let holder = case.live_holder(task)?;
        return Err(Refusal::ClaimLost { task: task.id, holder, attempt: task.attempt }.into());
    }
    let need = ApprovalNeed::Sealed(asked.fingerprint.clone());
    for known in case.world.ask(&need)?.iter().filter(|known| known.agent() == Some(agent)) {
        if let ApprovalState::Pending { until } = known.state
            && !known.is_over(case.now)
        {
            return Ok(Reply::ApprovalAsked { approval: known.id, until });
        }
    }
    room(case)?;
    let id = ApprovalId::next(&mut case.ids);
    if let Some((waiting, task)) = &waiting
        && !matches!(task.state, TaskState::Paused { .. })
    {
        let reason = format!("{id} waits for a person's decision: {}", asked.request.operation);
        let reason = reason.chars().take(1_000).collect();
        status::move_task(case, waiting.task, Some(waiting.attempt), &Target::Paused { reason: Some(reason) })?;
    }
    case.acts_as(agent);
    Ok(record(case, id, asked, Actor::Agent(agent), waiting.map(|(waiting, _)| waiting)))
}

/// Records a request for a person's permission as a pending approval.
pub(crate) fn record(
    case: &mut Case<'_>,
    id: ApprovalId,
    asked: &AskApproval,
    asker: Actor,
    waiting: Option<WaitingTask>,
) -> Reply {
    let until = case.now + case.caller.lifetimes.pending;
    let approval = Approval {
        id,
        source: asked.source,
        asker,
        waiting,
        request: asked.request.clone(),
        fingerprint: asked.fingerprint.clone(),
        asked: case.now,
        state: ApprovalState::Pending { until },
        shown: Vec::new(),
    };
    case.events.push(Event::ApprovalAsked { approval: Box::new(approval) });
    Reply::ApprovalAsked { approval: id, until }
}

pub(crate) fn check_request(request: &ApprovalRequest) -> Result<(), Refusal> {
    let ApprovalRequest { operation, content, scope, directory, risk, rollback, verification } = request;
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

pub(crate) fn room(case: &Case<'_>) -> Result<(), DecisionStop> {
    let limit = u32::try_from(limits::APPROVALS_MAX).unwrap_or(u32::MAX);
    let statuses = vec![ApprovalStatus::Pending];
    let waiting = case.world.ask(&ApprovalQuery::WithStatus { statuses, before: None, limit })?;
    if waiting.len() < limits::APPROVALS_MAX {
        return Ok(());
    }
    Err(Refusal::state(format!("{} approvals already wait for a decision, which is the limit", limits::APPROVALS_MAX))
        .into())
}

/// Records a person's decision about a request: approve, reject or revoke. A person can also revoke an approval that
/// was already given.
pub(crate) fn decide(case: &mut Case<'_>, id: ApprovalId, decision: &ApprovalDecision) -> Result<Reply, DecisionStop> {
    match case.rights {
        Rights::Person => {}
        Rights::Agent | Rights::Runner | Rights::Coordinator | Rights::Script | Rights::Engine => {
            return Err(Refusal::NotPermitted { problem: "only a person decides about approvals".to_owned() }.into());
        }
    }
    let approval = case.world.approval(id)?;
    if let Some(agent) = approval.agent()
        && case.speaks_for(agent)?
    {
        let problem = format!("{agent} asked for {id}, so it cannot decide about it");
        return Err(Refusal::NotPermitted { problem }.into());
    }
    if approval.is_over(case.now) {
        let problem = format!("{id} has expired; the agent must ask again");
        lapse::expire(case, approval)?;
        return Err(DecisionStop::Recorded(Refusal::state(problem)));
    }
    let (by, at) = (Actor::Person, case.now);
    let asker = approval.agent().map(|agent| case.world.agent(agent)).transpose()?;
    let gone = asker.is_some_and(|agent| agent.left.is_some());
    let (state, said) = match (&approval.state, decision) {
        (ApprovalState::Pending { .. }, ApprovalDecision::Approve) if gone => {
            let reason = Some("its agent has unregistered, so it cannot be used".to_owned());
            (
                ApprovalState::Revoked { by: Actor::Engine, at, reason },
                "approved, but its agent has unregistered".to_owned(),
            )
        }
        (ApprovalState::Pending { .. }, ApprovalDecision::Approve) => {
            let until = (!waits_for_its_turn(approval, asker)).then(|| at + case.caller.lifetimes.approved);
            (ApprovalState::Approved { by, at, until }, "approved".to_owned())
        }
        (ApprovalState::Pending { .. }, ApprovalDecision::Reject { reason }) => {
            check::summary("reason", reason)?;
            (ApprovalState::Rejected { by, at, reason: reason.clone() }, format!("rejected: {reason}"))
        }
        (ApprovalState::Pending { .. } | ApprovalState::Approved { .. }, ApprovalDecision::Revoke { reason }) => {
            check::optional(reason.as_deref(), |text| check::summary("reason", text))?;
            let said = reason.as_ref().map_or_else(|| "revoked".to_owned(), |reason| format!("revoked: {reason}"));
            (ApprovalState::Revoked { by, at, reason: reason.clone() }, said)
        }
        (state, _) => {
            return Err(
                Refusal::state(format!("{id} is already {}, and this cannot be changed", state.status())).into()
            );
        }
    };
    let status = state.status();
    moved(case, approval, state);
    match (approval.is_gate(), status) {
        (true, ApprovalStatus::Approved) => {}
        (true, _) => gate::decided(case, approval, &said)?,
        (false, _) => {
            tell(case, approval, &said)?;
            answer_task(case, approval, &said)?;
        }
    }
    Ok(Reply::ApprovalDecided { status })
}

/// Returns true when the time to use an approval begins only when the asking agent's program resumes. The runner or a
/// client's hook reports that it resumes. Returns false when an agent in a person's session asked with a tool: its
/// session never stopped, so no report comes, and the time begins with the decision.
fn waits_for_its_turn(approval: &Approval, asker: Option<&Agent>) -> bool {
    let by_a_tool = approval.source == Source::ExecGate && asker.is_some_and(has_own_session);
    approval.resumes_a_turn() && !by_a_tool
}

/// Returns true when the agent runs in a client's session, which a person started. A runner starts all other agents.
fn has_own_session(agent: &Agent) -> bool {
    agent.origin.conversation.is_some()
}

/// Sends the decision about an approval to the mailbox of the agent that asked. Sends nothing when the agent gets the
/// decision in another way: from the runner that resumes its program, or over the Agent Client Protocol.
fn tell(case: &mut Case<'_>, approval: &Approval, said: &str) -> Result<(), DecisionStop> {
    let Some(agent) = approval.agent() else { return Ok(()) };
    let asker = case.world.agent(agent)?;
    let by_mail = match approval.source {
        Source::Gate | Source::ExecGate => true,
        Source::Handoff => has_own_session(asker),
        Source::Acp => false,
    };
    if !by_mail || asker.left.is_some() {
        return Ok(());
    }
    case.world.want([Need::Mailbox(MailboxOwner::Agent(agent))])?;
    let operation: String = approval.request.operation.chars().take(200).collect();
    let draft = MessageDraft {
        subject: Some(format!("{}: {operation}", approval.id)),
        workflow: approval.waiting.map(|waiting| waiting.workflow),
        task: approval.waiting.map(|waiting| waiting.task),
        ..MessageDraft::text(MessageKind::Feedback, Priority::FIRST, format!("{}: {said}", approval.id))
    };
    let thread = ThreadId::next(&mut case.ids);
    inbox::deliver(case, agent, thread, &draft).map(|_| ())
}

pub(crate) fn moved(case: &mut Case<'_>, approval: &Approval, state: ApprovalState) {
    let approval = Approval { state, ..approval.clone() };
    case.events.push(Event::ApprovalMoved { approval: Box::new(approval) });
}

/// Resumes the task whose claim waits for this approval, and gives the decision to the task as its answer. If the
/// task's agent has unregistered, the task becomes free, and the agent that claims it next gets the answer.
pub(crate) fn answer_task(case: &mut Case<'_>, approval: &Approval, said: &str) -> Result<(), DecisionStop> {
    let Some(WaitingTask { task: id, attempt, .. }) = approval.waiting else { return Ok(()) };
    let task = match case.task(id) {
        Ok((task, _)) => task,
        // The task was removed after the approval was asked for, so no task waits for the answer.
        Err(DecisionStop::Refused(_) | DecisionStop::Recorded(_)) => return Ok(()),
        Err(missing @ DecisionStop::Missing(_)) => return Err(missing),
    };
    if task.attempt != attempt || !matches!(task.state, TaskState::Paused { .. }) {
        return Ok(());
    }
    let answer = format!("{}: {said}", approval.id);
    if is_asked_more(case, approval)? {
        // The claim also waits for another decision, so this decision does not resume the task. Store the answer as a
        // checkpoint. The last decision resumes the task.
        let (by, note) = (case.actor()?, Note::plain(Kind::Decision, answer));
        let checkpoint = Box::new(Checkpoint::after(task, &mut case.ids, by, note, case.now));
        case.events.push(Event::CheckpointAdded { workflow: task.workflow, checkpoint });
        return Ok(());
    }
    status::move_task(case, id, None, &Target::InProgress { answer: Some(answer) }).map(|_| ())
}

/// Returns true when the claim that waits for this approval also waits for another approval.
fn is_asked_more(case: &Case<'_>, decided: &Approval) -> Result<bool, DecisionStop> {
    let Some(waiting) = decided.waiting else { return Ok(false) };
    let others = open(case, waiting.task)?.into_iter().filter(|other| other.id != decided.id);
    let waits = |other: &Approval| other.waiting == Some(waiting) && is_pending(other, case.now);
    Ok(others.into_iter().any(waits))
}

fn is_pending(approval: &Approval, now: Timestamp) -> bool {
    approval.state.status() == ApprovalStatus::Pending && !approval.is_over(now)
}

/// Returns the approvals of a task that are pending, or approved and not used yet. The list that the database returns
/// may be out of date, so each approval in it is read again.
pub(crate) fn open<'a>(case: &Case<'a>, task: TaskId) -> Result<Vec<&'a Approval>, DecisionStop> {
    let list = ApprovalQuery::OpenOfTask { task, limit: limits::OPEN_APPROVALS_LOOKED_AT };
    let rows = case.world.ask(&list)?;
    case.world.want(rows.iter().map(|row| Need::Approval(row.id)))?;
    rows.iter().map(|row| case.world.approval(row.id)).collect()
}

/// Uses an approval. Only the first call that uses the approval succeeds. The fingerprint (the hash of the request) of
/// the call must equal the fingerprint of the approval.
pub(crate) fn consume(case: &mut Case<'_>, id: ApprovalId, fingerprint: &str) -> Result<Reply, DecisionStop> {
    let approval = case.world.approval(id)?;
    let agent = case.present(None)?;
    if approval.agent() != Some(agent) {
        let problem = format!("only {} may use {id}, because it asked for it", approval.asker);
        return Err(Refusal::NotPermitted { problem }.into());
    }
    if approval.fingerprint != fingerprint {
        return Err(Refusal::FingerprintMismatch { approval: id }.into());
    }
    if approval.is_over(case.now) {
        let problem = format!("{id} has expired; ask again");
        lapse::expire(case, approval)?;
        return Err(DecisionStop::Recorded(Refusal::state(problem)));
    }
    match &approval.state {
        ApprovalState::Approved { .. } if !is_of_this_attempt(case, approval)? => {
            let reason = Some(PAST.to_owned());
            moved(case, approval, ApprovalState::Revoked { by: Actor::Engine, at: case.now, reason });
            Err(DecisionStop::Recorded(Refusal::state(format!(
                "{id} was asked for in an attempt that has ended; ask again"
            ))))
        }
        ApprovalState::Approved { .. } => {
            moved(case, approval, approval.state.used(Actor::Agent(agent), case.now));
            Ok(Reply::ApprovalConsumed)
        }
        state @ (ApprovalState::Pending { .. }
        | ApprovalState::Rejected { .. }
        | ApprovalState::Expired { .. }
        | ApprovalState::Revoked { .. }
        | ApprovalState::Consumed { .. }) => Err(Refusal::state(format!(
            "{id} is {}; only an approval that was approved and not used yet can be used",
            state.status()
        ))
        .into()),
    }
}

/// Returns the approval that a paused task waits for. Returns `None` when the task waits for no approval.
pub(crate) fn waited_for(case: &Case<'_>, task: &Task) -> Result<Option<ApprovalId>, DecisionStop> {
    let of_this = |row: &&Approval| row.waiting.is_some_and(|waiting| waiting.attempt == task.attempt);
    let waits = open(case, task.id)?.into_iter().filter(of_this).find(|row| is_pending(row, case.now));
    Ok(waits.map(|row| row.id))
}

pub(crate) fn is_of_this_attempt(case: &Case<'_>, approval: &Approval) -> Result<bool, DecisionStop> {
    let Some(WaitingTask { task, attempt, .. }) = approval.waiting else { return Ok(true) };
    match case.task(task) {
        Ok((task, _)) => Ok(task.attempt == attempt && task.holder() == approval.agent()),
        Err(DecisionStop::Refused(_) | DecisionStop::Recorded(_)) => Ok(false),
        Err(missing @ DecisionStop::Missing(_)) => Err(missing),
    }
}
