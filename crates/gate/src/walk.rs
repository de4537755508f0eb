//! Finds every command and every write in a command text.
//!
//! This module knows the shell and knows nothing about rules. It follows lists, pipes, substitutions and functions,
//! remembers in which folder a command runs, and finds the commands that programs such as `sudo` run.

mod builtin;
mod compound;
mod level;
mod listing;
mod simple;
mod suspect;
mod variable;

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use brush_parser::{Parser, ParserOptions};

use super::command;
use super::command::{Arg, CommandFolders, CommandLevel, FoundActs, PathWrite, SeenCommand};
use crate::command::WorkTreeMove;
use crate::programs::effect::{self, Fragility, ProgramEffect, TreeEffect};
use crate::programs::{git, options, program, wrapper};
use crate::shell::script::{self, ProgramText};
use crate::shell::word::ShellWord;
use crate::spot::PathSpot;
use variable::{VariableValue, VariableValues};

/// The largest depth of wrappers (such as `sudo`) in wrappers, and of scripts in scripts. A person must approve a
/// deeper command.
const DEPTH_MAX: u32 = 8;
/// The longest command that is read, in bytes. A longer command needs a person's approval.
pub(super) const TEXT_BYTES_MAX: usize = 16 << 10;
/// The largest number of blocks and subshells in a command text. `brush-parser` recurses into each one, and its stack
/// must have room for all of them. A person must approve a text with more blocks and subshells.
const OPENERS_MAX: usize = 400;
/// The largest number of `case` commands in a command text. `brush-parser` reads the last part of a `case` twice, so
/// each `case` inside another `case` doubles the time. A person must approve a text with more `case` commands.
const CASES_MAX: usize = 8;
#[derive(Debug)]
pub(super) struct CommandWalk {
    pub(super) found: FoundActs,
    /// Variables that are used in computations such as `$((x + 1))`.
    computed: BTreeSet<String>,
    /// Variables that the command text sets to numbers.
    numbers: BTreeSet<String>,
    /// Variables that the command text sets to other values than numbers.
    others: BTreeSet<String>,
    /// Shell functions that the command text defines.
    functions: BTreeSet<String>,
    /// True if the command text sets a variable to words that may become options where the variable is used.
    plants_options: bool,
    /// True if the command text sets a variable to a value with a slash or a blank. Inserted into a script, such as the
    /// script of sed, the value may end a part of the script.
    plants_text: bool,
    /// Doubts about commands with a variable. They count only if the command text sets some variable to a value that
    /// could change the meaning of the command.
    fragile: Vec<(Fragility, String)>,
    /// The literal words of the last simple command. If a pipe follows, they are part of the input of the next command.
    printed: Vec<String>,
    /// The files that the last simple command lists, or the folders that hold them. If a pipe follows, the next command
    /// gets these files.
    listed: Option<Vec<Arg>>,
    /// True if the text is an argument of an unknown program. The argument is read as if it were a command.
    suspicious: bool,
    /// The values that each variable got in the part of the command text that was read so far.
    values: VariableValues,
    /// The values that the whole command text assigns to each variable. The text is read twice, and the first reading
    /// collects them.
    constants: VariableValues,
    /// The values of loop variables in the round of the loop that is read now.
    bound: BTreeMap<String, VariableValue>,
    /// The number of loop rounds that were read so far.
    rounds: usize,
}

/// The standard input that a command of a command text gets.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum StandardInput {
    /// The standard input that the agent's client gives to its shell.
    Inherited,
    /// The text of a here-document or a here-string, completely known.
    Text(String),
    /// A file that a redirection such as `<file` names.
    File,
    /// The text of a here-document or a here-string with unknown parts.
    Partly(String),
    /// The output of the commands before this command in a pipe. `printed` holds the literal words of the earlier
    /// commands. If the output is a list of files, `listed` holds these files, or the folders that hold them.
    Pipe {
        printed: Vec<String>,
        listed: Option<Vec<Arg>>,
    },
    Unknown,
}

/// The conditions under which a command is read: the folders in which it may run, its nesting depth, its standard
/// input, and further facts.
#[derive(Debug, Clone)]
pub(super) struct WalkScope {
    pub(super) folders: CommandFolders,
    pub(super) depth: u32,
    /// True if a shell other than bash may run the text. Syntax that only bash has may then mean something else.
    pub(super) foreign: bool,
    pub(super) input: StandardInput,
    /// Variables of the shell that certainly have a value when the command runs.
    pub(super) set: BTreeSet<String>,
}

