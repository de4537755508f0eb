//! Searches the arguments of unknown programs for the commands and paths that gate rules name, because an unknown
//! program may run or write them.

use std::collections::HashSet;

use super::code::ComputedCalls;
use super::outputs::outputs;
use super::{Judge, code, shown};
use crate::command::{Arg, CommandFolders, CommandLevel, FoundActs, PathWrite, WriteCause};
use crate::programs::{options, program};
use crate::spot::PathSpot;
use crate::{GateDecision, rule};

/// The largest number of paths that are checked in the arguments of one command. A command with more paths needs a
/// person's approval.
const PATHS_MAX: usize = 500;

impl Judge<'_> {
    /// Judges an argument of an unknown program as if it were a command. A person must approve the call only if this
    /// command does something that a gate rule asks about or denies, or changes settings that control agents or git.
    pub(crate) fn suspect(&mut self, found: &FoundActs) {
        // Look for no further reasons if a person must already approve the call, or if it is denied.
        if self.decision != GateDecision::Allow {
            return;
        }
        let mut inner = Self::new(self.rules, (GateDecision::Allow, GateDecision::Allow), self.directory);
        for level in found.commands.iter().flat_map(|seen| &seen.levels) {
            for (number, words, rule) in self.commands().filter(|(_, _, rule)| rule.decision != GateDecision::Allow) {
                if rule::is_likely(words, &level.words) {
                    let text = format!("gate {number} ({}) is for `{}`", rule.shown(), shown(level));
                    inner.decide(GateDecision::Ask, text);
                }
            }
        }
        for write in found.writes.iter().filter(|write| write.spot.is_some()).take(super::WRITES_MAX) {
            if inner.decision == GateDecision::Allow {
                inner.write(write);
            }
        }
        if found.writes.len() > super::WRITES_MAX {
            inner.decide(GateDecision::Ask, "more paths are written than are looked at");
        }
        for reason in &found.guarded {
            inner.decide(GateDecision::Ask, reason.clone());
        }
        for level in found.commands.iter().flat_map(|seen| &seen.levels).filter(|level| level.searched) {
            if inner.decision == GateDecision::Allow {
                inner.search(level);
            }
        }
        for moved in &found.moves {
            if inner.decision == GateDecision::Allow {
                inner.moved(moved, &found.commands);
            }
        }
        if inner.decision != GateDecision::Allow {
            let reason = inner.reasons.first().cloned().unwrap_or_default();
            self.decide(GateDecision::Ask, format!("an argument that may be run: {reason}"));
        }
    }

    /// Compares the name of a tool with the gate rules about commands. A person must approve the call when the tool's
    /// name, alone or with a value of its input, is the command of a rule: the tool `git_push` for the rule `git push`.
    /// A tool of the client itself (`foreign` is false) may have the name of a program by chance, so a rule of one word
    /// does not apply to it.
    pub(crate) fn named_after(&mut self, words: &[String], foreign: bool) {
        let words: Vec<Arg> = words.iter().map(|word| Arg::known(word)).collect();
        for (number, wanted, rule) in self.commands().filter(|(_, _, rule)| rule.decision != GateDecision::Allow) {
            if (foreign || wanted.len() > 1) && rule::stands_in(wanted, &words) {
                let shown = words.iter().map(Arg::as_text).collect::<Vec<&str>>().join(" ");
                let text = format!("the tool `{shown}` may do what gate {number} ({}) is for", rule.shown());
                self.decide(GateDecision::Ask, text);
            }
        }
    }

    /// Searches the arguments of a program for the commands and paths that gate rules name, because the program may run
    /// or write them.
    pub(super) fn search(&mut self, level: &CommandLevel) {
        let arguments = level.words.get(1..).unwrap_or_default();
        let name = level.words.first().map(|word| options::base(word.as_text())).unwrap_or_default();
        let shown = shown(level);
        for (number, words, rule) in self.commands().filter(|(_, _, rule)| rule.decision != GateDecision::Allow) {
            let in_text = || level.codes.iter().any(|text| rule::stands_in_text(words, text));
            if rule::stands_in(words, arguments) || in_text() {
                let text = format!("`{shown}` may run what gate {number} ({}) is for", rule.shown());
                self.decide(GateDecision::Ask, text);
            }
        }
        let at = |path: String| PathSpot::At(path);
        let mut written: Vec<PathSpot> = outputs(name, arguments).into_iter().map(at).collect();
        let reads = |text: &String| program::is_language(name) && code::only_reads(text);
        let (reading, codes): (Vec<&String>, Vec<&String>) = level.codes.iter().partition(|text| reads(text));
        written.extend(reading.iter().flat_map(|text| code::handed(text, name)));
        written.extend(codes.iter().flat_map(|text| code::paths_in(text)));
        for text in &codes {
            written.extend(self.computed(text, name, level));
        }
        // The code of `python -c code file` may write the files that the other arguments name.
        if !codes.is_empty() && program::is_language(name) {
            let plain = |word: &&String| !word.starts_with('-') && !word.contains([' ', '\n', '(', ';']);
            written.extend(arguments.iter().filter_map(|word| word.text.as_ref()).filter(plain).cloned().map(at));
        }
        self.may_write(written, level);
    }

    /// Judges the commands that code puts together from literals and variables. Returns the paths that the code may
    /// write.
    fn computed(&mut self, text: &str, name: &str, level: &CommandLevel) -> Vec<PathSpot> {
        let shown = shown(level);
        let plain = crate::shell::unescaped(text);
        let ComputedCalls { folded, hidden, beginnings, mut walked } = code::calls(text, name);
        walked.extend(code::paths_in(&folded));
        walked.extend(code::paths_in(&plain));
        for (number, words, rule) in self.commands().filter(|(_, _, rule)| rule.decision != GateDecision::Allow) {
            let begins = |text: &String| rule::may_begin(words, text);
            if rule::stands_in_text(words, &folded)
                || rule::stands_in_text(words, &plain)
                || beginnings.iter().any(begins)
            {
                let text = format!("`{shown}` may run what gate {number} ({}) is for", rule.shown());
                self.decide(GateDecision::Ask, text);
            }
        }
        let writes = |text: &&String| self.narrows_writes() && program::is_writer(text);
        let unclear = beginnings.iter().find(writes).map(|text| format!("a command that begins with {text:?}"));
        if let Some(reason) =
            hidden.or(unclear).filter(|_| self.rules.iter().any(|rule| rule.decision != GateDecision::Allow))
        {
            self.decide(
                GateDecision::Ask,
                format!("`{shown}` has {reason}; write them out, or put the code into a file"),
            );
        }
        walked
    }

    /// Judges paths that a command may write. A person must approve the command when a gate rule asks about or denies a
    /// write to one of these paths.
    pub(super) fn may_write(&mut self, mut written: Vec<PathSpot>, level: &CommandLevel) {
        let shown = shown(level);
        let mut seen = HashSet::new();
        written.retain(|spot| seen.insert(spot.clone()));
        if written.len() > PATHS_MAX {
            self.decide(GateDecision::Ask, format!("`{shown}` has more paths in its text than are looked at"));
        }
        for spot in written.into_iter().take(PATHS_MAX) {
            let folders = match &level.folders {
                CommandFolders::Known(folders) => CommandFolders::Known(folders.clone()),
                // If the working folder of the program is unknown, judge the program as if it ran in the folder of the
                // tool call.
                CommandFolders::Unknown => CommandFolders::Known(vec![self.directory.to_owned()]),
            };
            let path = spot.path().to_owned();
            let tree = matches!(spot, PathSpot::Matching { .. });
            let write = PathWrite { spot: Some(spot), folders, tree, by: WriteCause::Program };
            let mut inner = Self::new(self.rules, (GateDecision::Allow, GateDecision::Allow), self.directory);
            inner.write(&write);
            if inner.decision != GateDecision::Allow {
                self.decide(GateDecision::Ask, format!("`{shown}` may write {path:?}, which a gate is for"));
            }
        }
    }
}
