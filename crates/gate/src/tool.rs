//! Reads the tools of clients: which of them run a command or write files.

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

/// One act of a call that matters to gates.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum GatedAct {
    /// A text for a shell, and the folder where it runs.
    Text(String, PathBuf),
    /// Words that are started without a shell.
    Words(Vec<String>, PathBuf),
    Writes(Vec<String>, PathBuf),
    /// A text that may be run. It counts only if a rule is about it.
    Suspect(String, PathBuf),
    /// Paths that may be written. They count only if a rule is about them.
    MayWrite(Vec<String>, PathBuf),
    /// The words of the tool's own name, with a value of its input.
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
/// Tools that apply a patch of several files, in the form in which names are compared.
const PATCHES: &[&str] = &["applypatch"];
/// Tools that send text to something that already runs, or to a shell that is not parsed here.
const UNSEEN: &[&str] = &["write_stdin", "PowerShell", "powershell", "REPL"];

/// Tools that only read their paths, regardless of the other fields in their input.
const READERS: &[&str] = &["Read", "read", "read_file", "view", "Grep", "grep", "Glob", "glob", "LS", "ls", "list_dir"];
/// The largest depth of objects within objects that are read.
const DEPTH_MAX: usize = 8;

/// The prefix of our own server's tools. The module `desk` decides about their calls.
const OURS: &str = "mcp__handover__";

/// Returns everything that a call runs and writes, from all fields that look like commands or paths and not only from
/// the first.
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
        // The server may use a field of this name for something else, such as a query.
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

/// Tells whether a tool belongs to another server. Only rules judge such a tool, and no default does.
pub(super) fn is_foreign(tool: &str) -> bool {
    tool.starts_with("mcp__")
}

/// Returns the acts in those fields of a call that are made for commands and paths.
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

/// Returns the input and every object in it.
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

/// Returns every member of an object under one of these names. A name may appear more than once.
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

/// Returns the folders where a call may run, as its input says. Only some shells surely follow such a field; for other
/// tools the folder of the call counts too.
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
                    // A list under any other name may be several commands.
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
            // The language of the code is unknown, so the code is compared with the rules.
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

/// Returns commands whose program is in one field and whose words are in another. Without such a program, the words
/// are for the program that the tool is named after.
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

/// Returns the names of variables, from any of the forms in which they are given.
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

/// Returns the acts of a list, which holds the words of one command or several commands.
fn listed(words: &[Value], folder: &Path) -> Vec<GatedAct> {
    let texts: Option<Vec<String>> = words.iter().map(|word| word.as_text().map(str::to_owned)).collect();
    match texts.as_deref() {
        Some([program, text]) if program == "apply_patch" => vec![of_patch(text, folder.to_owned())],
        Some([program, ..]) if program == "apply_patch" => {
            vec![GatedAct::Unseen("a patch whose paths cannot be read".to_owned())]
        }
        Some(words) if !words.is_empty() => {
            let mut found = vec![GatedAct::Words(words.to_vec(), folder.to_owned())];
            // A first word with a blank in it is not a program.
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
    // Some clients expand or tidy a path, and some do not, so all spellings count.
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
