//! A notice tells a person, outside of Handover, that an approval is pending or that something else needs them. The
//! notice itself has no decision: the person's decision is recorded in the approval or in the task.
//!
//! A notice about an approval by a command or a webhook arrives at least once:
//!
//! ```text
//! (none) ──take──> being sent, until a time ──> sent
//!                    ▲         │
//!                    └─────────┴── failed, or its sender died: due again later; given up after some tries
//! ```

use serde::{Deserialize, Serialize};

use crate::approval::Via;
use crate::id::ApprovalId;
use crate::limits;
use crate::task::names;
use crate::time::{Millis, Timestamp};

names! {
    /// The channel over which people are notified.
    Channel { Command = "command", Webhook = "webhook" }
}

impl Channel {
    pub fn via(self) -> Via {
        match self {
            Self::Command => Via::Command,
            Self::Webhook => Via::Webhook,
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Notice {
    pub approval: ApprovalId,
    pub channel: Channel,
    /// The number of the last try to send the notice (a message to a person about a pending approval). The number only
    /// grows. Only the sender that makes the last try can change the notice.
    pub tries: u32,
    /// The time from which a sender may take the notice and try to send it. `None` when the notice needs no further
    /// try.
    pub next: Option<Timestamp>,
    /// The reason why the last try to send the notice failed. `None` when it did not fail.
    pub problem: Option<String>,
}

impl Notice {
    pub fn is_due(&self, now: Timestamp) -> bool {
        self.next.is_some_and(|next| next <= now)
    }

    /// Returns the time to wait after this number of failed tries to send a notice, or `None` when Handover does not
    /// try to send the notice again.
    pub fn pause(tries: u32) -> Option<Millis> {
        let doubled = limits::NOTICE_PAUSE_MS.0.saturating_mul(1 << tries.saturating_sub(1).min(16));
        (tries < limits::NOTICE_TRIES_MAX).then(|| Millis(doubled.min(limits::NOTICE_PAUSE_MS_MAX.0)))
    }
}

names! {
    /// The way in which people are told about items (things that need a person). `Screen` is the desktop or the
    /// terminal of this machine. The variants are sorted by their texts, so that they have the same order as in a
    /// database.
    NoticeWay { Command = "command", Screen = "screen", Webhook = "webhook" }
}

/// The rule for the pause between the last notice about items (things that need a person) and the next one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum NoticePace {
    /// At most one notice in [`limits::ITEM_NOTICE_PAUSE_MS`].
    Spaced,
    /// No pause: the notice is sent immediately. The process that sends it is about to end, and perhaps no other
    /// process remains that could send the notice later.
    Now,
}

/// An item (a thing that needs a person) about which people were told. A notice about items is sent at most once.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ToldItem {
    pub way: NoticeWay,
    /// The name of the item, which stays the same as long as the same thing needs a person.
    pub item: String,
    pub at: Timestamp,
}

/// The request of a process that wants to tell people about items (things that need a person). The reply names the
/// items about which no process has told people yet.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ItemTelling {
    pub way: NoticeWay,
    /// The names of all items that need a person at present, including the items about which people were already told.
    pub items: Vec<String>,
    pub pace: NoticePace,
}

/// The report of a process that it could not send the notice about these items (things that need a person).
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ItemUntelling {
    pub way: NoticeWay,
    pub items: Vec<String>,
}
