//! Reads the event stream of `opencode run --format json`.

use serde::Deserialize;
use serde_json::value::RawValue;

use super::super::account::{Account, EventVerdict, short};
use super::super::listener::EventDialect;
use super::super::said::AgentEnd;
use super::super::stream::event;

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
    state: Option<OpencodeState>,
    reason: Option<String>,
    tokens: Option<Tokens>,
    cost: Option<f64>,
}

#[derive(Deserialize)]
struct OpencodeState {
    error: Option<String>,
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
            ("tool_use", Some(part)) => self.tool(part, account),
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
    fn tool(&mut self, part: OpencodePart, account: &mut Account) {
        account.tool_call(part.tool.as_deref().unwrap_or("a tool"));
        let error = part.state.and_then(|state| state.error).unwrap_or_default();
        self.last = if error.contains("rejected permission") { Last::Refused } else { Last::Step };
    }

    fn step_finish(&mut self, part: OpencodePart, account: &mut Account) {
        if let Some(tokens) = part.tokens {
            account.add_tokens(tokens.sum());
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
    fn sum(&self) -> u64 {
        let (read, write) = self.cache.as_ref().map_or((0, 0), |cache| (cache.read, cache.write));
        let parts = [self.input, self.output, self.reasoning, read, write];
        self.total.unwrap_or_else(|| parts.into_iter().fold(0, u64::saturating_add))
    }
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
