//! The messages of a mailbox, as its owner sees them.

use super::ListRows;
use crate::id::{MessageId, ThreadId, WorkflowId};
use crate::inbox::{MailboxOwner, Message, MessageKind, MessageState};
use crate::limits;
use crate::list::{CountQuery, MessageQuery};
use crate::refusal::Refusal;
use crate::time::Timestamp;
use crate::world::{DecisionStop, InboxNeed, Need, TypedQuestion, World};

/// A filter of messages. A field that is not set matches all messages.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct MailFilter {
    pub state: Option<StoredMailState>,
    pub kinds: Vec<MessageKind>,
    pub priorities: Vec<u8>,
    pub workflow: Option<WorkflowId>,
    pub thread: Option<ThreadId>,
    pub since: Option<Timestamp>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StoredMailState {
    Unread,
    Read,
    Archived,
}

impl MailFilter {
    fn takes(&self, message: &Message) -> bool {
        let state = match message.state {
            MessageState::Unread => StoredMailState::Unread,
            MessageState::Read { .. } => StoredMailState::Read,
            MessageState::Archived { .. } => StoredMailState::Archived,
        };
        self.state.is_none_or(|wanted| wanted == state)
            && (self.kinds.is_empty() || self.kinds.contains(&message.draft.kind))
            && (self.priorities.is_empty() || self.priorities.contains(&message.draft.priority.get()))
            && self.workflow.is_none_or(|workflow| message.draft.workflow == Some(workflow))
            && self.thread.is_none_or(|thread| message.thread == thread)
            && self.since.is_none_or(|since| message.at > since)
    }
}

/// A page of messages, and the number of unread messages in the mailbox.
#[derive(Debug, Clone, PartialEq)]
pub struct Mailed {
    pub page: ListRows<Message, u32>,
    pub unread: u32,
}

/// Returns a page of messages, newest first. The function reads a bounded number of messages, even if few of them match
/// the filter. So a page can have fewer messages than asked for and name a position at which the next page begins.
pub fn mail(
    world: &World,
    owner: MailboxOwner,
    filter: &MailFilter,
    before: Option<u32>,
    limit: u32,
) -> Result<Mailed, DecisionStop> {
    if let MailboxOwner::Agent(agent) = owner {
        world.agent(agent)?;
    }
    let looked = u32::try_from(limits::PAGE_ROWS_MAX).unwrap_or(u32::MAX);
    let list = MessageQuery::Mail { owner, before: before.unwrap_or(u32::MAX), limit: looked };
    world.want([list.need(), Need::Mailbox(owner)])?;
    let found = world.ask(&list)?;
    let mut rows = Vec::new();
    let mut next = (found.len() >= limits::PAGE_ROWS_MAX).then(|| found.last().map(|last| last.sequence)).flatten();
    let size = usize::try_from(limit).unwrap_or(usize::MAX);
    for message in found.iter().filter(|message| filter.takes(message)) {
        if rows.len() == size {
            next = rows.last().map(|last: &Message| last.sequence);
            break;
        }
        rows.push(message.clone());
    }
    Ok(Mailed { page: ListRows { rows, next, total: None }, unread: world.mailbox(owner)?.unread })
}

/// The unread messages, ordered by priority and then by number, and the count of unread messages for each priority.
#[derive(Debug, Clone, PartialEq)]
pub struct UnreadMail {
    pub messages: Vec<Message>,
    pub by_priority: Vec<(String, u32)>,
}

pub fn unread(world: &World, owner: MailboxOwner, limit: u32) -> Result<UnreadMail, DecisionStop> {
    if let MailboxOwner::Agent(agent) = owner {
        world.agent(agent)?;
    }
    let inbox = InboxNeed { owner, unread: true, after: 0, limit };
    let counts = CountQuery::Unread(owner);
    world.want([inbox.need(), counts.need()])?;
    Ok(UnreadMail { messages: world.ask(&inbox)?.clone(), by_priority: world.ask(&counts)?.clone() })
}

pub fn message(world: &World, id: MessageId) -> Result<Message, DecisionStop> {
    Ok(world.message(id)?.ok_or(Refusal::MessageNotFound { message: id })?.clone())
}
