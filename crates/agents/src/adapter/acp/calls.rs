//! Follows the tool calls in a conversation over the Agent Client Protocol (ACP). An agent tells about one call in
//! several messages, and each of them has only some facts:
//!
//! ```text
//! announced ─> input known ─> permission asked ─> output … ─> completed or failed
//!              reported here, or with the next message that shows that the tool runs
//! ```

use std::collections::HashSet;

use serde_json::value::RawValue;

use super::super::account::Account;
use super::super::claude;
use super::super::raw::{elements, is_true, member, members, result_text, some_text, text, value};
use super::super::stream::head;
use super::super::tool::{
    ACP, CLAUDE, CODEX, GEMINI, LineChange, NAME_BYTES_MAX, OPENCODE, RESULT_BYTES_MAX, ToolCallDetail, ToolCallKind,
    ToolCallResult, ToolRow, address, input_lines, lines, row, targets,
};

/// The largest number of tool calls whose ids are remembered. After that many calls, an update of a call
/// (`tool_call_update`) is not counted, because its call may have been counted before. The announcement of a call
/// (`tool_call`) is still counted.
const CALLS_MAX: usize = 4096;
/// The largest number of calls without a result whose facts are collected. A call beyond it is reported at once, with
/// the facts in its first message.
const OPEN_MAX: usize = 256;

/// The kinds of messages about a tool call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum AcpCallNews {
    Announced,
    Updated,
    PermissionAsked,
}

#[derive(Debug, Default)]
pub(super) struct AcpCalls {
    seen: HashSet<String>,
    /// The calls without a result, in the order of their first messages.
    open: Vec<AcpCall>,
}

/// The facts about one call that its messages have shown so far.
#[derive(Debug, Default)]
struct AcpCall {
    tool: Option<String>,
    /// The title in the first message about the call. Some agents put the tool's name there.
    title: Option<String>,
    /// The kind of the call in the words of the protocol.
    stated: Option<&'static ToolRow>,
    is_mcp: bool,
    has_input: bool,
    call: ToolCallDetail,
    is_reported: bool,
    output: String,
    exit_code: Option<i32>,
    ok: Option<bool>,
    runs_on: bool,
}

impl AcpCalls {
    /// Records one message about a tool call. Counts each call once, with the first message about it.
    pub(super) fn hear(&mut self, message: Option<&RawValue>, news: AcpCallNews, account: &mut Account) {
        let [id, status] = members(message, ["toolCallId", "status"]);
        let status = text(status).unwrap_or_default();
        // A call without an id cannot be found again, so each announcement of such a call counts.
        let id = some_text(id).map(|id| head(&id, NAME_BYTES_MAX).to_owned());
        let id = id.filter(|id| self.seen.contains(id) || self.seen.len() < CALLS_MAX);
        let is_first = id.as_ref().map_or(news == AcpCallNews::Announced, |id| self.seen.insert(id.clone()));
        if is_first {
            account.count_call();
        }
        let known = if is_first { None } else { self.open.iter().position(|open| id.is_some() && open.call.id == id) };
        let mut call = match known {
            Some(at) => self.open.remove(at),
            None if is_first => AcpCall::new(id),
            None => return account.progress(),
        };
        call.learn(message);
        let has_ended = ["completed", "failed"].contains(&status.as_str());
        let is_kept = !has_ended && call.call.id.is_some() && self.open.len() < OPEN_MAX;
        if !is_kept || news == AcpCallNews::PermissionAsked || status == "in_progress" || call.is_clear() {
            call.report(account);
        }
        if has_ended && let Some(result) = call.result(status == "failed", message) {
            account.tool_result(result);
        }
        if is_kept {
            self.open.insert(known.unwrap_or(self.open.len()), call);
        }
        account.progress();
    }

    /// Reports the calls that wait for their input. The caller calls this function when the agent continues with
    /// something else, because then the input does not come any more.
    pub(super) fn flush(&mut self, account: &mut Account) {
        self.open.iter_mut().for_each(|call| call.report(account));
    }
}

impl AcpCall {
    fn new(id: Option<String>) -> Self {
        Self { call: ToolCallDetail { id, ..ToolCallDetail::default() }, ..Self::default() }
    }

