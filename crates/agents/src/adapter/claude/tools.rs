//! Reads the tool calls and the tool results in the event stream of Claude Code.

use serde_json::value::RawValue;

use super::super::account::Account;
use super::super::raw::{elements, is_true, member, members, result_text, some_text, text, time_ms, value};
use super::super::tool::{
    CLAUDE, LineChange, OpenCall, OpenCalls, RESULT_BYTES_MAX, ToolCallDetail, ToolCallKind, ToolCallResult, lines,
};
use super::events::ClaudeLine;

/// A reader of tool calls. It remembers the calls that have no result yet.
#[derive(Debug, Default)]
pub(super) struct ClaudeTools {
    open: OpenCalls,
}

impl ClaudeTools {
    /// Records a block of the kind `tool_use` in a line that the model wrote.
    pub(super) fn called(&mut self, block: &RawValue, line: &ClaudeLine, account: &mut Account) {
        let [name, id, input] = members(Some(block), ["name", "id", "input"]);
        let Some(name) = text(name) else { return account.progress() };
        let call = ToolCallDetail::of(CLAUDE, &name, id, input);
        if let Some(id) = &call.id {
            let at = time_ms(line.timestamp.as_deref());
            self.open.begin(id, OpenCall { kind: call.kind, at, is_background: false });
        }
        // A line of a sub-agent names the tool call with which the sub-agent was started.
        if line.parent_tool_use_id.is_some() {
            account.inner_tool_call(&name, call);
        } else {
            account.tool_call(&name, call);
        }
    }

    /// Records the tool results in a line of the kind `user`.
    pub(super) fn returned(&mut self, line: &ClaudeLine, account: &mut Account) {
        let blocks = elements(member(line.message.as_deref(), "content"));
        let is_result = |block: &&&RawValue| text(member(Some(block), "type")).as_deref() == Some("tool_result");
        let results: Vec<&RawValue> = blocks.iter().filter(is_result).copied().collect();
        if results.is_empty() {
            account.progress();
        }
        // The structured result belongs to the whole line, so it is only clear in a line with one result.
        let structured = line.tool_use_result.as_deref().filter(|_| results.len() == 1);
        for block in results {
            self.result(block, structured, time_ms(line.timestamp.as_deref()), account);
        }
    }

    fn result(&mut self, block: &RawValue, structured: Option<&RawValue>, at: Option<i64>, account: &mut Account) {
        let [id, content, is_error] = members(Some(block), ["tool_use_id", "content", "is_error"]);
        let Some(id) = some_text(id) else { return account.progress() };
        let is_error = is_true(is_error);
        if runs_on(structured)
            && !is_error
            && let Some(call) = self.open.get_mut(&id)
        {
            call.is_background = true;
            return account.progress();
        }
        let call = self.open.end(&id).unwrap_or_default();
        let text = result_text(content, RESULT_BYTES_MAX);
        let exit_code = if call.kind == ToolCallKind::Run { exit_code(&text, is_error, structured) } else { None };
        let lines = changed_lines(structured);
        account.tool_result(ToolCallResult {
            id: Some(id),
            ok: Some(!is_error),
            exit_code,
            ms: call.ms(at),
            lines,
            text,
        });
    }

    /// Records the end of a command that ran in the background. The line has the result only as words, such as
    /// `Background command "build" completed (exit code 0)`.
    pub(super) fn notified(&mut self, line: &ClaudeLine, account: &mut Account) {
        let id = some_text(line.tool_use_id.as_deref()).unwrap_or_default();
        // Sub-agents have such lines, too. The result of a sub-agent comes with the result of its tool call.
        if self.open.get_mut(&id).is_none_or(|call| !call.is_background) {
            return account.progress();
        }
        self.open.end(&id);
        let words = text(line.summary.as_deref()).unwrap_or_default();
        let exit_code = words.rsplit_once("(exit code ").and_then(|(_, code)| code.trim_end_matches(')').parse().ok());
        let is_failed = text(line.status.as_deref()).is_some_and(|status| status != "completed");
        let ok = if is_failed { Some(false) } else { exit_code.map(|code: i32| code == 0) };
        account.tool_result(ToolCallResult { id: Some(id), ok, exit_code, text: words, ..ToolCallResult::default() });
    }
}

/// Tells whether a command still runs in the background after its tool call ended.
pub(in super::super) fn runs_on(structured: Option<&RawValue>) -> bool {
    let [background, monitor] = members(structured, ["backgroundTaskId", "taskId"]);
    some_text(background.or(monitor)).is_some()
}

/// Returns the exit code of a command. Claude Code prints a code other than 0 in the text of an error. For programs like
/// `grep`, whose code 1 is no error, it prints an interpretation and no code.
pub(in super::super) fn exit_code(text: &str, is_error: bool, structured: Option<&RawValue>) -> Option<i32> {
    if is_error {
        let code = text.strip_prefix("Exit code ")?;
        return code[..code.find(|letter: char| !letter.is_ascii_digit()).unwrap_or(code.len())].parse().ok();
    }
    let [stdout, interrupted, meaning] = members(structured, ["stdout", "interrupted", "returnCodeInterpretation"]);
    (stdout.is_some() && !is_true(interrupted) && some_text(meaning).is_none()).then_some(0)
}

/// Counts the lines that were changed, from the patch in the structured result of an edit.
fn changed_lines(structured: Option<&RawValue>) -> Option<LineChange> {
    let [patch, kind, content] = members(structured, ["structuredPatch", "type", "content"]);
    let hunks = elements(patch);
    if hunks.is_empty() {
        let is_new = patch.is_some() && text(kind).as_deref() == Some("create");
        return if is_new { text(content).map(|text| lines::of_new_file(&text)) } else { None };
    }
    let mut sum = LineChange::default();
    for hunk in hunks {
        for line in value::<Vec<String>>(member(Some(hunk), "lines"))? {
            match line.bytes().next() {
                Some(b'+') => sum.added = sum.added.saturating_add(1),
                Some(b'-') => sum.removed = sum.removed.saturating_add(1),
                Some(_) | None => {}
            }
        }
    }
    Some(sum)
}