/// Finds the commands and writes in a command text, as a shell that starts in the given folder would run it.
pub(super) fn text(text: &str, directory: &Path) -> FoundActs {
    let mut walk = CommandWalk::new();
    walk.text(text, &mut WalkScope::new(directory));
    let constants = std::mem::take(&mut walk.values);
    if constants.is_empty() {
        return walk.finish();
    }
    // A variable may be set again after its use. So the command text is read twice: the first reading collects all
    // values, and the second uses them.
    let mut walk = CommandWalk { constants, ..CommandWalk::new() };
    walk.text(text, &mut WalkScope::new(directory));
    walk.finish()
}

/// Finds the commands and writes of one command that is started without a shell, as a list of words.
pub(super) fn words(words: &[String], directory: &Path) -> FoundActs {
    let mut walk = CommandWalk::new();
    let mut scope = WalkScope::new(directory);
    let words: Vec<Arg> = words.iter().map(|word| Arg::known(word)).collect();
    walk.command(&words, &[], &mut scope);
    walk.finish()
}

impl WalkScope {
    fn new(directory: &Path) -> Self {
        let folders = CommandFolders::Known(vec![directory.to_owned()]);
        Self { folders, depth: 0, foreign: false, input: StandardInput::Inherited, set: BTreeSet::new() }
    }
}

impl CommandWalk {
    fn new() -> Self {
        Self {
            found: FoundActs::default(),
            computed: BTreeSet::new(),
            numbers: BTreeSet::new(),
            others: BTreeSet::new(),
            functions: BTreeSet::new(),
            plants_options: false,
            plants_text: false,
            fragile: Vec::new(),
            printed: Vec::new(),
            listed: None,
            suspicious: false,
            values: VariableValues::default(),
            constants: VariableValues::default(),
            bound: BTreeMap::new(),
            rounds: 0,
        }
    }

    fn finish(mut self) -> FoundActs {
        for name in &self.computed {
            if !self.numbers.contains(name) || self.others.contains(name) {
                self.found
                    .asks
                    .push(format!("a computation with {name}, which may hold a command; give it a number first"));
            }
        }
        for (fragility, reason) in &self.fragile {
            let planted = match fragility {
                Fragility::Option => self.plants_options,
                Fragility::Text => self.plants_text,
            };
            if planted {
                self.found.doubts.push(reason.clone());
            }
        }
        self.found
    }

    fn ask(&mut self, reason: impl Into<String>) {
        self.found.asks.push(reason.into());
    }

    fn text(&mut self, text: &str, scope: &mut WalkScope) {
        if text.len() > TEXT_BYTES_MAX {
            return self.ask(format!("a command of more than {} KiB", TEXT_BYTES_MAX >> 10));
        }
        match script::read(text) {
            Ok(script) => self.script(&script, scope),
            Err(script::UnreadText(reason)) => self.ask(format!("what cannot be read for sure: {reason}")),
        }
    }

    fn script(&mut self, script: &ProgramText, scope: &mut WalkScope) {
        self.computed.extend(script.computed.iter().cloned());
        self.numbers.extend(script.numbers.iter().cloned());
        script.computed.iter().chain(&script.numbers).for_each(|name| self.values.lose(name));
        for name in &script.assigned {
            self.assigned(name, None);
        }
        if script.only_bash && scope.foreign {
            self.ask("a text for another shell with words that only bash knows");
        }
        for word in &script.arithmetic {
            self.inside(word, scope);
        }
        let tokens = || script.plain.split_whitespace();
        let opens = |token: &str| {
            token.starts_with('(')
                || matches!(token, "{" | "if" | "while" | "until" | "for" | "case" | "coproc" | "!" | "function" | "[[")
        };
        if tokens().filter(|token| opens(token)).count() > OPENERS_MAX {
            return self.ask(format!("more than {OPENERS_MAX} blocks and subshells"));
        }
        if tokens().filter(|token| *token == "case").count() > CASES_MAX {
            return self.ask(format!("more than {CASES_MAX} `case`"));
        }
        match Parser::new(script.plain.as_bytes(), &ParserOptions::default()).parse_program() {
            Ok(program) => {
                for list in &program.complete_commands {
                    self.list(list, script, scope);
                }
            }
            Err(_) => self.ask("what does not parse as a command"),
        }
    }

    /// Reads the commands that bash runs when it expands a word, such as `$(date)`.
    fn inside(&mut self, word: &ShellWord, scope: &WalkScope) {
        for script in &word.inner {
            self.script(script, &mut scope.clone());
        }
    }

