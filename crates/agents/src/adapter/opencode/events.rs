//! Reads the event stream of `opencode run --format json`.

use serde::Deserialize;
use serde_json::value::RawValue;

use super::super::account::{Account, EventVerdict, short};
use super::super::listener::EventDialect;
use super::super::raw::{member, members, result_text, some_text, text, value};
use super::super::said::{AgentEnd, TokenUse};
use super::super::stream::event;
use super::super::tool::{LineChange, OPENCODE, RESULT_BYTES_MAX, ToolCallDetail, ToolCallKind, ToolCallResult, lines};

#[derive(Debug, Default)]
pub(in super::super) struct OpencodeEvents {
    last: Last,
}

/// The last event of the stream that tells something about the state of the run.
#[derive(Debug, Default)]
enum Last {
    #[default]
    Nothing,
    Step,
    /// A tool call was refused, because it needed a permission and no person could be asked.
    Refused,
    Finished(String),
    Failed(AgentEnd),
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct OpencodeLine {
    #[serde(rename = "type")]
    kind: String,
    #[serde(rename = "sessionID")]
    session_id: Option<String>,
    part: Option<Box<RawValue>>,
    error: Option<OpencodeFailure>,
}

#[derive(Deserialize)]
struct OpencodePart {
    text: Option<String>,
    tool: Option<String>,
    reason: Option<String>,
    tokens: Option<Tokens>,
    cost: Option<f64>,
}

#[derive(Deserialize)]
struct Tokens {
    total: Option<u64>,
    #[serde(default)]
    input: u64,
    #[serde(default)]
    output: u64,
    #[serde(default)]
    reasoning: u64,
    cache: Option<Cache>,
}

#[derive(Deserialize)]
struct Cache {
    #[serde(default)]
    read: u64,
    #[serde(default)]
    write: u64,
}

#[derive(Deserialize)]
struct OpencodeFailure {
    name: Option<String>,
    data: Option<FailureData>,
}

#[derive(Deserialize)]
struct FailureData {
    message: Option<String>,
}

impl EventDialect for OpencodeEvents {
    fn line(&mut self, line: &[u8], account: &mut Account) {
        let Some(line) = event::<OpencodeLine>(line) else { return };
        account.conversation(line.session_id.as_deref().unwrap_or_default());
        let part = line.part.as_ref().and_then(|part| serde_json::from_str::<OpencodePart>(part.get()).ok());
        match (line.kind.as_str(), part) {
            ("text", Some(OpencodePart { text: Some(text), .. })) => account.block(&text),
            ("tool_use", Some(part)) => self.tool(part.tool.as_deref(), line.part.as_deref(), account),
            ("step_start", _) => {
                self.last = Last::Step;
                account.progress();
            }
            ("step_finish", Some(part)) => self.step_finish(part, account),
            ("error", _) => self.last = Last::Failed(failure(line.error)),
            _ => account.progress(),
        }
    }

    fn verdict(&self, stderr_tail: &str, account: &mut Account) -> EventVerdict {
        if stderr_tail.contains("Falling back to default agent") {
            account.warn("the agent that its arguments name does not exist; opencode used another one");
        }
        match &self.last {
            Last::Nothing if stderr_tail.contains("Session not found") => EventVerdict::Ended(AgentEnd::NoConversation),
            Last::Nothing => EventVerdict::Open("the program printed no event"),
            Last::Step => EventVerdict::Open("the program ended in the middle of a step"),
            Last::Refused => EventVerdict::Open("a tool was not permitted, and the program ended without an answer"),
            Last::Finished(reason) => match reason.as_str() {
                "stop" => EventVerdict::Answered,
                "tool-calls" => EventVerdict::Open("the program ended after a tool call without an answer"),
                "length" => EventVerdict::Open("its answer was cut at the model's limit"),
                "content-filter" => EventVerdict::Open("its answer was withheld by the model's filter"),
                _ => EventVerdict::Open("its last step ended for an unknown reason"),
            },
            Last::Failed(end) => EventVerdict::Ended(end.clone()),
        }
    }
}

impl OpencodeEvents {
    /// Counts a tool call. opencode reports a call only when the tool has ended, so the call of a tool that was killed
    /// is not counted.
    fn tool(&mut self, name: Option<&str>, part: Option<&RawValue>, account: &mut Account) {
        let name = name.unwrap_or("a tool");
        let [id, state] = members(part, ["callID", "state"]);
        let call = ToolCallDetail::of(OPENCODE, name, id, member(state, "input"));
        let kind = call.kind;
        account.tool_call(name, call);
        let error = text(member(state, "error")).unwrap_or_default();
        self.last = if error.contains("rejected permission") { Last::Refused } else { Last::Step };
        if let (Some(id), Some(state)) = (some_text(id), state) {
            account.tool_result(result(id, kind, state));
        }
    }

