//! The rules for sending and acknowledging messages.

use crate::agent::is_slug;
use crate::case::Case;
use crate::check;
use crate::command::Actor;
use crate::event::Event;
use crate::id::{AgentId, Ids, MessageId, ThreadId};
use crate::inbox::{MailboxOwner, Message, MessageDraft, MessageState, RecipientMatch, Recipients};
use crate::limits;
use crate::refusal::Refusal;
use crate::reply::Reply;
use crate::world::{AgentIdNeed, DecisionStop, Need};

#[derive(Debug, Clone, Copy)]
pub(crate) enum Mark {
    Read,
    Archived,
}

pub(crate) fn send(case: &mut Case<'_>, to: &Recipients, draft: &MessageDraft) -> Result<Reply, DecisionStop> {
    check::optional(draft.subject.as_deref(), |text| check::summary("subject", text))?;
    check::size("body", &draft.body, limits::TEXT_BYTES_MAX)?;
    let from = case.actor()?;
    if let Actor::Agent(agent) = from {
        case.world.agent(agent)?;
    }
    if let Some(task) = draft.task {
        case.world.task(task)?;
    }
    if let Some(workflow) = draft.workflow {
        case.world.workflow(workflow)?;
    }
    let thread = match draft.reply_to {
        None => ThreadId::next(&mut case.ids),
        Some(id) => case.world.message(id)?.ok_or(Refusal::MessageNotFound { message: id })?.thread,
    };
    let envelope = Envelope { from, thread, draft };
    match to {
        Recipients::One(owner) => send_one(case, *owner, &envelope),
        Recipients::Slug(slug) if slug == "human" => send_one(case, MailboxOwner::Human, &envelope),
        // Refuse a text that is not a slug (an agent's short name) without asking the store, because a database may not
        // accept such a text as a parameter.
        Recipients::Slug(slug) if !is_slug(slug) => Err(Refusal::RecipientNotFound { recipient: slug.clone() }.into()),
        Recipients::Slug(slug) => {
            let found = case.world.ask(&AgentIdNeed::WithSlug(slug.clone()))?.first().copied();
            let agent = found.ok_or_else(|| Refusal::RecipientNotFound { recipient: slug.clone() })?;
            send_one(case, MailboxOwner::Agent(agent), &envelope)
        }
        Recipients::All(filter) => broadcast(case, filter, &envelope),
    }
}

struct Envelope<'a> {
    from: Actor,
    thread: ThreadId,
    draft: &'a MessageDraft,
}

/// Returns the slug (short name) of a recipient. An agent that unregistered counts as not found, because such an agent
/// no longer reads messages.
fn slug_of(case: &Case<'_>, owner: MailboxOwner) -> Result<String, DecisionStop> {
    match owner {
        MailboxOwner::Human => Ok("human".to_owned()),
        MailboxOwner::Agent(id) => {
            let unknown = || Refusal::RecipientNotFound { recipient: id.to_string() };
            match case.world.agent(id) {
                Ok(agent) if agent.left.is_none() => Ok(agent.slug.clone()),
                Ok(_) | Err(DecisionStop::Refused(_) | DecisionStop::Recorded(_)) => Err(unknown().into()),
                Err(missing @ DecisionStop::Missing(_)) => Err(missing),
            }
        }
    }
}

fn send_one(case: &mut Case<'_>, owner: MailboxOwner, envelope: &Envelope<'_>) -> Result<Reply, DecisionStop> {
    let slug = slug_of(case, owner)?;
    let mailbox = case.world.mailbox(owner)?;
    if mailbox.unread >= limits::UNREAD_MAX {
        return Err(Refusal::InboxFull { unread: mailbox.unread }.into());
    }
    let (sequence, ahead) = (mailbox.sequence + 1, mailbox.unread);
    let message = write(&mut case.ids, owner, sequence, envelope, case.now);
    let reply = Reply::Sent { message: message.id, thread: message.thread, sequence, ahead };
    if let Actor::Agent(agent) = envelope.from {
        case.touch(agent)?;
    }
    case.events.push(Event::Sent { message: Box::new(message), slug });
    Ok(reply)
}

fn write(
    ids: &mut Ids,
    to: MailboxOwner,
    sequence: u32,
    envelope: &Envelope<'_>,
    at: crate::time::Timestamp,
) -> Message {
    Message {
        id: MessageId::next(ids),
        to,
        sequence,
        from: envelope.from,
        thread: envelope.thread,
        state: MessageState::Unread,
        draft: envelope.draft.clone(),
        at,
        answer: None,
    }
}

