//! Records that a person saw an approval, and manages the notices that tell people about approvals outside of Handover.
//! One sender at a time sends a notice. If the sender dies, another sender sends the notice again.

use crate::approval::{Approval, ApprovalStatus, Via};
use crate::case::Case;
use crate::check;
use crate::command::Rights;
use crate::event::Event;
use crate::id::ApprovalId;
use crate::limits;
use crate::list::ApprovalQuery;
use crate::notice::{Channel, Notice};
use crate::refusal::Refusal;
use crate::reply::Reply;
use crate::world::{DecisionStop, Need};

/// Records that a person saw pending approvals. For each approval, each way of seeing it (command line or HTTP) is
/// recorded once.
pub(crate) fn show(case: &mut Case<'_>, approvals: &[ApprovalId], via: Via) -> Result<Reply, DecisionStop> {
    match (case.rights, via) {
        (Rights::Person, Via::CommandLine | Via::Http) => {}
        (Rights::Agent | Rights::Runner | Rights::Coordinator | Rights::Script | Rights::Engine, _)
        | (Rights::Person, _) => {
            return Err(
                Refusal::NotPermitted { problem: "only a person's look at approvals is recorded".to_owned() }.into()
            );
        }
    }
    check::count("approvals", approvals.len(), limits::SHOWN_APPROVALS_MAX)?;
    case.world.want(approvals.iter().copied().map(Need::Approval))?;
    let mut seen = Vec::new();
    for id in approvals {
        let approval = case.world.approval(*id)?;
        if !seen.contains(id) && waits(case, approval) && !approval.shown.contains(&via) {
            seen.push(*id);
            shown(case, approval, via);
        }
    }
    Ok(Reply::ApprovalsShown { recorded: u32::try_from(seen.len()).unwrap_or(u32::MAX) })
}

fn waits(case: &Case<'_>, approval: &Approval) -> bool {
    approval.state.status() == ApprovalStatus::Pending && !approval.is_over(case.now)
}

fn shown(case: &mut Case<'_>, approval: &Approval, via: Via) {
    case.events.push(Event::ApprovalShown { approval: approval.id, waiting: approval.waiting, via });
}

fn only_a_timer(case: &Case<'_>) -> Result<(), Refusal> {
    if case.rights == Rights::Engine {
        return Ok(());
    }
    Err(Refusal::NotPermitted { problem: "only Handover itself sends notices".to_owned() })
}

/// Gives the caller one notice (a message to a person about a pending approval) to send. If the caller does not report
/// the result in time, another sender may take the notice.
pub(crate) fn take(case: &mut Case<'_>, channel: Channel) -> Result<Reply, DecisionStop> {
    only_a_timer(case)?;
    let list = ApprovalQuery::DueNotices { channel, now: case.now, limit: limits::NOTICES_LOOKED_AT };
    for id in case.world.ask(&list)?.iter().map(|row| row.id) {
        // Read the approval and the notice again, because the list of due notices may be out of date. A person may have
        // decided about the approval, or another sender may have taken the notice.
        let approval = case.world.approval(id)?;
        let known = case.world.notice(id, channel)?;
        if !waits(case, approval) || known.is_some_and(|known| !known.is_due(case.now)) {
            continue;
        }
        let tries = known.map_or(0, |known| known.tries).saturating_add(1);
        let problem = known.and_then(|known| known.problem.clone());
        let next = Some(case.now + limits::NOTICE_SENDING_MS);
        case.events
            .push(Event::NoticeMoved { notice: Box::new(Notice { approval: id, channel, tries, next, problem }) });
        return Ok(Reply::NoticeTaken { approval: Some(id), tries });
    }
    Ok(Reply::NoticeTaken { approval: None, tries: 0 })
}

/// Records whether a notice (a message to a person about a pending approval) was sent. A report about an earlier try
/// changes nothing, because another sender has taken the notice in the meantime.
pub(crate) fn settle(
    case: &mut Case<'_>,
    (id, channel): (ApprovalId, Channel),
    tries: u32,
    problem: Option<&str>,
) -> Result<Reply, DecisionStop> {
    only_a_timer(case)?;
    let approval = case.world.approval(id)?;
    let known = case.world.notice(id, channel)?.filter(|known| known.tries == tries);
    let Some(known) = known.filter(|known| known.next.is_some()) else {
        return Ok(Reply::NoticeSettled { next: None });
    };
    let mut notice = Notice { next: None, problem: None, ..known.clone() };
    match problem {
        None if approval.shown.contains(&channel.via()) => {}
        None => shown(case, approval, channel.via()),
        Some(problem) => {
            notice.next = Notice::pause(tries).map(|pause| case.now + pause);
            // Remove zero bytes from the error text of a server, because a database cannot store them.
            let said = problem.chars().filter(|letter| *letter != '\0').take(limits::PROBLEM_CHARS_MAX);
            notice.problem = Some(said.collect());
        }
    }
    let next = notice.next;
    case.events.push(Event::NoticeMoved { notice: Box::new(notice) });
    Ok(Reply::NoticeSettled { next })
}
