//! Scripts that a text writes and then runs: what it writes into them is looked at.

use super::{Judge, code, shown};
use crate::gate::command::{Arg, Found, Level, Spot};
use crate::gate::options::base;
use crate::gate::{Decision, rule, table, wrapper};

/// Programs with the file that they run when none is named.
const DEFAULTS: &[(&[&str], &[&str])] = &[
    (&["make", "gmake"], &["Makefile", "makefile", "GNUmakefile"]),
    (&["npm", "pnpm", "yarn", "bun", "npx"], &["package.json"]),
    (&["just"], &["justfile", "Justfile"]),
    (&["rake"], &["Rakefile"]),
];

impl Judge<'_> {
    /// Asks where a file is written and run, and a rule is for something in the texts that may be in it.
    pub(super) fn prepared(&mut self, found: &Found) {
        let written: Vec<&str> = found
            .writes
            .iter()
            .filter_map(|write| match &write.spot {
                Some(Spot::At(path)) => Some(base(path)),
                Some(Spot::Inside(_) | Spot::Matching { .. } | Spot::Named { .. }) | None => None,
            })
            .collect();
        let levels = || found.commands.iter().flat_map(|seen| &seen.levels);
        let Some(level) = levels().find(|level| runs_one_of(level, &written)) else { return };
        let shown = shown(level);
        for (number, words, rule) in self.commands().filter(|(_, _, rule)| rule.decision != Decision::Allow) {
            if found.texts.iter().any(|text| rule::stands_in_text(words, text)) {
                let text =
                    format!("`{shown}` runs what is written here, and gate {number} ({}) is for it", rule.shown());
                self.decide(Decision::Ask, text);
            }
        }
        let paths = found.texts.iter().filter(|text| !code::only_reads(text)).flat_map(|text| code::paths_in(text));
        self.may_write(paths.collect(), level);
    }
}

/// Whether a command runs a file with one of these names.
fn runs_one_of(level: &Level, written: &[&str]) -> bool {
    let Some((program, rest)) = level.words.split_first() else { return false };
    let (path, name) = (program.as_text(), base(program.as_text()));
    let reads = table::is_interpreter(name) || wrapper::interprets(name) || matches!(name, "." | "source");
    let named = |word: &Arg| written.contains(&base(word.as_text()));
    let default = DEFAULTS
        .iter()
        .any(|(programs, files)| programs.contains(&name) && files.iter().any(|file| written.contains(file)));
    path.contains('/') && written.contains(&name) || reads && rest.iter().any(named) || default
}
