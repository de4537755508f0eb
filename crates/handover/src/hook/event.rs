//! The events at which clients call the hook, with the clients' own names for them.

use std::time::Duration;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HookEvent {
    SessionStart,
    PreToolUse,
    PostToolUse,
    Stop,
    SubagentStop,
    SessionEnd,
    /// An event of a client at which `handover hook` does nothing.
    Other(&'static str),
}

/// The names of client events that the hook does not use. A client that is configured to call the hook at one of these
/// events gets an empty reply, not an error.
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

const OURS: [HookEvent; 6] = [
    HookEvent::SessionStart,
    HookEvent::PreToolUse,
    HookEvent::PostToolUse,
    HookEvent::Stop,
    HookEvent::SubagentStop,
    HookEvent::SessionEnd,
];

impl HookEvent {
    /// Parses the name of a client's event, as the command line gives it.
    pub fn parse(name: &str) -> Result<Self, String> {
        let ours = OURS.into_iter().find(|event| event.as_str() == name);
        let other = || OTHERS.into_iter().find(|other| *other == name).map(Self::Other);
        ours.or_else(other).ok_or_else(|| {
            let names = OURS.map(Self::as_str).join(", ");
            format!("there is no hook event `{name}`; Handover acts on {names}")
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

    /// Returns the number of seconds that a client is configured to wait for the hook. After this time the client lets
    /// the tool call through, so the hook must answer earlier.
    pub fn timeout_seconds(self) -> u32 {
        match self {
            Self::PreToolUse => 30,
            Self::SessionStart | Self::PostToolUse | Self::Other(_) => 15,
            // When an agent stops and reports "done", the hook may have to run checks, which take minutes.
            Self::Stop | Self::SubagentStop => 600,
            // The agent client Codex waits at most 3 seconds for the hook when a session ends.
            Self::SessionEnd => 3,
        }
    }

    /// Returns the time after which the hook stops its work and answers that it failed.
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
