//! The tables of the tools that each client has: the tool's name, the kind of its calls, and the members of its input
//! that can have the target of a call. A tool that is not in the table is of the kind `Other`.

use super::ToolCallKind;
use super::ToolCallKind::{Edit, Fetch, Other, Read, Run, Search, Write};

/// One tool of a client.
#[derive(Debug)]
pub(in super::super) struct ToolRow {
    pub(in super::super) name: &'static str,
    pub(in super::super) kind: ToolCallKind,
    /// The members of the tool's input that can have the target. The first of them that is present counts.
    pub(in super::super) keys: &'static [&'static str],
}

const fn tool(name: &'static str, kind: ToolCallKind, keys: &'static [&'static str]) -> ToolRow {
    ToolRow { name, kind, keys }
}

/// The tools of Claude Code. Versions before 2.1 have `Glob`, `Grep`, `LS` and `MultiEdit`, too.
pub(in super::super) const CLAUDE: &[ToolRow] = &[
    tool("Bash", Run, &["command"]),
    tool("PowerShell", Run, &["command"]),
    tool("Monitor", Run, &["command"]),
    tool("Edit", Edit, &["file_path"]),
    tool("MultiEdit", Edit, &["file_path"]),
    tool("NotebookEdit", Edit, &["notebook_path"]),
    tool("Write", Write, &["file_path"]),
    tool("Read", Read, &["file_path"]),
    tool("NotebookRead", Read, &["notebook_path"]),
    tool("LS", Read, &["path"]),
    tool("Glob", Search, &["pattern"]),
    tool("Grep", Search, &["pattern"]),
    tool("WebSearch", Search, &["query"]),
    tool("WebFetch", Fetch, &["url"]),
];

/// The items of Codex that are tool calls. The targets of `file_change` are in a list of changes, which its reader
/// knows. Over the Agent Client Protocol, `command_execution` is called `exec_command`.
pub(in super::super) const CODEX: &[ToolRow] = &[
    tool("command_execution", Run, &["command"]),
    tool("exec_command", Run, &["command", "cmd"]),
    tool("file_change", Edit, &[]),
    tool("web_search", Search, &["query"]),
];

pub(in super::super) const GEMINI: &[ToolRow] = &[
    tool("run_shell_command", Run, &["command"]),
    tool("replace", Edit, &["file_path"]),
    tool("write_file", Write, &["file_path"]),
    tool("read_file", Read, &["file_path", "absolute_path"]),
    tool("read_many_files", Read, &["include", "paths"]),
    tool("list_directory", Read, &["dir_path", "path"]),
    tool("glob", Search, &["pattern"]),
    tool("grep_search", Search, &["pattern"]),
    tool("search_file_content", Search, &["pattern"]),
    tool("google_web_search", Search, &["query"]),
    tool("web_fetch", Fetch, &["url", "prompt"]),
];

pub(in super::super) const OPENCODE: &[ToolRow] = &[
    tool("bash", Run, &["command"]),
    tool("edit", Edit, &["filePath"]),
    tool("multiedit", Edit, &["filePath"]),
    tool("apply_patch", Edit, &["patchText"]),
    tool("patch", Edit, &["patchText"]),
    tool("write", Write, &["filePath"]),
    tool("read", Read, &["filePath"]),
    tool("list", Read, &["path"]),
    tool("glob", Search, &["pattern"]),
    tool("grep", Search, &["pattern"]),
    tool("websearch", Search, &["query"]),
    tool("codesearch", Search, &["query"]),
    tool("webfetch", Fetch, &["url"]),
];

/// The kinds of tools in the Agent Client Protocol. An agent over this protocol can be any client, so the name of a
/// tool is searched for in the tables of all clients first.
pub(in super::super) const ACP: &[ToolRow] = &[
    tool("execute", Run, &["command", "cmd"]),
    tool("edit", Edit, PATHS),
    tool("delete", Edit, PATHS),
    tool("move", Edit, PATHS),
    tool("read", Read, PATHS),
    tool("search", Search, &["pattern", "query"]),
    tool("fetch", Fetch, &["url", "query"]),
    tool("think", Other, &[]),
    tool("switch_mode", Other, &[]),
];

const PATHS: &[&str] = &["file_path", "filePath", "path", "notebook_path"];

pub(in super::super) fn row<'t>(table: &'t [ToolRow], name: &str) -> Option<&'t ToolRow> {
    table.iter().find(|row| row.name == name)
}
