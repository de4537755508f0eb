//! Tools for messages: the message tools of the original server (whose clients Handover supports), the inbox of Agent
//! Wire, and the posting of Agent Wire documents. All of them use the same mailboxes.

use engine::Command;
use engine::id::{AgentId, MessageId, TaskId, ThreadId, WorkflowId};
use engine::inbox::{MailboxOwner, MessageDraft, MessageKind, RecipientMatch, Recipients};
use engine::task::Priority;

use super::ids::{Body, DetailObject, Limit, OneOrMany};
use crate::json::{JsonNode, Value, object};
use crate::report::{At, Report, Unknown};
use crate::shape::{AgentName, Integer, ListShape, NonBlank, Shape, message, vocabulary};

/// The owner of a mailbox: an agent by its id or slug, or `human`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Address(pub Recipients);

impl Shape for Address {
    const LEGAL: &'static str = "an agent's id or slug, or `human`";

    fn read(node: &JsonNode<'_>, at: &At<'_>, report: &mut Report<'_>) -> Option<Self> {
        let text = crate::shape::string(node, at, report, "must be an agent's id or slug, or `human`")?;
        if let Ok(owner) = text.parse::<MailboxOwner>() {
            return Some(Self(Recipients::One(owner)));
        }
        if crate::text::is_blank(text) {
            report.error("BLANK", at, node.span, "must be an agent's id or slug, or `human`");
            return None;
        }
        // Take any other text as a slug (the short name of an agent). If the text is not a slug, no agent has it, and
        // the call is refused later because its recipient is unknown.
        Some(Self(Recipients::Slug(text.to_owned())))
    }

    fn render(&self) -> Value {
        match &self.0 {
            Recipients::One(owner) => owner.to_string().into(),
            Recipients::Slug(slug) => slug.as_str().into(),
            Recipients::All(_) => Value::Null,
        }
    }

    fn schema(_: Unknown) -> Value {
        object([("type", "string".into())])
    }
}

impl AgentName for Address {
    fn agent(&self) -> Option<AgentId> {
        match self.0 {
            Recipients::One(MailboxOwner::Agent(agent)) => Some(agent),
            Recipients::One(MailboxOwner::Human) | Recipients::Slug(_) | Recipients::All(_) => None,
        }
    }
}

vocabulary! {
    /// The purpose of a message. The words come from the original server (whose clients Handover supports) and from
    /// Agent Wire.
    pub enum MailKind {
        TaskAssignment = "task_assignment",
        StatusUpdate = "status_update",
        Query = "query",
        Response = "response",
        Broadcast = "broadcast",
        Notification = "notification",
        WireFeedback = "task.feedback",
        WireStatus = "status.update",
        WireBlocked = "task.blocked",
        WireGate = "exec.gate",
        WireQuestion = "question",
        WireInfo = "info",
    }
}

impl MailKind {
    pub fn kind(self) -> MessageKind {
        match self {
            Self::TaskAssignment | Self::Broadcast | Self::Notification | Self::WireInfo => MessageKind::Info,
            Self::StatusUpdate | Self::WireStatus => MessageKind::Status,
            Self::Query | Self::WireQuestion => MessageKind::Question,
            Self::Response | Self::WireFeedback => MessageKind::Feedback,
            Self::WireBlocked => MessageKind::Blocked,
            Self::WireGate => MessageKind::Gate,
        }
    }
}

/// Returns the word that the original server (whose clients Handover supports) uses for a kind of message.
pub fn original_kind(kind: MessageKind) -> &'static str {
    match kind {
        MessageKind::Feedback => "response",
        MessageKind::Status => "status_update",
        MessageKind::Question => "query",
        MessageKind::Info => "notification",
        MessageKind::Blocked | MessageKind::Gate => kind.as_str(),
    }
}

vocabulary! {
    pub enum Urgency {
        Low = "low",
        Normal = "normal",
        High = "high",
        Urgent = "urgent",
    }
}

impl Urgency {
    pub fn number(self) -> u8 {
        match self {
            Self::High | Self::Urgent => 1,
            Self::Normal => 2,
            Self::Low => 3,
        }
    }
}

/// Returns the word that the original server (whose clients Handover supports) uses for a priority.
pub fn original_priority(number: u8) -> &'static str {
    match number {
        1 => "high",
        3 => "low",
        _ => "normal",
    }
}

message! {
    pub struct MessageSend {
        agent_id = "sender_id": optional AgentId,
        recipient_id: required Address,
        message_type: required MailKind,
        subject: optional NonBlank,
        body: required Body,
        priority: optional Urgency,
        workflow_id: optional WorkflowId,
        task_id: optional TaskId,
        reply_to_id: optional MessageId,
        action_required: optional bool,
        idempotency_key: optional NonBlank,
    }
}

