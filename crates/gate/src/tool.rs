//! Finds the commands that a tool call runs and the files that it writes, by the tool's name and its input fields.

mod fields;
mod named;

use std::path::{Path, PathBuf};

use wire::json::Value;

use super::{GateCall, patch};
use crate::programs::options::base;
use crate::programs::{program, table};
use crate::spot::home;
pub use fields::COMMAND_FIELDS;
use fields::plain;

/// One effect of a tool call that the gate judges, such as a command that it runs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum GatedAct {
    /// A text that a shell runs, and the folder where it runs.
    Text(String, PathBuf),
    /// The words of a command that is started without a shell, and the folder where it runs.
    Words(Vec<String>, PathBuf),
    Writes(Vec<String>, PathBuf),
    /// A text that the tool may run as a command. Only gate rules that ask or deny apply to it, because it is not
    /// certain to be a command.
    Suspect(String, PathBuf),
    /// Paths that the tool reads or writes. It is not certain that the tool writes, so only gate rules that name one of
    /// the paths apply.
    MayWrite(Vec<String>, PathBuf),
    /// The words of the tool's own name, and perhaps a value of its input: `git push` for the tool `git_push`.
    Name(Vec<String>),
    /// The call runs or writes something that the gate cannot see.
    Unseen(String),
}

/// Tools that run a command, by the names that clients give them.
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
/// Tools of clients that write one file.
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
/// Tools that apply a patch to several files. The names are written without capitals, underscores and hyphens, because
/// `plain` removes them from the tool's name.
const PATCHES: &[&str] = &["applypatch"];
/// Tools that send text to a process that already runs, or to a shell that the gate does not parse. They always need a
/// person's approval.
const UNSEEN: &[&str] = &["write_stdin", "PowerShell", "powershell", "REPL"];

/// Tools that only read the paths in their input, regardless of the other fields.
const READERS: &[&str] = &["Read", "read", "read_file", "view", "Grep", "grep", "Glob", "glob", "LS", "ls", "list_dir"];
/// The largest depth of objects within objects in the input of a tool. Deeper objects are ignored.
const DEPTH_MAX: usize = 8;

/// The prefix of the tools of Handover's own MCP server. Gates skip them, because the server itself checks their calls.
const OURS: &str = "mcp__handover__";

/// Returns everything that a tool call runs and writes. All input fields that look like commands or paths are read, not
/// only the first.
pub(super) fn acts(call: &GateCall<'_>) -> Vec<GatedAct> {
    if call.tool.starts_with(OURS) {
        return Vec::new();
    }
    if UNSEEN.contains(&call.tool) {
        return vec![GatedAct::Unseen(format!("the tool {} is not looked into", call.tool))];
    }
    let mut found = plainly(call);
    if READERS.contains(&call.tool) || found.iter().any(|act| matches!(act, GatedAct::Unseen(_))) {
        return found;
    }
    let runs = fields::RUNNING_WORDS.iter().any(|word| plain(call.tool).contains(word));
    if is_foreign(call.tool) && !runs {
        // A tool of another MCP server may use a field such as `command` for something else, such as a query. So only
        // gate rules that ask or deny apply to the text of the field.
        let milder = |act| match act {
            GatedAct::Text(text, folder) => GatedAct::Suspect(text, folder),
            other @ (GatedAct::Words(..)
            | GatedAct::Writes(..)
            | GatedAct::Suspect(..)
            | GatedAct::MayWrite(..)
            | GatedAct::Name(_)
            | GatedAct::Unseen(_)) => other,
        };
        found = found.into_iter().map(milder).collect();
    }
    let known = [SHELLS, WRITERS].iter().any(|tools| tools.contains(&call.tool))
        || PATCHES.contains(&plain(call.tool).as_str());
    if !known {
        found.extend(named::names(call.tool, call.input).into_iter().map(GatedAct::Name));
    }
    let texts = named::texts(call.input);
    let others = || texts.iter().filter(|(field, _)| !named::is_prose(field));
    let commands = others().filter(|(_, text)| text.trim().contains([' ', '\t', '\n', ';', '|', '&']));
    found.extend(commands.map(|(_, text)| GatedAct::Suspect((*text).to_owned(), call.directory.to_owned())));
    if found.iter().any(|act| matches!(act, GatedAct::Writes(..))) {
        let paths = others().filter(|(_, text)| !text.contains('\n')).map(|(_, text)| (*text).to_owned()).collect();
        found.push(GatedAct::MayWrite(paths, call.directory.to_owned()));
    }
    found
}

