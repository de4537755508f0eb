//! The causes for which a person is needed, each with the data from which its title and commands are made.

use super::AttentionKind;

/// The act for which an agent asks a person's approval.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ApprovalWish {
    Run(String),
    /// An act that is not a command, described as in the approval request.
    Act(String),
}

/// An agent whose program cannot work until a person does something.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RestingAgent {
    pub slug: String,
    /// The reason why the program cannot work, in words such as `not logged in`.
    pub trouble: String,
    /// The last words of the program. Empty when the program said nothing.
    pub said: String,
}

#[derive(Debug, Clone, PartialEq)]
pub enum AttentionCause {
    Approval {
        approval: String,
        /// The agent that asks. `None` when Handover itself asks whether a task may start.
        agent: Option<String>,
        wish: ApprovalWish,
        /// The folder in which the act would happen, shortened for people.
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
        /// The name of the check and how it ended, such as `` `npm test` exited 1``.
        check: String,
        last_line: String,
        agent: Option<String>,
        tries: u32,
    },
    Conflict {
        path: String,
        /// The merged work that conflicts with this task, such as `with 13, merged 5 min ago` for task 13. `None` when
        /// it is not known.
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
        /// The used part of the limit, such as `$5.00 of $5.00`.
        limit: String,
        turns: u32,
        files: Option<u32>,
    },
    Stuck {
        /// The reason why no agent takes the task, as `why_not_taken` returned it.
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
        /// The name of the plan when a whole plan waits to be merged. `None` for a single task.
        plan: Option<String>,
        agent: Option<String>,
        ms: u64,
        usd_micros: Option<u64>,
        /// The result of the checks in one word, such as `checked`.
        result: String,
        /// The check and its end in words, such as `` `npm test` passed``.
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
