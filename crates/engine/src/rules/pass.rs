//! The rules for calls that a gate (a rule of a client's hook) stopped. A call passes when a person approved exactly
//! this call. Otherwise a person is asked.

use crate::approval::{Approval, ApprovalState};
use crate::case::Case;
use crate::check;
use crate::command::{Actor, PassGate};
use crate::event::Event;
use crate::id::ApprovalId;
use crate::refusal::Refusal;
use crate::reply::Reply;
use crate::rules::{agent, approval};
use crate::world::{ApprovalNeed, DecisionStop};

/// Decides about a call that a gate (a rule of a client's hook) stopped: consumes a matching approval, repeats a
/// matching rejection, or asks a person. These steps are one transaction. So when two calls need the same approval,
/// only one of them passes.
pub(crate) fn pass(case: &mut Case<'_>, passing: &PassGate) -> Result<Reply, DecisionStop> {
    let PassGate { asked, newcomer } = passing;
    let print = &asked.fingerprint;
    check::key("fingerprint", print)?;
    case.world.want([ApprovalNeed::Sealed(print.clone()), ApprovalNeed::Refused(print.clone())])?;
    let Some((id, register)) = newcomer else {
        let own = case.present(None)?;
        let open = case.world.ask(&ApprovalNeed::Sealed(print.clone()))?;
        let usable = |row: &&Approval| {
            row.agent() == Some(own) && !row.is_over(case.now) && matches!(row.state, ApprovalState::Approved { .. })
        };
        if let Some(given) = open.iter().find(usable) {
            approval::moved(case, given, given.state.used(Actor::Agent(own), case.now));
            return Ok(Reply::ApprovalConsumed);
        }
        let refused = case.world.ask(&ApprovalNeed::Refused(print.clone()))?.first();
        if let Some(refused) = refused.filter(|row| row.agent() == Some(own))
            && let Some(reply) = told_no(refused, case)
        {
            return Ok(reply);
        }
        return approval::ask(case, asked);
    };
    agent::check_register(register)?;
    let agent = agent::newcomer(case, register)?;
    if agent.id != *id {
        return Err(Refusal::input("newcomer", "is not the agent that this command registers").into());
    }
    case.acts_as(*id);
    case.events.push(Event::Registered { agent: Box::new(agent) });
    approval::check_request(&asked.request)?;
    approval::room(case)?;
    let approval = ApprovalId::next(&mut case.ids);
    Ok(approval::record(case, approval, asked, Actor::Agent(*id), None))
}

/// Returns a reply that repeats a person's earlier rejection of the same call. The rejection is repeated only for a
/// limited time, which is as long as the time in which a new request could stay pending. After that time, returns
/// `None`, and a person is asked again.
fn told_no(refused: &Approval, case: &Case<'_>) -> Option<Reply> {
    let (at, reason) = match &refused.state {
        ApprovalState::Rejected { at, reason, .. } => (*at, Some(reason.clone())),
        ApprovalState::Revoked { at, reason, .. } => (*at, reason.clone()),
        ApprovalState::Pending { .. }
        | ApprovalState::Approved { .. }
        | ApprovalState::Expired { .. }
        | ApprovalState::Consumed { .. } => return None,
    };
    (case.now < at + case.caller.lifetimes.pending).then_some(Reply::ApprovalRefused { approval: refused.id, reason })
}
