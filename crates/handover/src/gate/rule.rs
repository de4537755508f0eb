//! One `[[gate]]`: words a command begins with or paths that are written, and what is decided.

use serde::Deserialize;

use super::command::Arg;
use super::glob::Glob;
use super::options::base;
use super::{Decision, git};

/// Rules of one file; more would not be read by anybody.
pub(crate) const RULES_MAX: usize = 1_000;
/// Words of one rule.
const WORDS_MAX: usize = 32;

#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(try_from = "Written")]
pub struct Rule {
    pub(super) matter: Matter,
    pub(super) decision: Decision,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Matter {
    /// The first words of a command.
    Command(Vec<String>),
    /// Paths that are written.
    Write(Glob),
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Written {
    command: Option<Vec<String>>,
    write: Option<String>,
    decision: Decision,
}

impl TryFrom<Written> for Rule {
    type Error = String;

    fn try_from(written: Written) -> Result<Self, String> {
        let matter = match (written.command, written.write) {
            (Some(_), Some(_)) => {
                return Err("a gate has either `command` or `write`; make two of it".to_owned());
            }
            (None, None) => {
                return Err("a gate needs `command`, a list of words, or `write`, a glob".to_owned());
            }
            (Some(words), None) => {
                if words.is_empty() || words.first().is_some_and(|word| word.trim().is_empty()) {
                    return Err("`command` of a gate names no program: write it as [\"git\", \"push\"]".to_owned());
                }
                if words.len() > WORDS_MAX {
                    return Err(format!("`command` of a gate has more than {WORDS_MAX} words"));
                }
                if let Some(word) = words.iter().find(|word| word.chars().any(char::is_whitespace)) {
                    return Err(format!("`command` of a gate is a list of words, and {word:?} has a blank in it"));
                }
                Matter::Command(words)
            }
            (None, Some(glob)) => {
                let parsed = Glob::new(&glob).map_err(|problem| format!("`write` of a gate, {glob:?}: {problem}"))?;
                Matter::Write(parsed)
            }
        };
        Ok(Self { matter, decision: written.decision })
    }
}

/// How a command stands to the words of a rule.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Fit {
    No,
    /// It cannot be told.
    Perhaps,
    Yes,
}

/// Whether a rule that allows names this command: word for word, so that nothing is let through by likeness.
pub(super) fn allows(rule: &[String], words: &[Arg]) -> bool {
    rule.len() <= words.len() && rule.iter().zip(words).all(|(wanted, word)| word.text.as_deref() == Some(wanted))
}

/// Whether a rule that asks or denies means this command, however it is spelled: by its path, with options in between.
pub(super) fn concerns(rule: &[String], words: &[Arg]) -> Fit {
    let (Some(wanted), Some(program)) = (rule.first(), words.first()) else { return Fit::No };
    let Some(program) = program.text.as_deref().map(base) else { return Fit::Perhaps };
    if program != base(wanted) {
        return Fit::No;
    }
    let mut at = 1;
    if program == "git" && rule.len() > 1 && !rule[1].starts_with('-') {
        let options = git::options(words);
        if options.unknown {
            return Fit::Perhaps;
        }
        at = options.rest;
        // An alias may mean anything.
        if words.get(at).is_some_and(|word| word.text.as_deref().is_none_or(|word| !git::knows(word))) {
            return Fit::Perhaps;
        }
    }
    let mut doubt = false;
    for wanted in &rule[1..] {
        let rest = words.get(at..).unwrap_or_default();
        if wanted.starts_with('-') {
            // Options stand anywhere, and letters are written together.
            if rest.iter().any(|word| word.text.as_deref() == Some(wanted)) {
                continue;
            }
            if rest.iter().any(|word| word.text.is_none() || word.as_text().starts_with('-')) {
                doubt = true;
                continue;
            }
            return Fit::No;
        }
        match rest.first() {
            None => return Fit::No,
            Some(Arg { text: None, .. }) => return Fit::Perhaps,
            Some(Arg { text: Some(word), .. }) if word == wanted => at += 1,
            // An option, whose value may be the next word.
            Some(Arg { text: Some(word), .. }) if word.starts_with('-') => {
                let later = rest.iter().any(|word| word.text.as_deref().is_none_or(|word| word == wanted));
                return if later { Fit::Perhaps } else { Fit::No };
            }
            Some(Arg { text: Some(_), .. }) => return Fit::No,
        }
    }
    if doubt { Fit::Perhaps } else { Fit::Yes }
}

impl Rule {
    /// For people: `command git push`.
    pub(super) fn shown(&self) -> String {
        match &self.matter {
            Matter::Command(words) => format!("command {}", words.join(" ")),
            Matter::Write(glob) => format!("write {}", glob.text),
        }
    }
}
