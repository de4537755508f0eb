//! The causes for which a person is needed, each with the data that its words need.

use super::AttentionKind;

/// The act for which an agent asks a person.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ApprovalWish {
    Run(String),
    /// Another act, in the words of the request.
    Act(String),
}

/// An agent whose program cannot work until a person does something.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RestingAgent {
    pub slug: String,
    /// The trouble in words, such as `not logged in`.
    pub trouble: String,
    /// The last words of the program. Empty when it said nothing.
    pub said: String,
}

#[derive(Debug, Clone, PartialEq)]
pub enum AttentionCause {
    Approval {
        approval: String,
        /// The agent that asks. `None` when Handover itself asks whether a task may start.
        agent: Option<String>,
        wish: ApprovalWish,
        /// The folder of the act, shortened for people.
        folder: Option<String>,
        expires_in_ms: Option<u64>,
    },
    Question {
        agent: String,
        text: String,
        message: String,
    },
    AgentRests {
        agent: RestingAgent,
        waiting: u32,
    },
    SetupFailed {
        command: String,
        how: String,
        last_line: String,
    },
    SettingsChanged {
        changes: Vec<String>,
        commit: Option<String>,
    },
    CheckFailed {
        failures: u32,
        /// The end of the check in words: `` `npm test` exited 1``.
        check: String,
        last_line: String,
        agent: Option<String>,
        tries: u32,
    },
    Conflict {
        path: String,
        /// The other work: `with 13, merged 5 min ago`. `None` when it is not known.
        other: Option<String>,
        agent: Option<String>,
        tries: u32,
    },
    NoChanges {
        said: String,
        agent: Option<String>,
        tries: u32,
        usd_micros: Option<u64>,
    },
    TipFailed {
        command: String,
        branch: String,
        merged: Vec<String>,
    },
    CheckChanged {
        approval: String,
        scripts: String,
    },
    Budget {
        /// The limit in words: `$5.00 of $5.00`.
        limit: String,
        turns: u32,
        files: Option<u32>,
    },
    Stuck {
        /// The reason that [`super::super::untaken::why_not_taken`] returned.
        why: String,
    },
    Blocked {
        agent: Option<String>,
        reason: String,
        kind: String,
    },
    Failed {
        crashes: u32,
        error: String,
    },
    Finding {
        review: String,
        open: u32,
        reviewer: String,
        blocking: Option<u32>,
    },
    Merge {
        /// The name of the plan when the work is that of a whole plan.
        plan: Option<String>,
        agent: Option<String>,
        ms: u64,
        usd_micros: Option<u64>,
        /// The result in one word, such as `checked`.
        result: String,
        /// The check in words: `` `npm test` passed``.
        check: String,
        size: String,
    },
    Baseline {
        command: String,
        branch: Option<String>,
        unchecked: u32,
    },
}

impl AttentionCause {
    pub fn kind(&self) -> AttentionKind {
        match self {
            Self::Approval { .. } => AttentionKind::Approval,
            Self::Question { .. } => AttentionKind::Question,
            Self::AgentRests { .. } => AttentionKind::AgentRests,
            Self::SetupFailed { .. } => AttentionKind::SetupFailed,
            Self::SettingsChanged { .. } => AttentionKind::SettingsChanged,
            Self::CheckFailed { .. } => AttentionKind::CheckFailed,
            Self::Conflict { .. } => AttentionKind::Conflict,
            Self::NoChanges { .. } => AttentionKind::NoChanges,
            Self::TipFailed { .. } => AttentionKind::TipFailed,
            Self::CheckChanged { .. } => AttentionKind::CheckChanged,
            Self::Budget { .. } => AttentionKind::Budget,
            Self::Stuck { .. } => AttentionKind::Stuck,
            Self::Blocked { .. } => AttentionKind::Blocked,
            Self::Failed { .. } => AttentionKind::Failed,
            Self::Finding { .. } => AttentionKind::Finding,
            Self::Merge { .. } => AttentionKind::Merge,
            Self::Baseline { .. } => AttentionKind::Baseline,
        }
    }
}
