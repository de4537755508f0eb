//! One gate rule of a configuration, written as `[[gate]]`. It names the first words of a command, or a pattern of
//! written paths, and has a decision.

use serde::Deserialize;

use super::GateDecision;
use super::command::Arg;
use super::glob::Glob;
use crate::programs::git;
use crate::programs::options::base;

/// The largest number of gate rules in one configuration. A configuration with more rules is refused, because no person
/// would read them all.
pub(crate) const RULES_MAX: usize = 1_000;
/// The largest number of words in one gate rule. A rule with more words is refused.
const WORDS_MAX: usize = 32;

#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(try_from = "RuleText")]
pub struct GateRule {
    pub(super) matter: Matter,
    pub(super) decision: GateDecision,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Matter {
    /// The gate rule is about commands that begin with these words.
    Command(Vec<String>),
    /// The gate rule is about writes to paths that fit this glob.
    Write(Glob),
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct RuleText {
    command: Option<Vec<String>>,
    write: Option<String>,
    decision: GateDecision,
}

impl TryFrom<RuleText> for GateRule {
    type Error = String;

    fn try_from(written: RuleText) -> Result<Self, String> {
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

/// Programs that accept abbreviations of their commands, such as `npm i` for `npm install`.
const ABBREVIATES: &[&str] = &["npm", "hg", "ip", "svn"];

/// The relation of a command to the words of a gate rule.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum RuleFit {
    No,
    /// It is uncertain whether the gate rule is about the command, so the gate asks a person.
    Perhaps,
    Yes,
}

/// Tells whether a gate rule that allows commands names this command. The words must be exactly the same, because a
/// similar command may do something else.
pub(super) fn allows(rule: &[String], words: &[Arg]) -> bool {
    rule.len() <= words.len() && rule.iter().zip(words).all(|(wanted, word)| word.text.as_deref() == Some(wanted))
}

/// Groups of programs that have the same commands with the same effects on remote services. A gate rule of two or more
/// words for one program may also be meant for the other programs of its group. The second list of an entry has the
/// commands for which this is true; an empty list means all commands.
const FAMILIES: &[(&[&str], &[&str])] = &[
    (&["terraform", "tofu", "terragrunt"], &[]),
    (&["docker", "podman", "nerdctl"], &["push", "login", "logout"]),
    (&["npm", "pnpm", "yarn", "bun"], &["publish", "unpublish", "deprecate", "owner", "access", "token", "login"]),
    (&["kubectl", "oc"], &[]),
];
/// Each entry is a program, the command that a gate rule names, and another command that may do the same. Example: a
/// rule for `terraform apply` may also be about `terraform destroy`, which does the same as `terraform apply -destroy`.
const SYNONYMS: &[(&str, &str, &str)] = &[("terraform", "apply", "destroy"), ("npm", "publish", "npm")];
/// Each entry is a program, the command that a gate rule names, and an option with which other commands may do the
/// same: `terraform apply -destroy` for `destroy`, `docker build --push` for `push`.
const OPTION_SYNONYMS: &[(&str, &str, &str)] = &[("terraform", "destroy", "destroy"), ("docker", "push", "push")];
/// Each entry lists programs, and commands of these programs that stand before the real command: `run-all` in
/// `terragrunt run-all apply`, `image` in `docker image push`.
const GROUPS: &[(&[&str], &[&str])] = &[
    (&["terraform", "tofu", "terragrunt"], &["run-all", "run", "stack", "exec"]),
    (&["docker", "podman", "nerdctl"], &["image", "compose", "manifest", "plugin"]),
];

/// Tells whether a command does the same as the command of a gate rule because of one of its options, or because it
/// applies a saved plan of terraform. The gate cannot see whether a saved plan destroys something.
fn does_by_option(program: &str, wanted: &str, rest: &[Arg]) -> bool {
    let option = OPTION_SYNONYMS.iter().find(|(name, command, _)| (*name, *command) == (program, wanted));
    let Some((_, _, option)) = option else { return false };
    let is_option = |word: &Arg| {
        let (name, value) = word.as_text().split_once('=').unwrap_or((word.as_text(), ""));
        name.starts_with('-') && name.trim_start_matches('-') == *option && value != "false"
    };
    let applies = rest.first().is_some_and(|word| word.as_text() == "apply");
    let flags = ["apply", "-auto-approve", "-no-color", "-json", "-compact-warnings"];
    let planned = match rest {
        [.., before, last] => {
            let alone = flags.contains(&before.as_text()) || before.as_text().contains('=');
            alone && !last.lead.starts_with('-') && !last.as_text().contains('=')
        }
        _ => false,
    };
    rest.iter().any(is_option) || program == "terraform" && applies && planned
}

/// Tells whether a command does the same as the command of a gate rule, with a program of another name: `tofu apply`
/// for the rule `terraform apply`, `pip3` for the rule `pip`.
fn does_the_same(rule: &[String], program: &str, words: &[Arg]) -> bool {
    let bare = |name: &str| {
        name.trim_end_matches(|letter: char| letter.is_ascii_digit() || matches!(letter, '.' | '-')).to_owned()
    };
    let wanted = base(&rule[0]);
    let rest = || words.get(1..).unwrap_or_default().iter().cloned();
    let renamed = || std::iter::once(Arg::known(wanted)).chain(rest()).collect::<Vec<Arg>>();
    if bare(program) == bare(wanted) {
        return concerns(rule, &renamed()) != RuleFit::No;
    }
    let family = FAMILIES.iter().find(|(names, _)| names.contains(&wanted) && names.contains(&program));
    let Some((_, commands)) = family.filter(|_| rule.len() > 1) else { return false };
    (commands.is_empty() || commands.contains(&rule[1].as_str())) && concerns(rule, &renamed()) != RuleFit::No
}

/// Tells whether a gate rule that asks or denies is about this command. The command may be spelled differently: the
/// program by its path, or options between the words.
pub(super) fn concerns(rule: &[String], words: &[Arg]) -> RuleFit {
    let (Some(wanted), Some(program)) = (rule.first(), words.first()) else { return RuleFit::No };
    let Some(program) = program.text.as_deref().map(base) else { return RuleFit::Perhaps };
    // On some systems the file name of a program ends with `.exe`.
    let program = program.strip_suffix(".exe").unwrap_or(program);
    if program != base(wanted) {
        return if does_the_same(rule, program, words) { RuleFit::Perhaps } else { RuleFit::No };
    }
    let mut at = 1;
    if program == "git" && rule.len() > 1 && !rule[1].starts_with('-') {
        let preamble = git::preamble(words);
        if preamble.unknown {
            return RuleFit::Perhaps;
        }
        at = preamble.rest;
        // A git command that git itself does not have may be an alias, which can stand for anything.
        if words.get(at).is_some_and(|word| word.text.as_deref().is_none_or(|word| !git::knows(word))) {
            return RuleFit::Perhaps;
        }
        if git::is_equivalent(&rule[1], words.get(at..).unwrap_or_default())
            || rule[1] == "push" && git::fetches_elsewhere(words)
        {
            return RuleFit::Perhaps;
        }
    }
    let mut doubt = false;
    for wanted in &rule[1..] {
        let rest = words.get(at..).unwrap_or_default();
        if wanted.starts_with('-') {
            // An option of the gate rule may be anywhere in the command. It may also be one of several letters in a
            // word, as `-f` is in `-xf`. So if the command has other options, it is uncertain whether the rule applies.
            if rest.iter().any(|word| word.text.as_deref() == Some(wanted)) {
                continue;
            }
            if rest.iter().any(|word| word.text.is_none() || word.as_text().starts_with('-')) {
                doubt = true;
                continue;
            }
            return RuleFit::No;
        }
        match rest.first() {
            None => return RuleFit::No,
            Some(Arg { text: None, .. }) => return RuleFit::Perhaps,
            Some(Arg { text: Some(word), .. }) if word == wanted => at += 1,
            Some(Arg { text: Some(word), .. })
                if GROUPS.iter().any(|(names, groups)| names.contains(&program) && groups.contains(&word.as_str())) =>
            {
                let later = rest.iter().any(|word| word.text.as_deref().is_none_or(|word| word == wanted));
                return if later || does_by_option(program, wanted, rest) { RuleFit::Perhaps } else { RuleFit::No };
            }
            Some(_) if does_by_option(program, wanted, rest) => return RuleFit::Perhaps,
            Some(Arg { text: Some(word), .. }) if SYNONYMS.contains(&(program, wanted.as_str(), word.as_str())) => {
                return RuleFit::Perhaps;
            }
            Some(Arg { text: Some(word), .. })
                if ABBREVIATES.contains(&program) && wanted.starts_with(word.as_str()) =>
            {
                return RuleFit::Perhaps;
            }
            // This word is an option, and the next word may be its value. So it is uncertain which word is the
            // sub-command that the gate rule names.
            Some(Arg { text: Some(word), .. }) if word.starts_with('-') => {
                let later = rest.iter().any(|word| word.text.as_deref().is_none_or(|word| word == wanted));
                return if later { RuleFit::Perhaps } else { RuleFit::No };
            }
            Some(Arg { text: Some(_), .. }) => return RuleFit::No,
        }
    }
    if doubt { RuleFit::Perhaps } else { RuleFit::Yes }
}

/// The largest number of arguments that are compared with a gate rule, counted from the argument that fits the rule's
/// first word. A command inside the arguments is shorter, so later words are ignored.
const WINDOW: usize = 64;

/// Tells whether the arguments of a program contain the command of a gate rule, which the program may then run.
pub(super) fn stands_in(rule: &[String], arguments: &[Arg]) -> bool {
    let Some(wanted) = rule.first().map(|word| base(word)) else { return false };
    arguments.iter().enumerate().any(|(at, word)| {
        let Some(text) = word.text.as_deref() else { return false };
        // The command may begin in the value of an option or a variable: `--command=git push`, `SHELL=git push`.
        let value = text.split_once('=').map(|(_, value)| value);
        [Some(text), value].into_iter().flatten().filter(|first| base(first) == wanted).any(|first| {
            let rest = arguments[at + 1..].iter().take(WINDOW).cloned();
            is_likely(rule, &std::iter::once(Arg::known(first)).chain(rest).collect::<Vec<Arg>>())
        })
    })
}

/// Tells whether a gate rule is about these words, which another program may run. The first word alone may be only a
/// name, such as a folder `git`. So the other words of the rule, or words with an unknown value, must follow.
pub(super) fn is_likely(rule: &[String], words: &[Arg]) -> bool {
    let rest = words.get(1..).unwrap_or_default();
    let follows = |wanted: &String| rest.iter().any(|word| word.text.as_deref().is_none_or(|text| text == wanted));
    match concerns(rule, words) {
        RuleFit::No => false,
        RuleFit::Yes => true,
        RuleFit::Perhaps => {
            rule.get(1).is_some_and(|wanted| git::is_equivalent(wanted, rest))
                || rule[1..].iter().filter(|wanted| !wanted.starts_with('-')).all(follows)
        }
    }
}

/// Tells whether a text in any language contains the words of a gate rule one after another. Signs between the words
/// are ignored: `["git", "push"]` counts like `git push`.
pub(super) fn stands_in_text(rule: &[String], text: &str) -> bool {
    let part = |letter: char| !(letter.is_alphanumeric() || "_-./@:+~".contains(letter));
    let words: Vec<Arg> = text.split(part).filter(|word| !word.is_empty()).map(Arg::known).collect();
    stands_in(rule, &words)
}

/// Tells whether a gate rule may be about a command of which only the beginning, `text`, is known.
pub(super) fn may_begin(rule: &[String], text: &str) -> bool {
    let words: Vec<Arg> = text.split_whitespace().map(Arg::known).chain([Arg::unknown()]).collect();
    concerns(rule, &words) != RuleFit::No || stands_in(rule, &words)
}

impl GateRule {
    /// Returns the gate rule as messages to people show it, such as `command git push`.
    pub(super) fn shown(&self) -> String {
        match &self.matter {
            Matter::Command(words) => format!("command {}", words.join(" ")),
            Matter::Write(glob) => format!("write {}", glob.text),
        }
    }
}