/// Tells whether a tool belongs to an MCP server and not to the client itself.
pub(super) fn is_foreign(tool: &str) -> bool {
    tool.starts_with("mcp__")
}

/// Returns the commands and writes in the input fields whose names say that they hold a command or a path.
fn plainly(call: &GateCall<'_>) -> Vec<GatedAct> {
    let name = plain(named::own_name(call.tool));
    let patches = PATCHES.contains(&name.as_str());
    let mut found = Vec::new();
    let objects = objects(call.input);
    if patches {
        found.extend(patched(call));
    } else {
        for object in &objects {
            commands(call, &name, object, &mut found);
        }
    }
    let ran = !found.is_empty();
    if SHELLS.contains(&call.tool) && !ran {
        return vec![unreadable(call)];
    }
    let known = WRITERS.contains(&call.tool);
    let says = |words: &[&str]| words.iter().any(|word| name.contains(word));
    let holds_text = || objects.iter().any(|object| has_text(object)) && !says(fields::READING_WORDS);
    let written =
        known || !ran && !READERS.contains(&call.tool) && !patches && (says(fields::WRITING_WORDS) || holds_text());
    if written {
        let paths: Vec<String> = objects.iter().flat_map(|object| paths(object)).collect();
        if paths.is_empty() && known {
            return vec![unreadable(call)];
        }
        if !paths.is_empty() {
            found.push(GatedAct::Writes(paths, call.directory.to_owned()));
        }
    }
    found
}

/// Returns the input object of a tool call and every object inside it.
fn objects(input: &Value) -> Vec<&[(String, Value)]> {
    let (mut found, mut open) = (Vec::new(), vec![(input, 0)]);
    while let Some((value, depth)) = open.pop() {
        match value {
            Value::Object(members) => {
                found.push(members.as_slice());
                if depth < DEPTH_MAX {
                    open.extend(members.iter().map(|(_, value)| (value, depth + 1)));
                }
            }
            Value::List(values) if depth < DEPTH_MAX => open.extend(values.iter().map(|value| (value, depth + 1))),
            Value::List(_) | Value::Null | Value::Bool(_) | Value::Number(_) | Value::Text(_) => {}
        }
    }
    found
}

/// Returns every member of an object whose name is one of these names. JSON may repeat a name, so there may be several.
fn members<'v>(object: &'v [(String, Value)], names: &'v [&str]) -> impl Iterator<Item = (String, &'v Value)> {
    let named = object.iter().map(|(name, value)| (plain(name), value));
    named.filter(|(name, _)| names.iter().any(|wanted| *name == plain(wanted)))
}

fn has_text(object: &[(String, Value)]) -> bool {
    members(object, fields::TEXTS).next().is_some()
}

fn unreadable(call: &GateCall<'_>) -> GatedAct {
    GatedAct::Unseen(format!("the input of {} names no command and no path where they are expected", call.tool))
}

/// Returns the folders where a tool call may run, by the fields of its input. Only some shell tools are known to use a
/// folder field. For other tools, the folder of the call itself is returned too.
fn folders(call: &GateCall<'_>, object: &[(String, Value)]) -> Vec<PathBuf> {
    let named = members(object, fields::FOLDERS).filter_map(|(_, value)| value.as_text());
    let mut found: Vec<PathBuf> = named.map(|named| call.directory.join(named)).collect();
    let moves = !matches!(call.tool, "Bash" | "bash") && SHELLS.contains(&call.tool);
    if found.is_empty() || !moves {
        found.push(call.directory.to_owned());
    }
    found.dedup();
    found
}

