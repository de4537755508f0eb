//! Tools of clients: which of them run a command or write files.

use std::path::{Path, PathBuf};

use wire::json::Value;

use super::command::home;
use super::{Call, patch, program};

/// What a call does, as far as gates are concerned.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Act {
    /// A text for a shell, and the folder it runs in.
    Text(String, PathBuf),
    /// Words that are started without a shell.
    Words(Vec<String>, PathBuf),
    Writes(Vec<String>, PathBuf),
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

/// Words in the names of tools that change files.
const WRITING_WORDS: &[&str] =
    &["write", "edit", "delete", "remove", "move", "rename", "create", "replace", "insert", "patch", "save", "mkdir"];
/// Tools whose paths are only read, whatever else is in their input.
const READERS: &[&str] = &["Read", "read", "read_file", "view", "Grep", "grep", "Glob", "glob", "LS", "ls", "list_dir"];

/// Fields that hold a command, whatever the tool.
pub(crate) const COMMAND_FIELDS: &[&str] =
    &["command", "cmd", "script", "commands", "shell_command", "command_line", "commandLine", "cmdline", "bash"];
const WORD_FIELDS: &[&str] = &["args", "arguments", "argv"];
const PATH_FIELDS: &[&str] = &[
    "file_path",
    "notebook_path",
    "filePath",
    "filepath",
    "path",
    "absolute_path",
    "absolutePath",
    "target_file",
    "targetFile",
    "file",
    "filename",
    "fileName",
    "file_name",
    "files",
    "paths",
    "file_paths",
    "filePaths",
    "new_path",
    "newPath",
    "old_path",
    "oldPath",
    "target_path",
    "targetPath",
    "output_path",
    "outputPath",
    "destination",
    "dest",
    "source",
    "source_path",
    "target",
    "to",
    "from",
];
const PATCH_FIELDS: &[&str] = &["input", "patch", "command", "patchText", "patch_text", "diff"];
const FOLDER_FIELDS: &[&str] = &["workdir", "cwd", "working_directory", "workingDirectory", "dir_path", "directory"];
const VARIABLE_FIELDS: &[&str] = &["env", "environment", "envs"];
/// A field that only a tool which writes has.
const TEXT_FIELDS: &[&str] = &[
    "content",
    "contents",
    "new_string",
    "new_str",
    "new_source",
    "newString",
    "newText",
    "edits",
    "file_text",
    "replacement",
];
/// Objects in objects that are looked into.
const DEPTH_MAX: usize = 8;

/// Everything that a call runs and writes: all fields that look like commands or paths, not the first of them.
pub(super) fn acts(call: &Call<'_>) -> Vec<Act> {
    // Tools of MCP servers are the server's to judge, and ours are among them.
    if call.tool.starts_with("mcp__") {
        return Vec::new();
    }
    if UNSEEN.contains(&call.tool) {
        return vec![Act::Unseen(format!("the tool {} is not looked into", call.tool))];
    }
    let mut found = Vec::new();
    let objects = objects(call.input);
    if PATCHES.contains(&call.tool) {
        found.extend(patched(call));
    } else {
        for object in &objects {
            commands(call, object, &mut found);
        }
    }
    let ran = !found.is_empty();
    if SHELLS.contains(&call.tool) && !ran {
        return vec![unreadable(call)];
    }
    let known = WRITERS.contains(&call.tool);
    let name = call.tool.to_lowercase();
    let written = known
        || !ran
            && !READERS.contains(&call.tool)
            && !PATCHES.contains(&call.tool)
            && (WRITING_WORDS.iter().any(|word| name.contains(word))
                || objects.iter().any(|object| TEXT_FIELDS.iter().any(|field| object.get(field).is_some())));
    if written || (ran && !SHELLS.contains(&call.tool) && !PATCHES.contains(&call.tool)) {
        let paths: Vec<String> = objects.iter().flat_map(|object| paths(object)).collect();
        if paths.is_empty() && known {
            return vec![unreadable(call)];
        }
        if !paths.is_empty() && written {
            found.push(Act::Writes(paths, call.directory.to_owned()));
        }
    }
    found
}

/// The input and every object in it.
fn objects(input: &Value) -> Vec<&Value> {
    let (mut found, mut open) = (Vec::new(), vec![(input, 0)]);
    while let Some((value, depth)) = open.pop() {
        match value {
            Value::Object(fields) => {
                found.push(value);
                if depth < DEPTH_MAX {
                    open.extend(fields.iter().map(|(_, value)| (value, depth + 1)));
                }
            }
            Value::List(values) if depth < DEPTH_MAX => open.extend(values.iter().map(|value| (value, depth + 1))),
            Value::List(_) | Value::Null | Value::Bool(_) | Value::Number(_) | Value::Text(_) => {}
        }
    }
    found
}

