//! Reads the arguments that an unknown program may run as commands, and the code that an interpreter gets.

use std::collections::BTreeSet;

use super::{CommandWalk, StandardInput, WalkScope};
use crate::command::{Arg, CommandFolders};
use crate::place;
use crate::programs::effect::{self, ProgramEffect};
use crate::programs::program::is_of_the_system;
use crate::programs::table::{self, CommandKind, ProgramTable};
use crate::programs::{options, wrapper};
use crate::shell::unescaped;
use crate::spot::PathSpot;

/// The largest number of arguments of unknown programs that the gate reads as commands in one tool call. A person must
/// approve a call with more such arguments.
const SUSPECTS_MAX: usize = 64;
/// The largest number of arguments of one command that name a program and are read as commands. A command with more
/// such arguments needs a person's approval.
const COMMANDS_MAX: usize = 32;
/// Names of programs. If an argument of an unknown program is such a name, the argument probably begins a command.
const LIKELY_COMMANDS: &[&str] = &[
    "rm", "rmdir", "mv", "cp", "tee", "touch", "mkdir", "truncate", "dd", "ln", "chmod", "chown", "sed", "tar",
    "unzip", "curl", "wget", "rsync", "sh", "bash", "zsh", "dash", "git", "awk", "perl", "shred", "unlink", "rimraf",
    "trash", "sponge", "rename",
];

/// Options whose value is a text for people, such as a commit message.
const PROSE_OPTIONS: &[&str] = &[
    "-m",
    "-b",
    "-t",
    "--message",
    "--title",
    "--body",
    "--description",
    "--notes",
    "--subject",
    "--comment",
    "--summary",
    "--reason",
];

/// Programs that install packages. After their sub-commands in `PACKAGE_COMMANDS`, the name of a tool is the name of a
/// package: `npm install husky`.
const PACKAGERS: &[&str] = &[
    "npm", "pnpm", "yarn", "bun", "pip", "pip3", "pipx", "uv", "poetry", "pdm", "cargo", "gem", "composer", "brew",
    "apt", "apt-get", "apk", "dnf", "yum", "conda", "mamba",
];
const PACKAGE_COMMANDS: &[&str] = &["install", "i", "add", "remove", "uninstall", "upgrade", "update"];

fn installs_packages(words: &[Arg]) -> bool {
    let mut operands = words.iter().skip(1).map(Arg::as_text).filter(|word| !word.starts_with('-'));
    let is_packager = words.first().is_some_and(|word| PACKAGERS.contains(&options::base(word.as_text())));
    is_packager && operands.find(|word| *word != "pip").is_some_and(|command| PACKAGE_COMMANDS.contains(&command))
}

/// Tells whether a word is the value of an option that takes a text for people, such as a commit message.
fn is_prose(arguments: &[Arg], at: usize) -> bool {
    let text = |word: &Arg| word.as_text().contains(' ');
    let before = at.checked_sub(1).and_then(|before| arguments.get(before));
    let word = arguments.get(at);
    let attached =
        word.and_then(|word| word.lead.split_once('=')).is_some_and(|(name, _)| PROSE_OPTIONS.contains(&name));
    attached || word.is_some_and(text) && before.is_some_and(|before| PROSE_OPTIONS.contains(&before.as_text()))
}

impl CommandWalk {
    /// Reads those arguments of an unknown program that can be commands, because the program may run them.
    pub(super) fn suspect<'a>(&mut self, words: &'a [Arg], scope: &WalkScope) {
        if self.suspicious {
            return;
        }
        let folders = working_folders(words, &scope.folders);
        let input = StandardInput::Unknown;
        let within = WalkScope { depth: scope.depth + 1, input, folders, set: BTreeSet::new(), ..scope.clone() };
        let reads = |text: &&str| text.contains([' ', '\t', '\n', ';', '|', '&', '>', '$', '`']);
        let arguments = words.get(1..).unwrap_or_default();
        // A program does not run a text that it takes as a message or a title, so such texts are skipped.
        let runs = |(at, word): (usize, &'a Arg)| word.as_code().filter(|_| !is_prose(arguments, at));
        for text in arguments.iter().enumerate().filter_map(runs) {
            let value = text.split_once('=').map(|(_, value)| value);
            // The value of a setting may be in quotes: `key="git push"`. Read the value without its quotes, too.
            let bare = value.and_then(|value| value.strip_prefix('"')?.strip_suffix('"'));
            // In git and gh, an alias that begins with `!` is a command for a shell.
            let aliased = text.strip_prefix('!');
            let plain = text.contains('\\').then(|| unescaped(text));
            for text in
                [Some(text.as_str()), value, bare, aliased, plain.as_deref()].into_iter().flatten().filter(reads)
            {
                self.suspected(|walk| walk.text(text, &mut within.clone()));
            }
        }
        if let StandardInput::Text(text) | StandardInput::Partly(text) = &scope.input {
            self.suspected(|walk| walk.text(text, &mut within.clone()));
        }
        let installs = installs_packages(words);
        let likely = |word: &Arg| {
            let name = options::base(word.as_text());
            LIKELY_COMMANDS.contains(&name) || !installs && table::is_tool(name)
        };
        let places = arguments.iter().enumerate().filter(|(_, word)| likely(word)).map(|(at, _)| at);
        for (number, at) in places.enumerate() {
            if number == COMMANDS_MAX {
                return self.ask("more arguments that may be commands than are looked at");
            }
            self.suspected(|walk| walk.command(&arguments[at..], &[], &mut within.clone()));
        }
    }

    /// Reads words that a program may run as a command, or may take as options.
    pub(super) fn suspect_command(&mut self, words: &[Arg], scope: &WalkScope) {
        let mut within = WalkScope { depth: scope.depth + 1, set: BTreeSet::new(), ..scope.clone() };
        if !self.suspicious {
            self.suspected(|walk| walk.command(words, &[], &mut within));
        }
    }

    fn suspected(&mut self, read: impl FnOnce(&mut Self)) {
        if self.found.suspects.len() >= SUSPECTS_MAX {
            return self.ask("more arguments that may be commands than are looked at");
        }
        let mut walk = Self { suspicious: true, ..Self::new() };
        read(&mut walk);
        self.found.suspects.push(walk.found);
    }
}

