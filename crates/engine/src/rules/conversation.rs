//! The rules for conversations of clients, as the clients' hooks report them: which agents belong to a conversation,
//! their signs of life, the end of the conversation, and missing handoffs (the closing reports of agents).

use crate::agent::{Agent, Origin};
use crate::case::Case;
use crate::check;
use crate::command::{Note, PromptReport, Rights, SendBack, Target};
use crate::event::{Cause, Event};
use crate::id::AgentId;
use crate::limits;
use crate::refusal::Refusal;
use crate::reminder::Reminder;
use crate::reply::Reply;
use crate::rules::{agent, lapse, record, status};
use crate::task::BlockKind;
use crate::turn::progress_limit_reached;
use crate::world::{AgentIdNeed, DecisionStop, Need, TaskIdNeed, WorkflowIdNeed};

fn by_a_hook(case: &Case<'_>) -> Result<(), DecisionStop> {
    match case.rights {
        Rights::Engine => Ok(()),
        Rights::Agent | Rights::Runner | Rights::Coordinator | Rights::Script | Rights::Person => {
            Err(Refusal::NotPermitted { problem: "only a client's hook may report its conversations".to_owned() }
                .into())
        }
    }
}

pub(crate) fn check_origin(origin: &Origin) -> Result<(), Refusal> {
    let Origin { conversation, part, call } = origin;
    let named = [("conversation", conversation), ("part", part), ("call", call)];
    named.into_iter().try_for_each(|(field, text)| check::optional(text.as_deref(), |text| check::key(field, text)))
}

/// Updates the conversation, sub-agent and call of an agent that registers again. A value that the client does not
/// send now stays as it was. The sub-agent is cleared when the conversation changes, because another conversation has
/// other sub-agents.
pub(crate) fn rejoin(case: &mut Case<'_>, agent: &Agent, origin: &Origin) {
    let Origin { conversation, part, call } = agent.origin.clone();
    let moved = origin.conversation.is_some() && origin.conversation != conversation;
    let next = Origin {
        conversation: origin.conversation.clone().or(conversation),
        part: if moved { None } else { part },
        call: origin.call.clone().or(call),
    };
    join(case, agent, next);
}

fn join(case: &mut Case<'_>, agent: &Agent, origin: Origin) {
    if origin != agent.origin {
        case.events.push(Event::Joined { agent: agent.id, slug: agent.slug.clone(), origin });
    }
}

/// Records a call that a client's hook reports. Agents that registered by this call join the conversation. Every agent
/// that belongs to the reported sub-agent, or to the conversation itself when no sub-agent is reported, gets a sign of
/// life.
pub(crate) fn hear(case: &mut Case<'_>, origin: &Origin) -> Result<Reply, DecisionStop> {
    by_a_hook(case)?;
    check_origin(origin)?;
    let Some(conversation) = &origin.conversation else {
        return Err(Refusal::input("conversation", "is missing").into());
    };
    let mut needs = vec![AgentIdNeed::OfConversation(conversation.clone())];
    needs.extend(origin.call.clone().map(AgentIdNeed::OfCall));
    case.world.want(needs)?;
    let called = match &origin.call {
        Some(call) => case.world.ask(&AgentIdNeed::OfCall(call.clone()))?.as_slice(),
        None => &[],
    };
    let known = case.world.ask(&AgentIdNeed::OfConversation(conversation.clone()))?;
    case.world.want(called.iter().chain(known).map(|id| Need::Agent(*id)))?;
    let mut living: Vec<AgentId> = Vec::new();
    for id in called {
        let agent = case.world.agent(*id)?;
        if !is_foreign(case, agent) {
            join(case, agent, origin.clone());
            living.push(*id);
        }
    }
    for id in known.iter().filter(|id| !called.contains(id)) {
        let agent = case.world.agent(*id)?;
        if agent.origin.part == origin.part && !is_foreign(case, agent) {
            living.push(*id);
        }
    }
    case.world.want(
        living
            .iter()
            .flat_map(|id| [Need::from(TaskIdNeed::HeldBy(*id)), WorkflowIdNeed::LockedBy(id.to_string()).into()]),
    )?;
    let mut tasks = 0;
    for id in living {
        tasks += agent::renew_all(case, id)?;
        lapse::take_up(case, id, None)?;
    }
    Ok(Reply::Renewed { tasks })
}

