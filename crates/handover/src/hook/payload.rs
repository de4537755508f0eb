//! The payload of a client's event: one JSON object on standard input. The client defines it, so the hook ignores
//! unknown fields.

use std::io::Read;
use std::path::PathBuf;

use serde::Deserialize;
use serde_json::value::RawValue;

use super::event::HookEvent;

/// The largest payload of a hook in bytes. A longer one is an error. The limit is high because the payload has the
/// answer of the tool, which may have read a large file.
pub(super) const BYTES_MAX: u64 = 16 << 20;

#[derive(Debug, Deserialize)]
pub struct HookPayload {
    pub session_id: String,
    pub hook_event_name: String,
    pub cwd: Option<PathBuf>,
    prompt_id: Option<String>,
    turn_id: Option<String>,
    /// The client's name for the sub-agent in which the event happens; `None` for the main agent.
    pub agent_id: Option<String>,
    pub tool_name: Option<String>,
    /// The input of the tool call, in exactly the bytes that the client sent.
    pub tool_input: Option<Box<RawValue>>,
    pub tool_use_id: Option<String>,
    /// The reason why a session starts, for example `resume` or `compact`; `None` at other events.
    pub source: Option<String>,
    /// The reason why a session ends, for example `clear`; `None` at other events.
    pub reason: Option<String>,
    pub last_assistant_message: Option<String>,
    #[serde(default)]
    pub stop_hook_active: Option<bool>,
}

/// The reason why the payload of a hook is invalid.
#[derive(Debug, thiserror::Error)]
pub enum Bad {
    #[error("standard input cannot be read: {0}")]
    Unreadable(#[from] std::io::Error),
    #[error("the payload of the hook is longer than {BYTES_MAX} bytes")]
    TooLong,
    #[error("the payload of the hook is not the JSON object that a client sends: {0}")]
    NotAPayload(#[from] serde_json::Error),
    #[error(
        "the client sent the event {found} to the hook of {expected}; run `handover setup CLIENT --hooks` again \
        to fix the client's configuration"
    )]
    OtherEvent { found: String, expected: &'static str, again: bool },
    #[error("the payload of the hook has a `session_id` that is empty or longer than 256 bytes")]
    NoSession,
}

impl HookPayload {
    pub fn read(event: HookEvent, input: impl Read) -> Result<Self, Bad> {
        let mut bytes = Vec::new();
        input.take(BYTES_MAX + 1).read_to_end(&mut bytes)?;
        if u64::try_from(bytes.len()).is_ok_and(|length| length > BYTES_MAX) {
            return Err(Bad::TooLong);
        }
        let payload: Self = serde_json::from_slice(&bytes)?;
        if payload.hook_event_name != event.as_str() {
            let again = payload.stop_hook_active.unwrap_or(false);
            let found = payload.hook_event_name.chars().take(64).collect();
            return Err(Bad::OtherEvent { found, expected: event.as_str(), again });
        }
        let named = !payload.session_id.trim().is_empty() && payload.session_id.len() <= 256;
        if named { Ok(payload) } else { Err(Bad::NoSession) }
    }

    /// Returns the id of the user's prompt that the session answers. The client Codex sends an id of its own,
    /// `turn_id`, instead of a prompt id.
    pub fn prompt(&self) -> String {
        self.prompt_id.clone().or_else(|| self.turn_id.clone()).unwrap_or_default()
    }

    /// Returns the name of the sub-agent in which the event happens. Returns `None` for the main agent of the session.
    pub fn part(&self) -> Option<String> {
        self.agent_id.clone().filter(|part| !part.trim().is_empty())
    }
}
