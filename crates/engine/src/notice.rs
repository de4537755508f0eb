//! A notice: telling a person, outside of Handover, that an approval waits. It is only a view of the approval, which is the
//! record.
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
    /// How people are told.
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
    /// Number of the last try; it only grows, and fences a sender that comes back late.
    pub tries: u32,
    /// When somebody may take it; nobody needs to when it is missing.
    pub next: Option<Timestamp>,
    /// Why the last try failed.
    pub problem: Option<String>,
}

impl Notice {
    pub fn is_due(&self, now: Timestamp) -> bool {
        self.next.is_some_and(|next| next <= now)
    }

    /// How long to wait after a try that failed; nothing when it is given up.
    pub fn pause(tries: u32) -> Option<Millis> {
        let doubled = limits::NOTICE_PAUSE_MS.0.saturating_mul(1 << tries.saturating_sub(1).min(16));
        (tries < limits::NOTICE_TRIES_MAX).then(|| Millis(doubled.min(limits::NOTICE_PAUSE_MS_MAX.0)))
    }
}
