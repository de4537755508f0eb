//! Lists the names of input fields of tools by the meaning of the field. Names are compared without case, underscores
//! and hyphens.

/// Input fields that hold a command, in any tool.
pub const COMMAND_FIELDS: &[&str] =
    &["command", "cmd", "script", "commands", "shell_command", "command_line", "commandLine", "cmdline", "bash"];

/// Further input fields that hold a command, in addition to `COMMAND_FIELDS`. The command is one line for a shell.
pub(super) const LINES: &[&str] =
    &["exec", "remotecommand", "shellscript", "bashcommand", "terminalcommand", "shellcmd"];
/// Input fields that hold a command or code, but only if the tool's name says that it runs something.
pub(super) const TEXTS_TO_RUN: &[&str] = &["text", "line", "input", "code", "source", "content"];
/// Parts of tool names that say that the tool runs something.
pub(super) const RUNNING_WORDS: &[&str] =
    &["exec", "run", "shell", "terminal", "bash", "python", "process", "eval", "repl"];
/// Input fields that hold the name of a program. The arguments of the program are in a field that `WORDS` lists.
pub(super) const PROGRAMS: &[&str] = &["program", "executable", "exe", "binary", "file", "command", "cmd"];
pub(super) const WORDS: &[&str] = &["args", "arguments", "argv", "params"];
pub(super) const PATHS: &[&str] = &[
    "filepath",
    "notebookpath",
    "path",
    "absolutepath",
    "targetfile",
    "file",
    "filename",
    "files",
    "paths",
    "filepaths",
    "newpath",
    "oldpath",
    "targetpath",
    "outputpath",
    "outputfile",
    "output",
    "out",
    "destination",
    "destinationpath",
    "dest",
    "dst",
    "source",
    "sourcepath",
    "src",
    "target",
    "to",
    "from",
    "uri",
    "fileuri",
    "resource",
    "dirpath",
    "directorypath",
    "folder",
    "directory",
    "dir",
];
/// Input fields that hold an object in which each name is the path of a changed file.
pub(super) const CHANGES: &[&str] = &["changes", "files", "edits"];
pub(super) const PATCHES: &[&str] = &["input", "patch", "command", "patchtext", "diff"];
pub(super) const FOLDERS: &[&str] =
    &["workdir", "cwd", "workingdirectory", "workingdir", "dirpath", "directory", "directorypath", "dir", "folder"];
pub(super) const VARIABLES: &[&str] = &["env", "environment", "envs", "environmentvariables", "envvars", "variables"];
/// Input fields that hold the new content of a file. Only a tool that writes files has them.
pub(super) const TEXTS: &[&str] = &[
    "content",
    "contents",
    "newstring",
    "newstr",
    "newsource",
    "newtext",
    "edits",
    "filetext",
    "replacement",
    "codeedit",
    "text",
    "changes",
];
/// Input fields that hold a text for people or a search text. Fields that `TEXTS` lists are not repeated here.
pub(super) const PROSE: &[&str] = &[
    "prompt",
    "description",
    "body",
    "title",
    "message",
    "question",
    "questions",
    "query",
    "pattern",
    "reason",
    "summary",
    "notes",
    "note",
    "comment",
    "subject",
    "thought",
    "todos",
    "oldstring",
    "oldstr",
    "oldsource",
    "oldtext",
    "url",
    "header",
    "label",
    "instructions",
    "instruction",
    "answer",
    "answers",
    "status",
    "plan",
    "activeform",
    "regex",
    "search",
    "jql",
    "html",
    "markdown",
    "explanation",
    "commitmessage",
    "caption",
    "options",
    "patch",
    "diff",
    "input",
];
/// Words in the names of tools that change files.
pub(super) const WRITING_WORDS: &[&str] = &[
    "write", "edit", "delete", "remove", "move", "rename", "create", "replace", "insert", "patch", "save", "mkdir",
    "copy", "download", "append", "truncate",
];
/// Words in the names of tools that search or read. If such a tool has a text field and a path, the text is not new
/// content for a file.
pub(super) const READING_WORDS: &[&str] = &["read", "search", "find", "grep", "list", "view", "glob", "show"];

/// Returns a field name in lower case, without underscores, hyphens and blanks, so that names can be compared.
pub(super) fn plain(name: &str) -> String {
    name.chars().filter(|letter| !matches!(letter, '_' | '-' | ' ')).flat_map(char::to_lowercase).collect()
}
