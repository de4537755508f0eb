//! What a client is answered: exit code 0 and one JSON object, or 2 and a reason on standard error. Never anything else,
//! because clients let everything through on other codes.

use std::io::Write as _;
use std::process::ExitCode;
use std::sync::atomic::{AtomicBool, Ordering};

use serde_json::{Value, json};

use super::event::Event;

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Answer {
    Nothing,
    /// For the model, when a session starts.
    Context(String),
    /// The tool is not called.
    Deny(String),
    /// The agent goes on instead of stopping.
    Block(String),
    /// For the person; everything takes its course.
    Note(String),
    /// We cannot judge, so the client must not go on.
    Refuse(String),
}

/// One answer is given, whoever comes first: us, the clock or a panic.
static ANSWERED: AtomicBool = AtomicBool::new(false);

impl Answer {
    fn to_value(&self, event: Event) -> Value {
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

    /// Says it, and gives the code to end with. Whoever comes second says nothing.
    pub(super) fn give(&self, event: Event) -> Option<u8> {
        if ANSWERED.swap(true, Ordering::SeqCst) {
            return None;
        }
        let mut error = std::io::stderr().lock();
        match self {
            Self::Refuse(reason) => {
                // A reader that is gone changes nothing about the code.
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
            // A denial that nobody hears would be a permission.
            (Err(_), Event::PreToolUse) => Some(2),
            (Err(_), _) => Some(0),
        }
    }

    pub(super) fn code(&self, event: Event) -> ExitCode {
        // The other one ends the process in a moment.
        self.give(event).map_or_else(
            || loop {
                std::thread::park()
            },
            ExitCode::from,
        )
    }
}
