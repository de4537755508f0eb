//! Finds the effects of a command with the help of its program's option table: the paths that the command writes, the
//! commands that it runs, and the parts that are unknown.

mod archive;
mod awk;
pub(crate) mod copy;
mod fetch;
pub(crate) mod folder;
mod runner;
mod sed;
mod toolchain;

use crate::command::Arg;
use crate::programs::git;
use crate::programs::options::{ParsedOptions, base, parse};
use crate::programs::table::{self, OptionEffect, ProgramTable};
use crate::spot::PathSpot;

/// One effect of a command. The order of effects is important: a `Folder` applies to all effects after it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum ProgramEffect {
    /// The words of the command from this index to the end are another command, which the program runs.
    Rest(usize),
    /// The program runs another command, which has these words.
    Command(Vec<Arg>),
    /// The program passes this text to a shell, which runs it.
    Script(String),
    /// The program sets an environment variable to a value.
    Sets(String, Arg),
    /// The program changes to this folder. All effects that come later in the list of effects happen there.
    Folder(Arg),
    /// A path is written. With `TreeEffect::Yes` everything below the path is written too.
    Writes(Arg, TreeEffect),
    /// The program works in the folder at this path. If the path is a file, the program works in the folder that holds
    /// the file. The program may run or write anything there.
    Works(Arg),
    /// The program copies a path without following links, so the copy of a link is a link, too.
    Copies(Arg),
    /// The gate cannot analyze a part of the command. A person must approve the command even if the gate rules allow
    /// it.
    Ask(String),
    /// A person must approve the command, unless a gate rule names its program. The text is the reason.
    AskUnlessNamed(String),
    /// An option of the command may write or run something. A person must approve the command if a gate rule restricts
    /// writes or names the program.
    Doubt(String),
    /// A variable in the command may change what the command does. This effect counts only if the same command text
    /// sets a variable to a value that could become an option or change a script.
    Fragile(Fragility, String),
    /// The command may run or write more than its words show. The setting `opaque` of the gates decides about it.
    Opaque(String),
    /// A git command such as `git switch` brings another state of the repository into the work tree.
    Moves(crate::command::WorkTreeMove),
    /// The command changes hooks, or settings of git or of an agent. A person must approve it even if the gate rules
    /// allow it.
    Guarded(String),
    /// A setting of git is changed. The fields are its key and its new value.
    Setting(Arg, Option<Arg>),
    /// Code in a language that the gate does not parse.
    Code(String),
    /// The command reads commands from its standard input, as `sh` without arguments does.
    Input,
}

/// The position in a command where the value of a variable could change the command's effects.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Fragility {
    /// The variable is in a position where its value may become an option.
    Option,
    /// The variable is inside a script or a pattern, such as the script of sed.
    Text,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum TreeEffect {
    Yes,
    No,
}

/// The words with which the line `does` of a program's option table may begin. Each word stands for one way to read the
/// operands of the program.
#[cfg(test)]
const KINDS: &[&str] = &[
    "none",
    "all",
    "first",
    "second",
    "second-traditional",
    "last",
    "modes",
    "template",
    "split",
    "split-words",
    "dd",
    "script",
    "logsave",
    "inplace-code",
    "patch",
    "openssl",
    "copy",
    "move",
    "link",
    "copy-remote",
    "rsync",
    "tar",
    "unzip",
    "zip",
    "squeeze",
    "cpio",
    "ar",
    "unpack",
    "curl",
    "wget",
    "sed",
    "awk",
    "rename",
    "lz4",
    "pax",
    "jar",
    "npm",
    "cargo",
    "python",
    "sqlite",
    "copy-verb",
    "verb",
    "verb-all",
    "when",
    "unless",
    "format",
    "lock",
    "compiler",
    "socat",
    "places",
    "typescript",
    "pip",
    "fd",
    "daemon",
    "command",
    "after",
    "assignments",
    "login",
    "joined",
    "remote",
    "input",
    "shell",
];

/// Tells whether the line `does` of an option table begins with a word that this crate knows.
#[cfg(test)]
pub(crate) fn knows(does: &str) -> bool {
    let kind = does.split(' ').next().unwrap_or_default();
    KINDS.contains(&kind) || git::knows_kind(kind)
}

/// Returns the effects of a command. Returns None when its program has no option table.
pub(crate) fn effects(words: &[Arg]) -> Option<Vec<ProgramEffect>> {
    let name = base(words.first()?.as_text());
    if git::is_git(name) {
        return Some(git::effects(words));
    }
    let table = table::find(name)?;
    if crate::programs::wrapper::is_wrapper(name) {
        return None;
    }
    if name == "openssl" {
        return Some(fetch::openssl(words));
    }
    let parsed = parse(table, words);
    let mut found = of_options(name, table, &parsed);
    found.extend(of_operands(name, table, &parsed));
    found.extend(folder::places(table, &parsed));
    found.extend(folder::guarded(name, table, &parsed));
    match table.does.as_str() {
        "npm" => found.extend(toolchain::npm(words)),
        "python" => found.extend(toolchain::python(words)),
        "copy-verb" => {
            found.extend(toolchain::mounts(words));
            found.extend(runner::compose(words));
        }
        "compiler" => found.extend([toolchain::compiler(words), runner::compiler(words)].concat()),
        "fd" => found.extend(runner::fd(words, &parsed)),
        "daemon" => found.extend(runner::daemon(&parsed)),
        _ if name == "cmake" => found.extend(runner::cmake(words)),
        _ => {}
    }
    if table.style.literal {
        found.retain(|effect| !matches!(effect, ProgramEffect::Writes(path, _) if path.spot.is_none()));
    }
    if table.style.opaque && !crate::programs::program::is_about(words) {
        found.push(ProgramEffect::Opaque(format!("{name} does more than its words tell")));
    }
    Some(found)
}

