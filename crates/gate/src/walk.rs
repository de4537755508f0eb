//! Finds every command and every write in a text.
//!
//! The walk knows the shell and knows nothing about rules: it follows lists, pipes, substitutions and functions,
//! remembers in which folder a command runs, and unwraps programs that run others.

mod builtin;
mod compound;
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
use crate::programs::program::ProgramKnowledge;
use crate::programs::{git, options, program, wrapper};
use crate::shell::script::{self, ProgramText};
use crate::shell::word::ShellWord;
use crate::spot::PathSpot;
use variable::{VariableValue, VariableValues};

/// The largest depth of wrappers in wrappers, and of texts in texts.
const DEPTH_MAX: u32 = 8;
/// The longest command that is read, in bytes.
pub(super) const TEXT_BYTES_MAX: usize = 16 << 10;
/// The largest number of openings in a skeleton. The parser recurses into each of them, and its stack must hold them
/// all.
const OPENERS_MAX: usize = 400;
/// The largest number of `case` commands. The parser reads the last part of a `case` twice, so each one doubles its
/// time.
const CASES_MAX: usize = 8;
#[derive(Debug)]
pub(super) struct CommandWalk {
    pub(super) found: FoundActs,
    /// Variables that computations use.
    computed: BTreeSet<String>,
    /// Variables that were set to numbers.
    numbers: BTreeSet<String>,
    /// Variables that were set to something else.
    others: BTreeSet<String>,
    /// Functions that the text itself defines.
    functions: BTreeSet<String>,
    /// True if a variable was set to words that may become options where it is used.
    plants_options: bool,
    /// True if a variable was set to letters that may end the text into which it is inserted.
    plants_text: bool,
    /// Words that may be options, and texts with variables in them.
    fragile: Vec<(Fragility, String)>,
    /// The literal words of the last simple command, for the pipe after it.
    printed: Vec<String>,
    /// True if the text is only an argument of an unknown program.
    suspicious: bool,
    /// Values to which variables are set anywhere in the text.
    values: VariableValues,
    /// The same values, from a first reading of the text.
    constants: VariableValues,
    /// The values of loop variables in the round that is read.
    bound: BTreeMap<String, VariableValue>,
    /// The number of loop rounds that were read.
    rounds: usize,
}

/// The standard input of a command.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum StandardInput {
    /// The input that the client gives.
    Inherited,
    /// A here-document or a here-string.
    Text(String),
    /// A file that is given by its name.
    File,
    /// A here-document or a here-string with unknown parts.
    Partly(String),
    /// The output of other commands, as their literal words.
    Pipe(Vec<String>),
    Unknown,
}

/// The folder, the depth and the other conditions under which a command is read.
#[derive(Debug, Clone)]
pub(super) struct WalkScope {
    pub(super) folders: CommandFolders,
    pub(super) depth: u32,
    /// True if a shell other than bash may read the text. Words that only bash knows may then mean something else.
    pub(super) foreign: bool,
    pub(super) input: StandardInput,
    /// Variables that certainly have a value at this point.
    pub(super) set: BTreeSet<String>,
}

/// Reads a text like a shell that is started in this folder.
pub(super) fn text(text: &str, directory: &Path) -> FoundActs {
    let mut walk = CommandWalk::new();
    walk.text(text, &mut WalkScope::new(directory));
    let constants = std::mem::take(&mut walk.values);
    if constants.is_empty() {
        return walk.finish();
    }
    // A variable may be set again after its use, so all values are known only after a first reading.
    let mut walk = CommandWalk { constants, ..CommandWalk::new() };
    walk.text(text, &mut WalkScope::new(directory));
    walk.finish()
}

