//! Reads the mailboxes of agents and people, for the tools `inbox_*` and `message_*`.

use engine::inbox::{MailboxOwner, Message, Recipients};

use engine::view::{self, MailFilter, MailState};
use engine::{Actor, Command, DecisionStop, Need, Refusal, Timestamp, World, identity};
use wire::lifecycle::{
    Address, InboxAnswer, InboxRead, InboxRow, MessageCountUnread, MessageGet, MessageList, MessageRow, MessageStatus,
    Messages, NamedParts, ReplyPart, UnreadAnswer, original_priority,
};

use super::{Desk, Stopped, ToolAnswer, ToolRequest, bad_cursor, limit};
use base::error::Error;

/// Changes the refusal "unknown agent" to "unknown sender". A call that sends a message needs this change, because the
/// agent that the call names is the sender.
pub(super) fn of_a_sender(error: Error) -> Error {
    if let Error::Refused(Refusal::AgentNotFound { agent: Some(sender) }) = error {
        return Error::Refused(Refusal::SenderNotFound { sender: sender.to_string() });
    }
    error
}

impl Desk {
    /// Refuses to read a mailbox that the caller may not read. A person's mail is read only by a person or a person's
    /// script. An agent's mail is read by that agent, by persons, and by coordinators (callers that may act on tasks of
    /// other agents).
    async fn may_read(&self, request: &ToolRequest<'_>, owner: MailboxOwner) -> Result<(), Stopped> {
        match owner {
            MailboxOwner::Human if request.visitor.rights.is_persons() => Ok(()),
            MailboxOwner::Human => {
                Err(Refusal::NotPermitted { problem: format!("only a person may read the mailbox `{owner}`") }.into())
            }
            MailboxOwner::Agent(_) if request.visitor.may_override() => Ok(()),
            MailboxOwner::Agent(id) => {
                let (caller, now) = (request.caller.clone(), self.service.now());
                let voice = move |world: &World| identity::check_voice(world, &caller, world.agent(id)?, now);
                Ok(self.service.view(voice).await?)
            }
        }
    }

    /// Returns the owner of the mailbox that the call is about. Refuses if the caller may not read this mailbox.
    async fn owner(&self, request: &ToolRequest<'_>, address: Option<&Address>) -> Result<MailboxOwner, Stopped> {
        let owner = match address.map(|address| address.0.clone()) {
            Some(Recipients::One(owner)) => owner,
            Some(Recipients::Slug(slug)) => {
                let unknown = Refusal::RecipientNotFound { recipient: slug.clone() };
                MailboxOwner::Agent(self.service.agent_by_slug(&slug).await?.ok_or(unknown)?)
            }
            Some(Recipients::All(_)) | None => match self.acting(request).await? {
                Some(agent) => MailboxOwner::Agent(agent),
                None if request.visitor.rights.is_persons() => MailboxOwner::Human,
                None => return Err(Refusal::AgentNotFound { agent: None }.into()),
            },
        };
        self.may_read(request, owner).await?;
        Ok(owner)
    }

    pub(super) async fn messages(&self, request: &ToolRequest<'_>, asked: &MessageList) -> ToolAnswer {
        let owner = self.owner(request, asked.agent_id.as_ref()).await?;
        let before = asked.cursor.as_ref().map(|cursor| cursor.as_str().parse::<u32>().map_err(|_| bad_cursor()));
        let before = before.transpose()?;
        let filter = MailFilter {
            state: match asked.status {
                Some(MessageStatus::Unread) => Some(MailState::Unread),
                Some(MessageStatus::Read) => Some(MailState::Read),
                Some(MessageStatus::Archived) => Some(MailState::Archived),
                Some(MessageStatus::All) | None => None,
            },
            kinds: asked.message_type.iter().flat_map(|list| &list.0).map(|kind| kind.kind()).collect(),
            priorities: asked.priority.iter().flat_map(|list| &list.0).map(|word| word.number()).collect(),
            workflow: asked.workflow_id,
            thread: asked.thread_id,
            since: asked.since.as_ref().and_then(|time| {
                let number = time.number().as_u64()?;
                i64::try_from(number).ok().map(Timestamp)
            }),
        };
        let rows = limit(asked.limit);
        let found = self.service.view(move |world| view::mail(world, owner, &filter, before, rows)).await?;
        let reply = Messages {
            messages: found.page.rows.iter().map(MessageRow::of).collect(),
            unread_count: found.unread,
            next_cursor: found.page.next.map(|sequence| sequence.to_string()),
        };
        Ok(reply.render())
    }

