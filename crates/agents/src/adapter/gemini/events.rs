//! Reads the event stream of `gemini -o stream-json`.

use serde::Deserialize;

use super::super::account::{Account, EventVerdict, short};
use super::super::listener::EventDialect;
use super::super::said::{AgentEnd, SpentAmount};
use super::super::stream::event;

#[derive(Debug, Default)]
pub(in super::super) struct GeminiEvents {
    ended: Option<EventVerdict>,
}

#[derive(Deserialize)]
struct GeminiLine {
    #[serde(rename = "type")]
    kind: String,
    session_id: Option<String>,
    role: Option<String>,
    content: Option<String>,
    delta: Option<bool>,
    tool_name: Option<String>,
    status: Option<String>,
    error: Option<GeminiFailure>,
    message: Option<String>,
    stats: Option<Stats>,
}

#[derive(Deserialize)]
struct GeminiFailure {
    message: Option<String>,
}

#[derive(Deserialize)]
struct Stats {
    total_tokens: Option<u64>,
}

impl EventDialect for GeminiEvents {
    fn line(&mut self, line: &[u8], account: &mut Account) {
        let Some(line) = event::<GeminiLine>(line) else { return };
        match line.kind.as_str() {
            "init" => account.conversation(line.session_id.as_deref().unwrap_or_default()),
            "message" if line.role.as_deref() == Some("assistant") => {
                let text = line.content.unwrap_or_default();
                if line.delta == Some(true) { account.chunk(&text) } else { account.block(&text) }
            }
            "tool_use" => account.tool_call(line.tool_name.as_deref().unwrap_or("a tool")),
            // An `error` line is a warning, or an error that the `result` line repeats later.
            "error" => account.warn(line.message.as_deref().unwrap_or("an error without a message")),
            "result" => {
                if let Some(tokens) = line.stats.and_then(|stats| stats.total_tokens) {
                    account.tokens(SpentAmount::ThisTurn(tokens));
                }
                self.ended = Some(judge(line.status.as_deref(), line.error));
            }
            _ => account.progress(),
        }
    }

    fn verdict(&self, stderr_tail: &str, _: &mut Account) -> EventVerdict {
        if stderr_tail.contains("Error resuming session") {
            return EventVerdict::Ended(AgentEnd::NoConversation);
        }
        self.ended.clone().unwrap_or(EventVerdict::Open("the program ended without a result"))
    }
}

/// Judges how a turn (one run of the program) ended, by the status and the error message of its `result` line. The exit
/// code cannot be used: for a refused request it is only the lower bits of the HTTP status.
fn judge(status: Option<&str>, error: Option<GeminiFailure>) -> EventVerdict {
    if status == Some("success") {
        return EventVerdict::Answered;
    }
    let reason = error.and_then(|error| error.message).unwrap_or_else(|| "the program gave no reason".to_owned());
    EventVerdict::Ended(if reason.contains("API Error") {
        AgentEnd::ApiError { reason: short(&reason) }
    } else {
        AgentEnd::Failed { code: None, reason: short(&reason) }
    })
}
