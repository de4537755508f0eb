//! Rules in the arguments of programs that are not known: they may run or write what they name.

use std::collections::HashSet;

use super::{Judge, code, shown};
use crate::gate::command::{Arg, By, Folders, Found, Level, Spot, Write};
use crate::gate::{Decision, options, program, rule};

/// Options of programs that are not known whose value, or whose operands, are mostly files that they write.
const OUTPUTS: &[&str] = &[
    "-o",
    "-O",
    "-w",
    "-i",
    "--output",
    "--output-file",
    "--out",
    "--outfile",
    "--out-file",
    "--out-dir",
    "--outdir",
    "--output-dir",
    "--output-path",
    "--outFile",
    "--outDir",
    "--dest",
    "--destination",
    "--target-dir",
    "--write",
    "--in-place",
    "--inplace",
    "--fix",
    "--save",
    "--dist-dir",
    "--log-file",
    "--logfile",
];

/// Paths in the arguments of one command that are looked at.
const PATHS_MAX: usize = 500;

impl Judge<'_> {
    /// An argument of a program that is not known: what a rule asks about or denies in it is asked about, and nothing else.
    pub(super) fn suspect(&mut self, found: &Found) {
        // The first that asks is enough.
        if self.decision != Decision::Allow {
            return;
        }
        let mut inner = Self::new(self.rules, (Decision::Allow, Decision::Allow), self.directory);
        for level in found.commands.iter().flat_map(|seen| &seen.levels) {
            for (number, words, rule) in self.commands().filter(|(_, _, rule)| rule.decision != Decision::Allow) {
                if rule::is_likely(words, &level.words) {
                    let text = format!("gate {number} ({}) is for `{}`", rule.shown(), shown(level));
                    inner.decide(Decision::Ask, text);
                }
            }
        }
        for write in found.writes.iter().filter(|write| write.spot.is_some()).take(super::WRITES_MAX) {
            if inner.decision == Decision::Allow {
                inner.write(write);
            }
        }
        if found.writes.len() > super::WRITES_MAX {
            inner.decide(Decision::Ask, "more paths are written than are looked at");
        }
        for reason in &found.guarded {
            inner.decide(Decision::Ask, reason.clone());
        }
        if inner.decision != Decision::Allow {
            let reason = inner.reasons.first().cloned().unwrap_or_default();
            self.decide(Decision::Ask, format!("an argument that may be run: {reason}"));
        }
    }

    /// Looks for rules in the arguments of a program that may run or write what they name.
    pub(super) fn search(&mut self, level: &Level) {
        let arguments = level.words.get(1..).unwrap_or_default();
        let name = level.words.first().map(|word| options::base(word.as_text())).unwrap_or_default();
        let shown = shown(level);
        for (number, words, rule) in self.commands().filter(|(_, _, rule)| rule.decision != Decision::Allow) {
            let in_text = || level.codes.iter().any(|text| rule::stands_in_text(words, text));
            if rule::stands_in(words, arguments) || in_text() {
                let text = format!("`{shown}` may run what gate {number} ({}) is for", rule.shown());
                self.decide(Decision::Ask, text);
            }
        }
        let at = |path: String| Spot::At(path);
        let mut written: Vec<Spot> = self.outputs(arguments).into_iter().map(at).collect();
        let reads = |text: &String| program::is_language(name) && code::only_reads(text);
        let codes: Vec<&String> = level.codes.iter().filter(|text| !reads(text)).collect();
        written.extend(codes.iter().flat_map(|text| code::paths_in(text)));
        // A text that writes may write what its arguments name.
        if !codes.is_empty() && program::is_language(name) {
            let plain = |word: &&String| !word.starts_with('-') && !word.contains([' ', '\n', '(', ';']);
            written.extend(arguments.iter().filter_map(|word| word.text.as_ref()).filter(plain).cloned().map(at));
        }
        self.may_write(written, level);
    }

    /// Asks where one of these paths is one that a rule asks about or denies.
    pub(super) fn may_write(&mut self, mut written: Vec<Spot>, level: &Level) {
        let shown = shown(level);
        let mut seen = HashSet::new();
        written.retain(|spot| seen.insert(spot.clone()));
        if written.len() > PATHS_MAX {
            self.decide(Decision::Ask, format!("`{shown}` has more paths in its text than are looked at"));
        }
        for spot in written.into_iter().take(PATHS_MAX) {
            let folders = match &level.folders {
                Folders::Known(folders) => Folders::Known(folders.clone()),
                // A program whose folder is not known is taken to run in that of the call.
                Folders::Unknown => Folders::Known(vec![self.directory.to_owned()]),
            };
            let path = spot.path().to_owned();
            let tree = matches!(spot, Spot::Matching { .. });
            let write = Write { spot: Some(spot), folders, tree, by: By::Program };
            let mut inner = Self::new(self.rules, (Decision::Allow, Decision::Allow), self.directory);
            inner.write(&write);
            if inner.decision != Decision::Allow {
                self.decide(Decision::Ask, format!("`{shown}` may write {path:?}, which a gate is for"));
            }
        }
    }

    /// Arguments of a program that is not known which are likely to be written.
    fn outputs(&self, arguments: &[Arg]) -> Vec<String> {
        let mut found = Vec::new();
        let mut writes = false;
        for word in arguments {
            let Some(text) = word.text.as_deref() else { continue };
            let (option, value) = text.split_once('=').map_or((text, None), |(option, value)| (option, Some(value)));
            if OUTPUTS.contains(&option) || is_bundled_output(option) {
                writes = true;
                found.extend(value.map(str::to_owned));
            } else if let Some(value) = text.strip_prefix("-o").filter(|value| !value.is_empty()) {
                found.push(value.to_owned());
            }
        }
        if writes {
            found.extend(arguments.iter().filter_map(|word| word.text.clone()).filter(|text| !text.starts_with('-')));
        }
        found
    }
}

/// Letters in one word of which the last is `o`: `-fo file`.
fn is_bundled_output(option: &str) -> bool {
    let letters = option.strip_prefix('-').unwrap_or_default();
    letters.len() <= 5 && letters.ends_with('o') && letters.chars().all(|letter| letter.is_ascii_alphabetic())
}