fn broadcast(case: &mut Case<'_>, filter: &RecipientMatch, envelope: &Envelope<'_>) -> Result<Reply, DecisionStop> {
    check::optional(filter.role.as_deref(), |text| check::label("role", text))?;
    check::optional(filter.runtime.as_deref(), |text| check::label("runtime", text))?;
    let found = case.world.ask(&AgentIdNeed::Matching(filter.clone()))?;
    if found.len() > limits::BROADCAST_MAX {
        let problem = format!("matches more than {} agents; use a narrower filter", limits::BROADCAST_MAX);
        return Err(Refusal::input("recipient_filter", problem).into());
    }
    let others = || found.iter().copied().filter(|agent| envelope.from != Actor::Agent(*agent));
    case.world.want(others().flat_map(|agent| [Need::Agent(agent), Need::Mailbox(MailboxOwner::Agent(agent))]))?;
    if let Actor::Agent(agent) = envelope.from {
        case.touch(agent)?;
    }
    let (mut messages, mut full) = (Vec::new(), Vec::new());
    for id in others() {
        let agent = case.world.agent(id)?;
        if agent.left.is_some() || (!filter.include_silent && agent.is_silent(&case.caller.alive, case.now)) {
            continue;
        }
        let mailbox = case.world.mailbox(MailboxOwner::Agent(id))?;
        if mailbox.unread >= limits::UNREAD_MAX {
            full.push(id);
            continue;
        }
        let message = write(&mut case.ids, MailboxOwner::Agent(id), mailbox.sequence + 1, envelope, case.now);
        messages.push(message.id);
        let slug = agent.slug.clone();
        case.events.push(Event::Sent { message: Box::new(message), slug });
    }
    Ok(Reply::Broadcast { messages, thread: envelope.thread, full })
}

/// Sends a message of the engine to agents, and always to a person. The message is delivered even to a full mailbox,
/// because the number of tasks limits the number of these messages.
pub(crate) fn notify(case: &mut Case<'_>, agents: &[AgentId], draft: &MessageDraft) -> Result<(), DecisionStop> {
    let owners: Vec<MailboxOwner> =
        agents.iter().map(|agent| MailboxOwner::Agent(*agent)).chain([MailboxOwner::Human]).collect();
    case.world.want(agents.iter().map(|agent| Need::Agent(*agent)))?;
    case.world.want(owners.iter().map(|owner| Need::Mailbox(*owner)))?;
    let envelope = Envelope { from: Actor::Engine, thread: ThreadId::next(&mut case.ids), draft };
    for owner in owners {
        // Skip an agent that has unregistered, because it no longer reads messages.
        let Ok(slug) = slug_of(case, owner) else {
            continue;
        };
        let sequence = case.world.mailbox(owner)?.sequence + 1;
        let message = write(&mut case.ids, owner, sequence, &envelope, case.now);
        case.events.push(Event::Sent { message: Box::new(message), slug });
    }
    Ok(())
}

/// Delivers a person's answer or decision to the agent's mailbox, even when the mailbox is full or the agent has
/// unregistered. Each question gets only one answer, so the answer must not be lost.
pub(crate) fn deliver(
    case: &mut Case<'_>,
    to: AgentId,
    thread: ThreadId,
    draft: &MessageDraft,
) -> Result<MessageId, DecisionStop> {
    let (owner, slug) = (MailboxOwner::Agent(to), case.world.agent(to)?.slug.clone());
    let sequence = case.world.mailbox(owner)?.sequence + 1;
    let envelope = Envelope { from: case.actor()?, thread, draft };
    let message = write(&mut case.ids, owner, sequence, &envelope, case.now);
    let id = message.id;
    case.events.push(Event::Sent { message: Box::new(message), slug });
    Ok(id)
}

/// Acknowledges messages of the caller's own mailbox. Ignores ids of unknown messages, because the original server,
/// with which Handover is compatible, ignores them, too.
pub(crate) fn mark(case: &mut Case<'_>, messages: &[MessageId], mark: Mark) -> Result<Reply, DecisionStop> {
    check::count("message_ids", messages.len(), limits::MARKED_MESSAGES_MAX)?;
    case.world.want(messages.iter().map(|id| Need::Message(*id)))?;
    let actor = case.actor()?;
    if let Actor::Agent(agent) = actor {
        case.touch(agent)?;
    }
    let mut changed = 0;
    let mut seen = Vec::new();
    for id in messages {
        let Some(message) = case.world.message(*id)? else {
            continue;
        };
        if seen.contains(id) {
            continue;
        }
        seen.push(*id);
        let allowed = match message.to {
            MailboxOwner::Agent(agent) => {
                actor == Actor::Agent(agent) || case.speaks_for(agent)? || case.may_override()
            }
            // A coordinator cannot read the mailbox of the person, so it cannot mark messages there as read.
            MailboxOwner::Human => matches!(actor, Actor::Person | Actor::Engine),
        };
        if !allowed {
            return Err(Refusal::NotPermitted {
                problem: format!("the message {id} is in the mailbox of {}", message.to),
            }
            .into());
        }
        let slug = match message.to {
            MailboxOwner::Human => "human".to_owned(),
            MailboxOwner::Agent(agent) => case.world.agent(agent)?.slug.clone(),
        };
        let was_unread = message.state == MessageState::Unread;
        let at = case.now;
        let state = match (mark, message.state) {
            (Mark::Read, MessageState::Unread) => MessageState::Read { at },
            (Mark::Archived, MessageState::Unread | MessageState::Read { .. }) => MessageState::Archived { at },
            (Mark::Read, MessageState::Read { .. }) | (_, MessageState::Archived { .. }) => {
                continue;
            }
        };
        case.world.mailbox(message.to)?;
        case.events.push(Event::Marked { message: *id, to: message.to, slug, was_unread, state });
        changed += 1;
    }
    Ok(Reply::Marked { changed })
}
