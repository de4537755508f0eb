//! Reads the event stream of Claude Code.

use std::collections::HashMap;

use serde::Deserialize;
use serde_json::value::RawValue;

use super::super::account::{Account, EventVerdict, short};
use super::super::listener::EventDialect;
use super::super::order::McpServerLaunch;
use super::super::raw::{elements, member, members, text};
use super::super::said::{AgentEnd, SpentAmount, TokenUse};
use super::super::stream::event;
use super::tools::ClaudeTools;

/// The number of the signal SIGINT, which a terminal sends on Ctrl-C. When a result says that the run of the program
/// was aborted, the run counts as ended by this signal.
const INTERRUPT: i32 = 2;
/// The name that Claude Code gives to its own messages, such as the text of an API error, in place of a model.
const SYNTHETIC: &str = "<synthetic>";

#[derive(Debug, Default)]
pub(in super::super) struct ClaudeEvents {
    /// The verdict of the last `result` line so far; `None` before the first one. A stream can have several `result`
    /// lines, because background work can wake the program again.
    ended: Option<EventVerdict>,
    tools: ClaudeTools,
}

#[derive(Deserialize)]
pub(super) struct ClaudeLine {
    #[serde(rename = "type")]
    kind: String,
    session_id: Option<String>,
    model: Option<Box<RawValue>>,
    pub(super) parent_tool_use_id: Option<String>,
    /// The message of the line, not parsed yet. Its content can be a tool result, which may be large and of any type.
    pub(super) message: Option<Box<RawValue>>,
    pub(super) timestamp: Option<Box<RawValue>>,
    /// The structured form of the tool result in this line, not parsed yet. It can be of any type.
    pub(super) tool_use_result: Option<Box<RawValue>>,
    /// The tool call to which a line about background work belongs.
    pub(super) tool_use_id: Option<Box<RawValue>>,
    pub(super) status: Option<Box<RawValue>>,
    pub(super) summary: Option<Box<RawValue>>,
    #[serde(default)]
    mcp_servers: Vec<ServerState>,
    subtype: Option<String>,
    is_error: Option<bool>,
    result: Option<String>,
    terminal_reason: Option<String>,
    api_error_status: Option<u16>,
    #[serde(default)]
    errors: Vec<String>,
    #[serde(default)]
    permission_denials: Vec<Denial>,
    total_cost_usd: Option<f64>,
    usage: Option<ClaudeUsage>,
    model_usage_since_last_result: Option<HashMap<String, ClaudeModelUsage>>,
}

#[derive(Deserialize)]
struct ServerState {
    name: String,
    status: String,
}

#[derive(Deserialize)]
struct Denial {
    tool_name: String,
}

#[derive(Deserialize)]
struct ClaudeUsage {
    #[serde(default)]
    input_tokens: u64,
    #[serde(default)]
    output_tokens: u64,
    #[serde(default)]
    cache_creation_input_tokens: u64,
    #[serde(default)]
    cache_read_input_tokens: u64,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct ClaudeModelUsage {
    #[serde(default)]
    input_tokens: u64,
    #[serde(default)]
    output_tokens: u64,
    #[serde(default)]
    cache_read_input_tokens: u64,
    #[serde(default)]
    cache_creation_input_tokens: u64,
    #[serde(rename = "costUSD", default)]
    cost_usd: f64,
}

impl EventDialect for ClaudeEvents {
    fn line(&mut self, line: &[u8], account: &mut Account) {
        let Some(line) = event::<ClaudeLine>(line) else { return };
        match line.kind.as_str() {
            "system" if line.subtype.as_deref() == Some("task_notification") => self.tools.notified(&line, account),
            "system" => started(&line, account),
            "assistant" => self.spoken(&line, account),
            "user" => self.tools.returned(&line, account),
            "result" => self.result(line, account),
            _ => account.progress(),
        }
    }

