//! The items that need a person: questions, approvals, failures and finished work, in one order and with the same words
//! everywhere. `status`, notices and the API show these items.
//!
//! [`gather`] reads the facts from the store. [`items`] turns facts into items and reads nothing.

mod blocks;
mod cause;
mod gather;
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

/// The most characters of a title. A longer one is cut and ends with `…`.
pub const TITLE_CHARS_MAX: usize = 70;

/// The kind of an item. The order of the kinds is the order in which people see them.
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
    /// Returns the stable name of the kind, for programs.
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

    /// Tells whether agents wait for the person. Finished work and a check that failed before any change stop no agent.
    pub fn stops_agents(self) -> bool {
        !matches!(self, Self::Merge | Self::Baseline)
    }
}

/// The id, number and name of the task that an item is about.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TaskLabel {
    pub id: TaskId,
    pub number: u32,
    pub name: String,
}

/// A fact that needs a person, before it has words.
#[derive(Debug, Clone, PartialEq)]
pub struct AttentionFact {
    pub cause: AttentionCause,
    pub task: Option<TaskLabel>,
    pub since: Timestamp,
    /// The number of tasks that wait for the task of this fact.
    pub behind: u32,
}

/// Something that a person can do about an item, with the exact command for the terminal.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AttentionAct {
    /// The stable name of the act, for programs.
    pub name: &'static str,
    pub command: String,
}

/// One thing that needs a person.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AttentionItem {
    pub kind: AttentionKind,
    /// The item in one line of at most [`TITLE_CHARS_MAX`] characters. It names the task.
    pub title: String,
    /// The title for a line that begins with the number of the task.
    pub headline: String,
    /// The second line, with the cause and the effect.
    pub detail: String,
    /// The text before the commands on a terminal: the second line, or only the effect when the headline has the rest.
    pub note: String,
    /// The acts. The first one is the one that a person most likely wants.
    pub acts: Vec<AttentionAct>,
    pub task: Option<TaskLabel>,
    pub since: Timestamp,
    pub behind: u32,
    pub stops_agents: bool,
}

impl AttentionItem {
    /// Returns the item as JSON, for programs.
    pub fn to_value(&self) -> Value {
        let act = |act: &AttentionAct| object([("name", act.name.into()), ("command", act.command.as_str().into())]);
        object([
            ("kind", self.kind.as_str().into()),
            ("title", self.title.as_str().into()),
            ("detail", self.detail.as_str().into()),
            ("task", self.task.as_ref().map(|task| u64::from(task.number)).into()),
            ("task_id", self.task.as_ref().map(|task| task.id.to_string()).into()),
            ("since", Value::Number(self.since.0.into())),
            ("behind", u64::from(self.behind).into()),
            ("stops_agents", self.stops_agents.into()),
            ("acts", Value::List(self.acts.iter().map(act).collect())),
        ])
    }
}

/// Turns facts into items: ordered by kind, and older items before newer ones of the same kind.
pub fn items(facts: &[AttentionFact], clock: &LocalClock) -> Vec<AttentionItem> {
    let mut items: Vec<AttentionItem> = facts.iter().map(|fact| words::item(fact, clock)).collect();
    items.sort_by_key(|item| (item.kind, item.since));
    items
}
