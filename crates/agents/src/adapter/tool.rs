//! Describes the tool calls of an agent's program: the action, its target and its result, as the program's event
//! stream shows them.
//!
//! ```text
//! name and input ── table ─> ToolCallDetail   when the tool starts
//! output         ──────────> ToolCallResult   when the tool has ended, with the id of its call
//! both           ── title ─> one line, such as `edit src/api.js +12 −3`
//! ```

pub(super) mod lines;
mod open;
mod table;
mod title;

use serde_json::value::RawValue;

use super::raw::{elements, is_true, member, members, some_text, text};
use super::stream::head;

pub(super) use open::{OpenCall, OpenCalls};
pub(super) use table::{ACP, CLAUDE, CODEX, GEMINI, OPENCODE, ToolRow, row};
pub use title::tool_title;

/// The longest name of a tool and the longest id of a call that are kept, in bytes.
pub(super) const NAME_BYTES_MAX: usize = 200;
/// The longest target of a call that is kept, in bytes. It has room for long paths and for most commands.
const TARGET_BYTES_MAX: usize = 512;
/// The largest number of targets of one call that are kept. Only a change of many files has more.
const TARGETS_MAX: usize = 16;
/// The longest beginning of a result that is kept, in bytes. It has room for the first errors of a failed command.
pub(super) const RESULT_BYTES_MAX: usize = 4 << 10;

/// The kind of action that a tool call is. The table of each client derives it from the tool's name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum ToolCallKind {
    /// Runs a command.
    Run,
    /// Changes, moves or deletes files.
    Edit,
    /// Writes a whole file.
    Write,
    /// Reads a file, or lists a folder.
    Read,
    /// Searches files or the web.
    Search,
    /// Gets a page from the web.
    Fetch,
    /// Any other tool, such as a tool of an MCP server, or a tool that no table has.
    #[default]
    Other,
}

impl ToolCallKind {
    /// Returns the verb with which the title of a call begins.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Run => "run",
            Self::Edit => "edit",
            Self::Write => "write",
            Self::Read => "read",
            Self::Search => "search",
            Self::Fetch => "fetch",
            Self::Other => "other",
        }
    }

    pub(super) fn has_lines(self) -> bool {
        match self {
            Self::Edit | Self::Write => true,
            Self::Run | Self::Read | Self::Search | Self::Fetch | Self::Other => false,
        }
    }
}

/// The numbers of lines that a change of files adds and removes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct LineChange {
    pub added: u32,
    pub removed: u32,
}

impl LineChange {
    fn new(added: usize, removed: usize) -> Self {
        let count = |lines: usize| u32::try_from(lines).unwrap_or(u32::MAX);
        Self { added: count(added), removed: count(removed) }
    }

    pub(super) fn and(self, other: Self) -> Self {
        Self { added: self.added.saturating_add(other.added), removed: self.removed.saturating_add(other.removed) }
    }
}

/// One call of a tool, as the event stream of the agent's program shows it when the tool starts.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ToolCallDetail {
    /// The id of the call in the event stream. The result of the call has the same id.
    pub id: Option<String>,
    pub kind: ToolCallKind,
    /// The object of the action: the command line for `Run`, the path for `Edit`, `Write` and `Read`, the pattern for
    /// `Search`, the address for `Fetch`. Only a change of files can have several targets. Empty when the stream does
    /// not show the target.
    pub targets: Vec<String>,
    /// The lines that an edit adds and removes, if the input of the tool shows them. The result can correct them.
    pub lines: Option<LineChange>,
}

/// The result of one tool call, as the event stream of the agent's program shows it.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ToolCallResult {
    /// The id of the call that this is the result of.
    pub id: Option<String>,
    /// True when the tool succeeded. None when the stream does not show it: some clients report a command as successful
    /// even if it failed.
    pub ok: Option<bool>,
    /// The exit code of a command.
    pub exit_code: Option<i32>,
    /// The duration of the call, if the stream has the times of its start and end.
    pub ms: Option<u64>,
    /// The lines that were really added and removed, if the result shows them.
    pub lines: Option<LineChange>,
    /// The beginning of the tool's output, or the reason of its failure.
    pub text: String,
}

