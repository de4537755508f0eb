//! Reads the items of Codex that are tool calls: commands, changes of files, searches and tools of MCP servers.

use serde_json::value::RawValue;

use super::super::account::Account;
use super::super::raw::{elements, member, members, result_text, some_text, text, value};
use super::super::tool::{CODEX, OpenCall, OpenCalls, RESULT_BYTES_MAX, ToolCallDetail, ToolCallKind, ToolCallResult};
use super::command::inner_command;

/// A reader of tool calls. It remembers the calls that have no result yet.
#[derive(Debug, Default)]
pub(super) struct CodexTools {
    open: OpenCalls,
}

impl CodexTools {
    /// Records the start of a tool, because a tool that is killed has no end event.
    pub(super) fn started(&mut self, kind: &str, item: &RawValue, account: &mut Account) {
        let (name, call) = described(kind, item);
        // Codex starts a web search before it knows the words that it searches for. Such a call is reported at its end.
        if kind == "web_search" && call.targets.is_empty() {
            return account.progress();
        }
        if let Some(id) = &call.id {
            self.open.begin(id, OpenCall { kind: call.kind, ..OpenCall::default() });
        }
        account.tool_call(&name, call);
    }

    /// Records the end of a tool. Some versions of Codex report a tool only at its end, so a call whose start was not
    /// reported is counted here.
    pub(super) fn completed(&mut self, kind: &str, item: &RawValue, account: &mut Account) {
        let (name, call) = described(kind, item);
        let Some(id) = call.id.clone() else {
            // Without an id, an item cannot be matched with its start. Only a change of files has no start event.
            return if kind == "file_change" { account.tool_call(&name, call) } else { account.progress() };
        };
        let is_known = self.open.end(&id).is_some();
        if !is_known && self.open.is_full() {
            return account.progress();
        }
        if !is_known {
            account.tool_call(&name, call);
        }
        account.tool_result(result(id, item));
    }
}

fn described(kind: &str, item: &RawValue) -> (String, ToolCallDetail) {
    let [id, server, tool, changes] = members(Some(item), ["id", "server", "tool", "changes"]);
    if kind == "mcp_tool_call" {
        let name = format!("{}.{}", text(server).unwrap_or_default(), text(tool).unwrap_or_default());
        return (name, ToolCallDetail { id: some_text(id), ..ToolCallDetail::default() });
    }
    // The item itself has the members that other clients put into the input of a tool.
    let mut call = ToolCallDetail::of(CODEX, kind, id, Some(item));
    if kind == "command_execution" {
        // The command line is read again in full, because the call has only the beginning of a long one.
        let command = text(member(Some(item), "command"));
        call.targets = command.map(|line| inner_command(&line)).filter(|line| !line.is_empty()).into_iter().collect();
    }
    if kind == "file_change" {
        let changes = elements(changes);
        let added = |change: &&RawValue| text(member(Some(change), "kind")).as_deref() == Some("add");
        if !changes.is_empty() && changes.iter().all(added) {
            call.kind = ToolCallKind::Write;
        }
        call.targets = changes.iter().filter_map(|change| some_text(member(Some(change), "path"))).collect();
    }
    (kind.to_owned(), call.bounded())
}

fn result(id: String, item: &RawValue) -> ToolCallResult {
    let [status, exit_code, output, returned, error] =
        members(Some(item), ["status", "exit_code", "aggregated_output", "result", "error"]);
    let exit_code: Option<i32> = value(exit_code);
    let ok = match (exit_code, text(status).as_deref()) {
        (Some(code), _) => Some(code == 0),
        (None, Some("completed")) => Some(true),
        (None, Some("failed" | "declined")) => Some(false),
        (None, Some(_) | None) => None,
    };
    let text = [output, member(error, "message"), member(returned, "content")]
        .into_iter()
        .map(|part| result_text(part, RESULT_BYTES_MAX))
        .find(|text| !text.is_empty());
    ToolCallResult { id: Some(id), ok, exit_code, text: text.unwrap_or_default(), ..ToolCallResult::default() }
}