/// Reads words that are started without a shell.
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

    /// Reads the commands that run when a word is expanded.
    fn inside(&mut self, word: &ShellWord, scope: &WalkScope) {
        for script in &word.inner {
            self.script(script, &mut scope.clone());
        }
    }

    /// Records that a variable is set. `value` is its word, if that is known.
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

    /// Records that a variable that names a folder is set, because later commands write there.
    fn placed(&mut self, name: &str, value: &Arg, scope: &WalkScope) {
        let known = matches!(&value.spot, Some(PathSpot::At(path)) if !path.is_empty());
        if program::names_folder(name) && known {
            self.writes(value, TreeEffect::No, command::WriteCause::Program, scope);
        }
    }

    fn writes(&mut self, path: &Arg, tree: TreeEffect, by: command::WriteCause, scope: &WalkScope) {
        let inside = matches!(path.spot, Some(PathSpot::Inside(_)));
        let (spot, folders) = (path.spot.clone(), scope.folders.clone());
        self.found.writes.push(PathWrite { spot, folders, tree: tree == TreeEffect::Yes || inside, by });
    }

    /// Reads a command in its wrappers. The folders change only by commands that run in this shell.
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
        let does = if wraps { wrapper::unwrap(words) } else { effect::effects(words).unwrap_or_default() };
        let mut level = self.level(name, words, &does, scope);
        for effect in &does {
            match effect {
                // A rule that names an interpreter can allow it. For other programs, no rule can allow a command that
                // the gate cannot see.
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
                ProgramEffect::Rest(_)
                | ProgramEffect::Command(_)
                | ProgramEffect::Script(_)
                | ProgramEffect::Sets(..)
                | ProgramEffect::Folder(_)
                | ProgramEffect::Writes(..)
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
        // A rule may allow a shell whose text is not literal. The known parts of the text are read nevertheless.
        let partly = wrapper::interprets(name) && words.iter().any(|word| word.text.is_none());
        if level.searched || partly {
            self.suspect(words, scope);
        }
        let mut levels = outer.to_vec();
        levels.push(level);
        self.held(&does, words, levels, scope);
    }

    /// Returns the facts about one program, before its inner commands are read.
    fn level(&mut self, name: &str, words: &[Arg], does: &[ProgramEffect], scope: &WalkScope) -> CommandLevel {
        let wraps = wrapper::is_wrapper(name);
        let mut level = CommandLevel {
            ask: program::asks(words),
            opaque: None,
            doubts: Vec::new(),
            searched: false,
            codes: Vec::new(),
            inner: does.iter().find_map(|effect| if let ProgramEffect::Rest(at) = effect { Some(*at) } else { None }),
            holds: wraps
                && does.iter().any(|effect| {
                    matches!(effect, ProgramEffect::Rest(_) | ProgramEffect::Command(_) | ProgramEffect::Script(_))
                }),
            matters: wrapper::matters(words),
            folders: suspect::working_folders(words, &scope.folders),
            words: words.to_vec(),
        };
        level.ask = if name == "eval" { Some("eval runs a text".to_owned()) } else { level.ask };
        let made_here = self.functions.contains(words[0].as_text());
        match program::knowledge(words) {
            ProgramKnowledge::Known => {}
            // The body of this function was read, and it may run its arguments.
            ProgramKnowledge::Unknown(_) | ProgramKnowledge::Interpreter(_) if made_here => level.searched = true,
            ProgramKnowledge::Unknown(reason) => {
                level.opaque = Some(reason);
                level.searched = true;
            }
            ProgramKnowledge::Interpreter(reason) => {
                // awk and sed are parsed, and the parts that cannot be parsed are doubts.
                let read = matches!(name.trim_start_matches(['g', 'm', 'n']), "awk");
                level.opaque = Some(reason).filter(|_| !read);
                level.searched = !read;
                level.codes = if read { Vec::new() } else { suspect::codes(words, &scope.input) };
            }
        }
        for effect in does {
            match effect {
                ProgramEffect::AskUnlessNamed(reason) => {
                    level.ask = level.ask.take().or_else(|| Some(reason.clone()));
                }
                ProgramEffect::Doubt(option) => level.doubts.push(option.clone()),
                ProgramEffect::Opaque(reason) => {
                    level.opaque = level.opaque.take().or_else(|| Some(reason.clone()));
                    level.searched |= !git::is_git(name) && !wraps;
                }
                ProgramEffect::Code(text) => level.codes.push(text.clone()),
                ProgramEffect::Input => match &scope.input {
                    StandardInput::Text(_) => level.holds = true,
                    StandardInput::File => {
                        level.opaque = Some(format!("{name} runs a file, which is not looked into"));
                    }
                    StandardInput::Inherited
                    | StandardInput::Partly(_)
                    | StandardInput::Pipe(_)
                    | StandardInput::Unknown => {
                        level.ask = level.ask.take().or_else(|| Some(format!("{name} with commands from its input")));
                    }
                },
                ProgramEffect::Rest(_)
                | ProgramEffect::Command(_)
                | ProgramEffect::Script(_)
                | ProgramEffect::Sets(..)
                | ProgramEffect::Folder(_)
                | ProgramEffect::Writes(..)
                | ProgramEffect::Copies(_)
                | ProgramEffect::Ask(_)
                | ProgramEffect::Fragile(..)
                | ProgramEffect::Moves(_)
                | ProgramEffect::Setting(..) => {}
            }
        }
        level
    }

    /// Reads the commands that a program holds, or records the command itself when it holds none.
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
                }
                ProgramEffect::Folder(path) => within.folders = within.folders.moved(path),
                ProgramEffect::Writes(path, tree) => self.writes(path, *tree, command::WriteCause::Program, &within),
                ProgramEffect::Moves(moved) => {
                    let folders = Some(within.folders.clone());
                    self.found.moves.push(WorkTreeMove { folders, ..moved.clone() });
                }
                ProgramEffect::Copies(path) => self.writes(path, TreeEffect::Yes, command::WriteCause::Copy, &within),
                ProgramEffect::Ask(_)
                | ProgramEffect::AskUnlessNamed(_)
                | ProgramEffect::Doubt(_)
                | ProgramEffect::Fragile(..)
                | ProgramEffect::Opaque(_)
                | ProgramEffect::Setting(..)
                | ProgramEffect::Code(_) => {}
            }
        }
        if alone {
            self.found.commands.push(SeenCommand { levels });
        }
        // These run in the shell itself, and their changes stay.
        if matches!(name.as_str(), "eval" | "command" | "builtin") {
            scope.folders = std::mem::replace(&mut scope.folders, CommandFolders::Unknown).and(within.folders);
        }
    }

    /// Reads a text that a program passes to a shell.
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