/// Options that name the working folder of a program. They are used for programs without an option table.
const FOLDER_OPTIONS: &[&str] = &[
    "-C",
    "--directory",
    "--chdir",
    "--cwd",
    "--workdir",
    "--working-dir",
    "--working-directory",
    "--project-dir",
    "--project-directory",
    "-chdir",
];

/// Returns the folders where a program may work: the folder where it is started, and the folders that its options name.
pub(super) fn working_folders(words: &[Arg], folders: &CommandFolders) -> CommandFolders {
    let program = words.first().map(|word| options::base(word.as_text())).unwrap_or_default();
    let known: Vec<&str> = table::find(program).into_iter().flat_map(ProgramTable::folder_options).collect();
    let mut found = folders.clone();
    for (at, word) in words.iter().enumerate().skip(1) {
        let (name, attached) = match word.lead.split_once('=') {
            Some((name, _)) => (name, Some(word.behind(name.len() + 1))),
            None => (word.lead.as_str(), None),
        };
        let behind = name.strip_prefix("-C").filter(|rest| !rest.is_empty()).map(|_| word.behind(2));
        let is_folder = FOLDER_OPTIONS.contains(&name) || known.contains(&name);
        let apart = is_folder.then(|| attached.or_else(|| words.get(at + 1).cloned())).flatten();
        if let Some(to) = apart.or(behind).filter(|to| to.text.is_some()) {
            found = found.and(folders.moved(&to));
        }
    }
    found
}

/// Tells whether an unknown program only reads the folder where it works, by its first three operands: `foo list`.
fn only_reads(words: &[Arg]) -> bool {
    let operands = words.iter().skip(1).filter(|word| !word.lead.starts_with('-'));
    operands.take(3).any(|word| table::is_verb(CommandKind::Reads, word.as_text()))
}

/// Returns the folders where an unknown program may work, if its options name a folder. The program may run or write
/// anything in these folders.
pub(super) fn given_folders(words: &[Arg], folders: &CommandFolders) -> Option<CommandFolders> {
    let name = words.first().map(|word| options::base(word.as_text())).unwrap_or_default();
    let all = working_folders(words, folders);
    (all != *folders && table::find(name).is_none() && !only_reads(words)).then_some(all)
}

/// Returns the effects of a program that is run through a link with another name: `./t x` for a link to `touch`.
pub(super) fn through_link(words: &[Arg], folders: &CommandFolders) -> Vec<ProgramEffect> {
    let (Some((program, rest)), CommandFolders::Known(folders)) = (words.split_first(), folders) else {
        return Vec::new();
    };
    let path = program.as_text();
    if !path.contains('/') || is_of_the_system(path) {
        return Vec::new();
    }
    let real = |folder: &std::path::PathBuf| {
        let real = place::resolve(&folder.join(path))?.to_string_lossy().into_owned();
        (is_of_the_system(&real) && options::base(&real) != options::base(path)).then_some(real)
    };
    let Some(real) = folders.iter().find_map(real) else { return Vec::new() };
    let respelled: Vec<Arg> = std::iter::once(Arg::known(&real)).chain(rest.iter().cloned()).collect();
    effect::effects(&respelled).unwrap_or_else(|| wrapper::unwrap(&respelled, None))
}

/// Replaces `~` in the first word of a command with the home folder, as for `~/bin/x`. Returns None when the word has
/// no `~`.
pub(super) fn from_home(words: &[Arg]) -> Option<Vec<Arg>> {
    let (program, rest) = words.split_first()?;
    match (&program.text, &program.spot) {
        (None, Some(PathSpot::At(path))) => {
            Some(std::iter::once(Arg::known(path)).chain(rest.iter().cloned()).collect())
        }
        _ => None,
    }
}

/// Returns the code that an interpreter may get: its arguments that are not plain words, and its standard input.
pub(super) fn codes(words: &[Arg], input: &StandardInput) -> Vec<String> {
    let code = |text: &&String| text.contains([' ', '\t', '\n', '(', ')', ';', '"', '\'', '`']);
    let mut found: Vec<String> = words[1..].iter().filter_map(Arg::as_code).filter(code).cloned().collect();
    match input {
        StandardInput::Text(text) | StandardInput::Partly(text) => found.push(text.clone()),
        StandardInput::Pipe { printed, .. } => {
            let text = printed.join(" ");
            // The input may come from printf or `echo -e`, which resolve escapes such as `\n`. So read it with resolved
            // escapes, too.
            found.extend(text.contains('\\').then(|| unescaped(&text)));
            found.push(text);
        }
        StandardInput::Inherited | StandardInput::File | StandardInput::Unknown => {}
    }
    found
}
