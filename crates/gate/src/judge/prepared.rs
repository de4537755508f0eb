//! Checks scripts that a command text first writes and then runs. The literal texts in the command text are judged,
//! because the script may consist of them.

use super::{Judge, code, shown};
use crate::command::{Arg, CommandLevel, FoundActs, WriteCause};
use crate::programs::options::base;
use crate::programs::{program, table, wrapper};
use crate::spot::PathSpot;
use crate::{GateDecision, rule, walk};

/// Programs that run a file of a fixed name if no other file is given: `make` runs `Makefile`.
const DEFAULTS: &[(&[&str], &[&str])] = &[
    (&["make", "gmake"], &["Makefile", "makefile", "GNUmakefile"]),
    (&["npm", "pnpm", "yarn", "bun", "npx"], &["package.json"]),
    (&["just"], &["justfile", "Justfile"]),
    (&["rake"], &["Rakefile"]),
];

/// Programs that build or test the files of their folder, each with the endings of the files whose code it runs.
const BUILDS: &[(&[&str], &[&str])] = &[
    (&["cargo"], &[".rs"]),
    (&["go"], &[".go"]),
    (&["pytest", "py.test", "tox", "nox"], &[".py"]),
    (
        &["jest", "vitest", "mocha", "npx", "npm", "pnpm", "yarn", "bun", "deno"],
        &[".js", ".ts", ".mjs", ".cjs", ".tsx"],
    ),
];

impl Judge<'_> {
    /// Judges a file that the command text writes and then runs. The literal texts of the command text may be the
    /// content of that file. So a person must approve the call if one of these texts contains a command that a gate
    /// rule asks about or denies.
    pub(super) fn prepared(&mut self, found: &FoundActs) {
        let written: Vec<&str> = found
            .writes
            .iter()
            .filter(|write| write.by != WriteCause::Work)
            .filter_map(|write| match &write.spot {
                Some(PathSpot::At(path)) => Some(base(path)),
                Some(PathSpot::Inside(_) | PathSpot::Matching { .. } | PathSpot::Named { .. }) | None => None,
            })
            .collect();
        let levels = || found.commands.iter().flat_map(|seen| &seen.levels);
        let Some(level) = levels().find(|level| runs_one_of(level, &written)) else { return };
        let shown = shown(level);
        let name = level.words.first().map(|word| base(word.as_text()).to_owned()).unwrap_or_default();
        let mut texts: Vec<String> = found.texts.iter().flat_map(|text| [text.clone(), plain(text)]).collect();
        if program::is_language(&name) {
            texts.extend(found.texts.iter().map(|text| code::calls(text, &name).folded));
        } else {
            // A shell, `make` or a similar program runs the written file here. So it may run the literal texts as
            // commands.
            for text in found.texts.iter().filter(|text| text.contains('\n')) {
                let (text, folder) = (text.replace('\t', " "), self.directory.to_owned());
                self.suspect(&crate::aside(move || walk::text(&text, &folder)));
            }
        }
        for (number, words, rule) in self.commands().filter(|(_, _, rule)| rule.decision != GateDecision::Allow) {
            if texts.iter().any(|text| rule::stands_in_text(words, text)) {
                let text =
                    format!("`{shown}` runs what is written here, and gate {number} ({}) is for it", rule.shown());
                self.decide(GateDecision::Ask, text);
            }
        }
        let paths = texts.iter().filter(|text| !code::only_reads(text)).flat_map(|text| code::paths_in(text));
        self.may_write(paths.collect(), level);
    }
}

/// Returns a text as `printf` or sed may write it into a file. Resolves escapes such as `\n`. In a substitution of sed
/// (`s/a/b/`) each separator becomes a line end.
fn plain(text: &str) -> String {
    let mut letters = text.chars().peekable();
    let mut apart = String::new();
    let mark = text.strip_prefix(['s', 'y']).and_then(|rest| rest.chars().next()).filter(char::is_ascii_punctuation);
    while let Some(letter) = letters.next() {
        match letter {
            '\\' => {
                apart.push(letter);
                apart.extend(letters.next());
            }
            letter if Some(letter) == mark => apart.push('\n'),
            letter => apart.push(letter),
        }
    }
    crate::shell::unescaped(&apart)
}

/// Tells whether a command runs a file with one of the names in `written`.
fn runs_one_of(level: &CommandLevel, written: &[&str]) -> bool {
    let Some((program, rest)) = level.words.split_first() else { return false };
    let (path, name) = (program.as_text(), base(program.as_text()));
    let reads = table::is_interpreter(name) || wrapper::interprets(name) || matches!(name, "." | "source");
    let named = |word: &Arg| written.contains(&base(word.as_text()));
    let default = DEFAULTS
        .iter()
        .any(|(programs, files)| programs.contains(&name) && files.iter().any(|file| written.contains(file)));
    let built = BUILDS.iter().any(|(programs, ends)| {
        programs.contains(&name) && written.iter().any(|file| ends.iter().any(|end| file.ends_with(end)))
    });
    path.contains('/') && written.contains(&name) || reads && rest.iter().any(named) || default || built
}