    fn step_finish(&mut self, part: OpencodePart, account: &mut Account) {
        if let Some(tokens) = part.tokens {
            account.add_tokens(tokens.used());
        }
        if let Some(cost) = part.cost {
            account.add_usd(cost);
        }
        let reason = part.reason.unwrap_or_default();
        // After a refused tool, opencode ends the step with the reason `tool-calls`. In that case the event `Refused`
        // is kept, because it explains more than this reason.
        if !(matches!(self.last, Last::Refused) && reason == "tool-calls") {
            self.last = Last::Finished(reason);
        }
        account.progress();
    }
}

impl Tokens {
    fn used(&self) -> TokenUse {
        let (read, write) = self.cache.as_ref().map_or((0, 0), |cache| (cache.read, cache.write));
        let input = [self.input, read, write].into_iter().fold(0, u64::saturating_add);
        let used = TokenUse::apart(input, self.output.saturating_add(self.reasoning));
        TokenUse { total: self.total.unwrap_or(used.total), ..used }
    }
}

fn result(id: String, kind: ToolCallKind, state: &RawValue) -> ToolCallResult {
    let [status, output, error, metadata, time] =
        members(Some(state), ["status", "output", "error", "metadata", "time"]);
    let exit_code: Option<i32> = value(member(metadata, "exit"));
    let ok = match (text(status).as_deref(), exit_code) {
        (Some("error"), _) => Some(false),
        (_, Some(code)) => Some(code == 0),
        // A command without an exit code was killed, or its time was over.
        (Some("completed"), None) if kind != ToolCallKind::Run => Some(true),
        (Some(_) | None, None) => None,
    };
    let [start, end] = members(time, ["start", "end"]);
    let ms = value::<u64>(end).and_then(|end| end.checked_sub(value(start)?));
    let lines = changed_lines(kind, metadata, member(Some(state), "input"));
    let text = result_text(error.or(output), RESULT_BYTES_MAX);
    ToolCallResult { id: Some(id), ok, exit_code, ms, lines, text }
}

/// Counts the lines that were changed, from the patch in the data about an edit. For a new file, the input has all
/// lines.
fn changed_lines(kind: ToolCallKind, metadata: Option<&RawValue>, input: Option<&RawValue>) -> Option<LineChange> {
    let [diff, exists] = members(metadata, ["diff", "exists"]);
    if let Some(diff) = text(diff) {
        return lines::of_patch(&diff);
    }
    let is_new = kind == ToolCallKind::Write && value(exists) == Some(false);
    if is_new { text(member(input, "content")).map(|text| lines::of_new_file(&text)) } else { None }
}

fn failure(error: Option<OpencodeFailure>) -> AgentEnd {
    let (name, data) = error.map_or((None, None), |error| (error.name, error.data));
    let name = name.unwrap_or_default();
    let reason = data.and_then(|data| data.message).unwrap_or_else(|| name.clone());
    match name.as_str() {
        "APIError" | "ProviderAuthError" | "ContextOverflowError" => AgentEnd::ApiError { reason: short(&reason) },
        _ => AgentEnd::Failed { code: None, reason: short(&reason) },
    }
}
