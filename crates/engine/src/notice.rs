//! A notice tells a person, outside of Handover, that an approval is pending. The notice itself has no decision: the
//! person's decision is recorded in the approval.
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
    /// The reason why the last try to send the notice failed.
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