fn unreadable(call: &Call<'_>) -> Act {
    Act::Unseen(format!("the input of {} names no command and no path where they are expected", call.tool))
}

fn folder(call: &Call<'_>, object: &Value) -> PathBuf {
    let named = FOLDER_FIELDS.iter().find_map(|field| object.get(field)?.as_text());
    named.map_or_else(|| call.directory.to_owned(), |named| call.directory.join(named))
}

fn commands(call: &Call<'_>, object: &Value, found: &mut Vec<Act>) {
    let here = || folder(call, object);
    for (name, field) in COMMAND_FIELDS.iter().filter_map(|name| Some((*name, object.get(name)?))) {
        match field {
            Value::Text(text) => {
                found.push(Act::Text(text.clone(), here()));
                let more = WORD_FIELDS.iter().filter_map(|field| object.get(field)?.as_list());
                for words in more {
                    let words: Vec<String> =
                        words.iter().map(|word| word.as_text().unwrap_or("*").to_owned()).collect();
                    let program = text.split_whitespace().map(str::to_owned);
                    found.push(Act::Words(program.chain(words).collect(), here()));
                }
            }
            Value::List(words) => {
                found.extend(listed(words, &here()));
                let texts = words.iter().filter(|_| name == "commands").filter_map(Value::as_text);
                found.extend(texts.map(|text| Act::Text(text.to_owned(), here())));
            }
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::Object(_) if SHELLS.contains(&call.tool) => {
                found.push(unreadable(call));
            }
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::Object(_) => {}
        }
    }
    if found.is_empty() {
        return;
    }
    for field in VARIABLE_FIELDS.iter().filter_map(|field| object.get(field)) {
        if let Value::Object(variables) = field
            && let Some((name, _)) = variables.iter().find(|(name, _)| program::changes_programs(name))
        {
            found.push(Act::Unseen(format!("the variable {name}, which changes what programs do")));
        }
    }
}

/// A list is the words of one command, or several commands.
fn listed(words: &[Value], folder: &Path) -> Vec<Act> {
    let texts: Option<Vec<String>> = words.iter().map(|word| word.as_text().map(str::to_owned)).collect();
    match texts.as_deref() {
        Some([program, text]) if program == "apply_patch" => vec![of_patch(text, folder.to_owned())],
        Some([program, ..]) if program == "apply_patch" => {
            vec![Act::Unseen("a patch whose paths cannot be read".to_owned())]
        }
        Some(words) if !words.is_empty() => {
            let mut found = vec![Act::Words(words.to_vec(), folder.to_owned())];
            // A first word with a blank in it is no program.
            if words.first().is_some_and(|word| word.contains(' ')) {
                found.extend(words.iter().map(|text| Act::Text(text.clone(), folder.to_owned())));
            }
            found
        }
        Some(_) | None => vec![Act::Unseen("a command that is no list of words".to_owned())],
    }
}

fn paths(object: &Value) -> Vec<String> {
    let mut paths: Vec<String> = Vec::new();
    for field in PATH_FIELDS.iter().filter_map(|field| object.get(field)) {
        match field {
            Value::Text(text) => paths.push(text.clone()),
            Value::List(texts) => paths.extend(texts.iter().filter_map(|text| text.as_text().map(str::to_owned))),
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::Object(_) => {}
        }
    }
    // Some clients expand it, and some do not.
    let expanded = |path: &String| path.strip_prefix("~/").zip(home()).map(|(rest, home)| format!("{home}/{rest}"));
    let at_home: Vec<String> = paths.iter().filter_map(expanded).collect();
    paths.extend(at_home);
    paths
}

fn patched(call: &Call<'_>) -> Vec<Act> {
    let field = |field: &&str| match call.input.get(field)? {
        Value::Text(text) => Some(text.as_str()),
        Value::List(words) => words.last()?.as_text(),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Object(_) => None,
    };
    let here = folder(call, call.input);
    let texts: Vec<&str> = call.input.as_text().into_iter().chain(PATCH_FIELDS.iter().filter_map(field)).collect();
    if texts.is_empty() {
        return vec![unreadable(call)];
    }
    texts.iter().map(|text| of_patch(text, here.clone())).collect()
}

fn of_patch(text: &str, folder: PathBuf) -> Act {
    match patch::paths(text) {
        Ok(paths) => Act::Writes(paths, folder),
        Err(problem) => Act::Unseen(format!("a patch whose paths cannot be read for sure: {problem}")),
    }
}
