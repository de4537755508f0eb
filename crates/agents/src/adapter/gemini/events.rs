//! Reads the event stream of `gemini -o stream-json`.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::value::RawValue;

use super::super::account::{Account, EventVerdict, short};
use super::super::listener::EventDialect;
use super::super::raw::{result_text, some_text, text, time_ms};
use super::super::said::{AgentEnd, SpentAmount, TokenUse};
use super::super::stream::event;
use super::super::tool::{GEMINI, OpenCall, OpenCalls, RESULT_BYTES_MAX, ToolCallDetail, ToolCallKind, ToolCallResult};

#[derive(Debug, Default)]
pub(in super::super) struct GeminiEvents {
    ended: Option<EventVerdict>,
    open: OpenCalls,
}

#[derive(Deserialize)]
struct GeminiLine {
    #[serde(rename = "type")]
    kind: String,
    session_id: Option<String>,
    model: Option<Box<RawValue>>,
    role: Option<String>,
    content: Option<String>,
    delta: Option<bool>,
    tool_name: Option<String>,
    tool_id: Option<Box<RawValue>>,
    parameters: Option<Box<RawValue>>,
    output: Option<Box<RawValue>>,
    timestamp: Option<Box<RawValue>>,
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
    input_tokens: Option<u64>,
    #[serde(default)]
    models: BTreeMap<String, ModelStats>,
}

#[derive(Deserialize)]
struct ModelStats {
    #[serde(default)]
    total_tokens: u64,
}

impl EventDialect for GeminiEvents {
    fn line(&mut self, line: &[u8], account: &mut Account) {
        let Some(line) = event::<GeminiLine>(line) else { return };
        match line.kind.as_str() {
            "init" => {
                account.conversation(line.session_id.as_deref().unwrap_or_default());
                account.model(&text(line.model.as_deref()).unwrap_or_default());
            }
            "message" if line.role.as_deref() == Some("assistant") => {
                let text = line.content.unwrap_or_default();
                if line.delta == Some(true) { account.chunk(&text) } else { account.block(&text) }
            }
            "tool_use" => self.called(&line, account),
            "tool_result" => self.returned(line, account),
            // An `error` line is a warning, or an error that the `result` line repeats later.
            "error" => account.warn(line.message.as_deref().unwrap_or("an error without a message")),
            "result" => {
                if let Some(stats) = &line.stats {
                    spend(stats, account);
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

impl GeminiEvents {
    fn called(&mut self, line: &GeminiLine, account: &mut Account) {
        let name = line.tool_name.as_deref().unwrap_or("a tool");
        let call = ToolCallDetail::of(GEMINI, name, line.tool_id.as_deref(), line.parameters.as_deref());
        if let Some(id) = &call.id {
            let at = time_ms(line.timestamp.as_deref());
            self.open.begin(id, OpenCall { kind: call.kind, at, is_background: false });
        }
        account.tool_call(name, call);
    }

    fn returned(&mut self, line: GeminiLine, account: &mut Account) {
        let Some(id) = some_text(line.tool_id.as_deref()) else { return account.progress() };
        let call = self.open.end(&id).unwrap_or_default();
        let text = match line.error.and_then(|error| error.message) {
            Some(message) => message,
            None => result_text(line.output.as_deref(), RESULT_BYTES_MAX),
        };
        // Gemini reports a command as successful even if its exit code is not 0. It states the code only if the command
        // printed nothing.
        let is_run = call.kind == ToolCallKind::Run;
        let exit_code: Option<i32> = text.strip_prefix("Command exited with code: ").and_then(|code| code.parse().ok());
        let exit_code = exit_code.filter(|_| is_run);
        let ok = match (line.status.as_deref(), exit_code) {
            (Some("error"), _) => Some(false),
            (_, Some(code)) => Some(code == 0),
            (Some("success"), None) if !is_run => Some(true),
            (Some(_) | None, None) => None,
        };
        let ms = call.ms(time_ms(line.timestamp.as_deref()));
        account.tool_result(ToolCallResult { id: Some(id), ok, exit_code, ms, lines: None, text });
    }
}

/// Adds the tokens that the `result` line counts, and the model that used the most of them. The `init` line only names the
/// model that was asked for.
fn spend(stats: &Stats, account: &mut Account) {
    if let Some(total) = stats.total_tokens {
        // The line counts the model's thinking only in the total. Thinking is output, so the output is the rest of the
        // total.
        let output = stats.input_tokens.and_then(|input| total.checked_sub(input));
        let input = stats.input_tokens.filter(|_| output.is_some());
        account.tokens(SpentAmount::ThisTurn(TokenUse { total, input, output }));
    }
    let used = stats.models.iter().filter(|(_, model)| model.total_tokens > 0);
    if let Some((name, _)) = used.max_by_key(|(_, model)| model.total_tokens) {
        account.model(name);
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
