//! Reads the event stream of `gemini -o stream-json`.

use serde::Deserialize;

use super::super::account::{Account, Verdict, short};
use super::super::listener::Dialect;
use super::super::said::{End, Spent};
use super::super::stream::event;

#[derive(Debug, Default)]
pub(in super::super) struct Events {
    ended: Option<Verdict>,
}

#[derive(Deserialize)]
struct Line {
    #[serde(rename = "type")]
    kind: String,
    session_id: Option<String>,
    role: Option<String>,
    content: Option<String>,
    delta: Option<bool>,
    tool_name: Option<String>,
    status: Option<String>,
    error: Option<Failure>,
    message: Option<String>,
    stats: Option<Stats>,
}

#[derive(Deserialize)]
struct Failure {
    message: Option<String>,
}

#[derive(Deserialize)]
struct Stats {
    total_tokens: Option<u64>,
}

impl Dialect for Events {
    fn line(&mut self, line: &[u8], account: &mut Account) {
        let Some(line) = event::<Line>(line) else { return };
        match line.kind.as_str() {
            "init" => account.conversation(line.session_id.as_deref().unwrap_or_default()),
            "message" if line.role.as_deref() == Some("assistant") => {
                let text = line.content.unwrap_or_default();
                if line.delta == Some(true) { account.chunk(&text) } else { account.block(&text) }
            }
            "tool_use" => account.tool_call(line.tool_name.as_deref().unwrap_or("a tool")),
            // This is a warning, or an error that the result repeats.
            "error" => account.warn(line.message.as_deref().unwrap_or("an error without a message")),
            "result" => {
                if let Some(tokens) = line.stats.and_then(|stats| stats.total_tokens) {
                    account.tokens(Spent::ThisTurn(tokens));
                }
                self.ended = Some(judge(line.status.as_deref(), line.error));
            }
            _ => account.progress(),
        }
    }

    fn verdict(&self, stderr_tail: &str, _: &mut Account) -> Verdict {
        if stderr_tail.contains("Error resuming session") {
            return Verdict::Ended(End::NoConversation);
        }
        self.ended.clone().unwrap_or(Verdict::Open("it ended without a result"))
    }
}

/// Judges a result by its status and its message. The exit code tells nothing: for a refused request it is the HTTP
/// status without the high bits.
fn judge(status: Option<&str>, error: Option<Failure>) -> Verdict {
    if status == Some("success") {
        return Verdict::Answered;
    }
    let reason = error.and_then(|error| error.message).unwrap_or_else(|| "it gave no reason".to_owned());
    Verdict::Ended(if reason.contains("API Error") {
        End::ApiError { reason: short(&reason) }
    } else {
        End::Failed { code: None, reason: short(&reason) }
    })
}
