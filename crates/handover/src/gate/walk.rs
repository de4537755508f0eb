//! From a text to every command and every write in it.
//!
//! The walk knows what a shell does and nothing of rules: it follows lists, pipes, substitutions and functions, keeps in mind
//! which folder a command runs in, and unwraps programs that run others.

mod builtin;
mod compound;
mod simple;

use std::collections::BTreeSet;
use std::path::Path;

use brush_parser::{Parser, ParserOptions};

use super::command::{Arg, Folders, Found, Level, Seen, Spot, Write};
use super::script::{self, Script};
use super::word::Word;
use super::wrapper::{self, Inner, Tree};
use super::{command, options, program, writer};

/// Wrappers in wrappers, and texts in texts.
const DEPTH_MAX: u32 = 8;
/// Longer commands are not read.
pub(super) const TEXT_BYTES_MAX: usize = 16 << 10;
/// What opens something in a skeleton. The parser recurses into it, and its stack must hold all of them.
const OPENERS_MAX: usize = 400;
/// The parser reads the last part of a `case` twice, so these double its time.
const CASES_MAX: usize = 8;

#[derive(Debug)]
pub(super) struct Walk {
    pub(super) found: Found,
    /// Variables that are computed with.
    computed: BTreeSet<String>,
    /// Variables that were given numbers.
    numbers: BTreeSet<String>,
    /// Variables that were given something else.
    others: BTreeSet<String>,
}

/// Where and how deep.
#[derive(Debug, Clone)]
pub(super) struct Scope {
    pub(super) folders: Folders,
    pub(super) depth: u32,
    /// A shell other than bash may read it: words that only bash knows are then not what they seem.
    pub(super) foreign: bool,
}

/// Reads a text as a shell would that is started in this folder.
pub(super) fn text(text: &str, directory: &Path) -> Found {
    let mut walk = Walk::new();
    let mut scope = Scope::new(directory);
    walk.text(text, &mut scope);
    walk.finish()
}

/// Judges words that are started without a shell.
pub(super) fn words(words: &[String], directory: &Path) -> Found {
    let mut walk = Walk::new();
    let mut scope = Scope::new(directory);
    let words: Vec<Arg> = words.iter().map(|word| Arg::known(word)).collect();
    walk.command(&words, &[], &mut scope);
    walk.finish()
}

impl Scope {
    fn new(directory: &Path) -> Self {
        Self { folders: Folders::Known(vec![directory.to_owned()]), depth: 0, foreign: false }
    }
}

impl Walk {
    fn new() -> Self {
        Self { found: Found::default(), computed: BTreeSet::new(), numbers: BTreeSet::new(), others: BTreeSet::new() }
    }

    fn finish(mut self) -> Found {
        for name in &self.computed {
            if !self.numbers.contains(name) || self.others.contains(name) {
                self.found
                    .asks
                    .push(format!("a computation with {name}, which may hold a command; give it a number first"));
            }
        }
        self.found
    }

    fn ask(&mut self, reason: impl Into<String>) {
        self.found.asks.push(reason.into());
    }

    fn text(&mut self, text: &str, scope: &mut Scope) {
        if text.len() > TEXT_BYTES_MAX {
            return self.ask(format!("a command of more than {} KiB", TEXT_BYTES_MAX >> 10));
        }
        match script::read(text) {
            Ok(script) => self.script(&script, scope),
            Err(script::Unread(reason)) => self.ask(format!("what cannot be read for sure: {reason}")),
        }
    }

