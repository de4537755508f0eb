//! Applies the gate rules to the commands and writes that were found in a tool call. The result is the strictest
//! decision, with its reasons.

mod code;
mod copied;
mod moved;
mod outputs;
mod prepared;
mod search;
mod write;

use std::cell::OnceCell;
use std::collections::HashSet;
use std::path::{Path, PathBuf};

use super::command::{CommandLevel, FoundActs, SeenCommand};
use super::rule::{self, GateRule, Matter};
use super::{GateDecision, GateVerdict};
use crate::programs::{options, program};

/// The largest number of reasons in the verdict about a tool call. Of further reasons only the number is reported.
const REASONS_MAX: usize = 3;
/// The largest number of written paths that are checked in one tool call. A person must approve a call with more paths,
/// because each check reads the disk.
pub(super) const WRITES_MAX: usize = 2_000;
/// The largest number of words of a command that a message shows. `…` stands for the other words.
const WORDS_SHOWN: usize = 6;
/// The largest number of letters of one word that a message shows. `…` stands for the other letters.
const LETTERS_SHOWN: usize = 60;

pub(super) struct Judge<'g> {
    rules: &'g [GateRule],
    /// The decision for a command or a path that no gate rule names.
    otherwise: GateDecision,
    /// The decision for programs that cannot be analyzed, such as an unknown script.
    opaque: GateDecision,
    directory: &'g Path,
    decision: GateDecision,
    reasons: Vec<String>,
    /// The roots of the repositories around the folder of the tool call. The globs of gate rules start at these roots.
    /// The field is filled when the first path is checked.
    here: OnceCell<Vec<PathBuf>>,
    /// The hook folders that the repositories' git settings name, such as `.husky`. Git's default hook folders are not
    /// among them.
    hooks: OnceCell<Vec<PathBuf>>,
    /// True if `/dev/stdout` may lead to a file, because the command text opens or copies file descriptors.
    reopened: bool,
}

impl<'g> Judge<'g> {
    pub(super) fn new(
        rules: &'g [GateRule],
        (otherwise, opaque): (GateDecision, GateDecision),
        directory: &'g Path,
    ) -> Self {
        Self {
            rules,
            otherwise,
            opaque,
            directory,
            decision: GateDecision::Allow,
            reasons: Vec::new(),
            here: OnceCell::new(),
            hooks: OnceCell::new(),
            reopened: false,
        }
    }

    pub(super) fn verdict(self) -> GateVerdict {
        let Self { decision, mut reasons, .. } = self;
        reasons.dedup();
        let more = reasons.len().saturating_sub(REASONS_MAX);
        reasons.truncate(REASONS_MAX);
        let mut reason = reasons.join("; ");
        if more > 0 {
            reason.push_str(&format!("; and {more} more"));
        }
        let next = match decision {
            GateDecision::Allow => "",
            GateDecision::Ask => ". Rules are in .handover/config.toml",
            GateDecision::Deny => {
                ". Do it in another way, or tell the person: only they change the rules in .handover/config.toml"
            }
        };
        reason.push_str(next);
        GateVerdict { decision, reason }
    }

    pub(super) fn decide(&mut self, decision: GateDecision, reason: impl Into<String>) {
        if decision > self.decision {
            self.decision = decision;
            self.reasons.clear();
        }
        if decision == self.decision && decision != GateDecision::Allow {
            self.reasons.push(reason.into());
        }
    }

    pub(super) fn found(&mut self, found: &FoundActs) {
        for reason in found.asks.iter().chain(&found.guarded) {
            self.decide(GateDecision::Ask, format!("ask: {reason}"));
        }
        for reason in &found.opaques {
            self.decide(self.opaque, format!("ask: {reason}"));
        }
        for seen in &found.commands {
            self.command(seen);
        }
        self.reopened |= found.reopened;
        let mut seen = HashSet::new();
        for write in found.writes.iter().filter(|write| seen.insert(*write)).take(WRITES_MAX) {
            self.write(write);
        }
        if found.writes.len() > WRITES_MAX {
            self.decide(GateDecision::Ask, "ask: more paths are written than are looked at");
        }
        for moved in &found.moves {
            self.moved(moved, &found.commands);
        }
        if self.narrows_writes() || self.commands().any(|(_, _, rule)| rule.decision != GateDecision::Allow) {
            for doubt in &found.doubts {
                self.decide(GateDecision::Ask, format!("ask: {doubt}; write the words out"));
            }
        }
        for suspect in &found.suspects {
            self.suspect(suspect);
        }
        self.copied(&found.commands);
        self.prepared(found);
    }

