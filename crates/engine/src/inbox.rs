//! Messages between agents and people. Each agent has one mailbox, and all people share one mailbox. The messages of a
//! mailbox are numbered, and the number of unread messages is bounded.

use serde::{Deserialize, Serialize};

use crate::caller::Actor;
use crate::id::{AgentId, MessageId, TaskId, ThreadId, WorkflowId};
use crate::json::Json;
use crate::task::{Priority, names};
use crate::time::Timestamp;

/// The owner of a mailbox.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum MailboxOwner {
    Agent(AgentId),
    Human,
}

impl std::fmt::Display for MailboxOwner {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Agent(id) => id.fmt(f),
            Self::Human => f.write_str("human"),
        }
    }
}

impl std::str::FromStr for MailboxOwner {
    type Err = crate::id::NotAnId;
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        if text == "human" { Ok(Self::Human) } else { text.parse().map(Self::Agent) }
    }
}

impl Serialize for MailboxOwner {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for MailboxOwner {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer)?.parse().map_err(serde::de::Error::custom)
    }
}

/// A mailbox: its owner, its last message number, and its count of unread messages.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Mailbox {
    pub owner: MailboxOwner,
    pub sequence: u32,
    pub unread: u32,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Message {
    pub id: MessageId,
    pub to: MailboxOwner,
    /// The number of the message in its mailbox. Each new message has the next number.
    pub sequence: u32,
    pub from: Actor,
    pub thread: ThreadId,
    pub state: MessageState,
    pub draft: MessageDraft,
    pub at: Timestamp,
    /// The message with which a person answered this message. `None` when there is no answer. Only messages to people
    /// can have an answer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub answer: Option<MessageId>,
}

/// The content of a message, as the sender wrote it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct MessageDraft {
    pub kind: MessageKind,
    pub priority: Priority,
    pub subject: Option<String>,
    pub body: String,
    /// True when the sender gave the body as a JSON value. The body is then returned as a JSON value, too.
    pub body_json: bool,
    pub action_required: bool,
    pub workflow: Option<WorkflowId>,
    pub task: Option<TaskId>,
    pub reply_to: Option<MessageId>,
}

names! {
    /// The kind of a message. Each protocol that clients use has its own words for these kinds.
    MessageKind {
        Feedback = "task.feedback", Status = "status.update", Blocked = "task.blocked", Gate = "exec.gate",
        Question = "question", Info = "info",
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "state", rename_all = "snake_case")]
pub enum MessageState {
    Unread,
    /// The owner of the mailbox has acknowledged the message.
    Read {
        at: Timestamp,
    },
    Archived {
        at: Timestamp,
    },
}

/// The recipients of a message.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Recipients {
    One(MailboxOwner),
    Slug(String),
    /// Every registered agent that this filter selects, except the sender of the message.
    All(RecipientMatch),
}

/// A filter of the agents that get a broadcast. Empty fields match every agent.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Default, Serialize, Deserialize)]
pub struct RecipientMatch {
    pub role: Option<String>,
    pub runtime: Option<String>,
    pub workflow: Option<WorkflowId>,
    /// True when offline agents get the broadcast, too.
    pub include_silent: bool,
}

/// Creates the message by which the engine reports a blocked task.
pub(crate) fn blocked_notice(task: &crate::task::Task, kind: &str, reason: &str) -> MessageDraft {
    MessageDraft {
        kind: MessageKind::Blocked,
        priority: Priority::FIRST,
        subject: Some(format!("blocked ({kind}): {}", task.name)),
        body: reason.to_owned(),
        body_json: false,
        action_required: true,
        workflow: Some(task.workflow),
        task: Some(task.id),
        reply_to: None,
    }
}

impl Message {
    /// Returns true when the message is an agent's question to a person that has no answer yet.
    pub fn is_open_question(&self) -> bool {
        self.to == MailboxOwner::Human && self.draft.kind == MessageKind::Question && self.answer.is_none()
    }
}

impl MessageDraft {
    /// Creates a plain text message with default values for the other fields.
    pub fn text(kind: MessageKind, priority: Priority, body: impl Into<String>) -> Self {
        Self {
            kind,
            priority,
            subject: None,
            body: body.into(),
            body_json: false,
            action_required: false,
            workflow: None,
            task: None,
            reply_to: None,
        }
    }

    pub fn json(&self) -> Option<Json> {
        self.body_json.then(|| Json::from_stored(self.body.clone()))
    }
}