    fn script(&mut self, script: &Script, scope: &mut Scope) {
        self.computed.extend(script.computed.iter().cloned());
        self.numbers.extend(script.numbers.iter().cloned());
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

    /// What is run in order to know a word.
    fn inside(&mut self, word: &Word, scope: &Scope) {
        for script in &word.inner {
            self.script(script, &mut scope.clone());
        }
    }

    /// A variable is set; `value` when its word is known.
    fn assigned(&mut self, name: &str, value: Option<&Word>) {
        if program::changes_programs(name) {
            self.ask(format!("an assignment of {name}, which changes what programs do"));
        }
        if value.is_some_and(Word::is_number) {
            self.numbers.insert(name.to_owned());
        } else {
            self.others.insert(name.to_owned());
        }
    }

    fn writes(&mut self, path: &Arg, tree: Tree, by: command::By, scope: &Scope) {
        let inside = matches!(path.spot, Some(Spot::Inside(_)));
        let (spot, folders) = (path.spot.clone(), scope.folders.clone());
        self.found.writes.push(Write { spot, folders, tree: tree == Tree::Yes || inside, by });
    }

    /// A command in its wrappers. Folders change only by what runs in this shell.
    fn command(&mut self, words: &[Arg], outer: &[Level], scope: &mut Scope) {
        let Some(program) = words.first() else { return };
        let Some(name) = program.text.as_deref().map(options::base) else {
            return self.ask("a command whose first word is not one literal");
        };
        if scope.depth > DEPTH_MAX {
            return self.ask(format!("more than {DEPTH_MAX} wrappers in each other"));
        }
        let holds = wrapper::unwrap(words);
        let mut level = Level {
            ask: program::asks(words),
            inner: holds.iter().find_map(|inner| if let Inner::Rest(at) = inner { Some(*at) } else { None }),
            holds: holds.iter().any(|inner| matches!(inner, Inner::Rest(_) | Inner::Command(_) | Inner::Script(_))),
            matters: wrapper::matters(words),
            words: words.to_vec(),
        };
        if name == "eval" {
            level.ask = Some("eval runs a text".to_owned());
        }
        for inner in &holds {
            match inner {
                // A rule may name an interpreter; it cannot speak for a command that nobody sees.
                Inner::Ask(reason) if wrapper::interprets(name) => {
                    level.ask = level.ask.take().or_else(|| Some(reason.clone()));
                }
                Inner::Ask(reason) => self.ask(reason.clone()),
                Inner::Rest(_)
                | Inner::Command(_)
                | Inner::Script(_)
                | Inner::Sets(_)
                | Inner::Folder(_)
                | Inner::Writes(..) => {}
            }
        }
        let here = outer
            .iter()
            .all(|level| level.words.first().is_some_and(|word| matches!(word.as_text(), "command" | "builtin")));
        self.builtin(words, here, scope);
        for inner in writer::writes(words) {
            if let Inner::Writes(path, tree) = inner {
                self.writes(&path, tree, command::By::Program, scope);
            }
        }
        let mut levels = outer.to_vec();
        levels.push(level);
        self.held(&holds, words, levels, scope);
    }

    /// What a wrapper holds, or the command itself when it holds nothing.
    fn held(&mut self, holds: &[Inner], words: &[Arg], levels: Vec<Level>, scope: &mut Scope) {
        let name = words.first().map(|word| options::base(word.as_text()).to_owned()).unwrap_or_default();
        let mut within = Scope { depth: scope.depth + 1, ..scope.clone() };
        let mut alone = true;
        for inner in holds {
            match inner {
                Inner::Rest(at) => {
                    alone = false;
                    self.command(words.get(*at..).unwrap_or_default(), &levels, &mut within);
                }
                Inner::Command(words) => {
                    alone = false;
                    self.command(words, &levels, &mut within);
                }
                Inner::Script(text) => {
                    alone = false;
                    self.found.commands.push(Seen { levels: levels.clone() });
                    within.foreign |= !matches!(name.as_str(), "bash" | "eval");
                    if within.depth > DEPTH_MAX {
                        self.ask(format!("more than {DEPTH_MAX} wrappers in each other"));
                    } else {
                        self.text(text, &mut within);
                    }
                }
                Inner::Sets(variable) => self.assigned(variable, None),
                Inner::Folder(path) => within.folders = within.folders.moved(path),
                Inner::Writes(path, tree) => self.writes(path, *tree, command::By::Program, scope),
                Inner::Ask(_) => {}
            }
        }
        if alone {
            self.found.commands.push(Seen { levels });
        }
        // These run in the shell itself, and what they change stays.
        if matches!(name.as_str(), "eval" | "command" | "builtin") {
            scope.folders = std::mem::replace(&mut scope.folders, Folders::Unknown).and(within.folders);
        }
    }
}
