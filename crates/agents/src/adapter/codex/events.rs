//! Reads the event stream of `codex exec --json`.

use serde::Deserialize;
use serde_json::value::RawValue;

use super::super::account::{Account, EventVerdict, short};
use super::super::listener::EventDialect;
use super::super::said::{AgentEnd, SpentAmount};
use super::super::stream::event;

#[derive(Debug, Default)]
pub(in super::super) struct CodexEvents {
    ended: Option<EventVerdict>,
    /// The message of the last `error` line, if there is one. It is the reason of the failure if a `turn.failed` line
    /// has no message of its own. If there is no `turn.failed` line, it is only a warning.
    error: Option<String>,
}

#[derive(Deserialize)]
struct CodexLine {
    #[serde(rename = "type")]
    kind: String,
    thread_id: Option<String>,
    item: Option<Box<RawValue>>,
    usage: Option<CodexUsage>,
    message: Option<String>,
    error: Option<CodexFailure>,
}

#[derive(Deserialize)]
struct Item {
    #[serde(rename = "type")]
    kind: String,
    text: Option<String>,
    message: Option<String>,
    server: Option<String>,
    tool: Option<String>,
}

#[derive(Deserialize)]
struct CodexUsage {
    #[serde(default)]
    input_tokens: u64,
    #[serde(default)]
    output_tokens: u64,
}

#[derive(Deserialize)]
struct CodexFailure {
    message: Option<String>,
}

impl EventDialect for CodexEvents {
    fn line(&mut self, line: &[u8], account: &mut Account) {
        let Some(line) = event::<CodexLine>(line) else { return };
        let item = || line.item.as_ref().and_then(|item| serde_json::from_str::<Item>(item.get()).ok());
        match line.kind.as_str() {
            "thread.started" => account.conversation(line.thread_id.as_deref().unwrap_or_default()),
            "item.started" => started(item(), account),
            "item.completed" => completed(item(), account),
            "turn.completed" => {
                if let Some(usage) = line.usage {
                    // Cached tokens are already counted in the input tokens, and reasoning tokens in the output tokens.
                    let tokens = usage.input_tokens.saturating_add(usage.output_tokens);
                    account.tokens(SpentAmount::WholeConversation(tokens));
                }
                self.ended = Some(EventVerdict::Answered);
            }
            "turn.failed" => {
                let told = line.error.and_then(|error| error.message).or_else(|| self.error.take());
                let reason = short(told.as_deref().unwrap_or("the turn failed"));
                self.ended = Some(EventVerdict::Ended(AgentEnd::ApiError { reason }));
            }
            // Codex retries after some errors, so this line alone does not end the turn (the run of the program).
            "error" => self.error = line.message,
            _ => account.progress(),
        }
    }

    fn verdict(&self, stderr_tail: &str, account: &mut Account) -> EventVerdict {
        if stderr_tail.contains("no rollout found for thread id") {
            return EventVerdict::Ended(AgentEnd::NoConversation);
        }
        if let (None | Some(EventVerdict::Answered), Some(error)) = (&self.ended, &self.error) {
            account.warn(error);
        }
        self.ended.clone().unwrap_or(EventVerdict::Open("the program ended before its turn was complete"))
    }
}

/// Counts a tool call at the start of the tool, because a tool that is killed has no end event.
fn started(item: Option<Item>, account: &mut Account) {
    let Some(item) = item else { return };
    match item.kind.as_str() {
        "agent_message" | "reasoning" | "error" | "todo_list" => account.progress(),
        "mcp_tool_call" => {
            let (server, tool) = (item.server.unwrap_or_default(), item.tool.unwrap_or_default());
            account.tool_call(&format!("{server}.{tool}"));
        }
        tool => account.tool_call(tool),
    }
}

fn completed(item: Option<Item>, account: &mut Account) {
    let Some(item) = item else { return };
    match (item.kind.as_str(), item.text, item.message) {
        ("agent_message", Some(text), _) => account.block(&text),
        ("error", _, Some(message)) => account.warn(&message),
        // Codex reports a change of files only once, when the change is complete.
        ("file_change", ..) => account.tool_call("file_change"),
        _ => account.progress(),
    }
}
