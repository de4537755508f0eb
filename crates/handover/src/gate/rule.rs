//! One `[[gate]]`: words a command begins with or paths that are written, and what is decided.

use serde::Deserialize;

use super::Decision;
use super::glob::Glob;

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