    fn learn(&mut self, message: Option<&RawValue>) {
        let [name, title, kind, input] = members(message, ["name", "title", "kind", "rawInput"]);
        let [content, locations, output, meta] = members(message, ["content", "locations", "rawOutput", "_meta"]);
        let bounded = |text: String| head(&text, NAME_BYTES_MAX).to_owned();
        let own = member(member(meta, "claudeCode"), "toolName");
        let own = own.or_else(|| member(member(member(meta, "goose"), "toolCall"), "toolName"));
        let tool = || some_text(name.or(own)).or_else(|| gemini_tool(self.call.id.as_deref()?)).map(bounded);
        self.tool = self.tool.take().or_else(tool);
        self.title = self.title.take().or_else(|| some_text(title).map(bounded));
        self.stated = text(kind).and_then(|kind| row(ACP, &kind)).or(self.stated);
        self.is_mcp |= is_true(member(meta, "is_mcp_tool_call"));
        self.has_input |= input.is_some();
        let diffs = diffs(content);
        let (kind, targets) = self.target(title, input, &diffs, locations);
        if !targets.is_empty() || self.call.targets.is_empty() {
            (self.call.kind, self.call.targets) = (kind, targets);
            // The call is cut before it is kept, because its input can have the size of the longest line.
            self.call = std::mem::take(&mut self.call).bounded();
        }
        if self.call.kind.has_lines() {
            let of_diffs = diffs.iter().map(AcpDiff::lines).reduce(|sum, lines| Some(sum?.and(lines?))).flatten();
            self.call.lines = of_diffs.or_else(|| input_lines(input)).or(self.call.lines);
        }
        self.learn_result(output, meta);
    }

    fn learn_result(&mut self, output: Option<&RawValue>, meta: Option<&RawValue>) {
        let [delta, exit, client] = members(meta, ["terminal_output_delta", "terminal_exit", "claudeCode"]);
        let more = text(member(delta, "data")).unwrap_or_default();
        self.output.push_str(head(&more, RESULT_BYTES_MAX.saturating_sub(self.output.len())));
        let codes =
            [member(output, "exit_code"), member(member(output, "metadata"), "exit"), member(exit, "exit_code")];
        if let Some(code) = codes.into_iter().find_map(value) {
            self.exit_code = Some(code);
        }
        // Claude Code shows the result of a command in the form of its own event stream.
        if let Some(response) = member(client, "toolResponse") {
            self.runs_on = claude::runs_on(Some(response));
            if self.call.kind == ToolCallKind::Run && member(Some(response), "stdout").is_some() {
                self.ok = Some(true);
                self.exit_code = claude::exit_code("", false, Some(response));
            }
        }
    }

    /// Returns the kind and the targets of the call, from the facts that are known now.
    fn target(
        &self,
        title: Option<&RawValue>,
        input: Option<&RawValue>,
        diffs: &[AcpDiff],
        locations: Option<&RawValue>,
    ) -> (ToolCallKind, Vec<String>) {
        if self.is_mcp {
            return (ToolCallKind::Other, Vec::new());
        }
        let name = self.tool.as_deref().or(self.title.as_deref()).unwrap_or_default();
        let named = [CLAUDE, OPENCODE, GEMINI, CODEX].into_iter().find_map(|table| row(table, name));
        for row in [named, self.stated].into_iter().flatten() {
            let found = targets(row.keys, input);
            if !found.is_empty() {
                return (row.kind, found);
            }
        }
        let stated = self.stated.map(|row| row.kind).unwrap_or_default();
        let kind = named.map_or(stated, |row| row.kind);
        // A title can be a command or a pattern, but only for agents that do not show the input of a tool.
        let title = || some_text(title).filter(|_| !self.has_input);
        let found = match stated {
            ToolCallKind::Run => title(),
            ToolCallKind::Search => title().map(|title| title.trim_matches('\'').to_owned()),
            ToolCallKind::Fetch => title().and_then(|title| address(&title)),
            ToolCallKind::Edit | ToolCallKind::Write | ToolCallKind::Read => {
                let files = files(diffs, locations);
                // Codex states that a command like `cat` reads a file, so the stated kind counts for a command.
                let kind = if kind == ToolCallKind::Run && !files.is_empty() { stated } else { kind };
                let are_new = !diffs.is_empty() && diffs.iter().all(|diff| diff.is_new);
                return (if are_new && kind == ToolCallKind::Edit { ToolCallKind::Write } else { kind }, files);
            }
            ToolCallKind::Other => None,
        };
        (kind, found.into_iter().collect())
    }

    /// Tells whether the call can be reported, because its target is known, or because its kind has no target.
    fn is_clear(&self) -> bool {
        self.call.kind == ToolCallKind::Other || !self.call.targets.is_empty()
    }