    /// Records that the command text sets a variable. `value` is the assigned word, or None when the word is unknown.
    fn assigned(&mut self, name: &str, value: Option<&ShellWord>) {
        if program::changes_programs(name) {
            self.ask(format!("an assignment of {name}, which changes what programs do"));
        }
        if program::changes_toolchain(name) {
            self.found.opaques.push(format!("an assignment of {name}, which changes what a toolchain does"));
        }
        self.values.give(name, value, &self.functions);
        let text = value.and_then(ShellWord::literal);
        if let Some(text) = text {
            self.plants_options |= text.starts_with('-') || text.contains(" -");
            self.plants_text |= text.contains(['/', ' ', '\n', '\t']);
        }
        if value.is_some_and(ShellWord::is_number) {
            self.numbers.insert(name.to_owned());
        } else {
            self.others.insert(name.to_owned());
        }
    }

    /// Records a write to the path in a variable such as `TMPDIR`, because programs write files there. Does nothing for
    /// other variables.
    fn placed(&mut self, name: &str, value: &Arg, scope: &WalkScope) {
        let known = matches!(&value.spot, Some(PathSpot::At(path)) if !path.is_empty());
        // A value without a slash is often not a path: `RUST_LOG=debug`.
        let output = program::names_output(name) && value.as_text().contains('/');
        if (program::names_folder(name) || output) && known {
            self.writes(value, TreeEffect::No, command::WriteCause::Program, scope);
        }
    }

    fn writes(&mut self, path: &Arg, tree: TreeEffect, by: command::WriteCause, scope: &WalkScope) {
        let inside = matches!(path.spot, Some(PathSpot::Inside(_)));
        let (spot, folders) = (path.spot.clone(), scope.folders.clone());
        self.found.writes.push(PathWrite { spot, folders, tree: tree == TreeEffect::Yes || inside, by });
    }

    /// Reads a command and its inner commands. `outer` holds the wrappers around it, such as `sudo`. The folder of
    /// `scope` changes only if the command runs in this shell, as `cd` does.
    fn command(&mut self, words: &[Arg], outer: &[CommandLevel], scope: &mut WalkScope) {
        let at_home = suspect::from_home(words);
        let words = at_home.as_deref().unwrap_or(words);
        let Some(program) = words.first() else { return };
        let Some(name) = program.text.as_deref().map(options::base) else {
            return self.ask("a command whose first word is not one literal");
        };
        if scope.depth > DEPTH_MAX {
            return self.ask(format!("more than {DEPTH_MAX} wrappers in each other"));
        }
        let respelled = git::as_git(words);
        let words = respelled.as_deref().unwrap_or(words);
        let wraps = wrapper::is_wrapper(name);
        let files = self.piped_files(words, &scope.input, &scope.folders);
        let does =
            if wraps { wrapper::unwrap(words, files.as_deref()) } else { effect::effects(words).unwrap_or_default() };
        let does = [does, suspect::through_link(words, &scope.folders)].concat();
        let mut level = self.level(name, words, &does, scope);
        for effect in &does {
            match effect {
                // The gate cannot see a part of the command. If the program is a shell or the like, a gate rule that
                // names the program can allow the command. Any other program needs a person's approval regardless of
                // the rules.
                ProgramEffect::Ask(reason) if wrapper::interprets(name) => {
                    level.ask = level.ask.take().or_else(|| Some(reason.clone()));
                }
                ProgramEffect::Ask(reason) => self.ask(reason.clone()),
                ProgramEffect::Fragile(fragility, reason) => {
                    self.fragile.push((*fragility, format!("{name} with {reason}")));
                }
                ProgramEffect::Setting(key, value) => {
                    self.found.guarded.extend(git::asks(key, value.as_ref()));
                }
                ProgramEffect::Guarded(reason) => self.found.guarded.push(reason.clone()),
                ProgramEffect::Rest(_)
                | ProgramEffect::Command(_)
                | ProgramEffect::Script(_)
                | ProgramEffect::Sets(..)
                | ProgramEffect::Folder(_)
                | ProgramEffect::Writes(..)
                | ProgramEffect::Works(_)
                | ProgramEffect::Copies(_)
                | ProgramEffect::AskUnlessNamed(_)
                | ProgramEffect::Doubt(_)
                | ProgramEffect::Opaque(_)
                | ProgramEffect::Moves(_)
                | ProgramEffect::Code(_)
                | ProgramEffect::Input => {}
            }
        }
        if matches!(name, "." | "source") && !words.get(1).is_some_and(|word| word.as_text().ends_with("/activate")) {
            self.values.lose_all();
        }
        let here = outer
            .iter()
            .all(|level| level.words.first().is_some_and(|word| matches!(word.as_text(), "command" | "builtin")));
        self.builtin(words, here, scope);
        // A gate rule may allow a shell whose script has unknown parts. The known parts of the script are still
        // checked.
        let partly = wrapper::interprets(name) && words.iter().any(|word| word.text.is_none());
        if level.searched || partly {
            self.suspect(words, scope);
        }
        if level.searched
            && let Some(folders) = suspect::given_folders(words, &scope.folders)
        {
            let within = WalkScope { folders, ..scope.clone() };
            self.writes(&Arg::known("."), TreeEffect::No, command::WriteCause::Work, &within);
        }
        let mut levels = outer.to_vec();
        levels.push(level);
        self.held(&does, words, levels, scope);
    }