message! {
    pub struct MessageBroadcast {
        agent_id = "sender_id": optional AgentId,
        recipient_filter: optional RecipientFilter,
        message_type: required MailKind,
        subject: optional NonBlank,
        body: required Body,
        priority: optional Urgency,
        workflow_id: optional WorkflowId,
        idempotency_key: optional NonBlank,
    }
}

message! {
    pub struct RecipientFilter {
        role: optional NonBlank,
        status: optional OneOrMany<super::agents::AgentStatus>,
        runtime: optional NonBlank,
    }
}

message! {
    pub struct MessageList {
        agent_id: optional Address,
        status: optional MessageStatus,
        message_type: optional ListShape<MailKind>,
        priority: optional ListShape<Urgency>,
        workflow_id: optional WorkflowId,
        thread_id: optional ThreadId,
        since: optional Integer<0>,
        limit: optional Limit,
        cursor: optional NonBlank,
    }
}

vocabulary! {
    pub enum MessageStatus {
        Unread = "unread",
        Read = "read",
        Archived = "archived",
        All = "all",
    }
}

message! {
    pub struct MessageGet {
        id: required MessageId,
        mark_read: optional bool,
        agent_id: optional AgentId,
        idempotency_key: optional NonBlank,
    }
}

message! {
    pub struct MessageMarkRead {
        message_ids: required ListShape<MessageId>,
        agent_id: optional AgentId,
        idempotency_key: optional NonBlank,
    }
}

message! {
    pub struct MessageArchive {
        message_ids: required ListShape<MessageId>,
        agent_id: optional AgentId,
        idempotency_key: optional NonBlank,
    }
}

message! {
    pub struct MessageCountUnread {
        agent_id: optional Address,
        priority: optional ListShape<Urgency>,
    }
}

message! {
    pub struct InboxRead {
        agent_id: optional Address,
        limit: optional Limit,
    }
}

message! {
    pub struct InboxAck {
        message_ids: required ListShape<MessageId>,
        agent_id: optional AgentId,
        idempotency_key: optional NonBlank,
    }
}

message! {
    pub struct WirePost {
        wire: required DetailObject,
        workflow_id: optional WorkflowId,
        agent_id: optional AgentId,
        session_id: optional NonBlank,
        idempotency_key: optional NonBlank,
    }
}

fn draft(kind: MailKind, priority: Option<Urgency>, subject: Option<&NonBlank>, body: &Body) -> MessageDraft {
    let number = priority.map_or(2, Urgency::number);
    let (text, body_json) = match body {
        Body::Text(text) => (text.clone(), false),
        Body::Object(value) => (value.to_string(), true),
    };
    MessageDraft {
        subject: subject.map(ToString::to_string),
        body_json,
        ..MessageDraft::text(kind.kind(), Priority::try_from(number).unwrap_or(Priority::DEFAULT), text)
    }
}

impl MessageSend {
    pub fn command(&self) -> Command {
        Command::Send { to: self.recipient_id.0.clone(), draft: self.draft() }
    }

    /// Returns the message to send, made from the arguments of the tool.
    pub fn draft(&self) -> MessageDraft {
        MessageDraft {
            workflow: self.workflow_id,
            task: self.task_id,
            reply_to: self.reply_to_id,
            action_required: self.action_required.unwrap_or(false),
            ..draft(self.message_type, self.priority, self.subject.as_ref(), &self.body)
        }
    }
}

impl MessageMarkRead {
    pub fn command(&self) -> Command {
        Command::MarkRead { messages: self.message_ids.0.clone() }
    }
}

impl InboxAck {
    pub fn command(&self) -> Command {
        Command::MarkRead { messages: self.message_ids.0.clone() }
    }
}

impl MessageArchive {
    pub fn command(&self) -> Command {
        Command::Archive { messages: self.message_ids.0.clone() }
    }
}

impl MessageBroadcast {
    pub fn command(&self) -> Command {
        Command::Send { to: Recipients::All(self.filter()), draft: self.draft() }
    }

    fn draft(&self) -> MessageDraft {
        MessageDraft {
            workflow: self.workflow_id,
            ..draft(self.message_type, self.priority, self.subject.as_ref(), &self.body)
        }
    }

    fn filter(&self) -> RecipientMatch {
        let filter = self.recipient_filter.as_ref();
        let word = |found: Option<&NonBlank>| found.map(ToString::to_string);
        let statuses = filter.and_then(|filter| filter.status.as_ref());
        let offline = super::agents::AgentStatus::Offline;
        RecipientMatch {
            role: word(filter.and_then(|filter| filter.role.as_ref())),
            runtime: word(filter.and_then(|filter| filter.runtime.as_ref())),
            workflow: None,
            // When the caller gives no list of statuses, offline agents also get the message. They find it when they
            // are online again.
            include_silent: statuses.is_none_or(|statuses| statuses.0.contains(&offline)),
        }
    }
}