/// Ends a conversation. The claims of its agents end, so that other agents can claim the tasks. The agents stay
/// registered, so that the conversation can be resumed.
pub(crate) fn end(case: &mut Case<'_>, conversation: &str) -> Result<Reply, DecisionStop> {
    by_a_hook(case)?;
    check::key("conversation", conversation)?;
    let agents = case.world.ask(&AgentIdNeed::OfConversation(conversation.to_owned()))?;
    case.world.want(agents.iter().flat_map(|agent| [Need::Agent(*agent), TaskIdNeed::HeldBy(*agent).into()]))?;
    let mut released = 0;
    let mut reaches_all = true;
    for id in agents {
        if is_foreign(case, case.world.agent(*id)?) {
            reaches_all = false;
        } else {
            released += agent::end_claims(case, *id, Cause::Closed)?;
        }
    }
    if reaches_all {
        case.events.push(Event::RemindersDropped { conversation: conversation.to_owned() });
    }
    Ok(Reply::SessionClosed { released })
}

/// Returns true when the agent's last registration was on a live connection of another client than the caller's. Any
/// client could report the name of another client's conversation, because such a name is not a secret. So a hook of one
/// client must not change the agents of another client.
fn is_foreign(case: &Case<'_>, agent: &Agent) -> bool {
    agent.session.is_some_and(|home| case.caller.foreign.contains(&home))
}

/// Returns the stored reminder (the counts of missing handoffs and progress reports) of the conversation or sub-agent
/// that the report is about.
fn reminder(case: &Case<'_>, report: &PromptReport) -> Result<Option<Reminder>, DecisionStop> {
    check::key("conversation", &report.conversation)?;
    check::size("part", &report.part, limits::KEY_BYTES_MAX)?;
    check::size("prompt", &report.prompt, limits::KEY_BYTES_MAX)?;
    Ok(case.world.reminder(&report.conversation, &report.part)?.cloned())
}

fn remember(case: &mut Case<'_>, report: &PromptReport, count: u32, goes_on: u32) {
    let PromptReport { conversation, part, prompt, task, attempt } = report.clone();
    let reminder = Reminder { conversation, part, prompt, count, task, attempt, goes_on, at: case.now };
    case.events.push(Event::Reminded { reminder: Box::new(reminder) });
}

/// Asks an agent to write its handoff (closing report) again, because the handoff is missing or wrong. If the agent was
/// already asked [`limits::REMINDERS_MAX`] times at this prompt, blocks the task instead.
pub(crate) fn send_back(case: &mut Case<'_>, sent: &SendBack) -> Result<Reply, DecisionStop> {
    let SendBack { report, note, blocked, role } = sent;
    let known = reminder(case, report)?;
    let count = known.as_ref().map_or(0, |known| known.count_at(&report.prompt));
    let goes_on = known.as_ref().map_or(0, |known| known.goes_on_in(report.task, report.attempt));
    if count >= limits::REMINDERS_MAX {
        let to = Target::Blocked { kind: BlockKind::VerificationFail, reason: blocked.clone(), role: role.clone() };
        return status::move_task(case, report.task, Some(report.attempt), &to);
    }
    record::add_checkpoint(case, report.task, Some(report.attempt), note)?;
    remember(case, report, count + 1, goes_on);
    Ok(Reply::SentBack { count: count + 1 })
}

/// Records that an agent reports progress instead of a result. If the agent already did so [`limits::GOES_ON_MAX`]
/// times in a row, blocks the task.
pub(crate) fn go_on(case: &mut Case<'_>, report: &PromptReport, note: &Note) -> Result<Reply, DecisionStop> {
    let known = reminder(case, report)?;
    let goes_on = known.map_or(0, |known| known.goes_on_in(report.task, report.attempt));
    if let Some(reason) = progress_limit_reached(goes_on, &note.summary) {
        let to = Target::Blocked { kind: BlockKind::Ambiguity, reason, role: None };
        return status::move_task(case, report.task, Some(report.attempt), &to);
    }
    let reply = record::add_checkpoint(case, report.task, Some(report.attempt), note)?;
    // This handoff (the agent's closing report) is valid, so the count of missing or wrong handoffs becomes 0.
    remember(case, report, 0, goes_on + 1);
    Ok(reply)
}