impl ToolCallDetail {
    /// Describes a call by the name and the input of its tool, with the table of the client. A tool that is not in the
    /// table has the kind `Other` and no target.
    pub(super) fn of(table: &[ToolRow], name: &str, id: Option<&RawValue>, input: Option<&RawValue>) -> Self {
        let row = row(table, name);
        let kind = row.map_or(ToolCallKind::Other, |row| row.kind);
        let targets = row.map_or_else(Vec::new, |row| targets(row.keys, input));
        let lines = if kind.has_lines() { input_lines(input) } else { None };
        Self { id: some_text(id), kind, targets, lines }.bounded()
    }

    /// Cuts every text to its limit.
    pub(super) fn bounded(mut self) -> Self {
        self.id = self.id.map(|id| head(&id, NAME_BYTES_MAX).to_owned());
        self.targets.truncate(TARGETS_MAX);
        for target in &mut self.targets {
            target.truncate(head(target, TARGET_BYTES_MAX).len());
        }
        self
    }
}

impl ToolCallResult {
    /// Cuts every text to its limit.
    pub(super) fn bounded(mut self) -> Self {
        self.id = self.id.map(|id| head(&id, NAME_BYTES_MAX).to_owned());
        self.text.truncate(head(&self.text, RESULT_BYTES_MAX).len());
        self
    }
}

/// Returns the targets in the input of a tool: the first of these members that has a text, or a list of texts. A target
/// in the member `patchText` or `prompt` is searched for in the text.
pub(super) fn targets(keys: &[&str], input: Option<&RawValue>) -> Vec<String> {
    for key in keys {
        let value = member(input, key);
        if let Some(text) = some_text(value) {
            let found: Vec<String> = match *key {
                "patchText" => lines::patch_paths(&text).take(TARGETS_MAX).map(str::to_owned).collect(),
                "prompt" => address(&text).into_iter().collect(),
                _ => vec![text],
            };
            if !found.is_empty() {
                return found;
            }
        }
        let list: Vec<String> = elements(value).into_iter().filter_map(|part| some_text(Some(part))).collect();
        match (list.as_slice(), *key) {
            ([], _) => {}
            // A command in the form of a list usually has a shell before the command line.
            ([_, option, command], "command" | "cmd") if ["-c", "-lc"].contains(&option.as_str()) => {
                return vec![command.clone()];
            }
            (words, "command" | "cmd") => return vec![words.join(" ")],
            _ => return list,
        }
    }
    Vec::new()
}

/// Returns the first web address in a text.
pub(super) fn address(text: &str) -> Option<String> {
    let starts = ["https://", "http://"].iter().filter_map(|scheme| text.find(scheme));
    let found = &text[starts.min()?..];
    let end = found.find(|letter: char| letter.is_whitespace() || "\"'<>)]".contains(letter)).unwrap_or(found.len());
    Some(found[..end].trim_end_matches(['.', ',', ';', ':']).to_owned())
}

/// Counts the lines that an edit changes, from the input of its tool: the old and the new text, a list of such pairs, or
/// a patch. Returns None for an edit of all places that match, because the input does not show how many there are.
pub(super) fn input_lines(input: Option<&RawValue>) -> Option<LineChange> {
    let [old, new, all, edits, patch] =
        members(input, ["old_string", "new_string", "replace_all", "edits", "patchText"]);
    let [old_camel, new_camel, all_camel] = members(input, ["oldString", "newString", "replaceAll"]);
    if is_true(all) || is_true(all_camel) {
        return None;
    }
    if let Some(patch) = text(patch) {
        return lines::of_patch(&patch);
    }
    if let (Some(old), Some(new)) = (text(old.or(old_camel)), text(new.or(new_camel))) {
        return lines::between(&old, &new);
    }
    let edits = elements(edits);
    let mut sum = LineChange::default();
    for edit in &edits {
        // A list of edits inside of an edit has no meaning, and reading it could exhaust the stack.
        if member(Some(edit), "edits").is_some() {
            return None;
        }
        sum = sum.and(input_lines(Some(edit))?);
    }
    (!edits.is_empty()).then_some(sum)
}
