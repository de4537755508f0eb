//! The answers of the hook to a client: exit code 0 and one JSON object, or exit code 2 and a reason on standard error.
//! There is no third form, because clients let every call through on other codes.

use std::io::Write as _;
use std::process::ExitCode;
use std::sync::atomic::{AtomicBool, Ordering};

use serde_json::{Value, json};

use super::event::HookEvent;

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum HookAnswer {
    Nothing,
    /// Text for the model, when a session starts.
    Context(String),
    /// A denial with its reason: the client does not call the tool.
    Deny(String),
    /// A reason for the agent to continue instead of stopping.
    Block(String),
    /// A message for the person. The session continues.
    Note(String),
    /// The reason why the hook cannot judge the call. The client must not continue.
    Refuse(String),
}

/// Set when an answer was given. Only the first of three may answer: the hook's work, the timeout or a panic.
static ANSWERED: AtomicBool = AtomicBool::new(false);

impl HookAnswer {
    fn to_value(&self, event: HookEvent) -> Value {
        let event = event.as_str();
        match self {
            Self::Nothing | Self::Refuse(_) => json!({}),
            Self::Context(text) => {
                json!({"hookSpecificOutput": {"hookEventName": event, "additionalContext": text}})
            }
            Self::Deny(reason) => json!({"hookSpecificOutput": {
                "hookEventName": event, "permissionDecision": "deny", "permissionDecisionReason": reason,
            }}),
            Self::Block(reason) => json!({"decision": "block", "reason": reason}),
            Self::Note(text) => json!({"systemMessage": text}),
        }
    }

    /// Writes the answer and returns the exit code. Returns `None` when an answer was already given.
    pub(super) fn give(&self, event: HookEvent) -> Option<u8> {
        if ANSWERED.swap(true, Ordering::SeqCst) {
            return None;
        }
        let mut error = std::io::stderr().lock();
        match self {
            Self::Refuse(reason) => {
                // The exit code is the same when nothing reads standard error.
                let _gone = writeln!(error, "handover: {reason}");
                return Some(2);
            }
            Self::Note(text) => drop(writeln!(error, "handover: {text}")),
            Self::Nothing | Self::Context(_) | Self::Deny(_) | Self::Block(_) => {}
        }
        let mut out = std::io::stdout().lock();
        let said = writeln!(out, "{}", self.to_value(event)).and_then(|()| out.flush());
        match (said, event) {
            (Ok(()), _) => Some(0),
            // The client would take a denial that it cannot read for a permission.
            (Err(_), HookEvent::PreToolUse) => Some(2),
            (Err(_), _) => Some(0),
        }
    }

    pub(super) fn code(&self, event: HookEvent) -> ExitCode {
        // Another thread gave the answer and is about to end the process.
        self.give(event).map_or_else(
            || loop {
                std::thread::park()
            },
            ExitCode::from,
        )
    }
}
