//! The rows that show messages in replies of tools. Their field names are those of the original server (whose clients
//! Handover supports) or those of Agent Wire.

use engine::Timestamp;
use engine::id::{AgentId, MessageId, TaskId, ThreadId, WorkflowId};
use engine::inbox::{Message, MessageState};

use super::mail::{original_kind, original_priority};
use crate::json::Value;
use crate::reply::{ReplyPart, reply};

reply! {
    pub struct MessageRow {
        id: MessageId,
        sequence: u32,
        sender_id: Option<AgentId>,
        sender: String,
        recipient_id: String,
        message_type: &'static str,
        subject: Option<String>,
        body: Value,
        priority: &'static str,
        status: &'static str,
        action_required: bool,
        workflow_id: Option<WorkflowId>,
        task_id: Option<TaskId>,
        reply_to_id: Option<MessageId>,
        thread_id: ThreadId,
        created_at: Timestamp,
        read_at: Option<Timestamp>,
        awaits_reply: some bool,
    }
}

fn said_in(message: &Message) -> Value {
    message.draft.json().map_or_else(|| message.draft.body.as_str().into(), |json| ReplyPart::render(&json))
}

/// Returns `Some(true)` when the message asks a person a question that is not answered yet. Returns `None` otherwise,
/// so that the reply leaves the field `awaits_reply` out.
fn awaits_reply(message: &Message) -> Option<bool> {
    message.is_open_question().then_some(true)
}

impl MessageRow {
    pub fn of(message: &Message) -> Self {
        let (status, read_at) = match message.state {
            MessageState::Unread => ("unread", None),
            MessageState::Read { at } => ("read", Some(at)),
            MessageState::Archived { at } => ("archived", Some(at)),
        };
        let sender_id = if let engine::Actor::Agent(agent) = message.from { Some(agent) } else { None };
        Self {
            id: message.id,
            sequence: message.sequence,
            sender_id,
            sender: message.from.to_string(),
            recipient_id: message.to.to_string(),
            message_type: original_kind(message.draft.kind),
            subject: message.draft.subject.clone(),
            body: said_in(message),
            priority: original_priority(message.draft.priority.get()),
            status,
            action_required: message.draft.action_required,
            workflow_id: message.draft.workflow,
            task_id: message.draft.task,
            reply_to_id: message.draft.reply_to,
            thread_id: message.thread,
            created_at: message.at,
            read_at,
            awaits_reply: awaits_reply(message),
        }
    }
}

reply! {
    /// A message in the reply of a tool, with the field names of Agent Wire.
    pub struct InboxRow {
        id: MessageId,
        sequence: u32,
        priority: u32,
        message_type: &'static str,
        sender: String,
        subject: Option<String>,
        body: Value,
        action_required: bool,
        ref_task_id: Option<TaskId>,
        thread_id: ThreadId,
        created_at: Timestamp,
        reply_to_id: some MessageId,
        awaits_reply: some bool,
    }
}

impl InboxRow {
    /// Builds the row that shows a message in a tool's reply. `sender` is the slug (short name) of the sending agent,
    /// or the name of a sender that is not an agent, such as `human`.
    pub fn of(message: &Message, sender: String) -> Self {
        Self {
            id: message.id,
            sequence: message.sequence,
            priority: u32::from(message.draft.priority.get()),
            message_type: message.draft.kind.as_str(),
            sender,
            subject: message.draft.subject.clone(),
            body: said_in(message),
            action_required: message.draft.action_required,
            ref_task_id: message.draft.task,
            thread_id: message.thread,
            created_at: message.at,
            reply_to_id: message.draft.reply_to,
            awaits_reply: awaits_reply(message),
        }
    }
}