fn commands(call: &GateCall<'_>, tool: &str, object: &[(String, Value)], found: &mut Vec<GatedAct>) {
    let before = found.len();
    for here in folders(call, object) {
        for (name, field) in members(object, COMMAND_FIELDS).chain(members(object, fields::LINES)) {
            match field {
                Value::Text(text) => found.push(GatedAct::Text(text.clone(), here.clone())),
                Value::List(words) => {
                    found.extend(listed(words, &here));
                    // In a field that is not called `command` or `cmd`, a list may hold several commands, one in each
                    // text.
                    let texts = words.iter().filter(|_| !matches!(name.as_str(), "command" | "cmd"));
                    found.extend(
                        texts.filter_map(Value::as_text).map(|text| GatedAct::Text(text.to_owned(), here.clone())),
                    );
                }
                Value::Null | Value::Bool(_) | Value::Number(_) | Value::Object(_) if SHELLS.contains(&call.tool) => {
                    found.push(unreadable(call));
                }
                Value::Null | Value::Bool(_) | Value::Number(_) | Value::Object(_) => {}
            }
        }
        found.extend(programs(call, object, &here));
        let runs = fields::RUNNING_WORDS.iter().any(|word| tool.contains(word)) && !SHELLS.contains(&call.tool);
        for (name, text) in members(object, fields::TEXTS_TO_RUN).filter(|_| runs) {
            let Some(text) = text.as_text() else { continue };
            // The language of the code in this field is unknown, so it is judged like code for python.
            let words = || ["python", "-c", text].map(str::to_owned).to_vec();
            let is_code = matches!(name.as_str(), "code" | "source" | "content");
            found.push(if is_code {
                GatedAct::Words(words(), here.clone())
            } else {
                GatedAct::Text(text.to_owned(), here.clone())
            });
        }
    }
    if found.len() == before {
        return;
    }
    let shell = members(object, &["shell"]).filter_map(|(_, value)| value.as_text());
    for shell in shell.filter(|shell| !is_shell(shell)) {
        found.push(GatedAct::Unseen(format!("the shell {shell:?}, which is not known")));
    }
    for (_, field) in members(object, fields::VARIABLES) {
        if let Some(name) = variables(field).into_iter().find(|name| program::changes_programs(name)) {
            found.push(GatedAct::Unseen(format!("the variable {name}, which changes what programs do")));
        }
    }
}

fn is_shell(path: &str) -> bool {
    let reads = table::find(base(path)).is_some_and(|table| table.does == "shell");
    reads && (!path.contains('/') || program::is_of_the_system(path))
}

/// Returns commands whose program is in one input field and whose arguments are in another. If no field names a
/// program, the tool's own name is the program.
fn programs(call: &GateCall<'_>, object: &[(String, Value)], here: &Path) -> Vec<GatedAct> {
    let mut found = Vec::new();
    for (_, words) in members(object, fields::WORDS) {
        let Some(words) = words.as_list() else { continue };
        let words = || words.iter().map(|word| word.as_text().unwrap_or("*").to_owned());
        let mut programs: Vec<&str> =
            members(object, fields::PROGRAMS).filter_map(|(_, value)| value.as_text()).collect();
        if programs.is_empty() {
            programs.push(named::own_name(call.tool));
        }
        for program in programs {
            let program = program.split_whitespace().map(str::to_owned);
            found.push(GatedAct::Words(program.chain(words()).collect(), here.to_owned()));
        }
    }
    found
}