    fn report(&mut self, account: &mut Account) {
        if !self.is_reported {
            self.is_reported = true;
            let name = self.tool.as_deref().or(self.title.as_deref()).unwrap_or("a tool");
            account.report_call(name, self.call.clone());
        }
    }

    /// Returns the result of the call. Returns None when its command still runs in the background, and for a call
    /// without an id.
    fn result(&self, is_failed: bool, message: Option<&RawValue>) -> Option<ToolCallResult> {
        if self.runs_on && !is_failed {
            return None;
        }
        let text = self.result_text(message);
        let is_run = self.call.kind == ToolCallKind::Run;
        let exit_code = self.exit_code.filter(|_| is_run);
        let exit_code = exit_code.or_else(|| if is_run { claude::exit_code(&text, is_failed, None) } else { None });
        let ok = match (is_failed, exit_code) {
            (true, _) => Some(false),
            (false, Some(code)) => Some(code == 0),
            // Some agents report a command as completed even if it failed.
            (false, None) if is_run => self.ok,
            (false, None) => Some(true),
        };
        let lines = self.call.lines.filter(|_| ok == Some(true));
        self.call.id.clone().map(|id| ToolCallResult { id: Some(id), ok, exit_code, ms: None, lines, text })
    }

    fn result_text(&self, message: Option<&RawValue>) -> String {
        let [content, output] = members(message, ["content", "rawOutput"]);
        let [inner, error, its_content, result] = members(output, ["output", "error", "content", "result"]);
        let places = [output, inner, error, its_content, member(result, "content"), content];
        let found = places.into_iter().map(|place| result_text(place, RESULT_BYTES_MAX)).find(|text| !text.is_empty());
        found.unwrap_or_else(|| self.output.clone())
    }
}

/// Returns the tool's name in the id of a call. Gemini puts the name only there, as in `read_file__12`.
fn gemini_tool(id: &str) -> Option<String> {
    let (name, _) = id.split_once("__")?;
    (row(GEMINI, name).is_some() || name.starts_with("mcp_")).then(|| name.to_owned())
}

/// The change of one file, as a message about an edit shows it.
#[derive(Debug)]
struct AcpDiff {
    path: Option<String>,
    is_new: bool,
    old: String,
    new: String,
}

impl AcpDiff {
    fn lines(&self) -> Option<LineChange> {
        lines::between(&self.old, &self.new)
    }
}

/// Returns the files that a call reads or changes: those of its changes, or those that the agent names as its places.
fn files(diffs: &[AcpDiff], locations: Option<&RawValue>) -> Vec<String> {
    let changed: Vec<String> = diffs.iter().filter_map(|diff| diff.path.clone()).collect();
    if !changed.is_empty() {
        return changed;
    }
    elements(locations).into_iter().filter_map(|place| some_text(member(Some(place), "path"))).collect()
}

fn diffs(content: Option<&RawValue>) -> Vec<AcpDiff> {
    let blocks = elements(content).into_iter();
    let diff = |block: &RawValue| {
        let [kind, path, old, new, meta] = members(Some(block), ["type", "path", "oldText", "newText", "_meta"]);
        let old = text(old);
        let is_new = old.is_none() || text(member(meta, "kind")).as_deref() == Some("add");
        (text(kind).as_deref() == Some("diff")).then(|| AcpDiff {
            path: some_text(path),
            is_new,
            old: old.unwrap_or_default(),
            new: text(new).unwrap_or_default(),
        })
    };
    blocks.filter_map(diff).collect()
}

#[cfg(test)]
mod tests {
    use super::super::super::said::AgentEnd;
    use super::*;

    #[test]
    fn calls_without_an_id_count_once_for_each_announcement() {
        use AcpCallNews::{Announced, Updated};
        let (mut calls, mut account) = (AcpCalls::default(), Account::default());
        // Each row is one message about a tool call: the id of the call, and the kind of the message.
        let messages = [
            (r#"{"toolCallId": "a"}"#, Announced),
            (r#"{"toolCallId": "a"}"#, Updated),
            (r#"{"toolCallId": "b"}"#, Updated),
            ("{}", Announced),
            ("{}", Updated),
            (r#"{"toolCallId": ""}"#, Announced),
            (r#"{"toolCallId": 7}"#, Announced),
        ];
        for (message, news) in messages {
            let message: Box<RawValue> = serde_json::from_str(message).unwrap();
            calls.hear(Some(&message), news, &mut account);
        }
        assert_eq!(account.said(AgentEnd::Finished).tool_calls, 5);
    }
}