    pub(super) async fn message(&self, request: &ToolRequest<'_>, asked: &MessageGet) -> ToolAnswer {
        let id = asked.id;
        let found = self.service.view(move |world| view::message(world, id)).await?;
        if !request.visitor.may_override() {
            self.acting(request).await?;
        }
        match self.may_read(request, found.to).await {
            // If the caller acts as another agent than the owner of the mailbox, the refusal that the engine returns
            // speaks about connections. Return a refusal that names the owner instead of it.
            Err(Stopped::Error(Error::Refused(Refusal::AgentElsewhere { .. }))) => {
                let problem = format!("the message {id} is in the mailbox of {}", found.to);
                return Err(Refusal::NotPermitted { problem }.into());
            }
            read => read?,
        }
        if !asked.mark_read.unwrap_or(true) {
            return Ok(MessageRow::of(&found).render());
        }
        let mark = Command::MarkRead { messages: vec![id] };
        self.service.execute(request.caller.clone(), mark).await?;
        let found = self.service.view(move |world| view::message(world, id)).await?;
        Ok(MessageRow::of(&found).render())
    }

    pub(super) async fn count_unread(&self, request: &ToolRequest<'_>, asked: &MessageCountUnread) -> ToolAnswer {
        let owner = self.owner(request, asked.agent_id.as_ref()).await?;
        let wanted: Vec<u8> = asked.priority.iter().flat_map(|list| &list.0).map(|word| word.number()).collect();
        let found = self.service.view(move |world| view::unread(world, owner, 0)).await?;
        let number = |word: &str| word.parse::<u8>().ok();
        let counted = found.by_priority.iter().filter_map(|(word, count)| Some((number(word)?, *count)));
        let counted: Vec<(u8, u32)> =
            counted.filter(|(number, _)| wanted.is_empty() || wanted.contains(number)).collect();
        let reply = UnreadAnswer {
            count: counted.iter().map(|(_, count)| count).sum(),
            by_priority: NamedParts(
                counted.iter().map(|(number, count)| (original_priority(*number).to_owned(), *count)).collect(),
            ),
        };
        Ok(reply.render())
    }

    pub(super) async fn inbox(&self, request: &ToolRequest<'_>, asked: &InboxRead) -> ToolAnswer {
        let owner = self.owner(request, asked.agent_id.as_ref()).await?;
        let rows = limit(asked.limit);
        let (messages, unread) = self.service.view(move |world| unread_with_senders(world, owner, rows)).await?;
        Ok(InboxAnswer { messages, unread }.render())
    }

    /// Returns the number of unread messages in a mailbox.
    pub(super) async fn unread(&self, owner: MailboxOwner) -> Result<u32, Stopped> {
        Ok(self.service.view(move |world| world.mailbox(owner).map(|mailbox| mailbox.unread)).await?)
    }
}

/// Returns up to `rows` unread messages, each with the slug (the short name) of its sender, and the number of all
/// unread messages.
pub(crate) fn unread_with_senders(
    world: &World,
    owner: MailboxOwner,
    rows: u32,
) -> Result<(Vec<InboxRow>, u32), DecisionStop> {
    let found = view::unread(world, owner, rows)?;
    let agents = found.messages.iter().filter_map(|message| match message.from {
        Actor::Agent(agent) => Some(Need::Agent(agent)),
        Actor::Runner | Actor::Coordinator | Actor::Person | Actor::Engine => None,
    });
    world.want(agents.chain([Need::Mailbox(owner)]))?;
    let sender = |message: &Message| match message.from {
        Actor::Agent(agent) => world.agent(agent).map_or_else(|_| agent.to_string(), |agent| agent.slug.clone()),
        Actor::Runner | Actor::Coordinator | Actor::Person | Actor::Engine => message.from.to_string(),
    };
    let rows = found.messages.iter().map(|message| InboxRow::of(message, sender(message))).collect();
    Ok((rows, world.mailbox(owner)?.unread))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_and_numbers_of_priorities_meet() {
        for number in 1..=3_u8 {
            let word = original_priority(number);
            let back = wire::lifecycle::Urgency::parse(word).map(wire::lifecycle::Urgency::number);
            assert_eq!(back, Some(number), "{word}");
            assert!(engine::task::Priority::try_from(number).is_ok());
        }
    }
}
