//! The moments at which clients call us, by the clients' own names.

use std::time::Duration;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Event {
    SessionStart,
    PreToolUse,
    PostToolUse,
    Stop,
    SubagentStop,
    SessionEnd,
    /// A client's event at which there is nothing to do for us.
    Other(&'static str),
}

/// Names that clients have beside ours. Whoever wires one gets an empty reply instead of an error.
const OTHERS: [&str; 20] = [
    "UserPromptSubmit",
    "PostToolBatch",
    "PostToolUseFailure",
    "PermissionRequest",
    "SubagentStart",
    "Notification",
    "PreCompact",
    "PostCompact",
    "Setup",
    "Elicitation",
    "ElicitationResult",
    "TeammateIdle",
    "TaskCreated",
    "TaskCompleted",
    "ConfigChange",
    "InstructionsLoaded",
    "StopFailure",
    "CwdChanged",
    "Interrupt",
    "PreModelRequest",
];

const OURS: [Event; 6] =
    [Event::SessionStart, Event::PreToolUse, Event::PostToolUse, Event::Stop, Event::SubagentStop, Event::SessionEnd];

impl Event {
    /// For the command line.
    pub fn parse(name: &str) -> Result<Self, String> {
        let ours = OURS.into_iter().find(|event| event.as_str() == name);
        let other = || OTHERS.into_iter().find(|other| *other == name).map(Self::Other);
        ours.or_else(other).ok_or_else(|| {
            let names = OURS.map(Self::as_str).join(", ");
            format!("there is no event `{name}`; those with an effect are {names}")
        })
    }

    pub fn as_str(self) -> &'static str {
        match self {
            Self::SessionStart => "SessionStart",
            Self::PreToolUse => "PreToolUse",
            Self::PostToolUse => "PostToolUse",
            Self::Stop => "Stop",
            Self::SubagentStop => "SubagentStop",
            Self::SessionEnd => "SessionEnd",
            Self::Other(name) => name,
        }
    }

    /// How long a client should wait for us. What does not answer in time is let through by clients, so we answer before.
    pub fn timeout_seconds(self) -> u32 {
        match self {
            Self::PreToolUse => 30,
            Self::SessionStart | Self::PostToolUse | Self::Other(_) => 15,
            // A handoff that says "done" may have checks to pass.
            Self::Stop | Self::SubagentStop => 600,
            // Codex grants no more.
            Self::SessionEnd => 3,
        }
    }

    /// When we give up.
    pub(super) fn patience(self) -> Duration {
        match self {
            Self::SessionEnd => Duration::from_millis(900),
            Self::SessionStart
            | Self::PreToolUse
            | Self::PostToolUse
            | Self::Stop
            | Self::SubagentStop
            | Self::Other(_) => Duration::from_secs(u64::from(self.timeout_seconds()) * 2 / 3),
        }
    }
}