/// Returns the effects that each given option has by itself. In cp, curl and similar programs, several options together
/// decide which files are written. Separate functions read those options, so they are skipped here.
pub(crate) fn of_options(name: &str, table: &ProgramTable, parsed: &ParsedOptions) -> Vec<ProgramEffect> {
    let own = matches!(table.does.as_str(), "copy" | "move" | "link" | "curl" | "wget" | "unzip" | "rsync");
    let mut found = Vec::new();
    for given in &parsed.given {
        let value = || given.value.clone().unwrap_or_else(Arg::unknown);
        let shown = || format!("{name} with {}, which can run other commands", given.name);
        match given.effect {
            OptionEffect::Nothing | OptionEffect::Place => {}
            OptionEffect::Write | OptionEffect::Tree if own => {}
            OptionEffect::Run if table.does == "rsync" => {}
            OptionEffect::Write => {
                if given.value.as_ref().is_some_and(|value| value.text.as_deref() != Some("-")) {
                    found.push(ProgramEffect::Writes(value(), TreeEffect::No));
                }
            }
            OptionEffect::Tree => found.push(ProgramEffect::Writes(value().below(), TreeEffect::Yes)),
            OptionEffect::Run => found.push(match &value().text {
                Some(text) => ProgramEffect::Script(text.clone()),
                None => ProgramEffect::Ask(format!("{} and the command is not literal", shown())),
            }),
            OptionEffect::Folder => found.push(ProgramEffect::Folder(value())),
            OptionEffect::Setting => found.push(git::setting(&value())),
            OptionEffect::Asks => found.push(ProgramEffect::AskUnlessNamed(shown())),
            OptionEffect::Doubt => found.push(ProgramEffect::Doubt(format!("the option {}", given.name))),
        }
    }
    found.extend(parsed.unknown.iter().cloned().map(ProgramEffect::Doubt));
    let open = |word: &Arg| word.text.is_none() && word.lead.is_empty() && word.spot.is_none();
    if table.reaches() && !parsed.has_dashes && parsed.operands.iter().any(open) {
        let reason = "a variable where an option may stand".to_owned();
        found.push(ProgramEffect::Fragile(Fragility::Option, reason));
    }
    found
}

fn write(path: &Arg) -> ProgramEffect {
    ProgramEffect::Writes(path.clone(), TreeEffect::No)
}

fn of_operands(name: &str, table: &ProgramTable, parsed: &ParsedOptions) -> Vec<ProgramEffect> {
    let operands = parsed.operands.as_slice();
    let recursive = parsed.has(&["-r", "-R", "-a", "--recursive", "--archive"]);
    let tree = if recursive && name != "touch" && name != "tee" { TreeEffect::Yes } else { TreeEffect::No };
    let all = |operands: &[Arg]| operands.iter().map(|word| ProgramEffect::Writes(word.clone(), tree)).collect();
    let (kind, rest) = table.does.split_once(' ').unwrap_or((&table.does, ""));
    match kind {
        "all" => all(operands),
        "first" => all(operands.get(..1).unwrap_or_default()),
        "second" => all(operands.get(1..2).unwrap_or_default()),
        "second-traditional" if parsed.has(&["-G", "--traditional"]) => all(operands.get(1..2).unwrap_or_default()),
        "last" => all(operands.last().map(std::slice::from_ref).unwrap_or_default()),
        "modes" => {
            let skipped = usize::from(!parsed.has(&["--reference"]));
            all(operands.get(skipped..).unwrap_or_default())
        }
        "template" => operands.iter().map(write).collect(),
        "split" if parsed.has(&["--filter"]) => Vec::new(),
        "split" => vec![ProgramEffect::Writes(starting(operands.get(1), "x"), TreeEffect::No)],
        "split-words" => vec![ProgramEffect::Writes(starting(None, "xx"), TreeEffect::No)],
        "dd" => dd(operands),
        "script" => script(parsed),
        "logsave" => {
            let mut found: Vec<ProgramEffect> = operands.first().map(write).into_iter().collect();
            found.extend((operands.len() > 1).then_some(ProgramEffect::Rest(parsed.rest + 1)));
            found
        }
        "inplace-code" => inplace_code(name, parsed),
        "patch" => patch(parsed),
        "copy" | "move" | "link" | "copy-remote" => copy::operands(name, kind, parsed),
        "rsync" => copy::rsync(parsed),
        "tar" => archive::tar(parsed),
        "unzip" => archive::unzip(parsed),
        "zip" => archive::zip(parsed),
        "squeeze" => archive::squeeze(name, rest, parsed),
        "cpio" => archive::cpio(parsed),
        "ar" => archive::ar(parsed),
        "rename" => {
            // The first operand of `rename` may be a perl expression such as `s,^,infra/,`, which moves the files to
            // another folder.
            let expression = operands.first().and_then(|word| word.text.clone()).map(ProgramEffect::Code);
            operands.iter().map(write).chain(expression).collect()
        }
        "lz4" => archive::lz4(parsed),
        "pax" => archive::pax(parsed),
        "jar" => archive::jar(parsed),
        "cargo" => toolchain::cargo(parsed),
        "sqlite" => toolchain::sqlite(parsed),
        "copy-verb" => toolchain::copy_verb(parsed),
        "socat" => toolchain::socat(parsed),
        "verb" => toolchain::verb(rest, operands),
        "verb-all" => toolchain::verb_all(rest, operands),
        "when" if rest.split(' ').any(|option| parsed.has(&[option])) => all(operands),
        "unless" if !rest.split(' ').any(|option| parsed.has(&[option])) => all(operands),
        "format" => toolchain::format(rest, parsed),
        "lock" => operands.first().map(write).into_iter().collect(),
        "unpack" => vec![ProgramEffect::Doubt("files that it names itself".to_owned())],
        "curl" => fetch::curl(parsed),
        "wget" => fetch::wget(parsed),
        "sed" => sed::effects(parsed),
        "awk" => awk::effects(name, parsed),
        _ => Vec::new(),
    }
}

