//! Reads the event stream of `codex exec --json`.

use serde::Deserialize;
use serde_json::value::RawValue;

use super::super::account::{Account, EventVerdict, short};
use super::super::listener::EventDialect;
use super::super::raw::{members, text};
use super::super::said::{AgentEnd, SpentAmount, TokenUse};
use super::super::stream::event;
use super::tools::CodexTools;

#[derive(Debug, Default)]
pub(in super::super) struct CodexEvents {
    ended: Option<EventVerdict>,
    /// The message of the last `error` line, if there is one. It is the reason of the failure if a `turn.failed` line
    /// has no message of its own. If there is no `turn.failed` line, it is only a warning.
    error: Option<String>,
    tools: CodexTools,
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
        match line.kind.as_str() {
            "thread.started" => account.conversation(line.thread_id.as_deref().unwrap_or_default()),
            "item.started" => self.started(line.item.as_deref(), account),
            "item.completed" => self.completed(line.item.as_deref(), account),
            "turn.completed" => {
                if let Some(usage) = line.usage {
                    // Cached tokens are already counted in the input tokens, and reasoning tokens in the output tokens.
                    let tokens = TokenUse::apart(usage.input_tokens, usage.output_tokens);
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

impl CodexEvents {
    fn started(&mut self, item: Option<&RawValue>, account: &mut Account) {
        let [kind] = members(item, ["type"]);
        match (text(kind).as_deref(), item) {
            (Some("agent_message" | "reasoning" | "error" | "todo_list"), _) => account.progress(),
            (Some(tool), Some(item)) => self.tools.started(tool, item, account),
            (None, _) | (_, None) => {}
        }
    }

    fn completed(&mut self, item: Option<&RawValue>, account: &mut Account) {
        let [kind, said, message] = members(item, ["type", "text", "message"]);
        match (text(kind).as_deref(), text(said), text(message), item) {
            (Some("agent_message"), Some(said), ..) => account.block(&said),
            (Some("error"), _, Some(message), _) => account.warn(&message),
            (Some("agent_message" | "error" | "reasoning" | "todo_list"), ..) => account.progress(),
            (Some(tool), _, _, Some(item)) => self.tools.completed(tool, item, account),
            (None, ..) | (.., None) => {}
        }
    }
}