    fn verdict(&self, stderr_tail: &str, _: &mut Account) -> EventVerdict {
        if stderr_tail.contains("No conversation found with session ID") {
            return EventVerdict::Ended(AgentEnd::NoConversation);
        }
        self.ended.clone().unwrap_or(EventVerdict::Open("the program ended without a result"))
    }
}

impl ClaudeEvents {
    fn spoken(&mut self, line: &ClaudeLine, account: &mut Account) {
        // The model of a sub-agent is not the model of the agent. `<synthetic>` marks a message that no model wrote.
        let model = text(member(line.message.as_deref(), "model")).unwrap_or_default();
        if line.parent_tool_use_id.is_none() && model != SYNTHETIC {
            account.model(&model);
        }
        for block in elements(member(line.message.as_deref(), "content")) {
            let [kind, its_text] = members(Some(block), ["type", "text"]);
            match (text(kind).as_deref(), text(its_text)) {
                // The text of a sub-agent is not the answer of the agent.
                (Some("text"), Some(said)) if line.parent_tool_use_id.is_none() => account.block(&said),
                (Some("tool_use"), _) => self.tools.called(block, line, account),
                _ => account.progress(),
            }
        }
    }

    fn result(&mut self, result: ClaudeLine, account: &mut Account) {
        spend(&result, account);
        for denial in &result.permission_denials {
            account.warn(&format!("not permitted: {}", denial.tool_name));
        }
        let verdict = judge(&result);
        // A `result` line contains a session id even if Claude Code did not find the conversation with that id. In that
        // case the id is ignored.
        if verdict != EventVerdict::Ended(AgentEnd::NoConversation) {
            account.conversation(result.session_id.as_deref().unwrap_or_default());
        }
        if let (EventVerdict::Answered, Some(text)) = (&verdict, result.result) {
            account.answer(text);
        }
        account.progress();
        self.ended = Some(verdict);
    }
}

fn started(line: &ClaudeLine, account: &mut Account) {
    // Before the conversation starts, hooks print lines that already have its session id. Only the line `init` says
    // that the conversation started.
    if line.subtype.as_deref() == Some("init") {
        account.conversation(line.session_id.as_deref().unwrap_or_default());
        account.model(&text(line.model.as_deref()).unwrap_or_default());
        for server in line.mcp_servers.iter().filter(|server| server.name == McpServerLaunch::NAME) {
            if server.status != "connected" && server.status != "pending" {
                account.warn(&format!("the program reports Handover's MCP server as {}", server.status));
            }
        }
    }
    account.progress();
}

fn judge(result: &ClaudeLine) -> EventVerdict {
    let subtype = result.subtype.as_deref().unwrap_or("no subtype");
    if subtype == "success" && result.is_error == Some(false) {
        return EventVerdict::Answered;
    }
    let terminal = result.terminal_reason.as_deref().unwrap_or_default();
    let told = || match (&result.result, result.errors.as_slice()) {
        (Some(text), _) => short(text),
        (None, []) => subtype.to_owned(),
        (None, errors) => short(&format!("{subtype}: {}", errors.join("; "))),
    };
    EventVerdict::Ended(if result.errors.iter().any(|error| error.contains("No conversation found")) {
        AgentEnd::NoConversation
    } else if result.api_error_status.is_some() || terminal == "api_error" {
        AgentEnd::ApiError { reason: told() }
    } else if subtype == "error_max_budget_usd" {
        AgentEnd::OverBudget
    } else if terminal.starts_with("aborted") {
        AgentEnd::Signalled { signal: INTERRUPT }
    } else {
        AgentEnd::Failed { code: None, reason: told() }
    })
}

/// Adds the costs that a `result` line states. The numbers per model since the last result are preferred, because
/// `total_cost_usd` includes earlier runs of a resumed conversation, and `usage` leaves out sub-agents.
fn spend(result: &ClaudeLine, account: &mut Account) {
    if let Some(models) = &result.model_usage_since_last_result {
        let tokens = |model: &ClaudeModelUsage| {
            let read = [model.input_tokens, model.cache_read_input_tokens, model.cache_creation_input_tokens];
            TokenUse::apart(read.into_iter().fold(0, u64::saturating_add), model.output_tokens)
        };
        account.add_tokens(models.values().map(tokens).fold(TokenUse::apart(0, 0), TokenUse::and));
        account.add_usd(models.values().map(|model| model.cost_usd).sum());
        return;
    }
    if let Some(usd) = result.total_cost_usd {
        account.usd(SpentAmount::WholeConversation(usd));
    }
    if let Some(usage) = &result.usage {
        let read = [usage.input_tokens, usage.cache_creation_input_tokens, usage.cache_read_input_tokens];
        account.add_tokens(TokenUse::apart(read.into_iter().fold(0, u64::saturating_add), usage.output_tokens));
    }
}
