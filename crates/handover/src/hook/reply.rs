//! The answers of the hook to a client. An answer is either exit code 0 with one JSON object, or exit code 2 with a
//! reason on standard error. The hook uses no other exit code, because clients let the call through on other codes.

use std::io::Write as _;
use std::process::ExitCode;
use std::sync::atomic::{AtomicBool, Ordering};

use serde_json::{Value, json};

use super::event::HookEvent;

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum HookAnswer {
    Nothing,
    /// Text that the hook gives to the model when a session starts.
    Context(String),
    /// The hook denies the tool call, so the client does not make it. The text is the reason.
    Deny(String),
    /// The hook blocks the stop of the agent. The text tells the agent why it must continue.
    Block(String),
    /// A message for the person who uses the client. The client's session continues.
    Note(String),
    /// The hook cannot judge the call, so the client must not continue. The text is the reason.
    Refuse(String),
}

/// True after the hook gave an answer. The hook's work, its timeout and its panic handler may all want to answer. Only
/// the first of these three may.
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

    /// Writes the answer and returns the exit code. Returns `None` when another thread of this process already
    /// answered.
    pub(super) fn give(&self, event: HookEvent) -> Option<u8> {
        if ANSWERED.swap(true, Ordering::SeqCst) {
            return None;
        }
        let mut error = std::io::stderr().lock();
        match self {
            Self::Refuse(reason) => {
                // Ignore a failed write to standard error: the exit code alone refuses the call.
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
            // If the write fails, the client gets no denial to read, and exit code 0 would let the call through. So the
            // code is 2.
            (Err(_), HookEvent::PreToolUse) => Some(2),
            (Err(_), _) => Some(0),
        }
    }

    pub(super) fn code(&self, event: HookEvent) -> ExitCode {
        // If another thread gave the answer, that thread is about to end the process, so this thread only waits.
        self.give(event).map_or_else(
            || loop {
                std::thread::park()
            },
            ExitCode::from,
        )
    }
}