/// Returns the names of the environment variables in an input field. The field may be an object, a list or a text.
fn variables(field: &Value) -> Vec<String> {
    let before = |text: &str| text.split('=').next().unwrap_or(text).trim().to_owned();
    match field {
        Value::Object(members) => members.iter().map(|(name, _)| name.clone()).collect(),
        Value::Text(text) => text.split_whitespace().map(before).collect(),
        Value::List(values) => {
            let one = |value: &Value| match value {
                Value::Text(text) => Some(before(text)),
                Value::Object(_) => ["name", "key"].iter().find_map(|name| value.get(name)?.as_text().map(before)),
                Value::Null | Value::Bool(_) | Value::Number(_) | Value::List(_) => None,
            };
            values.iter().filter_map(one).collect()
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => Vec::new(),
    }
}

/// Returns the commands in a list of texts. The list may hold the words of one command, or several commands.
fn listed(words: &[Value], folder: &Path) -> Vec<GatedAct> {
    let texts: Option<Vec<String>> = words.iter().map(|word| word.as_text().map(str::to_owned)).collect();
    match texts.as_deref() {
        Some([program, text]) if program == "apply_patch" => vec![of_patch(text, folder.to_owned())],
        Some([program, ..]) if program == "apply_patch" => {
            vec![GatedAct::Unseen("a patch whose paths cannot be read".to_owned())]
        }
        Some(words) if !words.is_empty() => {
            let mut found = vec![GatedAct::Words(words.to_vec(), folder.to_owned())];
            // If the first text contains a blank, it is not the name of a program. Then each text of the list may be a
            // command.
            if words.first().is_some_and(|word| word.contains(' ')) {
                found.extend(words.iter().map(|text| GatedAct::Text(text.clone(), folder.to_owned())));
            }
            found
        }
        Some(_) | None => vec![GatedAct::Unseen("a command that is no list of words".to_owned())],
    }
}

fn paths(object: &[(String, Value)]) -> Vec<String> {
    let mut paths: Vec<String> = Vec::new();
    for (name, field) in members(object, fields::PATHS).chain(members(object, fields::CHANGES)) {
        match field {
            Value::Text(text) => paths.push(text.clone()),
            Value::List(texts) => paths.extend(texts.iter().filter_map(|text| text.as_text().map(str::to_owned))),
            Value::Object(members) if fields::CHANGES.contains(&name.as_str()) => {
                paths.extend(members.iter().map(|(path, _)| path.clone()));
            }
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::Object(_) => {}
        }
    }
    // Some clients expand `~` or `file://` in a path and others do not. So all spellings of the path count as written.
    let respelled = |path: &String| {
        let trimmed = path.trim();
        let bare = ["file://localhost", "file://"].iter().find_map(|start| trimmed.strip_prefix(start));
        let at_home = trimmed.strip_prefix("~/").zip(home()).map(|(rest, home)| format!("{home}/{rest}"));
        let turned = path.contains('\\').then(|| trimmed.replace('\\', "/"));
        [bare.map(str::to_owned), at_home, turned, (trimmed != path).then(|| trimmed.to_owned())]
    };
    let more: Vec<String> = paths.iter().flat_map(respelled).flatten().collect();
    paths.extend(more);
    paths
}

fn patched(call: &GateCall<'_>) -> Vec<GatedAct> {
    let Value::Object(object) = call.input else {
        return call
            .input
            .as_text()
            .map_or_else(|| vec![unreadable(call)], |text| vec![of_patch(text, call.directory.to_owned())]);
    };
    let text = |value: &Value| match value {
        Value::Text(text) => Some(text.clone()),
        Value::List(words) => words.last()?.as_text().map(str::to_owned),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Object(_) => None,
    };
    let texts: Vec<String> = members(object, fields::PATCHES).filter_map(|(_, value)| text(value)).collect();
    if texts.is_empty() {
        return vec![unreadable(call)];
    }
    let named = members(object, fields::FOLDERS).find_map(|(_, value)| value.as_text());
    let here = named.map_or_else(|| call.directory.to_owned(), |named| call.directory.join(named));
    texts.iter().map(|text| of_patch(text, here.clone())).collect()
}

fn of_patch(text: &str, folder: PathBuf) -> GatedAct {
    match patch::paths(text) {
        Ok(paths) => GatedAct::Writes(paths, folder),
        Err(problem) => GatedAct::Unseen(format!("a patch whose paths cannot be read for sure: {problem}")),
    }
}
