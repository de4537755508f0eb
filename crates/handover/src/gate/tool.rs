//! Tools of clients: which of them run a command or write files.

use std::path::PathBuf;

use wire::json::Value;

use super::command::home;
use super::{Call, patch};

/// What a call does, as far as gates are concerned.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Act {
    /// A text for a shell, and the folder it runs in.
    Text(String, PathBuf),
    /// Words that are started without a shell.
    Words(Vec<String>, PathBuf),
    Writes(Vec<String>, PathBuf),
    /// Neither a command nor a write.
    Neither,
    /// It runs or writes something that cannot be seen.
    Unseen(String),
}

/// Tools that run a command, by the names clients give them.
const SHELLS: &[&str] = &[
    "Bash",
    "bash",
    "shell",
    "local_shell",
    "local_shell_call",
    "shell_command",
    "exec_command",
    "container.exec",
    "unified_exec",
    "run_shell_command",
    "execute_command",
    "run_terminal_command",
    "Monitor",
];
/// Tools that write one file.
const WRITERS: &[&str] = &[
    "Write",
    "Edit",
    "MultiEdit",
    "NotebookEdit",
    "write",
    "edit",
    "multiedit",
    "patch",
    "write_file",
    "replace",
    "create_file",
    "str_replace",
    "str_replace_editor",
    "str_replace_based_edit_tool",
    "create",
    "insert",
];
/// Tools that apply a patch of several files.
const PATCHES: &[&str] = &["apply_patch"];
/// Tools that give text to something that runs already, or to a shell that is not read here.
const UNSEEN: &[&str] = &["write_stdin", "PowerShell", "powershell", "REPL"];

const COMMAND_FIELDS: &[&str] = &["command", "cmd", "script"];
const PATH_FIELDS: &[&str] = &["file_path", "notebook_path", "filePath", "path", "absolute_path", "target_file"];
const PATCH_FIELDS: &[&str] = &["input", "patch", "command", "patchText", "patch_text"];
const FOLDER_FIELDS: &[&str] = &["workdir", "cwd", "working_directory", "dir_path"];
/// A field that only a tool which writes has.
const TEXT_FIELDS: &[&str] = &["content", "new_string", "new_str", "new_source", "newString", "edits", "file_text"];

pub(super) fn act(call: &Call<'_>) -> Act {
    // Tools of MCP servers are the server's to judge, and ours are among them.
    if call.tool.starts_with("mcp__") {
        return Act::Neither;
    }
    if UNSEEN.contains(&call.tool) {
        return Act::Unseen(format!("the tool {} is not looked into", call.tool));
    }
    if PATCHES.contains(&call.tool) {
        return patched(call);
    }
    if SHELLS.contains(&call.tool) {
        return command(call).unwrap_or_else(|| unreadable(call));
    }
    if WRITERS.contains(&call.tool) {
        return written(call).unwrap_or_else(|| unreadable(call));
    }
    // A tool that is not known is taken for what its input looks like.
    if let Some(act) = command(call) {
        return act;
    }
    if TEXT_FIELDS.iter().any(|field| call.input.get(field).is_some())
        && let Some(act) = written(call)
    {
        return act;
    }
    Act::Neither
}

fn unreadable(call: &Call<'_>) -> Act {
    Act::Unseen(format!("the input of {} names no command and no path where they are expected", call.tool))
}

fn folder(call: &Call<'_>) -> PathBuf {
    let named = FOLDER_FIELDS.iter().find_map(|field| call.input.get(field)?.as_text());
    named.map_or_else(|| call.directory.to_owned(), |named| call.directory.join(named))
}

fn command(call: &Call<'_>) -> Option<Act> {
    let found = COMMAND_FIELDS.iter().find_map(|field| call.input.get(field))?;
    if let Some(text) = found.as_text() {
        return Some(Act::Text(text.to_owned(), folder(call)));
    }
    let words: Option<Vec<String>> = found.as_list()?.iter().map(|word| word.as_text().map(str::to_owned)).collect();
    match words {
        Some(words) if words.first().is_some_and(|word| word == "apply_patch") => match words.as_slice() {
            [_, text] => Some(of_patch(text, folder(call))),
            _ => Some(Act::Unseen("a patch whose paths cannot be read".to_owned())),
        },
        Some(words) if !words.is_empty() => Some(Act::Words(words, folder(call))),
        Some(_) | None => Some(Act::Unseen("a command that is no list of words".to_owned())),
    }
}

fn written(call: &Call<'_>) -> Option<Act> {
    let mut paths: Vec<String> =
        PATH_FIELDS.iter().filter_map(|field| call.input.get(field)?.as_text()).map(str::to_owned).collect();
    // Some clients expand it, and some do not.
    let expanded = |path: &String| path.strip_prefix("~/").zip(home()).map(|(rest, home)| format!("{home}/{rest}"));
    let at_home: Vec<String> = paths.iter().filter_map(expanded).collect();
    paths.extend(at_home);
    (!paths.is_empty()).then(|| Act::Writes(paths, call.directory.to_owned()))
}

fn patched(call: &Call<'_>) -> Act {
    let field = |field: &&str| match call.input.get(field)? {
        Value::Text(text) => Some(text.as_str()),
        Value::List(words) => words.last()?.as_text(),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Object(_) => None,
    };
    let text = call.input.as_text().or_else(|| PATCH_FIELDS.iter().find_map(field));
    text.map_or_else(|| unreadable(call), |text| of_patch(text, folder(call)))
}

fn of_patch(text: &str, folder: PathBuf) -> Act {
    match patch::paths(text) {
        Ok(paths) => Act::Writes(paths, folder),
        Err(problem) => Act::Unseen(format!("a patch whose paths cannot be read for sure: {problem}")),
    }
}