    /// Reads the effects of a command, among them the commands that a wrapper such as `sudo` runs. If the command runs
    /// no other command, the command itself is recorded.
    fn held(&mut self, does: &[ProgramEffect], words: &[Arg], levels: Vec<CommandLevel>, scope: &mut WalkScope) {
        let name = words.first().map(|word| options::base(word.as_text()).to_owned()).unwrap_or_default();
        let wraps = wrapper::is_wrapper(&name);
        let mut within = WalkScope { depth: scope.depth + 1, ..scope.clone() };
        let mut alone = true;
        for effect in does {
            match effect {
                ProgramEffect::Rest(at) => {
                    alone = false;
                    self.command(words.get(*at..).unwrap_or_default(), &levels, &mut within);
                }
                ProgramEffect::Command(words) => {
                    alone = false;
                    self.command(words, &levels, &mut within);
                }
                ProgramEffect::Script(text) => {
                    if wraps {
                        alone = false;
                        self.found.commands.push(SeenCommand { levels: levels.clone() });
                    }
                    self.nested(&name, text, &mut within);
                }
                ProgramEffect::Input => {
                    if let StandardInput::Text(text) = scope.input.clone() {
                        alone = false;
                        self.found.commands.push(SeenCommand { levels: levels.clone() });
                        within.input = StandardInput::Unknown;
                        self.nested(&name, &text, &mut within);
                    }
                }
                ProgramEffect::Sets(variable, value) => {
                    self.assigned(variable, None);
                    self.placed(variable, value, &within);
                    self.hand(variable, value.as_text(), &within);
                }
                ProgramEffect::Folder(path) => within.folders = within.folders.moved(path),
                ProgramEffect::Writes(path, tree) => self.writes(path, *tree, command::WriteCause::Program, &within),
                ProgramEffect::Moves(moved) => {
                    let folders = Some(within.folders.clone());
                    self.found.moves.push(WorkTreeMove { folders, ..moved.clone() });
                }
                ProgramEffect::Works(place) => {
                    self.writes(place, TreeEffect::No, command::WriteCause::Work, &within);
                }
                ProgramEffect::Copies(path) => self.writes(path, TreeEffect::Yes, command::WriteCause::Copy, &within),
                ProgramEffect::Ask(_)
                | ProgramEffect::AskUnlessNamed(_)
                | ProgramEffect::Doubt(_)
                | ProgramEffect::Fragile(..)
                | ProgramEffect::Opaque(_)
                | ProgramEffect::Guarded(_)
                | ProgramEffect::Setting(..)
                | ProgramEffect::Code(_) => {}
            }
        }
        if alone {
            self.found.commands.push(SeenCommand { levels });
        }
        // These builtins run a command in the shell itself. So if the command changes the folder, the shell stays in
        // the new folder.
        if matches!(name.as_str(), "eval" | "command" | "builtin") {
            scope.folders = std::mem::replace(&mut scope.folders, CommandFolders::Unknown).and(within.folders);
        }
    }

    /// Reads a command text that a program passes to a shell, as `sh -c text` does.
    fn nested(&mut self, name: &str, text: &str, within: &mut WalkScope) {
        within.foreign |= !matches!(name, "bash" | "eval");
        within.set.clear();
        if within.depth > DEPTH_MAX {
            self.ask(format!("more than {DEPTH_MAX} wrappers in each other"));
        } else {
            self.text(text, within);
        }
    }
}
