//! The items that need a person: questions, approvals, failures and finished work, in one order and with the same words
//! everywhere. `status`, notices and the API show these items.
//!
//! [`gather`] reads the facts from the store. [`items`] turns facts into items and reads nothing.

mod blocks;
mod cause;
mod gather;
mod identity;
mod put_off;
mod subject;
#[cfg(test)]
mod tests;
mod words;

use engine::Timestamp;
use engine::id::TaskId;
use wire::json::{Value, object};

use crate::ground::local_time::LocalClock;

pub use blocks::NO_CHANGES;
pub use cause::{ApprovalWish, AttentionCause, RestingAgent};
pub use gather::{AttentionSurroundings, gather};
pub use put_off::put_off;
pub use subject::AttentionSubject;

/// The maximum length of an item's title, in characters. A longer title is cut and ends with `…`.
pub const TITLE_CHARS_MAX: usize = 70;

/// The kind of an item that needs a person. Items are shown in the order of these kinds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum AttentionKind {
    Approval,
    Question,
    AgentRests,
    SetupFailed,
    SettingsChanged,
    CheckFailed,
    Conflict,
    NoChanges,
    TipFailed,
    CheckChanged,
    Budget,
    Stuck,
    Blocked,
    Failed,
    Finding,
    Merge,
    Baseline,
}

impl AttentionKind {
    /// Returns the name of this kind in the output for programs. The name never changes.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Approval => "approval",
            Self::Question => "question",
            Self::AgentRests => "agent_rests",
            Self::SetupFailed => "setup_failed",
            Self::SettingsChanged => "settings_changed",
            Self::CheckFailed => "check_failed",
            Self::Conflict => "conflict",
            Self::NoChanges => "no_changes",
            Self::TipFailed => "tip_failed",
            Self::CheckChanged => "check_changed",
            Self::Budget => "budget",
            Self::Stuck => "stuck",
            Self::Blocked => "blocked",
            Self::Failed => "failed",
            Self::Finding => "finding",
            Self::Merge => "merge",
            Self::Baseline => "baseline",
        }
    }

    /// Returns true when agents cannot continue until the person acts. False for finished work, and for a check that
    /// already fails on the commit from which the work starts.
    pub fn stops_agents(self) -> bool {
        !matches!(self, Self::Merge | Self::Baseline)
    }
}

/// The id, number and name of a task that needs a person.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TaskLabel {
    pub id: TaskId,
    pub number: u32,
    pub name: String,
}

/// A fact that needs a person. [`items`] later turns facts into texts and commands.
#[derive(Debug, Clone, PartialEq)]
pub struct AttentionFact {
    pub cause: AttentionCause,
    pub task: Option<TaskLabel>,
    pub since: Timestamp,
    /// The number of other tasks that cannot start before the task of this fact is done.
    pub behind: u32,
    /// The time until which a person put the item off. `None` when it is not put off, or when the time is over.
    pub put_off_until: Option<Timestamp>,
}

/// Something that a person can do about an item, with the exact command to type.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AttentionAct {
    /// The name of the act in the output for programs. The name never changes.
    pub name: &'static str,
    pub command: String,
}

/// One thing that needs a person.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AttentionItem {
    /// The name of the item. It stays the same as long as the same thing needs a person.
    pub name: String,
    pub kind: AttentionKind,
    /// The item in one line of at most [`TITLE_CHARS_MAX`] characters, with the name of the task.
    pub title: String,
    /// The item in one line without the number of the task. A list shows this line after the number.
    pub headline: String,
    /// The line below the title. It says why the person is needed and what waits for the person.
    pub detail: String,
    /// The text that a terminal shows before the commands: the same as `detail`, or less when `headline` already says
    /// the rest.
    pub note: String,
    /// The things that a person can do about the item, the most likely one first.
    pub acts: Vec<AttentionAct>,
    pub task: Option<TaskLabel>,
    /// The other things that the item is about.
    pub subject: AttentionSubject,
    pub since: Timestamp,
    pub behind: u32,
    pub stops_agents: bool,
    /// The time until which a person put the item off. Such an item stands below the others, and no notice is sent
    /// about it.
    pub put_off_until: Option<Timestamp>,
}

impl AttentionItem {
    /// Returns true when the item is put off, so that the person need not look at it now.
    pub fn is_put_off(&self) -> bool {
        self.put_off_until.is_some()
    }

    /// Returns the item as JSON, for programs.
    pub fn to_value(&self) -> Value {
        let act = |act: &AttentionAct| object([("name", act.name.into()), ("command", act.command.as_str().into())]);
        object([
            ("name", self.name.as_str().into()),
            ("kind", self.kind.as_str().into()),
            ("title", self.title.as_str().into()),
            ("detail", self.detail.as_str().into()),
            ("task", self.task.as_ref().map(|task| u64::from(task.number)).into()),
            ("task_id", self.task.as_ref().map(|task| task.id.to_string()).into()),
            ("task_name", self.task.as_ref().map(|task| task.name.as_str()).into()),
            ("subject", self.subject.to_value()),
            ("text", self.subject.text.clone().into()),
            ("since", Value::Number(self.since.0.into())),
            ("behind", u64::from(self.behind).into()),
            ("stops_agents", self.stops_agents.into()),
            ("put_off_until", self.put_off_until.map(|until| Value::Number(until.0.into())).into()),
            ("acts", Value::List(self.acts.iter().map(act).collect())),
        ])
    }
}

/// Turns facts that need a person into items. Sorts the items by kind; within a kind, the oldest item comes first. Items
/// that are put off come last.
pub fn items(facts: &[AttentionFact], clock: &LocalClock) -> Vec<AttentionItem> {
    let mut items: Vec<AttentionItem> = facts.iter().map(|fact| words::item(fact, clock)).collect();
    items.sort_by_key(|item| (item.put_off_until.is_some(), item.kind, item.since));
    items
}
