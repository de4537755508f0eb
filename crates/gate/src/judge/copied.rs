//! Finds programs that run under another name: through a copy of the program, or through a link to it.

use super::{Judge, shown};
use crate::command::{Arg, CommandFolders, CommandLevel, SeenCommand};
use crate::programs::options::base;
use crate::programs::program::is_of_the_system;
use crate::rule::{self, RuleFit};
use crate::{GateDecision, place};

/// Programs that copy a file or give it a second name. With them an agent can run a program under another name.
const COPIES: &[&str] = &["cp", "ln", "mv", "install", "link", "rsync", "dd"];

impl Judge<'_> {
    /// Compares a gate rule with a program that is given by its path, such as `./tool`. If the path is a link to the
    /// rule's program, the rule applies.
    pub(super) fn linked(&self, words: &[String], level: &CommandLevel) -> RuleFit {
        let Some((program, rest)) = level.words.split_first() else { return RuleFit::No };
        let (path, wanted) = (program.as_text(), words.first().map(|word| base(word)).unwrap_or_default());
        if !path.contains('/') || base(path) == wanted {
            return RuleFit::No;
        }
        let folders = match &level.folders {
            CommandFolders::Known(folders) => folders.as_slice(),
            CommandFolders::Unknown => &[],
        };
        let leads = |folder: &std::path::PathBuf| {
            let real = place::resolve(&folder.join(path));
            real.is_some_and(|real| real.file_name().is_some_and(|name| name.to_string_lossy() == wanted))
        };
        if !folders.iter().any(leads) {
            return RuleFit::No;
        }
        let respelled: Vec<Arg> = std::iter::once(Arg::known(wanted)).chain(rest.iter().cloned()).collect();
        rule::concerns(words, &respelled)
    }

    /// Handles a command text that copies a program of the system and also runs a program by its path, such as `./x`.
    /// The second program may be the copy, whose options the gate does not know. So a person must approve the command
    /// text if a gate rule restricts writes.
    fn copied_writer(&mut self, commands: &[SeenCommand]) {
        let levels = || commands.iter().flat_map(|seen| &seen.levels);
        let copies = |level: &CommandLevel| {
            let program = level.words.first().map(|word| base(word.as_text())).unwrap_or_default();
            let is_program = |word: &Arg| is_of_the_system(word.as_text().trim_start_matches("if="));
            COPIES.contains(&program) && level.words.iter().skip(1).any(is_program)
        };
        let by_path = |level: &&CommandLevel| {
            let path = level.words.first().map(Arg::as_text).unwrap_or_default();
            path.contains('/') && !is_of_the_system(path) && level.words.len() > 1
        };
        if self.narrows_writes()
            && levels().any(copies)
            && let Some(level) = levels().find(by_path)
        {
            let text = format!("`{}` may be a copy of a program that writes what a gate is for", shown(level));
            self.decide(GateDecision::Ask, text);
        }
    }

    /// Handles copies of a program that a gate rule names. A person must approve a command text that makes such a copy.
    /// A person must also approve a command text that runs a program by its path (`./x`), if that program may be such a
    /// copy.
    pub(super) fn copied(&mut self, commands: &[SeenCommand]) {
        self.copied_writer(commands);
        let levels = || commands.iter().flat_map(|seen| &seen.levels);
        for (number, words, rule) in self.commands().filter(|(_, _, rule)| rule.decision != GateDecision::Allow) {
            let wanted = words.first().map(|word| base(word)).unwrap_or_default();
            let names = |word: &Arg| {
                let text = word.as_text().strip_prefix("if=").unwrap_or(word.as_text());
                base(text) == wanted && is_of_the_system(text)
            };
            let made = |level: &&CommandLevel| {
                let program = level.words.first().map(|word| base(word.as_text())).unwrap_or_default();
                COPIES.contains(&program) && level.words.iter().skip(1).any(names)
            };
            if let Some(level) = levels().find(made) {
                let text =
                    format!("`{}` copies the program that gate {number} ({}) is for", shown(level), rule.shown());
                self.decide(GateDecision::Ask, text);
                continue;
            }
            // True if the command text mentions the program that the gate rule names, as `which git` does. If the text
            // also runs a program by its path with the words of the rule (`./x push`), that program may be a copy.
            let named = levels().any(|level| {
                let asks_where = matches!(level.words.first().map(Arg::as_text), Some("which" | "command" | "type"));
                level.words.iter().skip(1).any(|word| names(word) || asks_where && word.as_text() == wanted)
            });
            let by_path = |level: &&CommandLevel| {
                let Some((program, rest)) = level.words.split_first() else { return false };
                let path = program.as_text();
                let respelled =
                    || std::iter::once(Arg::known(wanted)).chain(rest.iter().cloned()).collect::<Vec<Arg>>();
                path.contains('/') && !is_of_the_system(path) && rule::concerns(words, &respelled()) == RuleFit::Yes
            };
            if let Some(level) = levels().find(|level| named && by_path(level)) {
                let text = format!("`{}` may be a copy of what gate {number} ({}) is for", shown(level), rule.shown());
                self.decide(GateDecision::Ask, text);
            }
        }
    }
}