/// Returns the files whose names begin with a prefix: `split x part-` writes `part-aa`, `part-ab` and so on.
fn starting(prefix: Option<&Arg>, default: &str) -> Arg {
    let prefix = match prefix {
        Some(prefix) => match &prefix.text {
            Some(text) => text.as_str(),
            None => return Arg::unknown(),
        },
        None => default,
    };
    let (folder, start) = prefix.rsplit_once('/').unwrap_or((".", prefix));
    let folder = if folder.is_empty() { "/" } else { folder }.to_owned();
    let mut pattern = String::new();
    for letter in start.chars() {
        if "*?[]{}\\".contains(letter) {
            pattern.push('\\');
        }
        pattern.push(letter);
    }
    pattern.push('*');
    Arg { spot: Some(PathSpot::Matching { folder, pattern }), ..Arg::unknown() }
}

fn dd(operands: &[Arg]) -> Vec<ProgramEffect> {
    let of = |word: &Arg| match word.lead.strip_prefix("of=") {
        Some(_) => Some(write(&word.behind(3))),
        None if word.text.is_none() && word.lead.is_empty() => Some(write(&Arg::unknown())),
        None => None,
    };
    operands.iter().filter_map(of).collect()
}

fn script(parsed: &ParsedOptions) -> Vec<ProgramEffect> {
    let mut found: Vec<ProgramEffect> = match parsed.operands.first() {
        Some(file) => vec![write(file)],
        None => vec![write(&Arg::known("typescript"))],
    };
    if !parsed.has(&["-c", "--command"]) {
        found.push(ProgramEffect::Input);
    }
    found
}

fn patch(parsed: &ParsedOptions) -> Vec<ProgramEffect> {
    if parsed.has(&["--dry-run", "-o", "--output"]) {
        return Vec::new();
    }
    match parsed.operands.first() {
        Some(file) => vec![write(file)],
        // The program `patch` refuses paths that lead out of the folder where it works, so it writes only below that
        // folder.
        None => vec![ProgramEffect::Writes(Arg::inside("."), TreeEffect::Yes)],
    }
}

/// Returns the folder into which a backup option writes: `old` for the value `old/*`. If the value has no slash, the
/// backup stays in the folder of the original file.
fn backup(parsed: &ParsedOptions, options: &[&str]) -> Vec<ProgramEffect> {
    let value = |suffix: &Arg| match &suffix.text {
        Some(text) => text.rsplit_once('/').map(|(folder, _)| write(&Arg::inside(folder))),
        None => Some(write(&Arg::unknown())),
    };
    parsed.values(options).filter_map(value).collect()
}

/// Returns the effects of perl and ruby: the code that they run, which the gate does not parse, and the files that `-i`
/// edits.
fn inplace_code(name: &str, parsed: &ParsedOptions) -> Vec<ProgramEffect> {
    let codes: Vec<&Arg> = parsed.values(&["-e", "-E"]).collect();
    let mut found = vec![ProgramEffect::Opaque(format!("{name} runs a script, a text or its input"))];
    found.extend(codes.iter().filter_map(|code| code.as_code().cloned()).map(ProgramEffect::Code));
    if parsed.has(&["-i"]) {
        let skipped = usize::from(codes.is_empty());
        found.extend(parsed.operands.iter().skip(skipped).map(write));
        found.extend(backup(parsed, &["-i"]));
    }
    found
}