    /// Tells whether a gate rule of the configuration asks about writes to paths, or denies them.
    fn narrows_writes(&self) -> bool {
        self.rules.iter().any(|rule| matches!(rule.matter, Matter::Write(_)) && rule.decision != GateDecision::Allow)
    }

    fn commands(&self) -> impl Iterator<Item = (usize, &'g [String], &'g GateRule)> + use<'g> {
        self.rules.iter().enumerate().filter_map(|(number, rule)| match &rule.matter {
            Matter::Command(words) => Some((number + 1, words.as_slice(), rule)),
            Matter::Write(_) => None,
        })
    }

    fn command(&mut self, seen: &SeenCommand) {
        let mut allowed_to = 0;
        for (number, level) in seen.levels.iter().enumerate() {
            let last = number + 1 == seen.levels.len();
            let named = self.level(level);
            if let Some(words) = named.allowed {
                // A long gate rule for a wrapper also names the inner command, and allows this command, too. Example:
                // the rule `sudo rm` for `sudo rm x` has more words than there are before the inner command `rm x`.
                let within = level.inner.is_some_and(|inner| words > inner);
                allowed_to = allowed_to.max(number + 1 + usize::from(within));
            }
            if let Some(reason) = level.ask.as_ref().filter(|_| !named.any) {
                self.decide(GateDecision::Ask, format!("ask: {reason}"));
            }
            if let Some(reason) = level.opaque.as_ref().filter(|_| !named.any) {
                self.decide(self.opaque, format!("ask: {reason}"));
            }
            self.doubts(level, named.any);
            if level.searched {
                self.search(level);
            }
            let harmless = level.words.first().is_some_and(|word| program::is_harmless(word.as_text()));
            if ((last && !level.holds) || level.matters) && allowed_to <= number && !named.any && !harmless {
                let shown = shown(level);
                self.decide(self.otherwise, format!("no rule allows `{shown}`"));
            }
        }
    }

    /// Judges a command with options that the program's option table does not have. A person must approve the command
    /// when a gate rule names the program or restricts writes. Otherwise the decision for programs that cannot be
    /// analyzed applies.
    fn doubts(&mut self, level: &CommandLevel, named: bool) {
        let Some(doubt) = level.doubts.first() else { return };
        let program = level.words.first().map(|word| options::base(word.as_text())).unwrap_or_default();
        let names = |(_, words, rule): (usize, &[String], &GateRule)| {
            rule.decision != GateDecision::Allow && words.first().is_some_and(|word| options::base(word) == program)
        };
        let shown = shown(level);
        if self.narrows_writes() || self.commands().any(names) {
            self.decide(GateDecision::Ask, format!("ask: `{shown}` has {doubt}, which may write or run something"));
        } else if !named {
            self.decide(self.opaque, format!("ask: `{shown}` has {doubt}, which is not looked into"));
        }
    }

    fn level(&mut self, level: &CommandLevel) -> NamedByRules {
        let mut named = NamedByRules { any: false, allowed: None };
        for (number, words, rule) in self.commands() {
            if rule.decision == GateDecision::Allow {
                if rule::allows(words, &level.words) {
                    named.any = true;
                    named.allowed = Some(named.allowed.unwrap_or(0).max(words.len()));
                }
                continue;
            }
            let shown = || shown(level);
            match rule::concerns(words, &level.words).max(self.linked(words, level)) {
                rule::RuleFit::No => {}
                rule::RuleFit::Yes => {
                    named.any = true;
                    self.decide(rule.decision, format!("gate {number} ({}) is for `{}`", rule.shown(), shown()));
                }
                rule::RuleFit::Perhaps => {
                    let text =
                        format!("`{}` may be what gate {number} ({}) is for; spell it out", shown(), rule.shown());
                    self.decide(GateDecision::Ask, text);
                }
            }
        }
        named
    }
}

/// A summary of the gate rules that name one command.
struct NamedByRules {
    any: bool,
    /// The number of words of the longest gate rule that allows the command. None when no rule allows it.
    allowed: Option<usize>,
}

fn shown(level: &CommandLevel) -> String {
    let short = |word: &str| match word.char_indices().nth(LETTERS_SHOWN) {
        Some((end, _)) => format!("{}…", &word[..end]),
        None => word.to_owned(),
    };
    let mut words: Vec<String> = level.words.iter().take(WORDS_SHOWN).map(|word| short(word.shown())).collect();
    if level.words.len() > WORDS_SHOWN {
        words.push("…".to_owned());
    }
    if let Some(first) = words.first_mut() {
        *first = options::base(first).to_owned();
    }
    words.join(" ").replace(['\n', '`'], " ")
}
